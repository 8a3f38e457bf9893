"""Which questions are asked in which state: pure functions of a benchmark, without any model."""

from collections.abc import Sequence, Set
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa

from factdrift.core.columns import Row, schema_of
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.clozes import NEIGHBORS, OWN
from factdrift.evaluation.questions.question import Benchmark, Question, probe_id
from factdrift.evaluation.questions.updates import draw

CHUNK = 32
"""Questions that an unedited model is asked between two checkpoints, in batches of edits."""


class PlannedQuestion(NamedTuple):
    """A question as one state is asked it."""

    question: Question
    edit: str = ""
    """The edit in whose presence it is asked; empty for none."""
    kind: str = ""
    """Why it is asked, of a stream: one of KINDS, or `after` for other benchmarks."""
    before: str = ""
    """The text before the prompt, which the state knows."""
    owner: int = -1
    """The index of the change that is applied while it is asked; -1 for none."""


class Step(NamedTuple):
    """Edits that are made together, and what is asked before the next ones."""

    state: int
    """The number of the edited model; of edits that are alone in a model, that of the first one."""
    edits: Sequence[Edit]
    asked: Sequence[PlannedQuestion]
    alone: bool = False
    """Whether each edit is in a model of its own."""
    interval: int | None = None


def unedited(benchmark: Benchmark, size: int) -> list[Step]:
    """All questions, `size` at a time, with equal texts together, so that each is run once.

    Those whose prompts run once for all of their targets (`Question.exact`) are asked in one step.
    """
    order = sorted(
        benchmark.questions,
        key=lambda question: (question.prompt or question.words, question.targets, question.id),
    )
    size = size if all(question.exact for question in order) else len(order)
    return [
        Step(0, (), [PlannedQuestion(question, question.edit) for question in order[start : start + size]])
        for start in range(0, len(order), size)
    ]


