"""Runs one locator on the sentences of a table, batch by batch and resumable. Imports torch."""

from __future__ import annotations

import importlib.metadata
import math
import time
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from factdrift.core.errors import InputError
from factdrift.core.files import write_json
from factdrift.core.fingerprint import of_module
from factdrift.core.functions import code_digest, read_function
from factdrift.core.paths import LOCATORS as FOLDER
from factdrift.core.progress import Progress
from factdrift.core.tables import parquet_writer
from factdrift.evaluation.checkpoints import Parts
from factdrift.evaluation.locators.gather import LOCATED
from factdrift.evaluation.locators.interface import Context, Found, last_logits, of_scores, probability
from factdrift.evaluation.locators.own import DOCUMENT, found_of
from factdrift.evaluation.locators.plan import HYPER, Entry, locator_of
from factdrift.evaluation.locators.prompts import Sentence, cut, grouped, tokenized
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.session import peak_mb
from factdrift.klob.scoring.selection import how_many
from factdrift.models.alignment import AlignmentError
from factdrift.models.loaded import Loaded
from factdrift.models.memory import in_batches
from factdrift.models.snapshot import ROUNDING, leaving_alone

if TYPE_CHECKING:
    from factdrift.evaluation.locators.jobs import Settings

_ABOUT = pa.schema([("granularity", pa.string()), ("units", pa.int64())])
"""Of the results of a batch; all must agree."""

Row = Mapping[str, Any]


class Job(NamedTuple):
    """A locator on a loaded model."""

    loaded: Loaded
    entry: Entry
    hyper: Hyper | None
    """None for a function of the user."""
    settings: Settings

    def most(self, units: int) -> int:
        """The number of best units that are kept: as many as the largest k asks for."""
        return how_many(units, max(Fraction(str(percent)) for percent in self.settings.k))

    @property
    def runs(self) -> int:
        """The number of runs of each sentence in a batch: one, and `samples` with noise."""
        return 1 + self.hyper.get("samples", 0) if self.hyper else 1


def make_job(loaded: Loaded, entry: Entry, values: dict[str, Any], settings: Settings) -> Job:
    """Raises InputError if a value is not valid, or `values` are given for a function of the user."""
    if values and not entry.record:
        raise InputError(f"--set: {entry.given} is a function of your own, without hyper-parameters")
    hyper = read_hyper(entry.name, loaded.name, values, FOLDER, HYPER) if entry.record else None
    return Job(loaded, entry, hyper, settings)


