"""Runs one locator on the sentences of a table, batch by batch and resumable. Imports torch."""

from __future__ import annotations

import importlib.metadata
import json
import math
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from factdrift.core.errors import InputError
from factdrift.core.fingerprint import of_module
from factdrift.core.functions import code_digest, read_function, split_function
from factdrift.core.owned import atomic_path
from factdrift.core.paths import LOCATORS as FOLDER
from factdrift.core.progress import Progress
from factdrift.core.tables import parquet_writer
from factdrift.evaluation.checkpoints import Parts
from factdrift.evaluation.locators.interface import Context, clean_logits, probability
from factdrift.evaluation.locators.methods.registry import locator_of
from factdrift.evaluation.locators.own import DOCUMENT, found_of
from factdrift.evaluation.locators.plan import HYPER, Entry
from factdrift.evaluation.locators.prompts import Sentence, Unaligned, cut, tokenized
from factdrift.evaluation.locators.results import Found, of_scores
from factdrift.evaluation.locators.schemas import LOCATED
from factdrift.evaluation.locators.settings import Settings
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.session import peak_mb
from factdrift.klob.scoring.selection import how_many
from factdrift.models.leaks import ROUNDING, leaving_alone
from factdrift.models.loaded import Loaded
from factdrift.models.memory import in_batches

_ABOUT = pa.schema([("granularity", pa.string()), ("units", pa.int64())])
"""Of a batch; all batches must agree."""


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


def make_job(loaded: Loaded, entry: Entry, values: dict[str, Any], settings: Settings) -> Job:
    """Raises InputError if a hyper-parameter is not valid."""
    built_in = entry.kind == "built-in"
    hyper = read_hyper(entry.name, loaded.name, values, FOLDER, HYPER) if built_in else None
    return Job(loaded, entry, hyper, settings)


