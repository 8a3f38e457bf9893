"""Hyper-parameters and switches of a method on a model: `config/methods/METHOD.yaml`, and the user's own.

Such a file has `keys`, a JSON Schema for each hyper-parameter with its default, and `models`: entries with
`names` (patterns of model names), `source`, and values that differ from the defaults. The first entry that
matches counts. A key without default needs a value from an entry or from the user. Where functions take a
`folder`, it may also be one such file, or `PATH.py:FUNCTION`, whose parameters are the keys (own.py).
"""

from __future__ import annotations

import contextlib
import fnmatch
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from factdrift.edit.methods.own import Entry, described, entries, entry
from factdrift.errors import InputError
from factdrift.paths import LOCATORS, METHODS
from factdrift.yaml_files import read_yaml


@dataclass(frozen=True)
class Hyper(Mapping[str, Any]):
    """Every hyper-parameter and switch of a method, by name."""

    method: str
    model: str
    source: str
    """Where the values come from."""
    settings: Mapping[str, Any]
    own: Entry | None = None
    """The user's function, for a method that is not one of factdrift's."""

    def __getitem__(self, key: str) -> Any:
        return self.settings[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def layers(self) -> list[int]:
        """The blocks whose matrices the method changes, by its key `layer` or `layers`; empty without one."""
        one = [self.settings["layer"]] if "layer" in self.settings else []
        layers = self.settings.get("layers", one)
        # A method of the user's own may mean anything by these names.
        given = layers if isinstance(layers, list) else []
        return [layer for layer in given if isinstance(layer, int)]

    def json(self) -> str:
        """Method, values and the digest of the user's own code; the same text for the same ones."""
        own = {"own code": self.own.code} if self.own else {}
        return json.dumps({"method": self.method, **own, **self.settings}, sort_keys=True)

    def digest(self) -> str:
        """SHA-256 of `json()`, in hexadecimal digits."""
        return hashlib.sha256(self.json().encode()).hexdigest()


def read_hyper(
    method: str,
    model: str,
    overrides: Mapping[str, Any] | None = None,
    folder: Path = METHODS,
    above: str = "",
) -> Hyper:
    """The values for `model`, a name as it was given to `load`; `overrides` that are None do not count.

    `above`: what stands before the method's name in the configuration, for messages.

    Raises InputError if the method has no file, a value is not valid, or the method has no values for the
    model.
    """
    file = _file(method, folder)
    entries = [entry for entry in file.get("models", []) if _matches(model, entry["names"])]
    entry: dict[str, Any] = entries[0] if entries else {}
    own = {key: value for key, value in entry.items() if key not in ("names", "source")}
    given = check_values(method, overrides or {}, folder, above)
    defaults = {key: schema["default"] for key, schema in file["keys"].items() if "default" in schema}
    values = {**defaults, **own, **given}
    lacking = [key for key in file["keys"] if key not in values]
    if lacking:
        where = folder / f"{method}.yaml" if folder.is_dir() else folder
        raise InputError(
            f"{where}: nothing is known of the model {model}: {', '.join(lacking)} must be "
            f"given; add an entry to the file, or set it in the configuration, such as "
            f"{above}{method}: {{{lacking[0]}: ...}}"
        )
    source = entry.get("source", "defaults") + (" and the configuration" if given else "")
    return Hyper(method, model, source, {key: values[key] for key in file["keys"]})


def hyper_of(
    given: str, model: str, overrides: Mapping[str, Any] | None = None, folder: Path = METHODS
) -> Hyper:
    """`read_hyper` of a method as the user names it: one of factdrift's, `PATH.py:FUNCTION`, an entry point.

    `folder`: of the files of factdrift's methods.
    """
    found = entry(given, folder)
    hyper = read_hyper(found.name, model, overrides, found.described_in(folder))
    return replace(hyper, own=found if found.path else None)


def check_values(
    method: str, given: Mapping[str, Any], folder: Path = METHODS, above: str = ""
) -> dict[str, Any]:
    """The user's values of a method without those that are None, numbers and truth values parsed from text.

    Raises InputError that names the key if the method does not know it or its value is not valid.
    """
    from jsonschema import Draft202012Validator

    keys = _file(method, folder)["keys"]
    values: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        if key not in keys:
            raise InputError(
                f"configuration: {above}{method}.{key}: no such key; there are {', '.join(keys)}"
            )
        values[key] = _parsed(value, keys[key])
        for fault in Draft202012Validator(keys[key]).iter_errors(values[key]):
            where = above + ".".join(map(str, (method, key, *fault.absolute_path)))
            hint = f" ({' '.join(keys[key]['description'].split())})"
            raise InputError(f"configuration: {where}: {fault.message}{hint}")
    return values


def check_methods(
    models: Iterable[str],
    methods: Iterable[str],
    given: Mapping[str, Mapping[str, Any]],
    folder: Path = METHODS,
) -> None:
    """Checks the hyper-parameters of every method on every model, and what is given for other methods.

    `methods`: as the user names them. `given`: method -> the user's values. Raises InputError for the first
    that is not valid.
    """
    own = {each.name: each for each in entries(list(methods), folder)}
    for method, values in given.items():
        check_values(method, values, own[method].described_in(folder) if method in own else folder)
    for method, each in own.items():
        for model in models:
            hyper_of(each.given, model, given.get(method), folder)


@cache
def _file(method: str, folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        return described(folder)
    path = folder / f"{method}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        kind = "locators" if folder == LOCATORS else "methods"
        raise InputError(f"{kind}: {method}: no such {kind[:-1]}; there are {known} (files in {folder})")
    return read_yaml(path)


def _matches(model: str, patterns: list[str]) -> bool:
    """Whether a pattern fits the name, or the last part of it, in upper or lower case."""
    name = model.lower().rstrip("/")
    return any(
        fnmatch.fnmatchcase(part, pattern.lower())
        for pattern in patterns
        for part in (name, name.rsplit("/", 1)[-1])
    )


def _parsed(value: Any, schema: Mapping[str, Any]) -> Any:
    """A value with the texts in it parsed where the schema wants numbers or truth values.

    On the command line, `--config rome="{steps: 5}"` reaches a workflow as texts only.
    """
    if isinstance(value, list):
        return [_parsed(item, schema.get("items", {})) for item in value]
    if isinstance(value, dict):
        inner = schema.get("properties", {})
        return {key: _parsed(item, inner.get(key, {})) for key, item in value.items()}
    kind = schema.get("type")
    if isinstance(value, str) and kind in _PARSERS:
        with contextlib.suppress(ValueError, KeyError):
            return _PARSERS[kind](value)
    # JSON Schema counts 2.0 as an integer, Python does not.
    return int(value) if kind == "integer" and isinstance(value, float) and value.is_integer() else value


_PARSERS: dict[Any, Callable[[str], Any]] = {
    "integer": int,
    "number": float,
    "boolean": lambda text: {"true": True, "false": False}[text.lower()],
}
