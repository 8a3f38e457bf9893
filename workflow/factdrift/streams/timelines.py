"""When the values of a subject and relation held, as far as the dumps of a sequence prove it.

All statements of the chains of a bucket count, those that filters drop too. Days are packed (YYYYMMDD). A
statement holds *certainly* from the last day that its start may be to the first day that its end may be, and
*possibly* from the first day of its start to the last day of its end.
"""

import calendar
import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.tables import sql
from factdrift.tempripple.claims import day_number as ordinal_of
from factdrift.wikidata.time import pack_date, unpack

EVER, NEVER_ENDS = -(10**15), 10**15
"""Before all days and after them."""

UNNAMED = 0
"""The value of a statement that names no item: an unknown holder, or nobody."""

Verdict = Literal["correct", "wrong", "unclear"]
Precision = Literal["day", "month", "year"]
PRECISIONS: tuple[Precision, ...] = ("day", "month", "year")

RankStatus = Literal["current", "aside", "in_part", "deprecated"]
"""What a dump makes of a statement: it is one of the values; a preferred one or a later date takes its place,
where there is one value at a time; it is true in part or on a condition; it is said to be false."""


class Span(NamedTuple):
    """A date as it is written, and the first and the last day that it covers."""

    text: str
    precision: int
    first: int
    last: int


class StatementInDump(NamedTuple):
    """A statement as one dump has it."""

    dump: int
    """Index of the dump in the sequence, from 0."""
    statement: str | None
    value: int
    standing: RankStatus
    starts: tuple[Span, ...]
    ends: tuple[Span, ...]
    start_unknown: bool
    end_unknown: bool
    measured: bool
    """It has a point in time and no start: it was true then, and nothing is known of other days."""


class StatementHistory(NamedTuple):
    """A statement in the last dump that has it, and what the other dumps add."""

    last: StatementInDump
    first_current: int | None
    """Index of the first dump in which it is current; None if there is none."""
    last_current: int | None
    ended: tuple[int, int] | None
    """The first and the last day on which it ended, if it gives no end, by what took its place; None if
    nothing did."""
    number: int = 0
    """Its position among the statements of its subject and relation, in the order in which they appear."""


class Tenure(NamedTuple):
    """Days on which a value held. `certain` is None where nothing proves any."""

    value: int
    certain: tuple[int, int] | None
    possible: tuple[int, int]
    doubted: bool = False
    """The last dump that says so calls it false, or true in part only."""
    dated: bool = True
    """Its statement gives a start, an end or a point in time."""


def day_number(packed: int) -> int:
    """The ordinal of a packed day, 0 or less before the year 1.

    A day that the month lacks counts as the month's last.
    """
    year, month, day = unpack(packed)
    year = year + 1 if year < 0 else year  # there is no year 0: before it, arithmetic needs one
    month = min(max(month, 1), 12)
    return ordinal_of(year, month, min(max(day, 1), calendar.monthrange(year % 400 + 400, month)[1]))


def read_tenure(row: Mapping[str, Any]) -> Tenure:
    """A row of TIMELINES, in which days that nothing limits are null, and values that name no item."""
    first, last = row["possible_first"], row["possible_last"]
    return Tenure(
        UNNAMED if row["value"] is None else row["value"],
        None if row["certain_first"] is None else (row["certain_first"], row["certain_last"]),
        (EVER if first is None else first, NEVER_ENDS if last is None else last),
        row["doubted"],
        row["dated"],
    )


class DateQuery(NamedTuple):
    """A date at a precision: its first and last day, and the date as 2018, 2018-03 or 2018-03-05."""

    precision: Precision
    first: int
    last: int
    text: str


def follow(
    rows: Iterable[StatementInDump], days: Sequence[int], obsolete: Mapping[tuple[int, int], tuple[int, int]]
) -> Iterator[list[StatementHistory]]:
    """Yields after every dump the statements of a subject and relation, from their first to their last dump.

    `rows`: those of each dump in their order; `days`: the dates of all dumps; `obsolete`: (interval, value)
    -> first and last day of the change, of what an update says has ended. Interval i ends with dump i.
    What every dump so far that has it says is false is left out.
    """
    stated: list[list[StatementInDump]] = [[] for _ in days]
    for row in rows:
        stated[row.dump].append(row)
    known: list[StatementHistory] = []
    gone: list[StatementHistory] = []
    for dump, present in enumerate(stated):
        earlier = _continued(known, present)
        going_on = {id(old) for old in earlier.values()}
        number = len(gone) + len(known)
        lost = (old for old in known if id(old) not in going_on)
        gone += [old._replace(ended=old.ended or obsolete.get((dump, old.last.value))) for old in lost]
        taken = _taken(present, days[dump])
        known = []
        for index, row in enumerate(present):
            before = earlier.get(index)
            if before is None and row.standing == "deprecated":
                continue
            first, last, ended = before[1:4] if before else (None, None, None)
            if row.standing == "current":
                first, last = dump if first is None else first, dump
            if row.standing != "aside":
                ended = None
            elif before is None or before.last.standing != "aside":
                ended = taken
            known.append(StatementHistory(row, first, last, ended, before.number if before else number))
            number += before is None
        yield gone + known


