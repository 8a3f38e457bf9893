"""From a subject's rows to what its page shows: both dumps aligned, decisions, dates, neighbours, answers."""

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.pages.browse.build import SIDES, Subject
from factdrift.pages.browse.search import Index
from factdrift.wikidata.ids import entity_id, property_id, revision_page
from factdrift.wikidata.time import YEAR, Time
from factdrift.words.dates import written_date
from factdrift.words.literals import shown

Names = Mapping[int, Row]
"""Id (properties negative) -> its row in the index."""

BARS = 12
"""Rows of a time line."""

BEFORE = 5.0
"""The time line begins this many times the time between the dumps before the old one; facts that began
earlier are cut there."""

_ORDER = {"obsolete": 0, "new": 1, "static": 2, "unknown": 3, "ignore": 4}
"""The order of a relation's rows by their label; what a filter dropped comes last."""

_DATES = {"start": (580, "from"), "end": (582, "to"), "pit": (585, "at")}
"""Columns of dates -> their qualifiers, and the words that are shown before them."""


class Value(NamedTuple):
    """A value in words; `id` is None for literals."""

    text: str
    id: str | None = None


class Statement(NamedTuple):
    """A statement of one dump. `dates`: word and date. `link`: None where Wikidata has no page of it."""

    value: Value
    rank: str
    dates: Sequence[tuple[str, str]]
    qualifiers: Sequence[Value]
    id: str
    revision: int | None
    link: str | None


class Decision(NamedTuple):
    """What was decided about a statement or a triple.

    `kind`: `filter` or `rule`; `name`: of the filter or rule; `label`: that the rule gave; `step`: the step
    that kept the triple out of the dataset; `reached`: it is in the dataset; `side`: the dump of which a
    filter dropped the statement, where the other one keeps it.
    """

    kind: str
    name: str
    label: str = ""
    step: str = ""
    reached: bool = False
    side: str = ""


class Pair(NamedTuple):
    """A row of the comparison: a statement of each dump, one of them None if only the other has it."""

    old: Statement | None
    new: Statement | None
    decisions: Sequence[Decision]
    span: tuple[int, int] | None
    """First and last packed day of the fact, where any is given; an open end is 0."""

    @property
    def latest(self) -> Statement:
        """The statement of the newest dump that has one."""
        latest = self.new or self.old
        assert latest is not None
        return latest

    @property
    def tone(self) -> str:
        """The label of the triple; `dropped` where there is none."""
        return next((decision.label for decision in self.decisions if decision.label), "dropped")


@dataclass
class Relation:
    """The statements of a subject and relation in both dumps.

    `update`: its record in the index, if any; `open`: rules decided about its triples; `nearest`, `random`:
    facts with values in words; `answers`, `ripples`: rows of the tables.
    """

    number: int
    name: Value
    pairs: list[Pair]
    update: Row | None
    open: bool
    nearest: list[Row]
    random: list[Row]
    answers: list[Row]
    ripples: list[Row]

    @property
    def id(self) -> str:
        return property_id(self.number)

    def counts(self) -> dict[str, int]:
        """Statements of each dump, and what decided about them, most first."""
        numbers = {"old": sum(pair.old is not None for pair in self.pairs)}
        numbers["new"] = sum(pair.new is not None for pair in self.pairs)
        decided = Counter(decision.name for pair in self.pairs for decision in pair.decisions)
        return numbers | dict(decided.most_common())


class Bar(NamedTuple):
    """A fact on the time line: positions from 0 to 100; `end` is None where it goes on."""

    relation: Value
    value: Value
    tone: str
    start: float
    end: float | None
    dates: Sequence[tuple[str, str]]


def indexed(
    subject: Subject, index: Index, untouched: Mapping[int, Sequence[Row]]
) -> tuple[list[Relation], dict[int, Row]]:
    """The subject's relations with names and updates of the index, and the names."""
    names = index.names(_ids_of(subject))
    return relations(subject, names, index.updates_of(subject.id), untouched), names


