"""`factdrift edit align | baseline | run`: tokenize probes, run the unedited model, run a method."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.paths import METHODS
from factdrift.core.stage_settings import read_settings
from factdrift.edit.methods.own import entry
from factdrift.edit.methods.plan import needs
from factdrift.edit.settings import Settings, check_regime
from factdrift.models.options import PART, add_computing, add_model, add_template, loaded, named

if TYPE_CHECKING:
    from factdrift.edit.job import Job
    from factdrift.edit.methods.hyperparameters import Hyper
    from factdrift.edit.methods.interface import Artefacts
    from factdrift.models.loading import Loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser(
        "align", help="tokenize the probes for a model and list those that cannot be aligned"
    )
    _tables(verb, "--edits")
    add_model(verb)
    add_template(verb)
    _tables(verb, "--out-aligned", "--out-unaligned")
    verb.set_defaults(run=_align)

    verb = verbs.add_parser("baseline", help="run the unedited model on all probes")
    add_job(verb)
    _tables(verb, "--out-probes", "--out-clozes")
    verb.set_defaults(run=_baseline)

    verb = verbs.add_parser("run", help="make the edits of one method and shard, and probe each")
    add_job(verb)
    add_method(verb)
    verb.add_argument("--shard", type=read_shard, default=(0, 1), metavar="0-of-1")
    _tables(verb, "--out-probes", "--out-edits")
    verb.add_argument("--out-costs", type=Path, required=True, metavar="JSON")
    verb.add_argument("--ability", type=Path, metavar="JSON", help="what `edit ability` wrote")
    verb.add_argument("--out-adapters", type=Path, metavar="FOLDER", help="the edits as LoRA adapters")
    add_strict(verb)
    verb.set_defaults(run=_run)


def _tables(verb: argparse.ArgumentParser, *options: str) -> None:
    for option in options:
        verb.add_argument(option, type=Path, required=True, metavar="PARQUET")


def add_job(verb: argparse.ArgumentParser, kind: type[Settings] = Settings) -> None:
    """Adds the options of a job that probes a model."""
    _tables(verb, "--edits", "--aligned", "--unaligned")
    add_model(verb)
    add_template(verb)
    add_computing(verb, kind)
    verb.add_argument("--parts", type=Path, required=True, metavar="FOLDER", help="of finished batches")


def add_hyper(verb: argparse.ArgumentParser) -> None:
    """Adds the options that hold hyper-parameters."""
    verb.add_argument(
        "--set",
        type=read_values,
        default={},
        metavar="JSON",
        help="your hyper-parameters as a JSON object; keys: config/methods/METHOD.yaml",
    )
    verb.add_argument("--methods", type=Path, default=METHODS, metavar="FOLDER", help="of the methods' files")


def read_values(text: str) -> dict[str, Any]:
    """A JSON object, such as hyper-parameters."""
    try:
        values = json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise argparse.ArgumentTypeError(f'{text!r} is no JSON object such as {{"layer": 3}}')
    return values


def add_method(verb: argparse.ArgumentParser) -> None:
    """Adds the options that name a method and what it needs."""
    verb.add_argument(
        "--method", required=True, help="a name (config/methods), PATH.py:FUNCTION or an entry point"
    )
    add_hyper(verb)
    verb.add_argument("--prefixes", type=Path, metavar="JSON", help="what `edit prefixes` wrote")
    verb.add_argument("--moments", type=Path, metavar="FOLDER", help="what `models moments` wrote")
    verb.add_argument("--mend", type=Path, metavar="FILE", help="MEND's trained editor")


def add_strict(verb: argparse.ArgumentParser) -> None:
    """Adds the option that forbids skipping."""
    verb.add_argument(
        "--strict",
        action="store_true",
        help="fail if the method cannot edit the model; else it is skipped",
    )


def read_shard(text: str) -> tuple[int, int]:
    """`0-of-4` as (0, 4)."""
    place, separator, count = text.partition("-of-")
    if not (separator and place.isdigit() and count.isdigit() and int(place) < int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a shard such as 0-of-4")
    return int(place), int(count)


@contextmanager
def job_of(options: argparse.Namespace, kind: type[Settings] = Settings) -> Iterator[Job]:
    """The job that the options of `add_job` describe, with its model loaded.

    Raises InputError if `--aligned` was not made with the model's tokens and the template, or the regime is
    that of other jobs.
    """
    settings = read_settings(options.settings, kind, PART)
    if kind is Settings:
        check_regime(settings)
    with loaded(options, settings) as model:
        from factdrift.edit.job import Job
        from factdrift.edit.probes import check_aligned, read_aligned

        sentences = read_aligned(options.aligned)
        check_aligned(sentences, model, options.aligned)
        yield Job(model, sentences, settings)


def _align(options: argparse.Namespace) -> None:
    from factdrift.edit.probes import write_aligned, write_none_aligned
    from factdrift.models.loading import read_config
    from factdrift.models.names import split_name
    from factdrift.models.templated import templated

    source = (options.revision, options.models, options.trust_remote_code)
    try:
        _, tokenizer, _ = read_config(options.model, *source)
    except Unsupported as error:
        print(f"{options.out_aligned}: skipped: {error}")
        write_none_aligned(options.out_aligned, options.out_unaligned)
        return
    name, _ = split_name(options.model)
    tokenizer = templated(tokenizer, options.template, name)
    total, lost = write_aligned(tokenizer, name, options.edits, options.out_aligned, options.out_unaligned)
    print(f"{options.out_aligned}: {total:,} sentences, {lost:,} of which cannot be aligned")


def _baseline(options: argparse.Namespace) -> None:
    from factdrift.edit.baseline import write_baseline, write_nothing
    from factdrift.edit.probes import read_updates

    try:
        with job_of(options) as job:
            updates = read_updates(options.edits, options.unaligned)
            write_baseline(job, updates, options.parts, options.out_probes, options.out_clozes)
    except Unsupported as error:
        print(f"{options.out_probes}: skipped: {error}")
        write_nothing(options.out_probes, options.out_clozes)


def artefacts(
    options: argparse.Namespace, hyper: Hyper, model: Loaded
) -> tuple[Artefacts, dict[str, str | None]]:
    """Reads the files that a method needs besides the model; returns them and their digests.

    Raises CannotEdit if a job has written a reason in the place of a file, and InputError if one is missing.
    """
    from factdrift.edit.artefacts.prefixes import read_prefixes
    from factdrift.edit.checkpoints import digest
    from factdrift.edit.methods.interface import Artefacts
    from factdrift.edit.methods.mend_editor import read_hypernet
    from factdrift.models.moments import check_counted, read_moments

    wanted = needs(hyper)
    for option in wanted:
        if getattr(options, option) is None:
            raise InputError(f"{hyper.method} on {model.name} needs a file: name it with --{option}")
    layers = hyper.layers if "moments" in wanted else []
    if layers:
        check_counted(options.moments, layers)
    moments = {layer: options.moments / f"{layer}.safetensors" for layer in layers}
    found = Artefacts(
        prefixes=read_prefixes(options.prefixes, model) if "prefixes" in wanted else ("",),
        moments={layer: read_moments(path, model) for layer, path in moments.items()},
        mend=read_hypernet(options.mend, model) if "mend" in wanted else None,
    )
    files = {"moments": list(moments.values())}
    files |= {name: [getattr(options, name)] if name in wanted else [] for name in ("prefixes", "mend")}
    return found, {name: digest(paths) for name, paths in files.items()}


def _run(options: argparse.Namespace) -> None:
    from factdrift.edit.ability import read_ability
    from factdrift.edit.run import write_nothing

    def nothing() -> None:
        write_nothing(options.out_probes, options.out_edits)
        if options.out_adapters:
            options.out_adapters.mkdir(parents=True, exist_ok=True)

    def made() -> Iterator[dict[str, Any]]:
        with job_of(options) as job:
            if options.ability:
                job.ability = read_ability(options.ability, job.loaded)
            yield {"device": job.device_name()}
            yield _made(options, job)

    write_account(options, made(), nothing)


def write_account(
    options: argparse.Namespace, parts: Iterator[dict[str, Any]], nothing: Callable[[], None]
) -> None:
    """Writes `--out-costs`: what was run, and `parts`, as far as they came.

    If one of them raises CannotEdit and `--strict` is not given, calls `nothing` to write empty tables, and
    the account has the reason.
    """
    from factdrift.core.owned import atomic_path

    account: dict[str, Any] = {"model": named(options), "method": entry(options.method, options.methods).name}
    account |= {"device": "", "threads": options.threads}
    try:
        for part in parts:
            account |= part
    except CannotEdit as error:
        if options.strict:
            raise
        print(f"{account['method']} on {account['model']}: skipped: {error}")
        nothing()
        account |= {"skipped": str(error), "batches": []}
    with atomic_path(options.out_costs) as path:
        path.write_text(json.dumps(account, indent=1) + "\n", encoding="utf-8")


def _made(options: argparse.Namespace, job: Job) -> dict[str, Any]:
    """Makes and probes the edits of `edit run`; returns hyper-parameters and costs.

    Raises CannotEdit if the method cannot edit the model.
    """
    from factdrift.edit.methods.hyperparameters import hyper_of
    from factdrift.edit.probes import read_updates
    from factdrift.edit.run import write_run

    hyper = hyper_of(job.loaded, options.method, options.set, options.methods)
    print(f"{hyper.method} on {job.loaded.name}: {hyper.source}", flush=True)
    found, digests = artefacts(options, hyper, job.loaded)
    costs = write_run(
        job,
        read_updates(options.edits, options.unaligned),
        hyper,
        found,
        digests,
        options.shard,
        options.parts,
        options.out_probes,
        options.out_edits,
        out_adapters=options.out_adapters,
    )
    return {
        "hyper": dict(hyper),
        "source": hyper.source,
        "derived": list(hyper.derived),
        "moments": ", ".join(dict.fromkeys(one.texts for one in found.moments.values())) or None,
        "batches": costs,
    }
