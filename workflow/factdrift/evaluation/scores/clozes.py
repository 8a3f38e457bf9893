"""Cloze tests of KLoB and WikiFactDiff, put to unedited models: how many they complete."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.intervals import wilson
from factdrift.core.score_table import Column, Line, bounded, count, table
from factdrift.evaluation.questions.clozes import OWN, read_klob
from factdrift.evaluation.questions.question import Tables, probe_id
from factdrift.evaluation.scores.groups import by_columns
from factdrift.models.alignment import NOT_FINITE

CLOZES = schema_of(
    "model benchmark role fact prompt object: string, logprob: float64, exact: bool, reason: string"
)
"""One row for each cloze test and object, in the order of the benchmarks."""


def table_of(answers: Sequence[Path], klob: Sequence[Path], edits: Path) -> pa.Table:
    """CLOZES of all models: KLoB's sentences, and each update's clozes with its new and its obsolete object.

    `answers`: ANSWERS of the state `none`. `exact`: every token of the object is the most probable one after
    those before it; of output that is not finite none is. Raises InputError if a model was not asked all.
    """
    given: dict[str, dict[str, dict[str, Any]]] = {}
    columns = ["model", "question", "way", "logprobs", "exact", "reason"]
    for path in answers:
        for row in pq.read_table(path, columns=columns).to_pylist():
            if row["way"] == "loglik":
                given.setdefault(row["model"], {})[row["question"]] = row
    rows = []
    for (model, of_question), (question, row) in product(given.items(), cloze_tests(klob, edits)):
        if (answer := of_question.get(question)) is None:
            raise InputError(
                f"--answers: {model} was not asked {question}; give its tables on klob and on updates"
            )
        logprob, exact = ((answer[name] or [None])[0] for name in ("logprobs", "exact"))
        rows.append({"model": model, **row, "logprob": logprob, "exact": exact, "reason": answer["reason"]})
    return pa.Table.from_pylist(rows, schema=CLOZES)


def cloze_tests(klob: Sequence[Path], edits: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(question, row of CLOZES without an answer): KLoB's sentences, then the updates' own clozes."""
    for question in read_klob(Tables(klob)).questions:
        benchmark, _, role = question.role.partition(" ")
        named = {"benchmark": benchmark, "role": role, "fact": question.id.partition("#")[0]}
        yield question.id, {**named, "prompt": question.prompt, "object": question.targets[0]}
    for row in pq.read_table(edits, columns=["edit", "probes"]).to_pylist():
        for number, probe in enumerate(row["probes"]):
            if probe["role"] in OWN:
                role = f"{probe['role']}, {'new' if probe['object'] == 'new' else 'old'}"
                named = {"benchmark": "wikifactdiff", "role": role, "fact": row["edit"]}
                asked = {"prompt": probe["prompt"], "object": probe["target"]}
                yield probe_id(row["edit"], number), {**named, **asked}


def lines(clozes: pa.Table) -> Iterator[str]:
    """The share that a model completes by benchmark and role, in the order of the rows, as text."""
    yield "Cloze tests that an unedited model completes: every token of the object is the most probable one"
    yield "In brackets: 95 % Wilson interval; wordings of a fact are not independent, so it is too narrow."
    named, body = ("model", "benchmark", "role"), []
    for key, own in by_columns(clozes.select([*named, "exact", "reason"]).to_pylist(), *named).items():
        counts = Counter(row["exact"] for row in own)
        lost = sum(row["reason"] == NOT_FINITE for row in own)
        asked = counts[True] + counts[False]
        ends = wilson(counts[True], asked) if asked else (None, None)
        row = {"asked": asked, "left_out": counts[None], "lost": lost}
        row |= {"share": counts[True] / asked if asked else None, "low": ends[0], "high": ends[1]}
        body.append(Line(", ".join(key), row))
    yield from table("", COLUMNS, body)


COLUMNS = (
    Column("asked", count("asked")),
    Column("completed", lambda row: bounded(row["share"], row["low"], row["high"], ".3f")),
    Column("left out", count("left_out")),
    Column("not finite, not completed", count("lost")),
)
