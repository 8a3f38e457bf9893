"""Labels the triples of a bucket by the rule table, in blocks of whole subjects.

The facts that the rules' conditions name are computed here; the steps after them are in `rules`. Triples of
open groups (see `open_groups`) are all written, with the step that drops them, if any.

Those of other groups, in which nothing changed and no date is given, are only counted. The rules apply to
them as to all others, but can distinguish them only by their relation and a few properties of the value. So
the rules are run on a few specimens of each relation instead of on all its groups.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.settings import read_ids
from factdrift.core.tables import database, sql, table_of, write_parquet, write_tables
from factdrift.updates.dumps import Dump
from factdrift.updates.method import UpdateSettings, numbers
from factdrift.updates.open_groups import JOINED, Statements, divided
from factdrift.updates.readings import high, inside, low
from factdrift.updates.rules import read_rules, steps
from factdrift.wikidata.tables import supplied_labels, with_subclasses
from factdrift.wikidata.time import DAY, Time, pack_date

UPDATES = schema_of(
    *JOINED,
    "label rule: string, announced leaks: bool, dropped_by scenario: string",
    "is_replace subject_is_ph_new relation_is_temp_func: bool",
)
"""One row a triple of an open group, with its label, rule and the step that drops it."""

UNTOUCHED = schema_of("property: int32, rule label dropped_by: string, triples: int64")
"""One row a relation: the number of its triples in untouched groups, and what is decided about them."""

NEW_ENTITY = 0
"""The id of a made-up new entity; no item of a dump has it."""

_SPECIMENS = list(itertools.product((False, True), (False, True), (1, 2)))
"""Every combination of inputs that a rule can distinguish for an untouched group: whether the value is a day
inside the window, whether it is a new entity, and the number of triples (1 or 2)."""

_UNUSED = ("statement", "position", "rank", "qualifiers", "revision")
_CARRIED = frozenset(f"{side}_{name}" for side in ("old", "new") for name in _UNUSED)
"""Columns of the triples that no rule uses."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """What the labels of a bucket's triples are made from (`factdrift updates classify --help`)."""

    triples: Path
    old: Dump
    new: Dump
    relations: Path
    new_entities: Sequence[Path]
    old_entities: Sequence[Path]
    entities: Sequence[Path]
    properties: Sequence[Path]
    labels: Sequence[Path]
    classes: Sequence[Path]


@dataclass(frozen=True, kw_only=True)
class Only:
    """The ids, or the file of ids, to which the dataset is restricted; nothing given is no restriction."""

    relations: Sequence[str] = ()
    subjects: Path | None = None
    classes: Sequence[str] = ()


