"""`factdrift edit export-adapter`: make edits and write them as LoRA adapters or as whole models."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from factdrift.core.errors import InputError
from factdrift.edit.run_commands import add_method
from factdrift.edit.try_commands import check_given, find_artefacts
from factdrift.models.options import add_computing, add_model, add_template, loaded

if TYPE_CHECKING:
    from factdrift.edit.methods.hyperparameters import Hyper
    from factdrift.edit.methods.interface import Edit, Edited
    from factdrift.models.loading import Loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

BATCH = 16
"""Edits that are made at a time."""


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser(
        "export-adapter", help="make edits and write them as adapters, or as whole models"
    )
    verb.add_argument("prompt", nargs="?", help="a sentence up to its object, with the subject in it")
    verb.add_argument("new_object", nargs="?")
    verb.add_argument("--subject", help="as written in the prompt")
    verb.add_argument(
        "--edit", nargs="+", default=[], metavar="ID", help="edits of the workflow, instead of a prompt"
    )
    verb.add_argument(
        "--edits", type=Path, metavar="PARQUET", help="their table (default: the newest of the results)"
    )
    verb.add_argument(
        "--regime",
        choices=("independent", "sequential", "batch"),
        default="independent",
        help="several edits: a folder for each, or one change for all (default %(default)s)",
    )
    verb.add_argument(
        "--results", type=Path, default=Path("results"), metavar="FOLDER", help="results of the workflow"
    )
    add_model(verb)
    add_template(verb)
    add_computing(verb)
    add_method(verb)
    form = verb.add_mutually_exclusive_group()
    form.add_argument("--full", action="store_true", help="whole models in the layout of transformers")
    form.add_argument(
        "--rank", type=int, default=0, help="approximate changes of full matrices by this rank (SVD)"
    )
    verb.add_argument(
        "--precision",
        choices=("float32", "weights"),
        default="float32",
        help="of an adapter's numbers: as computed, or in the weights' type (default %(default)s)",
    )
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_export)


def _export(options: argparse.Namespace) -> None:
    if options.output.exists():
        raise InputError(f"--output: {options.output} exists; name a folder that does not, or remove it")
    if options.rank < 0:
        raise InputError(f"--rank: {options.rank}: a rank is 1 or more")
    if bool(options.edit) == bool(options.prompt):
        raise InputError("name either edits of the workflow (--edit), or a prompt and a new object")
    if not options.edit:
        check_given("export-adapter", options.prompt, options.new_object, options.subject)
    with loaded(options) as model:
        from factdrift.edit.methods.hyperparameters import hyper_of
        from factdrift.edit.methods.interface import Edit
        from factdrift.edit.methods.regimes import check_layers

        hyper = hyper_of(model, options.method, options.set, options.methods)
        check_layers(model, hyper)
        if options.edit:
            edits = _chosen(options)
        else:
            edits = [Edit("edit", options.prompt, options.subject, options.new_object)]
        for line in _write(options, model, hyper, edits):
            print(line)


def _chosen(options: argparse.Namespace) -> list[Edit]:
    """The edits that are named, in the order of their names in the options."""
    from factdrift.edit.probes import read_updates

    path = options.edits
    if path is None:
        found = sorted(options.results.glob("*/edit/edits.parquet"), key=lambda each: each.stat().st_mtime)
        if not found:
            raise InputError(f"--edits: no {options.results}/*/edit/edits.parquet; name a table of edits")
        path = found[-1]
    edits = {update.edit.id: update.edit for update in read_updates(path)}
    for name in options.edit:
        if name not in edits:
            raise InputError(f"--edit: {path} has no edit {name!r}; it has such as {next(iter(edits), '')!r}")
    return [edits[name] for name in dict.fromkeys(options.edit)]


def _write(options: argparse.Namespace, model: Loaded, hyper: Hyper, edits: Sequence[Edit]) -> list[str]:
    """Makes the edits and writes all folders, or none; returns the lines to print."""
    from factdrift.core.owned import atomic_path
    from factdrift.edit.methods.regimes import edited

    given, _ = find_artefacts(options, hyper, model)
    alone = options.regime == "independent"
    groups = [edits[at : at + BATCH] for at in range(0, len(edits), BATCH)] if alone else [edits]
    lines: list[str] = []
    with atomic_path(options.output) as whole:
        for group in groups:
            made = edited(model, group, hyper, given, options.regime)
            for place, reason in sorted(made.failed.items()):
                raise InputError(f"{hyper.method}: the edit {group[place].id} failed: {reason}")
            if not alone:
                lines += _one(options, model, hyper, group, made, 0, whole)
                continue
            for place, edit in enumerate(group):
                folder = whole / edit.id if len(edits) > 1 else whole
                lines += _one(options, model, hyper, [edit], made, place, folder)
    what = "whole model" if options.full else "adapter"
    count = len(edits) if alone else 1
    return [*lines, f"{options.output}: {count} {what}{'s' * (count > 1)}"]


def _one(
    options: argparse.Namespace,
    model: Loaded,
    hyper: Hyper,
    edits: Sequence[Edit],
    made: Edited,
    place: int,
    folder: Path,
) -> list[str]:
    """Writes one change; returns what is to be said of its error."""
    from factdrift.edit.adapters import about, adapter_of, write_adapter, write_model

    said: dict[str, Any] = about(model, hyper, edits)
    if options.full:
        write_model(model, made.deltas, place, folder, said)
        return []
    found = adapter_of(made.deltas, place, options.rank)
    write_adapter(model, found, folder, said, precision=options.precision)
    return [
        f"{edits[0].id}: {name}: rank {options.rank}, relative error {error:.3g} (Frobenius)"
        for name, error in found.errors.items()
    ]
