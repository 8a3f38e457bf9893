"""Exact nearest entities against scikit-learn's brute-force cosine search, on one core, in one run.

    python benchmarks/neighbors.py                                  20,000 queries x 200,000 entities
    python benchmarks/neighbors.py --queries 2000 --entities 50000
    python benchmarks/neighbors.py --queries 140000 --entities 7000000 --statements 15 --answer 1000

The last is a full dump without peers, of whose queries a sample is answered. The entities are made here:
tables of statements as the filters write them, relations and objects by Zipf's law, so that a few features
are nearly everybody's, as in Wikidata. `plain` is the sparse product of the queries with all entities,
without blocks, each row sorted; one query in `--every` is enough for it. All must find the same;
scikit-learn, which breaks ties in no stated order and does not round, the same similarities, and the same
neighbours but for those as similar as the last. Imports are not counted.
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

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from record import add_record, peak, record

NUMBER = 500
CHUNK = 250_000
WAYS = {
    "factdrift": "factdrift",
    "plain": "plain sparse product",
    "sklearn": "scikit-learn, brute-force cosine",
}
ONE_CORE = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""As in a job with one thread."""


def make(folder: Path, entities: int, queries: int, statements: int) -> None:
    """The entities' statements, sorted, and an update of each entity that is queried."""
    dice = np.random.default_rng(0)
    schema = pa.schema(
        [
            ("subject", pa.int32()),
            ("property", pa.int32()),
            ("object", pa.int32()),
            ("dropped_by", pa.string()),
        ]
    )
    with pq.ParquetWriter(folder / "old.parquet", schema) as writer:
        for first in range(1, entities + 1, CHUNK):
            number = min(CHUNK, entities + 1 - first)
            relations = np.minimum(dice.zipf(1.5, number * statements), 2_000)
            objects = np.minimum(dice.zipf(1.25, number * statements), 10_000_000)
            columns = [
                np.repeat(np.arange(first, first + number, dtype=np.int32), statements),
                relations.astype(np.int32),
                objects.astype(np.int32),
                pa.nulls(number * statements, pa.string()),
            ]
            writer.write_table(pa.table(columns, schema=schema), row_group_size=131_072)
    pick = np.sort(np.random.default_rng(1).choice(entities, queries, replace=False)) + 1
    rows = {"subject": pick.astype(np.int32), "property": np.full(queries, 6, np.int32)}
    rows |= {"label": ["new"] * queries, "object": np.zeros(queries, np.int32)}
    pq.write_table(
        pa.table(rows | {"dropped_by": pa.nulls(queries, pa.string())}), folder / "updates.parquet"
    )
    pq.write_table(schema.empty_table(), folder / "new.parquet")


def fit(folder: Path) -> dict[str, Any]:
    """Makes the vector space of the tables, as `factdrift neighbors space` does."""
    from factdrift.neighbors.jobs import Space

    started = time.process_time()
    tables = {name: (folder / f"{name}.parquet",) for name in ("updates", "old", "new")}
    Space(**tables, variant="paper", output=folder / "space").run()
    return {"seconds": time.process_time() - started, "peak": peak()}


def measure(folder: Path, way: str, every: int, answer: int, share: tuple[int, int]) -> dict[str, Any]:
    """Runs one way in this process and saves what it finds; seconds of the processor and peak memory.

    `share`: of so many processes among which the queries are divided, this is which.
    """
    from factdrift.neighbors.nearest import nearest
    from factdrift.neighbors.vectors import open_space

    space = open_space(folder / "space")
    corpus = space.corpus
    pick = pq.read_table(folder / "updates.parquet")["subject"].to_numpy()[:answer] - 1
    pick = pick[share[0] :: share[1]]
    asked = corpus[pick[::every] if way == "plain" else pick]
    queries = asked.shape[0]
    neighbors = np.full((queries, NUMBER), -1, np.int64)
    similarities = np.zeros((queries, NUMBER))
    if way == "sklearn":
        from sklearn.neighbors import NearestNeighbors  # of no other way: it takes memory
    started = time.process_time()
    if way == "factdrift":
        for row, found in enumerate(nearest(asked, corpus, space.having, NUMBER)):
            neighbors[row, : len(found.documents)] = found.documents
            similarities[row, : len(found.documents)] = found.similarities
    elif way == "plain":
        transposed = corpus.T.tocsr()
        for first in range(0, queries, 100):
            products = asked[first : first + 100] @ transposed
            for row in range(products.shape[0]):
                cells = slice(products.indptr[row], products.indptr[row + 1])
                documents, found = products.indices[cells], np.round(products.data[cells], 9)
                best = np.lexsort((documents, -found))[:NUMBER]
                best = best[found[best] > 0]
                neighbors[first + row, : len(best)] = documents[best]
                similarities[first + row, : len(best)] = found[best]
    else:
        search = NearestNeighbors(n_neighbors=NUMBER, algorithm="brute", metric="cosine", n_jobs=1)
        distances, neighbors = search.fit(corpus).kneighbors(asked)
        similarities = 1 - distances
    seconds = time.process_time() - started
    np.savez(folder / f"{way}{share[0] or ''}.npz", neighbors=neighbors, similarities=similarities)
    return {"seconds": seconds, "queries": queries, "peak": peak()}


