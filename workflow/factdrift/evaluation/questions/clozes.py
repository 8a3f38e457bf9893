"""Tables of edits, ripples, and KLoB's sentences, as questions: probes, and clozes that a model continues."""

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.question import Benchmark, Question, Tables, probe_id
from factdrift.words.noun_phrases import nested, read_noun_phrases
from factdrift.words.templates import before_blank

OWN = ("update", "generalization")
"""Roles of probes on the clozes of the update itself."""

NEIGHBORS = ("nearest", "random", "popular")
"""Roles of probes of facts that must not change."""

WRITTEN_NEIGHBORS = 5
"""Of each of these roles, the probes of an edit that are asked in writing, too: as many as it has clozes."""

CONDITION = "condition"
"""The role of a condition; that of a probe is its criterion."""


def read_edits(path: Path) -> Benchmark:
    """The edits of a table EDITS or STREAM_EDITS, with all their probes.

    A probe asks for the likelihood of an object. Asked in writing are all clozes of the update itself, as
    questions of their own but in a stream, and the first neighbours; of a stream also what a later edit has
    set.
    """
    rows = pq.read_table(path).to_pylist()
    stream = bool(rows) and "interval" in rows[0]
    edits = [
        Edit(
            id=row["edit"],
            prompt=row["prompt"],
            subject=row["subject_label"],
            target=row["target"],
            obsolete=row["obsolete"] or "",
            replaces=tuple(row.get("replaces") or ()),
        )
        for row in rows
    ]
    questions = [question for row in rows for question in _questions(row, stream)]
    if stream:
        return Benchmark("stream", questions, edits, {row["edit"]: row for row in rows})
    return Benchmark("updates", questions, edits)


def read(tables: Tables) -> Benchmark:
    """The edits of a table, and all that is asked about them."""
    return read_edits(tables.questions[0])


def read_klob(tables: Tables) -> Benchmark:
    """The sentences of klob_c and klob_r as cloze tests, with the updates that edited models have.

    None is about an edit.
    """
    questions = [
        Question(
            f"{example['example_id']}#{number}",
            role=f"klob_{example['subtask']} {sentence['role']}",
            prompt=sentence["text"],
            targets=(sentence["target_label"],),
            accepted=(sentence["target_label"],),
            ways=("loglik", "written"),
        )
        for path in tables.questions
        for example in pq.read_table(path, columns=["example_id", "subtask", "sentences"]).to_pylist()
        for number, sentence in enumerate(example["sentences"])
    ]
    return Benchmark("klob", questions, read_edits(tables.edits).edits if tables.edits else ())


def condition_id(condition: Row) -> str:
    """The id of a condition: equal conditions of several probes are asked once."""
    names = [condition["prompt"], *(answer["label"] for answer in condition["answers"])]
    return "c" + hashlib.sha256("|".join(names).encode()).hexdigest()[:16]


def read_ripples(tables: Tables) -> Benchmark:
    """The probes about the edits of the second table, and their conditions.

    A probe is right if the model's likeliest continuation is the label of one of its answers, or, in writing,
    by the verdict on it. Conditions are asked of the unedited model only.
    """
    probes, edits = tables.questions
    updates = read_edits(edits)
    contexts = {edit.id: f"{edit.prompt} {edit.target}. " for edit in updates.edits}
    rows = [row for row in pq.read_table(probes).to_pylist() if row["update"] in contexts]
    questions = [
        _ripple(row["probe_id"], row["criterion"], row, row["update"], contexts[row["update"]])
        for row in rows
        if before_blank(row["prompt"]) is not None
    ]
    conditions = {condition_id(fact): fact for row in rows for fact in row["conditions"]}
    questions += [_ripple(name, CONDITION, row) for name, row in sorted(conditions.items())]
    about = {row["update"] for row in rows}
    return Benchmark("ripples", questions, [edit for edit in updates.edits if edit.id in about])


