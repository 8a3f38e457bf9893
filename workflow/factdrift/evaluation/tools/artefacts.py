"""What commands by hand need to make edits besides the model: files of builds, shipped or drawn ones."""

from __future__ import annotations

import dataclasses
import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Key
from factdrift.core.owned import scratch
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.evaluation.methods.hyperparameters import Hyper, needs
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.methods.record import is_unedited
from factdrift.evaluation.probing import RunsMethod
from factdrift.evaluation.settings import Settings
from factdrift.models.names import BUNDLED, folder_of
from factdrift.models.running import Template

if TYPE_CHECKING:
    from factdrift.evaluation.states.edited import Condition
    from factdrift.models.loaded import Loaded


class TriesMethod(RunsMethod):
    """A command that makes edits with files of the workflow."""

    template: Template
    settings: Annotated[Settings, Key("edit")]
    results: Annotated[Path, "results of the workflow", Flag("FOLDER")] = Path("results")

    def prepared(self, model: Loaded, method: str) -> Prepared:
        """A method with what it needs besides the model: named files, or those of builds.

        Raises InputError that says what is missing, or if the method cannot edit the model.
        """
        from factdrift.evaluation.states.edited import check_layers

        hyper = self.hyper_of(model, method)
        check_layers(model, hyper)
        lacking = {option: name for option, name in needs(hyper).items() if not getattr(self, option)}
        with scratch() as folder:
            files: Any = {
                name: self._file(name, file, model, hyper, folder) for name, file in lacking.items()
            }
            return Prepared(hyper, dataclasses.replace(self, **files).artefacts(hyper, model))

    def condition(self, model: Loaded, state: str) -> Condition:
        """The condition in which questions are asked in a state."""
        from factdrift.evaluation.states.edited import Condition

        if is_unedited(state):
            return Condition(Prepared(Hyper(state, model.name, "", {})), self.settings.regime)
        return Condition(self.prepared(model, state), self.settings.regime)

    def _file(self, option: str, name: str, model: Loaded, hyper: Hyper, drawn: Path) -> Path | None:
        """The file or folder of an option, which a method needs under this name.

        It is the newest one that the workflow has computed for the model, or that which ships with a bundled
        one; None for second moments if there are none. Prefixes are drawn into the folder `drawn`, with the
        seed of `edit prefixes`. Raises InputError that says what is missing and how to make it.
        """
        from factdrift.evaluation.methods.shared import write_prefixes
        from factdrift.models.moments import read_file

        if option == "prefixes":
            write_prefixes(drawn / name, model, hyper, 0)
            return drawn / name
        of_model = f"*/edit/{folder_of(model.name)}"
        wanted = [f"{name}/{layer}.safetensors" for layer in hyper.layers] if option == "moments" else [name]
        built = self.results.glob(of_model)
        folders = [folder for folder in built if all((folder / file).is_file() for file in wanted)]
        newest = max(folders, key=lambda folder: (folder / wanted[0]).stat().st_mtime, default=None)
        if newest is None and option == "moments" and model.name in BUNDLED:
            own = SHIPPED_MODELS / model.name
            # Of these very weights, not of others that were trained under the same name.
            if all((own / file).is_file() and read_file(own / file).model == model.digest for file in wanted):
                newest = own
        if newest is None and option != "moments":
            raise InputError(
                f"{hyper.method} on {model.name} needs {', '.join(wanted)}, which is not under "
                f"{self.results}/{of_model}; make it with `{self._making(model, hyper)}`, and name it with "
                f"--{option}"
            )
        return newest / name if newest else None

    def _making(self, model: Loaded, hyper: Hyper) -> str:
        """The command that trains a method's editor, with the user's own hyper-parameters.

        It is the workflow's, which has facts to train on.
        """
        name = model.name if self.revision == "main" else f"{model.name}@{self.revision}"
        method = hyper.own.given if hyper.own else hyper.method
        config: dict[str, Any] = {"models": [name], "methods": [method]}
        if self.template != "none":
            config["edit"] = {"template": self.template}
        if self.set:
            config[hyper.method] = self.set
        settings = " ".join(shlex.quote(f"{key}={json.dumps(value)}") for key, value in config.items())
        return f"snakemake --cores 2 results/edit_scores.parquet --config {settings}"
