"""Sections about the dataset: where it comes from, what changed, and how its triples were decided."""

import datetime
from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd

from factdrift.core.tables import sql
from factdrift.pages import meanings, shown
from factdrift.pages.report.blocks import Bars, Build, Cards, Columns, Section, Table, table
from factdrift.wikifactdiff.accounts import by_stage

CARDS = 12
"""The number of replacements that are shown in words."""

SCENARIOS = {
    "ReplaceObject": "one object took the place of another",
    "Archive": "objects ended and none followed",
    "AddObject": "objects came to others that still hold",
    "AddRelation": "a subject got its first object of a relation",
    "AddEntity": "the subject itself is new",
    "Other": "several things at once",
}
"""Scenario -> what happened, in words."""

MOST_COLUMNS = 120
"""The time line has a column a month, or a column a year where that would be more columns than this."""


def origin(build: Build, manifest: dict[str, Any]) -> Section:
    """What was built from what: dumps, snapshots, versions."""
    source = build.source(build.pair / "manifest.json")
    rows = []
    for day, dump in manifest["dumps"].items():
        held = manifest["snapshots"].get(day, {})
        checksum = next((f"{name} {dump[name]}" for name in ("sha1", "sha256") if name in dump), "")
        counts = (held.get("items"), held.get("statements", {}).get("total"), held.get("bad_lines"))
        rows.append((day, dump["file"], dump["bytes"], *counts, checksum))
    dumps = pd.DataFrame(rows)
    chosen = manifest["configuration"]
    keys = [
        (key, value) for key, value in chosen.items() if isinstance(value, str | int | float) and value != ""
    ]
    return Section(
        "origin",
        "What was built from what",
        "Two snapshots, one configuration, and the versions of everything that can change a result.",
        [
            table(
                "Dumps",
                {
                    "date": "text",
                    "file": "text",
                    "size": "bytes",
                    "items": "number",
                    "statements": "number",
                    "bad lines": "number",
                    "checksum": "text",
                },
                dumps,
                source,
            ),
            table(
                "Versions",
                {"package": "text", "version": "text"},
                pd.DataFrame(list(manifest["versions"].items())),
                source,
                "",
                True,
            ),
            table(
                "Configuration",
                {"key": "text", "value": "text"},
                pd.DataFrame([(key, str(value)) for key, value in keys]),
                source,
                "Keys with a single value; the file has all.",
                True,
            ),
        ],
    )


def updates(build: Build, db: duckdb.DuckDBPyConnection) -> Section:
    """Replacements in words, and one update of every scenario: the paper's Table 1 for this build."""
    rows = f"(SELECT *, row_number() OVER () AS place FROM read_parquet({sql(build.dataset)}))"
    columns = "subject, relation, objects, scenario, update_prompt"
    source = build.source(build.dataset)
    replaced = db.sql(
        f"""SELECT {columns} FROM {rows} WHERE is_replace
        QUALIFY row_number() OVER (PARTITION BY relation.id ORDER BY place) = 1
            AND row_number() OVER (PARTITION BY subject.id ORDER BY place) = 1
        ORDER BY place LIMIT {CARDS}"""
    )
    cards = replaced.to_arrow_table().to_pylist()
    shown = [card["subject"]["id"] for card in cards]
    kinds = db.sql(
        f"""SELECT {columns} FROM {rows} WHERE len(objects) <= 6 AND subject.id NOT IN {sql(shown)}::VARCHAR[]
        QUALIFY row_number() OVER (PARTITION BY scenario ORDER BY place) = 1
        ORDER BY list_position({sql(tuple(SCENARIOS))}, scenario)"""
    )
    return Section(
        "updates",
        "What changed",
        "Of each relation the most popular subject with a new value, and below one update of every scenario "
        "with the rule that decided about each object (the paper's Table 1).",
        [
            Cards("One object for another", cards, source),
            Cards("One update of every scenario", kinds.to_arrow_table().to_pylist(), source),
        ],
    )


