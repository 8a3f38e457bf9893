"""Runs one locator on the sentences of a table, batch by batch and resumable. Imports torch."""

import importlib.metadata
import itertools
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
from factdrift.core.progress import Progress, watched
from factdrift.core.tables import parquet_writer
from factdrift.evaluation.locators.interface import Context, last_logits, probability
from factdrift.evaluation.locators.plan import HYPER, PlannedLocator, Settings, locator_of
from factdrift.evaluation.locators.removal import Removal
from factdrift.evaluation.locators.sentences import LOCATED, REMOVED, Sentence, cut, grouped, tokenized
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

    def __init__(self, loaded: Loaded, locator: PlannedLocator, values: dict[str, Any], settings: Settings):
        """Raises InputError if a value is not valid, or a function of the user has `values`."""
        self.loaded, self.locator, self.settings = loaded, locator, settings
        if locator.function:
            if values:
                raise InputError(
                    f"--set: {locator.source} is a function of your own, without hyper-parameters"
                )
            self._function = read_function(*locator.function, "locators")
            hyper = Hyper(locator.name, loaded.name, locator.source, {})
        else:
            self._function = locator_of(locator.name)
            hyper = read_hyper(locator.name, loaded.name, values, FOLDER, HYPER)
        self.context = Context(hyper, seed=settings.seed, budget=settings.budget)
        self.percent = max(Fraction(str(percent)) for percent in settings.k)
        """How many of the units are kept."""
        self._removals: dict[tuple[str, int], Removal | str] = {}

    def about(self) -> dict[str, Any]:
        """What the scores depend on."""
        loaded, hyper, values = self.loaded, self.context.hyper, dict(self.context.hyper)
        if self.locator.function:
            file, *others = self.locator.files()
            values["code"] = file.read_text(encoding="utf-8")
            if others:
                values["modules"] = {path.name: code_digest([path]) for path in others}
        return {
            "name": self.locator.name,
            "model": loaded.name,
            "revision": loaded.revision,
            "model_digest": loaded.digest,
            "hyper": values,
            "source": hyper.source,
            "token": hyper.get("token", ""),
            "dtype": str(loaded.dtype).removeprefix("torch."),
            "seed": self.settings.seed,
            "parameters": self.settings.parameters,
            **{name: importlib.metadata.version(name) for name in ("torch", "transformers", "factdrift")},
            "subject_spread": self.context.noise_scale,
        }

    def removal(self, granularity: str, units: int) -> Removal | str:
        """What removes units of a kind from the model; a text says why they cannot be removed."""
        if (granularity, units) not in self._removals:
            try:
                listed = how_many(units, self.percent)
                removal = Removal(self.loaded, granularity, units, listed, self.settings.parameters)
                self._removals[granularity, units] = removal
            except InputError as error:
                self._removals[granularity, units] = str(error)
        return self._removals[granularity, units]

    def locate(self, batch: Sequence[Sentence]) -> pa.Table:
        """Results of one batch, which is halved between two groups where it does not fit into memory."""
        groups = grouped(batch)
        table = pa.concat_tables(in_batches(groups, len(groups), self._locate))
        removal = self.removal(table["granularity"][0].as_py(), table["units"][0].as_py())
        if isinstance(removal, str):
            return table
        rows = table.to_pylist()
        left = removal.left(list(itertools.chain(*groups)), rows, self.settings.seed)
        return pa.Table.from_pylist([row | more for row, more in zip(rows, left, strict=True)], schema=_PART)

    def _locate(self, groups: Sequence[list[Sentence]]) -> pa.Table:
        sentences = [sentence for group in groups for sentence in group]
        with torch.no_grad():
            logits = last_logits(self.loaded, sentences)
        likeliest = logits.argmax(1).tolist()
        targets = [
            sentence.answer[0] if sentence.answer else top
            for sentence, top in zip(sentences, likeliest, strict=True)
        ]
        chances = probability(logits, targets).tolist()
        source = self.locator.source
        if self.locator.function:
            with leaving_alone(self.loaded, f"locators: {source}", f"a locator restores it ({DOCUMENT})"):
                answer = self._function(self.loaded, sentences, targets)
        else:
            scores = self._function(self.loaded, sentences, targets, self.context)
            # Some, such as sets of neurons, hide that the output is not finite.
            lost = [not math.isfinite(chance) for chance in chances]
            scores = scores.masked_fill(torch.tensor(lost, device=scores.device)[:, None], math.nan)
            answer = {"granularity": self.context.hyper["granularity"], "scores": scores}
        columns = {
            "sentence": [sentence.id for sentence in sentences],
            "subtask": [sentence.subtask for sentence in sentences],
            "reason": [None] * len(sentences),
            "target": targets,
            "target_text": self.loaded.tokenizer.convert_ids_to_tokens(targets),
            # Of output that is not finite no token is the likeliest, and the answer has no probability.
            "probability": [chance if math.isfinite(chance) else None for chance in chances],
            "known": [
                (math.isfinite(chance) and target == top) if sentence.answer else None
                for sentence, chance, target, top in zip(sentences, chances, targets, likeliest, strict=True)
            ],
            **answer_columns(source, answer, len(sentences), self.loaded.spec.layers, self.percent),
            **dict.fromkeys(REMOVED, [None] * len(sentences)),
        }
        return pa.Table.from_pydict(columns, schema=_PART)

    def check_repeated(self, first: pa.Table, batch: Sequence[Sentence]) -> None:
        """Raises InputError if a user's locator gives other scores for sentences that it has located before.

        `first`: the rows of LOCATED of its first batches. `batch`: the first of them.
        """
        bound = max(ROUNDING, torch.finfo(self.loaded.dtype).eps)
        known = {row["sentence"]: row for row in first.to_pylist()}
        for row in self.locate(batch).to_pylist():
            before = known[row["sentence"]]
            # Where kernels add in any order, units with almost equal scores may change their order.
            same = self.loaded.device.type != "cpu" or row["top"] == before["top"]
            moments, again = ([located["mean"], located["sd"]] for located in (before, row))
            size = np.nanmax(np.abs([*moments, 0]))
            if not same or not np.allclose(moments, again, rtol=0, atol=bound * size, equal_nan=True):
                raise InputError(
                    f"locators: {self.locator.source}: the sentence {row['sentence']} gets other scores when "
                    f"it is located again after others (mean {before['mean']:.6g}, then {row['mean']:.6g}). "
                    "The locator keeps something from one call to the next, or draws random numbers without "
                    f"a seed; let each call depend on its arguments alone ({DOCUMENT})"
                )


