"""`factdrift edit try`: one edit, before and after."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from factdrift.edit.run_commands import add_method, artefacts
from factdrift.models.names import folder_of
from factdrift.models.options import add_computing, add_model, loaded
from factdrift.settings import InputError

if TYPE_CHECKING:
    from factdrift.edit.hyper import Hyper

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("try", help="make one edit and look at it: before, after, neighbours")
    verb.add_argument("prompt", help="a sentence up to its object, with the subject in it")
    verb.add_argument("new_object")
    verb.add_argument("--subject", required=True, help="as it stands in the prompt")
    verb.add_argument("--old-object", default="", help="(default: what the dataset knows)")
    verb.add_argument("--paraphrase", action="append", default=[], metavar="TEXT", help="may be repeated")
    verb.add_argument(
        "--dataset",
        type=Path,
        default=Path("results/wfd_repl.parquet"),
        metavar="PARQUET",
        help="for neighbours",
    )
    verb.add_argument(
        "--results", type=Path, default=Path("results"), metavar="FOLDER", help="where a workflow has run"
    )
    add_model(verb)
    add_computing(verb)
    add_method(verb)
    verb.set_defaults(run=_try)


def _try(options: argparse.Namespace) -> None:
    if options.subject not in options.prompt:
        raise InputError(f"--subject: {options.subject!r} does not stand in the prompt; write it as there")
    with loaded(options) as model:
        from factdrift.edit.attempt import attempt, find_around
        from factdrift.edit.edits import Edit
        from factdrift.edit.hyper import read_hyper

        hyper = read_hyper(options.method, model.name, options.set, options.methods)
        around = find_around(options.dataset, options.prompt, options.subject)
        around = replace(
            around,
            obsolete=options.old_object or around.obsolete,
            paraphrases=options.paraphrase or around.paraphrases,
        )
        find_artefacts(options, hyper, model.name)
        edit = Edit("try", options.prompt, options.subject, options.new_object, around.obsolete)
        for line in attempt(model, edit, hyper, artefacts(options, model)[0], around):
            print(line)


def find_artefacts(options: argparse.Namespace, hyper: Hyper, name: str) -> None:
    """Completes the options by what a workflow has computed for the model, the newest of each kind.

    Raises InputError that says what is missing and how to make it.
    """
    wanted = {"prefixes": [f"prefixes.{hyper.method}.json"] if "prefixes" in hyper else []}
    layers = hyper["layers"] if "layers" in hyper else [hyper.get("layer")]
    wanted["moments"] = (
        [f"moments/{layer}.safetensors" for layer in layers] if hyper.get("covariance") else []
    )
    wanted["mend"] = ["mend.safetensors"] if hyper.method == "mend" else []
    for option, files in wanted.items():
        if getattr(options, option) or not files:
            continue
        pattern = f"*/edit/{folder_of(name)}"
        folders = [
            each for each in options.results.glob(pattern) if all((each / one).is_file() for one in files)
        ]
        if not folders:
            raise InputError(
                f"{hyper.method} on {name} needs {', '.join(files)}, which is not under "
                f"{options.results}/{pattern}; make it with `snakemake --cores 2 "
                "results/edit_scores.parquet "
                f"--config models=[{name}] methods=[{hyper.method}]`, or name it with --{option}"
            )
        newest = max(folders, key=lambda folder: (folder / files[0]).stat().st_mtime)
        found = [newest / one for one in files]
        setattr(options, option, found if option == "moments" else found[0])
