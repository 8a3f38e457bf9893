"""Asks one model all items, batch by batch and resumable: unedited, or with each new fact as an edit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow as pa

from factdrift.core.fingerprint import of_module
from factdrift.core.progress import Progress
from factdrift.core.tables import write_parquet
from factdrift.evaluation.answer_runs import ordered, run_id
from factdrift.evaluation.answer_schemas import PREDICTIONS
from factdrift.evaluation.checkpoints import Parts
from factdrift.evaluation.methods.interface import Edit, Prepared
from factdrift.evaluation.questions.statements import Timeline
from factdrift.evaluation.session import Job, cut
from factdrift.evaluation.states.edited import edited
from factdrift.evaluation.ways.local import Asked, answers
from factdrift.models.memory import in_batches
from factdrift.tempripple.schemas import Row
from factdrift.tempripple.score import CONDITIONS

if TYPE_CHECKING:
    from factdrift.evaluation.answer_jobs import AsksItems

CHUNK = 4
"""Items that an unedited model is asked between two checkpoints, in batches of edits."""


def ask_plain(command: AsksItems, job: Job, items: Sequence[Row]) -> dict[str, Any]:
    """Asks the unedited model every item without and with its context; writes PREDICTIONS.

    Returns the description of the run: what its rows depend on, and what it has cost.
    """
    settings = command.settings
    chunks = cut(items, settings.batch * CHUNK)

    def ask(number: int) -> list[Row]:
        asked = [
            Asked(item, condition, item["context"] if condition == "with" else "")
            for condition in CONDITIONS
            for item in chunks[number]
        ]
        with job.timed("answer_seconds"):
            return answers(job, settings, asked)

    meta = job.meta("none", "", {})
    sizes = [len(chunk) for chunk in chunks]
    return _run(command, job, meta, {"items": items}, sizes, ask)


def ask_edited(
    command: AsksItems,
    job: Job,
    items: Sequence[Row],
    edits: Mapping[Timeline, Edit],
    prepared: Prepared,
) -> dict[str, Any]:
    """Asks every item, without context, of the model with the new fact of the item's timeline as an edit.

    `edits`: the new fact of each timeline. Edits are combined as `edit.regime` says. Items of an edit that
    failed are not answered. Writes PREDICTIONS and returns the description of the run, as `ask_plain`.
    """
    settings, hyper = command.settings, prepared.hyper
    groups = cut(list(edits), settings.edits)
    of_timeline: dict[Timeline, list[Row]] = {timeline: [] for timeline in edits}
    for item in items:
        of_timeline[item["s"], item["p"]].append(item)
    condition = f"edited-{hyper.method}"

    def ask(number: int) -> list[Row]:
        found: list[Row] = []

        def work(timelines: Sequence[Timeline]) -> None:
            with job.timed("edit_seconds"):
                chosen = [edits[each] for each in timelines]
                made = edited(job.loaded, chosen, hyper, prepared.artefacts, settings.regime)
            asked, failed = [], []
            for place, timeline in enumerate(timelines):
                for item in of_timeline[timeline]:
                    if place in made.failed:
                        failed.append(item)
                        continue
                    owner = made.owner[place] if made.owner else place if made.changes else -1
                    (context,) = made.before(place, [item["question"]])
                    asked.append(Asked(item, condition, context.strip(), owner))
            job.count_left_out(made)
            with job.timed("answer_seconds"):
                rows = answers(job, settings, asked, made)
            left_out = {"condition": condition, "reason": "edit_failed"}
            found.extend(rows)
            found.extend(
                {"scoring": way, "item_id": item["item_id"], **left_out}
                for way in settings.answer_scoring
                for item in failed
            )

        if settings.regime == "independent":
            in_batches(groups[number], len(groups[number]), work)
        else:
            work(groups[number])  # halving the batch would change the edits
        return found

    meta = job.meta(hyper.method, hyper.digest(), prepared.digests)
    sizes = [sum(len(of_timeline[timeline]) for timeline in group) for group in groups]
    depends = {"items": items, "edits": list(edits.values())}
    made = _run(command, job, meta, depends, sizes, ask)
    return made | {"hyper": dict(hyper), "source": hyper.source}


def _run(
    command: AsksItems,
    job: Job,
    meta: dict[str, Any],
    depends: Mapping[str, Any],
    sizes: Sequence[int],
    ask: Callable[[int], list[Row]],
) -> dict[str, Any]:
    """Calls `ask` for each chunk that is not finished, and writes the rows of all, sorted.

    `sizes`: the number of items of each chunk.
    """
    settings = msgspec.to_builtins(command.settings)
    asked = {key: value for key, value in settings.items() if key.startswith("answer_")}
    described = {**meta, **asked}
    name = run_id(described)
    depends = {"run": described, "settings": command.settings, "code": of_module(__name__), **depends}
    kept = Parts(command.parts, depends)
    progress = Progress(f"answers of {job.loaded.name}", sum(sizes), "items")
    for number, size in enumerate(sizes):
        if not kept.has(number):
            found = [{"run_id": name, "model": job.loaded.name, **row} for row in ask(number)]
            table = pa.Table.from_pylist(found, schema=PREDICTIONS)
            kept.write(number, {"answers": table}, {**job.costs, "peak_mb": job.peak_mb()})
            job.costs.clear()
        progress.advance(size)
    progress.say()
    numbers = range(len(sizes))
    write_parquet(ordered(kept.table("answers", PREDICTIONS, numbers)), command.output)
    costs = kept.costs(numbers)
    kept.remove()
    return {"run_id": name, **described, "device": job.device_name(), "costs": _summed(costs)}


GREATEST = ("peak_mb", "left_out")
"""Costs of which that of the chunks together is the greatest one."""


def _summed(costs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Seconds of all chunks, and the greatest memory and number of texts left out of any."""
    seconds: dict[str, float] = {}
    for each in costs:
        for key, value in each.items():
            seconds[key] = max(seconds.get(key, 0), value) if key in GREATEST else seconds.get(key, 0) + value
    return seconds
