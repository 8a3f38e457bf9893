"""Cloze tests of KLoB and WikiFactDiff, put to an unedited model: how many it completes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from factdrift.core.progress import Progress
from factdrift.core.tables import write_parquet
from factdrift.evaluation.answer_schemas import CLOZES
from factdrift.evaluation.session import Job, cut
from factdrift.models.alignment import NOT_FINITE, AlignmentError, Sentence, align
from factdrift.models.scoring import score
from factdrift.tempripple.metrics import wilson

CHUNK = 4096
"""Cloze tests between two lines of progress."""


def ask_clozes(job: Job, rows: Sequence[dict[str, Any]], output: Path) -> int:
    """Scores the object of each cloze test after its prompt, and writes CLOZES; returns their number.

    `exact`: every token of the object is the most probable one after those before it; of output that is not
    finite none is.
    """
    progress = Progress(f"cloze tests of {job.loaded.name}", len(rows), "cloze tests")
    found: list[dict[str, Any]] = []
    for chunk in cut(rows, CHUNK):
        sentences: list[Sentence] = []
        asked: list[dict[str, Any]] = []
        for row in ({"model": job.loaded.name, **row} for row in chunk):
            found.append(row)
            try:
                one = align(job.loaded.tokenizer, row["prompt"], row["object"])
            except AlignmentError as error:
                row["reason"] = error.reason
                continue
            if len(one.ids) > job.loaded.spec.positions:
                row["reason"] = "too_long"
                continue
            sentences.append(one)
            asked.append(row)
        scores = score(job.loaded, sentences, budget=job.budget)
        for row, logprob, exact in zip(asked, scores.logprob.tolist(), scores.exact.tolist(), strict=True):
            if np.isfinite(logprob):
                row |= {"logprob": logprob, "exact": exact}
            else:
                row |= {"exact": False, "reason": NOT_FINITE}
        progress.advance(len(chunk))
    progress.say()
    return write_parquet(pa.Table.from_pylist(found, schema=CLOZES), output)


class Share(NamedTuple):
    """How many cloze tests of one kind a model completes."""

    model: str
    benchmark: str
    role: str
    asked: int
    exact: int
    unanswered: int
    not_finite: int
    """Of those asked."""

    def __str__(self) -> str:
        if not self.asked:
            said = "-"
        else:
            low, high = wilson(self.exact, self.asked)
            said = f"{self.exact / self.asked:.3f} [{low:.2f}, {high:.2f}]"
        counts = {"left out": self.unanswered, "not finite, not completed": self.not_finite}
        notes = ", ".join(f"{number:,} {text}" for text, number in counts.items() if number)
        return (
            f"{self.model:<16}  {self.benchmark:<12}  {self.role:<20}  {self.asked:>7,}  {said}"
            f"{f'  ({notes})' if notes else ''}"
        )


def shares(table: pa.Table) -> Iterator[Share]:
    """A share for each model, benchmark and role, in the order of the rows."""
    counts: dict[tuple[str, str, str], list[int]] = {}
    columns = (table[name].to_pylist() for name in ("model", "benchmark", "role", "exact", "reason"))
    for *key, exact, reason in zip(*columns, strict=True):
        asked = counts.setdefault((key[0], key[1], key[2]), [0, 0, 0, 0])
        asked[0] += exact is not None
        asked[1] += bool(exact)
        asked[2] += exact is None
        asked[3] += reason == NOT_FINITE
    for (model, benchmark, role), numbers in counts.items():
        yield Share(model, benchmark, role, *numbers)


def lines(table: pa.Table) -> Iterator[str]:
    """The shares as text."""
    yield "Cloze tests that an unedited model completes: every token of the object is the most probable one"
    yield "In brackets: 95 % Wilson interval; wordings of a fact are not independent, so it is too narrow."
    yield f"{'model':<16}  {'benchmark':<12}  {'cloze test':<20}  {'asked':>7}  completed"
    yield from map(str, shares(table))
