"""The states of a model as tables of questions with options name them."""

from factdrift.evaluation.methods.record import title_of

NAMES = {"none": "without", "context": "with"}
"""State -> condition; of an editing method it is `edited-METHOD`."""

CONDITION = "CASE method {} ELSE 'edited-' || method END".format(
    " ".join(f"WHEN '{state}' THEN '{name}'" for state, name in NAMES.items())
)
"""SQL: the condition of a row of ANSWERS."""


def condition_of(method: str) -> str:
    """The condition of a state."""
    return NAMES.get(method, f"edited-{method}")


WAYS = {
    "loglik": "by likelihood",
    "likelihood": "by likelihood",
    "letter": "by letter",
    "written": "in writing",
}
"""Way of asking -> in figures."""


def in_words(condition: str) -> str:
    """A condition as figures have it."""
    fixed = {"without": "no context", "with": "with context"}
    return fixed.get(condition) or title_of(condition.removeprefix("edited-"))
