"""The locators of a configuration: built in, functions of the user, folders of scores. Imports no torch.

What is known of a built-in locator besides its hyper-parameters is in its file, config/locators/LOCATOR.yaml;
no module contains a locator's name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from factdrift.core.errors import InputError, meant
from factdrift.core.files import as_struct
from factdrift.core.functions import check_names, code_files, named_function, split_function
from factdrift.core.paths import LOCATORS
from factdrift.evaluation.methods import own
from factdrift.evaluation.methods.hyperparameters import check_values, default_values, read_hyper
from factdrift.evaluation.settings import Positive
from factdrift.models.names import split_name
from factdrift.models.running import Computing

HYPER = "locate.hyper."
"""Where the user's hyper-parameters are in the configuration."""


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a locating job runs: keys of the part `locate`; models are run as in the part `edit`."""

    edit_device: str
    edit_dtype: Literal["auto", "float32", "bfloat16", "float16", "float64"]
    budget: Positive
    batch: Positive
    k: tuple[Annotated[float, msgspec.Meta(gt=0, le=100)], ...]
    parameters: Annotated[float, msgspec.Meta(ge=0, le=100)]
    seed: int

    @property
    def computing(self) -> Computing:
        return Computing(device=self.edit_device, gpus=1, dtype=self.edit_dtype)


class LocatorRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is known of a locator besides its hyper-parameters: `record` in its file."""

    title: str
    """What it measures."""
    function: str
    """MODULE.FUNCTION of `factdrift.evaluation.locators`."""
    follows: str = ""
    """The key that names an editing method; the block that the user has set for it is the locator's, too."""
    paper: str = ""


@cache
def records() -> dict[str, LocatorRecord]:
    """Name -> record of each locator of factdrift; what it leaves out is as in the file that `like` names."""
    names = sorted(path.stem for path in LOCATORS.glob("*.yaml"))
    files = {name: own.entry(name, LOCATORS).file.get("record") for name in names}
    return {
        name: as_struct(file, LocatorRecord, f"{LOCATORS / name}.yaml: record")
        for name, file in files.items()
    }


def locator_of(name: str) -> Callable[..., Any]:
    """The function of a locator of factdrift, an `interface.Locator`."""
    return named_function(__package__, records()[name].function)


@dataclass(frozen=True)
class PlannedLocator:
    """A locator of a configuration: of factdrift, a function of the user, or a folder of scores."""

    name: str
    """In tables and paths: the built-in name, `FILE.FUNCTION` or the folder's name."""
    source: str
    """As the user named it."""
    function: tuple[Path, str] | None = None
    """File and name of the user's function."""
    record: LocatorRecord | None = None
    """Of a locator of factdrift; None for others."""

    @property
    def is_run(self) -> bool:
        """Whether it is run on models; a folder of scores is not."""
        return bool(self.record or self.function)

    def files(self) -> list[Path]:
        """The files on which its scores depend, besides model and configuration; empty for a folder."""
        if self.function:
            return code_files(self.function[0])
        return own.entry(self.name, LOCATORS).files() if self.record else []

    def modules(self) -> list[str]:
        """The module of the package that has its function, if it is a locator of factdrift."""
        return [f"{__package__}.{self.record.function.rpartition('.')[0]}"] if self.record else []


def entry(source: str) -> PlannedLocator:
    """What the user means by a locator; raises InputError if there is none such."""
    if function := split_function(source, "locators"):
        return PlannedLocator(f"{function[0].stem}.{function[1]}", source, function)
    if record := records().get(source):
        return PlannedLocator(source, source, record=record)
    if Path(source, "scores.json").is_file():
        return PlannedLocator(Path(source).name, source)
    raise InputError(
        f"locators: {source}: no such locator{meant(source, records())}; there are {', '.join(records())}; "
        "or give PATH.py:FUNCTION, or a folder with scores.json (docs/locating.md)"
    )


class Plan:
    """The locators and models of a configuration, all checked."""

    def __init__(self, config: Mapping[str, Any]):
        """Raises InputError if a locator does not exist, or a hyper-parameter is not valid."""
        entries = [entry(source) for source in config["locators"]]
        check_names([locator.name for locator in entries], "locators", "a file, function or folder")
        self.run = {locator.name: locator for locator in entries if locator.is_run}
        """The locators that are run on models, by their names in paths, in the order of the configuration."""
        self.folders = [locator.source for locator in entries if not locator.is_run]
        """The folders of scores that others have made."""
        self._config = config
        for name, values in config["locate"]["hyper"].items():
            check_values(name, values, LOCATORS, HYPER)
        for name, locator in self.run.items():
            for model in config["models"] if locator.record else ():
                read_hyper(name, split_name(model)[0], self.values(name), LOCATORS, HYPER)

    def values(self, name: str) -> dict[str, Any]:
        """The user's hyper-parameters of a locator, with the layer of the editing method that it follows."""
        values: dict[str, Any] = self._config["locate"]["hyper"].get(name, {})
        record = self.run[name].record
        if not record or not record.follows:
            return values
        followed = {**default_values(name, LOCATORS), **values}[record.follows]
        edited: dict[str, Any] = self._config.get(followed, {})
        layers = [edited["layer"]] if "layer" in edited else edited.get("layers") or []
        if len(layers) > 1 and "layer" not in values:
            raise InputError(
                f"{HYPER}{name}: it has one block, and {followed}.layers names {len(layers)}; name one with "
                f"{HYPER}{name}.layer, or -1 for those of config/methods/{followed}.yaml"
            )
        return {**({"layer": layers[0]} if layers else {}), **values}
