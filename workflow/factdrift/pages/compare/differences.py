"""The differences between two tables of updates, as one table; empty if the builds are the same."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.tables import database, only_file, sql

_COLUMNS = "change, subject, relation, object, field, before, after, rule_before, rule_after"

DIFFERENCES = pa.schema([(name, pa.string()) for name in (*_COLUMNS.split(", "), "cause")])
"""One row per difference."""

CHANGES = {
    "removed": "an update that only the first build has",
    "added": "an update that only the second build has",
    "object removed": "an object that only the first build has in this update",
    "object added": "an object that only the second build has in this update",
    "label": "an object is called new, obsolete or static in one build and otherwise in the other",
    "object": "another field of an object: names, rule, dates, statements, revisions",
    "sentence": "the prompt, one of the other cloze tests, or the prompts of the same neighbour facts",
    "neighbours": "nearest or random facts, or their distances",
    "popularity": "the popularity of the subject",
    "split": "the part of the dataset, `train` or `test`",
    "field": "another column of an update",
    "column": "a column that only one build has",
}
"""Kind of change -> what it is."""

_KINDS = {
    "update_prompt": "sentence",
    "generalization_prompts": "sentence",
    "template_source": "sentence",
    "subject_is_ambiguous": "sentence",
    "subject_popularity": "popularity",
    "popularity_source": "popularity",
    "split": "split",
}
"""Column -> kind of change."""

_NEIGHBORS = ("neighborhood", "random_neighborhood")
"""Columns of neighbour facts, of which only what differs is in the table of differences."""


def differences(before: Path, after: Path, cause: Callable[[str], str], memory_mb: int = 3000) -> pa.Table:
    """DIFFERENCES of two tables in the layout of `wikifactdiff.parquet`, sorted by all columns.

    `cause`: kind of change -> why builds differ so. Raises InputError if a file is not such a table.
    """
    with database(memory_mb) as db:
        db.execute("CREATE TEMP MACRO text(value) AS CAST(value AS VARCHAR)")
        columns = [_register(db, name, path) for name, path in (("a", before), ("b", after))]
        both = [name for name in columns[0] if name in columns[1]]
        parts = [
            _updates("a", "b", "removed"),
            _updates("b", "a", "added"),
            *_objects(db),
            *(_field(name) for name in both if name not in ("objects", *_NEIGHBORS)),
            *(part for name in both if name in _NEIGHBORS for part in _neighbors(name)),
            *(
                f"SELECT 'column', NULL, NULL, NULL, {sql(name)}, {here}, {there}, NULL, NULL"
                for names, others, here, there in (
                    (columns[0], columns[1], "'present'", "'absent'"),
                    (columns[1], columns[0], "'absent'", "'present'"),
                )
                for name in names
                if name not in others
            ),
        ]
        union = " UNION ALL ".join(parts)
        found = db.sql(f"SELECT * FROM ({union}) AS t({_COLUMNS}) ORDER BY ALL").to_arrow_table()
    reasons = {change: cause(change) for change in CHANGES}
    why = pa.array([reasons[change] for change in found["change"].to_pylist()], pa.string())
    return found.append_column("cause", why).cast(DIFFERENCES)


def _register(db: duckdb.DuckDBPyConnection, name: str, path: Path) -> list[str]:
    """The view of a dataset with the ids of subject and relation; returns its columns."""
    try:
        rows = db.read_parquet(only_file(path))
    except duckdb.Error as error:
        raise InputError(f"{path}: {error}; give builds of wikifactdiff.parquet") from error
    missing = {"subject", "relation", "objects", "scenario"} - set(rows.columns)
    if missing:
        raise InputError(
            f"{path}: no column {', '.join(sorted(missing))}; give builds of wikifactdiff.parquet"
        )
    db.execute(
        f"CREATE TEMP VIEW {name} AS SELECT *, subject.id AS s, relation.id AS r "
        f"FROM read_parquet({sql(path)})"
    )
    return list(rows.columns)


def _updates(here: str, there: str, change: str) -> str:
    labels = "array_to_string(list_transform(objects, lambda o: o.decision || ' ' || o.label), '; ')"
    before, after = (labels, "NULL") if change == "removed" else ("NULL", labels)
    return (
        f"SELECT {sql(change)}, s, r, NULL, scenario, {before}, {after}, NULL, NULL "
        f"FROM {here} ANTI JOIN {there} USING (s, r)"
    )


def _objects(db: duckdb.DuckDBPyConnection) -> list[str]:
    """Objects of one build, labels and other fields that differ; equal values of a group are numbered."""
    for name, other in (("a", "b"), ("b", "a")):
        db.execute(
            f"""CREATE TEMP TABLE {name}_objects AS
            SELECT s, r, o, row_number() OVER (PARTITION BY s, r, o.datatype, o.raw ORDER BY place) AS number
            FROM (SELECT s, r, unnest(objects) AS o, generate_subscripts(objects, 1) AS place
                FROM {name} SEMI JOIN {other} USING (s, r))"""
        )
    found = []
    for here, there, change in (("a", "b", "object removed"), ("b", "a", "object added")):
        value = "x.o.decision || ' ' || x.o.label"
        before, after = (value, "NULL") if here == "a" else ("NULL", value)
        rules = ("x.o.rule", "NULL") if here == "a" else ("NULL", "x.o.rule")
        found.append(
            f"SELECT {sql(change)}, x.s, x.r, x.o.raw, NULL, {before}, {after}, {', '.join(rules)} "
            f"FROM {here}_objects x ANTI JOIN {there}_objects y ON {_SAME}"
        )
    fields = [set(_fields(db, name)) for name in ("a", "b")]
    for field in sorted(fields[0] & fields[1] - {"datatype", "raw"}):
        change = "label" if field == "decision" else "object"
        found.append(
            f"SELECT {sql(change)}, x.s, x.r, x.o.raw, {sql(field)}, text(x.o.{field}), text(y.o.{field}), "
            f"x.o.rule, y.o.rule FROM a_objects x JOIN b_objects y ON {_SAME} "
            f"WHERE x.o.{field} IS DISTINCT FROM y.o.{field}"
        )
    return found


_SAME = (
    "x.s = y.s AND x.r = y.r AND x.o.datatype = y.o.datatype AND x.o.raw = y.o.raw AND x.number = y.number"
)
"""SQL: two rows are the same value of the same group."""


def _fields(db: duckdb.DuckDBPyConnection, name: str) -> list[str]:
    kind = db.sql(f"SELECT o FROM {name}_objects LIMIT 0").types[0]
    return [str(field) for field, _ in kind.children]


def _field(name: str) -> str:
    return (
        f"SELECT {sql(_KINDS.get(name, 'field'))}, s, r, NULL, {sql(name)}, text(a.{name}), text(b.{name}), "
        f"NULL, NULL FROM a JOIN b USING (s, r) WHERE a.{name} IS DISTINCT FROM b.{name}"
    )


def _neighbors(name: str) -> list[str]:
    """Of neighbour facts: other facts or distances, and the same facts in other words.

    `before` and `after` have what only one build has: subject, object and distance of facts, or prompts.
    """
    entry = "concat_ws(' ', x.subject.id, x.objects[1].raw, x.dist)"
    prompt = "concat_ws(' ', x.subject.id, x.objects[1].raw, x.objects[1].prompt)"
    fact = "concat_ws(' ', x.subject.id, x.objects[1].raw)"
    lists = ", ".join(
        f"list_transform({side}.{name}, lambda x: {value}) AS {side}_{kind}"
        for side in ("a", "b")
        for kind, value in (("facts", entry), ("said", prompt), ("ids", fact))
    )
    both = f"SELECT s, r, {lists}, a.{name} AS a_all, b.{name} AS b_all FROM a JOIN b USING (s, r)"
    reworded = "list_sort(a_ids) = list_sort(b_ids) AND list_sort(a_said) <> list_sort(b_said)"
    parts = []
    for change, kind, where in (
        ("sentence", "said", reworded),
        ("neighbours", "facts", f"a_facts <> b_facts OR NOT ({reworded})"),
    ):
        only = [
            f"nullif(array_to_string(list_filter({here}_{kind}, "
            f"lambda x: NOT list_contains({there}_{kind}, x)), '; '), '')"
            for here, there in (("a", "b"), ("b", "a"))
        ]
        parts.append(
            f"SELECT {sql(change)}, s, r, NULL, {sql(name)}, {', '.join(only)}, NULL, NULL "
            f"FROM ({both}) WHERE a_all IS DISTINCT FROM b_all AND ({where})"
        )
    return parts
