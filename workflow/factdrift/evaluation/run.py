"""Makes the edits of one method and probes them, batch by batch and resumable. Imports torch.

Changes are applied by hooks, and the weights of the model never change. Only a user's own method may change
the model in place, which is then restored.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from torch import Tensor

from factdrift.core.fingerprint import of_module
from factdrift.core.owned import check_folder
from factdrift.core.progress import Progress
from factdrift.core.tables import write_parquet
from factdrift.evaluation.ability.measure import of_edits
from factdrift.evaluation.checkpoints import Parts
from factdrift.evaluation.keeping import Keeping
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edited, Prepared
from factdrift.evaluation.questions.probes import Update
from factdrift.evaluation.scores.fluency import fluency
from factdrift.evaluation.session import META, SAID, Job, cut, longest
from factdrift.evaluation.states.edited import Maker, at_a_time, maker
from factdrift.evaluation.states.repeated import Repeated
from factdrift.models.alignment import NOT_FINITE, AlignmentError, Sentence, align
from factdrift.models.memory import in_batches
from factdrift.models.scoring import score

RUN_PROBES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "method", "edit")),
        ("number", pa.int16()),
        ("logprob", pa.float64()),
        ("tokens", pa.int32()),
        ("exact", pa.bool_()),
        ("reason", pa.string()),
    ]
)
"""One row for each probe of an edit that did not fail; `number` is its index in the edit's probes.

`logprob` is null, `exact` false and `reason` NOT_FINITE where the edited model's output is not finite.
"""

RUN_EDITS = pa.schema(
    [
        *META,
        ("source", pa.string()),
        ("edit", pa.string()),
        ("failed", pa.string()),
        ("steps", pa.int32()),
        ("loss", pa.float64()),
        ("fluency", pa.float64()),
        ("fluency_full", pa.float64()),
        ("said", pa.list_(pa.string())),
        ("state", pa.int32()),
        ("perplexity", pa.float64()),
        ("tasks", pa.string()),
    ]
)
"""One row for each edit. `source`: where the hyper-parameters come from.

