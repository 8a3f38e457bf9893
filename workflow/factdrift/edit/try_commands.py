"""`factdrift edit try`: make one edit and show the model before and after it."""

from __future__ import annotations

import argparse
import json
import shlex
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from factdrift.core.errors import CannotEdit, InputError
from factdrift.edit.methods.plan import needs
from factdrift.edit.run_commands import add_method, artefacts
from factdrift.models.alignment import find_subject
from factdrift.models.names import folder_of
from factdrift.models.options import add_computing, add_model, add_template, loaded

if TYPE_CHECKING:
    from factdrift.edit.methods.hyperparameters import Hyper
    from factdrift.edit.methods.interface import Artefacts
    from factdrift.models.loading import Loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("try", help="make one edit and show the model before and after it")
    verb.add_argument("prompt", help="a sentence up to its object, with the subject in it")
    verb.add_argument("new_object")
    verb.add_argument("--subject", required=True, help="as written in the prompt")
    verb.add_argument("--old-object", default="", help="(default: from the dataset)")
    verb.add_argument("--paraphrase", action="append", default=[], metavar="TEXT", help="may be repeated")
    verb.add_argument(
        "--dataset",
        type=Path,
        default=Path("results/wfd_repl.parquet"),
        metavar="PARQUET",
        help="for neighbours",
    )
    verb.add_argument(
        "--results", type=Path, default=Path("results"), metavar="FOLDER", help="results of the workflow"
    )
    add_model(verb)
    add_template(verb)
    add_computing(verb)
    add_method(verb)
    verb.set_defaults(run=_try)


def _try(options: argparse.Namespace) -> None:
    check_given("try", options.prompt, options.new_object, options.subject)
    with loaded(options) as model:
        from factdrift.edit.attempt import attempt, find_around
        from factdrift.edit.methods.hyperparameters import hyper_of
        from factdrift.edit.methods.interface import Edit
        from factdrift.edit.methods.regimes import check_layers

        hyper = hyper_of(model, options.method, options.set, options.methods)
        if not hyper.record.alone:
            raise CannotEdit(
                f"edit try: {hyper.method} compares the edits of a group with each other, and one alone has "
                "nothing to be compared with; run it with edit.regime batch or sequential, or write one "
                "change for several edits with `factdrift edit export-adapter --regime batch`"
            )
        check_layers(model, hyper)
        around = find_around(options.dataset, options.prompt, options.subject)
        around = replace(
            around,
            obsolete=options.old_object or around.obsolete,
            paraphrases=options.paraphrase or around.paraphrases,
        )
        found, _ = find_artefacts(options, hyper, model)
        if hyper.derived:
            print(f"{hyper.method}: {hyper.source}")
        edit = Edit("try", options.prompt, options.subject, options.new_object, around.obsolete)
        for line in attempt(model, edit, hyper, found, around):
            print(line)


def check_given(verb: str, prompt: str, new_object: str | None, subject: str | None) -> None:
    """Raises InputError if new object or subject are missing, or the prompt does not name its subject."""
    for name, text in (("new object", new_object), ("subject", subject)):
        if not (text or "").strip():
            raise InputError(f"edit {verb}: the {name} is empty; give its name as a text would have it")
    if find_subject(prompt, subject or "") < 0:
        raise InputError(f"--subject: {subject!r} does not occur in the prompt; write it as there")


def find_artefacts(
    options: argparse.Namespace, hyper: Hyper, model: Loaded
) -> tuple[Artefacts, dict[str, str | None]]:
    """What a method needs besides the model, as `artefacts` reads it.

    Options that are not given are the newest files that the workflow has computed for the model. Prefixes
    that there are none of are drawn, with the seed of `edit prefixes`. Raises InputError that says what else
    is missing and how to make it.
    """
    from factdrift.edit.artefacts.prefixes import write_prefixes

    with tempfile.TemporaryDirectory(prefix="factdrift-") as folder:
        _find_files(options, hyper, model)
        if "prefixes" in needs(hyper) and not options.prefixes:
            options.prefixes = Path(folder, "prefixes.json")
            write_prefixes(options.prefixes, model, hyper, 0)
        return artefacts(options, hyper, model)


def _find_files(options: argparse.Namespace, hyper: Hyper, model: Loaded) -> None:
    """Fills in the options with files of the workflow."""
    for option, name in needs(hyper).items():
        if getattr(options, option):
            continue
        files = [f"{name}/{layer}.safetensors" for layer in hyper.layers] if option == "moments" else [name]
        pattern = f"*/edit/{folder_of(model.name)}"
        folders = [
            each for each in options.results.glob(pattern) if all((each / one).is_file() for one in files)
        ]
        if not folders and option == "prefixes":
            continue
        if not folders:
            raise InputError(
                f"{hyper.method} on {model.name} needs {', '.join(files)}, which is not under "
                f"{options.results}/{pattern}; make it with `{_making(options, hyper, model)}`, and name it "
                f"with --{option}"
            )
        setattr(options, option, max(folders, key=lambda each: (each / files[0]).stat().st_mtime) / name)


def _making(options: argparse.Namespace, hyper: Hyper, model: Loaded) -> str:
    """The command that makes what a method needs, with the user's own hyper-parameters.

    Second moments need the model alone; MEND needs the workflow, which has facts to train on.
    """
    if "mend" not in needs(hyper):
        given = ["--model", options.model, "--revision", options.revision, "--models", str(options.models)]
        given += ["--trust-remote-code"] if options.trust_remote_code else []
        given += ["--settings", options.settings] if options.settings != "{}" else []
        given += ["--sampled", "--layers", *map(str, hyper.layers)]
        return shlex.join(
            ["factdrift", "models", "moments", *given, "-o", f"moments/{folder_of(model.name)}"]
        )
    named = model.name if options.revision == "main" else f"{model.name}@{options.revision}"
    config: dict[str, Any] = {"models": [named], "methods": [hyper.own.given if hyper.own else hyper.method]}
    if options.template != "none":
        config["edit"] = {"template": options.template}
    if options.set:
        config[hyper.method] = options.set
    told = " ".join(shlex.quote(f"{key}={json.dumps(value)}") for key, value in config.items())
    return f"snakemake --cores 2 results/edit_scores.parquet --config {told}"
