"""Fields of the commands that run a language model, and loading that model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from factdrift.core.jobs import Flag, Job, Key, Place
from factdrift.core.progress import Progress
from factdrift.models.names import ALIASES, check_name

if TYPE_CHECKING:
    from factdrift.models.loaded import Loaded

Template = Annotated[Literal["none", "chat"], Key("edit.template")]
"""Whether prompts go through the tokenizer's chat template."""


class Computing(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model is run: `device`, `gpus` and `dtype` of the part `edit` of the configuration."""

    device: str
    gpus: int
    dtype: Literal["auto", "float32", "bfloat16", "float16", "float64"]


class OfModel(Job, implied_inputs="model reads"):
    """A command about a model; its rule also has the model's files, and a stamp of its weights."""

    model: Annotated[str, "sample, a folder, or a name that transformers knows"]
    revision: str = "main"
    trust_remote_code: Annotated[bool, Key("edit.trust_remote_code")]
    models: Annotated[Place, "of the bundled models", Flag("FOLDER", by_hand=True)] = Path("results/models")

    @property
    def name(self) -> str:
        """The model as rows of tables name it, without loading it."""
        return ALIASES.get(self.model, self.model)

    def check(self) -> None:
        super().check()
        check_name(self.model)


class RunsModel(OfModel):
    """A command that runs a model. `settings` of a subclass may have more keys than Computing."""

    settings: Annotated[Computing, Key("edit")]
    threads: Annotated[int, "of the CPU"] = 1

    def loaded(self) -> AbstractContextManager[Loaded]:
        """The model, run as the settings say; see the function `loaded`."""
        return loaded(self, self.settings, self.threads)


@contextmanager
def loaded(job: OfModel, computing: Computing, threads: int, base: str = "") -> Iterator[Loaded]:
    """The model of a command, on a device that no other job of this machine uses meanwhile.

    An adapter of PEFT is merged into the model that it names, and called as its folder is. `base`: the model
    from which that of the command was made, and whose name it gets (`load_checkpoint`). If the command has a
    field `template`, the model's tokenizer is the one for that template.
    """
    import torch

    from factdrift.models.devices import reserved_device
    from factdrift.models.loading import base_of, load, load_checkpoint

    torch.set_num_threads(threads)
    with reserved_device(computing.device, computing.gpus) as device:
        given: dict[str, Any] = {"revision": job.revision, "device": device, "dtype": computing.dtype}
        given["trust_remote_code"] = job.trust_remote_code
        with Progress(f"loading {job.model}", 1, "models"):
            if base:
                model = load_checkpoint(Path(job.model), base, models=job.models, **given)
            elif named := base_of(Path(job.model)):
                merged = load_checkpoint(Path(job.model), named, models=job.models, **given)
                model = replace(merged, name=job.name)
            else:
                model = load(job.model, folder=job.models, **given)
        yield model.with_template(getattr(job, "template", "none"))
