"""The job that writes what was dropped and the statistics, from files to files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factdrift.core.owned import atomic_path
from factdrift.tempripple.schemas import (
    TR_DROPPED,
    TR_FACTS,
    TR_ITEMS,
    TR_RELATED,
    read_rows,
    write_json,
    write_rows,
)
from factdrift.tempripple.stats import as_markdown, statistics

if TYPE_CHECKING:
    from factdrift.tempripple.jobs import Account


def write_account(job: Account) -> None:
    """Writes the TR_DROPPED rows of all jobs, and the statistics as JSON and as Markdown."""
    all_dropped = [row for path in job.dropped for row in read_rows(path, TR_DROPPED)]
    write_rows(all_dropped, TR_DROPPED, job.all_dropped)
    stats = statistics(
        read_rows(job.facts, TR_FACTS),
        read_rows(job.related, TR_RELATED),
        read_rows(job.items_, TR_ITEMS),
        all_dropped,
        job.tables().relations(job.settings.immutable_set),
        job.settings,
        {**(_read_json(job.snapshot) if job.snapshot else {}), "endpoint": job.endpoint},
    )
    for path in job.accounts:
        stats |= _read_json(path)
    write_json(stats, job.json)
    with atomic_path(job.markdown) as temporary:
        temporary.write_text(as_markdown(stats), encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
