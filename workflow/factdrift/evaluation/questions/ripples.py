"""Probes of what follows from updates as questions, and their conditions, for the unedited model."""

import hashlib
from collections.abc import Iterable

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Benchmark, Question, Tables
from factdrift.words.templates import before_blank

CONDITION = "condition"
"""The role of a condition; that of a probe is its criterion."""


def condition_id(condition: Row) -> str:
    """The id of a condition: equal conditions of several probes are asked once."""
    names = [condition["prompt"], *(answer["label"] for answer in condition["answers"])]
    return "c" + hashlib.sha256("|".join(names).encode()).hexdigest()[:16]


def read(tables: Tables) -> Benchmark:
    """The probes about the edits of the second table, and their conditions.

    A probe is right if the model's likeliest continuation is the label of one of its answers, or, in writing,
    by the verdict on it. Conditions are asked of the unedited model only.
    """
    probes, edits = tables.questions
    updates = read_edits(edits)
    contexts = {edit.id: f"{edit.prompt} {edit.target}. " for edit in updates.edits}
    rows = [row for row in pq.read_table(probes).to_pylist() if row["update"] in contexts]
    questions = [
        _question(row["probe_id"], row["criterion"], row, row["update"], contexts[row["update"]])
        for row in rows
        if before_blank(row["prompt"]) is not None
    ]
    conditions = {condition_id(fact): fact for row in rows for fact in row["conditions"]}
    questions += [_question(name, CONDITION, row) for name, row in sorted(conditions.items())]
    about = {row["update"] for row in rows}
    return Benchmark("ripples", questions, [edit for edit in updates.edits if edit.id in about])


def _question(name: str, role: str, row: Row, edit: str = "", context: str = "") -> Question:
    labels = dict.fromkeys(answer["label"] for answer in row["answers"])
    return Question(
        name,
        edit,
        role,
        prompt=before_blank(row["prompt"]) or "",
        context=context,
        targets=tuple(labels),
        accepted=_names(row["answers"]),
        stale=_names(row.get("stale") or ()),
        several=role == "preserve",
        ways=("loglik", "written"),
        unedited=role == CONDITION,
    )


def _names(answers: Iterable[Row]) -> tuple[str, ...]:
    """Labels and aliases, without repetitions."""
    names = (name for answer in answers for name in (answer["label"], *(answer["aliases"] or ())))
    return tuple(dict.fromkeys(filter(None, names)))
