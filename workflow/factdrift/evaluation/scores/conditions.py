"""The states of a model as tables of questions with options name them."""

from __future__ import annotations

NAMES = {"none": "without", "context": "with"}
"""State -> condition; of an editing method it is `edited-METHOD`."""

CONDITION = "CASE method {} ELSE 'edited-' || method END".format(
    " ".join(f"WHEN '{state}' THEN '{name}'" for state, name in NAMES.items())
)
"""SQL: the condition of a row of ANSWERS."""


def condition_of(method: str) -> str:
    """The condition of a state."""
    return NAMES.get(method, f"edited-{method}")
