"""Exact nearest entities against scikit-learn's brute-force cosine search, on one core, in one run.

    python benchmarks/neighbors.py                                  20,000 queries x 200,000 entities
    python benchmarks/neighbors.py --queries 2000 --entities 50000

The entities are made here: ten statements each, relations and objects by Zipf's law, so that a few features
are nearly everybody's, as in Wikidata. `plain` is the sparse product of the queries with all entities,
without blocks, each row sorted. All must find the same; scikit-learn, which breaks ties in no stated order
and does not round, the same similarities, and the same neighbours but for those as similar as the last. The
others need not answer all queries: `--every 4` gives them one in four. Imports are not counted.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import peak, record

NUMBER = 500
WAYS = {
    "factdrift": "factdrift",
    "plain": "plain sparse product",
    "sklearn": "scikit-learn, brute-force cosine",
}


def make(entities: int) -> Any:
    """TF-IDF vectors of the entities, one row each."""
    from factdrift.neighbors.documents import Documents, entity_codes, pair_codes
    from factdrift.neighbors.tfidf import TfIdf

    dice = np.random.default_rng(0)
    ids = np.arange(1, entities + 1, dtype=np.int32)
    relations = np.minimum(dice.zipf(1.5, entities * 10), 2_000).astype(np.int32)
    objects = np.minimum(dice.zipf(1.25, entities * 10), 10_000_000).astype(np.int32)
    rows = np.repeat(np.arange(entities, dtype=np.int32), 10)
    documents = Documents(
        ids,
        np.concatenate([np.arange(entities, dtype=np.int32), rows, rows]),
        np.concatenate([entity_codes(ids), entity_codes(objects), pair_codes(relations, objects)]),
    )
    return TfIdf.fit(documents).transform(documents)


def measure(way: str, queries: int, entities: int, every: int, output: Path) -> dict[str, Any]:
    """Runs one way in this process and saves what it finds; seconds of the processor and peak memory."""
    from sklearn.neighbors import NearestNeighbors

    from factdrift.neighbors.tfidf import nearest

    corpus = make(entities)
    pick = np.sort(np.random.default_rng(1).choice(entities, queries, replace=False))
    asked = corpus[pick if way == "factdrift" else pick[::every]]
    queries = asked.shape[0]
    before = peak()
    neighbors = np.full((queries, NUMBER), -1, np.int64)
    similarities = np.zeros((queries, NUMBER))
    started = time.process_time()
    if way == "factdrift":
        for row, found in enumerate(nearest(asked, corpus, NUMBER)):
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
    np.savez(output, neighbors=neighbors, similarities=similarities)
    return {"seconds": seconds, "queries": queries, "peak": peak(), "made": before}


def check(folder: Path, every: int) -> int:
    """Asserts that all ways found the same; returns how many queries have others as similar as the last."""
    ours, plain, theirs = (dict(np.load(folder / f"{way}.npz")) for way in WAYS)
    ours = {name: array[::every] for name, array in ours.items()}
    assert (ours["neighbors"] == plain["neighbors"]).all()
    assert (ours["similarities"] == plain["similarities"]).all()
    assert np.allclose(ours["similarities"], theirs["similarities"], rtol=0, atol=2e-9)
    tied = 0
    for mine, its, similar in zip(ours["neighbors"], theirs["neighbors"], ours["similarities"], strict=True):
        last = similar[-1]
        clear = similar > last + 2e-9
        tied += int(clear.sum()) < NUMBER - 1
        assert set(mine[clear].tolist()) <= set(its.tolist())
    return tied


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--queries", type=int, default=20_000)
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--every", type=int, default=1, help="the others answer one query in so many")
    parser.add_argument("--keep", action="store_true", help="append the table to RESULTS.md")
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "OUTPUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    size = (options.queries, options.entities, options.every)
    if options.measure:
        way, output = options.measure
        print(json.dumps(measure(way, *size, Path(output))))
        return
    results = {}
    with tempfile.TemporaryDirectory(prefix="neighbors-") as folder:
        for way in WAYS:
            line = [
                sys.executable,
                __file__,
                "--queries",
                str(size[0]),
                "--entities",
                str(size[1]),
                "--every",
                str(size[2]),
            ]
            line += ["--measure", way, str(Path(folder, f"{way}.npz"))]
            done = subprocess.run(line, capture_output=True, text=True, check=True)
            results[way] = json.loads(done.stdout)
            print(f"{way}: {results[way]['seconds']:.0f} s", file=sys.stderr)
        tied = check(Path(folder), options.every)
    each = {way: result["seconds"] / result["queries"] * 1000 for way, result in results.items()}
    rows = [
        [
            title,
            f"{results[way]['queries']:,}",
            f"{results[way]['seconds']:,.1f}",
            f"{each[way]:,.2f}",
            f"{each[way] / each['factdrift']:,.1f}",
            f"{results[way]['peak']:,.0f}",
        ]
        for way, title in WAYS.items()
    ]
    record(
        f"Nearest entities, {options.queries:,} queries x {options.entities:,} entities",
        ["", "queries", "processor seconds", "ms a query", "times factdrift", "peak MB"],
        rows,
        f"The {NUMBER} nearest; {tied:,} compared queries have several entities as similar as the last. "
        f"Making the vectors took {results['factdrift']['made']:,.0f} MB. All found the same. `python "
        f"benchmarks/neighbors.py --queries {options.queries} --entities {options.entities} --every "
        f"{options.every}`",
        options.keep,
    )


if __name__ == "__main__":
    main()
