"""Hyper-parameters of a method on a model, and what the workflow must make before its first edit. No torch.

They are in `config/methods/METHOD.yaml`, and those of the user's own methods beside these (`own.py`).

Such a file has `keys`, a JSON Schema for each hyper-parameter with its default, and `models`: entries with
`names` (patterns of model names), `source`, and values that differ from the defaults. The first entry that
matches counts. A model without entry gets the values that the rules in `derived` give. A key without default
needs a value from an entry, a rule or the user. `like` names a method whose keys and entries come after the
file's own; of a key that both have, the file may say the new default alone. A rule is one of
`share: S`: the block floor(S x number of blocks), or the list of it where the key is a list;
`between: [S, T]`: all blocks from that of share S to that of share T, the last `most` of them at most;
`by_width: {WIDTH: VALUE}`: interpolated on logarithms between these widths of the hidden state to two digits,
and the value of the nearest width beyond them;
`value: V`: V for every model.
"""

import fnmatch
import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from factdrift.core.errors import CannotEdit, InputError, meant
from factdrift.core.files import read_yaml, sha256_of_all
from factdrift.core.keys import validator
from factdrift.core.paths import METHODS
from factdrift.core.settings import read_value
from factdrift.evaluation.methods.own import UserMethod, entries, entry
from factdrift.evaluation.methods.record import (
    OWN,
    MethodRecord,
    Skipped,
    editor_file,
    is_unedited,
    record_of,
    records,
    trained_editors,
)
from factdrift.models.names import HasSizes, model_files, read_sizes, split_name

MARK = "derived, not tuned"
"""Begins the source of hyper-parameters of which at least one was derived."""
SizesOf = Callable[[], HasSizes]
"""Finds the sizes of a model; called only if a value depends on them."""
Rule = Mapping[str, Any]
"""A rule of `derived`, whose form the schema of methods' files has checked."""


