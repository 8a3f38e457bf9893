"""The locators of a configuration: built-in ones, the user's functions, folders of scores. No torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError
from factdrift.core.functions import code_files, split_function
from factdrift.core.paths import LOCATORS
from factdrift.core.yaml_files import read_yaml
from factdrift.evaluation.methods.hyperparameters import check_values, read_hyper
from factdrift.models.names import split_name

HYPER = "locate.hyper."
"""Where the user's hyper-parameters are in the configuration."""


@dataclass(frozen=True)
class Entry:
    """One locator of a configuration."""

    name: str
    """In tables and paths: the built-in name, `FILE.FUNCTION` or the folder's name."""
    given: str
    """As the user named it."""
    kind: str
    """`built-in`, `function` or `folder`."""
    path: Path | None = None

    def files(self) -> list[Path]:
        """What its scores depend on besides the model and the configuration; none for a folder of scores."""
        if self.kind == "function" and self.path:
            return code_files(self.path)
        return [LOCATORS / f"{self.name}.yaml"] if self.kind == "built-in" else []


def function_of(name: str) -> str:
    """The function of a built-in locator, as MODULE.FUNCTION of `locate.methods`."""
    function: str = read_yaml(LOCATORS / f"{name}.yaml")["function"]
    return function


def entry(given: str) -> Entry:
    """What the user means by a locator; raises InputError if there is none such."""
    if named := split_function(given, "locators"):
        path, function = named
        return Entry(f"{path.stem}.{function}", given, "function", path)
    if (LOCATORS / f"{given}.yaml").is_file():
        return Entry(given, given, "built-in")
    if Path(given, "scores.json").is_file():
        return Entry(Path(given).name, given, "folder", Path(given))
    known = ", ".join(sorted(file.stem for file in LOCATORS.glob("*.yaml")))
    raise InputError(
        f"locators: {given}: no such locator; there are {known}; or give PATH.py:FUNCTION, or a folder with "
        "scores.json (docs/locating.md)"
    )


class Plan:
    """The locators and models of a configuration, all checked."""

    def __init__(self, config: Mapping[str, Any]):
        """Raises InputError if a locator does not exist, or a hyper-parameter is not valid."""
        self.entries = [entry(given) for given in config["locators"]]
        names = [each.name for each in self.entries]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"locators: two are called {name}; rename a file, function or folder")
        self._given: dict[str, dict[str, Any]] = config["locate"]["hyper"]
        for name, values in self._given.items():
            check_values(name, values, LOCATORS, HYPER)
        for each in self.run():
            for model in config["models"]:
                if each.kind == "built-in":
                    read_hyper(each.name, split_name(model)[0], self._given.get(each.name), LOCATORS, HYPER)

    def run(self) -> Sequence[Entry]:
        """The locators that are run on models, in the order of the configuration."""
        return [each for each in self.entries if each.kind != "folder"]

    def folders(self) -> Sequence[str]:
        """The folders of scores that others have made."""
        return [each.given for each in self.entries if each.kind == "folder"]

    def named(self, name: str) -> Entry:
        """The locator with a name as in paths."""
        return next(each for each in self.entries if each.name == name)

    def values(self, name: str) -> dict[str, Any]:
        """The user's hyper-parameters of a locator."""
        return self._given.get(name, {})