def relations(
    subject: Subject, names: Names, updates: Mapping[int, Row], untouched: Mapping[int, Sequence[Row]]
) -> list[Relation]:
    """The subject's relations: those with an update, those whose triples rules decided, the others."""
    parts = subject.parts
    made = []
    for number in parts["old"].keys() | parts["new"].keys() | updates.keys():
        old, new = (sorted(parts[side][number], key=itemgetter("position")) for side in SIDES)
        triples = parts["triples"][number]
        pairs = _pairs(old, new, triples, names, untouched.get(number, ()))
        nearest, random = (
            [
                {
                    "subject": named(row["neighbor"], names),
                    "relation": named(-row["relation"], names),
                    "value": value_of(row, names),
                    "similarity": row["similarity"],
                }
                for row in sorted(parts[part][number], key=itemgetter("rank_no"))
            ]
            for part in ("nearest", "random")
        )
        of_models = (parts[part][number] for part in ("answers", "ripples"))
        name, update = named(-number, names), updates.get(number)
        made.append(Relation(number, name, pairs, update, bool(triples), nearest, random, *of_models))
    return sorted(made, key=lambda relation: (relation.update is None, not relation.open, relation.number))


def named(number: int, names: Names) -> Value:
    """An entity by its label, or by its id where it has none."""
    row = names.get(number)
    return Value(row["label"] if row else entity_id(number), entity_id(number))


def _pairs(
    old: list[Row], new: list[Row], triples: list[Row], names: Names, untouched: Sequence[Row]
) -> list[Pair]:
    """The statements of both dumps in rows: as the difference paired them, else by value or id."""
    by_old = {row["old_statement"]: row for row in triples if row["old_statement"] is not None}
    by_new = {row["new_statement"]: row for row in triples if row["new_statement"] is not None}
    waiting = dict(enumerate(old))
    indices: dict[object, list[int]] = defaultdict(list)
    for index, row in waiting.items():
        for key in _keys(row, by_old.get(row["statement"]), "new"):
            indices[key].append(index)
    rows: list[tuple[Row | None, Row | None]] = []
    for row in new:
        keys = _keys(row, by_new.get(row["statement"]), "old")
        partner = next((index for key in keys for index in indices[key] if index in waiting), None)
        rows.append((None if partner is None else waiting.pop(partner), row))
    pairs = []
    for before, after in [*((row, None) for row in waiting.values()), *rows]:
        latest = after or before
        assert latest is not None
        decided = [by_new.get(after["statement"])] if after else []
        decided += [by_old.get(before["statement"])] if before else []
        decisions = [
            Decision("rule", row["rule"], row["label"], row["dropped_by"] or "", row["dropped_by"] is None)
            for row in decided
            if row is not None
        ]
        dropped = {side: row["dropped_by"] for side, row in zip(SIDES, (before, after), strict=True) if row}
        alone = len(set(dropped.values())) > 1
        decisions += [
            Decision("filter", name, side=side if alone else "") for side, name in dropped.items() if name
        ]
        decisions = decisions or [
            Decision("rule", row["rule"], row["label"], row["dropped_by"] or "") for row in untouched
        ]
        was, now = (None if row is None else _statement(row, names) for row in (before, after))
        pairs.append(Pair(was, now, list(dict.fromkeys(decisions)), _span(latest)))
    return sorted(pairs, key=lambda pair: _ORDER.get(pair.tone, len(_ORDER)))


def _keys(row: Row, triple: Row | None, other: str) -> list[tuple[object, ...]]:
    """By what a statement is found in the `other` dump, the surest first.

    A triple's statements belong together. If it has none in the other dump, the same statement may be there
    with another value, or dropped by a filter. Statements without a triple: value and id, value, id.
    """
    if triple is not None and triple[f"{other}_statement"] is not None:
        return [("triple", triple["old_statement"])]
    if triple is not None:
        return [("id", row["statement"])]
    value = (row["snak"], row["datatype"], row["object"], row["key"])
    return [(row["statement"], *value), value, ("id", row["statement"])]


def _statement(row: Row, names: Names) -> Statement:
    link = revision_page(entity_id(row["subject"]), row["revision"])
    of_dates = {number for number, _ in _DATES.values()}
    return Statement(
        value_of(row, names),
        row["rank"],
        list(_dates(row)),
        [named(-number, names) for number in row["qualifiers"] or () if number not in of_dates],
        row["statement"],
        row["revision"],
        f"{link}#{property_id(row['property'])}" if link else None,
    )


def _dates(row: Row) -> Iterator[tuple[str, str]]:
    for name, (_, word) in _DATES.items():
        if row[name] is not None:
            yield word, date_text(row[name])
        elif row.get(f"{name}_unknown"):
            yield word, "unknown"


def date_text(time: Row) -> str:
    """A date as precise as it is known, as in datasets: 2021-12-08, 2021-12 or 2021; in words where it names
    more than a year, or lies before the year 0."""
    if time["year"] > 0 and time["precision"] >= YEAR:
        parts = [f"{time['year']:04}", f"{time['month']:02}", f"{time['day']:02}"]
        return "-".join(parts[: min(time["precision"] - YEAR, 2) + 1])
    return written_date(Time(**time)) or str(time["year"])


