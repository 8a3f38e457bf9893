"""Makes the edits of a stream with one method, interval by interval and resumable. Imports torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.core.fingerprint import of_module
from factdrift.core.progress import Progress
from factdrift.core.tables import write_parquet
from factdrift.evaluation.ability.measure import measured
from factdrift.evaluation.checkpoints import Parts
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.questions.intervals import intervals_of, planned
from factdrift.evaluation.questions.probes import Update
from factdrift.evaluation.run import probe_rows
from factdrift.evaluation.session import META, Job
from factdrift.evaluation.states.standing import Standing, standing
from factdrift.evaluation.stream_tables import INTERVALS, STREAM_PROBES

STREAM_MADE = pa.schema([*META, ("source", pa.string()), ("edit", pa.string()), ("failed", pa.string())])
"""One row for each edit, in the order in which they were made."""


class Files(NamedTuple):
    """What a run of a stream writes."""

    parts: Path
    """A folder for finished intervals, removed at the end."""
    probes: Path
    edits: Path
    intervals: Path


def write_stream(
    job: Job, updates: Sequence[Update], prepared: Prepared, files: Files, most: int, seed: int
) -> list[dict[str, float]]:
    """Makes and probes all edits; writes STREAM_PROBES, STREAM_MADE and INTERVALS; returns costs by interval.

    After each interval its tables and what is then in place are kept, so that a killed job continues with the
    next one. `most`, `seed`: see `planned`.
    """
    hyper = prepared.hyper
    rows = [update.row for update in updates]
    intervals = intervals_of(rows)
    meta = {**job.meta(hyper.method, hyper.digest(), prepared.digests), "source": hyper.source, "group": None}
    depends = {"meta": meta, "settings": job.settings, "edits": rows, "code": of_module(__name__)}
    kept = Parts(files.parts, depends | {"ability": job.ability, "seed": seed, "most": most})

    def state_file(place: int) -> Path:
        return kept.folder(f"{place:06d}.state.pt")

    done = 0
    while done < len(intervals) and kept.has(done):
        done += 1
    progress = Progress(f"{hyper.method} on {job.loaded.name}", len(updates), "edits")
    with standing(job.loaded, hyper, prepared.artefacts) as state:
        earlier = [update for update in updates if done and update.row["interval"] <= intervals[done - 1]]
        if 0 < done < len(intervals):
            state.resume(state_file(done - 1), [update.edit for update in earlier])
        progress.advance(len(earlier))
        for place in range(done, len(intervals)):
            interval = intervals[place]
            plan = planned(rows, interval, most, seed)
            tables = _interval(job, state, hyper, meta, updates, interval, plan)
            state.save(state_file(place))
            costs = {"interval": interval, **job.costs, "edits": len(tables["edits"])}
            kept.write(place, tables, {**costs, "peak_mb": job.peak_mb()})
            job.costs.clear()
            state_file(place - 1).unlink(missing_ok=True)
            progress.advance(len(tables["edits"]))
    progress.say()
    numbers = range(len(intervals))
    write_parquet(kept.table("probes", STREAM_PROBES, numbers), files.probes)
    write_parquet(kept.table("edits", STREAM_MADE, numbers), files.edits)
    write_parquet(kept.table("intervals", INTERVALS, numbers), files.intervals)
    found = kept.costs(numbers)
    kept.remove()
    return found


def write_nothing(out_probes: Path, out_edits: Path, out_intervals: Path) -> None:
    """Writes the three tables without rows, for a method that cannot edit the model."""
    for schema, path in (
        (STREAM_PROBES, out_probes),
        (STREAM_MADE, out_edits),
        (INTERVALS, out_intervals),
    ):
        write_parquet(schema.empty_table(), path)


def _interval(
    job: Job,
    state: Standing,
    hyper: Hyper,
    meta: Mapping[str, Any],
    updates: Sequence[Update],
    interval: int,
    plan: Sequence[Any],
) -> dict[str, pa.Table]:
    """Makes the edits of one interval and asks what is planned after it; the rows of the three tables."""
    mine = [update for update in updates if update.row["interval"] == interval]
    with job.timed("edit_seconds"):
        failed = state.more([update.edit for update in mine])
    with job.timed("evaluation_seconds"):
        probes, general = _probed(job, state, updates, plan)
    named = {"model": job.loaded.name, "method": hyper.method, "interval": interval}
    size, entries = state.held()
    about = {
        **named,
        **{name: mine[0].row[name] for name in ("old_date", "new_date")},
        **{"edits": len(mine), "failed": len(failed)},
        "so_far": sum(update.row["interval"] <= interval for update in updates),
        **{"entries": entries, "state_bytes": size},
        **general,
    }
    made = [
        {**meta, "edit": update.edit.id, "failed": failed.get(place)} for place, update in enumerate(mine)
    ]
    return {
        "probes": pa.Table.from_pylist([{**named, **row} for row in probes], schema=STREAM_PROBES),
        "edits": pa.Table.from_pylist(made, schema=STREAM_MADE),
        "intervals": pa.Table.from_pylist([about], schema=INTERVALS),
    }


def _probed(
    job: Job, state: Standing, updates: Sequence[Update], plan: Sequence[Any]
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Rows of STREAM_PROBES of what is asked, and the general ability of the model with all edits so far."""
    asked = [
        Update(update.edit, {**update.row, "probes": [update.probes[number] for number in each.numbers]})
        for each in plan
        for update in [updates[each.place]]
    ]
    loaded, made = state.seen([update.edit.id for update in asked])
    seen = replace(job, loaded=loaded)
    named = [
        {"edit": update.edit.id, "kind": each.kind, "number": number}
        for each, update in zip(plan, asked, strict=True)
        for number in each.numbers
    ]
    probed = [{**row, **name} for row, name in zip(probe_rows(seen, asked, made), named, strict=True)]
    job.count_left_out(made)
    # As with edits that meet, a text before a prompt, and what acts at its end, change no text.
    if job.ability is None or made.contexts is not None or made.codebooks:
        return probed, {}
    return probed, measured(job.ability, loaded, job.budget, made.deltas, 0 if made.deltas else -1)
