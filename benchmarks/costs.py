"""Measures what each command of the workflow costs, for the estimate that is told before a run.

    python benchmarks/synthesize.py --entities 30000 -o 30k
    python benchmarks/synthesize.py --entities 300000 -o 300k
    python benchmarks/costs.py 30k 300k

Both pairs are built with the narrowest and the widest scope, all outputs kept. Of each command, CPU seconds
and memory of a job are taken to be a part that is always there and one that grows with the text of the job's
share of a dump: a line
through the two sizes. What reading a gigabyte from each compression costs beside gzip is measured on part
of the smaller dump. Writes resources/costs/jobs.tsv and archives.tsv, from which `factdrift estimate` counts.
"""

import argparse
import bz2
import gzip
import itertools
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
from synthesis.dumps import SUMMARY
from watch import Stage
from workflow import measure

from factdrift.core.files import read_tsv
from factdrift.core.paths import COSTS
from factdrift.runs.estimate import SPLITS, Cost, job_count

SCOPES = ("enwiki", "all")
PARTS = {"shards": 2, "buckets": 3, "blocks": 5}
"""All different, so that the number of a command's jobs tells how its work is divided."""

OF_ALL = ("ripples probes",)
"""Commands whose jobs each have all buckets in reach and work on one."""

COPY = "publish file"
"""Costs next to nothing, and is part of no estimate."""

SLICE = 200_000_000
"""Bytes of text that are read from each compression."""

COMPRESS: dict[str, Any] = {
    "none": bytes,
    "gzip": lambda text: gzip.compress(text, 6),
    "bzip2": bz2.compress,
    "zstd": lambda text: pa.compress(text, codec="zstd", asbytes=True),
}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What each command costs, for `factdrift estimate`.")
    parser.add_argument("small", type=Path, help="a pair that synthesize.py wrote")
    parser.add_argument("large", type=Path, help="a larger one")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument(
        "--scopes", nargs="+", choices=SCOPES, default=SCOPES, help="the rows of others stay as they are"
    )
    parser.add_argument("--scratch", type=Path, help="where to build; default: the system's temporary folder")
    parser.add_argument("--output", type=Path, default=COSTS)
    given = parser.parse_args(arguments)
    pairs = (given.small.resolve(), given.large.resolve())
    source = f"benchmarks/costs.py: {' and '.join(_entities(pair) for pair in pairs)} entities a dump"
    given.output.mkdir(parents=True, exist_ok=True)
    jobs = given.output / "jobs.tsv"
    before = [line.split("\t") for line in jobs.read_text("utf-8").splitlines()[1:]] if jobs.exists() else []
    rows = [row for row in before if row[0] not in given.scopes]
    for scope in given.scopes:
        costs = fit(*(figures(pair, scope, given.cores, given.scratch) for pair in pairs))
        for command, cost in costs.items():
            rows.append([scope, command, *map(_text, cost), source])
            print("\t".join(rows[-1]), flush=True)
    _write(jobs, ["scope", "command", *Cost._fields, "source"], rows)
    _write(
        given.output / "archives.tsv",
        ["compression", "cpu_s_gb", "source"],
        [
            [name, _text(cost), f"benchmarks/costs.py: {SLICE:,} bytes of text"]
            for name, cost in archives(pairs[0])
        ],
    )
    return 0


class Figures(dict[str, tuple[Stage, int, bool]]):
    """Of each command: what its jobs took, the bytes of their outputs, whether these are kept."""

    gigabytes: float


def figures(pair: Path, scope: str, cores: int, scratch: Path | None) -> Figures:
    settings = {"variant": "paper", "scope": scope, "shards": PARTS["shards"], "buckets": PARTS["buckets"]}
    run = measure(pair, cores, {**settings, "neighbors": {"blocks": PARTS["blocks"]}}, scratch)
    found = Figures(
        {
            command: (_of_all(stage, written.jobs), written.bytes, not written.temporary)
            for command, stage in run.stages.items()
            if command != COPY and (written := run.outputs[command])
        }
    )
    found.gigabytes = run.megabytes / 2 / 1000
    return found


def _of_all(stage: Stage, jobs: int) -> Stage:
    """The figures of all jobs of a command, of which the shortest may not have been seen."""
    share = jobs / stage.jobs
    return stage._replace(jobs=jobs, seconds=stage.seconds * share, cpu=stage.cpu * share)


def fit(small: Figures, large: Figures) -> dict[str, Cost]:
    """The line through both sizes, for each command."""
    most = {row["command"]: float(row["most_mb"]) for row in read_tsv(COSTS / "requests.tsv")}
    found = {}
    for command, (stage, size, kept) in large.items():
        split = next(name for name in SPLITS if job_count(name, *PARTS.values()) == stage.jobs)
        parts = stage.jobs / (2 if split in ("dump", "shard", "dump_bucket") else 1)
        shares = [each.gigabytes / parts for each in (small, large)]
        held = shares
        if command in OF_ALL:
            split, held = "all_buckets", [each.gigabytes for each in (small, large)]
        before = small[command][0]
        cpu, cpu_gb = _line(shares, (before.cpu / before.jobs, stage.cpu / stage.jobs))
        memory, memory_gb = _line(held, (before.megabytes, stage.megabytes))
        output = size / 1e6 / stage.jobs / shares[1]
        found[command] = Cost(split, cpu, cpu_gb, memory, memory_gb, most[command], output, kept)
    return found


def _line(shares: list[float], figures: tuple[float, float]) -> tuple[float, float]:
    """What is always there and what comes with each gigabyte; neither is below zero."""
    slope = max((figures[1] - figures[0]) / (shares[1] - shares[0]), 0.0)
    return max(min(figures[0] - slope * shares[0], *figures), 0.0), slope


def archives(pair: Path) -> list[tuple[str, float]]:
    """CPU seconds a gigabyte of text beyond those of gzip."""
    summary = json.loads((pair / SUMMARY).read_text("utf-8"))["dumps"]
    dump = pair / summary[min(summary)]["file"]
    with gzip.open(dump) as file:
        text = b"".join(itertools.takewhile(lambda line: file.tell() < SLICE, file))
    spent = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, compress in COMPRESS.items():
            path = Path(folder, f"dump.{name}")
            path.write_bytes(compress(text.rstrip(b",\n") + b"\n]\n"))
            command = ["statements", "extract", "--dump", str(path), "--scope", "enwiki", "--names", "held"]
            program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
            spent[name] = min(
                _cpu([sys.executable, "-c", program, *command, "--output", f"{folder}/{name}{again}"])
                for again in range(3)
            )
    return [(name, (each - spent["gzip"]) / len(text) * 1e9) for name, each in spent.items()]


def _cpu(command: list[str]) -> float:
    """CPU seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _entities(pair: Path) -> str:
    dumps = json.loads((pair / SUMMARY).read_text("utf-8"))["dumps"]
    return f"{max(each['entities'] for each in dumps.values()):,}"


def _text(figure: object) -> str:
    if isinstance(figure, bool):
        return "yes" if figure else "no"
    return f"{figure:.4g}" if isinstance(figure, float) else str(figure)


def _write(path: Path, header: list[str], rows: list[list[str]]) -> None:
    path.write_text("".join("\t".join(row) + "\n" for row in (header, *rows)), "utf-8")


if __name__ == "__main__":
    sys.exit(main())
