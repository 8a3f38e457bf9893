"""Runs the whole workflow on synthetic pairs of growing size; reports time, memory and disk of every command.

    python benchmarks/synthesize.py --entities 10000 -o 10k
    python benchmarks/synthesize.py --entities 100000 -o 100k
    python benchmarks/workflow.py 10k 100k --cores 2 --record benchmarks/RESULTS.md

Each pair is built in a scratch directory of its own, which is removed afterwards. Of each command the times
and the outputs (temporary ones included) are summed over its jobs, and the memory is that of the largest (see
watch.py); the slope is that of log time against log entities from the smallest to the largest pair. Below
each pair stands what `factdrift estimate` expects of it.
"""

import argparse
import base64
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from record import add_record, append
from synthesis.check import compare
from synthesis.dumps import SUMMARY
from synthesis.events import VARIANTS
from watch import Stage, Watch

from factdrift.runs.begin import dump_of
from factdrift.runs.estimate import CostParts, Estimate, estimate

ROOT = Path(__file__).resolve().parents[1]

TARGETS = ("all", "results/ripples.parquet")


class Outputs(NamedTuple):
    """Of one command: its jobs, the bytes that they wrote, whether Snakemake deletes these in the end."""

    jobs: int
    bytes: int
    temporary: bool


class Run(NamedTuple):
    entities: int
    megabytes: float
    """Text of both dumps."""
    seconds: float
    cpu: float
    """Of everything, Snakemake included."""
    stages: dict[str, Stage]
    outputs: dict[str, Outputs]
    expected: Estimate
    exact: bool
    """The labels are those of the truth."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Time and memory of the workflow on synthetic pairs.")
    parser.add_argument("pairs", type=Path, nargs="+", metavar="DIR", help="what synthesize.py wrote")
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--variant", choices=VARIANTS, default="paper")
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--buckets", type=int, default=2)
    parser.add_argument("--scratch", type=Path, help="where to build; default: the system's temporary folder")
    add_record(parser)
    given = parser.parse_args(arguments)
    settings = {"variant": given.variant, "shards": given.shards, "buckets": given.buckets}
    runs = []
    for pair in given.pairs:
        run = measure(pair.resolve(), given.cores, settings, given.scratch)
        print(f"{pair}: {run.entities:,} entities, {run.seconds:,.0f} s", file=sys.stderr, flush=True)
        runs.append(run)
    text = report(sorted(runs), given.cores, settings)
    print(text)
    if given.record:
        append(text, given.record)
    return 0 if all(run.exact for run in runs) else 1


def measure(pair: Path, cores: int, settings: dict[str, Any], scratch: Path | None = None) -> Run:
    """One build of a pair that deletes nothing. Raises SystemExit with the log's end if it fails."""
    if not (pair / SUMMARY).exists():
        raise SystemExit(f"{pair}: not a pair that benchmarks/synthesize.py wrote; write one there")
    summary = json.loads((pair / SUMMARY).read_text("utf-8"))["dumps"]
    dumps = {day: str(pair / each["file"]) for day, each in summary.items()}
    old, new = sorted(dumps)
    config = {**settings, "snapshots": {"old": old, "new": new}, "dumps": dumps}
    with tempfile.TemporaryDirectory(prefix="factdrift-workflow-", dir=scratch) as folder:
        directory = Path(folder)
        line = [
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            str(ROOT / "Snakefile"),
            "--cores",
            str(cores),
        ]
        line += ["--directory", folder, "--nocolor", "--notemp", *TARGETS, "--config"]
        line += [f"{key}={json.dumps(value)}" for key, value in config.items()]
        with (directory / "log.txt").open("w+", encoding="utf-8") as log:
            before, started = _children_cpu(), time.perf_counter()
            run = subprocess.Popen(
                line, cwd=folder, stdout=log, stderr=log, env={**os.environ, "TMPDIR": folder}
            )
            watch = Watch(run.pid)
            failed = run.wait()
            seconds, cpu = time.perf_counter() - started, _children_cpu() - before
            stages = watch.stages()
            log.seek(0)
            if failed:
                raise SystemExit(f"{pair}: the workflow failed\n{log.read()[-4000:]}")
        results = directory / "results" / f"{old}_{new}"
        return Run(
            entities=max(each["entities"] for each in summary.values()),
            megabytes=sum(each["bytes"] for each in summary.values()) / 1e6,
            seconds=seconds,
            cpu=cpu,
            stages=stages,
            outputs=_outputs(directory),
            expected=_expected(list(map(Path, dumps.values())), cores, settings),
            exact=compare(pair / "truth.parquet", results, str(settings["variant"])).exact,
        )


