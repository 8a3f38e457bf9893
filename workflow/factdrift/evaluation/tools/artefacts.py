"""What a method needs besides the model, where people make edits by hand: files of builds, shipped or drawn.

Imports torch.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.evaluation.methods.hyperparameters import Hyper, needs
from factdrift.evaluation.methods.shared import write_prefixes
from factdrift.models.loaded import Loaded
from factdrift.models.moments import read_file
from factdrift.models.names import BUNDLED, folder_of


class Options(NamedTuple):
    """What a user has said of a model and a method."""

    model: str
    revision: str
    models: Path
    """The folder of the bundled ones."""
    trust_remote_code: bool
    template: str
    computing: Mapping[str, Any]
    """How the model is run."""
    values: Mapping[str, Any]
    """Hyper-parameters of the method."""


def find_files(
    model: Loaded,
    hyper: Hyper,
    lacking: Sequence[str],
    results: Path,
    drawn: Path,
    command: Callable[[], str],
) -> dict[str, Path]:
    """Option -> file or folder of what a method needs, of the options `lacking`.

    They are the newest ones that the workflow has computed for the model, or those that ship with a bundled
    one; prefixes are drawn into the folder `drawn`, with the seed of `edit prefixes`. `command`: gives the
    command that makes what is missing. Raises InputError that says what is missing and how to make it.
    """
    files: dict[str, Path] = {}
    of_model = f"*/edit/{folder_of(model.name)}"
    for option, name in needs(hyper).items():
        if option not in lacking:
            continue
        if option == "prefixes":
            files[option] = drawn / name
            write_prefixes(files[option], model, hyper, 0)
            continue
        wanted = [f"{name}/{layer}.safetensors" for layer in hyper.layers] if option == "moments" else [name]
        folders = [
            folder for folder in results.glob(of_model) if all((folder / file).is_file() for file in wanted)
        ]
        newest = max(folders, key=lambda folder: (folder / wanted[0]).stat().st_mtime, default=None)
        if newest is None and option == "moments" and model.name in BUNDLED:
            shipped = [SHIPPED_MODELS / model.name / file for file in wanted]
            # Of these very weights, not of others that were trained under the same name.
            if all(file.is_file() and read_file(file).model == model.digest for file in shipped):
                newest = SHIPPED_MODELS / model.name
        if newest is None:
            raise InputError(
                f"{hyper.method} on {model.name} needs {', '.join(wanted)}, which is not under "
                f"{results}/{of_model}; make it with `{command()}`, and name it with --{option}"
            )
        files[option] = newest / name
    return files


def making(model: Loaded, hyper: Hyper, options: Options) -> str:
    """The command that makes what a method needs, with the user's own hyper-parameters.

    Second moments need the model alone; a trained editor needs the workflow, which has facts to train on.
    """
    if "editor" not in needs(hyper):
        line = ["--model", options.model, "--revision", options.revision, "--models", str(options.models)]
        line += ["--trust-remote-code"] if options.trust_remote_code else []
        line += ["--settings", json.dumps(options.computing), "--sampled"]
        line += ["--layers", *map(str, hyper.layers), "-o", f"moments/{folder_of(model.name)}"]
        return shlex.join(["factdrift", "models", "moments", *line])
    name = model.name if options.revision == "main" else f"{model.name}@{options.revision}"
    config: dict[str, Any] = {"models": [name], "methods": [hyper.own.given if hyper.own else hyper.method]}
    if options.template != "none":
        config["edit"] = {"template": options.template}
    if options.values:
        config[hyper.method] = options.values
    settings = " ".join(shlex.quote(f"{key}={json.dumps(value)}") for key, value in config.items())
    return f"snakemake --cores 2 results/edit_scores.parquet --config {settings}"
