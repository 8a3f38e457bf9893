"""`factdrift edit tune`: searches hyper-parameters of a method on updates that its evaluation does not use.

Imports torch.
"""

import hashlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, harmonic_mean
from typing import Any, NamedTuple

import pyarrow.parquet as pq
import yaml

from factdrift.core.commands import runnable
from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.owned import check_unchanged, scratch
from factdrift.core.progress import Progress
from factdrift.evaluation.methods.hyperparameters import (
    Hyper,
    block_of_share,
    check_values,
    default_values,
    needs,
    read_hyper,
    read_search,
)
from factdrift.evaluation.methods.interface import Artefacts, Prepared
from factdrift.evaluation.methods.own import entry
from factdrift.evaluation.methods.shared import draw_prefixes
from factdrift.evaluation.questions.clozes import NEIGHBORS, read_edits
from factdrift.evaluation.questions.question import Benchmark
from factdrift.evaluation.questions.updates import Choice, write_edits
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.settings import Settings, check_regime
from factdrift.evaluation.states.edited import Condition, check_layers
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.loaded import Loaded
from factdrift.models.moments import read_layers
from factdrift.models.sampled import sampled_moments

_MARK = "factdrift edit tune, the best of"
"""By which a file is known as one that was written here."""
_SCORES = ("efficacy", "generalization", "kept", "score")


class Tuning(NamedTuple):
    """What is searched: the values of a method on held-out updates."""

    method: str
    """As the user named it."""
    methods: Path
    """The folder of the methods' files."""
    set: Mapping[str, Any]
    """The user's own hyper-parameters."""
    dataset: Path
    edits: int
    """Updates, of the split train; 0 for all."""
    seed: int
    layers: Sequence[int]
    """The last edited blocks to try; empty for those of the method's file."""
    settings: Settings
    template: str
    output: Path


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
    """A loaded model and held-out updates with their probes, on which settings are tried."""

    tuning: Tuning
    model: Loaded
    updates: Benchmark
    folder: Path
    """For tables on the way; has edits.parquet."""
    prefixes: tuple[str, ...]

    def ask(self, prepared: Prepared, name: str) -> Files:
        """Asks the model in a state; returns the files of its tables."""
        files = Files.under(self.folder, name)
        condition = Condition(prepared, self.tuning.settings.regime)
        run = Run.of(Session(self.model, self.tuning.settings), self.updates, [condition], 0)
        # No score of a trial is of what the model writes, which would take as long as all else.
        evaluate(replace(run, ways=("loglik",)), files)
        return files

    def trial(self, hyper: Hyper) -> Trial:
        """Makes and probes all edits with the hyper-parameters."""
        check_layers(self.model, hyper)
        layers = hyper.layers if "moments" in needs(hyper) else []
        files = sampled_moments(self.model, layers, self.tuning.seed) if layers else {}
        artefacts = Artefacts(prefixes=self.prefixes, moments=read_layers(files, self.model))
        tables = [Files.under(self.folder, "none"), self.ask(Prepared(hyper, artefacts), "trial")]
        answers, made, states = zip(*(table[1:4] for table in tables), strict=True)
        edits, scores, joined = (self.folder / f"{name}.parquet" for name in ("edits", "scores", "joined"))
        runs = Runs(edits, answers, made, states, models=[self.model.name], methods=[hyper.method])
        write_scores(runs, scores, joined)
        return judged(hyper, pq.read_table(scores).to_pylist(), pq.read_table(joined).to_pylist())


def judged(hyper: Hyper, scores: Sequence[Mapping[str, Any]], probes: Sequence[Mapping[str, Any]]) -> Trial:
    """The trial with rows of SCORES, one for each edit, and of PROBES."""

    def mean(column: str) -> float:
        values = [0.0 if row["failed"] is not None else row[column] for row in scores]
        return fmean([value for value in values if value is not None] or [0.0])

    before, left = 0.0, 0.0
    for probe in probes:
        lost = probe["reason"] == NOT_FINITE
        if probe["role"] not in NEIGHBORS or probe["logprob_before"] is None:
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
) -> list[Trial]:
    """Every trial: of each candidate for the (last) edited block, then, at the best one, of further values.

    `start`: the values to begin with. `search`: `shares` of the blocks, and key -> `factors` of its value.
    `blocks`: their number. `trial`: makes a trial with these values in the place of the start's. `layers`:
    candidates for the last edited block instead of `shares`. Without either, the start's blocks are kept. No
    setting is tried twice.
    """
    key = "layer" if "layer" in start else "layers"
    candidates = set(layers) or {block_of_share(share, blocks) for share in search["shares"]}
    if not layers and candidates:
        candidates.add(start.layers[-1])
    tried: list[dict[str, Any]] = [{}]
    if candidates:
        first = {block: max(0, block - len(start.layers) + 1) for block in sorted(candidates)}
        tried = [
            {key: block if key == "layer" else list(range(lowest, block + 1))}
            for block, lowest in first.items()
        ]
    trials = [trial(values) for values in tried]
    for other, factors in search["factors"].items():
        best = max(trials, key=lambda trial: trial.rank)
        kept = {name: best.hyper[name] for name in ((key,) if candidates else ()) + (*search["factors"],)}
        for factor in factors:
            values = {**kept, other: float(f"{start[other] * factor:.6g}")}
            if values not in tried:
                tried.append(values)
                trials.append(trial(values))
    return trials


