"""The job that writes what was dropped and the statistics, from files to files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factdrift.core.owned import atomic_path
from factdrift.tempripple.method import ItemMethod
from factdrift.tempripple.resources import Resources
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


def write_account(
    method: ItemMethod,
    resources: Resources,
    facts: Path,
    related: Path,
    items: Path,
    dropped: Sequence[Path],
    accounts: Sequence[Path],
    snapshot: Path | None,
    endpoint: str | None,
    out_dropped: Path,
    out_stats: Path,
    out_markdown: Path,
) -> None:
    """Writes the TR_DROPPED rows of all jobs, and the statistics as JSON and as Markdown.

    `snapshot`: the snapshot.json, if the rows are a snapshot's; else `endpoint` names the server.
    """
    all_dropped = [row for path in dropped for row in read_rows(path, TR_DROPPED)]
    write_rows(all_dropped, TR_DROPPED, out_dropped)
    stats = statistics(
        read_rows(facts, TR_FACTS),
        read_rows(related, TR_RELATED),
        read_rows(items, TR_ITEMS),
        all_dropped,
        resources.relations(method.immutable_set),
        method,
        {key: value for path in accounts for key, value in _read_json(path).items()},
        {**(_read_json(snapshot) if snapshot else {}), "endpoint": endpoint},
    )
    write_json(stats, out_stats)
    with atomic_path(out_markdown) as temporary:
        temporary.write_text(as_markdown(stats), encoding="utf-8")


def _read_json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
