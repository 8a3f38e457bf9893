"""What the workflow must make before the first edit of a method. Does not import torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factdrift.edit.methods.hyperparameters import Hyper, check_methods, hyper_of
from factdrift.edit.methods.own import entries
from factdrift.models.names import split_name
from factdrift.paths import METHODS


def needs(hyper: Hyper) -> dict[str, str]:
    """What a method needs that is computed once a model: option of `edit run` -> name in the model's folder.

    `prefixes`: texts before prompts. `moments`: second moments, a folder with a file for each of
    `hyper.layers`. `mend`: MEND's trained editor.
    """
    found: dict[str, str] = {}
    if hyper.own and hyper.own.plain:
        return found  # it is called with its hyper-parameters only, whatever they are called
    if "prefixes" in hyper:
        found["prefixes"] = f"prefixes.{hyper.method}.json"
    if hyper.get("covariance"):
        found["moments"] = "moments"
    if hyper.method == "mend":
        found["mend"] = "mend.safetensors"
    return found


class Plan:
    """The methods and models of a configuration, and what each method needs."""

    def __init__(self, config: Mapping[str, Any], folder: Path = METHODS):
        """Raises InputError if a hyper-parameter is not valid, or a method has no values for a model.

        The hyper-parameters of methods that are not configured are checked, too, so that a misspelt one is
        never ignored.
        """
        self._folder = folder
        self._entries = {each.name: each for each in entries(config["methods"], folder)}
        known = (path.stem for path in sorted(folder.glob("*.yaml")))
        every = (*known, *self._entries)
        self._given: dict[str, Any] = {method: config[method] for method in every if method in config}
        names = [split_name(model)[0] for model in config["models"]]
        check_methods(names, config["methods"], self._given, folder)

    def names(self) -> list[str]:
        """The configured methods as paths and tables name them, in their order."""
        return list(self._entries)

    def given(self, method: str) -> str:
        """A method as the user named it; of one that is not configured, its name."""
        return self._entries[method].given if method in self._entries else method

    def files(self, method: str) -> list[str]:
        """The files that a method depends on: its hyper-parameters, and the user's own code."""
        own = self._entries.get(method)
        if own is None or own.path is None:
            return [str(self._folder / f"{method}.yaml")]
        return [str(path) for path in own.files()]

    def needs(self, method: str, model: str) -> dict[str, str]:
        """`needs` of a method on a model."""
        return needs(self._hyper(method, model))

    def layers(self, model: str) -> Sequence[int]:
        """The blocks of a model whose second moments the configured methods need, ascending."""
        hypers = (self._hyper(method, model) for method in self._entries)
        return sorted({layer for hyper in hypers if "moments" in needs(hyper) for layer in hyper.layers})

    def _hyper(self, method: str, model: str) -> Hyper:
        return hyper_of(self.given(method), model, self._given.get(method), self._folder)
