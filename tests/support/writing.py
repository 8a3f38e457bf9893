"""Continuations that nothing ends but their number of tokens."""

from collections.abc import Sequence

from factdrift.models.deltas import Changes
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import BUDGET
from factdrift.models.writing import Generation, write


def continued(
    loaded: Loaded,
    prompts: Sequence[Sequence[int]],
    counts: Sequence[int],
    changes: Changes | None = None,
    owners: Sequence[int] = (),
    budget: int = BUDGET,
) -> list[list[int]]:
    """`counts[row]` tokens after each prompt, with the change `owners[row]` if there are owners."""
    given = owners or [-1] * len(prompts)
    rows = [Generation(ids, count, owner) for ids, count, owner in zip(prompts, counts, given, strict=True)]
    return write(loaded, rows, changes, budget)
