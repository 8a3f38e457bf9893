"""`factdrift edit align | baseline | run`: what needs a model."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from factdrift.models.options import add_computing, add_model, loaded

if TYPE_CHECKING:
    from factdrift.edit.edits import Artefacts
    from factdrift.edit.job import Job
    from factdrift.models.loading import Loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("align", help="the probes as tokens of a model, and those that cannot be told")
    _tables(verb, "--edits")
    add_model(verb)
    _tables(verb, "--out-aligned", "--out-unaligned")
    verb.set_defaults(run=_align)

    verb = verbs.add_parser("baseline", help="a model without edits on all probes")
    _add_job(verb)
    _tables(verb, "--out-probes", "--out-clozes")
    verb.set_defaults(run=_baseline)

    verb = verbs.add_parser("run", help="makes the edits of one method and shard, and probes each")
    _add_job(verb)
    add_method(verb)
    verb.add_argument("--shard", type=_shard, default=(0, 1), metavar="0-of-1")
    _tables(verb, "--out-probes", "--out-edits")
    verb.add_argument("--out-costs", type=Path, required=True, metavar="JSON")
    verb.set_defaults(run=_run)


def _tables(verb: argparse.ArgumentParser, *options: str) -> None:
    for option in options:
        verb.add_argument(option, type=Path, required=True, metavar="PARQUET")


def _add_job(verb: argparse.ArgumentParser) -> None:
    _tables(verb, "--edits", "--aligned", "--unaligned")
    add_model(verb)
    add_computing(verb)
    verb.add_argument("--batch", type=int, default=64, help="edits at a time (default %(default)s)")
    verb.add_argument("--budget", type=int, default=8192, help="tokens at a time (default %(default)s)")
    verb.add_argument(
        "--length",
        type=int,
        default=100,
        help="tokens of a cloze with its continuation (default %(default)s)",
    )
    verb.add_argument("--regime", choices=("independent", "sequential", "batch"), default="independent")
    verb.add_argument("--group", type=int, default=10, help="edits that meet in the other regimes")
    verb.add_argument("--parts", type=Path, required=True, metavar="FOLDER", help="of finished batches")


def add_hyper(verb: argparse.ArgumentParser) -> None:
    """The options that hold its hyper-parameters."""
    verb.add_argument("--set", type=json.loads, default={}, metavar="JSON", help="hyper-parameters of yours")
    verb.add_argument("--methods", type=Path, default=Path("config/methods"), metavar="FOLDER")


def add_method(verb: argparse.ArgumentParser) -> None:
    """The options that name a method and what it needs."""
    verb.add_argument("--method", required=True)
    add_hyper(verb)
    verb.add_argument("--prefixes", type=Path, metavar="JSON", help="what `edit prefixes` wrote")
    verb.add_argument("--moments", type=Path, nargs="*", default=[], metavar="FILE", help="of each layer")
    verb.add_argument("--mend", type=Path, metavar="FILE", help="MEND's trained editor")


def _shard(text: str) -> tuple[int, int]:
    place, separator, count = text.partition("-of-")
    if not (separator and place.isdigit() and count.isdigit() and int(place) < int(count)):
        raise argparse.ArgumentTypeError(f"{text!r} is no shard such as 0-of-4")
    return int(place), int(count)


@contextmanager
def _job(options: argparse.Namespace) -> Iterator[Job]:
    with loaded(options) as model:
        from factdrift.edit.job import Job, Settings
        from factdrift.edit.probes import read_aligned

        settings = Settings(options.batch, options.budget, options.length, options.regime, options.group)
        yield Job(model, read_aligned(options.aligned), settings)


def _align(options: argparse.Namespace) -> None:
    from factdrift.edit.probes import write_aligned
    from factdrift.models.loading import read_config
    from factdrift.models.names import split_name

    _, tokenizer, _ = read_config(options.model, options.revision, options.models)
    name, _ = split_name(options.model)
    total, lost = write_aligned(tokenizer, name, options.edits, options.out_aligned, options.out_unaligned)
    print(f"{options.out_aligned}: {total:,} sentences, {lost:,} of which cannot be aligned")


def _baseline(options: argparse.Namespace) -> None:
    with _job(options) as job:
        from factdrift.edit.baseline import write_baseline
        from factdrift.edit.probes import read_updates

        updates = read_updates(options.edits, options.unaligned)
        write_baseline(job, updates, options.parts, options.out_probes, options.out_clozes)


def artefacts(options: argparse.Namespace, model: Loaded) -> tuple[Artefacts, dict[str, str | None]]:
    """What the method needs of what is computed once a model, and the digests of these files."""
    from factdrift.edit.edits import Artefacts
    from factdrift.edit.hypernet import read_hypernet
    from factdrift.edit.parts import digest
    from factdrift.edit.prefixes import read_prefixes
    from factdrift.models.moments import read_moments

    moments = [read_moments(path, model) for path in options.moments]
    found = Artefacts(
        prefixes=read_prefixes(options.prefixes, model) if options.prefixes else ("",),
        moments={one.layer: one for one in moments},
        mend=read_hypernet(options.mend, model) if options.mend else None,
    )
    files = {"moments": options.moments, "prefixes": [options.prefixes], "mend": [options.mend]}
    return found, {name: digest([path for path in paths if path]) for name, paths in files.items()}


def _run(options: argparse.Namespace) -> None:
    with _job(options) as job:
        from factdrift.edit.hyper import read_hyper
        from factdrift.edit.probes import read_updates
        from factdrift.edit.run import write_run
        from factdrift.tables import atomic_path

        hyper = read_hyper(options.method, job.loaded.name, options.set, options.methods)
        costs = write_run(
            job,
            read_updates(options.edits, options.unaligned),
            hyper,
            *artefacts(options, job.loaded),
            options.shard,
            options.parts,
            options.out_probes,
            options.out_edits,
        )
        account = {
            "model": job.loaded.name,
            "method": hyper.method,
            "device": job.device_name(),
            "threads": options.threads,
            "hyper": dict(hyper),
            "source": hyper.source,
            "batches": costs,
        }
        with atomic_path(options.out_costs) as path:
            path.write_text(json.dumps(account, indent=1) + "\n", encoding="utf-8")
