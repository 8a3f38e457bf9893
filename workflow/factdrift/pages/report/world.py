"""Sections about the dataset and the stream: what changed, when, and how their triples were decided."""

from typing import Any

import duckdb
import pandas as pd

from factdrift.core.tables import sql
from factdrift.pages import DAY, Axis, meanings, months_of, periods, shown, ticks
from factdrift.pages.report.blocks import Block, Build, Parts, columns, table
from factdrift.wikifactdiff.accounts import by_stage

CARDS = 12
"""The number of replacements that are shown in words."""

CARD = "subject, relation, objects, scenario"
"""SQL: the columns of the dataset that a card shows."""

OF_MONTH = 6
"""Updates of a month that are shown in words."""

SCENARIOS = {
    "ReplaceObject": "one object took the place of another",
    "Archive": "objects ended and none followed",
    "AddObject": "objects came to others that still hold",
    "AddRelation": "a subject got its first object of a relation",
    "AddEntity": "the subject itself is new",
    "Other": "several things at once",
}
"""Scenario -> what happened, in words."""

LAGS = (31, 92, 366, 731)
"""Days at most, of the classes of lags."""

MOST_MONTHS = 240


def updates(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Replacements in words, and one update of every scenario: the paper's Table 1 for this build."""
    source = build.source(build.dataset)
    replaced = db.sql(
        f"""SELECT {CARD} FROM {build.numbered} WHERE is_replace
        QUALIFY row_number() OVER (PARTITION BY relation.id ORDER BY place) = 1
            AND row_number() OVER (PARTITION BY subject.id ORDER BY place) = 1
        ORDER BY place LIMIT {CARDS}"""
    )
    cards = replaced.to_arrow_table().to_pylist()
    shown = [card["subject"]["id"] for card in cards]
    kinds = db.sql(
        f"""SELECT {CARD} FROM {build.numbered}
        WHERE len(objects) <= 6 AND subject.id NOT IN {sql(shown)}::VARCHAR[]
        QUALIFY row_number() OVER (PARTITION BY scenario ORDER BY place) = 1
        ORDER BY list_position({sql(tuple(SCENARIOS))}, scenario)"""
    )
    lead = "The most popular subject of each relation in which one object took the place of another."
    every = kinds.to_arrow_table().to_pylist()
    return lead, [
        Block("cards", "One object for another", cards, source),
        Block("cards", "One update of every scenario, with the rules (Table 1)", every, source, folded=True),
    ]


def scenarios(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Table 2 of the paper for this build and an imported benchmark, and the updates of each relation."""
    counted = build.source(build.pair / "wikifactdiff.stats.json")
    both = list(build.stats.values())
    rows = [(key, *(stats[key] for stats in both)) for key in ("updates", "triples", "subjects", "relations")]
    rows += [(f"objects, {kind}", *(stats["objects"][kind] for stats in both)) for kind in both[0]["objects"]]
    for group in ("decisions", "splits"):
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
    kinds = (
        "id; relation; updates: number; triples: number; new: number; obsolete: number; static: number; "
        "replacements: number"
    )
    numbers = "; ".join(["count", *(f"{name}: number" for name in build.stats)])
    return "What became of a subject and relation, counted as in the paper's Table 2.", [
        Block("bars", "Updates by scenario", bars, counted),
        table("Both datasets in numbers", numbers, rows, counted, folded=True),
        table("Updates by relation", kinds, relations, build.source(build.dataset), folded=True),
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
    kinds = "filter; meaning; old dump: number; new dump: number"
    first = "Each statement counts at the first filter that drops it."
    whole_groups = (
        "A group goes as a whole, so that triples with a known label count as unknown where "
        "another triple of their group is."
    )
    blocks = [
        Block("bars", "What is left after each step", steps, source, note),
        table("Statements by filter", kinds, filters.itertuples(index=False), source, first, folded=True),
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


def updates_by_month(
    build: Build, db: duckdb.DuckDBPyConnection
) -> tuple[str, dict[str, tuple[int, int]], int]:
    """The unit, month or year; each of them -> updates that bring something new, and those in which something
    only ended; and how many updates have no date in any of them.
    """
    dates = build.manifest["dates"]
    counts = dict.fromkeys(periods(dates["old"], dates["new"]), (0, 0))
    width = len(next(iter(counts)))
    unit = "month" if width > 4 else "year"
    fresh = "len(list_filter(objects, lambda x: x.decision = 'new')) > 0"
    dated = db.sql(
        f"""SELECT coalesce({DAY}[:{width}], ''), count(*) FILTER ({fresh}), count(*) FILTER (NOT {fresh})
        FROM read_parquet({sql(build.dataset)}) GROUP BY ALL"""
    ).fetchall()
    counts |= {month: (new, ended) for month, new, ended in dated if month in counts}
    return unit, counts, sum(new + ended for month, new, ended in dated if month not in counts)


def time_line(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """All updates by month, and the most popular ones of each month."""
    unit, counts, outside = updates_by_month(build, db)
    if not any(map(any, counts.values())):
        return "", []
    width = len(next(iter(counts)))
    records: dict[str, list[Any]] = {month: [] for month, amounts in counts.items() if any(amounts)}
    popular = db.sql(
        f"""SELECT {DAY}[:{width}] AS month, {CARD} FROM {build.numbered}
        WHERE month IN (SELECT unnest({sql(list(records))}))
        QUALIFY row_number() OVER (PARTITION BY month ORDER BY place) <= {OF_MONTH} ORDER BY place"""
    )
    for card in popular.to_arrow_table().to_pylist():
        records[card["month"]].append(card)
    note = (
        f"{outside:,} updates have no date between the two dumps that names a {unit}: among them what was "
        "replaced without a date, and dates that name a year only."
    )
    lead = (
        f"An update counts in the {unit} in which something new began or was measured or, if nothing is new, "
        f"in which something ended. Choose a {unit} to see its most popular updates."
    )
    bars = [(month, *amounts) for month, amounts in counts.items()]
    names = {"something new began": "new", "something only ended": "obsolete"}
    axis = Axis(unit, list(ticks(counts)), "updates")
    source = build.source(build.dataset)
    return lead, [columns(f"Updates by {unit}", bars, axis, names, source, note, records)]


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
    months = list(months_of(f"{intervals[0][0][:4]}-01-01", f"{intervals[-1][1][:4]}-12-31"))
    if by_month and len(months) <= MOST_MONTHS:
        counts = [(month, by_month.get(month, 0), 0) for month in months]
        axis = Axis("month", list(ticks(months)), "updates")
        title = "Updates whose change is dated to a month"
        blocks.append(columns(title, counts, axis, {"updates": "new"}, source))
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