def classify(
    tables: Tables, only: Only, rule_table: Path, method: UpdateSettings, output: Path, untouched: Path
) -> int:
    """Writes one bucket's triples with label, rule and `dropped_by`; returns how many reach the dataset.

    `output` has the columns UPDATES for the triples of open groups, `untouched` counts the others
    (UNTOUCHED, by property). Raises InputError if a rule decides on the latter, or `only` cannot be read.
    """
    rules = read_rules(rule_table, method.variant)
    kept = 0
    with database() as db:
        asked = _restriction(db, only, tables)
        db.execute("CREATE TEMP TABLE tally (property INTEGER, asked BOOLEAN, triples BIGINT)")
        db.execute(f"CREATE TEMP TABLE relations AS SELECT * FROM read_parquet({sql(tables.relations)})")
        db.execute(f"CREATE TEMP TABLE newborn AS SELECT id FROM read_parquet({sql(tables.new_entities)})")
        _mentioned(db, tables, method)
        statements = Statements(tables.old, tables.new)

        def decided(joined: pa.Table, queries: Sequence[str]) -> pa.Table:
            db.register("triples", joined.append_column("line", pa.array(range(joined.num_rows))))
            db.execute(f"CREATE OR REPLACE TEMP TABLE facts AS {facts(method)}")
            for query in queries:
                db.execute(query)
            db.unregister("triples")
            return db.sql(
                """SELECT label, rule, (rule = 'began_inside' AND change = 'F0') AS announced, leaks,
                    dropped_by, scenario, is_replace, subject_new AS subject_is_ph_new,
                    functional AS relation_is_temp_func
                FROM final ORDER BY line"""
            ).to_arrow_table()

        def labelled() -> Iterator[pa.Table]:
            nonlocal kept
            queries = steps(rules, asked, method)
            for block in divided(tables.triples):
                db.register("others", block.untouched)
                db.execute(f"INSERT INTO tally SELECT property, {asked}, count(*) FROM others GROUP BY ALL")
                db.unregister("others")
                joined = statements.join(block.open)
                narrow = joined.select([name for name in JOINED.names if name not in _CARRIED])
                labels = decided(narrow.append_column("subject_gone", pa.array(block.gone)), queries)
                kept += labels["dropped_by"].null_count
                yield pa.table([*joined.columns, *labels.columns], schema=UPDATES)

        write_tables(db, labelled(), UPDATES, output)
        tally = db.sql("SELECT property, asked, sum(triples) FROM tally GROUP BY ALL ORDER BY ALL").fetchall()
        db.execute(f"INSERT INTO newborn VALUES ({NEW_ENTITY})")
        specimens = _specimens(sorted({number for number, _, _ in tally}), method)
        table = pa.Table.from_pylist(specimens, schema_of(*JOINED, "subject_gone: bool"))
        decisions = decided(table, steps(rules, "true", method)).to_pylist()
    fates: dict[int, tuple[str, str, str]] = {}
    for specimen, decision in zip(specimens, decisions, strict=True):
        fate = (decision["rule"], decision["label"], decision["dropped_by"])
        same = fates.setdefault(specimen["property"], fate) == fate
        if not same or fate[2] not in ("unchanged", "unknown"):
            raise InputError(
                f"{rule_table}: the rule {fate[0]!r} makes {fate[1]!r} of triples of P{specimen['property']} "
                "that were neither added nor removed and have no date; let it ask for one of these"
            )
    counted = []
    for number, is_asked, triples in tally:
        rule, label, dropped_by = fates[number]
        counted.append((number, rule, label, dropped_by if is_asked else "only", triples))
    write_parquet(table_of(counted, UNTOUCHED), untouched)
    return kept


def _restriction(db: Connection, only: Only, tables: Tables) -> str:
    """SQL: whether `only` includes a triple, by its relation and subject; makes the tables it reads."""
    conditions = []
    if only.relations:
        conditions.append(f"property IN (SELECT unnest({sql(numbers(only.relations))}))")
    if only.subjects is not None:
        db.register("listed", pa.table({"id": pa.array(read_subjects(only.subjects), pa.int32())}))
        conditions.append("subject IN (SELECT id FROM listed)")
    if only.classes:
        if not tables.classes:
            raise InputError("--only-classes needs --classes, the tables of both snapshots")
        # Instances in either dump.
        db.execute(
            f"""CREATE TEMP TABLE instances AS SELECT DISTINCT id FROM (
                SELECT id, unnest(classes) AS class
                FROM read_parquet({sql([*tables.entities, *tables.old_entities])})
                WHERE id IN (SELECT subject FROM read_parquet({sql(tables.triples)}))
            ) WHERE class IN ({with_subclasses(tables.classes, numbers(only.classes))})"""
        )
        conditions.append("subject IN (SELECT id FROM instances)")
    return " AND ".join(conditions) or "true"


def read_subjects(path: Path) -> list[int]:
    """The item numbers of a file with one id (Q30) a line; property ids are ignored.

    Raises InputError if the file is missing, holds anything else, or no item at all.
    """
    items = [int(name[1:]) for name in read_ids(path, "only.subjects") if name[0] == "Q"]
    if not items:
        raise InputError(f"{path}: no item id in it; write one a line, such as Q30")
    return items