def _continued(
    known: Sequence[StatementHistory], present: Sequence[StatementInDump]
) -> dict[int, StatementHistory]:
    """Index in `present` -> the statement of the dump before that it continues.

    Both have the same value and the same id. A statement that this dump lacks is continued by one of the
    same value, written anew, if it gives no end or no other start.
    """
    named = (old for old in known if old.last.statement is not None)
    by_id = {(old.last.statement, old.last.value): old for old in named}
    keys = [(row.statement, row.value) for row in present]
    continued = {index: by_id[key] for index, key in enumerate(keys) if key in by_id}
    taken = {id(old) for old in continued.values()}
    left = [old for old in known if id(old) not in taken]
    for index, row in enumerate(present):
        if index in continued:
            continue
        for old in left:
            same_start = not old.last.starts or not row.starts or old.last.starts == row.starts
            if old.last.value == row.value and (same_start or not old.last.ends):
                continued[index] = old
                left = [other for other in left if other is not old]
                break
    return continued


def _taken(present: Sequence[StatementInDump], day: int) -> tuple[int, int]:
    """The first and the last day on which the values ended whose place others have taken in a dump: when the
    current values began, or by the day of the dump."""
    current = [row for row in present if row.standing == "current"]
    if not current or any(row.start_unknown or not row.starts for row in current):
        return day, day
    first = min(span.first for row in current for span in row.starts)
    return min(first, day), min(max(span.last for row in current for span in row.starts), day)


def tenure(history: StatementHistory, days: Sequence[int]) -> Tenure:
    """When the value of one statement held; `days` are those of the dumps."""
    last = history.last
    doubted = last.standing in ("in_part", "deprecated")
    if last.measured:
        return Tenure(last.value, None, (EVER, NEVER_ENDS), doubted)
    possible_first = min((span.first for span in last.starts), default=EVER)
    begin = None if history.first_current is None else days[history.first_current]
    if last.starts and not last.start_unknown:
        begin = max(span.last for span in last.starts)
    end, possible_last = _end(history, days, begin, possible_first)
    certain = None
    if begin is not None and end is not None and not doubted:
        # A dump knows no more than plans of the days after it.
        end = min(end, days[last.dump])
        certain = (begin, end) if begin <= end else None
    possible = possible_first, possible_last
    return Tenure(last.value, certain, possible, doubted, bool(last.starts or last.ends))


def _end(
    history: StatementHistory, days: Sequence[int], begin: int | None, possible_first: int
) -> tuple[int | None, int]:
    """The last day on which a statement certainly held, if any, and the last on which it possibly did."""
    if history.last.ends:
        return _stated_end(history.last, begin)
    if history.last.end_unknown:
        return None, days[history.last.dump]
    last_current = None if history.last_current is None else days[history.last_current]
    if history.ended is None or history.ended[1] < possible_first:
        # Removed without an update, or still stated: no evidence of an end.
        return last_current, NEVER_ENDS
    first, last = history.ended
    return None if last_current is None else min(last_current, first), last


def _stated_end(statement: StatementInDump, begin: int | None) -> tuple[int | None, int]:
    """As `_end`, of a statement that gives its ends: of several terms only the last is certain, because
    between two of them it did not hold."""
    last = max(span.last for span in statement.ends)
    begun_again = any(span.first > last for span in statement.starts)
    certain = [span.first for span in statement.ends if begin is not None and begin <= span.first]
    return min(certain, default=None), NEVER_ENDS if begun_again else last


def verdict(timeline: Iterable[Tenure], value: int, first: int, last: int) -> Verdict:
    """Whether a value held on all days of a date, on none, or the timeline does not prove either."""
    own = [holding for holding in timeline if holding.value == value]
    if any(holding.certain and holding.certain[0] <= first and last <= holding.certain[1] for holding in own):
        return "correct"
    if all(holding.possible[1] < first or last < holding.possible[0] for holding in own):
        return "wrong"
    return "unclear"


