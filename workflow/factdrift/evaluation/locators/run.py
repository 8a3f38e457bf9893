"""Runs one locator on the sentences of a table, batch by batch and resumable. Imports torch."""

import importlib.metadata
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import write_json
from factdrift.core.fingerprint import of_module
from factdrift.core.functions import code_digest, read_function
from factdrift.core.paths import LOCATORS as FOLDER
from factdrift.core.progress import Progress
from factdrift.core.tables import parquet_writer
from factdrift.evaluation.locators.interface import Context, last_logits, probability
from factdrift.evaluation.locators.plan import HYPER, Entry, Settings, locator_of
from factdrift.evaluation.locators.sentences import LOCATED, Sentence, cut, grouped, tokenized
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.session import peak_mb
from factdrift.evaluation.tables import Checkpoints
from factdrift.klob.scoring.inputs import GRANULARITIES, check_units
from factdrift.klob.scoring.selection import best_units, how_many
from factdrift.models.alignment import AlignmentError
from factdrift.models.devices import in_batches
from factdrift.models.loaded import Loaded
from factdrift.models.snapshot import ROUNDING, leaving_alone

_PART = LOCATED.append(pa.field("granularity", pa.string())).append(pa.field("units", pa.int64()))
"""Rows of LOCATED with what all results of a locator must agree on."""

DOCUMENT = 'docs/locating.md, "Your own locator"'
_LISTED = ("units", "top", "mean", "sd")


class Locating:
    """A locator on a loaded model, with the values that the user has set; it locates batches of sentences."""

    def __init__(self, loaded: Loaded, entry: Entry, values: dict[str, Any], settings: Settings):
        """Raises InputError if a value is not valid, or `values` are given for a function of the user."""
        self.loaded, self.entry, self.settings = loaded, entry, settings
        if entry.function:
            if values:
                raise InputError(f"--set: {entry.given} is a function of your own, without hyper-parameters")
            self._function = read_function(*entry.function, "locators")
            hyper = Hyper(entry.name, loaded.name, entry.given, {})
        else:
            self._function = locator_of(entry.name)
            hyper = read_hyper(entry.name, loaded.name, values, FOLDER, HYPER)
        self.context = Context(hyper, seed=settings.seed, budget=settings.budget)

    def about(self) -> dict[str, Any]:
        """What the scores depend on."""
        loaded, hyper, values = self.loaded, self.context.hyper, dict(self.context.hyper)
        if self.entry.function:
            file, *others = self.entry.files()
            values["code"] = file.read_text(encoding="utf-8")
            if others:
                values["modules"] = {path.name: code_digest([path]) for path in others}
        return {
            "name": self.entry.name,
            "model": loaded.name,
            "revision": loaded.revision,
            "model_digest": loaded.digest,
            "hyper": values,
            "source": hyper.source,
            "token": hyper.get("token", ""),
            "dtype": str(loaded.dtype).removeprefix("torch."),
            "seed": self.settings.seed,
            **{name: importlib.metadata.version(name) for name in ("torch", "transformers", "factdrift")},
            "subject_spread": self.context.spread,
        }

    def locate(self, batch: Sequence[Sentence]) -> list[pa.Table]:
        """Results of one batch, which is halved between two groups where it does not fit into memory."""
        groups = grouped(batch)
        return in_batches(groups, len(groups), self._locate)

    def _locate(self, groups: Sequence[list[Sentence]]) -> pa.Table:
        sentences = [one for group in groups for one in group]
        with torch.no_grad():
            logits = last_logits(self.loaded, sentences)
        likeliest = logits.argmax(1).tolist()
        targets = [
            one.answer[0] if one.answer else top for one, top in zip(sentences, likeliest, strict=True)
        ]
        chances = probability(logits, targets).tolist()
        given = self.entry.given
        if self.entry.function:
            with leaving_alone(self.loaded, f"locators: {given}", f"a locator restores it ({DOCUMENT})"):
                answer = self._function(self.loaded, sentences, targets)
        else:
            scores = self._function(self.loaded, sentences, targets, self.context)
            # Some, such as sets of neurons, hide that the output is not finite.
            lost = [not math.isfinite(chance) for chance in chances]
            scores = scores.masked_fill(torch.tensor(lost, device=scores.device)[:, None], math.nan)
            answer = {"granularity": self.context.hyper["granularity"], "scores": scores}
        percent = max(Fraction(str(each)) for each in self.settings.k)
        columns = {
            "sentence": [one.id for one in sentences],
            "subtask": [one.subtask for one in sentences],
            "reason": [None] * len(sentences),
            "target": targets,
            "target_text": self.loaded.tokenizer.convert_ids_to_tokens(targets),
            # Of output that is not finite no token is the likeliest, and the answer has no probability.
            "probability": [chance if math.isfinite(chance) else None for chance in chances],
            "known": [
                (math.isfinite(chance) and target == top) if one.answer else None
                for one, chance, target, top in zip(sentences, chances, targets, likeliest, strict=True)
            ],
            **found_of(given, answer, len(sentences), self.loaded.spec.layers, percent),
        }
        return pa.Table.from_pydict(columns, schema=_PART)

    def check_repeated(self, first: pa.Table, batch: Sequence[Sentence]) -> None:
        """Raises InputError if a user's locator gives other scores for sentences that it has seen before.

        `first`: the rows of LOCATED of its first batches. `batch`: the first of them.
        """
        bound = max(ROUNDING, torch.finfo(self.loaded.dtype).eps)
        known = {row["sentence"]: row for row in first.to_pylist()}
        for row in pa.concat_tables(self.locate(batch)).to_pylist():
            before = known[row["sentence"]]
            # Where kernels add in any order, units with almost equal scores may change places.
            same = self.loaded.device.type != "cpu" or row["top"] == before["top"]
            one, other = ([found["mean"], found["sd"]] for found in (before, row))
            size = np.nanmax(np.abs([*one, 0]))
            if not same or not np.allclose(one, other, rtol=0, atol=bound * size, equal_nan=True):
                raise InputError(
                    f"locators: {self.entry.given}: the sentence {row['sentence']} gets other scores when it "
                    f"is located again after others (mean {before['mean']:.6g}, then {row['mean']:.6g}). The "
                    "locator keeps something from one call to the next, or draws random numbers that are not "
                    f"seeded; let each call depend on what it is given alone ({DOCUMENT})"
                )