def _mentioned(db: Connection, tables: Tables, method: UpdateSettings) -> None:
    """TEMP TABLES of the subjects and objects of open groups, so that no others are kept in memory.

    names (id, name, aliases): the new dump's label, else the old's, else that of `labels`, with the aliases
    beside it, which are kept of objects only. gone (id): of those of any
    F-, the entities with a line in the old dump only; empty unless `merges: detect`.
    """
    statements = Statements(tables.old, tables.new, ["object"])
    db.execute("CREATE TEMP TABLE seen (id INTEGER, removed BOOLEAN, object BOOLEAN)")
    for block in divided(tables.triples):
        db.register("joined", statements.join(block.open))
        db.execute(
            """INSERT INTO seen SELECT subject, change = 'F-', false FROM joined
            UNION SELECT object, change = 'F-', true FROM joined WHERE object IS NOT NULL"""
        )
        db.unregister("joined")
    db.register("supplied", supplied_labels(tables.labels))
    gone = "SELECT 0 AS id WHERE false"
    if method.merges == "detect":
        removed = "WHERE id IN (SELECT id FROM seen WHERE removed)"
        gone = f"""SELECT id FROM read_parquet({sql(tables.old_entities)}) {removed}
            EXCEPT SELECT id FROM read_parquet({sql(tables.entities)}) {removed}"""
    db.execute(
        f"""CREATE TEMP TABLE names AS
        SELECT id, arg_min(label, source) AS name,
            arg_min(aliases, source) FILTER (id IN (SELECT id FROM seen WHERE object)) AS aliases FROM (
            SELECT 0 AS source, id, label, aliases FROM read_parquet({sql(tables.entities)})
            UNION ALL SELECT 1, id, label, aliases FROM read_parquet({sql(tables.old_entities)})
            UNION ALL SELECT 0, -id, label, aliases FROM read_parquet({sql(tables.properties[0])})
            UNION ALL SELECT 1, -id, label, aliases FROM read_parquet({sql(tables.properties[1])})
            UNION ALL SELECT 2, id, label, [] FROM supplied
        ) WHERE label IS NOT NULL AND id IN (SELECT id FROM seen) GROUP BY id;
        CREATE TEMP TABLE gone AS {gone};
        DROP TABLE seen"""
    )


