"""Task files for EleutherAI's lm-evaluation-harness (package `lm_eval`), as docs/answering.md describes them.

A folder has a YAML file and a Parquet table for each task, and the functions for all of them. A document of a
question that is answered in writing has what a model reads, a text to be gone on with or a user's turn, and
what the verdict needs.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder
from factdrift.core.tables import check_columns, write_parquet
from factdrift.evaluation.questions.clozes import OWN, read_edits
from factdrift.evaluation.questions.items import add_stale, is_dated, questions_of
from factdrift.evaluation.questions.prompts import filled, turn_of
from factdrift.evaluation.questions.question import Question
from factdrift.tempripple.schemas import TASKS
from factdrift.tempripple.score import CONDITIONS

QUESTIONS = schema_of("id prompt: string, choices: [string], answer: int32")
"""The table of a task with options; `answer` is the place of the right one, from 0."""
CLOZES = schema_of("id prompt target: string")
"""The table of a task in which a model continues a text; `target` begins with the blank."""
WRITTEN = schema_of("id prompt question target: string, accepted stale others: [string], several: bool")
"""A table of documents. `prompt`: what the model reads; `question`: what is asked in it; `target`: the first
accepted answer."""

_ACCURACY = {"metric": "acc", "aggregation": "mean", "higher_is_better": True}
_CHOSEN: dict[str, Any] = {
    "doc_to_text": "prompt",
    "output_type": "multiple_choice",
    "doc_to_choice": "choices",
    "doc_to_target": "answer",
    "metric_list": [_ACCURACY],
}
_JUDGED = """\
process_results: !function tables.shares
filter_list:
- name: verdict
  filter:
  - function: custom
    filter_fn: !function tables.verdicts
  - function: take_first
"""
_READ = '''"""Reads the table of a task, which is beside this file, and judges what is written."""

from pathlib import Path

import datasets
import pyarrow.parquet as pq


def read(table, **_):
    return {"test": datasets.Dataset(pq.read_table(Path(__file__).with_name(f"{table}.parquet")))}


def verdicts(texts, docs):
    from factdrift.verdict.files import case_of  # factdrift must be installed here
    from factdrift.verdict.judge import judged

    return [[judged(case_of({**doc, "text": text})).verdict for text in row] for row, doc in zip(texts, docs)]


def shares(doc, verdict):
    return {"acc": float(verdict[0] == "correct")} | {
        name: float(verdict[0] == name) for name in ("stale", "refused", "unclear")
    }
'''


Group = tuple[str, str, Sequence[Question]]
"""The group of a task, the end of its name, and its questions."""


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


class Task(NamedTuple):
    """One task of the harness: its name, the group that averages it, and the table of its documents."""

    name: str
    group: str
    table: pa.Table
    how: Mapping[str, Any]
    """How a document is asked, as the harness's file says it."""


def written_items(name: str, path: Path, prompt: str, instruction: str) -> Iterator[WrittenQuestions]:
    """TempRIPPLE's items or those with a date, open ones among them, without and with their context.

    With TempRIPPLE's column `task` there is a kind for each of its four. `prompt`, `instruction`: as in the
    configuration. Raises InputError if a column is missing.
    """
    columns = ("item_id", "question", "context", "options", "answer_index", "open_only")
    check_columns(path, columns, "; give tempripple.parquet or asof.parquet")
    kinds: dict[str, list[Question]] = {}
    rows = pq.read_table(path).to_pylist()
    if not is_dated(path):
        add_stale(rows)
    for row in sorted(rows, key=lambda row: str(row["item_id"])):
        kind = f"_{TASKS[row['task'] - 1].replace(' ', '_')}" if "task" in row else ""
        kinds.setdefault(kind, []).extend(questions_of([row]))
    for condition in CONDITIONS:
        for kind, questions in kinds.items():
            yield _written(f"{name}_{condition}", kind, questions, condition == "with", prompt, instruction)


def written_updates(path: Path, prompt: str, instruction: str) -> Iterator[WrittenQuestions]:
    """The clozes of the updates of a table EDITS that have an accepted answer, by role."""
    roles: dict[str, list[Question]] = {}
    for question in read_edits(path).questions:
        if "written" in question.ways and question.accepted:
            roles.setdefault(question.role, []).append(question)
    for role, questions in roles.items():
        yield _written("wikifactdiff", f"_{role}", questions, False, prompt, instruction)


def _written(
    group: str, kind: str, questions: Iterable[Question], with_context: bool, prompt: str, instruction: str
) -> WrittenQuestions:
    continued, turns = [], []
    asked = [question if with_context else replace(question, context="") for question in questions]
    for question in asked:
        named = {name: getattr(question, name) for name in ("id", "accepted", "stale", "others", "several")}
        named["target"] = question.accepted[0]
        cloze = question.prompt or filled(prompt, question, question.context)
        words = question.prompt or filled("{cloze}", question)
        continued.append({**named, "prompt": cloze, "question": words})
        if question.words:
            turn = turn_of(question, question.context, instruction)
            turns.append({**named, "prompt": turn, "question": question.words})
    tables = (pa.Table.from_pylist(rows, schema=WRITTEN) for rows in (continued, turns))
    return WrittenQuestions(group, kind, asked, *tables)


