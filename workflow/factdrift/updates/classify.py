"""Labels the triples of a bucket by the rule table, in blocks of whole subjects.

The facts that the rules' conditions name are computed here; the steps after the rules are in `after_rules`.
Triples of open groups (see `open_groups`) are all written, with the step that drops them, if any; those of
other groups are only counted (see `untouched`).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from factdrift.core.tables import database, sql, write_tables
from factdrift.updates.after_rules import steps
from factdrift.updates.blocks import BLOCK
from factdrift.updates.method import Method, numbers
from factdrift.updates.only import asked_relations, asked_subjects
from factdrift.updates.open_groups import JOINED, Statements, divided
from factdrift.updates.readings import high, inside, low
from factdrift.updates.rules import Rule, first_match, label_of, read_rules
from factdrift.updates.untouched import NEWBORN, Untouched
from factdrift.wikidata.tables import supplied_labels

if TYPE_CHECKING:
    from factdrift.updates.jobs import Classify

UPDATES = pa.schema(
    [
        *JOINED,
        ("label", pa.string()),
        ("rule", pa.string()),
        ("announced", pa.bool_()),
        ("leaks", pa.bool_()),
        ("dropped_by", pa.string()),
        ("scenario", pa.string()),
        ("is_replace", pa.bool_()),
        ("subject_is_ph_new", pa.bool_()),
        ("relation_is_temp_func", pa.bool_()),
    ]
)
"""One row a triple of an open group, with its label, rule and the step that drops it."""

_AFTER_THE_RULES = """line, subject, property, change, datatype, object, key,
    coalesce(new_json, old_json) AS json, rule, functional, subject_new, removed, n, n_removed, n_added"""
"""The columns that the steps after the rules need; copying others would take most of their time."""

_CARRIED = frozenset(
    f"{side}_{name}"
    for side in ("old", "new")
    for name in ("statement", "position", "rank", "qualifiers", "revision")
)
"""Columns of the triples that no rule uses."""


def classify(job: "Classify", rows: int = 2 * BLOCK) -> int:
    """Writes one bucket's triples with label, rule and `dropped_by`; returns how many reach the dataset.

    `output` has the columns UPDATES for the triples of open groups, `untouched` counts the others. Raises
    InputError if a rule decides on the latter, or an id in `only` is none.
    """
    method = job.settings
    table = read_rules(job.rules, method.variant)
    relations = asked_relations(job.only_relations)
    kept = 0
    with database() as db:
        subjects = asked_subjects(db, job)
        if subjects is not None:
            db.register("asked_subjects", pa.table({"id": pa.array(subjects, pa.int32())}))
        queries = _steps(table, relations, subjects is not None, method)
        counted = Untouched(relations, subjects)
        db.execute(f"CREATE TEMP TABLE relations AS SELECT * FROM read_parquet({sql(job.relations)})")
        db.execute(f"CREATE TEMP TABLE newborn AS SELECT id FROM read_parquet({sql(job.new_entities)})")
        _mentioned(db, job, rows)
        _display_labels(db, job)
        _merged(db, job, method)
        statements = Statements(job.old, job.new)

        def decided(joined: pa.Table, queries: Sequence[str]) -> pa.Table:
            db.register("triples", joined.append_column("line", pa.array(range(joined.num_rows))))
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
            for block in divided(job.triples, rows):
                counted.add(block.untouched)
                joined = statements.join(block.open)
                narrow = joined.select([name for name in JOINED.names if name not in _CARRIED])
                labels = decided(narrow.append_column("subject_gone", pa.array(block.gone)), queries)
                kept += labels["dropped_by"].null_count
                yield pa.table([*joined.columns, *labels.columns], schema=UPDATES)

        write_tables(db, labelled(), UPDATES, job.output)
        db.execute(f"INSERT INTO newborn VALUES ({NEWBORN})")
        everything = _steps(table, (), False, method)
        counted.write(lambda specimens: decided(specimens, everything), job.rules, method, job.untouched)
    return kept


def _steps(
    table: list[Rule], only_relations: Sequence[int], only_subjects: bool, method: Method
) -> list[str]:
    """SQL statements that label the view `triples`: TEMP TABLE final, with one row a triple."""
    return [
        f"CREATE OR REPLACE TEMP TABLE facts AS {facts(method)}",
        f"""CREATE OR REPLACE TEMP TABLE ruled AS
            SELECT {_AFTER_THE_RULES}, {label_of(table, "rule")} AS label
            FROM (SELECT *, {first_match(table)} AS rule FROM facts)""",
        *steps(only_relations, only_subjects, method),
    ]


def _mentioned(db: duckdb.DuckDBPyConnection, job: "Classify", rows: int) -> None:
    """TEMP TABLE mentioned (id, removed): subjects and objects of open groups; of any F- if `removed`."""
    statements = Statements(job.old, job.new, ["object"])
    db.execute("CREATE TEMP TABLE seen (id INTEGER, removed BOOLEAN)")
    for block in divided(job.triples, rows):
        db.register("joined", statements.join(block.open))
        db.execute(
            """INSERT INTO seen SELECT subject, change = 'F-' FROM joined
            UNION SELECT object, change = 'F-' FROM joined WHERE object IS NOT NULL"""
        )
        db.unregister("joined")
    db.execute(
        """CREATE TEMP TABLE mentioned AS SELECT id, bool_or(removed) AS removed FROM seen GROUP BY id;
        DROP TABLE seen"""
    )


def facts(method: Method) -> str:
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
    days = {
        "start": (low("start", method), high("start", method)),
        "end": (low('"end"', method), high('"end"', method)),
        "pit": (low("pit", method), high("pit", method)),
        "value": (low("time", method), high("time", method)),
        "old_end": (low("old_end", method), high("old_end", method)),
    }
    ends = ", ".join(f"{lo} AS {name}_low, {hi} AS {name}_high" for name, (lo, hi) in days.items())
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


def _merged(db: duckdb.DuckDBPyConnection, job: "Classify", method: Method) -> None:
    """TEMP TABLE gone (id): entities with a line in the old dump only; empty unless `merges: detect`."""
    query = "SELECT 0 AS id WHERE false"
    if method.merges == "detect":
        # Only ids that this bucket mentions are kept in memory.
        asked = "WHERE id IN (SELECT id FROM mentioned WHERE removed)"
        query = f"""SELECT id FROM read_parquet({sql(job.old_entities)}) {asked}
            EXCEPT SELECT id FROM read_parquet({sql(job.entities)}) {asked}"""
    db.execute(f"CREATE TEMP TABLE gone AS {query}")


def _display_labels(db: duckdb.DuckDBPyConnection, job: "Classify") -> None:
    """TEMP TABLE names (id, name) of subjects and objects: the new dump's, else the old's, else `labels`."""
    db.register("supplied", supplied_labels(job.labels))
    db.execute(
        f"""CREATE TEMP TABLE names AS
        SELECT id, arg_min(label, source) AS name FROM (
            SELECT 0 AS source, id, label FROM read_parquet({sql(job.entities)})
            UNION ALL SELECT 1, id, label FROM read_parquet({sql(job.old_entities)})
            UNION ALL SELECT 0, -id, label FROM read_parquet({sql(job.properties[0])})
            UNION ALL SELECT 1, -id, label FROM read_parquet({sql(job.properties[1])})
            UNION ALL SELECT 2, id, label FROM supplied
        ) WHERE label IS NOT NULL AND id IN (SELECT id FROM mentioned) GROUP BY id"""
    )
