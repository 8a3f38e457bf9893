"""What the dumps up to each date prove: timelines with a second axis, the time at which they were known.

K_k is the timeline of a subject and relation by the dumps D_1 to D_k alone. All come from a single pass over
the dumps. Days are packed (YYYYMMDD); dumps are named by their dates (2021-01-04).
"""

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import Row, schema_of
from factdrift.core.tables import fetched, growing
from factdrift.streams.timelines import (
    EVER,
    ITEM,
    NEVER_ENDS,
    TIMELINES,
    UNNAMED,
    Ended,
    Span,
    StatementHistory,
    StatementInDump,
    Tenure,
    day_number,
    follow,
    tenure,
    verdict,
)
from factdrift.wikidata.filters import dropped_as
from factdrift.wikidata.time import iso_day

KNOWN = schema_of(
    *TIMELINES,
    "start_last: int64, statement linked_from known_from known_until became first_known: string, late: bool",
)
"""Rows of TIMELINES with the dumps by which they were known (docs/tables/known.md)."""

Days = tuple[int, int]
"""A first and a last day."""
Became = Literal["extended", "ended", "dated", "corrected", "doubted", "removed", "replaced"]

_BATCH = 2_000
"""Subjects and relations whose rows are written together."""


class Holding(NamedTuple):
    """What K_k says of a statement: its history up to D_k, and its tenure."""

    history: StatementHistory
    tenure: Tenure


World = dict[int, Holding]
"""K_k of a subject and relation: number of a statement -> what is known of it, in the order of TIMELINES."""


class Links(NamedTuple):
    """Dumps, by index, that end intervals with an update of a subject and relation."""

    since: int | None
    """The first; None if there is none."""
    functional_since: int | None
    """The first whose update says that there is a single value at a time."""


def worlds(
    rows: Sequence[tuple[StatementInDump, bool]],
    days: Sequence[int],
    obsolete: Mapping[tuple[int, int], tuple[int, int]],
    links: Links,
) -> Iterator[World]:
    """Yields K_1 to K_n of a subject and relation.

    `rows`: the statements of each dump, with whether the dump prefers another statement, which matters where
    there is a single value at a time. `obsolete`: as of `follow`.
    """
    several = follow((row for row, _ in rows), days, obsolete)
    if links.functional_since is None:
        passes = several
    else:
        lower = ((row, aside and row.standing == "current") for row, aside in rows)
        outranked = (row._replace(standing="aside") if aside else row for row, aside in lower)
        single = list(follow(outranked, days, obsolete))
        # Before its first update a relation is what that update says.
        begin = 0 if links.functional_since == links.since else links.functional_since
        passes = itertools.chain(itertools.islice(several, begin), single[begin:])
    before: World = {}
    for histories in passes:
        world = {}
        for history in histories:
            same = before.get(history.number)
            known = same if same and same.history is history else Holding(history, tenure(history, days))
            world[history.number] = known
        yield world
        before = world


def versions(known: Sequence[World], days: Sequence[int], links: Links) -> Iterator[Row]:
    """The rows of KNOWN but for subject and property: a row for a statement and a run of dumps that prove the
    same of it."""
    last = len(known) - 1
    for number in known[last]:
        begin = next(dump for dump, world in enumerate(known) if number in world)
        for dump in range(begin, last + 1):
            holding = known[dump][number]
            if dump < last and known[dump + 1][number].tenure == holding.tenure:
                continue
            starts = () if holding.history.last.start_unknown else holding.history.last.starts
            change = _change(holding) if dump == last else None
            yield {
                **_timeline(holding.tenure),
                "start_last": max((span.last for span in starts), default=None),
                "statement": holding.history.last.statement,
                "linked_from": None if links.since is None else iso_day(days[links.since]),
                "known_from": iso_day(days[begin]),
                "known_until": iso_day(days[dump + 1]) if dump < last else None,
                "became": _became(number, known, (begin, dump), days),
                "first_known": change and _first_known(holding.tenure.value, change, known, days),
                "late": None if change is None else _is_late(holding.tenure.value, change, known, days),
            }
            begin = dump + 1


def _timeline(term: Tenure) -> Row:
    first, last = term.possible
    possible = None if first == EVER else first, None if last == NEVER_ENDS else last
    value, certain = None if term.value == UNNAMED else term.value, term.certain or (None, None)
    values = (value, *certain, *possible, term.doubted, term.dated)
    return dict(zip(TIMELINES.names[2:], values, strict=True))


def _became(number: int, known: Sequence[World], run: tuple[int, int], days: Sequence[int]) -> Became | None:
    """What became of a row that the dumps of a run (first and last index) prove; None if all is as it was."""
    first, dump = run
    history, before = known[dump][number]
    if dump == len(known) - 1:
        if history.last.dump == dump or before.possible[1] != NEVER_ENDS:
            return None
        return "corrected" if _contradicted(number, before, known[dump]) else "removed"
    later, after = known[dump + 1][number]
    if after.doubted and not before.doubted:
        return "doubted"
    if _contradicted(number, before, known[dump + 1]):
        return "corrected"
    if days[first] < after.possible[1] < before.possible[1]:
        return "ended"
    if (later.last.statement, *later.last[4:6]) != (history.last.statement, *history.last[4:6]):
        return "replaced" if later.last[4:6] == history.last[4:6] else "dated"
    moved = before.certain and after.certain and before.certain[0] == after.certain[0]
    grown = moved and before._replace(certain=None) == after._replace(certain=None)
    return "extended" if grown else "dated"