def facts(method: UpdateSettings) -> str:
    """SQL: the triples with the columns that the conditions of the rules name.

    `present` is F0 or F+. `start_before`, `start_in`, `start_after` place the start relative to the window
    (all false without a start), `end_*` the end; `end_none` means that no end is given. For an end at an
    unknown time (`somevalue`) all of these are false. `subject_gone` is a column of the triples already.

    A measurement is a quantity that the new dump states with a point in time and neither start nor end. It is
    `outdated` beside a later one on the same side of T_old, and `superseded` if it is the last one before
    T_old and another was made inside the window.
    """
    times = {
        name: f"""CASE WHEN change = 'F-' THEN {"NULL" if method.variant == "reference" else f"old_{name}"}
            ELSE new_{name} END"""
        for name in ("start", "start_unknown", "end", "end_unknown", "pit")
    }
    # An open interval begins at the point in time, unless the start is said to be unknown; the released
    # code of the reference leaves the point in time out.
    start = "given_start"
    if method.variant != "reference":
        start = "coalesce(given_start, CASE WHEN NOT coalesce(start_unknown, false) THEN pit END)"
    days = {"start": "start", "end": '"end"', "pit": "pit", "value": "time", "old_end": "old_end"}
    ends = ", ".join(
        f"{low(column, method)} AS {name}_low, {high(column, method)} AS {name}_high"
        for name, column in days.items()
    )
    return f"""
        WITH stated AS (
            SELECT *, {times["start"]} AS given_start, {times["start_unknown"]} AS start_unknown,
                {times["end"]} AS "end", {times["end_unknown"]} AS end_unknown, {times["pit"]} AS pit
            FROM triples
        ), intervals AS (
            SELECT *, {start} AS start, change <> 'F-' AND datatype = 'quantity' AND pit IS NOT NULL
                AND given_start IS NULL AND NOT coalesce(start_unknown, false)
                AND "end" IS NULL AND NOT coalesce(end_unknown, false) AS measured
            FROM stated
        ), dated AS (SELECT *, {ends} FROM intervals)
        , series AS (
            SELECT *, measured AND pit_high < {method.t_old} AS measured_before,
                measured AND {inside("pit_low", "pit_high", method)} AS measured_in
            FROM dated
        ), days AS (
            SELECT *, max(pit_low) FILTER (measured_before) OVER grp AS last_before,
                max(pit_low) FILTER (measured_in) OVER grp AS last_in
            FROM series WINDOW grp AS (PARTITION BY subject, property)
        )
        SELECT days.* EXCLUDE (given_start, start, start_unknown, "end", end_unknown, pit),
            coalesce(r.single_value, false) AS single_value,
            coalesce(r.temporal_functional, false) AS functional,
            subject IN (SELECT id FROM newborn) AS subject_new,
            coalesce(object IN (SELECT id FROM newborn), false) AS object_new,
            list_contains({sql(numbers(method.death_properties))}, property) AS death,
            change = 'F+' AS added, change = 'F-' AS removed, change <> 'F-' AS present,
            count(*) OVER grp AS n,
            count(*) FILTER (change = 'F-') OVER grp AS n_removed,
            count(*) FILTER (change = 'F0') OVER grp AS n_kept,
            count(*) FILTER (change = 'F+') OVER grp AS n_added,
            {inside("value_low", "value_high", method)} AS value_in,
            {inside("pit_low", "pit_high", method)} AS pit_in,
            coalesce(start_high < {method.t_old}, false) AS start_before,
            {inside("start_low", "start_high", method)} AS start_in,
            coalesce(start_low > {method.t_new}, false) AS start_after,
            end_low IS NULL AND NOT coalesce(end_unknown, false) AS end_none,
            coalesce(end_high < {method.t_old}, false) AS end_before,
            {inside("end_low", "end_high", method)} AS end_in,
            coalesce(end_low > {method.t_new}, false) AS end_after,
            coalesce(start_low > end_high, false) AS start_after_end,
            coalesce(old_end_high < {method.t_old}, false) AS old_end_before,
            coalesce(measured_before AND pit_high < last_before, false)
                OR coalesce(measured_in AND pit_high < last_in, false)
                AS outdated,
            coalesce(measured_before AND last_in IS NOT NULL, false) AS superseded,
            change = 'F-' AND (subject IN (SELECT id FROM gone)
                OR coalesce(object IN (SELECT id FROM gone), false)) AS merged
        FROM days LEFT JOIN relations r USING (property)
        WINDOW grp AS (PARTITION BY subject, property)"""


def _specimens(properties: Sequence[int], method: UpdateSettings) -> list[dict[str, Any]]:
    """Made-up triples of untouched groups of each relation; their subjects are negative numbers."""
    day = date.fromisoformat(str(method.t_old)) + timedelta(days=1)
    inside = Time(day.year, day.month, day.day, DAY, False, *[pack_date(day)] * 3)._asdict()
    return [
        {
            "subject": -1 - number,
            "property": property_,
            "change": "F0",
            "object": NEW_ENTITY if is_new else None,
            "key": str(copy),
            "time": inside if is_inside else None,
            "new_start_unknown": False,
            "new_end_unknown": False,
            "subject_gone": False,
        }
        for property_ in properties
        for number, (is_inside, is_new, size) in enumerate(_SPECIMENS)
        for copy in range(size)
    ]
