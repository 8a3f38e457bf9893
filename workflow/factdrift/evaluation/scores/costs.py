"""Seconds and memory of the jobs, by model and method; kept apart from results, since they vary."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.errors import CannotEdit
from factdrift.core.files import write_json
from factdrift.evaluation.methods.record import Skipped, skipped_methods

_NOTHING = {"edits": 0, "edit_seconds": 0.0, "evaluation_seconds": 0.0, "peak_mb": 0.0}


def write_costs(
    jobs: Sequence[Path], output: Path, skipped: Sequence[Skipped] = (), strict: bool = False
) -> list[Skipped]:
    """Writes one entry for each model and method: sums over shards, and the peak of memory.

    Of a method that puts texts before prompts also the most that did not fit, as `left_out`, if any; of a
    stream also what each interval has cost, as `intervals`.

    `skipped`: methods for which there was no job. Returns these and the methods whose job could not edit the
    model; their entries have the reason under `skipped`. Raises CannotEdit with all reasons if every method
    but `none` was skipped, or, if `strict`, any of them.
    """
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for path in jobs:
        job = json.loads(path.read_text(encoding="utf-8"))
        batches = job.pop("batches")
        if intervals := [batch for batch in batches if "interval" in batch]:
            job["intervals"] = intervals
        entry = entries.setdefault((job["model"], job["method"]), {**job, **_NOTHING})
        for batch in batches:
            for key in ("edits", "edit_seconds", "evaluation_seconds"):
                entry[key] += batch[key]
            entry["peak_mb"] = max(entry["peak_mb"], batch["peak_mb"])
            if "left_out" in batch:
                entry["left_out"] = max(entry.get("left_out", 0), batch["left_out"])
    for method in skipped:
        entries[method.model, method.method] = {**method._asdict(), **_NOTHING}
    every = skipped_among(entries.values())
    reasons = "; ".join(skipped_methods(every))
    if every and len(every) == len(entries):
        raise CannotEdit(f"methods: none of them can edit a configured model: {reasons}")
    if every and strict:
        raise CannotEdit(f"methods: skipped, which `strict` forbids: {reasons}")
    write_json(list(entries.values()), output)
    return every


def read_costs(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(model, method) -> what `write_costs` wrote of its job."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {(entry["model"], entry["method"]): entry for entry in entries}


def skipped_among(entries: Iterable[Mapping[str, Any]]) -> list[Skipped]:
    """The skipped methods with their reasons, from the descriptions of runs."""
    return [Skipped(*(entry[key] for key in Skipped._fields)) for entry in entries if "skipped" in entry]