def scenarios(build: Build, db: duckdb.DuckDBPyConnection, stats: dict[str, Any]) -> Section:
    """Table 2 of the paper for this build, and the updates of each relation."""
    counted = build.source(build.pair / "wikifactdiff.stats.json")
    both = [stats[name] for name in ("wikifactdiff", "wfd_repl")]
    rows = [(key, *(each[key] for each in both)) for key in ("updates", "triples", "subjects", "relations")]
    rows += [(f"objects, {kind}", *(each["objects"][kind] for each in both)) for kind in both[0]["objects"]]
    for group in ("scenarios", "decisions", "splits"):
        rows += [(f"{group[:-1]} {name}", *(each[group][name] for each in both)) for name in both[0][group]]
    relations = db.sql(
        f"""WITH rows AS (SELECT relation, is_replace, unnest(objects, max_depth := 1) AS object,
                generate_subscripts(objects, 1) AS place FROM read_parquet({sql(build.dataset)}))
        SELECT relation.id, any_value(relation.label), count(*) FILTER (place = 1), count(*),
            count(*) FILTER (object.decision = 'new'), count(*) FILTER (object.decision = 'obsolete'),
            count(*) FILTER (object.decision = 'static'), count(*) FILTER (is_replace AND place = 1)
        FROM rows GROUP BY 1 ORDER BY 3 DESC, 1"""
    ).df()
    tones = {"ReplaceObject": "new", "Archive": "obsolete"}
    return Section(
        "scenarios",
        "Scenarios and relations",
        "What became of a subject and relation, counted as in the paper's Table 2.",
        [
            Bars(
                "Updates by scenario",
                [
                    (f"{name}: {SCENARIOS[name]}", count, tones.get(name, "plain"))
                    for name, count in both[0]["scenarios"].items()
                ],
                counted,
            ),
            table(
                "Both datasets",
                {"count": "text", "wikifactdiff": "number", "wfd_repl": "number"},
                pd.DataFrame(rows),
                counted,
            ),
            table(
                "Relations",
                {"id": "text", "relation": "text", "updates": "number", "triples": "number"}
                | dict.fromkeys(("new", "obsolete", "static", "replacements"), "number"),
                relations,
                build.source(build.dataset),
            ),
        ],
    )


def funnel(build: Build, db: duckdb.DuckDBPyConnection) -> Section:
    """What became of every statement and triple, from the dumps to WFD_repl."""
    path = build.pair / "funnel.parquet"
    source = build.source(path)
    counts = by_stage(db, path)

    def total(stage: str) -> int:
        return sum(counts.get(stage, {}).values())

    def kept(stage: str) -> int:
        return counts.get(stage, {}).get("kept", 0)

    steps = [
        ("statements of the old dump", total("preprocess_old"), "plain"),
        ("of these after the filters", kept("preprocess_old"), "plain"),
        ("statements of the new dump", total("preprocess_new"), "plain"),
        ("of these after the filters", kept("preprocess_new"), "plain"),
        ("triples in either dump", total("difference"), "plain"),
        ("triples in wikifactdiff", kept("groups"), "new"),
        ("triples in wfd_repl", kept("wfd_repl"), "new"),
    ]
    one_sided = total("difference") - counts.get("difference", {}).get("F0", 0)
    means = meanings()

    def explained(title: str, kind: str, stage: str, note: str = "") -> Table:
        found = {name: number for name, number in counts.get(stage, {}).items() if name != "kept"}
        ordered = sorted(found.items(), key=lambda each: (-each[1], each[0]))
        rows = [(name, means.get(f"{kind} {name}", ""), number) for name, number in ordered]
        columns = {kind: "text", "meaning": "text", "triples": "number"}
        return table(title, columns, pd.DataFrame(rows, columns=list(columns)), source, note, True)

    dumps = ["preprocess_old", "preprocess_new"]
    filters = pd.DataFrame({stage: counts.get(stage, {}) for stage in dumps}).fillna(0).astype(int)
    filters = filters.sort_values(dumps, ascending=False, kind="stable").reset_index()
    filters.insert(1, "meaning", [means.get(f"filter {name}", "not dropped") for name in filters["index"]])
    return Section(
        "funnel",
        "From statements to updates",
        "Filters drop statements of each dump; rules label what is left; a group (the triples of a subject "
        "and relation) is dropped if it holds nothing that changed, or something that cannot be decided.",
        [
            Bars(
                "What is left after each step",
                steps,
                source,
                f"Of the triples in either dump, {one_sided:,} are in one of them only. One in both dumps "
                "is in the dataset if its dates, or other triples of its group, say that something changed. "
                f"{_undersampled(build, counts, db)}",
            ),
            table(
                "Statements by filter",
                {"filter": "text", "meaning": "text", "old dump": "number", "new dump": "number"},
                filters,
                source,
                "Each statement counts at the first filter that drops it.",
                True,
            ),
            explained("Triples by rule", "rule", "rules"),
            explained("Triples by label", "label", "labels"),
            explained(
                "Why triples are not in the dataset",
                "step",
                "groups",
                "A group goes as a whole, so that triples with a known label count as unknown where "
                "another triple of their group is.",
            ),
        ],
    )