def answer_columns(
    source: str, answer: Any, sentences: int, layers: int, percent: Fraction
) -> dict[str, Any]:
    """Columns of a locator's answer for a batch of sentences, checked.

    `granularity`; `units`, their number; `top`, the best `percent` of the units, the best first, and of units
    with equal scores the lower number first; `mean` and `sd` (divided by the number of units) of all units'
    scores, NaN if a score is not finite; `layers`, the sums of the scores of the model's `layers` blocks, or
    None if units are not numbered by block. Raises InputError that says what is wrong.
    """

    def invalid(what: str) -> InputError:
        return InputError(f"locators: {source}: {what} ({DOCUMENT})")

    def numbers(name: str, kinds: str = "biuf", expected: str = "numbers") -> NDArray[Any]:
        value = answer[name]
        if isinstance(value, Tensor):
            value = value.detach().cpu()
            # NumPy has no bfloat16.
            value = value.float() if value.dtype in (torch.bfloat16, torch.float16) else value
        try:
            array = np.asarray(value)
        except (TypeError, ValueError) as error:
            raise invalid(f"{name} cannot be read as an array: {error}") from None
        if array.dtype.kind not in kinds:
            raise invalid(f"{name} has the type {array.dtype}; {expected} are expected")
        return array

    keys = list(answer) if isinstance(answer, Mapping) else []
    if "granularity" not in keys or not {*keys} <= {"granularity", "scores", *_LISTED}:
        returned = f"a dict with {', '.join(map(str, keys))}" if keys else type(answer).__name__
        raise invalid(
            "the function must return a dict with granularity and scores, or with granularity, units, top, "
            f"mean and sd; it returned {returned}"
        )
    granularity = answer["granularity"]
    if granularity not in GRANULARITIES:
        raise invalid(f"granularity: {granularity!r} is none of {', '.join(GRANULARITIES)}")
    sums: list[Any] = [None] * sentences
    if "scores" in answer:
        scores = numbers("scores")
        if scores.ndim != 2 or len(scores) != sentences or not scores.shape[1]:
            raise invalid(f"scores have shape {scores.shape}; {sentences} sentences x units are expected")
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
            raise invalid(f"{', '.join(lacking)} are missing")
        units = answer["units"]
        if not isinstance(units, int | np.integer) or isinstance(units, bool):
            raise invalid(f"units is {units!r}; the number of units is expected")
        top = numbers("top", "iu", "numbers of units")
        mean, sd = (numbers(key).astype(np.float64) for key in ("mean", "sd"))
        most = how_many(int(units), percent)
        if top.ndim != 2 or len(top) != sentences or top.shape[1] < most:
            raise invalid(
                f"top has shape {top.shape}; {sentences} sentences x at least {most} units are expected"
            )
        if mean.shape != (sentences,) or sd.shape != (sentences,):
            raise invalid(f"mean and sd have shapes {mean.shape} and {sd.shape}; ({sentences},) is expected")
        top = top[:, :most]
        check_units(f"locators: {source}: top", top, int(units))
    moments = {"mean": mean, "sd": sd, "layers": sums, "top": list(top)}
    return {"granularity": [granularity] * sentences, "units": [int(units)] * sentences, **moments}