def check(folder: Path, every: int) -> int:
    """Asserts that all ways found the same; returns how many queries have others as similar as the last."""
    ours, plain, theirs = (dict(np.load(folder / f"{way}.npz")) for way in WAYS)
    assert (ours["neighbors"][::every] == plain["neighbors"]).all()
    assert (ours["similarities"][::every] == plain["similarities"]).all()
    assert np.allclose(ours["similarities"], theirs["similarities"], rtol=0, atol=2e-9)
    tied = 0
    for mine, its, similar in zip(ours["neighbors"], theirs["neighbors"], ours["similarities"], strict=True):
        last = similar[-1]
        clear = similar > last + 2e-9
        tied += int(clear.sum()) < NUMBER - 1
        assert set(mine[clear].tolist()) <= set(its.tolist())
    return tied


def together(line: list[str], processes: int) -> dict[str, Any]:
    """The sums of what so many processes with this command line print, each for its share; highest peak."""
    running = [
        subprocess.Popen([*line, "--share", str(share)], stdout=subprocess.PIPE, text=True, env=ONE_CORE)
        for share in range(processes)
    ]
    printed = [process.communicate()[0] for process in running]
    if any(process.returncode for process in running):
        raise SystemExit("a process failed")
    results = [json.loads(text) for text in printed]
    summed = {name: sum(result[name] for result in results) for name in results[0]}
    return {**summed, "peak": max(result["peak"] for result in results)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--statements", type=int, default=10, help="of each entity")
    parser.add_argument(
        "--every", type=int, default=20, help="the plain product answers one query in so many"
    )
    parser.add_argument("--answer", type=int, help="factdrift alone, which answers so many of the queries")
    parser.add_argument("--processes", type=int, default=1, help="among which they are divided")
    add_record(parser)
    parser.add_argument("--share", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        way, folder = options.measure[0], Path(options.measure[1])
        answer = options.answer or options.queries
        share = (options.share, options.processes)
        print(json.dumps(fit(folder) if way == "fit" else measure(folder, way, options.every, answer, share)))
        return
    results = {}
    names = ("queries", "entities", "statements", "every", "answer", "processes")
    asked = {name: getattr(options, name) for name in names}
    arguments = [
        text
        for name, value in asked.items()
        if value != parser.get_default(name)
        for text in (f"--{name}", str(value))
    ]
    with tempfile.TemporaryDirectory(prefix="neighbors-") as name:
        folder = Path(name)
        make(folder, options.entities, options.queries, options.statements)
        for way in ("fit", "factdrift") if options.answer else ("fit", *WAYS):
            line = [sys.executable, __file__, *arguments, "--measure", way, name]
            results[way] = together(line, options.processes if way == "factdrift" else 1)
            print(f"{way}: {results[way]['seconds']:.0f} s", file=sys.stderr)
        tied = None if options.answer else check(folder, options.every)
        size = sum(path.stat().st_size for path in (folder / "space").iterdir()) / 1e6
    made = results.pop("fit")
    each = {way: result["seconds"] / result["queries"] * 1000 for way, result in results.items()}
    rows = [
        [
            WAYS[way],
            f"{result['queries']:,}",
            f"{result['seconds']:,.1f}",
            f"{each[way]:,.2f}",
            f"{each[way] / each['factdrift']:,.1f}",
            f"{result['peak']:,.0f}",
        ]
        for way, result in results.items()
    ]
    note = f"The {NUMBER} nearest, {options.statements} statements an entity. "
    if tied is not None:
        note += f"All found the same; {tied:,} queries have several entities as similar as the last. "
    record(
        f"Nearest entities, {options.queries:,} queries x {options.entities:,} entities",
        ["", "queries answered", "processor seconds", "ms a query", "times factdrift", "peak MB"],
        rows,
        f"{note}Making the vectors took {made['seconds']:,.0f} s of the processor, {made['peak']:,.0f} MB of "
        f"memory and {size:,.0f} MB of disk. `python benchmarks/neighbors.py {' '.join(arguments)}`",
        options.record,
    )


if __name__ == "__main__":
    main()
