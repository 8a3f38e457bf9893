"""Which questions are asked in which state: pure functions of a benchmark, without any model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from factdrift.evaluation.questions.intervals import intervals_of, planned
from factdrift.evaluation.questions.question import Benchmark, Question, probe_id
from factdrift.evaluation.questions.updates import draw

if TYPE_CHECKING:
    from factdrift.evaluation.methods.interface import Edit


CHUNK = 32
"""Questions that an unedited model is asked between two checkpoints, in batches of edits."""


class Asking(NamedTuple):
    """A question as one state is asked it."""

    question: Question
    edit: str
    """The edit in whose presence it is asked; empty for none."""
    kind: str = ""
    """Why it is asked, of a stream: one of `intervals.KINDS`, or `after` for other benchmarks."""


class Step(NamedTuple):
    """Edits that are made together, and what is asked before the next ones."""

    state: int
    """The number of the edited model; of edits that are alone in a model, that of the first one."""
    edits: Sequence[Edit]
    asked: Sequence[Asking]
    alone: bool = False
    """Whether each edit is in a model of its own."""
    interval: int | None = None


def unedited(benchmark: Benchmark, size: int) -> list[Step]:
    """All questions, `size` at a time, with equal texts together, so that each is run once."""
    order = sorted(benchmark.questions, key=lambda each: (each.prompt or each.words, each.targets, each.id))
    return [
        Step(0, (), [Asking(question, question.edit) for question in order[start : start + size]])
        for start in range(0, len(order), size)
    ]


def grouped(benchmark: Benchmark, size: int, alone: bool, seed: int) -> list[Step]:
    """Each question in the state that has its edit; groups of `size` edits are made together.

    A question that is about no edit is asked in the state of one that the seed draws: it measures what an
    edit of something else does to it. What only an unedited model is asked is left out.
    """
    ids = [edit.id for edit in benchmark.edits]
    asked: dict[str, list[Asking]] = {edit: [] for edit in ids}
    for question in benchmark.questions if ids else ():
        if question.unedited:
            continue
        edit = question.edit if question.edit in asked else ids[draw("state", seed, question.id) % len(ids)]
        asked[edit].append(Asking(question, edit))
    return [
        Step(
            start if alone else group,
            benchmark.edits[start : start + size],
            [each for edit in ids[start : start + size] for each in asked[edit]],
            alone,
        )
        for group, start in enumerate(range(0, len(ids), size))
    ]


def _in(kind: str, question: Question) -> Question:
    """A probe of a stream as it is asked: of a superseded fact only the later object is right in writing."""
    if kind == "staleness" and question.role != "later":
        return replace(question, ways=("loglik",))
    return question


def by_interval(stream: Benchmark, asked: Benchmark, most: int, seed: int) -> list[Step]:
    """The edits of a stream interval by interval, and what is asked after each.

    Of the stream's own questions those that `planned` names; of another benchmark all, each in the presence
    of the last edit so far of its subject and relation. `most`, `seed`: see `planned`.
    """
    rows = [stream.rows[edit.id] for edit in stream.edits]
    own = {question.id: question for question in stream.questions}
    last: dict[str, str] = {}
    steps = []
    for number, interval in enumerate(intervals_of(rows)):
        made = [edit for edit in stream.edits if stream.rows[edit.id]["interval"] == interval]
        if asked is stream:
            put = [
                Asking(_in(each.kind, own[probe_id(edit.id, place)]), edit.id, each.kind)
                for each in planned(rows, interval, most, seed)
                for edit in [stream.edits[each.place]]
                for place in each.numbers
            ]
        else:
            for row in (stream.rows[edit.id] for edit in made):
                last[f"{row['subject']}-{row['relation']}"] = row["edit"]
            put = [
                Asking(each, last.get(each.edit, ""), "after")
                for each in asked.questions
                if not each.unedited
            ]
        steps.append(Step(number, made, put, interval=interval))
    return steps
