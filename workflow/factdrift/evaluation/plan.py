"""Which questions are asked in which state: pure functions of a benchmark, without any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

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
    """Why it is asked, of a stream: one of KINDS, or `after` for other benchmarks."""


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
                # Of several edits of an update each has a number behind subject and relation.
                Asking(each, last.get("-".join(each.edit.split("-")[:2]), ""), "after")
                for each in asked.questions
                if not each.unedited
            ]
        steps.append(Step(number, made, put, interval=interval))
    return steps


KINDS = ("current", "neighbors", "retention", "staleness")
"""Probes of the interval's own edits; of their neighbours; of earlier edits that hold; of superseded ones."""

PLAN = pa.schema(
    [
        ("interval", pa.int32()),
        ("edit", pa.string()),
        ("kind", pa.string()),
        ("number", pa.int16()),
    ]
)
"""One row for each probe that is put after an interval; `number` is its index in the edit's probes."""

Row = Mapping[str, Any]


class Planned(NamedTuple):
    """Probes of one edit."""

    place: int
    """Index of the edit."""
    kind: str
    numbers: list[int]


def intervals_of(rows: Sequence[Row]) -> list[int]:
    """The intervals that have an edit, ascending."""
    return sorted({row["interval"] for row in rows})


def planned(rows: Sequence[Row], interval: int, most: int, seed: int) -> list[Planned]:
    """What is asked after an interval of rows of STREAM_EDITS.

    `most`: edits of each of `retention` and `staleness`, those first in the order of a seeded hash, so that
    an edit that is asked once is asked again. An edit is superseded once an edit of its chain is made that
    ends its fact; one whose fact ended without any edit is not asked.
    """
    told = {(row["chain"], row["interval"]) for row in rows}
    found: list[Planned] = []
    earlier: dict[str, list[int]] = {"retention": [], "staleness": []}
    for place, row in enumerate(rows):
        if row["interval"] == interval:
            found += [
                Planned(place, kind, numbers)
                for kind, roles in (("current", _OWN), ("neighbors", _OTHERS))
                if (numbers := _numbers(row, roles))
            ]
        elif row["interval"] < interval:
            end = row["superseded_in"]
            if end is None or end > interval:
                earlier["retention"].append(place)
            elif row["new"] is not None and (row["chain"], end) in told:
                earlier["staleness"].append(place)
    for kind, places in earlier.items():
        drawn = sorted(places, key=lambda place: draw("stream", seed, rows[place]["edit"]))[:most]
        for place in sorted(drawn):
            row = rows[place]
            numbers = _numbers(row, _OWN) if kind == "retention" else _stale(row, rows, interval)
            found.append(Planned(place, kind, numbers))
    return found


def plan_table(rows: Sequence[Row], most: int, seed: int) -> pa.Table:
    """PLAN of all intervals."""
    found = [
        {"interval": interval, "edit": rows[asked.place]["edit"], "kind": asked.kind, "number": number}
        for interval in intervals_of(rows)
        for asked in planned(rows, interval, most, seed)
        for number in asked.numbers
    ]
    return pa.Table.from_pylist(found, schema=PLAN)


_OWN, _OTHERS = ("update", "generalization"), ("nearest", "random")


def _numbers(row: Row, roles: Sequence[str]) -> list[int]:
    return [number for number, probe in enumerate(row["probes"]) if probe["role"] in roles]


def _stale(row: Row, rows: Sequence[Row], interval: int) -> list[int]:
    """The edit's own object after its own prompt, and that of the last edit of its chain so far."""
    made = {one["link"] for one in rows if one["chain"] == row["chain"] and one["interval"] <= interval}
    later = {
        probe["place"]: number
        for number, probe in enumerate(row["probes"])
        if probe["role"] == "later" and probe["place"] in made
    }
    own = [
        number
        for number, probe in enumerate(row["probes"])
        if (probe["role"], probe["object"]) == ("update", "new")
    ]
    return [*own, *([later[max(later)]] if later else [])]
