"""What a method that is tried by hand needs besides the model: files of the workflow, or drawn prefixes."""

from __future__ import annotations

import dataclasses
import json
import shlex
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts
from factdrift.evaluation.methods.plan import needs
from factdrift.evaluation.methods.shared import write_prefixes
from factdrift.models.loaded import Loaded
from factdrift.models.names import BUNDLED, folder_of
from factdrift.models.running import Computing

if TYPE_CHECKING:
    from factdrift.evaluation.tools.jobs import TriesMethod


def find_artefacts(job: TriesMethod, hyper: Hyper, model: Loaded) -> Artefacts:
    """What a method needs besides the model.

    Files that the job does not name are the newest ones that the workflow has computed for the model, or
    those that ship with a bundled one. Prefixes of which there are none, or none that were drawn as the
    hyper-parameters say, are drawn, with the seed of `edit prefixes`. Raises InputError that says what else
    is missing and how to make it.
    """
    with tempfile.TemporaryDirectory(prefix="factdrift-") as folder:
        files: dict[str, Any] = dict(_files(job, hyper, model))
        if "prefixes" in needs(hyper) and not (job.prefixes or "prefixes" in files):
            files["prefixes"] = Path(folder, "prefixes.json")
            write_prefixes(files["prefixes"], model, hyper, 0)
        return dataclasses.replace(job, **files).artefacts(hyper, model)


def _files(job: TriesMethod, hyper: Hyper, model: Loaded) -> Iterator[tuple[str, Path]]:
    """Field -> file of the workflow, for what the job does not name."""
    for option, name in needs(hyper).items():
        if getattr(job, option):
            continue
        files = [f"{name}/{layer}.safetensors" for layer in hyper.layers] if option == "moments" else [name]
        pattern = f"*/edit/{folder_of(model.name)}"
        folders = [each for each in job.results.glob(pattern) if all((each / one).is_file() for one in files)]
        if option == "prefixes":
            folders = [each for each in folders if not _drawn_otherwise(each / name, hyper)]
        if folders:
            yield option, max(folders, key=lambda each: (each / files[0]).stat().st_mtime) / name
        elif option == "moments" and _ships(model, files):
            yield option, SHIPPED_MODELS / model.name / name
        elif option != "prefixes":
            raise InputError(
                f"{hyper.method} on {model.name} needs {', '.join(files)}, which is not under "
                f"{job.results}/{pattern}; make it with `{_making(job, hyper, model)}`, and name it "
                f"with --{option}"
            )


def _drawn_otherwise(path: Path, hyper: Hyper) -> bool:
    """Whether a file of prefixes says that it was drawn with other hyper-parameters."""
    try:
        drawn = json.loads(path.read_text(encoding="utf-8")).get("drawn")
    except (ValueError, AttributeError):
        return False  # read_prefixes says what is wrong with it
    return drawn not in (None, hyper["prefixes"])


def _ships(model: Loaded, files: Iterable[str]) -> bool:
    """Whether the second moments of these very weights are among those that ship."""
    from factdrift.models.moments import read_file

    paths = [SHIPPED_MODELS / model.name / each for each in files] if model.name in BUNDLED else []
    return bool(paths) and all(path.is_file() and read_file(path).model == model.digest for path in paths)


def _making(job: TriesMethod, hyper: Hyper, model: Loaded) -> str:
    """The command that makes what a method needs, with the user's own hyper-parameters.

    Second moments need the model alone; MEND needs the workflow, which has facts to train on.
    """
    if "mend" not in needs(hyper):
        given = ["--model", job.model, "--revision", job.revision, "--models", str(job.models)]
        given += ["--trust-remote-code"] if job.trust_remote_code else []
        if job.settings != read_settings("{}", Computing, "edit"):
            given += ["--settings", msgspec.json.encode(job.settings).decode()]
        given += ["--sampled", "--layers", *map(str, hyper.layers)]
        return shlex.join(
            ["factdrift", "models", "moments", *given, "-o", f"moments/{folder_of(model.name)}"]
        )
    named = model.name if job.revision == "main" else f"{model.name}@{job.revision}"
    config: dict[str, Any] = {"models": [named], "methods": [hyper.own.given if hyper.own else hyper.method]}
    if job.template != "none":
        config["edit"] = {"template": job.template}
    if job.set:
        config[hyper.method] = job.set
    told = " ".join(shlex.quote(f"{key}={json.dumps(value)}") for key, value in config.items())
    return f"snakemake --cores 2 results/edit_scores.parquet --config {told}"