def value_of(row: Row, names: Names) -> Value:
    """The value of a statement or fact in words."""
    if row.get("snak", "value") != "value":
        return Value("unknown value" if row["snak"] == "somevalue" else "no value")
    if row["object"] is not None:
        return named(row["object"], names)
    if row["json"] is None:
        return Value(str(row.get("key") or "–"))
    fields = _fields(row)
    if row["datatype"] == "globe-coordinate" and {"latitude", "longitude"} <= fields.keys():
        return Value(f"{fields['latitude']}, {fields['longitude']}")
    unit = names.get(_unit(row) or 0)
    units = {unit["id"]: (unit["label"], unit["symbol"])} if unit else {}
    text = shown(row["datatype"], row["json"], units).label
    if row["datatype"] == "monolingualtext" and "language" in fields:
        text = f"{text} ({fields['language']})"
    return Value(text)


def _fields(row: Row) -> Row:
    """The value of a statement, if it is JSON with fields; else none."""
    try:
        fields = json.loads(row["json"])
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _unit(row: Row) -> int | None:
    """The item that is the unit of a quantity."""
    if row["datatype"] != "quantity" or not row["json"]:
        return None
    unit = str(_fields(row).get("unit", "")).rpartition("/Q")[2]
    return int(unit) if unit.isascii() and unit.isdigit() and len(unit) < 10 else None


def _ids_of(subject: Subject) -> set[int]:
    """The entities that the rows of a subject name, units of quantities included; properties are negative."""
    ids = {subject.id}
    for row in subject.rows(*SIDES):
        ids.add(-row["property"])
        ids.update(-qualifier for qualifier in row["qualifiers"] or ())
    for row in subject.rows("nearest", "random"):
        ids.update((row["neighbor"], -row["relation"]))
    for row in subject.rows(*SIDES, "nearest", "random"):
        ids.update(number for number in (row["object"], _unit(row)) if number is not None)
    return ids


def _span(row: Row) -> tuple[int, int] | None:
    """First and last packed day that a statement's dates name; 0 for an end that is open."""
    start, end, pit = row["start"], row["end"], row["pit"]
    if start:
        return start["first"], end["last"] if end else 0
    if pit:
        return pit["first"], pit["last"]
    return (end["first"], end["last"]) if end else None


def _year(packed: int) -> float:
    year, rest = divmod(packed, 10_000)
    return year + (rest // 100 - 1) / 12 + (rest % 100 - 1) / 365


def time_line(
    of_subject: Sequence[Relation], old: str, new: str
) -> tuple[list[Bar], list[tuple[float, str]], tuple[float, float], int] | None:
    """Bars, marks of the axis, its ends in years, and how many facts it leaves out, over relations with an
    update; None without dates.

    `old`, `new`: the dates of the dumps. The axis ends at the new one, unless a fact lies later.
    """
    before, today = (_year(int(date.replace("-", ""))) for date in (old, new))
    low = math.floor(before - BEFORE * (today - before))
    dated = [
        (relation.name, pair, _year(pair.span[0]), _year(pair.span[1]) if pair.span[1] else None)
        for relation in of_subject
        if relation.update is not None
        for pair in sorted(relation.pairs, key=lambda pair: pair.span or (0, 0), reverse=True)
        if pair.span
    ]
    inside = [fact for fact in dated if fact[3] is None or fact[3] >= low][:BARS]
    if not inside:
        return None
    high = max(today, *(max(start, end or start) for _, _, start, end in inside)) + 0.5

    def position(year: float) -> float:
        return round(100 * (max(year, low) - low) / (high - low), 3)

    bars = []
    for name, pair, start, end in inside:
        # Where a fact has no end, it holds until the dump in which it was last stated.
        ends = None if end is None else position(end)
        bars.append(Bar(name, pair.latest.value, pair.tone, position(start), ends, pair.latest.dates))
    steps = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**5, 10**8, 10**12)
    step = next(step for step in steps if (high - low) / step <= 8)
    first = math.ceil(low / step) * step
    marks = [(position(year), str(year)) for year in range(first, math.floor(high) + 1, step)]
    return bars, marks, (low, high), len(dated) - len(inside)


def on_axis(axis: tuple[float, float], date: str) -> float:
    """The position (0 to 100) of a date on an axis of years."""
    low, high = axis
    return round(100 * (_year(int(date.replace("-", ""))) - low) / (high - low), 3)