def grouped(benchmark: Benchmark, size: int, alone: bool, seed: int) -> list[Step]:
    """Each question in the state that has its edit; groups of `size` edits are made together.

    With a size of 0 they are all edits of a subject, by its name, which is all that a model sees of it.
    A question that is about no edit is asked in the state of one that the seed draws: it measures what an
    edit of something else does to it. What only an unedited model is asked is left out.
    """
    ids = [edit.id for edit in benchmark.edits]
    asked: dict[str, list[PlannedQuestion]] = {edit: [] for edit in ids}
    for question in benchmark.questions if ids else ():
        if question.unedited:
            continue
        edit = question.edit if question.edit in asked else ids[draw("state", seed, question.id) % len(ids)]
        asked[edit].append(PlannedQuestion(question, edit))
    groups: dict[int | str, list[Edit]] = {}
    for number, made in enumerate(benchmark.edits):
        groups.setdefault(number // size if size else made.subject, []).append(made)
    steps = []
    for group, edits in enumerate(groups.values()):
        questions = [planned for edit in edits for planned in asked[edit.id]]
        steps.append(Step(group * size if alone else group, edits, questions, alone))
    return steps


def by_interval(stream: Benchmark, asked: Benchmark, most: int, seed: int) -> list[Step]:
    """The edits of a stream interval by interval, and what is asked after each.

    Of the stream's own questions those that `planned` names; of another benchmark all, each in the presence
    of the last edit so far of its subject and relation. `most`, `seed`: see `planned`.
    """
    rows = [stream.rows[edit.id] for edit in stream.edits]
    own = {question.id: question for question in stream.questions}
    last: dict[str, str] = {}
    steps = []
    for number, interval in enumerate(sorted({row["interval"] for row in rows})):
        edits = [edit for edit in stream.edits if stream.rows[edit.id]["interval"] == interval]
        questions = []
        if asked is stream:
            for index, kind, probe in planned(rows, interval, most, seed):
                edit = stream.edits[index].id
                question = own[probe_id(edit, probe)]
                if kind == "staleness" and question.role != "later":
                    # Of a superseded fact only the later object is right in writing.
                    question = replace(question, ways=("loglik",))
                questions.append(PlannedQuestion(question, edit, kind))
        else:
            for row in (stream.rows[edit.id] for edit in edits):
                last[f"{row['subject']}-{row['relation']}"] = row["edit"]
            questions = [
                # Of several edits of an update each has a number behind subject and relation.
                PlannedQuestion(question, last.get("-".join(question.edit.split("-")[:2]), ""), "after")
                for question in asked.questions
                if not question.unedited
            ]
        steps.append(Step(number, edits, questions, interval=interval))
    return steps


KINDS = ("current", "neighbors", "retention", "staleness")
"""Probes of the interval's own edits; of their neighbours; of earlier edits that hold; of superseded ones."""

PLAN = schema_of("interval: int32, edit kind: string, number: int16")
"""One row for each probe that is asked after an interval; `number` is its index in the edit's probes."""


def planned(rows: Sequence[Row], interval: int, most: int, seed: int) -> list[tuple[int, str, int]]:
    """What is asked after an interval of rows of STREAM_EDITS: index of the edit, kind, number of its probe.

    `most`: edits of each of `retention` and `staleness`, those first in the order of a seeded hash, so that
    an edit that is asked once is asked again. An edit is superseded once an edit of its chain is made that
    ends its fact; one whose fact ended without any edit is not asked, nor one whose object has come back.
    """
    so_far = [row for row in rows if row["interval"] <= interval]
    changed = {(row["chain"], row["interval"]) for row in so_far}
    current = [row for row in so_far if (row["chain"], row["superseded_in"]) not in changed]
    objects = {(row["chain"], row["new"]) for row in current}
    links = {(row["chain"], row["link"]) for row in current}
    probes: list[tuple[int, str, list[int]]] = []
    earlier: dict[str, list[int]] = {"retention": [], "staleness": []}
    for index, row in enumerate(rows):
        if row["interval"] == interval:
            probes.append((index, "current", _numbers(row, OWN)))
            probes.append((index, "neighbors", _numbers(row, NEIGHBORS)))
        elif row["interval"] < interval:
            end = row["superseded_in"]
            if end is None or end > interval:
                earlier["retention"].append(index)
            elif (row["chain"], end) in changed and row["new"] and (row["chain"], row["new"]) not in objects:
                earlier["staleness"].append(index)
    for kind, edits in earlier.items():
        drawn = sorted(edits, key=lambda index: draw("stream", seed, rows[index]["edit"]))[:most]
        for index in sorted(drawn):
            row = rows[index]
            numbers = _numbers(row, OWN) if kind == "retention" else _stale(row, links)
            probes.append((index, kind, numbers))
    return [(index, kind, number) for index, kind, numbers in probes for number in numbers]


def plan_table(rows: Sequence[Row], most: int, seed: int) -> pa.Table:
    """PLAN of all intervals."""
    probes = [
        {"interval": interval, "edit": rows[index]["edit"], "kind": kind, "number": number}
        for interval in sorted({row["interval"] for row in rows})
        for index, kind, number in planned(rows, interval, most, seed)
    ]
    return pa.Table.from_pylist(probes, schema=PLAN)


def _numbers(row: Row, roles: Sequence[str]) -> list[int]:
    return [number for number, probe in enumerate(row["probes"]) if probe["role"] in roles]


def _stale(row: Row, links: Set[tuple[str, int]]) -> list[int]:
    """The edit's own object after its own prompt, and that of the last of those `links` that stand."""
    own, later = [], {}
    for number, probe in enumerate(row["probes"]):
        if (probe["role"], probe["object"]) == ("update", "new"):
            own.append(number)
        elif probe["role"] == "later" and (row["chain"], probe["place"]) in links:
            later[probe["place"]] = number
    return [*own, *([later[max(later)]] if later else [])]