def _undersampled(build: Build, counts: dict[str, dict[str, int]], db: duckdb.DuckDBPyConnection) -> str:
    """How many replacements WFD_repl leaves out, and of which relations, as a sentence."""
    if not counts.get("wfd_repl", {}).get("undersampled"):
        return "wfd_repl has all updates that replace one object by another."
    rows = f"read_parquet({sql(build.dataset)})"
    (whole,) = db.sql(f"SELECT count(*) FILTER (is_replace) FROM {rows}").fetchall()[0]
    found = db.sql(
        f"""SELECT relation.label, count(*) FROM {rows}
        WHERE is_replace AND (subject.id, relation.id) NOT IN (
            SELECT (subject.id, relation.id) FROM read_parquet({sql(build.pair / "wfd_repl.parquet")}))
        GROUP BY 1 ORDER BY 2 DESC, 1"""
    ).fetchall()
    named = ", ".join(f"{shown(label, 60)} {number:,}" for label, number in found)
    left = sum(number for _, number in found)
    return (
        f"wfd_repl keeps {whole - left:,} of the {whole:,} replacements: {left:,} of relations that would "
        f"otherwise prevail are left out by chance ({named}; key undersample)."
    )


def time_line(build: Build, db: duckdb.DuckDBPyConnection, dates: dict[str, str]) -> Section | None:
    """When what is new began and when what is obsolete ended, between the two dates."""
    found = db.sql(
        f"""SELECT object.decision = 'new' AS is_new,
            CASE WHEN object.decision = 'new' THEN coalesce(object.start, object.point_in_time)
                ELSE object."end" END AS day, count(*)
        FROM (SELECT unnest(objects) AS object FROM read_parquet({sql(build.dataset)}))
        WHERE object.decision <> 'static' GROUP BY ALL"""
    ).fetchall()
    months = list(months_of(dates["old"], dates["new"]))
    years = len(months) > MOST_COLUMNS
    width = 4 if years else 7
    names = list(dict.fromkeys(month[:width] for month in months))
    counts: dict[bool, dict[str, int]] = {True: {}, False: {}}
    outside = 0
    for is_new, day, number in found:
        label = (day or "")[:width]
        if label in names:
            counts[is_new][label] = counts[is_new].get(label, 0) + number
        else:
            outside += number
    if not any(counts.values()):
        return None
    unit = "year" if years else "month"
    marks = [
        (place + 0.5, name[:4])
        for place, name in enumerate(names)
        if (len(name) == 4 and int(name) % max(len(names) // 6, 1) == 0) or name.endswith("-01")
    ]
    return Section(
        "time",
        "When it changed",
        f"Above the line what began or was measured in a {unit}, below what ended in it.",
        [
            Columns(
                f"Facts that began and ended, by {unit}",
                names,
                [counts[True].get(name, 0) for name in names],
                [counts[False].get(name, 0) for name in names],
                marks,
                ("new", "obsolete"),
                unit,
                build.source(build.dataset),
                f"{outside:,} changed triples have no date between the two dumps that names a {unit}: among "
                "them what was replaced without an end, and dates that name a year only.",
            )
        ],
    )


def months_of(old: str, new: str) -> Iterator[str]:
    """Yields the months (2021-01) from that of a day to that of a later one."""
    first, last = (datetime.date.fromisoformat(day) for day in (old, new))
    for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        yield f"{number // 12:04}-{number % 12 + 1:02}"