def dates_within(certain: tuple[int, int]) -> Iterator[DateQuery]:
    """A date of each precision that lies wholly in an interval, as near to its middle as there is one.

    Days before the year 1 are left out.
    """
    begin, end = (max(day_number(day), 1) for day in certain)
    if day_number(certain[1]) < 1:
        return
    middle = datetime.date.fromordinal((begin + end) // 2)
    for precision in PRECISIONS:
        own = _date(middle, precision)
        beside = day_number(own.first) - 1, day_number(own.last) + 1
        days = (datetime.date.fromordinal(day) for day in beside if begin <= day <= end)
        for span in (own, *(_date(day, precision) for day in days)):
            if begin <= day_number(span.first) and day_number(span.last) <= end:
                yield span
                break


def _date(day: datetime.date, precision: Precision) -> DateQuery:
    """The date of a precision in which a day lies."""
    first = last = day
    if precision == "month":
        first, last = day.replace(day=1), day.replace(day=calendar.monthrange(day.year, day.month)[1])
    elif precision == "year":
        first, last = day.replace(month=1, day=1), day.replace(month=12, day=31)
    text = day.isoformat()[: {"day": 10, "month": 7, "year": 4}[precision]]
    return DateQuery(precision, pack_date(first), pack_date(last), text)


TIMELINES = schema_of(
    "subject property value: int32, certain_first certain_last possible_first possible_last: int64",
    "doubted dated: bool",
)
"""One row a statement: the days on which its value held for certain, and those on which it possibly did. Null
where nothing limits what is possible; no `value`: it names no item. `doubted`, `dated`: as of Held."""

ITEM = "wikibase-item"

Ended = dict[tuple[int, int], dict[tuple[int, int], tuple[int, int]]]
"""(subject, property) -> (interval, item) -> first and last day of the change by which the item ended."""

_SPAN = """
    CREATE TEMP MACRO span(t) AS CASE WHEN t IS NOT NULL THEN {
        'text': CASE WHEN t.year < 0 THEN '-' ELSE '' END || printf('%04d', abs(t.year)) || CASE
            WHEN t.precision >= 11 THEN printf('-%02d-%02d', t.month, t.day)
            WHEN t.precision = 10 THEN printf('-%02d', t.month) ELSE '' END
            || CASE WHEN t.julian THEN ' julian' ELSE '' END,
        'precision': t.precision, 'first': t.first, 'last': t.last} END;
    CREATE TEMP MACRO spans(times, t) AS list_transform(
        coalesce(times, CASE WHEN t IS NULL THEN [] ELSE [t] END), lambda t: span(t));
"""


def create_stated(db: Connection, updates: Sequence[Path], statements: Sequence[Path]) -> None:
    """TEMP TABLEs `linked`, the groups with an update in some interval, and `stated` (`create_statements`).

    `linked` has subject, property, the dump that ends the first interval with an update, and the dump from
    which an update says that there is a single value at a time: `since` and `functional_since`
    (null if none does). `updates`: the triples by interval.
    """
    intervals = " UNION ALL ".join(
        f"SELECT {interval} AS interval, * FROM read_parquet({sql(path)})"
        for interval, path in enumerate(updates, start=1)
    )
    db.execute(
        f"""CREATE TEMP TABLE linked AS SELECT subject, property, min(interval) AS since,
            min(interval) FILTER (relation_is_temp_func) AS functional_since
        FROM ({intervals}) WHERE dropped_by IS NULL GROUP BY ALL"""
    )
    create_statements(db, statements)


def create_statements(db: Connection, statements: Sequence[Path]) -> None:
    """TEMP TABLE `stated`: the statements of the groups in `linked` in all dumps.

    Defines `span(TIME)`, a date as the fields of Span.
    `statements`: those by dump, with the filter that drops them.
    """
    db.execute(_SPAN)
    rows = " UNION ALL ".join(
        f"SELECT {dump} AS dump, * FROM read_parquet({sql(path)})" for dump, path in enumerate(statements)
    )
    db.execute(
        f"""CREATE TEMP TABLE stated AS SELECT dump, subject, property, position, statement, datatype, key,
            object, snak, rank, dropped_by, spans(starts, start) AS starts, start_unknown,
            spans(ends, "end") AS ends, end_unknown, span("end") AS last_end, pit IS NOT NULL AS has_pit
        FROM ({rows}) SEMI JOIN linked USING (subject, property)"""
    )