`said`: continuations of the update's clozes, the update cloze first. `state`: number of the edited model, the
same for edits that are in place together. `perplexity`, `tasks` (JSON): of that model, or null.
"""

_TABLES = (("probes", RUN_PROBES), ("edits", RUN_EDITS))


class Files(NamedTuple):
    """What a run writes."""

    parts: Path
    """A folder for finished batches, removed at the end."""
    probes: Path
    edits: Path
    adapters: Path | None = None
    """A folder to be made with an adapter for each edit that did not fail, or for each group of edits."""


def write_run(
    job: Job,
    updates: Sequence[Update],
    prepared: Prepared,
    files: Files,
    shard: tuple[int, int] = (0, 1),
    making: Maker | None = None,
    about: Mapping[str, Any] | None = None,
) -> list[dict[str, float]]:
    """Makes the edits of shard k of n and writes RUN_PROBES and RUN_EDITS; returns the costs of each batch.

    Batches are cut before shards, so the rows do not depend on the number of shards. The first edit of a
    user's own method is made again, after the first batch and at the end. `making`: what makes the edits, if
    not the prepared method; `about`: provenance columns that differ from the settings.
    """
    hyper, out_adapters = prepared.hyper, files.adapters
    settings = job.settings
    batches = cut(updates, settings.edits)
    place, count = shard
    numbers = range(place * len(batches) // count, (place + 1) * len(batches) // count)
    meta = {
        **job.meta(hyper.method, hyper.digest(), prepared.digests),
        **(about or {}),
        "source": hyper.source,
    }
    rows = [update.row for update in updates]
    depends = {"meta": meta, "settings": settings, "edits": rows, "code": of_module(__name__)}
    depends |= {"adapters": out_adapters is not None, "ability": job.ability}
    kept = Parts(files.parts, depends)
    if out_adapters:
        check_folder(out_adapters)  # before any edit, since they are moved there at the end
    keeping = Keeping(job.loaded, hyper, settings.regime, kept.folder("adapters")) if out_adapters else None
    # Without their folder the adapters of finished batches have been moved, and are made again.
    again = keeping is not None and not keeping.begun()
    making = making or maker(job.loaded, hyper, prepared.artefacts, settings.regime)
    own = hyper.own and Repeated(hyper.own)
    mine = sum(len(batches[number]) for number in numbers)
    progress = Progress(f"{hyper.method} on {job.loaded.name}", mine, "edits")
    for number in numbers:
        if again or not kept.has(number):
            probes, edits = _batch(job, meta, batches[number], hyper, making, keeping)
            for place, row in enumerate(edits):
                row["state"] = _state(meta["regime"], number, number * settings.edits + place)
            kept.write(
                number,
                {
                    "probes": pa.Table.from_pylist(probes, schema=RUN_PROBES),
                    "edits": pa.Table.from_pylist(edits, schema=RUN_EDITS),
                },
                {**job.costs, "edits": len(edits), "peak_mb": job.peak_mb()},
            )
            job.costs.clear()
        if own and number in (numbers[0], numbers[-1]):
            first = batches[numbers[0]]
            few = first[: at_a_time(job.loaded, hyper, settings.regime, len(first))]
            once = [kept.table(name, schema, numbers[:1]) for name, schema in _TABLES]
            own.check(job.loaded, few, once, _batch(job, meta, few, hyper, making, None))
            job.costs.clear()
        progress.advance(len(batches[number]))
    progress.say()
    write_parquet(kept.table("probes", RUN_PROBES, numbers), files.probes)
    write_parquet(kept.table("edits", RUN_EDITS, numbers), files.edits)
    if keeping and out_adapters:
        keeping.move(out_adapters)
    costs = kept.costs(numbers)
    kept.remove()
    return costs


def _state(regime: str, batch: int, edit: int) -> int:
    """The number of the model that has an edit: its own, or that of its batch; a checkpoint is one model."""
    return {"independent": edit, "checkpoint": 0}.get(regime, batch)


def write_nothing(out_probes: Path, out_edits: Path) -> None:
    """Writes RUN_PROBES and RUN_EDITS without rows, for a method that cannot edit the model."""
    write_parquet(RUN_PROBES.empty_table(), out_probes)
    write_parquet(RUN_EDITS.empty_table(), out_edits)


def _batch(
    job: Job,
    meta: dict[str, Any],
    updates: Sequence[Update],
    hyper: Hyper,
    making: Maker,
    keeping: Keeping | None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of RUN_PROBES and RUN_EDITS for one batch, which is halved if it does not fit into memory."""
    probes: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []

    def run(chosen: Sequence[Update]) -> None:
        with ExitStack() as applied:
            with job.timed("edit_seconds"):
                edits = [each.edit for each in chosen]
                loaded, made = applied.enter_context(making.made(edits))
            with job.timed("evaluation_seconds"):
                named = {"model": job.loaded.name, "method": hyper.method}
                seen = replace(job, loaded=loaded)
                found = [{**named, **row} for row in probe_rows(seen, chosen, made)]
                said = list(_edit_rows(seen, chosen, made))
            job.count_left_out(made)
        if keeping:
            keeping.keep(edits, made)
        probes.extend(found)
        rows.extend({**meta, **row} for row in said)

    if job.settings.regime == "independent":
        in_batches(updates, at_a_time(job.loaded, hyper, job.settings.regime, len(updates)), run)
    else:
        run(updates)  # halving the batch would change the edits
    return probes, rows


