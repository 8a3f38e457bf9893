"""Seconds and memory of the jobs, by model and method; kept apart from results, since they vary."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factdrift.tables import atomic_path


def write_costs(jobs: Sequence[Path], output: Path) -> None:
    """Writes one entry for each model and method: sums over shards, and the peak of memory."""
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for path in jobs:
        job = json.loads(path.read_text(encoding="utf-8"))
        batches = job.pop("batches")
        empty = {**job, "edits": 0, "edit_seconds": 0.0, "evaluation_seconds": 0.0, "peak_mb": 0.0}
        entry = entries.setdefault((job["model"], job["method"]), empty)
        for batch in batches:
            for key in ("edits", "edit_seconds", "evaluation_seconds"):
                entry[key] += batch[key]
            entry["peak_mb"] = max(entry["peak_mb"], batch["peak_mb"])
    with atomic_path(output) as path:
        path.write_text(json.dumps(list(entries.values()), indent=1) + "\n", encoding="utf-8")
