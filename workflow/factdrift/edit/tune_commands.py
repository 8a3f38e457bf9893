"""`factdrift edit tune`: search hyper-parameters of a method for a model, and write them down."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from factdrift.core.errors import InputError
from factdrift.core.stage_settings import read_settings
from factdrift.edit.methods.own import entry
from factdrift.edit.methods.plan import needs
from factdrift.edit.run_commands import add_hyper
from factdrift.edit.settings import Settings
from factdrift.models.options import PART, add_computing, add_source, add_template, loaded

if TYPE_CHECKING:
    from factdrift.edit.methods.hyperparameters import Hyper
    from factdrift.edit.tuning import Bench, Trial
    from factdrift.models.loading import Loaded
    from factdrift.models.moments import Moments

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

OTHER = {"train": "test", "test": "train"}
"""Split that is tuned on -> split that is left for the evaluation."""


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("tune", help="search hyper-parameters for a model on held-out updates")
    verb.add_argument("model", help="sample, a folder, or a name that transformers knows")
    add_source(verb)
    verb.add_argument(
        "--models", type=Path, default=Path("results/models"), metavar="FOLDER", help="of the bundled models"
    )
    add_template(verb)
    verb.add_argument("--method", required=True, help="its file says what is tried")
    verb.add_argument(
        "--dataset", type=Path, default=Path("results/wfd_repl.parquet"), metavar="PARQUET", help="of updates"
    )
    verb.add_argument(
        "--split",
        choices=("train", "test", "all"),
        default="train",
        help="the updates that are tuned on; evaluate on the other ones (default %(default)s)",
    )
    verb.add_argument(
        "--without", type=Path, metavar="PARQUET", help="edits of an evaluation, whose subjects are left out"
    )
    verb.add_argument("--edits", type=int, default=32, help="number of updates (default %(default)s)")
    verb.add_argument("--seed", type=int, default=0, help="draws the updates and the method's prefixes")
    verb.add_argument(
        "--layers",
        type=int,
        nargs="+",
        metavar="BLOCK",
        help="last edited blocks to try (default: by method)",
    )
    verb.add_argument("--moments", type=Path, metavar="FOLDER", help="what `models moments` wrote")
    verb.add_argument(
        "--texts", type=Path, nargs="+", metavar="FILE", help="for moments (default: the model writes some)"
    )
    verb.add_argument("--tokens", type=int, help="of these texts (default: as in `models moments`)")
    add_computing(verb, Settings)
    add_hyper(verb)
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="YAML", help="configuration for --configfile"
    )
    verb.set_defaults(run=_tune)


def _is_tuned(path: Path) -> bool:
    """Whether a file is one that `write` has written."""
    return path.is_file() and b"factdrift edit tune, the best of" in path.read_bytes().partition(b"\n")[0]


def _tune(options: argparse.Namespace) -> None:
    from factdrift.core.owned import scratch
    from factdrift.edit.methods.hyperparameters import check_values, read_search

    if options.output.exists() and not _is_tuned(options.output):
        raise InputError(
            f"--output: {options.output} was not written by this command, so it is not replaced; name "
            "another file"
        )
    own = entry(options.method, options.methods)
    check_values(own.name, options.set, own.described_in(options.methods))
    tried = read_search(own.name, own.described_in(options.methods))
    settings = read_settings(options.settings, Settings, PART)
    if settings.regime != "independent":
        raise InputError("edit.regime: hyper-parameters are tuned on independent edits; leave the key out")
    with loaded(options, settings) as model, scratch() as folder:
        from factdrift.edit.methods.hyperparameters import hyper_of
        from factdrift.edit.methods.regimes import check_layers
        from factdrift.edit.tuning import best_of, search

        def trial(values: Mapping[str, Any]) -> Trial:
            hyper = hyper_of(model, options.method, {**options.set, **values}, options.methods)
            check_layers(model, hyper)
            made = bench.trial(hyper)
            print(_row(made, shown), flush=True)
            return made

        start = hyper_of(model, options.method, options.set, options.methods)
        bench = _bench(options, model, settings, start, folder)
        key = "layer" if "layer" in start else "layers"
        blocks = options.layers or tried["shares"]
        if blocks and not start.layers:
            raise InputError(f"edit tune: {own.name}: its values name no block to begin with (key {key})")
        shown = [*([key] if blocks else []), *tried["factors"]]
        print(f"{own.name} on {model.name}, {len(bench.updates):,} updates of {_source(options)}")
        print("".join(f"{name:>18}" for name in (*shown, *_SCORES)))
        bench.prepare()
        trials = list(search(start, tried, model.spec.layers, trial, options.layers or ()))
        best = best_of(trials)
        print(f"the best:\n{_row(best, shown)}")
        for line in write(options, model.name, best, len(trials), len(bench.updates)):
            print(line)


_SCORES = ("efficacy", "generalization", "kept", "score")


def _row(trial: Trial, shown: Sequence[str]) -> str:
    values = [trial.hyper[name] for name in shown]
    cells = [" ".join(map(str, value)) if isinstance(value, list) else f"{value:g}" for value in values]
    cells += [f"{getattr(trial, name):.4f}" for name in _SCORES]
    return "".join(f"{cell:>18}" for cell in cells)


def _source(options: argparse.Namespace) -> str:
    left_out = f" without the subjects of {options.without}" if options.without else ""
    return f"{options.dataset}, split {options.split}, seed {options.seed}{left_out}"


def _bench(
    options: argparse.Namespace, model: Loaded, settings: Settings, start: Hyper, folder: Path
) -> Bench:
    import pyarrow.parquet as pq

    from factdrift.edit.artefacts.prefixes import draw_prefixes
    from factdrift.edit.dataset import write_edits
    from factdrift.edit.job import Job
    from factdrift.edit.probes import read_aligned, read_updates, write_aligned
    from factdrift.edit.tuning import Bench

    if options.without and not options.without.is_file():
        raise InputError(f"--without: {options.without}: no such file; name what `edit dataset` wrote")
    edits, aligned, unaligned = (folder / f"{name}.parquet" for name in ("edits", "aligned", "unaligned"))
    known = pq.read_table(options.without, columns=["subject"]) if options.without else None
    write_edits(
        options.dataset,
        edits,
        ["replacement"],
        split=options.split,
        limit=options.edits,
        fluency_sample=0,
        seed=options.seed,
        without=set(known["subject"].to_pylist()) if known is not None else (),
    )
    write_aligned(model.tokenizer, model.name, edits, aligned, unaligned)
    updates = read_updates(edits, unaligned)
    if not updates:
        raise InputError(f"{options.dataset}: no update can be aligned with the tokens of {model.name}")
    return Bench(
        job=Job(model, read_aligned(aligned), settings),
        updates=updates,
        folder=folder,
        prefixes=draw_prefixes(model, start, options.seed) if "prefixes" in needs(start) else ("",),
        counted=lambda layers: _moments(options, model, layers),
    )


def _moments(options: argparse.Namespace, model: Loaded, layers: Sequence[int]) -> dict[int, Moments]:
    """The second moments of blocks, from `--moments` if they are there, otherwise counted."""
    from factdrift.models.moment_commands import written
    from factdrift.models.moments import count_moments, read_moments
    from factdrift.models.texts import read_texts

    files = {layer: options.moments / f"{layer}.safetensors" for layer in layers} if options.moments else {}
    found = {layer: read_moments(path, model) for layer, path in files.items() if path.is_file()}
    lacking = [layer for layer in layers if layer not in found]
    if lacking:
        texts = read_texts(options.texts) if options.texts else written(model, options.seed)
        found |= count_moments(model, lacking, texts, options.tokens)
    return found


def write(options: argparse.Namespace, model: str, best: Trial, trials: int, updates: int) -> Sequence[str]:
    """Writes the configuration with the best values; returns lines that say so and give an entry.

    The values are those that the defaults of the method do not give, so that they are all that is needed.
    """
    import yaml

    from factdrift.core.owned import atomic_path
    from factdrift.edit.methods.hyperparameters import default_values

    own = entry(options.method, options.methods)
    defaults = default_values(own.name, own.described_in(options.methods))
    values = {
        key: value
        for key, value in best.hyper.items()
        if key not in defaults or value != defaults[key] or key in best.hyper.derived
    }
    scores = ", ".join(f"{name} {getattr(best, name):.4f}" for name in _SCORES)
    about = f"factdrift edit tune, the best of {trials} settings on {updates} updates of {_source(options)}"
    config: dict[str, Any] = {own.name: values}
    other = {"split": OTHER[options.split]} if options.split in OTHER else {}
    if options.template != "none":
        other["template"] = options.template
    if other:
        config = {"edit": other, **config}
    with atomic_path(options.output) as path:
        text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True)
        path.write_text(f"# {model}: {about}\n# {scores}\n{text}", encoding="utf-8")
    shown = yaml.safe_dump(
        [{"names": [model], "source": about, **values}],
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=True,
        width=10**6,
    )
    return [
        f"{options.output}: use it with `snakemake --configfile {options.output}`; or put into `models` of "
        f"{own.values if own.path else f'config/methods/{own.name}.yaml'}:",
        f"  - {shown.strip()[1:-1]}",
    ]
