"""Searches the layer and other hyper-parameters of a method on updates that its evaluation does not use.

First every candidate for the (last) edited block is tried with the values to begin with, then, at the best
block, each further hyper-parameter in turn. Imports torch.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, harmonic_mean
from typing import Any

import pyarrow.parquet as pq

from factdrift.evaluation.methods.derived import block_at
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Prepared
from factdrift.evaluation.methods.plan import needs
from factdrift.evaluation.questions.question import Benchmark
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.session import Session
from factdrift.evaluation.states.telling import Telling
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.moments import Moments


@dataclass(frozen=True)
class Trial:
    """The scores of one setting; all shares are from 0 to 1."""

    hyper: Hyper
    efficacy: float
    """Share of edits that make the new object more probable than the old one; failed edits count as 0."""
    generalization: float
    """The same over the other sentences of the update, averaged within an edit first."""
    kept: float
    """The probability of the facts that must not change, as far as it is left, over what it was."""
    difference: float
    """Mean difference of the probabilities of new and old object, in all sentences of the update."""

    @property
    def score(self) -> float:
        """The harmonic mean of efficacy, generalization and what is kept."""
        return harmonic_mean([self.efficacy, self.generalization, self.kept])

    @property
    def rank(self) -> tuple[float, float]:
        """Greater is better; settings with the same score are compared by the difference."""
        return self.score, self.difference


@dataclass
class Bench:
    """A loaded model, held-out updates with their probes, and what the method needs."""

    session: Session
    updates: Benchmark
    folder: Path
    """For tables on the way; has edits.parquet."""
    prefixes: tuple[str, ...]
    counted: Callable[[Sequence[int]], Mapping[int, Moments]]
    """Counts, or reads, the second moments of blocks."""
    _moments: dict[int, Moments] = field(default_factory=dict)

    def prepare(self) -> None:
        """Asks the unedited model."""
        none = Prepared(Hyper("none", self.session.loaded.name, "", {}))
        self._ask(none, "none")

    def trial(self, hyper: Hyper) -> Trial:
        """Makes and probes all edits with the hyper-parameters."""
        self._moments = {layer: each for layer, each in self._moments.items() if layer in hyper.layers}
        if "moments" in needs(hyper):
            lacking = [layer for layer in hyper.layers if layer not in self._moments]
            self._moments |= self.counted(lacking) if lacking else {}
        artefacts = Artefacts(prefixes=self.prefixes, moments=self._moments)
        files = [Files.under(self.folder, "none"), self._ask(Prepared(hyper, artefacts), "trial")]
        scores, joined = (self.folder / f"{name}.parquet" for name in ("scores", "joined"))
        runs = Runs(
            edits=self.folder / "edits.parquet",
            answers=[each.answers for each in files],
            made=[each.edits for each in files],
            states=[each.states for each in files],
            models=[self.session.loaded.name],
            methods=[hyper.method],
        )
        write_scores(runs, scores, joined)
        return judged(hyper, pq.read_table(scores).to_pylist(), pq.read_table(joined).to_pylist())

    def _ask(self, prepared: Prepared, name: str) -> Files:
        telling = Telling(prepared, self.session.settings.regime)
        files = Files.under(self.folder, name)
        evaluate(Run.of(self.session, self.updates, [telling], 0), files)
        return files


def judged(hyper: Hyper, scores: Sequence[Mapping[str, Any]], probes: Iterable[Mapping[str, Any]]) -> Trial:
    """The trial with rows of SCORES, one for each edit, and of PROBES."""

    def mean(column: str) -> float:
        found = [0.0 if row["failed"] is not None else row[column] for row in scores]
        return fmean([value for value in found if value is not None] or [0.0])

    before, left = 0.0, 0.0
    for probe in probes:
        lost = probe["reason"] == NOT_FINITE
        if probe["role"] not in ("nearest", "random") or probe["logprob_before"] is None:
            continue
        if lost or probe["logprob"] is not None:
            chance = math.exp(probe["logprob_before"])
            before += chance
            left += 0.0 if lost else min(chance, math.exp(probe["logprob"]))
    return Trial(
        hyper=hyper,
        efficacy=mean("efficacy_s"),
        generalization=mean("generalization_s"),
        kept=left / before if before else 1.0,
        difference=(mean("efficacy_d") + mean("generalization_d")) / 2,
    )


def search(
    start: Hyper,
    search: Mapping[str, Any],
    blocks: int,
    trial: Callable[[dict[str, Any]], Trial],
    layers: Sequence[int] = (),
) -> Iterator[Trial]:
    """Yields every trial as it ends; the best one is that with the greatest `rank`, the first of equals.

    `start`: the values to begin with. `search`: `shares` of the blocks, and key -> `factors` of its value.
    `blocks`: their number. `trial`: makes a trial with these values in the place of the start's. `layers`:
    candidates for the last edited block instead of `shares`. Without either, the start's blocks are kept. No
    setting is tried twice.
    """
    key = "layer" if "layer" in start else "layers"
    candidates = set(layers) or {block_at(share, blocks) for share in search["shares"]}
    if not layers and candidates:
        candidates.add(start.layers[-1])
    best: Trial | None = None
    tried: list[dict[str, Any]] = []

    def better(values: dict[str, Any]) -> Iterator[Trial]:
        nonlocal best
        if values in tried:
            return
        tried.append(values)
        made = trial(values)
        if best is None or made.rank > best.rank:
            best = made
        yield made

    for block in sorted(candidates):
        lowest = max(0, block - len(start.layers) + 1)
        yield from better({key: block if key == "layer" else list(range(lowest, block + 1))})
    if not candidates:
        yield from better({})
    for other, factors in search["factors"].items():
        assert best is not None
        values = {name: best.hyper[name] for name in ((key,) if candidates else ()) + (*search["factors"],)}
        for factor in factors:
            yield from better({**values, other: float(f"{start[other] * factor:.6g}")})
