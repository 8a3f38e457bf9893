"""Methods that do not run on a model, for tables and accounts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Skipped(NamedTuple):
    """A method that does not run on a model."""

    model: str
    method: str
    skipped: str
    """The reason."""


def skipped_methods(skipped: Sequence[Skipped]) -> Iterator[str]:
    """A line for each model and reason, with the methods that do not run on it."""
    for model, reason in dict.fromkeys((each.model, each.skipped) for each in skipped):
        named = [each.method for each in skipped if (each.model, each.skipped) == (model, reason)]
        yield f"{', '.join(named)} on {model}: {reason}"
