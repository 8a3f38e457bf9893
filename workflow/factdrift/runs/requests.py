"""What a job asks a cluster for: memory, time and disk, from the dumps' sizes and the number of the attempt.

The figures are those of the estimate (`factdrift.runs.estimate`) times a margin. For commands whose costs
have not been measured, they are a constant for a full dump (`resources/costs/requests.tsv`) times the share
that the dumps are of one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from factdrift.core.files import read_tsv
from factdrift.core.paths import COSTS
from factdrift.runs.costs import read_costs, read_quantities
from factdrift.runs.estimate import Dump, Parts, job_figures, texts_of


class Request(NamedTuple):
    """Megabytes of memory, minutes, and megabytes of scratch, which hold what queries spill."""

    mem_mb: int
    runtime: int
    disk_mb: int

    def grown(self, attempt: int) -> Request:
        """The request of an attempt (1 is the first): each asks for twice as much as the one before."""
        factor = 2 ** (attempt - 1)
        return Request(*(factor * amount for amount in self))


class _Chosen(NamedTuple):
    """A row of requests.tsv: the most memory that a job takes, and minutes and scratch if not measured."""

    most_mb: float
    minutes: float | None
    disk_mb: float | None


def first_requests(dumps: Sequence[Dump], scope: str, parts: Parts) -> dict[str, Request]:
    """Command (`statements extract`) -> the request of a job's first attempt.

    `dumps`: both dumps, or none for the bundled sample and other small ones.
    """
    dumps = dumps or [Dump(0.0, "none")] * 2
    quantities = read_quantities()
    full = min(max(texts_of(dumps)) / quantities["full_gb"], 1.0)
    requests = {}
    for command, chosen in _chosen().items():
        if command in read_costs(scope):
            figures = job_figures(command, dumps, scope, parts)
            memory = figures.memory * quantities["request_memory"]
            minutes, disk = figures.cpu / 60 * quantities["request_time"], figures.output + figures.memory
        else:
            memory = max(chosen.most_mb * full, min(quantities["request_least_mb"], chosen.most_mb))
            minutes, disk = (chosen.minutes or 0.0) * full, (chosen.disk_mb or 0.0) * full
        requests[command] = Request(
            _up(memory + quantities["request_job_mb"], 100),
            _up(max(minutes, quantities["request_least_minutes"]), 1),
            _up(max(disk, quantities["request_least_disk_mb"]), 100),
        )
    return requests


def most_memory() -> dict[str, float]:
    """Command -> the most megabytes that a job takes; above, its queries spill to TMPDIR."""
    return {command: chosen.most_mb for command, chosen in _chosen().items()}


def _chosen() -> dict[str, _Chosen]:
    return {
        row["command"]: _Chosen(
            float(row["most_mb"]),
            float(row["minutes"]) if row["minutes"] else None,
            float(row["disk_mb"]) if row["disk_mb"] else None,
        )
        for row in read_tsv(COSTS / "requests.tsv")
    }


def _up(amount: float, step: int) -> int:
    return math.ceil(amount / step) * step


def request_table(dumps: Sequence[Dump], scope: str, parts: Parts) -> str:
    """A Markdown table of the first requests, one row a command."""
    lines = ["| command | mem_mb | runtime (minutes) | disk_mb |", "|---|--:|--:|--:|"]
    for command, asked in first_requests(dumps, scope, parts).items():
        lines.append(f"| {command} | {asked.mem_mb:,} | {asked.runtime:,} | {asked.disk_mb:,} |")
    return "\n".join(lines)
