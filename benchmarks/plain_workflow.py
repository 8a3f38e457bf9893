"""The workflow against what a data engineer writes in an afternoon: the same steps in DuckDB, in one run.

    python benchmarks/synthesize.py --entities 1000000 --jobs 2 -o 1m
    python benchmarks/plain_workflow.py 1m --record benchmarks/RESULTS.md

The plain pipeline reads both dumps with DuckDB's reader of JSON, keeps items with an English article, drops
what the simplest filters drop (rank, kind of snak, ended statements), compares values as JSON texts, and
labels groups by rules that need no dates. It has no shards, no buckets, no checks, no names, no neighbours
and no sentences. Both run on one thread a process; seconds are the processor's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from record import add_record, peak, record
from synthesis.dumps import SUMMARY
from workflow import measure

STEPS = (
    *("statements extract", "statements snapshot", "statements gather", "updates context"),
    *("updates preprocess", "updates difference", "updates classify"),
)
"""The commands that do what the plain pipeline does, and what belongs to it: dates, names, classes."""

READ = """COPY (
    WITH items AS (
        SELECT id, claims FROM read_json('{dump}', format = 'array', maximum_object_size = 64_000_000,
            columns = {{id: 'VARCHAR', type: 'VARCHAR', sitelinks: 'JSON', claims: 'JSON'}})
        WHERE type = 'item' AND json_exists(sitelinks, '$.enwiki')
    ), groups AS (
        SELECT items.id AS subject, each.key AS property, each.value AS statements
        FROM items, json_each(claims) each
    )
    SELECT subject, property, each.value ->> '$.rank' AS rank,
        each.value ->> '$.mainsnak.snaktype' AS snak,
        each.value ->> '$.mainsnak.datavalue.value' AS object,
        json_exists(each.value, '$.qualifiers.P582') AS ended
    FROM groups, json_each(statements) each
) TO '{statements}' (FORMAT parquet, COMPRESSION zstd)"""

KEPT = """CREATE TEMP TABLE {name} AS
    SELECT DISTINCT subject, property, object FROM '{statements}'
    WHERE snak = 'value' AND rank <> 'deprecated' AND NOT ended
    WINDOW same AS (PARTITION BY subject, property)
    QUALIFY rank = 'preferred' OR count(*) FILTER (rank = 'preferred') OVER same = 0"""

LABELS = """COPY (
    WITH triples AS (
        SELECT coalesce(o.subject, n.subject) AS subject, coalesce(o.property, n.property) AS property,
            coalesce(o.object, n.object) AS object,
            CASE WHEN n.object IS NULL THEN 'removed' WHEN o.object IS NULL THEN 'added' ELSE 'both' END
                AS side
        FROM old o FULL JOIN new n USING (subject, property, object)
    ), groups AS (
        SELECT *, count(*) FILTER (side = 'removed') OVER same AS removed,
            count(*) FILTER (side = 'added') OVER same AS added, count(*) OVER same AS size
        FROM triples WINDOW same AS (PARTITION BY subject, property)
    )
    SELECT subject, property, object,
        CASE side WHEN 'removed' THEN 'obsolete' WHEN 'added' THEN 'new' ELSE 'static' END AS label,
        CASE WHEN removed = 1 AND added = 1 AND size = 2 THEN 'replacement'
            WHEN removed = 0 THEN 'addition' WHEN added = 0 THEN 'archive' ELSE 'mixed' END AS scenario
    FROM groups WHERE removed + added > 0 ORDER BY subject, property, object
) TO '{labels}' (FORMAT parquet, COMPRESSION zstd)"""


def plain(pair: Path, folder: Path) -> dict[str, float]:
    """Runs the plain pipeline in this process; seconds of the processor and of the clock, and peak memory."""
    import duckdb

    dumps = json.loads((pair / SUMMARY).read_text("utf-8"))["dumps"]
    cpu, clock = time.process_time(), time.perf_counter()
    with duckdb.connect(config={"threads": 1, "memory_limit": "16GB", "temp_directory": str(folder)}) as db:
        for name, day in zip(("old", "new"), sorted(dumps), strict=True):
            statements = folder / f"{name}.parquet"
            db.execute(READ.format(dump=pair / dumps[day]["file"], statements=statements))
            db.execute(KEPT.format(name=name, statements=statements))
        db.execute(LABELS.format(labels=folder / "labels.parquet"))
        ((groups,),) = db.sql(
            f"SELECT count(DISTINCT (subject, property)) FROM '{folder / 'labels.parquet'}'"
        ).fetchall()
    if not groups:
        raise SystemExit(f"{pair}: the plain pipeline finds no change; its SQL does not fit these dumps")
    cpu, clock = time.process_time() - cpu, time.perf_counter() - clock
    return {"cpu": cpu, "seconds": clock, "megabytes": peak(), "groups": groups}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("pair", type=Path, metavar="DIR", help="what synthesize.py wrote")
    parser.add_argument("--cores", type=int, default=2, help="of the workflow")
    add_record(parser)
    parser.add_argument("--plain", type=Path, metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    pair = options.pair.resolve()
    if options.plain:
        print(json.dumps(plain(pair, options.plain)))
        return
    with tempfile.TemporaryDirectory(prefix="plain-") as folder:
        line = [sys.executable, __file__, str(pair), "--plain", folder]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True, env=environment)
        engineer = json.loads(done.stdout)
    ours = measure(pair, options.cores, {"variant": "paper", "shards": 2, "buckets": 2})
    steps = [stage for name, stage in ours.stages.items() if name in STEPS]
    rows = [
        _row("plain DuckDB, 1 core", engineer["cpu"], engineer["seconds"], engineer["megabytes"], engineer),
        _row(
            f"factdrift, the same steps, {sum(stage.jobs for stage in steps)} jobs",
            sum(stage.cpu for stage in steps),
            None,
            max(stage.megabytes for stage in steps),
            engineer,
        ),
        _row(
            f"factdrift, the whole workflow and ripples, {options.cores} cores",
            ours.cpu,
            ours.seconds,
            max(stage.megabytes for stage in ours.stages.values()),
            engineer,
        ),
    ]
    record(
        f"The workflow against a plain pipeline, {ours.entities:,} entities a snapshot",
        [
            "",
            "processor seconds",
            "times plain",
            "seconds",
            "MB of the largest process",
            "memory, times plain",
        ],
        rows,
        f"{ours.megabytes:,.0f} MB of text in both dumps; the plain pipeline labels {engineer['groups']:,} "
        f"groups, those of the workflow are {'as planted' if ours.exact else 'NOT as planted'}. "
        f"`python benchmarks/plain_workflow.py {options.pair.name} --cores {options.cores}`",
        options.record,
    )


def _row(
    name: str, cpu: float, seconds: float | None, megabytes: float, engineer: dict[str, Any]
) -> list[str]:
    clock = "" if seconds is None else f"{seconds:,.0f}"
    ratios = (cpu / engineer["cpu"], megabytes / engineer["megabytes"])
    return [name, f"{cpu:,.1f}", f"{ratios[0]:.2f}", clock, f"{megabytes:,.0f}", f"{ratios[1]:.2f}"]


if __name__ == "__main__":
    main()
