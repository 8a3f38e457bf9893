"""Links the updates of one bucket of subjects over all intervals of a sequence of dates."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from factdrift.core.tables import database, fetched, sql, write_parquet
from factdrift.streams.changes import Link, Seen, Span, dated, fates, lag, superseded
from factdrift.streams.timelines import ITEM, Ended, create_stated, write_timelines
from factdrift.wikidata.time import pack_date

if TYPE_CHECKING:
    from factdrift.streams.jobs import Chains

_CHANGE = [
    ("date", pa.string()),
    ("first_day", pa.int64()),
    ("last_day", pa.int64()),
    ("dated_by", pa.string()),
    ("lag_min", pa.int32()),
    ("lag_max", pa.int32()),
    ("reverts", pa.bool_()),
    ("superseded_by", pa.int32()),
]
"""Columns added to objects and to updates."""

CHAINS = pa.schema(
    [
        ("interval", pa.int32()),
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("link", pa.int32()),
        ("links", pa.int32()),
        *_CHANGE,
        ("changes", pa.list_(pa.struct(_CHANGE))),
    ]
)
"""One row an update. `changes`: its objects in the order of the dataset's `objects`."""


def write_chains(job: Chains) -> int:
    """Writes one row per update (CHAINS), sorted by interval, subject and property; returns their number.

    `timelines` has TIMELINES of these subjects and relations.
    """
    days = [pack_date(day) for day in job.dates]
    with database(memory_mb=1000) as db:
        create_stated(db, job.updates, job.statements)
        db.execute(f"CREATE TEMP VIEW seen AS {_seen(job)}")
        # Some hundred bytes an update; triples, of which there are far more, are read as they come.
        ended: Ended = {}
        linked = pa.Table.from_batches(_tables(db, days, ended), CHAINS)
        write_timelines(db, days, ended, job.timelines)
    order = [(name, "ascending") for name in ("interval", "subject", "property")]
    return write_parquet(linked.sort_by(order), job.output)


def _seen(job: Chains) -> str:
    """SQL: the triples of all groups, and of new subjects the date that makes them new."""
    parts = []
    for interval, (updates, entities) in enumerate(zip(job.updates, job.new_entities, strict=True), start=1):
        dates = f"""SELECT e.id, arg_min(s.time, s.position) AS created
            FROM read_parquet({sql(entities)}) e JOIN read_parquet({sql(job.statements[interval])}) s
            ON s.subject = e.id AND s.property = e.property AND e.created IN (s.time.first, s.time.written)
            WHERE s.rank <> 'deprecated' GROUP BY e.id"""
        parts.append(
            f"""SELECT {interval} AS interval, t.*, e.created FROM read_parquet({sql(updates)}) t
            LEFT JOIN ({dates}) e ON e.id = t.subject"""
        )
    return " UNION ALL ".join(parts)


_SIDES = ", ".join(
    f"span(CASE WHEN change = 'F-' THEN old_{name} ELSE new_{name} END) AS {name}"
    for name in ("start", "end", "pit")
)


def _tables(db: duckdb.DuckDBPyConnection, days: Sequence[int], ended: Ended) -> Iterator[pa.RecordBatch]:
    db.execute(
        f"""SELECT subject, property, interval, dropped_by IS NULL AS kept, change, datatype, key, label,
            relation_is_temp_func, old_statement, new_statement, {_SIDES},
            span(CASE WHEN rule = 'death' THEN time END) AS value_date,
            span(CASE WHEN rule = 'new_subject' THEN created END) AS created, span(old_end) AS old_end,
            CASE WHEN change = 'F-' THEN dropped_end END AS dropped_end
        FROM seen SEMI JOIN linked USING (subject, property)
        LEFT JOIN (
            SELECT subject, dump AS interval, key, statement AS old_statement, last_end AS dropped_end
            FROM stated WHERE rank <> 'deprecated'
        ) USING (subject, interval, key, old_statement)
        ORDER BY subject, property, interval, old_position IS NULL, old_position, new_position,
            old_statement, new_statement"""
    )
    groups = itertools.groupby(fetched(db), key=lambda row: row[:2])
    linked = (
        row
        for (subject, relation), group in groups
        for row in linked_rows(subject, relation, group, days, ended)
    )
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
        triples.append(Seen(interval, kept, change, value, label, bool(functional), old, new, *dates))
    updates = [
        list(update) for _, update in itertools.groupby((t for t in triples if t.kept), lambda t: t.interval)
    ]
    links = [
        Link({triple.value: triple.label for triple in update}, update[0].functional) for update in updates
    ]
    for number, (update, fate) in enumerate(zip(updates, fates(links), strict=True), start=1):
        interval = update[0].interval
        before = [triple for triple in triples if triple.interval < interval]
        objects = []
        for triple, change in zip(update, dated(update, days), strict=True):
            reverts, by = fate[triple.value]
            if change and triple.label == "obsolete" and triple.value[0] == ITEM:
                item = int(triple.value[1].removeprefix("Q"))
                ended.setdefault((subject, relation), {})[interval, item] = (change.first, change.last)
            late = lag(triple, change, before, days) or (None, None)
            told = (*(change or [None] * 4), *late, reverts, by)
            objects.append({name: value for (name, _), value in zip(_CHANGE, told, strict=True)})
        labels = [triple.label for triple in update]
        deciding = "new" if "new" in labels else "obsolete"
        # The object whose date is the update's: of the new ones, else of the obsolete ones, the first dated.
        first = min(
            (change for label, change in zip(labels, objects, strict=True) if label == deciding),
            key=lambda change: (change["dated_by"] == "interval", change["first_day"], change["last_day"]),
        )
        yield {
            "interval": interval,
            "subject": subject,
            "property": relation,
            "link": number,
            "links": len(updates),
            **{name: first[name] for name, _ in _CHANGE},
            "reverts": any(stated["reverts"] for stated in objects),
            "superseded_by": superseded(labels, [stated["superseded_by"] for stated in objects]),
            "changes": objects,
        }
