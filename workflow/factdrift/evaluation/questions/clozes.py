"""Tables of edits as questions: their probes, and the clozes that a model continues."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.paths import NOUN_PHRASES
from factdrift.core.tables import rows_of
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.question import Benchmark, Question, Tables, probe_id
from factdrift.words.noun_phrases import COLUMNS, NounPhrase, nested, noun_phrases

OWN = ("update", "generalization")
"""Roles of probes on the clozes of the update itself."""


def read_edits(path: Path) -> Benchmark:
    """The edits of a table EDITS or STREAM_EDITS, with all their probes.

    A probe asks for the likelihood of one object; each cloze of the update itself is continued, too, but not
    those of a stream.
    """
    rows = pq.read_table(path).to_pylist()
    stream = bool(rows) and "interval" in rows[0]
    return Benchmark(
        "stream" if stream else "updates",
        [question for row in rows for question in _questions(row, not stream)],
        list(map(edit_of, rows)),
        {row["edit"]: row for row in rows} if stream else {},
    )


def read(tables: Tables) -> Benchmark:
    """The edits of one table, and all that is asked about them."""
    return read_edits(tables.questions[0])


def edit_of(row: dict[str, Any]) -> Edit:
    """The edit of a row of EDITS."""
    return Edit(
        id=row["edit"],
        prompt=row["prompt"],
        subject=row["subject_label"],
        target=row["target"],
        obsolete=row["obsolete"] or "",
        replaces=tuple(row.get("replaces") or ()),
    )


def clozes_of(row: dict[str, Any]) -> list[tuple[str, str]]:
    """(role, prompt) of each cloze of an update itself, the update cloze first."""
    own = ((probe["role"], probe["prompt"]) for probe in row["probes"] if probe["role"] in OWN)
    return list(dict.fromkeys(own))


def _questions(row: dict[str, Any], written: bool) -> Iterator[Question]:
    edit, context = row["edit"], f"{row['prompt']} {row['target']}. "
    for number, probe in enumerate(row["probes"]):
        yield Question(
            probe_id(edit, number),
            edit,
            probe["role"],
            prompt=probe["prompt"],
            context=context,
            targets=(probe["target"],),
        )
    words = question_about(row["relation"] or "", row["subject_label"])
    objects = tuple(dict.fromkeys(probe["target"] for probe in row["probes"] if probe["role"] in OWN))
    for place, (role, prompt) in enumerate(clozes_of(row) if written else (), start=1):
        yield Question(
            probe_id(edit, f"c{place}"),
            edit,
            role,
            prompt=prompt,
            words=words if place == 1 else "",
            context=context,
            targets=objects,
            accepted=(row["new"],) if row["new"] else (),
            stale=(row["obsolete"],) if row["new"] and row["obsolete"] else (),
            several=row["kind"] == "add",
            relation=row["relation"] or "",
            ways=("written",),
            long=row["fluency"] and place > 1,
        )


@cache
def _phrases() -> dict[int, NounPhrase]:
    return noun_phrases(rows_of(NOUN_PHRASES, COLUMNS), str(NOUN_PHRASES))


def question_about(relation: str, subject: str) -> str:
    """`Who is the spouse of Ada?`; empty for a relation without a noun phrase."""
    phrase = _phrases().get(int(relation[1:])) if re.fullmatch(r"P\d+", relation) else None
    return f"{phrase.wh} is {nested([phrase.phrase], subject)}?" if phrase else ""