def write_located(
    job: Job,
    rows: Sequence[dict[str, Any]],
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
    aligned = [tokenized(loaded.tokenizer, row, loaded.spec.positions) for row in rows]
    sentences = [one for one in aligned if isinstance(one, Sentence)]
    lost = [one for one in aligned if isinstance(one, Unaligned)]
    samples = job.hyper.get("samples", 0) if job.hyper else 0
    pieces = _pieces(cut(sentences, max(1, settings.budget // (1 + samples))), settings.batch)
    place, count = shard
    numbers = range(place * len(pieces) // count, (place + 1) * len(pieces) // count)
    about = {**_meta(job), "subject_spread": spread(loaded, sentences)}
    depends = {"about": about, "settings": settings, "rows": rows, "code": of_module(__name__)}
    kept = Parts(parts, depends)
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
            tables = [_table(job, *part) for part in found]
            if len({(part[2].granularity, part[2].units) for part in found}) > 1:
                raise InputError(f"locators: {job.entry.given}: not all sentences have equally many units")
            units = {"granularity": [found[0][2].granularity], "units": [found[0][2].units]}
            if loaded.device.type == "cuda":
                torch.cuda.synchronize(loaded.device)
            costs = {"seconds": time.perf_counter() - start, "peak_mb": peak_mb(loaded.device)}
            kept.write(
                number,
                {"located": pa.concat_tables(tables), "about": pa.table(units, schema=_ABOUT)},
                costs | {"sentences": sum(len(part[0]) for part in found)},
            )
        progress.advance(sum(map(len, pieces[number])))
    progress.say()
    if job.hyper is None and numbers:
        first = kept.table("located", LOCATED, numbers[:1])
        _check_repeated(job, first, _located(job, pieces[numbers[0]][0], work))
    left = [{"sentence": one.id, "reason": one.reason} for one in lost] if place == 0 else []
    known = {row["sentence"]: row["subtask"] for row in rows}
    left = [{**row, "subtask": known[row["sentence"]]} for row in left]
    with parquet_writer(output, LOCATED) as writer:
        writer.write_table(pa.Table.from_pylist(left, schema=LOCATED))
        for number in numbers:
            writer.write_table(kept.table("located", LOCATED, [number]))
    kinds = kept.table("about", _ABOUT, numbers).to_pylist()
    if any(kind != kinds[0] for kind in kinds):
        raise InputError(f"locators: {job.entry.given}: not all sentences have equally many units")
    run = {"device": str(loaded.device), "threads": threads, "batches": kept.costs(numbers)}
    with atomic_path(out_about) as path:
        text = json.dumps({**about, **(kinds[0] if kinds else {}), **run}, indent=1)
        path.write_text(text + "\n", encoding="utf-8")
    kept.remove()


def _pieces(batches: Sequence[list[Sentence]], size: int) -> list[list[list[Sentence]]]:
    """Consecutive batches in pieces of at least `size` sentences, which are stored together."""
    pieces: list[list[list[Sentence]]] = []
    held = size
    for batch in batches:
        if held >= size:
            pieces.append([])
            held = 0
        pieces[-1].append(batch)
        held += len(batch)
    return pieces


def _meta(job: Job) -> dict[str, Any]:
    loaded, hyper = job.loaded, job.hyper
    names = ("torch", "transformers", "factdrift")
    code = job.entry.path.read_text(encoding="utf-8") if job.entry.path else ""
    modules = {path.name: code_digest([path]) for path in job.entry.files()[1:]}
    return {
        "name": job.entry.name,
        "model": loaded.name,
        "revision": loaded.revision,
        "model_digest": loaded.digest,
        "hyper": dict(hyper) if hyper else {"code": code, **({"modules": modules} if modules else {})},
        "source": hyper.source if hyper else job.entry.given,
        "token": hyper.get("token", "") if hyper else "",
        "dtype": str(loaded.dtype).removeprefix("torch."),
        "seed": job.settings.seed,
        **{name: importlib.metadata.version(name) for name in names},
    }


def spread(loaded: Loaded, sentences: Sequence[Sentence]) -> float:
    """The standard deviation of all elements of the embeddings of the subjects' tokens; 0 without subjects.

    KLoB-u does not count, whose sentences have no subject. As in the released causal tracing, which embeds
    the subjects alone instead of in their sentences.
    """
    own = [one for one in sentences if one.subtask != "u"]
    ids = [token for one in own for token in _subject(one)]
    if not ids:
        return 0.0
    tokens, counts = np.unique(ids, return_counts=True)
    embed = loaded.model.get_submodule(loaded.spec.embedding)
    with torch.no_grad():
        rows = embed(torch.tensor(tokens, device=loaded.device)).double().cpu()
    weights = torch.from_numpy(counts).double()[:, None]
    number = weights.sum() * rows.shape[1]
    mean = (rows * weights).sum() / number
    return float(((rows - mean).square() * weights).sum().div(max(number - 1, 1)).sqrt())


def _subject(one: Sentence) -> tuple[int, ...]:
    """The tokens of the subject; none without one."""
    first, behind = one.subject or (0, 0)
    return one.ids[first:behind]


Work = Callable[[Sequence[Sentence], Sequence[int]], Found]


def _worker(job: Job, scale: float) -> Work:
    loaded, hyper = job.loaded, job.hyper
    if hyper is None:
        named = split_function(job.entry.given, "locators")
        assert named is not None
        function = read_function(*named, "locators")

        def own(sentences: Sequence[Sentence], targets: Sequence[int]) -> Found:
            with leaving_alone(loaded, f"locators: {job.entry.given}", f"a locator restores it ({DOCUMENT})"):
                answer = function(loaded, sentences, targets)
            return found_of(job.entry.given, answer, len(sentences), loaded.spec.layers, job.most)

        return own
    context = Context(hyper, scale, job.settings.seed, job.settings.budget)

    def built_in(sentences: Sequence[Sentence], targets: Sequence[int]) -> Found:
        scores = locator_of(hyper.method)(loaded, sentences, targets, context)
        wide = scores.double() if scores.dtype == torch.float64 else scores.float()
        array = wide.cpu().numpy()
        return of_scores(array, hyper["granularity"], loaded.spec.layers, job.most(array.shape[1]))

    return built_in


About = Sequence[tuple[int, float | None, bool]]
"""Of each sentence the target, its probability (None: not finite), and whether it is the likeliest token."""

Part = tuple[Sequence[Sentence], About, Found]
"""Sentences, what is known of their targets, and the results."""


def _located(job: Job, batch: Sequence[Sentence], work: Work) -> list[Part]:
    """Results of one batch, which is halved between two groups where it does not fit into memory."""
    groups: dict[str, list[Sentence]] = {}
    for one in batch:
        groups.setdefault(one.group or one.id, []).append(one)

    def run(chosen: Sequence[list[Sentence]]) -> Part:
        sentences = [one for group in chosen for one in group]
        logits = clean_logits(job.loaded, sentences)
        likeliest = logits.argmax(1).tolist()
        targets = [
            one.answer[0] if one.answer else top for one, top in zip(sentences, likeliest, strict=True)
        ]
        chances = probability(logits, targets).tolist()
        # Of output that is not finite no token is the likeliest, and the answer has no probability.
        about = [
            (target, chance, target == top) if math.isfinite(chance) else (target, None, False)
            for target, chance, top in zip(targets, chances, likeliest, strict=True)
        ]
        return sentences, about, work(sentences, targets)

    return in_batches(list(groups.values()), len(groups), run)


def _check_repeated(job: Job, first: pa.Table, parts: Sequence[Part]) -> None:
    """Raises InputError if a user's locator gives other scores for sentences that it has seen before.

    `first`: the rows of LOCATED of its first batches. `parts`: its first batch, once more.
    """
    loaded = job.loaded
    bound = max(ROUNDING, torch.finfo(loaded.dtype).eps)
    known = {row["sentence"]: row for row in first.to_pylist()}
    for row in (row for part in parts for row in _table(job, *part).to_pylist()):
        before = known[row["sentence"]]
        # Where kernels add in any order, units with almost equal scores may change places.
        same = loaded.device.type != "cpu" or row["top"] == before["top"]
        pairs = [(before[name], row[name]) for name in ("mean", "sd")]
        size = max(abs(one) for one, _ in pairs)
        if not same or any(abs(one - other) > bound * size for one, other in pairs):
            raise InputError(
                f"locators: {job.entry.given}: the sentence {row['sentence']} gets other scores when it is "
                f"located again after others (mean {before['mean']:.6g}, then {row['mean']:.6g}). The "
                "locator keeps something from one call to the next, or draws random numbers that are not "
                f"seeded; let each call depend on what it is given alone ({DOCUMENT})"
            )


def _table(job: Job, sentences: Sequence[Sentence], about: About, found: Found) -> pa.Table:
    tokens = job.loaded.tokenizer.convert_ids_to_tokens([target for target, _, _ in about])
    layers = [None] * len(sentences) if found.layers is None else list(found.layers)
    columns = {
        "sentence": [one.id for one in sentences],
        "subtask": [one.subtask for one in sentences],
        "reason": [None] * len(sentences),
        "target": [target for target, _, _ in about],
        "target_text": tokens,
        "probability": [chance for _, chance, _ in about],
        "known": [known if one.answer else None for one, (_, _, known) in zip(sentences, about, strict=True)],
        "mean": found.mean,
        "sd": found.sd,
        "layers": layers,
        "top": list(found.top),
    }
    arrays = [pa.array(columns[field.name], field.type) for field in LOCATED]
    return pa.table(arrays, schema=LOCATED)
