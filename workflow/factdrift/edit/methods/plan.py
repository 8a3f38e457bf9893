"""What the workflow must make before the first edit of a method. Does not import torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factdrift.edit.methods.hyperparameters import Hyper, check_methods, read_hyper
from factdrift.errors import InputError
from factdrift.models.names import split_name
from factdrift.paths import METHODS


def needs(hyper: Hyper) -> dict[str, str]:
    """What a method needs that is computed once a model: option of `edit run` -> name in the model's folder.

    `prefixes`: texts before prompts. `moments`: second moments, a folder with a file for each of
    `hyper.layers`. `mend`: MEND's trained editor.
    """
    found: dict[str, str] = {}
    if "prefixes" in hyper:
        found["prefixes"] = f"prefixes.{hyper.method}.json"
    if hyper.get("covariance"):
        found["moments"] = "moments"
    if hyper.method == "mend":
        found["mend"] = "mend.safetensors"
    return found


def check_encoder(hyper: Hyper) -> None:
    """Raises InputError if RAG is to compare dense vectors and no encoder is named."""
    if hyper.get("index") == "dense" and not hyper["encoder"]:
        raise InputError(
            "rag.encoder: none is given, which `index: dense` needs; name a sentence encoder, or take tfidf"
        )


def check_kept(hyper: Hyper) -> None:
    """Raises InputError if the method changes full matrices, which no adapter holds; for `edit.keep`."""
    if hyper.method in ("ft", "ft_l") or hyper.get("precision") == "weights":
        raise InputError(
            f"edit.keep: adapters: {hyper.method} on {hyper.model} changes full matrices, which no adapter "
            "of low rank holds; leave it out of methods (precision: float32 for the others), or keep none"
        )


class Plan:
    """The methods and models of a configuration, and what each method needs."""

    def __init__(self, config: Mapping[str, Any], folder: Path = METHODS):
        """Raises InputError if a hyper-parameter is not valid, or a method has no values for a model.

        The hyper-parameters of methods that are not configured are checked, too, so that a misspelt one is
        never ignored.
        """
        self._folder = folder
        self._methods: list[str] = config["methods"]
        known = (path.stem for path in sorted(folder.glob("*.yaml")))
        self._given: dict[str, Any] = {method: config[method] for method in known if method in config}
        names = [split_name(model)[0] for model in config["models"]]
        check_methods(names, self._methods, self._given, folder)
        for hyper in (
            read_hyper(method, model, self._given.get(method), folder)
            for model in names
            for method in self._methods
        ):
            check_encoder(hyper)
            if config.get("edit", {}).get("keep") == "adapters":
                check_kept(hyper)

    def needs(self, method: str, model: str) -> dict[str, str]:
        """`needs` of a configured method on a model."""
        return needs(read_hyper(method, model, self._given.get(method), self._folder))

    def layers(self, model: str) -> Sequence[int]:
        """The blocks of a model whose second moments the configured methods need, ascending."""
        hypers = (
            read_hyper(method, model, self._given.get(method), self._folder) for method in self._methods
        )
        return sorted({layer for hyper in hypers if "moments" in needs(hyper) for layer in hyper.layers})
