"""Tables of edits, and KLoB's sentences, as questions: probes, and the clozes that a model continues."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.question import Benchmark, Question, Tables, probe_id
from factdrift.words.noun_phrases import nested, read_noun_phrases

OWN = ("update", "generalization")
"""Roles of probes on the clozes of the update itself."""

NEIGHBORS = ("nearest", "random")
"""Roles of probes of facts that must not change."""

WRITTEN_NEIGHBORS = 5
"""Of each of these roles, the probes of an edit that are asked in writing, too: as many as it has clozes."""


def read_edits(path: Path) -> Benchmark:
    """The edits of a table EDITS or STREAM_EDITS, with all their probes.

    A probe asks for the likelihood of one object. Asked in writing are each cloze of the update itself, as a
    question of its own but in a stream, and the first neighbours; of a stream also what a later edit has set.
    """
    rows = pq.read_table(path).to_pylist()
    stream = bool(rows) and "interval" in rows[0]
    return Benchmark(
        "stream" if stream else "updates",
        [question for row in rows for question in (_of_stream(row) if stream else _questions(row))],
        list(map(edit_of, rows)),
        {row["edit"]: row for row in rows} if stream else {},
    )


def read(tables: Tables) -> Benchmark:
    """The edits of one table, and all that is asked about them."""
    return read_edits(tables.questions[0])


def read_klob(tables: Tables) -> Benchmark:
    """The sentences of klob_c and klob_r as cloze tests, with the updates that a model may have been told.

    None is about an edit.
    """
    questions = [
        Question(
            f"{example['example_id']}#{place}",
            role=f"klob_{example['subtask']} {sentence['role']}",
            prompt=sentence["text"],
            targets=(sentence["target_label"],),
            accepted=(sentence["target_label"],),
            ways=("loglik", "written"),
        )
        for path in tables.questions
        for example in pq.read_table(path, columns=["example_id", "subtask", "sentences"]).to_pylist()
        for place, sentence in enumerate(example["sentences"])
    ]
    return Benchmark("klob", questions, read_edits(tables.edits).edits if tables.edits else ())


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


def _probes(row: dict[str, Any]) -> Iterator[Question]:
    """A question for each probe; those of the first neighbours are asked in writing, too."""
    edit, context = row["edit"], f"{row['prompt']} {row['target']}. "
    asked = dict.fromkeys(NEIGHBORS, 0)
    for number, probe in enumerate(row["probes"]):
        question = Question(
            probe_id(edit, number),
            edit,
            probe["role"],
            prompt=probe["prompt"],
            context=context,
            targets=(probe["target"],),
        )
        if asked.get(probe["role"], WRITTEN_NEIGHBORS) < WRITTEN_NEIGHBORS:
            asked[probe["role"]] += 1
            others = _named(row, row["new"]) if row["new"] != probe["target"] else ()
            question = _written(question, _named(row, probe["target"]), others=others)
        yield question


def _written(question: Question, accepted: tuple[str, ...], **given: Any) -> Question:
    """The probe as it is asked in writing, too."""
    return replace(question, accepted=accepted, ways=("loglik", "written"), **given)


def _named(row: dict[str, Any], *labels: str | None) -> tuple[str, ...]:
    """These objects by their labels, then by their aliases, each once."""
    names = {each["label"]: each["aliases"] for each in row.get("names") or ()}
    given = [label for label in labels if label]
    return tuple(dict.fromkeys((*given, *(name for label in given for name in names.get(label, ())))))


def _of_stream(row: dict[str, Any]) -> Iterator[Question]:
    """The probes of an edit of a stream; in writing, too, those of its new object and of later ones."""
    later = {probe["place"]: probe["target"] for probe in row["probes"] if probe["role"] == "later"}
    for question, probe in zip(_probes(row), row["probes"], strict=True):
        given: dict[str, Any] = {"several": row["kind"] == "add", "relation": row["relation"] or ""}
        if probe["role"] == "update":
            given["words"] = question_about(row["relation"] or "", row["subject_label"])
        if probe["role"] in OWN and probe["object"] == "new":
            stale = _named(row, row["obsolete"])
            yield _written(question, _named(row, row["new"]), stale=stale, **given)
        elif probe["role"] == "later":
            ended = (row["new"], *(label for link, label in later.items() if link < probe["place"]))
            after = _named(row, *(label for link, label in later.items() if link > probe["place"]))
            stale = _named(row, *(label for label in ended if label != probe["target"]))
            accepted = _named(row, probe["target"])
            yield _written(question, accepted, stale=stale, others=after, **given)
        else:
            yield question


def _questions(row: dict[str, Any]) -> Iterator[Question]:
    edit, context = row["edit"], f"{row['prompt']} {row['target']}. "
    yield from _probes(row)
    words = question_about(row["relation"] or "", row["subject_label"])
    objects = tuple(dict.fromkeys(probe["target"] for probe in row["probes"] if probe["role"] in OWN))
    for place, (role, prompt) in enumerate(clozes_of(row), start=1):
        yield Question(
            probe_id(edit, f"c{place}"),
            edit,
            role,
            prompt=prompt,
            words=words if place == 1 else "",
            context=context,
            targets=objects,
            accepted=_named(row, row["new"]),
            stale=_named(row, row["obsolete"]) if row["new"] else (),
            several=row["kind"] == "add",
            relation=row["relation"] or "",
            ways=("written",),
            long=row["fluency"] and place > 1,
        )


def question_about(relation: str, subject: str) -> str:
    """`Who is the spouse of Ada?`; empty for a relation without a noun phrase."""
    phrase = read_noun_phrases().get(int(relation[1:])) if re.fullmatch(r"P\d+", relation) else None
    return f"{phrase.wh} is {nested([phrase.phrase], subject)}?" if phrase else ""
