"""Sections about what surrounds the updates: popularity, neighbours, templates, dumps, run times."""

import itertools

import duckdb
import numpy as np

from factdrift.core.files import read_tsv
from factdrift.core.tables import sql
from factdrift.pages import Axis
from factdrift.pages.report.blocks import Block, Build, Parts, Provenance, columns, table

BINS = 24
"""The number of columns of a distribution."""


def _distribution(
    title: str, values: np.ndarray, axis: tuple[str, str], source: Provenance, note: str = ""
) -> Block:
    """Columns of equal width over a sample of numbers. `axis`: its title, and what is counted."""
    low, high = np.floor(values.min() * 10) / 10, np.ceil(values.max() * 10) / 10
    edges = np.linspace(low, max(high, low + 0.1), BINS + 1)
    counts = zip(itertools.pairwise(edges), np.histogram(values, edges)[0].tolist(), strict=True)
    bars = [(f"{start:.3g} to {end:.3g}", count, 0) for (start, end), count in counts]
    ticks = [(n, f"{edges[n]:.2f}".rstrip("0").rstrip(".")) for n in range(0, BINS + 1, BINS // 4)]
    return columns(title, bars, Axis(axis[0], ticks, axis[1]), {axis[1]: "plain"}, source, note)


def popularity(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """How popular the subjects are, and the most popular ones."""
    source = build.source(build.dataset)
    subjects = db.sql(
        f"""SELECT subject.id AS id, any_value(subject.label), any_value(subject.description),
            any_value(subject_popularity) AS popularity, any_value(popularity_source), count(*)
        FROM {build.numbered}
        GROUP BY 1 ORDER BY popularity DESC, min(place)"""
    ).fetchall()
    kinds = "id; subject; description; popularity: share; from; updates: number"
    blocks = [table("The most popular subjects", kinds, subjects[:100], source)]
    values = np.array([subject[3] for subject in subjects if subject[3] is not None])
    if len(values):
        axis = ("popularity", "subjects")
        blocks.insert(0, _distribution("Subjects by popularity", values, axis, source))
    lead = (
        "The natural logarithm of 1 + page views a month of the subject's article, or of its sitelinks where "
        "the build has no page views."
    )
    return lead, blocks


def neighbours(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """How similar the nearest facts are to the updates, beside random facts."""
    source = build.source(build.dataset)
    samples = {}
    for name, column in (("nearest", "neighborhood"), ("random", "random_neighborhood")):
        rows = f"(SELECT unnest({column}) AS fact FROM read_parquet({sql(build.dataset)}))"
        sample = db.sql(f"SELECT 1 - fact.dist AS s FROM {rows} WHERE fact.dist IS NOT NULL").fetchnumpy()
        if not len(sample["s"]):
            return "", []
        samples[name] = sample["s"]
    title = "Nearest facts by similarity of their subject to the updated one"
    note = f"Of ten random facts nine are below {np.quantile(samples['random'], 0.9):.2f}."
    axis = ("cosine similarity", "nearest facts")
    blocks = [_distribution(title, samples["nearest"], axis, source, note)]
    relations = db.sql(
        f"""SELECT relation.id, any_value(relation.label), count(*), avg(len(neighborhood)),
            avg(list_avg(list_transform(neighborhood, lambda fact: 1 - fact.dist)))
        FROM read_parquet({sql(build.dataset)}) GROUP BY 1 ORDER BY 3 DESC, 1"""
    ).fetchall()
    kinds = "id; relation; updates: number; nearest facts of an update: share; mean similarity: share"
    blocks.append(table("Neighbours by relation", kinds, relations, source))
    lead = (
        "An edit must not change the facts of other subjects. Each update has the nearest of them, by the "
        "cosine of TF-IDF vectors, and random ones."
    )
    return lead, blocks


def templates(build: Build, db: duckdb.DuckDBPyConnection) -> Parts:
    """Sentence templates of the relations that have updates, and where they come from."""
    if (path := build.product("templates.parquet")) is None:
        return "", []
    rows = db.sql(
        f"""SELECT 'P' || property, min_by(template, rank), count(*), any_value(source), any_value(updates)
        FROM read_parquet({sql(path)}) JOIN (
            SELECT substr(relation.id, 2)::INTEGER AS property, count(*) AS updates
            FROM read_parquet({sql(build.dataset)}) GROUP BY 1) USING (property)
        GROUP BY property ORDER BY 5 DESC, property"""
    ).fetchall()
    kinds = "id; first template; templates: number; source; updates: number"
    lead = "The first template of a relation words the update; the others test whether an edit generalises."
    return lead, [table("Templates by relation", kinds, rows, build.source(path))]


def origin(build: Build, _: duckdb.DuckDBPyConnection) -> Parts:
    """What was built from what: dumps, snapshots, versions."""
    source, manifest = build.source(build.pair / "manifest.json"), build.manifest
    dumps = []
    for day, dump in manifest["dumps"].items():
        snapshot = manifest["snapshots"].get(day, {})
        checksum = next((f"{name} {dump[name]}" for name in ("sha1", "sha256") if name in dump), "")
        statements = snapshot.get("statements", {}).get("total")
        counts = snapshot.get("items"), statements, snapshot.get("bad_lines")
        dumps.append((day, dump["file"], dump["bytes"], *counts, checksum))
    keys = [
        (key, str(value))
        for key, value in manifest["configuration"].items()
        if isinstance(value, str | int | float) and value != ""
    ]
    kinds = "date; file; size: bytes; items: number; statements: number; bad lines: number; checksum"
    versions = manifest["versions"].items()
    note = "Keys with a single value; the file has all."
    lead = "Two snapshots, one configuration, and the versions of everything that can change a result."
    return lead, [
        table("Dumps", kinds, dumps, source),
        table("Versions", "package; version", versions, source, folded=True),
        table("Configuration", "key; value", keys, source, note, folded=True),
    ]


def run_times(build: Build, _: duckdb.DuckDBPyConnection) -> Parts:
    """Seconds and memory of every stage, from the benchmark files of its jobs."""
    dates = build.pair.name.split("_")
    by_stage: dict[str, list[tuple[float, float]]] = {}
    for folder in (build.logs / build.pair.name, *(build.logs / "snapshots" / date for date in dates)):
        for path in sorted(folder.rglob("*.tsv")):
            # `filtered/old/0-of-2.tsv` is of the stage `filtered`: the folder of its parallel jobs.
            stage = path.relative_to(folder).with_suffix("").parts[0]
            for row in read_tsv(path)[-1:]:
                memory = row.get("max_rss", "")
                megabytes = float(memory) if memory not in ("", "-", "NA") else 0.0
                by_stage.setdefault(stage, []).append((float(row["s"]), megabytes))
    if not by_stage:
        return "", []
    rows = []
    for stage, jobs in by_stage.items():
        seconds, memories = zip(*jobs, strict=True)
        rows.append((stage, len(jobs), sum(seconds), max(seconds), max(memories)))
    rows.sort(key=lambda row: (-row[2], row[0]))
    kinds = "stage; jobs: number; seconds: seconds; longest job: seconds; most memory, MB: number"
    source = Provenance(f"../{build.logs.name}/", "snakemake --cores all")
    note = "Measured by Snakemake when each file was last made; on another machine they differ."
    whole = sum(row[2] for row in rows)
    lead = f"All jobs of this build together took {whole:,.0f} seconds; jobs of a stage run at the same time."
    return lead, [table("Jobs by stage", kinds, rows, source, note, folded=True)]