def _ripple(name: str, role: str, row: Row, edit: str = "", context: str = "") -> Question:
    labels = dict.fromkeys(answer["label"] for answer in row["answers"])
    return Question(
        name,
        edit,
        role,
        prompt=before_blank(row["prompt"]) or "",
        context=context,
        targets=tuple(labels),
        accepted=_labels_of(row["answers"]),
        stale=_labels_of(row.get("stale") or ()),
        several=role == "preserve",
        ways=("loglik", "written"),
        unedited=role == CONDITION,
    )


def _labels_of(answers: Iterable[Row]) -> tuple[str, ...]:
    """Labels and aliases, without repetitions."""
    names = (name for answer in answers for name in (answer["label"], *(answer["aliases"] or ())))
    return tuple(dict.fromkeys(filter(None, names)))


def clozes_of(row: dict[str, Any]) -> list[tuple[str, str]]:
    """(role, prompt) of the clozes of an update itself, the update cloze first."""
    own = ((probe["role"], probe["prompt"]) for probe in row["probes"] if probe["role"] in OWN)
    return list(dict.fromkeys(own))


def _questions(row: dict[str, Any], stream: bool) -> Iterator[Question]:
    """A question per probe; but of a stream, then one per cloze of the update itself, in writing.

    Asked in writing, too, are probes of the first neighbours; of a stream those of its new object and of
    later objects.
    """
    edit, relation = row["edit"], row["relation"] or ""
    context = f"{row['prompt']} {row['target']}. "
    words = question_about(relation, row["subject_label"])
    several: dict[str, Any] = {"several": row["kind"] == "add", "relation": relation}
    later = {probe["place"]: probe["target"] for probe in row["probes"] if probe["role"] == "later"}
    left = dict.fromkeys(NEIGHBORS, WRITTEN_NEIGHBORS)
    for number, probe in enumerate(row["probes"]):
        role, target = probe["role"], probe["target"]
        asked: dict[str, Any] = {}
        if left.get(role):
            left[role] -= 1
            asked["others"] = _named(row, row["new"]) if row["new"] != target else ()
        elif stream and role in OWN and probe["object"] == "new":
            asked = {**several, "stale": _named(row, row["obsolete"])}
            asked["words"] = words if role == "update" else ""
        elif role == "later":
            ended = (row["new"], *(label for link, label in later.items() if link < probe["place"]))
            asked = {**several, "stale": _named(row, *(label for label in ended if label != target))}
            asked["others"] = _named(row, *(label for link, label in later.items() if link > probe["place"]))
        if asked:
            asked |= {"accepted": _named(row, target), "ways": ("loglik", "written")}
        name, prompt = probe_id(edit, number), probe["prompt"]
        yield Question(name, edit, role, prompt=prompt, context=context, targets=(target,), **asked)
    objects = tuple(dict.fromkeys(probe["target"] for probe in row["probes"] if probe["role"] in OWN))
    for number, (role, prompt) in enumerate(() if stream else clozes_of(row), start=1):
        yield Question(
            probe_id(edit, f"c{number}"),
            edit,
            role,
            prompt=prompt,
            words=words if number == 1 else "",
            context=context,
            targets=objects,
            accepted=_named(row, row["new"]),
            stale=_named(row, row["obsolete"]) if row["new"] else (),
            ways=("written",),
            long=row["fluency"] and number > 1,
            **several,
        )


def _named(row: dict[str, Any], *labels: str | None) -> tuple[str, ...]:
    """These objects by their labels, then by their aliases, without repetitions."""
    names = {item["label"]: item["aliases"] for item in row.get("names") or ()}
    known = [label for label in labels if label]
    return tuple(dict.fromkeys((*known, *(name for label in known for name in names.get(label, ())))))


def question_about(relation: str, subject: str) -> str:
    """`Who is the spouse of Ada?`; empty for a relation without a noun phrase."""
    phrase = read_noun_phrases().get(int(relation[1:])) if re.fullmatch(r"P\d+", relation) else None
    return f"{phrase.wh} is {nested([phrase.phrase], subject)}?" if phrase else ""
