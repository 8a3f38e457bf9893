"""Links the updates of one bucket of subjects over all intervals of a sequence of dates.

When an object of an update changed, how long after that Wikidata had it, and what supersedes it. The dates of
the dumps are D_0 < D_1 < ...; interval i lies between D_(i-1) and D_i. Days are packed (YYYYMMDD).
"""

import datetime
import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of, struct_of
from factdrift.core.tables import database, fetched, sql, write_parquet
from factdrift.streams.known import write_known
from factdrift.streams.timelines import ITEM, Ended, Span, create_stated, day_number
from factdrift.wikidata.time import YEAR, pack_date

_CHANGE = schema_of(
    "date: string, first_day last_day: int64, dated_by: string, lag_min lag_max: int32, reverts: bool",
    "superseded_by: int32",
)
"""Columns added to objects and to updates."""

CHAINS = schema_of(
    "interval subject property link links: int32", *_CHANGE, ("changes", pa.list_(struct_of(*_CHANGE)))
)
"""One row an update. `changes`: its objects in the order of the dataset's `objects`."""


class Occurrence(NamedTuple):
    """A triple of one interval's `updates` table. Dates are those that the rules saw."""

    interval: int
    kept: bool
    """It reaches the dataset."""
    change: str
    value: tuple[str, str]
    """Datatype and canonical value."""
    label: str
    functional: bool
    """The relation has one value at a time."""
    old_statement: str | None
    new_statement: str | None
    start: Span | None
    end: Span | None
    pit: Span | None
    value_date: Span | None
    """The value itself, of a relation whose value is the day of the change."""
    created: Span | None
    """When a new subject came into being."""
    old_end: Span | None
    """The end that the old dump gave."""
    dropped_end: Span | None
    """The end that the new dump gives with the same statement, which the filters drop there."""


class DatedLink(NamedTuple):
    """When an object changed: as written (null if undated), the days on which it may have been, and what says
    so."""

    date: str | None
    first: int
    last: int
    by: str


def dated(triples: Sequence[Occurrence], days: Sequence[int]) -> list[DatedLink | None]:
    """When each object of one update changed; None for static ones.

    `days`: the dates of all dumps. An object that ended without a date inside the interval ended when the
    first dated new object of the same update began.
    """
    began = {index: _began(triple, days) for index, triple in enumerate(triples) if triple.label == "new"}
    known = sorted((date for date in began.values() if date.by != "interval"), key=lambda date: date[1:3])
    dates: list[DatedLink | None] = []
    for index, triple in enumerate(triples):
        if triple.label == "new":
            dates.append(began[index])
        elif triple.label != "obsolete":
            dates.append(None)
        elif end := _ended(triple, days):
            dates.append(DatedLink(end.text, end.first, end.last, "end"))
        elif known:
            dates.append(known[0]._replace(by="replacement"))
        else:
            dates.append(_undated(triple.interval, days))
    return dates


def _ended(triple: Occurrence, days: Sequence[int]) -> Span | None:
    """The end that is given for an obsolete object: by the new dump, if it does not lie after that, else by
    the old one, if it may lie in the interval."""
    later = triple.dropped_end
    if later is not None and later.precision >= YEAR and later.first <= days[triple.interval]:
        return later
    end = triple.end
    return end if end is not None and _inside(end, triple.interval, days) else None


def _began(triple: Occurrence, days: Sequence[int]) -> DatedLink:
    candidates = {"value": triple.value_date, "start": triple.start, "point_in_time": triple.pit}
    for by, span in (candidates | {"created": triple.created}).items():
        if span is not None and _inside(span, triple.interval, days):
            return DatedLink(span.text, span.first, span.last, by)
    return _undated(triple.interval, days)


def _inside(span: Span, interval: int, days: Sequence[int]) -> bool:
    """Whether a date of a year or finer may lie in the interval."""
    return span.precision >= YEAR and span.first <= days[interval] and span.last > days[interval - 1]


def _undated(interval: int, days: Sequence[int]) -> DatedLink:
    after = datetime.date.fromordinal(day_number(days[interval - 1]) + 1)
    return DatedLink(None, pack_date(after), days[interval], "interval")