def question_tasks(groups: Iterable[WrittenQuestions | Group], prompt: str) -> Iterator[Task]:
    """Tasks of questions with a right option, asked as by `evaluate` in the way `loglik`.

    `prompt`: the configuration's `answer.prompts.loglik`.
    """
    for group, kind, questions, *_ in groups:
        docs = [
            {
                "id": question.id,
                "prompt": filled(prompt, question, question.context),
                "choices": question.targets,
                "answer": question.answer,
            }
            for question in questions
            if question.answer is not None
        ]
        if docs:
            yield Task(f"{group}{kind}", group, pa.Table.from_pylist(docs, schema=QUESTIONS), _CHOSEN)


def cloze_tests(edits: Path) -> Iterator[Row]:
    """The updates' own clozes, of a table EDITS: benchmark, role, fact, prompt and object."""
    for row in pq.read_table(edits, columns=["edit", "probes"]).to_pylist():
        for probe in row["probes"]:
            if probe["role"] in OWN:
                role = f"{probe['role']}, {'new' if probe['object'] == 'new' else 'old'}"
                named = {"benchmark": "wikifactdiff", "role": role, "fact": row["edit"]}
                yield {**named, "prompt": probe["prompt"], "object": probe["target"]}


def cloze_tasks(rows: Iterable[Row]) -> Iterator[Task]:
    """A task for each benchmark and role of cloze tests (`cloze_tests`), to be continued."""
    how = {
        "doc_to_text": "prompt",
        "output_type": "loglikelihood",
        "doc_to_target": "target",
        "metric_list": [_ACCURACY],
    }
    by_role: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        # The harness puts its `target_delimiter` before options only.
        doc = {"id": row["fact"], "prompt": row["prompt"], "target": f" {row['object']}"}
        by_role.setdefault((row["benchmark"], row["role"]), []).append(doc)
    for (benchmark, role), docs in by_role.items():
        name = "_".join([benchmark, *re.findall(r"\w+", role)])
        yield Task(name, benchmark, pa.Table.from_pylist(docs, schema=CLOZES), how)


def written_tasks(written: Iterable[WrittenQuestions], tokens: int) -> Iterator[Task]:
    """Two tasks for each table of questions that are answered in writing: a text that a model goes on with up
    to the end of its line (`written`), and a turn of a user that it answers (`chat`).

    `tokens`: the configuration's `written.tokens`. Its accuracy is the share of the verdict `correct`.
    """
    other = ("stale", "refused", "unclear")
    shares = (_ACCURACY | {"metric": verdict, "higher_is_better": False} for verdict in other)
    metrics = [_ACCURACY, *shares]
    for questions in written:
        for way, table, until in (("written", questions.continued, ["\n"]), ("chat", questions.turns, [])):
            how = {
                "doc_to_text": "prompt",
                "output_type": "generate_until",
                "doc_to_target": "target",
                "generation_kwargs": {"until": until, "max_gen_toks": tokens, "do_sample": False},
                "metric_list": metrics,
            }
            group = f"{questions.group}_{way}"
            if len(table):
                yield Task(f"{group}{questions.kind}", group, table, how)


def write_tasks(tasks: Sequence[Task], output: Path) -> None:
    """Writes the folder of the tasks, in the place of one written before.

    Raises InputError if two tasks have the same name, if there is none, or if the folder has other files.
    """
    if not tasks:
        raise InputError("no task to write; give --questions, --edits or --chains")
    names = Counter(task.name for task in tasks)
    if twice := sorted(name for name, number in names.items() if number > 1):
        raise InputError(f"two tasks are called {twice[0]}; give the tables different names")
    groups: dict[str, list[str]] = {}
    with new_folder(output) as folder:
        (folder / "tables.py").write_text(_READ, encoding="utf-8")
        for task in tasks:
            groups.setdefault(task.group, []).append(task.name)
            write_parquet(task.table, folder / f"{task.name}.parquet")
            described = {
                "task": task.name,
                "tag": ["factdrift"],  # `--tasks factdrift` runs all of them
                "dataset_kwargs": {"table": task.name},
                "test_split": "test",
                "num_fewshot": 0,
                "target_delimiter": " ",
                **task.how,
                "metadata": {"version": 1},
            }
            judged = _JUDGED if task.how["output_type"] == "generate_until" else ""
            _write_yaml(described, folder, f"custom_dataset: !function tables.read\n{judged}")
        for group, members in groups.items():
            if members != [group]:
                # The group's accuracy is that of all its documents together.
                accuracy = [{"metric": "acc", "weight_by_size": True}]
                described = {"group": group, "task": members, "aggregate_metric_list": accuracy}
                _write_yaml({**described, "metadata": {"version": 1}}, folder)


def _write_yaml(described: Mapping[str, Any], folder: Path, head: str = "") -> None:
    """Writes the file of a task or group, which is named by the first value."""
    text = yaml.safe_dump(dict(described), sort_keys=False, allow_unicode=True)
    (folder / f"{next(iter(described.values()))}.yaml").write_text(head + text, encoding="utf-8")