def probe_rows(job: Job, updates: Sequence[Update], made: Edited) -> Iterator[dict[str, Any]]:
    """Rows of RUN_PROBES of the edits that did not fail."""
    rows: list[dict[str, Any]] = []
    sentences: list[Sentence] = []
    owners: list[int] = []
    places: list[int] = []
    for owner, update in enumerate(updates):
        if owner in made.failed:
            continue
        contexts = made.before(owner, [probe["prompt"] for probe in update.probes])
        for number, (probe, context) in enumerate(zip(update.probes, contexts, strict=True)):
            one, reason = _sentence(job, probe["prompt"], probe["target"], context)
            rows.append({"edit": update.edit.id, "number": number, "reason": reason})
            if one is not None:
                sentences.append(one)
                owners.append(made.owner[owner] if made.owner else owner)
                places.append(len(rows) - 1)
    scores = score(job.loaded, sentences, made.changes, owners, job.budget)
    measured = zip(scores.logprob.tolist(), scores.tokens.tolist(), scores.exact.tolist(), strict=True)
    for place, (logprob, tokens, exact) in zip(places, measured, strict=True):
        if math.isfinite(logprob):
            rows[place] |= {"logprob": logprob, "tokens": tokens, "exact": exact}
        else:
            # Such a model gives the object no probability, and writes nothing.
            rows[place] |= {"tokens": tokens, "exact": False, "reason": NOT_FINITE}
    yield from rows


def _sentence(job: Job, prompt: str, target: str, context: str) -> tuple[Sentence | None, str | None]:
    """The tokens of a probe, or the reason why it is not aligned."""
    if not context:
        one = job.sentences.get((prompt, target))
        return one, None if one else "unaligned"
    try:
        return align(job.loaded.tokenizer, prompt, target, context=context), None
    except AlignmentError as error:
        return None, error.reason


def _edit_rows(job: Job, updates: Sequence[Update], made: Edited) -> Iterator[dict[str, Any]]:
    """Rows of RUN_EDITS without the provenance columns META."""
    lasting = [owner for owner in range(len(updates)) if owner not in made.failed]
    clozes = [
        (owner, place, prompt)
        for owner in lasting
        for place, (_, prompt) in enumerate(updates[owner].clozes())
    ]
    most = {owner: longest(job.sentences, updates[owner]) for owner in lasting}
    contexts = [
        context
        for owner in lasting
        for context in made.before(owner, [prompt for _, prompt in updates[owner].clozes()])
    ]
    ids, counts = [], []
    for (owner, place, prompt), context in zip(clozes, contexts, strict=True):
        one, _ = _sentence(job, prompt, "", context)
        assert one is not None  # without a target no alignment can fail
        ids.append(one.ids)
        long = updates[owner].row["fluency"] and place
        counts.append(max(job.room(prompt) if long else 0, most[owner] + SAID))
    owners = [made.owner[owner] if made.owner else owner for owner, _, _ in clozes]
    written = job.continued(ids, counts, made, owners)
    texts: dict[int, list[list[int]]] = {owner: [] for owner in lasting}
    for (owner, _, _), tokens in zip(clozes, written, strict=True):
        texts[owner].append(tokens)
    steps, losses = _list(made.steps), _list(made.losses)
    general: dict[int, dict[str, Any]] = {}
    if job.ability is not None:
        alone = job.settings.regime == "independent"
        general = of_edits(job.ability, job.loaded, job.budget, updates, made, alone)
    for owner, update in enumerate(updates):
        row: dict[str, Any] = {"edit": update.edit.id, "failed": made.failed.get(owner)}
        row |= general.get(owner, {})
        if owner in texts:
            row["steps"] = int(steps[owner]) if steps else None
            row["loss"] = float(losses[owner]) if losses else None
            row["said"] = [job.opening(tokens, most[owner]) for tokens in texts[owner]]
            if update.row["fluency"] and texts[owner][1:]:
                found = fluency([job.text(tokens) for tokens in texts[owner][1:]])
                row |= {"fluency": found.halved, "fluency_full": found.full}
        yield row


def _list(values: Tensor | None) -> list[float]:
    return [] if values is None else values.detach().cpu().double().tolist()