def write_located(
    job: Locating, rows: Sequence[Row], shard: tuple[int, int], parts: Path, output: Path, out_about: Path
) -> None:
    """Locates the sentences of shard k of n; writes LOCATED, and what the scores are as JSON.

    `rows`: all rows of SENTENCES. Batches are cut from all of them, and parts from batches, so neither the
    number of shards nor the size of the parts changes a row. Finished parts are kept in the folder `parts`.
    """
    loaded, settings, locator = job.loaded, job.settings, job.locator
    sentences, lost = aligned(loaded, rows)
    # Each sentence of a batch is run once, and once for each sample of noise.
    runs = 1 + job.context.hyper.get("samples", 0)
    pieces: list[list[list[Sentence]]] = []
    for batch in cut(sentences, max(1, settings.budget // runs)):
        if not pieces or sum(map(len, pieces[-1])) >= settings.batch:
            pieces.append([])
        pieces[-1].append(batch)
    index, count = shard
    numbers = range(index * len(pieces) // count, (index + 1) * len(pieces) // count)
    job.context = replace(job.context, noise_scale=noise_scale(loaded, sentences))
    about = job.about()
    code = [of_module(name) for name in (__name__, *locator.modules())]
    kept = Checkpoints(parts, {"about": about, "settings": settings, "rows": rows, "code": code})
    total = sum(len(batch) for number in numbers for batch in pieces[number])
    progress = Progress(f"{locator.name} on {loaded.name}", total, "sentences")
    with progress:
        for number in numbers:
            if not kept.has(number):
                start = time.perf_counter()
                batches = watched(pieces[number], "batches", "batches")
                table = pa.concat_tables(map(job.locate, batches))
                if loaded.device.type == "cuda":
                    torch.cuda.synchronize(loaded.device)
                costs = {"seconds": time.perf_counter() - start, "peak_mb": peak_mb(loaded.device)}
                kept.write(number, {"located": table}, costs | {"sentences": len(table)})
            progress.advance(sum(map(len, pieces[number])))
    progress.say()
    if locator.function and numbers:
        job.check_repeated(kept.table("located", _PART, numbers[:1]), pieces[numbers[0]][0])
    kinds: set[tuple[str, int]] = set()
    with parquet_writer(output, LOCATED) as writer:
        writer.write_table(pa.Table.from_pylist([] if index else lost, schema=LOCATED))
        for number in numbers:
            table = kept.table("located", _PART, [number])
            kinds.update(zip(*(table[name].to_pylist() for name in ("granularity", "units")), strict=True))
            if len(kinds) > 1:
                raise InputError(f"locators: {locator.source}: not all sentences have equally many units")
            writer.write_table(table.select(LOCATED.names))
    units = dict(zip(("granularity", "units"), *kinds, strict=True)) if kinds else {}
    if kinds and isinstance(reason := job.removal(*kinds.pop()), str):
        units["not_removed"] = reason
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


def noise_scale(loaded: Loaded, sentences: Sequence[Sentence]) -> float:
    """The standard deviation of all elements of the embeddings of the subjects' tokens; 0 without subjects.

    KLoB-u does not count, whose sentences have no subject. As in the released causal tracing, which embeds
    the subjects alone instead of in their sentences.
    """
    asked = (sentence for sentence in sentences if sentence.subtask != "u")
    spans = [(sentence.ids, slice(*sentence.subject)) for sentence in asked if sentence.subject]
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