def write_located(
    job: Job,
    rows: Sequence[Row],
    shard: tuple[int, int],
    parts: Path,
    output: Path,
    out_about: Path,
    threads: int = 1,
) -> None:
    """Locates the sentences of shard k of n; writes LOCATED, and what the scores are as JSON.

    `rows`: all rows of SENTENCES. Batches are cut from all of them, and parts from batches, so neither the
    number of shards nor the size of the parts changes a row. Finished parts are kept in the folder `parts`.
    """
    loaded, settings = job.loaded, job.settings
    sentences, lost = aligned(loaded, rows)
    pieces = _pieces(cut(sentences, max(1, settings.budget // job.runs)), settings.batch)
    place, count = shard
    numbers = range(place * len(pieces) // count, (place + 1) * len(pieces) // count)
    about = {**_meta(job), "subject_spread": spread(loaded, sentences)}
    code = [of_module(name) for name in (__name__, *job.entry.modules())]
    kept = Parts(parts, {"about": about, "settings": settings, "rows": rows, "code": code})
    work = _worker(job, about["subject_spread"])
    progress = Progress(
        f"{job.entry.name} on {loaded.name}",
        sum(len(batch) for number in numbers for batch in pieces[number]),
        "sentences",
    )
    for number in numbers:
        if not kept.has(number):
            start = time.perf_counter()
            found = [part for batch in pieces[number] for part in _located(job, batch, work)]
            if loaded.device.type == "cuda":
                torch.cuda.synchronize(loaded.device)
            costs = {"seconds": time.perf_counter() - start, "peak_mb": peak_mb(loaded.device)}
            table = pa.concat_tables(rows for rows, _ in found)
            units = pa.Table.from_pylist([each for _, each in found], schema=_ABOUT)
            costs["sentences"] = len(table)
            kept.write(number, {"located": table, "about": units}, costs)
        progress.advance(sum(map(len, pieces[number])))
    progress.say()
    if job.hyper is None and numbers:
        first = kept.table("located", LOCATED, numbers[:1])
        _check_repeated(job, first, _located(job, pieces[numbers[0]][0], work))
    kinds = kept.table("about", _ABOUT, numbers).to_pylist()
    if any(kind != kinds[0] for kind in kinds):
        raise InputError(f"locators: {job.entry.given}: not all sentences have equally many units")
    with parquet_writer(output, LOCATED) as writer:
        writer.write_table(pa.Table.from_pylist([] if place else lost, schema=LOCATED))
        for number in numbers:
            writer.write_table(kept.table("located", LOCATED, [number]))
    run = {"device": str(loaded.device), "threads": threads, "batches": kept.costs(numbers)}
    write_json({**about, **(kinds[0] if kinds else {}), **run}, out_about)
    kept.remove()


def aligned(loaded: Loaded, rows: Sequence[Row]) -> tuple[list[Sentence], list[Row]]:
    """The sentences as tokens; and of those that cannot be scored rows of LOCATED with the reason."""
    sentences: list[Sentence] = []
    lost: list[Row] = []
    for row in rows:
        try:
            sentences.append(tokenized(loaded.tokenizer, row, loaded.spec.positions))
        except AlignmentError as error:
            lost.append({"sentence": row["sentence"], "subtask": row["subtask"], "reason": error.reason})
    return sentences, lost


def _pieces(batches: Sequence[list[Sentence]], size: int) -> list[list[list[Sentence]]]:
    """Consecutive batches in pieces of at least `size` sentences, which are stored together."""
    pieces: list[list[list[Sentence]]] = []
    for batch in batches:
        if not pieces or sum(map(len, pieces[-1])) >= size:
            pieces.append([])
        pieces[-1].append(batch)
    return pieces


def _meta(job: Job) -> dict[str, Any]:
    loaded, hyper, entry = job.loaded, job.hyper, job.entry
    own: dict[str, Any] = {}
    if entry.function:
        file, *others = entry.files()
        own = {"code": file.read_text(encoding="utf-8")}
        own |= {"modules": {path.name: code_digest([path]) for path in others}} if others else {}
    return {
        "name": entry.name,
        "model": loaded.name,
        "revision": loaded.revision,
        "model_digest": loaded.digest,
        "hyper": dict(hyper) if hyper else own,
        "source": hyper.source if hyper else entry.given,
        "token": hyper.get("token", "") if hyper else "",
        "dtype": str(loaded.dtype).removeprefix("torch."),
        "seed": job.settings.seed,
        **{name: importlib.metadata.version(name) for name in ("torch", "transformers", "factdrift")},
    }


def spread(loaded: Loaded, sentences: Sequence[Sentence]) -> float:
    """The standard deviation of all elements of the embeddings of the subjects' tokens; 0 without subjects.

    KLoB-u does not count, whose sentences have no subject. As in the released causal tracing, which embeds
    the subjects alone instead of in their sentences.
    """
    spans = [(one.ids, slice(*one.subject)) for one in sentences if one.subtask != "u" and one.subject]
    if not spans:
        return 0.0
    tokens, counts = np.unique([token for ids, span in spans for token in ids[span]], return_counts=True)
    embed = loaded.model.get_submodule(loaded.spec.embedding)
    with torch.no_grad():
        rows = embed(torch.tensor(tokens, device=loaded.device)).double().cpu()
    weights = torch.from_numpy(counts).double()[:, None]
    number = weights.sum() * rows.shape[1]
    mean = (rows * weights).sum() / number
    return float(((rows - mean).square() * weights).sum().div(max(number - 1, 1)).sqrt())


Work = Callable[[Sequence[Sentence], Sequence[int]], Found]
"""Runs the locator on sentences and the tokens whose probability is explained."""


def _worker(job: Job, scale: float) -> Work:
    loaded, hyper, entry = job.loaded, job.hyper, job.entry
    if entry.function:
        function = read_function(*entry.function, "locators")

        def own(sentences: Sequence[Sentence], targets: Sequence[int]) -> Found:
            with leaving_alone(loaded, f"locators: {entry.given}", f"a locator restores it ({DOCUMENT})"):
                answer = function(loaded, sentences, targets)
            return found_of(entry.given, answer, len(sentences), loaded.spec.layers, job.most)

        return own
    assert hyper is not None
    locator = locator_of(entry.name)
    context = Context(hyper, scale, job.settings.seed, job.settings.budget)

    def built_in(sentences: Sequence[Sentence], targets: Sequence[int]) -> Found:
        scores = locator(loaded, sentences, targets, context)
        array = scores.to(torch.promote_types(scores.dtype, torch.float32)).cpu().numpy()
        return of_scores(array, hyper["granularity"], loaded.spec.layers, job.most(array.shape[1]))

    return built_in


Part = tuple[pa.Table, Row]
"""Rows of LOCATED, and a row of _ABOUT."""


def _located(job: Job, batch: Sequence[Sentence], work: Work) -> list[Part]:
    """Results of one batch, which is halved between two groups where it does not fit into memory."""

    def run(groups: Sequence[list[Sentence]]) -> Part:
        sentences = [one for group in groups for one in group]
        with torch.no_grad():
            logits = last_logits(job.loaded, sentences)
        likeliest = logits.argmax(1).tolist()
        targets = [
            one.answer[0] if one.answer else top for one, top in zip(sentences, likeliest, strict=True)
        ]
        chances = probability(logits, targets).tolist()
        found = work(sentences, targets)
        columns = {
            "sentence": [one.id for one in sentences],
            "subtask": [one.subtask for one in sentences],
            "reason": [None] * len(sentences),
            "target": targets,
            "target_text": job.loaded.tokenizer.convert_ids_to_tokens(targets),
            # Of output that is not finite no token is the likeliest, and the answer has no probability.
            "probability": [chance if math.isfinite(chance) else None for chance in chances],
            "known": [
                (math.isfinite(chance) and target == top) if one.answer else None
                for one, chance, target, top in zip(sentences, chances, targets, likeliest, strict=True)
            ],
            "mean": found.mean,
            "sd": found.sd,
            "layers": [None] * len(sentences) if found.layers is None else list(found.layers),
            "top": list(found.top),
        }
        arrays = [pa.array(columns[field.name], field.type) for field in LOCATED]
        units = {"granularity": found.granularity, "units": found.units}
        return pa.table(arrays, schema=LOCATED), units

    groups = grouped(batch)
    return in_batches(groups, len(groups), run)


def _check_repeated(job: Job, first: pa.Table, again: Sequence[Part]) -> None:
    """Raises InputError if a user's locator gives other scores for sentences that it has seen before.

    `first`: the rows of LOCATED of its first batches. `again`: its first batch, once more.
    """
    loaded = job.loaded
    bound = max(ROUNDING, torch.finfo(loaded.dtype).eps)
    known = {row["sentence"]: row for row in first.to_pylist()}
    for row in (row for table, _ in again for row in table.to_pylist()):
        before = known[row["sentence"]]
        # Where kernels add in any order, units with almost equal scores may change places.
        same = loaded.device.type != "cpu" or row["top"] == before["top"]
        one, other = ([found["mean"], found["sd"]] for found in (before, row))
        size = np.nanmax(np.abs([*one, 0]))
        if not same or not np.allclose(one, other, rtol=0, atol=bound * size, equal_nan=True):
            raise InputError(
                f"locators: {job.entry.given}: the sentence {row['sentence']} gets other scores when it is "
                f"located again after others (mean {before['mean']:.6g}, then {row['mean']:.6g}). The "
                "locator keeps something from one call to the next, or draws random numbers that are not "
                f"seeded; let each call depend on what it is given alone ({DOCUMENT})"
            )
