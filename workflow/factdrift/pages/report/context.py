"""Sections about what surrounds the updates: popularity, neighbours, templates, run times."""

import csv
import itertools
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd

from factdrift.core.tables import sql
from factdrift.pages.report.blocks import Build, Columns, Section, Source, table

BINS = 24
"""The number of columns of a distribution."""


def _distribution(
    title: str,
    values: np.ndarray,
    name: str,
    axis: str,
    source: Source,
    ends: tuple[float, float] | None = None,
) -> Columns:
    """Columns of equal width over a sample of numbers; `ends` of the axis, else those of the sample."""
    low, high = ends or (float(values.min()), float(values.max()))
    low, high = np.floor(low * 10) / 10, np.ceil(high * 10) / 10
    edges = np.linspace(low, max(high, low + 0.1), BINS + 1)
    ticks = [
        (place, f"{edges[place]:.2f}".rstrip("0").rstrip(".")) for place in range(0, BINS + 1, BINS // 4)
    ]
    labels = [f"{start:.3g} to {end:.3g}" for start, end in itertools.pairwise(edges)]
    counts = np.histogram(values, edges)[0].tolist()
    return Columns(title, labels, counts, [], ticks, [name], axis, source, "", ("plain", "static"))


def popularity(build: Build, db: duckdb.DuckDBPyConnection) -> Section:
    """How popular the subjects are, and the most popular ones."""
    source = build.source(build.dataset)
    subjects = db.sql(
        f"""SELECT subject.id AS id, any_value(subject.label), any_value(subject.description),
            any_value(subject_popularity) AS popularity, any_value(popularity_source), count(*)
        FROM (SELECT *, row_number() OVER () AS place FROM read_parquet({sql(build.dataset)}))
        GROUP BY 1 ORDER BY popularity DESC, min(place)"""
    ).df()
    values = subjects["popularity"].dropna().to_numpy()
    return Section(
        "popularity",
        "Popularity",
        "The natural logarithm of 1 + page views a month of the subject's article, or of its sitelinks where "
        "the build has no page views.",
        [
            *(
                [_distribution("Subjects by popularity", values, "subjects", "popularity", source)]
                * bool(len(values))
            ),
            table(
                "The most popular subjects",
                {"id": "text", "subject": "text", "description": "text", "popularity": "share"}
                | {"from": "text", "updates": "number"},
                subjects.head(100),
                source,
            ),
        ],
    )


def neighbours(build: Build, db: duckdb.DuckDBPyConnection) -> Section | None:
    """How similar the nearest facts are to the updates, beside random facts."""
    source = build.source(build.dataset)
    samples = {}
    for name, column in (("nearest", "neighborhood"), ("random", "random_neighborhood")):
        rows = f"(SELECT unnest({column}) AS fact FROM read_parquet({sql(build.dataset)}))"
        samples[name] = db.sql(
            f"SELECT 1 - fact.dist AS s FROM {rows} WHERE fact.dist IS NOT NULL"
        ).fetchnumpy()["s"]
    if not all(len(sample) for sample in samples.values()):
        return None
    relations = db.sql(
        f"""SELECT relation.id, any_value(relation.label), count(*), avg(len(neighborhood)),
            avg(list_avg(list_transform(neighborhood, lambda fact: 1 - fact.dist)))
        FROM read_parquet({sql(build.dataset)}) GROUP BY 1 ORDER BY 3 DESC, 1"""
    ).df()
    return Section(
        "neighbours",
        "Neighbours",
        "An edit must not change the facts of other subjects. Each update has the nearest of them, by the "
        "cosine of TF-IDF vectors, and random ones.",
        [
            *(
                _distribution(
                    f"{name.capitalize()} facts by similarity of their subject to the updated one",
                    sample,
                    f"{name} facts",
                    "cosine similarity",
                    source,
                    (0.0, 1.0),
                )
                for name, sample in samples.items()
            ),
            table(
                "Neighbours by relation",
                {"id": "text", "relation": "text", "updates": "number"}
                | {"nearest facts of an update": "share", "mean similarity": "share"},
                relations,
                source,
            ),
        ],
    )


def templates(build: Build, db: duckdb.DuckDBPyConnection) -> Section | None:
    """Sentence templates of the relations that have updates, and where they come from."""
    path = build.product("templates.parquet")
    if path is None:
        return None
    rows = db.sql(
        f"""SELECT 'P' || property, min_by(template, rank), count(*), any_value(source), any_value(updates)
        FROM read_parquet({sql(path)}) JOIN (
            SELECT substr(relation.id, 2)::INTEGER AS property, count(*) AS updates
            FROM read_parquet({sql(build.dataset)}) GROUP BY 1) USING (property)
        GROUP BY property ORDER BY 5 DESC, property"""
    ).df()
    return Section(
        "templates",
        "Sentences",
        "The first template of a relation words the update; the others test whether an edit generalises.",
        [
            table(
                "Templates by relation",
                {"id": "text", "first template": "text", "templates": "number", "source": "text"}
                | {"updates": "number"},
                rows,
                build.source(path),
            )
        ],
    )


def run_times(build: Build) -> Section | None:
    """Seconds and memory of every stage, from the benchmark files of its jobs."""
    dates = build.pair.name.split("_")
    found: dict[str, list[tuple[float, float]]] = {}
    for folder in (build.logs / build.pair.name, *(build.logs / "snapshots" / date for date in dates)):
        for path in sorted(folder.rglob("*.tsv")):
            row = _benchmark(path)
            if row:
                found.setdefault(_stage(path.relative_to(folder)), []).append(row)
    if not found:
        return None
    names = ["stage", "jobs", "seconds", "longest", "memory"]
    frame = pd.DataFrame(
        [
            (name, len(rows), sum(s for s, _ in rows), max(s for s, _ in rows), max(mb for _, mb in rows))
            for name, rows in found.items()
        ],
        columns=names,
    ).sort_values(["seconds", "stage"], ascending=[False, True])
    seconds = frame["seconds"].sum()
    return Section(
        "times",
        "Run times",
        f"All jobs of this build together took {seconds:,.0f} seconds; jobs of a stage run at the same time.",
        [
            table(
                "Jobs by stage",
                {"stage": "text", "jobs": "number", "seconds": "seconds", "longest job": "seconds"}
                | {"most memory, MB": "number"},
                frame,
                Source(f"../{build.logs.name}/", "snakemake --cores all"),
                "Measured by Snakemake when each file was last made; on another machine they differ.",
                True,
            )
        ],
    )


def _stage(path: Path) -> str:
    """`filtered/old/0-of-2.tsv` -> `filtered`: the folder of parallel jobs, or the name of the only one."""
    return path.parts[0] if len(path.parts) > 1 else path.stem


def _benchmark(path: Path) -> tuple[float, float] | None:
    """Seconds and megabytes of a job; None if the file is being written."""
    with path.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t"))
    if not rows:
        return None
    memory = rows[-1].get("max_rss", "")
    return float(rows[-1]["s"]), float(memory) if memory not in ("", "-", "NA") else 0.0