def check_tuning(tuning: Tuning) -> None:
    """Raises InputError if nothing can be searched, or the output has been changed since it was written."""
    check_unchanged(tuning.output, _is_as_written)
    check_values(tuning.method, tuning.set, tuning.methods)
    read_search(tuning.method, tuning.methods)
    check_regime(tuning.settings.regime)


def tune(tuning: Tuning, model: Loaded) -> None:
    """Searches hyper-parameters for a model, and writes the best ones to the output."""
    tried = read_search(tuning.method, tuning.methods)
    with scratch() as folder:
        start = _hyper(tuning, model, {})
        edits = folder / "edits.parquet"
        choice = Choice(split="train", limit=tuning.edits, seed=tuning.seed, fluency_sample=0)
        write_edits(tuning.dataset, edits, choice)
        benchmark = read_edits(edits)
        updates = benchmark.without(excluded(model, benchmark))
        if not updates.edits:
            raise InputError(f"{tuning.dataset}: no update can be aligned with the tokens of {model.name}")
        bench = Bench(tuning, model, updates, folder, ("",))
        if "prefixes" in needs(start):
            bench.prefixes = draw_prefixes(model, start, tuning.seed)
        key = "layer" if "layer" in start else "layers"
        blocks = tuning.layers or tried["shares"]
        if blocks and not start.layers:
            raise InputError(f"edit tune: {start.method}: its values name no block to begin with (key {key})")
        shown = [*([key] if blocks else []), *tried["factors"]]

        def trial(values: Mapping[str, Any]) -> Trial:
            made = bench.trial(_hyper(tuning, model, values))
            print(_row(made, shown), flush=True)
            progress.advance()
            return made

        about = f"{len(bench.updates.edits):,} updates of {tuning.dataset}, split train, seed {tuning.seed}"
        print(f"{start.method} on {model.name}, {about}")
        print("".join(f"{name:>18}" for name in (*shown, *_SCORES)))
        bench.ask(Prepared(Hyper("none", model.name, "", {})), "none")
        # The start's block may be tried beside those of `shares`, and no setting is tried twice.
        most = len(blocks) + (not tuning.layers) + sum(map(len, tried["factors"].values()))
        with Progress("settings", most, "settings") as progress:
            trials = search(start, tried, model.spec.layers, trial, tuning.layers)
        best = max(trials, key=lambda trial: trial.rank)
        print(f"the best:\n{_row(best, shown)}")
        _write(tuning, model.name, best, f"{_MARK} {len(trials)} settings on {about}")


def _hyper(tuning: Tuning, model: Loaded, values: Mapping[str, Any]) -> Hyper:
    """The hyper-parameters with some values in the place of the user's own."""
    users = {**tuning.set, **values}
    return read_hyper(tuning.method, model.name, users, tuning.methods, sizes=lambda: model.spec)


def _row(trial: Trial, shown: Sequence[str]) -> str:
    values = [trial.hyper[name] for name in shown]
    cells = [" ".join(map(str, value)) if isinstance(value, list) else f"{value:g}" for value in values]
    cells += [f"{getattr(trial, name):.4f}" for name in _SCORES]
    return "".join(f"{cell:>18}" for cell in cells)


def _is_as_written(path: Path) -> bool:
    """Whether the first line of a file has the digest of the others, as `_write` writes it."""
    head, _, values = path.read_bytes().partition(b"\n")
    return _MARK.encode() in head and head.endswith(hashlib.sha256(values).hexdigest()[:12].encode())


def _write(tuning: Tuning, model: str, best: Trial, about: str) -> None:
    """Writes the configuration with the best values; prints how to use it, and an entry.

    The values are those that the defaults of the method do not give, so that they are all that is needed.
    """
    own = entry(tuning.method, tuning.methods)
    defaults = default_values(tuning.method, tuning.methods)
    values = {
        key: value
        for key, value in best.hyper.items()
        if key not in defaults or value != defaults[key] or key in best.hyper.derived
    }
    scores = ", ".join(f"{name} {getattr(best, name):.4f}" for name in _SCORES)
    template = {} if tuning.template == "none" else {"template": tuning.template}
    regime, group = tuning.settings.regime, tuning.settings.group
    # How many edits are in one model belongs to what was tuned.
    together = {} if regime == "independent" else {"regime": regime, "group": group}
    config = {"edit": {"split": "test", **template, **together}, own.name: values}
    form: dict[str, Any] = {"sort_keys": False, "allow_unicode": True}
    text = f"# {scores}\n{yaml.safe_dump(config, **form)}"
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    write_text(f"# {model}: {about}; digest {digest}\n{text}", tuning.output)
    known = [{"names": [model], "source": about, **values}]
    shown = yaml.safe_dump(known, default_flow_style=True, width=10**6, **form)
    index = own.files()[-1] if own.path else f"config/methods/{own.name}.yaml"
    use = runnable(f"`snakemake --configfile {tuning.output}`")
    print(f"{tuning.output}: use it with {use}; or put into `models` of {index}:\n  - {shown.strip()[1:-1]}")