def lag(
    triple: Occurrence, change: DatedLink | None, before: Sequence[Occurrence], days: Sequence[int]
) -> tuple[int, int] | None:
    """The fewest and the most days from a change to its appearance in Wikidata; None if unknown.

    `before`: the triples of the same subject and relation in earlier intervals, dropped ones too. A fact
    appeared after the last dump without its statement, and not after the first dump with it.
    """
    if change is None or change.by == "interval":
        return None
    if (interval := _appeared(triple, change, before)) is None:
        return None
    earliest = day_number(days[interval - 1]) + 1
    return earliest - day_number(change.last), day_number(days[interval]) - day_number(change.first)


def _appeared(triple: Occurrence, change: DatedLink, before: Sequence[Occurrence]) -> int | None:
    """The interval in which Wikidata first had the change; None if the first dump had it, or if unknown."""
    if triple.label == "obsolete":
        announced = change.by == "end" and triple.old_end is not None and triple.old_end[2:] == change[1:3]
        # By a replacement without an end of its own, a fact that both dumps still state has no appearance.
        unsaid = change.by == "replacement" and triple.change != "F-"
        return None if announced or unsaid else triple.interval
    if triple.change == "F+":
        return triple.interval
    statement = triple.old_statement
    for earlier in sorted(before, key=lambda earlier: -earlier.interval):
        if earlier.new_statement == statement and earlier.change == "F0":
            statement = earlier.old_statement
        elif earlier.new_statement == statement and earlier.change == "F+":
            return earlier.interval
    return None


class Link(NamedTuple):
    """An update of a chain as far as links depend on it: value -> `new`, `obsolete` or `static`."""

    labels: Mapping[tuple[str, str], str]
    functional: bool
    """The relation has one value at a time."""

    def says(self, value: tuple[str, str]) -> bool | None:
        """Whether a value holds; None if nothing is said of it.

        It does not if another one is new of a relation with one value at a time.
        """
        if value in self.labels:
            return self.labels[value] != "obsolete"
        return False if self.functional and "new" in self.labels.values() else None


def fates(chain: Sequence[Link]) -> list[dict[tuple[str, str], tuple[bool, int | None]]]:
    """Value -> whether it reverts, and what supersedes it, for each link of a chain in their order.

    A value reverts that is new, and of which earlier links last say that it ended. It is superseded by the
    first later link that says the opposite: its number, from 1, or None.
    """
    of_links = []
    for index, link in enumerate(chain):
        fate: dict[tuple[str, str], tuple[bool, int | None]] = {}
        for value, label in link.labels.items():
            claims = [other.says(value) for other in chain]
            known = any(value in other.labels for other in chain[:index])
            last = next((holds for holds in reversed(claims[:index]) if holds is not None), None)
            opposite = {"new": False, "obsolete": True}.get(label)
            later = (number for number in range(index + 1, len(chain)) if claims[number] is opposite)
            by = next(later, None) if opposite is not None else None
            fate[value] = label == "new" and known and last is False, by and by + 1
        of_links.append(fate)
    return of_links


def write_chains(
    updates: Sequence[Path],
    new_entities: Sequence[Path],
    statements: Sequence[Path],
    days: Sequence[int],
    output: Path,
    out_timelines: Path,
    out_known: Path,
) -> int:
    """Writes one row per update (CHAINS), sorted by interval, subject and property; returns their number.

    `updates` and `new_entities` have a table for each interval, `statements` one for each dump, in the order
    of `days`. `out_timelines` and `out_known` become TIMELINES and KNOWN of these subjects and relations.
    """
    with database(memory_mb=1000) as db:
        create_stated(db, updates, statements)
        # The triples of all groups, and of new subjects the date that makes them new.
        tables = zip(updates, new_entities, statements[1:], strict=True)
        intervals = " UNION ALL ".join(
            f"""SELECT {interval} AS interval, t.*, e.created
            FROM read_parquet({sql(triples)}) t LEFT JOIN (
                SELECT e.id, arg_min(s.time, s.position) AS created
                FROM read_parquet({sql(entities)}) e JOIN read_parquet({sql(newer)}) s
                ON s.subject = e.id AND s.property = e.property
                    AND e.created IN (s.time.first, s.time.written)
                WHERE s.rank <> 'deprecated' GROUP BY e.id
            ) e ON e.id = t.subject"""
            for interval, (triples, entities, newer) in enumerate(tables, start=1)
        )
        db.execute(f"CREATE TEMP VIEW occurrences AS {intervals}")
        # Some hundred bytes an update; triples, of which there are far more, are read as they come.
        ended: Ended = {}
        linked = pa.Table.from_batches(_tables(db, days, ended), CHAINS)
        write_known(db, days, ended, out_known, out_timelines)
    order = [(name, "ascending") for name in ("interval", "subject", "property")]
    return write_parquet(linked.sort_by(order), output)