def _outputs(directory: Path) -> dict[str, Outputs]:
    """By command, from what Snakemake notes of every file."""
    sizes: Counter[str] = Counter()
    jobs: dict[str, set[str]] = defaultdict(set)
    temporary: set[str] = set()
    for record in (directory / ".snakemake" / "metadata").iterdir():
        shell = str(json.loads(record.read_text())["shellcmd"])
        command = re.search(r"\bfactdrift (\w+ [\w-]+)", shell)
        if command:
            path = directory / base64.b64decode(record.name).decode()
            jobs[command[1]].add(shell)
            sizes[command[1]] += sum(
                each.stat().st_size for each in (path, *path.rglob("*")) if each.is_file()
            )
            if "/shards/" in str(path):
                temporary.add(command[1])
    return {
        command: Outputs(len(shells), sizes[command], command in temporary)
        for command, shells in jobs.items()
    }


def _expected(dumps: list[Path], cores: int, settings: dict[str, Any]) -> Estimate:
    """What `factdrift estimate` counts for these dumps."""
    scope = settings.get("scope", "enwiki")
    known = [dump_of(dump) for dump in dumps]
    blocks = settings.get("neighbors", {}).get("blocks", 1)
    return estimate(known, cores, scope, CostParts(settings["shards"], settings["buckets"], blocks))


def _children_cpu() -> float:
    used = os.times()
    return used.children_user + used.children_system


def report(runs: list[Run], cores: int, settings: dict[str, Any]) -> str:
    """The measurements as Markdown, a row a stage."""
    sizes = [f"{run.entities:,}" for run in runs]
    options = ", ".join(f"{key} {value}" for key, value in settings.items())
    text = [
        f"## The whole workflow on synthetic pairs ({date.today().isoformat()})",
        "",
        f"`python benchmarks/workflow.py DIR... --cores {cores}`; {options}; {_machine()}.",
        "",
        "| entities a snapshot | text of both dumps, MB | wall, s | CPU, s | largest job, MB | outputs, MB "
        "| labels |",
        "|---|---|---|---|---|---|---|",
    ]
    for run, size in zip(runs, sizes, strict=True):
        peak = max(stage.megabytes for stage in run.stages.values())
        written = sum(each.bytes for each in run.outputs.values()) / 1e6
        text.append(
            f"| {size} | {run.megabytes:,.0f} | {run.seconds:,.0f} | {run.cpu:,.0f} | {peak:,.0f} "
            f"| {written:,.0f} | {'exact' if run.exact else 'NOT exact'} |"
        )
        expected = run.expected
        text.append(
            f"| estimated | {expected.text / 1e6:,.0f} | {expected.seconds:,.0f} | {expected.cpu:,.0f} "
            f"| {expected.memory / 1e6:,.0f} | {expected.disk / 1e6:,.0f} | |"
        )
    if len(runs) > 1:
        wall = _slope(runs, [run.seconds for run in runs])
        text.append(f"| slope | | {wall} | {_slope(runs, [run.cpu for run in runs])} | | | |")
    text += [
        "",
        "Of each command, all jobs together: wall and CPU seconds; peak memory of the largest job in MB; "
        f"outputs in MB. The last three columns are the estimate for {sizes[-1]}, without Snakemake's share.",
        "",
        f"| command | jobs | {' | '.join(f's, {size} | CPU | MB | outputs' for size in sizes)} | slope (CPU) "
        "| CPU | MB | outputs |",
        "|---" * (6 + 4 * len(runs)) + "|",
    ]
    for name in runs[-1].stages:
        stages = [run.stages.get(name, Stage(0, 0, 0, 0)) for run in runs]
        outputs = [run.outputs[name].bytes / 1e6 if name in run.outputs else 0.0 for run in runs]
        figures = " | ".join(
            f"{each.seconds:,.1f} | {each.cpu:,.1f} | {each.megabytes:,.0f} | {size:,.1f}"
            for each, size in zip(stages, outputs, strict=True)
        )
        slope = _slope(runs, [each.cpu for each in stages])
        text.append(f"| {name} | {stages[-1].jobs} | {figures} | {slope} | {_foreseen(expected, name)} |")
    return "\n".join([*text, ""])


def _foreseen(expected: Estimate, command: str) -> str:
    stage = expected.stages.get(command)
    return f"{stage.cpu:,.1f} | {stage.memory:,.0f} | {stage.output:,.1f}" if stage else "| |"


def _slope(runs: list[Run], figures: list[float]) -> str:
    """Of log figure against log entities, from the smallest to the largest run."""
    if len(runs) < 2 or min(figures[0], figures[-1]) <= 0 or runs[0].entities == runs[-1].entities:
        return ""
    return f"{math.log(figures[-1] / figures[0]) / math.log(runs[-1].entities / runs[0].entities):.2f}"


def _machine() -> str:
    """The processor and how busy the machine was beside: times on a busy machine are upper bounds."""
    model = ""
    if Path("/proc/cpuinfo").exists():
        match = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
        model = match[1] if match else ""
    load = os.getloadavg()[2]
    return f"{os.cpu_count()} cores {model}, load of the last 15 minutes {load:.1f}"


if __name__ == "__main__":
    sys.exit(main())