def _contradicted(number: int, before: Tenure, later: World) -> bool:
    """Whether a day on which a value term for certain is now certainly another value's.

    The value does not hold on that day any more; or its statement now has that other value.
    """
    if before.certain is None:
        return False
    statement = later[number].history.last.statement
    own = [term.possible for _, term in later.values() if term.value == before.value]
    for history, term in later.values():
        if term.value == before.value or term.certain is None:
            continue
        first, last = max(before.certain[0], term.certain[0]), min(before.certain[1], term.certain[1])
        if first > last:
            continue
        rewritten = statement is not None and history.last.statement == statement and history.number > number
        if rewritten or _uncovered(first, last, own):
            return True
    return False


def _uncovered(first: int, last: int, spans: Iterable[tuple[int, int]]) -> bool:
    """Whether a day of a time lies in none of the spans."""
    begin, end = day_number(first), day_number(last)  # counted, since a month has an end
    for low, high in sorted((day_number(low), day_number(high)) for low, high in spans):
        if low > begin:
            break
        begin = max(begin, high + 1)
    return begin <= end


def _change(holding: Holding) -> Days | None:
    """The days on which a value may have begun, if its statement says when and proves a tenure."""
    last, term = holding.history.last, holding.tenure
    dated = last.starts and not last.start_unknown
    return (term.possible[0], term.certain[0]) if dated and term.certain else None


def _first_known(value: int, change: Days, known: Sequence[World], days: Sequence[int]) -> str:
    """The first dump that has the value with a start that may be that of the change, or without a start."""
    return next(
        iso_day(day)
        for day, world in zip(days, known, strict=True)
        for history, term in world.values()
        if term.value == value and not term.doubted and _may_begin(history, term, change)
    )


def _may_begin(history: StatementHistory, term: Tenure, change: Days) -> bool:
    begun = max((span.last for span in history.last.starts), default=change[0])
    return term.possible[0] <= change[1] <= term.possible[1] and begun >= change[0]


def _is_late(value: int, change: Days, known: Sequence[World], days: Sequence[int]) -> bool:
    """Whether a dump after the change proves another value on its own day, which the last dump excludes."""
    newest = [term for _, term in known[-1].values()]
    for day, world in zip(days, known, strict=True):
        if day <= change[1] or verdict(newest, value, day, day) != "correct":
            continue
        for _, term in world.values():
            stale = term.certain and term.certain[0] <= day <= term.certain[1] and term.value != value
            if stale and verdict(newest, term.value, day, day) == "wrong":
                return True
    return False


_STANDING = f"""CASE
    WHEN rank = 'deprecated' THEN 'deprecated'
    WHEN {dropped_as("in_part")} THEN 'in_part'
    WHEN {dropped_as("aside")} THEN 'aside'
    ELSE 'current' END"""
"""SQL: a RankStatus, where several values may hold at a time."""


def write_known(
    db: Connection, days: Sequence[int], ended: Ended, output: Path, timelines: Path | None = None
) -> None:
    """Writes KNOWN of the relations whose values are items, by subject and property.

    Needs the tables of `create_stated`. `days`: those of the dumps; `timelines` becomes TIMELINES, K_n alone.
    """
    # Ranks are looked at once more: a filter sees what those before it leave.
    db.execute(
        f"""SELECT subject, property, since, functional_since, dump, statement,
            CASE WHEN snak = 'value' THEN object ELSE {UNNAMED} END AS value, {_STANDING} AS standing,
            starts, ends, start_unknown, end_unknown, has_pit AND len(starts) = 0 AS measured,
            rank = 'normal'
                AND bool_or(rank = 'preferred') OVER (PARTITION BY dump, subject, property) AS outranked
        FROM stated JOIN linked USING (subject, property)
        WHERE datatype = '{ITEM}' AND (snak <> 'value' OR object > 0)
        ORDER BY subject, property, dump, position, statement"""
    )
    with contextlib.ExitStack() as files:
        add = files.enter_context(growing(output, KNOWN))
        add_newest = files.enter_context(growing(timelines, TIMELINES)) if timelines else None
        groups = _groups(db, days, ended)
        while part := list(itertools.islice(groups, _BATCH)):
            rows = [row for _, versions_ in part for row in versions_]
            add(pa.RecordBatch.from_pylist(rows, schema=KNOWN))
            if add_newest:
                newest = [row for timeline, _ in part for row in timeline]
                add_newest(pa.RecordBatch.from_pylist(newest, schema=TIMELINES))


def _groups(db: Connection, days: Sequence[int], ended: Ended) -> Iterator[tuple[list[Row], list[Row]]]:
    """Yields the rows of TIMELINES and of KNOWN by subject and relation."""
    for key, rows in itertools.groupby(fetched(db), key=lambda row: row[:4]):
        group = dict(zip(TIMELINES.names, key[:2], strict=False))
        stated = []
        for row in rows:
            starts, ends = (tuple(Span(**date) for date in dates) for dates in row[8:10])
            stated.append((StatementInDump._make((*row[4:8], starts, ends, *row[10:13])), row[13]))
        links = Links(*key[2:])
        known = list(worlds(stated, days, ended.get(key[:2], {}), links))
        timeline = [group | _timeline(term) for _, term in known[-1].values()]
        yield timeline, [group | row for row in versions(known, days, links)]