_SIDES = ", ".join(
    f"span(CASE WHEN change = 'F-' THEN old_{name} ELSE new_{name} END) AS {name}"
    for name in ("start", "end", "pit")
)


def _tables(db: Connection, days: Sequence[int], ended: Ended) -> Iterator[pa.RecordBatch]:
    db.execute(
        f"""SELECT subject, property, interval, dropped_by IS NULL AS kept, change, datatype, key, label,
            relation_is_temp_func, old_statement, new_statement, {_SIDES},
            span(CASE WHEN rule = 'death' THEN time END) AS value_date,
            span(CASE WHEN rule = 'new_subject' THEN created END) AS created, span(old_end) AS old_end,
            CASE WHEN change = 'F-' THEN dropped_end END AS dropped_end
        FROM occurrences SEMI JOIN linked USING (subject, property)
        LEFT JOIN (
            SELECT subject, dump AS interval, key, statement AS old_statement, last_end AS dropped_end
            FROM stated WHERE rank <> 'deprecated'
        ) USING (subject, interval, key, old_statement)
        ORDER BY subject, property, interval, old_position IS NULL, old_position, new_position,
            old_statement, new_statement"""
    )
    groups = itertools.groupby(fetched(db), key=lambda row: row[:2])
    linked = (row for key, group in groups for row in linked_rows(key[0], key[1], group, days, ended))
    while batch := list(itertools.islice(linked, 10_000)):
        yield pa.RecordBatch.from_pylist(batch, schema=CHAINS)


def linked_rows(
    subject: int, relation: int, group: Iterator[tuple[Any, ...]], days: Sequence[int], ended: Ended
) -> Iterator[dict[str, Any]]:
    """The rows of one subject and relation, from its triples in the order of `interval` and of objects.

    Adds to `ended` when its obsolete items changed.
    """
    triples = []
    for _, _, interval, kept, change, datatype, key, label, functional, old, new, *spans in group:
        dates = (span and Span(**span) for span in spans)
        value = datatype, key
        triples.append(Occurrence(interval, kept, change, value, label, bool(functional), old, new, *dates))
    kept = itertools.groupby((triple for triple in triples if triple.kept), lambda triple: triple.interval)
    updates = [list(update) for _, update in kept]
    links = [Link({t.value: t.label for t in update}, update[0].functional) for update in updates]
    for number, (update, fate) in enumerate(zip(updates, fates(links), strict=True), start=1):
        interval = update[0].interval
        before = [triple for triple in triples if triple.interval < interval]
        objects = []
        for triple, change in zip(update, dated(update, days), strict=True):
            reverts, superseded = fate[triple.value]
            if change and triple.label == "obsolete" and triple.value[0] == ITEM:
                item = int(triple.value[1].removeprefix("Q"))
                ended.setdefault((subject, relation), {})[interval, item] = (change.first, change.last)
            late = lag(triple, change, before, days) or (None, None)
            values = (*(change or [None] * 4), *late, reverts, superseded)
            objects.append(dict(zip(_CHANGE.names, values, strict=True)))
        # An update says newly its new objects, or its obsolete ones if there are none. Its date is that of
        # the first dated one of these; it is superseded when nothing that it says newly is left to hold.
        deciding = "new" if any(triple.label == "new" for triple in update) else "obsolete"
        decided = [change for triple, change in zip(update, objects, strict=True) if triple.label == deciding]
        first = min(decided, key=lambda c: (c["dated_by"] == "interval", c["first_day"], c["last_day"]))
        by = [change["superseded_by"] for change in decided]
        yield {
            "interval": interval,
            "subject": subject,
            "property": relation,
            "link": number,
            "links": len(updates),
            **{name: first[name] for name in _CHANGE.names},
            "reverts": any(stated["reverts"] for stated in objects),
            "superseded_by": None if None in by else max(by),
            "changes": objects,
        }
