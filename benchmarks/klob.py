"""Scoring a locating method on KLoB: exact similarities with all results, without comparing pairs.

    python benchmarks/klob.py                   growing numbers of sentences, chosen units (K) and units (N)
    python benchmarks/klob.py --large           with 10,000 sentences, 100,000 of 10 million units (4 GB of
    disk)
    python benchmarks/klob.py --size 300 20 1000 --size 600 20 1000

Results are made here: each sentence's units are drawn about one of a hundred places, so that results overlap.
In the same run, each in a process of its own: `exact`, what `factdrift locate scores` does for one k and the
population of all others; `approximate`, the paper's mean score vector; `product`, all pairs by a sparse
product of the results with themselves; `pairs`, all pairs by intersecting sets of units, as the definition
reads. All but the approximation must find the same.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from record import add_record, record

SIZES = [(1_000, 100, 10_000), (5_000, 100, 10_000), (20_000, 100, 10_000), (5_000, 1_000, 100_000)]
LARGE = (10_000, 100_000, 10_000_000)
SETS_AT_MOST = 5_000
PRODUCT_AT_MOST = 5_000
WORDINGS = 3


def make(folder: Path, sentences: int, chosen: int, units: int) -> None:
    """units.npy: sentences x K, distinct units of which a fact's wordings share about half."""
    dice = np.random.default_rng(0)
    top = np.lib.format.open_memmap(folder / "units.npy", "w+", np.int32, (sentences, chosen))
    for fact in range(0, sentences, WORDINGS):
        begin = dice.integers(100) * (units // 100)
        for sentence in range(fact, min(fact + WORDINGS, sentences)):
            shift = begin + dice.integers(chosen)
            top[sentence] = (shift + 2 * np.arange(chosen, dtype=np.int64)) % units
    top.flush()


def measure(folder: Path, way: str, chosen: int, units: int) -> dict[str, Any]:
    """Runs one way in this process; seconds of the processor and peak memory."""
    from factdrift.klob.scoring.inputs import Scores
    from factdrift.klob.scoring.rsim import Results, approximate, similarity
    from factdrift.klob.scoring.selection import Selection

    top = np.load(folder / "units.npy", mmap_mode="r")
    results = Selection(chosen, units, np.zeros(len(top)), top)
    rows = np.arange(len(top))
    facts = rows // WORDINGS
    memory = _Memory()
    started = time.process_time()
    if way == "exact":
        similar = similarity(Results(_examples(len(top)), results, rows), "all")
        found = {"rsim": float(np.nanmean(similar.rsim())), "all": float(np.nanmean(similar.population))}
    elif way == "approximate":
        scores = Scores(
            "made", "", "", "neuron", units, "as_given", [str(row) for row in rows], dense=_Dense(top, units)
        )
        similar = approximate(Results(_examples(len(top)), results, rows), scores)
        found = {"rsim": float(np.nanmean(similar.rsim())), "all": float(np.nanmean(similar.population))}
    elif way == "product":
        matrix = results.part(rows, ascending=True)
        total = np.zeros(len(top))
        for first in range(0, len(top), 500):
            common = (matrix[first : first + 500] @ matrix.T).toarray()
            common[facts[first : first + 500, None] == facts[None, :]] = 0
            total[first : first + 500] = common.sum(axis=1)
        found = {"all": _mean_of_facts(total, facts, chosen)}
    else:
        sets = [set(row) for row in top.tolist()]
        total = np.zeros(len(top))
        for one, mine in enumerate(sets):
            for other in range(one + 1, len(sets)):
                if facts[one] != facts[other]:
                    common = len(mine & sets[other])
                    total[one] += common
                    total[other] += common
        found = {"all": _mean_of_facts(total, facts, chosen)}
    found |= {"seconds": time.process_time() - started, "memory": memory.peak()}
    return found


def _mean_of_facts(total: np.ndarray, facts: np.ndarray, chosen: int) -> float:
    others = len(facts) - np.bincount(facts)[facts]
    each = total / others / chosen
    return float((np.bincount(facts, each) / np.bincount(facts)).mean())


def _examples(sentences: int) -> Any:
    from factdrift.klob.scoring.inputs import Examples

    facts = np.arange(sentences) // WORDINGS
    names = [str(fact) for fact in range(facts[-1] + 1)]
    texts = [""] * sentences
    zeros = np.zeros(sentences, np.int64)
    no_chain = np.zeros(sentences, bool)
    return Examples("c", names, names, texts, texts, [None] * sentences, facts, no_chain, facts, zeros, facts)


def check(found: dict[str, dict[str, Any]]) -> None:
    """Raises AssertionError unless the ways that compare all pairs found what `exact` found."""
    for way in ("product", "pairs"):
        if way in found:
            assert abs(found[way]["all"] - found["exact"]["all"]) < 1e-12, found


class _Dense:
    """The scores of which `top` are the best: 1 where chosen."""

    def __init__(self, top: np.ndarray, units: int):
        self.top, self.shape = top, (len(top), units)

    def __getitem__(self, rows: Any) -> np.ndarray:
        chosen = self.top[rows]
        scores = np.zeros((len(chosen), self.shape[1]), np.float32)
        np.put_along_axis(scores, chosen, 1, axis=1)
        return scores


class _Memory(threading.Thread):
    """The most megabytes of memory of the process's own, without mapped files; looked at now and then."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0.0, threading.Event()
        self.start()

    def run(self) -> None:
        while True:
            for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
                if line.startswith("RssAnon"):
                    self.most = max(self.most, int(line.split()[1]) / 1024)
            if self.over.wait(0.1):
                return

    def peak(self) -> float:
        self.over.set()
        self.join()
        return self.most


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--large", action="store_true")
    parser.add_argument(
        "--size",
        type=int,
        nargs=3,
        action="append",
        metavar=("SENTENCES", "K", "N"),
        help="instead of the growing numbers; may be given several times",
    )
    add_record(parser)
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        folder, way, chosen, units = options.measure
        print(json.dumps(measure(Path(folder), way, int(chosen), int(units))))
        return
    rows = []
    for sentences, chosen, units in [*(options.size or SIZES), *([LARGE] if options.large else [])]:
        ways = ["exact"]
        if units <= 100_000:
            ways.append("approximate")
        if sentences <= PRODUCT_AT_MOST:
            ways.append("product")
        if sentences <= SETS_AT_MOST and chosen <= 100:
            ways.append("pairs")
        found = {}
        with tempfile.TemporaryDirectory(prefix="klob-") as name:
            make(Path(name), sentences, chosen, units)
            for way in ways:
                line = [sys.executable, __file__, "--measure", name, way, str(chosen), str(units)]
                done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True)
                found[way] = json.loads(done.stdout)
        check(found)
        for way, result in found.items():
            rows.append(
                [
                    f"{sentences:,}",
                    f"{chosen:,}",
                    f"{units:,}",
                    way,
                    f"{result['seconds']:,.3f}",
                    f"{result['seconds'] / found['exact']['seconds']:,.1f}",
                    f"{result['memory']:,.0f}",
                ]
            )
    record(
        "KLoB: similarity with all other results",
        ["sentences", "K", "N", "way", "processor seconds", "times exact", "memory, MB"],
        rows,
        "One k, one population; all ways but `approximate` found the same. `python benchmarks/klob.py"
        f"{''.join(' --size {} {} {}'.format(*size) for size in options.size or [])}"
        f"{' --large' if options.large else ''}`",
        options.record,
    )


if __name__ == "__main__":
    main()
