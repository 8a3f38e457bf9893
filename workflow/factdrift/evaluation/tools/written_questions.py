"""Questions that are answered in writing, as documents for a harness.

A document has what a model reads, a text to be gone on with or a user's turn, and what the verdict needs.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import check_columns
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.items import add_stale, is_dated, questions_of
from factdrift.evaluation.questions.prompts import filled, turn_of
from factdrift.evaluation.questions.question import Question
from factdrift.tempripple.schemas import TASKS
from factdrift.tempripple.score import CONDITIONS

_NAMES = pa.list_(pa.string())
WRITTEN = schema_of("id prompt question target: string, accepted stale others: [string], several: bool")
"""A table of documents. `prompt`: what the model reads; `question`: what is asked in it; `target`: the first
accepted answer."""
COLUMNS = ("item_id", "question", "options", "answer_index")
"""What any table of questions with options has."""


class WrittenQuestions(NamedTuple):
    """The documents of one kind of questions."""

    group: str
    """Such as `tempripple_with`."""
    kind: str
    """Such as `_new_related`; empty if the group has one kind."""
    questions: Sequence[Question]
    """Without their context if they are asked without it."""
    continued: pa.Table
    """WRITTEN: texts that a model goes on with."""
    turns: pa.Table
    """WRITTEN: turns of a user."""


def written_items(name: str, path: Path, prompt: str, instruction: str) -> Iterator[WrittenQuestions]:
    """TempRIPPLE's items and those with a date, open ones among them, or a table of COLUMNS; with a column
    `context`, also without it. With TempRIPPLE's column `task` there is a kind for each of its four.

    `prompt`, `instruction`: as in the configuration. Raises InputError if a column is missing, or an answer
    is not known.
    """
    check_columns(path, COLUMNS, "; give a table such as tempripple.parquet")
    kinds: dict[str, list[Question]] = {}
    rows = pq.read_table(path).to_pylist()
    if rows and "open_only" in rows[0] and not is_dated(path):
        add_stale(rows)
    for row in sorted(rows, key=lambda row: str(row["item_id"])):
        kind = f"_{TASKS[row['task'] - 1].replace(' ', '_')}" if "task" in row else ""
        kinds.setdefault(kind, []).append(_question(row, path))
    conditions = CONDITIONS if any(question.context for own in kinds.values() for question in own) else ("",)
    for condition in conditions:
        for kind, questions in kinds.items():
            with_context = condition == "with"
            group = f"{name}_{condition}".rstrip("_")
            yield _written(group, kind, questions, with_context, prompt, instruction)


def written_updates(path: Path, prompt: str, instruction: str) -> Iterator[WrittenQuestions]:
    """The clozes of the updates of a table EDITS that have an accepted answer, by role."""
    roles: dict[str, list[Question]] = {}
    for question in read_edits(path).questions:
        if "written" in question.ways and question.accepted:
            roles.setdefault(question.role, []).append(question)
    for role, questions in roles.items():
        yield _written("wikifactdiff", f"_{role}", questions, False, prompt, instruction)


def _question(row: Row, path: Path) -> Question:
    """The question of a row; InputError that names it in the table `path` if no answer of it is known."""
    if "open_only" in row:
        (question,) = questions_of([dict(row)])
        return question
    options, index = row["options"] or (), row["answer_index"]
    if index is None or not 0 <= index < len(options):
        raise InputError(
            f"{path}: answer_index of the question {row['item_id']!r} is {index}, which is the place of none "
            f"of its {len(options)} options, so no answer of it is known; correct it, or leave the row out"
        )
    return Question(
        row["item_id"],
        words=row["question"],
        context=row.get("context") or "",
        targets=tuple(options),
        answer=index,
        accepted=(options[index],),
        others=tuple(option for option in options if option != options[index]),
    )


def _written(
    group: str, kind: str, questions: Iterable[Question], with_context: bool, prompt: str, instruction: str
) -> WrittenQuestions:
    continued, turns = [], []
    asked = [question if with_context else replace(question, context="") for question in questions]
    for question in asked:
        named = {
            "id": question.id,
            "target": question.accepted[0],
            "accepted": question.accepted,
            "stale": question.stale,
            "others": question.others,
            "several": question.several,
        }
        cloze = question.prompt or filled(prompt, question, question.context)
        words = question.prompt or filled("{cloze}", question)
        continued.append({**named, "prompt": cloze, "question": words})
        if question.words:
            turn = turn_of(question, question.context, instruction)
            turns.append({**named, "prompt": turn, "question": question.words})
    tables = (pa.Table.from_pylist(rows, schema=WRITTEN) for rows in (continued, turns))
    return WrittenQuestions(group, kind, asked, *tables)