def found_of(given: str, answer: Any, sentences: int, layers: int, percent: Fraction) -> dict[str, Any]:
    """Columns of what a locator gives for a batch of sentences, checked.

    `granularity`; `units`, their number; `top`, the best `percent` of the units, the best first, and of units
    with equal scores the lower number first; `mean` and `sd` (divided by the number of units) of all units'
    scores, NaN if one is not finite; `layers`, the sums of the scores of each of the model's `layers` blocks,
    or None if units are not numbered by block. Raises InputError that says what is wrong.
    """

    def wrong(what: str) -> InputError:
        return InputError(f"locators: {given}: {what} ({DOCUMENT})")

    def numbers(name: str, kinds: str = "biuf", expected: str = "numbers") -> NDArray[Any]:
        value = answer[name]
        if isinstance(value, Tensor):
            value = value.detach().cpu()
            # NumPy has no bfloat16.
            value = value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
        try:
            found = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise wrong(f"{name} cannot be read as an array: {error}") from None
        if found.dtype.kind not in kinds:
            raise wrong(f"{name} has the type {found.dtype}; {expected} are expected")
        return found

    keys = list(answer) if isinstance(answer, Mapping) else []
    if "granularity" not in keys or not {*keys} <= {"granularity", "scores", *_LISTED}:
        returned = f"a dict with {', '.join(map(str, keys))}" if keys else type(answer).__name__
        raise wrong(
            "the function must return a dict with granularity and scores, or with granularity, units, top, "
            f"mean and sd; it returned {returned}"
        )
    granularity = answer["granularity"]
    if granularity not in GRANULARITIES:
        raise wrong(f"granularity: {granularity!r} is none of {', '.join(GRANULARITIES)}")
    sums: list[Any] = [None] * sentences
    if "scores" in answer:
        scores = numbers("scores")
        if scores.ndim != 2 or len(scores) != sentences or not scores.shape[1]:
            raise wrong(f"scores have shape {scores.shape}; {sentences} sentences x units are expected")
        units = scores.shape[1]
        most = how_many(units, percent)
        top = np.tile(np.arange(most, dtype=np.int32), (sentences, 1))
        mean, sd = np.full(sentences, np.nan), np.full(sentences, np.nan)
        wide = scores.astype(np.float64)
        for row in np.flatnonzero(np.isfinite(scores).all(1)):
            top[row] = best_units(scores[row], most)
            mean[row], sd[row] = wide[row].mean(), wide[row].std()
        if not units % layers:
            sums = list(wide.reshape(sentences, layers, -1).sum(2))
    else:
        if lacking := [key for key in _LISTED if key not in answer]:
            raise wrong(f"{', '.join(lacking)} are missing")
        units = answer["units"]
        if not isinstance(units, int | np.integer) or isinstance(units, bool):
            raise wrong(f"units is {units!r}; the number of units is expected")
        top = numbers("top", "iu", "numbers of units")
        mean, sd = (numbers(key).astype(np.float64) for key in ("mean", "sd"))
        most = how_many(int(units), percent)
        if top.ndim != 2 or len(top) != sentences or top.shape[1] < most:
            raise wrong(
                f"top has shape {top.shape}; {sentences} sentences x at least {most} units are expected"
            )
        if mean.shape != (sentences,) or sd.shape != (sentences,):
            raise wrong(f"mean and sd have shapes {mean.shape} and {sd.shape}; ({sentences},) is expected")
        top = top[:, :most]
        check_units(f"locators: {given}: top", top, int(units))
    moments = {"mean": mean, "sd": sd, "layers": sums, "top": list(top)}
    return {"granularity": [granularity] * sentences, "units": [int(units)] * sentences, **moments}


