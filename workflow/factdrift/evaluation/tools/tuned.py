"""`factdrift edit tune`: the search on a loaded model, its printed table and the configuration it writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import yaml

from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.owned import scratch
from factdrift.evaluation.methods.artefacts.prefixes import draw_prefixes
from factdrift.evaluation.methods.hyperparameters import (
    Hyper,
    check_values,
    default_values,
    hyper_of,
    read_search,
)
from factdrift.evaluation.methods.own import entry
from factdrift.evaluation.methods.plan import needs
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.updates import Choice, write_edits
from factdrift.evaluation.session import Session, excluded
from factdrift.evaluation.states.edited import check_layers
from factdrift.evaluation.tools.tuning import Bench, Trial, search
from factdrift.models.loaded import Loaded
from factdrift.models.moments import Moments, count_moments, read_layers
from factdrift.models.texts import read_texts, written

if TYPE_CHECKING:
    from factdrift.evaluation.tools.jobs import Tune

OTHER = {"train": "test", "test": "train"}
"""Split that is tuned on -> split that is left for the evaluation."""


def _is_tuned(path: Path) -> bool:
    """Whether a file is one that `write` has written."""
    return path.is_file() and b"factdrift edit tune, the best of" in path.read_bytes().partition(b"\n")[0]


def tune(job: Tune) -> None:
    """Searches hyper-parameters and writes the best ones to the job's output."""

    if job.output.exists() and not _is_tuned(job.output):
        raise InputError(
            f"--output: {job.output} was not written by this command, so it is not replaced; name "
            "another file"
        )
    own = entry(job.method, job.methods)
    check_values(own.name, job.set, own.described_in(job.methods))
    tried = read_search(own.name, own.described_in(job.methods))
    if job.settings.regime != "independent":
        raise InputError("edit.regime: hyper-parameters are tuned on independent edits; leave the key out")
    with job.loaded() as model, scratch() as folder:

        def trial(values: Mapping[str, Any]) -> Trial:
            hyper = hyper_of(model, job.method, {**job.set, **values}, job.methods)
            check_layers(model, hyper)
            made = bench.trial(hyper)
            print(_row(made, shown), flush=True)
            return made

        start = job.hyper_of(model, job.method)
        bench = _bench(job, model, start, folder)
        key = "layer" if "layer" in start else "layers"
        blocks = job.layers or tried["shares"]
        if blocks and not start.layers:
            raise InputError(f"edit tune: {own.name}: its values name no block to begin with (key {key})")
        shown = [*([key] if blocks else []), *tried["factors"]]
        print(f"{own.name} on {model.name}, {len(bench.updates.edits):,} updates of {_source(job)}")
        print("".join(f"{name:>18}" for name in (*shown, *_SCORES)))
        bench.prepare()
        trials = list(search(start, tried, model.spec.layers, trial, job.layers or ()))
        best = max(trials, key=lambda each: each.rank)
        print(f"the best:\n{_row(best, shown)}")
        for line in write(job, model.name, best, len(trials), len(bench.updates.edits)):
            print(line)


_SCORES = ("efficacy", "generalization", "kept", "score")


def _row(trial: Trial, shown: Sequence[str]) -> str:
    values = [trial.hyper[name] for name in shown]
    cells = [" ".join(map(str, value)) if isinstance(value, list) else f"{value:g}" for value in values]
    cells += [f"{getattr(trial, name):.4f}" for name in _SCORES]
    return "".join(f"{cell:>18}" for cell in cells)


def _source(job: Tune) -> str:
    left_out = f" without the subjects of {job.without}" if job.without else ""
    return f"{job.dataset}, split {job.split}, seed {job.seed}{left_out}"


def _bench(job: Tune, model: Loaded, start: Hyper, folder: Path) -> Bench:
    if job.without and not job.without.is_file():
        raise InputError(f"--without: {job.without}: no such file; name what `edit dataset` wrote")
    edits = folder / "edits.parquet"
    choice = Choice(split=job.split, limit=job.edits, seed=job.seed, fluency_sample=0)
    if job.without:
        known = pq.read_table(job.without, columns=["subject"])
        choice = choice._replace(without=set(known["subject"].to_pylist()))
    write_edits(job.dataset, edits, choice)
    benchmark = read_edits(edits)
    updates = benchmark.without(excluded(model, benchmark))
    if not updates.edits:
        raise InputError(f"{job.dataset}: no update can be aligned with the tokens of {model.name}")
    return Bench(
        session=Session(model, job.settings),
        updates=updates,
        folder=folder,
        prefixes=draw_prefixes(model, start, job.seed) if "prefixes" in needs(start) else ("",),
        counted=lambda layers: _moments(job, model, layers),
    )


def _moments(job: Tune, model: Loaded, layers: Sequence[int]) -> dict[int, Moments]:
    """The second moments of blocks, from `--moments` if they are there, otherwise counted."""
    files = {layer: job.moments / f"{layer}.safetensors" for layer in layers} if job.moments else {}
    found = read_layers({layer: path for layer, path in files.items() if path.is_file()}, model)
    lacking = [layer for layer in layers if layer not in found]
    if lacking:
        texts = read_texts(job.texts) if job.texts else written(model, job.seed)
        found |= count_moments(model, lacking, texts, job.tokens)
    return found


def write(job: Tune, model: str, best: Trial, trials: int, updates: int) -> Sequence[str]:
    """Writes the configuration with the best values; returns lines that say so and give an entry.

    The values are those that the defaults of the method do not give, so that they are all that is needed.
    """

    own = entry(job.method, job.methods)
    defaults = default_values(own.name, own.described_in(job.methods))
    values = {
        key: value
        for key, value in best.hyper.items()
        if key not in defaults or value != defaults[key] or key in best.hyper.derived
    }
    scores = ", ".join(f"{name} {getattr(best, name):.4f}" for name in _SCORES)
    about = f"factdrift edit tune, the best of {trials} settings on {updates} updates of {_source(job)}"
    config: dict[str, Any] = {own.name: values}
    other = {"split": OTHER[job.split]} if job.split in OTHER else {}
    if job.template != "none":
        other["template"] = job.template
    if other:
        config = {"edit": other, **config}
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
    write_text(f"# {model}: {about}\n# {scores}\n{text}", job.output)
    shown = yaml.safe_dump(
        [{"names": [model], "source": about, **values}],
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=True,
        width=10**6,
    )
    return [
        f"{job.output}: use it with `snakemake --configfile {job.output}`; or put into `models` of "
        f"{own.values if own.path else f'config/methods/{own.name}.yaml'}:",
        f"  - {shown.strip()[1:-1]}",
    ]