@dataclass(frozen=True)
class Hyper(Mapping[str, Any]):
    """Every hyper-parameter and switch of a method, by name."""

    method: str
    model: str
    source: str
    """Where the values come from."""
    settings: Mapping[str, Any]
    derived: tuple[str, ...] = ()
    """The keys whose values follow from a rule, because no entry names the model."""
    own: UserMethod | None = None
    """The user's function, for a method that is not one of factdrift's."""

    def __getitem__(self, key: str) -> Any:
        return self.settings[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def record(self) -> MethodRecord:
        """What is known of the method besides."""
        return record_of(self.method) if self.own is None else OWN

    @property
    def layers(self) -> list[int]:
        """The blocks whose matrices the method changes, by its key `layer` or `layers`; empty without one."""
        one = [self.settings["layer"]] if "layer" in self.settings else []
        layers = self.settings.get("layers", one)
        # A method of the user's own may mean anything by these names.
        blocks = layers if isinstance(layers, list) else []
        return [layer for layer in blocks if isinstance(layer, int)]

    def json(self) -> str:
        """Method, values, and digests of the user's code and of an encoder; the same text for the same."""
        own = {"own code": self.own.code} if self.own else {}
        if self.own is None and self.settings.get("index") == "dense":  # RAG's
            own["encoder's files"] = sha256_of_all(model_files(self.settings["encoder"]))
        return json.dumps({"method": self.method, **own, **self.settings}, sort_keys=True)

    def digest(self) -> str:
        """SHA-256 of `json()`, in hexadecimal digits."""
        return hashlib.sha256(self.json().encode()).hexdigest()


def read_hyper(
    reference: str,
    model: str,
    overrides: Mapping[str, Any] | None = None,
    folder: Path = METHODS,
    above: str = "",
    sizes: SizesOf | None = None,
) -> Hyper:
    """The values of a method, as the user names it, for `model`, a name as it was given to `load`.

    `overrides`: those that are None do not count. `folder`: of the files of factdrift's methods or locators.
    `above`: the part of the key before the method's name, for messages. `sizes`: finds the sizes of the
    model, without which only rules that hold for every model give values.

    Raises InputError if there is no such method or a value is not valid, and CannotEdit if the method has no
    values for the model.
    """
    method = entry(reference, folder)
    file = method.file
    name = model.lower().rstrip("/")
    known: dict[str, Any] = {}
    for each in reversed(file.get("models", [])):
        patterns = [pattern.lower() for pattern in each["names"]]
        if any(fnmatch.filter((name, name.rsplit("/", 1)[-1]), pattern) for pattern in patterns):
            known = each
    own = {key: value for key, value in known.items() if key not in ("names", "source")}
    users = check_values(reference, overrides or {}, folder, above)
    known_rules = {} if known else file.get("derived", {}).get("rules", {})
    rules = {key: rule for key, rule in known_rules.items() if key not in users}
    model_sizes = None if sizes is None or all(map(is_for_all, rules.values())) else sizes()
    made: dict[str, Any] = {}
    said: list[str] = []
    for key, rule in rules.items():
        if model_sizes or is_for_all(rule):
            made[key], why = derive(rule, model_sizes, file["keys"][key].get("type") == "array")
            shown = ", ".join(map(str, made[key])) if isinstance(made[key], list) else f"{made[key]:g}"
            said.append(f"{key} {shown}{why}")
    values = {**default_values(reference, folder), **own, **made, **users}
    lacking = [key for key in file["keys"] if key not in values]
    if lacking:
        where = method.described[0] if method.described else method.path
        raise CannotEdit(
            f"{where}: nothing is known of the model {model}: {', '.join(lacking)} must be "
            f"given; add an entry to the file, or set it in the configuration, such as "
            f"{above}{method.name}: {{{lacking[0]}: ...}}"
        )
    source = known.get("source", f"{MARK}: {'; '.join(said)}" if made else "defaults")
    source += " and the configuration" if users else ""
    settings = {key: values[key] for key in file["keys"]}
    return Hyper(method.name, model, source, settings, tuple(made), method if method.path else None)


def is_for_all(rule: Rule) -> bool:
    """Whether a rule gives every model the same value, so that no sizes are needed."""
    return "value" in rule


def derive(rule: Rule, sizes: HasSizes | None, listed: bool) -> tuple[Any, str]:
    """The value that a rule gives, and what it depends on in words; `listed`: the key is a list of blocks."""
    if is_for_all(rule):
        return rule["value"], ""
    assert sizes is not None
    if "by_width" in rule:
        import numpy as np

        widths, values = zip(*sorted(rule["by_width"].items()), strict=True)
        exponent = np.interp(math.log(sizes.hidden), np.log(widths), np.log(values))
        return float(f"{math.exp(exponent):.1e}"), f" for width {sizes.hidden}"
    if "between" in rule:
        begin, end = (block_of_share(share, sizes.layers) for share in rule["between"])
        return list(range(max(begin, end + 1 - rule["most"]), end + 1)), f" of {sizes.layers}"
    block = block_of_share(rule["share"], sizes.layers)
    return [block] if listed else block, f" of {sizes.layers}"


def block_of_share(share: float, layers: int) -> int:
    """The block before which `share` of the blocks lie, from 0 to `layers` - 1."""
    return min(math.floor(share * layers), layers - 1)


def at_block(method: str, layer: int) -> str:
    """The name of a method at one block, in the column `method`."""
    return f"{method}@{layer}"


def hyper_at(
    method: str, model: str, values: Mapping[str, Any], layer: int, sizes: SizesOf | None = None
) -> Hyper:
    """The hyper-parameters with which a method edits one block; raises InputError for other methods."""
    key = record_of(method).block
    if not key:
        able = ", ".join(name for name, record in records().items() if record.block)
        raise InputError(
            f"locate.edit_methods: {method} edits no block that could be chosen; there are {able}"
        )
    return read_hyper(method, model, {**values, key: layer if key == "layer" else [layer]}, sizes=sizes)


def default_values(reference: str, folder: Path = METHODS) -> dict[str, Any]:
    """The defaults of a method's keys, for every model without a value of its own."""
    keys = entry(reference, folder).file["keys"]
    return {key: schema["default"] for key, schema in keys.items() if "default" in schema}


def read_search(reference: str, folder: Path = METHODS) -> dict[str, Any]:
    """What `edit tune` tries: `shares` of the blocks, and `factors` of other hyper-parameters.

    Raises InputError if the method's file does not say what to try.
    """
    method = entry(reference, folder)
    if "tune" not in method.file:
        known = ", ".join(path.stem for path in sorted(folder.glob("*.yaml")) if "tune" in read_yaml(path))
        raise InputError(
            f"edit tune: {method.name}: its file does not say what to try; methods that can be tuned: "
            f"{known}, and yours with `tune` in a YAML file"
        )
    return {"shares": [], "factors": {}, **method.file["tune"]}


def check_values(
    reference: str, users: Mapping[str, Any], folder: Path = METHODS, above: str = ""
) -> dict[str, Any]:
    """The user's values of a method without those that are None, numbers and truth values parsed from text.

    Raises InputError that names the key if the method does not know it or its value is not valid.
    """
    method = entry(reference, folder)
    keys = method.file["keys"]
    values: dict[str, Any] = {}
    for key, value in users.items():
        if value is None:
            continue
        if key not in keys:
            raise InputError(
                f"configuration: {above}{method.name}.{key}: no such key{meant(key, keys)}; there are "
                f"{', '.join(keys) or 'none'}"
            )
        values[key] = read_value(value, keys[key])
        for fault in validator()(keys[key]).iter_errors(values[key]):
            where = above + ".".join(map(str, (method.name, key, *fault.absolute_path)))
            hint = f" ({' '.join(keys[key]['description'].split())})"
            raise InputError(f"configuration: {where}: {fault.message}{hint}")
    return {key: value for key, value in values.items() if value is not None}


def needs(hyper: Hyper) -> dict[str, str]:
    """What a method needs that is computed once a model: option of `edit run` -> name in the model's folder.

    `prefixes`: texts before prompts. `moments`: second moments, a folder with a file for each of
    `hyper.layers`. `editor`: a trained editor.
    """
    files: dict[str, str] = {}
    if hyper.own and hyper.own.plain:
        return files  # it is called with its hyper-parameters only, whatever they are called
    if "prefixes" in hyper:
        files["prefixes"] = f"prefixes.{hyper.method}.json"
    if hyper.get("covariance"):
        files["moments"] = "moments"
    if hyper.record.editor:
        files["editor"] = editor_file(hyper.method)
    return files


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
        for name in dict.fromkeys([*(path.stem for path in sorted(folder.glob("*.yaml"))), *self._entries]):
            check_values(self.given(name), config.get(name, {}), folder)
        for name in config.get("edit", {}).get("checkpoints", {}):
            if name not in trained_editors():
                raise InputError(
                    f"edit.checkpoints: {name} has no trained editor; methods that have one: "
                    f"{', '.join(trained_editors())}"
                )
        self._hypers: dict[tuple[str, str], Hyper] = {}
        self.skipped: list[Skipped] = []
        """The methods that cannot run, as far as is known without loading a model."""
        for model, revision in map(split_name, config["models"]):
            sizes = partial(read_sizes, model, revision)
            for method, each in self._entries.items():
                try:
                    hyper = read_hyper(each.given, model, config.get(method), folder, sizes=sizes)
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
        if method != "none" and is_unedited(method):
            return []
        loaded = [path for model in self.loads(method) for path in model_files(model)]
        return [str(path) for path in (*entry(self.given(method), self._folder).files(), *loaded)]

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
        if is_unedited(method):
            return {}
        for skip in self.skipped:
            if (skip.model, skip.method) == (model, method):
                raise CannotEdit(skip.skipped)
        if (model, method) not in self._hypers:
            raise InputError(f"methods: {method} is not among them; name it there")
        return needs(self._hypers[model, method])

    def layers(self, model: str) -> Sequence[int]:
        """The blocks of a model whose second moments the configured methods need, ascending."""
        hypers = [self._hypers[model, method] for method in self.methods(model)]
        return sorted({layer for hyper in hypers if "moments" in needs(hyper) for layer in hyper.layers})