def write_located(
    job: Locating, rows: Sequence[Row], shard: tuple[int, int], parts: Path, output: Path, out_about: Path
) -> None:
    """Locates the sentences of shard k of n; writes LOCATED, and what the scores are as JSON.

    `rows`: all rows of SENTENCES. Batches are cut from all of them, and parts from batches, so neither the
    number of shards nor the size of the parts changes a row. Finished parts are kept in the folder `parts`.
    """
    loaded, settings, entry = job.loaded, job.settings, job.entry
    sentences, lost = aligned(loaded, rows)
    # Each sentence of a batch is run once, and once for each sample of noise.
    runs = 1 + job.context.hyper.get("samples", 0)
    pieces: list[list[list[Sentence]]] = []
    for batch in cut(sentences, max(1, settings.budget // runs)):
        if not pieces or sum(map(len, pieces[-1])) >= settings.batch:
            pieces.append([])
        pieces[-1].append(batch)
    place, count = shard
    numbers = range(place * len(pieces) // count, (place + 1) * len(pieces) // count)
    job.context = replace(job.context, spread=spread(loaded, sentences))
    about = job.about()
    code = [of_module(name) for name in (__name__, *entry.modules())]
    kept = Checkpoints(parts, {"about": about, "settings": settings, "rows": rows, "code": code})
    total = sum(len(batch) for number in numbers for batch in pieces[number])
    progress = Progress(f"{entry.name} on {loaded.name}", total, "sentences")
    for number in numbers:
        if not kept.has(number):
            start = time.perf_counter()
            table = pa.concat_tables(part for batch in pieces[number] for part in job.locate(batch))
            if loaded.device.type == "cuda":
                torch.cuda.synchronize(loaded.device)
            costs = {"seconds": time.perf_counter() - start, "peak_mb": peak_mb(loaded.device)}
            kept.write(number, {"located": table}, costs | {"sentences": len(table)})
        progress.advance(sum(map(len, pieces[number])))
    progress.say()
    if entry.function and numbers:
        job.check_repeated(kept.table("located", _PART, numbers[:1]), pieces[numbers[0]][0])
    kinds: set[tuple[str, int]] = set()
    with parquet_writer(output, LOCATED) as writer:
        writer.write_table(pa.Table.from_pylist([] if place else lost, schema=LOCATED))
        for number in numbers:
            table = kept.table("located", _PART, [number])
            kinds.update(zip(*(table[name].to_pylist() for name in ("granularity", "units")), strict=True))
            if len(kinds) > 1:
                raise InputError(f"locators: {entry.given}: not all sentences have equally many units")
            writer.write_table(table.select(LOCATED.names))
    units = dict(zip(("granularity", "units"), *kinds, strict=True)) if kinds else {}
    run = {"device": str(loaded.device), "threads": torch.get_num_threads(), "batches": kept.costs(numbers)}
    write_json({**about, **units, **run}, out_about)
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
