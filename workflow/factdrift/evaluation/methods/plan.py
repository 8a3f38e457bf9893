"""What the workflow must make before the first edit of a method. Does not import torch."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.paths import METHODS
from factdrift.evaluation.methods.hyperparameters import Hyper, check_values, files_of, read_given
from factdrift.evaluation.methods.own import entries
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED, Skipped
from factdrift.models.names import model_files, read_sizes, split_name


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
    return found | hyper.record.needs


def check_kept(hyper: Hyper) -> None:
    """Raises InputError if no adapter holds what the method changes; for `edit.keep`."""
    full = hyper.get("combination", "linear") != "linear" or hyper.get("precision") == "weights"
    if hyper.own and hyper.own.plain:
        why = "changes a model in place, of which no adapter can be made; leave it out of methods"
    elif hyper.record.edits == "trained" or full:
        why = "changes full matrices, which no adapter of low rank holds; leave it out of methods "
        why += "(precision: float32, combination: linear for the others)"
    else:
        return
    raise InputError(f"edit.keep: adapters: {hyper.method} on {hyper.model} {why}, or keep none")


class Plan:
    """The methods and models of a configuration, and what each method needs."""

    def __init__(self, config: Mapping[str, Any], folder: Path = METHODS):
        """Raises InputError if a hyper-parameter is not valid, or follows from the sizes of a model that
        cannot be read; and CannotEdit for the first method that cannot run, if the configuration is strict.

        The hyper-parameters of methods that are not configured are checked, too, so that a misspelt one is
        never ignored.
        """
        self._folder = folder
        self._entries = {each.name: each for each in entries(config["methods"], folder)}
        known = {path.stem: folder for path in sorted(folder.glob("*.yaml"))}
        known |= {name: each.values for name, each in self._entries.items()}
        given = {name: config[name] for name in known if name in config}
        for name, values in given.items():
            check_values(name, values, known[name])
        self._hypers: dict[tuple[str, str], Hyper] = {}
        self.skipped: list[Skipped] = []
        """The methods that cannot run, as far as is known without loading a model."""
        for model, revision in map(split_name, config["models"]):
            sizes = partial(read_sizes, model, revision)
            for method, each in self._entries.items():
                try:
                    hyper = read_given(each.given, model, given.get(method), folder, sizes=sizes)
                except CannotEdit as error:
                    if config.get("strict"):
                        raise
                    self.skipped.append(Skipped(model, method, str(error)))
                else:
                    if hyper.get("index") == "dense" and not hyper["encoder"]:
                        raise InputError(
                            "rag.encoder: none is given, which `index: dense` needs; name a sentence "
                            "encoder, or take tfidf"
                        )
                    if config.get("edit", {}).get("keep") == "adapters":
                        check_kept(hyper)
                    self._hypers[model, method] = hyper

    def names(self) -> list[str]:
        """The configured methods as paths and tables name them, in their order."""
        return list(self._entries)

    def given(self, method: str) -> str:
        """A method as the user named it; of one that is not configured, its name."""
        return self._entries[method].given if method in self._entries else method

    def files(self, method: str) -> list[str]:
        """The files that a method depends on: hyper-parameters, the user's own code, models that it loads."""
        if method == CONTEXT:
            return []
        own = self._entries.get(method)
        own_files = own.files() if own and own.path else files_of(method, self._folder)
        loaded = [path for model in self.loads(method) for path in model_files(model)]
        return [str(path) for path in (*own_files, *loaded)]

    def loads(self, method: str) -> list[str]:
        """The models that a method loads besides the edited one: RAG's encoder."""
        hypers = [hyper for (_, name), hyper in self._hypers.items() if name == method]
        return sorted({hyper["encoder"] for hyper in hypers if hyper.get("encoder")})

    def methods(self, model: str) -> Sequence[str]:
        """The configured methods that run on a model, in the order of the configuration."""
        return [method for method in self._entries if (model, method) in self._hypers]

    def needs(self, method: str, model: str) -> dict[str, str]:
        """`needs` of a configured method on a model, and of none.

        Raises CannotEdit if it is skipped, and InputError if it is not configured.
        """
        if method in UNEDITED:
            return {}
        for each in self.skipped:
            if (each.model, each.method) == (model, method):
                raise CannotEdit(each.skipped)
        if (model, method) not in self._hypers:
            raise InputError(f"methods: {method} is not among them; name it there")
        return needs(self._hypers[model, method])

    def layers(self, model: str) -> Sequence[int]:
        """The blocks of a model whose second moments the configured methods need, ascending."""
        hypers = [self._hypers[model, method] for method in self.methods(model)]
        return sorted({layer for hyper in hypers if "moments" in needs(hyper) for layer in hyper.layers})
