"""Labels for triples, and what becomes of the groups: spec section 5 from the rules to the scenarios.

All of it runs set-wise on blocks of whole subjects. A triple of an open group (see `open_groups`) is never
deleted: `dropped_by` names the step that keeps it, or its whole group, out of the dataset. Those of the other
groups are counted (see `untouched`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from factdrift.settings import InputError, read_ids
from factdrift.tables import database, sql, supplied_labels, write_tables
from factdrift.updates.blocks import BLOCK
from factdrift.updates.kept import Dump
from factdrift.updates.method import Method
from factdrift.updates.open_groups import JOINED, Statements, divided
from factdrift.updates.readings import high, inside, low
from factdrift.updates.rules import Rule, first_match, label_of, read_rules
from factdrift.updates.untouched import NEWBORN, Untouched

DROPS = ("only", "unchanged", "unknown", "ignore", "no_label", "anomaly", "duplicate", "static")
"""The names in `dropped_by`, in the order in which the steps apply. `ignore` and `duplicate` drop one triple,
the others its whole group."""

UPDATES = pa.schema(
    [
        *JOINED,
        ("label", pa.string()),
        ("rule", pa.string()),
        ("announced", pa.bool_()),
        ("dropped_by", pa.string()),
        ("scenario", pa.string()),
        ("is_replace", pa.bool_()),
        ("subject_is_ph_new", pa.bool_()),
        ("relation_is_temp_func", pa.bool_()),
    ]
)
"""The triples of open groups with what is decided about them."""

_AFTER_THE_RULES = """line, subject, property, change, datatype, object, key, old_json, new_json, rule,
    functional, subject_new, removed, n, n_removed, n_added"""
"""The columns that the steps after the rules need: what they carry along is what they take most time for."""

_CARRIED = frozenset(
    f"{side}_{name}"
    for side in ("old", "new")
    for name in ("statement", "position", "rank", "qualifiers", "revision")
)
"""Columns of the triples at which no rule looks."""


def classify(
    triples: Path,
    old: Dump,
    new: Dump,
    relations: Path,
    new_entities: Sequence[Path],
    old_entities: Sequence[Path],
    entities: Sequence[Path],
    properties: Sequence[Path],
    labels: Sequence[Path],
    rules: Path,
    only_relations: Sequence[int],
    only_subjects: Path | None,
    method: Method,
    output: Path,
    untouched: Path,
    rows: int = 2 * BLOCK,
) -> int:
    """Writes one bucket's triples with label, rule and fate; returns how many reach the dataset.

    `old` and `new` hold the statements to which `triples` refers; `relations` is the new dump's
    (`preprocess.context`); `new_entities`, `old_entities` and `entities` (the new snapshot's) hold all
    buckets, since objects may lie in any; `properties` are the tables of the new and the old dump; `labels`
    are TSV files (id, label) for entities that the dumps lack. `output` has the columns UPDATES for the
    triples of open groups, `untouched` counts the others. Raises InputError if a rule decides on the latter.
    """
    table = read_rules(rules, method.variant)
    subjects = None if only_subjects is None else read_subjects(only_subjects)
    steps = _steps(table, only_relations, subjects, method)
    kept = 0
    counted = Untouched(only_relations, subjects)
    with database() as db:
        db.execute(f"CREATE TEMP TABLE relations AS SELECT * FROM read_parquet({sql(relations)})")
        db.execute(f"CREATE TEMP TABLE newborn AS SELECT id FROM read_parquet({sql(new_entities)})")
        _mentioned(db, triples, old, new, rows)
        _display_labels(db, old_entities, entities, properties, labels)
        _merged(db, old_entities, entities, method)
        statements = Statements(old, new)

        def decided(joined: pa.Table, steps: Sequence[str]) -> pa.Table:
            db.register("triples", joined.append_column("line", pa.array(range(joined.num_rows))))
            for step in steps:
                db.execute(step)
            db.unregister("triples")
            return db.sql(
                """SELECT label, rule, (rule = 'began_inside' AND change = 'F0') AS announced, dropped_by,
                    scenario, is_replace, subject_new AS subject_is_ph_new,
                    functional AS relation_is_temp_func
                FROM final ORDER BY line"""
            ).to_arrow_table()

        def labelled() -> Iterator[pa.Table]:
            nonlocal kept
            for block in divided(triples, rows):
                counted.add(block.untouched)
                joined = statements.join(block.open)
                narrow = joined.select([name for name in JOINED.names if name not in _CARRIED])
                found = decided(narrow.append_column("subject_gone", pa.array(block.gone)), steps)
                kept += found["dropped_by"].null_count
                yield pa.table([*joined.columns, *found.columns], schema=UPDATES)

        write_tables(db, labelled(), UPDATES, output)
        db.execute(f"INSERT INTO newborn VALUES ({NEWBORN})")
        everything = _steps(table, (), None, method)
        counted.write(lambda specimens: decided(specimens, everything), rules, method, untouched)
    return kept


def _steps(
    table: list[Rule], only_relations: Sequence[int], only_subjects: Sequence[int] | None, method: Method
) -> list[str]:
    """SQL that makes TEMP TABLE final from `triples`, one row each, with what is decided about it."""
    return [
        f"CREATE OR REPLACE TEMP TABLE facts AS {facts(method)}",
        f"""CREATE OR REPLACE TEMP TABLE ruled AS
            SELECT {_AFTER_THE_RULES}, {label_of(table, "rule")} AS label
            FROM (SELECT *, {first_match(table)} AS rule FROM facts)""",
        f"CREATE OR REPLACE TEMP TABLE labelled AS {_second_pass(method)}",
        f"CREATE OR REPLACE TEMP TABLE step0 AS {_restricted(only_relations, only_subjects, method)}",
        f"CREATE OR REPLACE TEMP TABLE step1 AS {_without_undecided()}",
        *(_reference_end("step1") if method.variant == "reference" else _end("step1")),
    ]


def _mentioned(db: duckdb.DuckDBPyConnection, triples: Path, old: Dump, new: Dump, rows: int) -> None:
    """TEMP TABLE mentioned (id, removed): subjects and objects of open groups; of any F- if `removed`."""
    statements = Statements(old, new, ["object"])
    ids: dict[str, list[NDArray[np.int32]]] = {"all": [], "removed": []}
    for block in divided(triples, rows):
        joined = statements.join(block.open)
        for name, part in (("all", joined), ("removed", joined.filter(pc.equal(joined["change"], "F-")))):
            both = pa.chunked_array([*part["subject"].chunks, *part["object"].drop_null().chunks], pa.int32())
            ids[name].append(both.unique().to_numpy())
    found = {name: np.unique(np.concatenate([np.empty(0, np.int32), *parts])) for name, parts in ids.items()}
    db.register(
        "ids",
        pa.table({"id": found["all"], "removed": np.isin(found["all"], found["removed"])}),
    )
    db.execute("CREATE TEMP TABLE mentioned AS SELECT * FROM ids")
    db.unregister("ids")


def facts(method: Method) -> str:
    """SQL: the triples with the columns of which the rules speak; `subject_gone` comes with them.

    `present` is F0 or F+; `start_before`, `start_in`, `start_after` tell where the start lies to the window
    (all false without one), likewise `end_*`; `end_none` means that no end is given. An end that is known to
    have come but not when (`somevalue`) is none of these.
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
        ), intervals AS (SELECT *, {start} AS start FROM stated)
        , days AS (SELECT *, {ends} FROM intervals)
        SELECT days.* EXCLUDE (given_start, start, start_unknown, "end", end_unknown, pit),
            coalesce(r.single_value, false) AS single_value,
            coalesce(r.temporal_functional, false) AS functional,
            subject IN (SELECT id FROM newborn) AS subject_new,
            coalesce(object IN (SELECT id FROM newborn), false) AS object_new,
            list_contains({sql(method.death_properties)}, property) AS death,
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
            change = 'F-' AND (subject IN (SELECT id FROM gone)
                OR coalesce(object IN (SELECT id FROM gone), false)) AS merged
        FROM days LEFT JOIN relations r USING (property)
        WINDOW grp AS (PARTITION BY subject, property)"""


def _merged(
    db: duckdb.DuckDBPyConnection, old_entities: Sequence[Path], entities: Sequence[Path], method: Method
) -> None:
    """TEMP TABLE gone (id): with `merges: detect`, what has a line in the old dump and none in the new."""
    query = "SELECT 0 AS id WHERE false"
    if method.merges == "detect":
        # Of the dumps' tables of items only the ids that this bucket asks for are held.
        asked = "WHERE id IN (SELECT id FROM mentioned WHERE removed)"
        query = f"""SELECT id FROM read_parquet({sql(old_entities)}) {asked}
            EXCEPT SELECT id FROM read_parquet({sql(entities)}) {asked}"""
    db.execute(f"CREATE TEMP TABLE gone AS {query}")


def _display_labels(
    db: duckdb.DuckDBPyConnection,
    old_entities: Sequence[Path],
    entities: Sequence[Path],
    properties: Sequence[Path],
    labels: Sequence[Path],
) -> None:
    """TEMP TABLE names (id, name) of subjects and objects: the new dump's, else the old's, else `labels`."""
    db.register("supplied", supplied_labels(labels))
    db.execute(
        f"""CREATE TEMP TABLE names AS
        SELECT id, arg_min(label, source) AS name FROM (
            SELECT 0 AS source, id, label FROM read_parquet({sql(entities)})
            UNION ALL SELECT 1, id, label FROM read_parquet({sql(old_entities)})
            UNION ALL SELECT 0, -id, label FROM read_parquet({sql(properties[0])})
            UNION ALL SELECT 1, -id, label FROM read_parquet({sql(properties[1])})
            UNION ALL SELECT 2, id, label FROM supplied
        ) WHERE label IS NOT NULL AND id IN (SELECT id FROM mentioned) GROUP BY id"""
    )


def _second_pass(method: Method) -> str:
    """SQL: where one of two triples of a functional relation is new, the one that went became obsolete.

    What a rule found obsolete already keeps the name of that rule.
    """
    undecided = "label = 'unknown'" if method.variant == "reference" else "label <> 'obsolete'"
    replaced = f"""functional AND n = 2 AND removed AND rule <> 'merged_or_deleted' AND {undecided}
        AND count(*) FILTER (label = 'new' AND NOT removed) OVER grp = 1"""
    return f"""
        SELECT * EXCLUDE (label, rule, replaced), CASE WHEN replaced THEN 'obsolete' ELSE label END AS label,
            CASE WHEN replaced THEN 'replaced' ELSE rule END AS rule
        FROM (SELECT *, {replaced} AS replaced FROM ruled WINDOW grp AS (PARTITION BY subject, property))"""


def _restricted(only_relations: Sequence[int], only_subjects: Sequence[int] | None, method: Method) -> str:
    """SQL: `dropped_by` for groups nobody asked for, and in `reference` for those without any change."""
    cases = []
    if only_relations:
        cases.append(f"WHEN property NOT IN (SELECT unnest({sql(list(only_relations))})) THEN 'only'")
    if only_subjects is not None:
        cases.append(f"WHEN subject NOT IN (SELECT unnest({sql(list(only_subjects))})) THEN 'only'")
    if method.variant == "reference":
        cases.append("WHEN n_removed = 0 AND n_added = 0 THEN 'unchanged'")
    if not cases:
        return "SELECT *, NULL::VARCHAR AS dropped_by FROM labelled"
    return f"SELECT *, CASE {' '.join(cases)} END AS dropped_by FROM labelled"


def read_subjects(path: Path) -> list[int]:
    """The item numbers of a file with one id (Q30) a line; properties in it are passed over.

    Raises InputError if the file is missing, holds anything else, or no item at all.
    """
    numbers = [int(name[1:]) for name in read_ids(path, "only.subjects", "QP") if name[0] == "Q"]
    if not numbers:
        raise InputError(f"{path}: no item id in it; write one a line, such as Q30")
    return numbers


def _without_undecided() -> str:
    """SQL: groups with any unknown go, then triples to ignore, then groups with an object without a label."""
    return """
        WITH decided AS (
            SELECT * EXCLUDE (dropped_by), coalesce(dropped_by, CASE
                WHEN bool_or(label = 'unknown') OVER grp THEN 'unknown'
                WHEN label = 'ignore' THEN 'ignore' END) AS dropped_by
            FROM step0 WINDOW grp AS (PARTITION BY subject, property)
        ), named AS (
            SELECT d.*, s.name AS subject_name, o.name AS object_name FROM decided d
            LEFT JOIN names s ON s.id = d.subject LEFT JOIN names o ON o.id = d.object
        )
        SELECT * EXCLUDE (dropped_by, subject_name), coalesce(dropped_by, CASE
            WHEN bool_or(dropped_by IS NULL AND (subject_name IS NULL
                OR (datatype IN ('wikibase-item', 'wikibase-property') AND object_name IS NULL))) OVER grp
            THEN 'no_label' END) AS dropped_by
        FROM named WINDOW grp AS (PARTITION BY subject, property)"""


_SCENARIO = """CASE
    WHEN dropped_by IS NOT NULL THEN NULL
    WHEN subject_new THEN 'AddEntity'
    WHEN news = 1 AND obsoletes = 1 AND statics = 0 THEN 'ReplaceObject'
    WHEN news = 0 AND statics = 0 AND {archive} THEN 'Archive'
    WHEN news > 0 AND statics > 0 AND obsoletes = 0 THEN 'AddObject'
    WHEN news > 0 AND statics = 0 AND obsoletes = 0 THEN 'AddRelation'
    ELSE 'Other' END"""


def _tally(source: str) -> str:
    """SQL: the rows of `source` with the labels that are left in their group counted."""
    counts = ", ".join(
        f"count(*) FILTER (dropped_by IS NULL AND label = '{label}') OVER grp AS {name}"
        for name, label in (("news", "new"), ("obsoletes", "obsolete"), ("statics", "static"))
    )
    return f"(SELECT *, {counts} FROM {source} WINDOW grp AS (PARTITION BY subject, property))"


def _anomalies(source: str, same: str, order: str, static_group: bool) -> str:
    """SQL: of an object that stands more than once in a group one triple stays, or the group goes."""
    drop_static = "WHEN news = 0 AND obsoletes = 0 THEN 'static'" if static_group else ""
    return f"""
        WITH repeated AS (
            SELECT *, count(*) FILTER (dropped_by IS NULL) OVER obj AS times,
                count(*) FILTER (dropped_by IS NULL AND label = 'obsolete') OVER obj AS times_obsolete,
                row_number() OVER (
                    PARTITION BY subject, property, {same}, dropped_by IS NULL ORDER BY {order}
                ) AS choice
            FROM {source} WINDOW obj AS (PARTITION BY subject, property, {same})
        ), resolved AS (
            SELECT * EXCLUDE (dropped_by, times, times_obsolete, choice), coalesce(dropped_by, CASE
                WHEN bool_or(dropped_by IS NULL AND times_obsolete > 0 AND times_obsolete < times)
                    OVER (PARTITION BY subject, property) THEN 'anomaly'
                WHEN times > 1 AND choice > 1 THEN 'duplicate' END) AS dropped_by
            FROM repeated
        )
        SELECT * EXCLUDE (dropped_by, news, obsoletes, statics),
            coalesce(dropped_by, CASE WHEN false THEN NULL {drop_static} END) AS dropped_by
        FROM {_tally("resolved")}"""


def _end(source: str) -> list[str]:
    """`paper`, `revised`: anomalies by identity, static first; then all-static groups go; then scenarios."""
    # Identity is that of the value; the order of the table makes the choice among equals a fixed one.
    resolved = _anomalies(source, "datatype, key", "label = 'static' DESC, line", static_group=True)
    return [
        f"CREATE OR REPLACE TEMP TABLE resolved AS {resolved}",
        f"""CREATE OR REPLACE TEMP TABLE final AS
        SELECT *, {_SCENARIO.format(archive="obsoletes > 0")} AS scenario FROM (
            SELECT *, dropped_by IS NULL AND news = 1 AND obsoletes = 1 AND statics = 0 AS is_replace
            FROM {_tally("resolved")})""",
    ]


def raw(json: str) -> str:
    """SQL: the raw form of a literal, which is its display label in `reference`.

    The timestamp, the amount without its unit, the text without its language, a string as it is.
    """
    fields = ", ".join(f"json_extract_string({json}, '$.{name}')" for name in ("time", "amount", "text"))
    return f"coalesce({fields}, json_extract_string({json}, '$'))"


def _reference_end(source: str) -> list[str]:
    """`reference`: all-static groups go and is_replace is set first; then anomalies by display label."""
    display = f"coalesce(object_name, {raw('coalesce(new_json, old_json)')})"
    return [
        f"""CREATE OR REPLACE TEMP TABLE changed AS
        SELECT * EXCLUDE (news, obsoletes, statics, dropped_by),
            news = 1 AND obsoletes = 1 AND statics = 0 AS is_replace,
            coalesce(dropped_by, CASE WHEN news = 0 AND obsoletes = 0 THEN 'static' END) AS dropped_by
        FROM {_tally(source)}""",
        f"""CREATE OR REPLACE TEMP TABLE resolved AS
        {_anomalies("changed", display, "line", static_group=False)}""",
        f"""CREATE OR REPLACE TEMP TABLE final AS
        SELECT * EXCLUDE (is_replace), dropped_by IS NULL AND is_replace AS is_replace,
            {_SCENARIO.format(archive="obsoletes = 1")} AS scenario
        FROM {_tally("resolved")}""",
    ]
