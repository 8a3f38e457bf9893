"""Two builds of the dataset, compared: what came, what went, what is called otherwise, and why.

The table of differences is empty if the builds are the same.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.files import read_tsv
from factdrift.core.manifests import read_manifest
from factdrift.core.paths import RESOURCES
from factdrift.core.tables import database, only_file, sql, write_parquet
from factdrift.pages import leaves

_COLUMNS = "change, subject, relation, object, field, before, after, rule_before, rule_after"

DIFFERENCES = pa.schema([(name, pa.string()) for name in (*_COLUMNS.split(", "), "cause")])
"""One row per difference."""

CHANGES = (
    *("removed", "added", "object removed", "object added", "label", "object", "sentence", "neighbours"),
    *("popularity", "split", "field", "column"),
)
"""The kinds of change (docs/diff-builds.md), in the order in which they are counted."""

_KINDS = {
    **dict.fromkeys(("update_prompt", "generalization_prompts", "template_source"), "sentence"),
    **dict.fromkeys(("subject_popularity", "popularity_source"), "popularity"),
    **{"subject_is_ambiguous": "sentence", "split": "split"},
}
"""Column -> kind of change."""

_NEIGHBORS = ("neighborhood", "random_neighborhood", "popular_neighborhood")
"""Columns of neighbour facts, of which only what differs is in the table of differences."""


class Cause(NamedTuple):
    """A key of the manifests with its values in both builds, and the kinds of change that it can cause."""

    key: str
    before: str
    after: str
    changes: frozenset[str]


def compare(first: Path, second: Path, output: Path | None) -> Iterator[str]:
    """Yields lines about what differs between the folders of two builds, by kind of change.

    Writes differences.parquet to the folder `output`, if there is one. Raises InputError if a folder has no
    dataset.
    """
    builds = (first, second)
    datasets = [folder / "wikifactdiff.parquet" for folder in builds]
    for path in datasets:
        if not path.is_file():
            raise InputError(f"{path}: no such file; name a folder such as results/2021-01-04_2023-02-27")
    why = causes(first / "manifest.json", second / "manifest.json")
    rows = differences(datasets[0], datasets[1], lambda change: cause_of(change, why))
    if output:
        write_parquet(rows, output / "differences.parquet")
    frame = rows.to_pandas()
    counted = frame.groupby("change").agg(number=("change", "size"), cause=("cause", "first"))
    keys = ["rule_before", "before", "rule_after", "after"]
    by_rule = frame[frame["change"] == "label"].groupby(keys).size().reset_index(name="number")
    yield from (f"{path}: {pq.read_metadata(path).num_rows:,} updates" for path in datasets)
    if frame.empty:
        yield "no difference"
    for change in CHANGES:
        if change in counted.index:
            yield f"  {change:16}{counted['number'][change]:9,}  {counted['cause'][change]}"
        if change == "label":
            for flip in by_rule.itertuples():
                rules = f"{flip.before} ({flip.rule_before}) -> {flip.after} ({flip.rule_after})"
                yield f"    {rules}: {flip.number:,}"
    yield from (f"manifests: {cause.key}: {cause.before[:80]} -> {cause.after[:80]}" for cause in why or ())


def causes(before: Path, after: Path) -> list[Cause] | None:
    """What differs between two manifests and can change the dataset; None if a manifest is missing."""
    if not (before.is_file() and after.is_file()):
        return None
    flat = [dict(leaves(read_manifest(path), ".")) for path in (before, after)]
    acting = {row["key"]: frozenset(row["changes"].split()) for row in read_tsv(RESOURCES / "causes.tsv")}
    differing = []
    for key in sorted(flat[0].keys() | flat[1].keys()):
        raw = (value.get(key) for value in flat)
        values = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in raw]
        # `configuration.method.start` and the keys above it, the longest first.
        parts = key.split(".")
        above = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        changes = next((acting[part] for part in above if part in acting), None)
        if values[0] != values[1] and changes:
            differing.append(Cause(key, values[0], values[1], changes))
    return differing


def cause_of(change: str, differing: list[Cause] | None) -> str:
    """The keys that can have caused a kind of change, for people."""
    if differing is None:
        return "no manifest"
    keys = [cause.key for cause in differing if cause.changes & {"all", change}]
    return ", ".join(keys) or ("none of the keys that differ" if differing else "the manifests agree")


def differences(before: Path, after: Path, cause: Callable[[str], str]) -> pa.Table:
    """DIFFERENCES of two tables in the layout of `wikifactdiff.parquet`, sorted by all columns.

    `cause`: kind of change -> why builds differ so. Raises InputError if a file is not such a table.
    """
    with database() as db:
        db.execute("CREATE TEMP MACRO text(value) AS CAST(value AS VARCHAR)")
        columns = []
        for name, path in (("a", before), ("b", after)):
            try:
                rows = db.read_parquet(only_file(path))
            except duckdb.Error as error:
                raise InputError(f"{path}: {error}; give builds of wikifactdiff.parquet") from error
            if missing := sorted({"subject", "relation", "objects", "scenario"} - set(rows.columns)):
                raise InputError(
                    f"{path}: no column {', '.join(missing)}; give builds of wikifactdiff.parquet"
                )
            columns.append(set(rows.columns))
            db.execute(
                f"CREATE TEMP VIEW {name} AS SELECT *, subject.id AS s, relation.id AS r "
                f"FROM read_parquet({sql(path)})"
            )
        union = " UNION ALL ".join(_queries(db, *columns))
        table = db.sql(f"SELECT * FROM ({union}) AS t({_COLUMNS}) ORDER BY ALL").to_arrow_table()
    reasons = {change: cause(change) for change in CHANGES}
    why = pa.array([reasons[change] for change in table["change"].to_pylist()], pa.string())
    return table.append_column("cause", why).cast(DIFFERENCES)


def _queries(db: duckdb.DuckDBPyConnection, before: set[str], after: set[str]) -> Iterator[str]:
    """Yields queries for parts of the table; `before`, `after`: the columns of the views `a` and `b`."""
    # The values of the groups in both builds side by side; equal ones of a group are numbered.
    values = [
        f"""(SELECT s, r, o, o.datatype AS datatype, o.raw AS raw,
                row_number() OVER (PARTITION BY s, r, o.datatype, o.raw ORDER BY place) AS number
            FROM (SELECT s, r, unnest(objects) AS o, generate_subscripts(objects, 1) AS place
                FROM {name} SEMI JOIN {other} USING (s, r)))"""
        for name, other in (("a", "b"), ("b", "a"))
    ]
    db.execute(
        f"""CREATE TEMP TABLE objects AS SELECT s, r, raw, x.o AS a, y.o AS b
        FROM {values[0]} x FULL JOIN {values[1]} y USING (s, r, datatype, raw, number)"""
    )
    labels = "array_to_string(list_transform(objects, lambda o: o.decision || ' ' || o.label), '; ')"
    for here, there, change, sides in (("a", "b", "removed", "{}, NULL"), ("b", "a", "added", "NULL, {}")):
        yield (
            f"SELECT {sql(change)}, s, r, NULL, scenario, {sides.format(labels)}, NULL, NULL "
            f"FROM {here} ANTI JOIN {there} USING (s, r)"
        )
        value = sides.format(f"{here}.decision || ' ' || {here}.label")
        yield (
            f"SELECT 'object {change}', s, r, raw, NULL, {value}, {sides.format(f'{here}.rule')} "
            f"FROM objects WHERE {there} IS NULL"
        )
    kinds = [{str(name) for name, _ in kind.children} for kind in db.sql("SELECT a, b FROM objects").types]
    for field in kinds[0] & kinds[1] - {"datatype", "raw"}:
        yield (
            f"SELECT {sql('label' if field == 'decision' else 'object')}, s, r, raw, {sql(field)}, "
            f"text(a.{field}), text(b.{field}), a.rule, b.rule FROM objects "
            f"WHERE a IS NOT NULL AND b IS NOT NULL AND a.{field} IS DISTINCT FROM b.{field}"
        )
    for name in before & after - {"objects"}:
        if name in _NEIGHBORS:
            yield from _neighbors(name)
        else:
            yield (
                f"SELECT {sql(_KINDS.get(name, 'field'))}, s, r, NULL, {sql(name)}, text(a.{name}), "
                f"text(b.{name}), NULL, NULL "
                f"FROM a JOIN b USING (s, r) WHERE a.{name} IS DISTINCT FROM b.{name}"
            )
    for name in before ^ after:
        present = "'present', 'absent'" if name in before else "'absent', 'present'"
        yield f"SELECT 'column', NULL, NULL, NULL, {sql(name)}, {present}, NULL, NULL"


def _neighbors(name: str) -> Iterator[str]:
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
    for change, kind, where in (
        ("sentence", "said", reworded),
        ("neighbours", "facts", f"a_facts <> b_facts OR NOT ({reworded})"),
    ):
        only = [
            f"nullif(array_to_string(list_filter({here}_{kind}, "
            f"lambda x: NOT list_contains({there}_{kind}, x)), '; '), '')"
            for here, there in (("a", "b"), ("b", "a"))
        ]
        yield (
            f"SELECT {sql(change)}, s, r, NULL, {sql(name)}, {', '.join(only)}, NULL, NULL "
            f"FROM ({both}) WHERE a_all IS DISTINCT FROM b_all AND ({where})"
        )
