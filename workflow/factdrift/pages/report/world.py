"""Sections about the dataset and the stream: what changed, when, and how their triples were decided."""

import datetime
from collections.abc import Iterable, Iterator

import duckdb
import pandas as pd

from factdrift.core.tables import sql
from factdrift.pages import meanings, shown
from factdrift.pages.report.blocks import Block, Build, Parts, table
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

LAGS = (31, 92, 366, 731)
"""Days at most, of the classes of lags."""

MOST_MONTHS = 240


def updates(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
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
    lead = (
        "Of each relation the most popular subject with a new value, and below one update of every scenario "
        "with the rule that decided about each object (the paper's Table 1)."
    )
    every = kinds.to_arrow_table().to_pylist()
    return lead, [
        Block("cards", "One object for another", cards, source),
        Block("cards", "One update of every scenario", every, source),
    ]


def scenarios(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Table 2 of the paper for this build and an imported benchmark, and the updates of each relation."""
    counted = build.source(build.pair / "wikifactdiff.stats.json")
    both = list(build.stats.values())
    rows = [(key, *(stats[key] for stats in both)) for key in ("updates", "triples", "subjects", "relations")]
    rows += [(f"objects, {kind}", *(stats["objects"][kind] for stats in both)) for kind in both[0]["objects"]]
    for group in ("scenarios", "decisions", "splits"):
        rows += [(f"{group[:-1]} {name}", *(stats[group][name] for stats in both)) for name in both[0][group]]
    relations = db.sql(
        f"""WITH rows AS (SELECT relation, is_replace, unnest(objects, max_depth := 1) AS object,
                generate_subscripts(objects, 1) AS place FROM read_parquet({sql(build.dataset)}))
        SELECT relation.id, any_value(relation.label), count(*) FILTER (place = 1), count(*),
            count(*) FILTER (object.decision = 'new'), count(*) FILTER (object.decision = 'obsolete'),
            count(*) FILTER (object.decision = 'static'), count(*) FILTER (is_replace AND place = 1)
        FROM rows GROUP BY 1 ORDER BY 3 DESC, 1"""
    ).fetchall()
    tones = {"ReplaceObject": "new", "Archive": "obsolete"}
    bars = [
        (f"{name}: {SCENARIOS[name]}", count, tones.get(name, "plain"))
        for name, count in both[0]["scenarios"].items()
    ]
    columns = (
        "id; relation; updates: number; triples: number; new: number; obsolete: number; static: number; "
        "replacements: number"
    )
    return "What became of a subject and relation, counted as in the paper's Table 2.", [
        Block("bars", "Updates by scenario", bars, counted),
        table("Datasets", "; ".join(["count", *(f"{name}: number" for name in build.stats)]), rows, counted),
        table("Relations", columns, relations, build.source(build.dataset)),
    ]


def funnel(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """What became of every statement and triple, from the dumps to WFD_repl."""
    path = build.pair / "funnel.parquet"
    source = build.source(path)
    counts = by_stage(db, path)
    total = {stage: sum(reasons.values()) for stage, reasons in counts.items()}
    kept = {stage: reasons.get("kept", 0) for stage, reasons in counts.items()}
    dumps = ["preprocess_old", "preprocess_new"]
    steps = [
        ("statements of the old dump", total.get(dumps[0], 0), "plain"),
        ("of these after the filters", kept.get(dumps[0], 0), "plain"),
        ("statements of the new dump", total.get(dumps[1], 0), "plain"),
        ("of these after the filters", kept.get(dumps[1], 0), "plain"),
        ("triples in either dump", total.get("difference", 0), "plain"),
        ("triples in wikifactdiff", kept.get("groups", 0), "new"),
        ("triples in wfd_repl", kept.get("wfd_repl", 0), "new"),
    ]
    one_sided = total.get("difference", 0) - counts.get("difference", {}).get("F0", 0)
    note = (
        f"Of the triples in either dump, {one_sided:,} are in one of them only. One in both dumps "
        "is in the dataset if its dates, or other triples of its group, say that something changed. "
        f"{_undersampled(build, counts, db)}"
    )
    means = meanings()
    filters = pd.DataFrame({stage: counts.get(stage, {}) for stage in dumps}).fillna(0).astype(int)
    filters = filters.sort_values(dumps, ascending=False, kind="stable").reset_index()
    filters.insert(1, "meaning", [means.get(f"filter {name}", "not dropped") for name in filters["index"]])
    columns = "filter; meaning; old dump: number; new dump: number"
    first = "Each statement counts at the first filter that drops it."
    whole_groups = (
        "A group goes as a whole, so that triples with a known label count as unknown where "
        "another triple of their group is."
    )
    blocks = [
        Block("bars", "What is left after each step", steps, source, note),
        table("Statements by filter", columns, filters.itertuples(index=False), source, first, folded=True),
    ]
    for title, kind, stage, remark in (
        ("Triples by rule", "rule", "rules", ""),
        ("Triples by label", "label", "labels", ""),
        ("Why triples are not in the dataset", "step", "groups", whole_groups),
    ):
        ordered = sorted(counts.get(stage, {}).items(), key=lambda pair: (-pair[1], pair[0]))
        rows = [(name, means.get(f"{kind} {name}", ""), n) for name, n in ordered if name != "kept"]
        blocks.append(table(title, f"{kind}; meaning; triples: number", rows, source, remark, folded=True))
    lead = (
        "Filters drop statements of each dump; rules label what is left; a group (the triples of a subject "
        "and relation) is dropped if it holds nothing that changed, or something that cannot be decided."
    )
    return lead, blocks


def _undersampled(build: Build, counts: dict[str, dict[str, int]], db: duckdb.DuckDBPyConnection) -> str:
    """How many replacements WFD_repl leaves out, and of which relations, as a sentence."""
    if not counts.get("wfd_repl", {}).get("undersampled"):
        return "wfd_repl has all updates that replace one object by another."
    rows = f"read_parquet({sql(build.dataset)})"
    (whole,) = db.sql(f"SELECT count(*) FILTER (is_replace) FROM {rows}").fetchall()[0]
    by_relation = db.sql(
        f"""SELECT relation.label, count(*) FROM {rows}
        WHERE is_replace AND (subject.id, relation.id) NOT IN (
            SELECT (subject.id, relation.id) FROM read_parquet({sql(build.pair / "wfd_repl.parquet")}))
        GROUP BY 1 ORDER BY 2 DESC, 1"""
    ).fetchall()
    named = ", ".join(f"{shown(label, 60)} {number:,}" for label, number in by_relation)
    left = sum(number for _, number in by_relation)
    return (
        f"wfd_repl keeps {whole - left:,} of the {whole:,} replacements: {left:,} of relations that would "
        f"otherwise prevail are left out by chance ({named}; key undersample)."
    )


def time_line(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """When what is new began and when what is obsolete ended, between the two dates."""
    dates = build.manifest["dates"]
    months = list(_months_of(dates["old"], dates["new"]))
    unit, width = ("year", 4) if len(months) > MOST_COLUMNS else ("month", 7)
    counts = dict.fromkeys((month[:width] for month in months), (0, 0))
    by_month = db.sql(
        f"""SELECT coalesce(CASE WHEN object.decision = 'new' THEN coalesce(object.start,
                object.point_in_time) ELSE object."end" END, '')[:{width}],
            count(*) FILTER (object.decision = 'new'), count(*) FILTER (object.decision <> 'new')
        FROM (SELECT unnest(objects) AS object FROM read_parquet({sql(build.dataset)}))
        WHERE object.decision <> 'static' GROUP BY ALL"""
    ).fetchall()
    counts |= {day: (new, obsolete) for day, new, obsolete in by_month if day in counts}
    if not any(map(any, counts.values())):
        return "", []
    outside = sum(new + obsolete for day, new, obsolete in by_month if day not in counts)
    chart = {
        "bars": [(name, *amounts) for name, amounts in counts.items()],
        "ticks": list(_ticks(counts)),
        "names": ["new", "obsolete"],
        "tones": ["new", "obsolete"],
        "axis": unit,
    }
    note = (
        f"{outside:,} changed triples have no date between the two dumps that names a {unit}: among "
        "them what was replaced without an end, and dates that name a year only."
    )
    lead = f"Above the line: facts that began or were measured in a {unit}; below: facts that ended in it."
    title = f"Facts that began and ended, by {unit}"
    return lead, [Block("columns", title, chart, build.source(build.dataset), note)]


def streams(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Updates by interval and month, how late Wikidata was at most, and what came back."""
    if build.stream is None:
        return "", []
    rows = f"read_parquet({sql(build.stream)})"
    source = build.source(build.stream)
    intervals = db.sql(
        f"""SELECT old_date, new_date, count(*), count(*) FILTER (link = 1), count(*) FILTER (reverts),
            count(superseded_by), count(*) FILTER (dated_by <> 'interval'), median(lag_max)
        FROM {rows} GROUP BY interval, old_date, new_date ORDER BY interval"""
    ).fetchall()
    if not intervals:
        return "", []
    kinds = (
        "from; to; updates: number; first of a chain: number; come back: number; superseded later: number; "
        "dated: number; median lag at most, days: number"
    )
    blocks = [table("Updates by interval", kinds, intervals, source)]
    by_month = dict(
        db.sql(
            f"""SELECT printf('%04d-%02d', first_day // 10000, first_day // 100 % 100), count(*) FROM {rows}
            WHERE dated_by <> 'interval' AND first_day // 100 = last_day // 100 GROUP BY ALL"""
        ).fetchall()
    )
    months = list(_months_of(f"{intervals[0][0][:4]}-01-01", f"{intervals[-1][1][:4]}-12-31"))
    if by_month and len(months) <= MOST_MONTHS:
        chart = {
            "bars": [(month, by_month.get(month, 0), 0) for month in months],
            "ticks": list(_ticks(months)),
            "names": ["updates"],
            "tones": ["new"],
            "axis": "month",
        }
        blocks.append(Block("columns", "Updates whose change is dated to a month", chart, source))
    classes = " ".join(f"WHEN lag_max <= {days} THEN {index}" for index, days in enumerate(LAGS))
    lags = dict(
        db.sql(
            f"""SELECT CASE {classes} ELSE {len(LAGS)} END, count(*) FROM {rows}
            WHERE lag_max IS NOT NULL GROUP BY 1"""
        ).fetchall()
    )
    names = [f"up to {days} days" for days in LAGS] + [f"perhaps more than {LAGS[-1]} days"]
    bars = [(name, lags.get(index, 0), "plain") for index, name in enumerate(names)]
    note = "Between the change and the first dump that states it; dates closer to each other tell more."
    blocks.append(Block("bars", "How late Wikidata was at most", bars, source, note))
    lead = "Updates between all consecutive dates of a sequence, and how those of one fact follow each other."
    return lead, blocks


def _months_of(old: str, new: str) -> Iterator[str]:
    """Yields the months (2021-01) from that of a day to that of a later one."""
    first, last = (datetime.date.fromisoformat(day) for day in (old, new))
    for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        yield f"{number // 12:04}-{number % 12 + 1:02}"


def _ticks(names: Iterable[str]) -> Iterator[tuple[float, str]]:
    """The marks of an axis of months, at each January, or of years, some six of them."""
    every = max(len([*names]) // 6, 1)
    for index, name in enumerate(names):
        if name.endswith("-01") or (len(name) == 4 and int(name) % every == 0):
            yield index + 0.5, name[:4]
