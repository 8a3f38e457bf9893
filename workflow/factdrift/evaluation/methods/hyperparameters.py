"""Hyper-parameters and switches of a method on a model: `config/methods/METHOD.yaml`, and the user's own.

Such a file has `keys`, a JSON Schema for each hyper-parameter with its default, and `models`: entries with
`names` (patterns of model names), `source`, and values that differ from the defaults. The first entry that
matches counts. A model without entry gets the values that the rules in `derived` give. A key without default
needs a value from an entry, a rule or the user. `like` names a method whose keys and entries come after the
file's own; of a key that both have, the file may say the new default alone. Where functions take a `folder`,
it may also be one such file, or `PATH.py:FUNCTION`, whose parameters are the keys (`own.py`).

A rule is one of
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
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import read_yaml
from factdrift.core.keys import validator
from factdrift.core.paths import LOCATORS, METHODS
from factdrift.core.settings import read_value
from factdrift.evaluation.methods.own import Entry, entry, read_description
from factdrift.evaluation.methods.record import OWN, Record, record_of, records
from factdrift.models.names import HasSizes

MARK = "derived, not tuned"
"""Begins the source of hyper-parameters of which at least one was derived."""
SizesOf = Callable[[], HasSizes]
"""Finds the sizes of a model; called only if a value depends on them."""


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
    own: Entry | None = None
    """The user's function, for a method that is not one of factdrift's."""

    def __getitem__(self, key: str) -> Any:
        return self.settings[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.settings)

    def __len__(self) -> int:
        return len(self.settings)

    @property
    def record(self) -> Record:
        """What is known of the method besides."""
        return record_of(self.method) if self.own is None else OWN

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
    sizes: SizesOf | None = None,
) -> Hyper:
    """The values for `model`, a name as it was given to `load`; `overrides` that are None do not count.

    `above`: the part of the key before the method's name, for messages. `sizes`: finds the sizes
    of the model, without which only rules that hold for every model give values.

    Raises InputError if the method has no file or a value is not valid, and CannotEdit if the method has no
    values for the model.
    """
    file = _file(method, folder)
    name = model.lower().rstrip("/")
    entry: dict[str, Any] = {}
    for each in reversed(file.get("models", [])):
        patterns = [pattern.lower() for pattern in each["names"]]
        if any(fnmatch.filter((name, name.rsplit("/", 1)[-1]), pattern) for pattern in patterns):
            entry = each
    own = {key: value for key, value in entry.items() if key not in ("names", "source")}
    given = check_values(method, overrides or {}, folder, above)
    defaults = default_values(method, folder)
    rules = {} if entry else file.get("derived", {}).get("rules", {})
    rules = {key: rule for key, rule in rules.items() if key not in given}
    found = sizes() if sizes and any("value" not in rule for rule in rules.values()) else None
    made: dict[str, Any] = {}
    said: list[str] = []
    for key, rule in rules.items():
        if found or "value" in rule:
            made[key], why = derive(rule, found, file["keys"][key].get("type") == "array")
            shown = ", ".join(map(str, made[key])) if isinstance(made[key], list) else f"{made[key]:g}"
            said.append(f"{key} {shown}{why}")
    values = {**defaults, **own, **made, **given}
    lacking = [key for key in file["keys"] if key not in values]
    if lacking:
        where = folder / f"{method}.yaml" if folder.is_dir() else folder
        raise CannotEdit(
            f"{where}: nothing is known of the model {model}: {', '.join(lacking)} must be "
            f"given; add an entry to the file, or set it in the configuration, such as "
            f"{above}{method}: {{{lacking[0]}: ...}}"
        )
    source = entry.get("source", f"{MARK}: {'; '.join(said)}" if made else "defaults")
    source += " and the configuration" if given else ""
    return Hyper(method, model, source, {key: values[key] for key in file["keys"]}, tuple(made))


def read_given(
    given: str,
    model: str,
    overrides: Mapping[str, Any] | None = None,
    folder: Path = METHODS,
    *,
    sizes: SizesOf | None = None,
) -> Hyper:
    """`read_hyper` of a method as the user names it: one of factdrift's, `PATH.py:FUNCTION`, an entry point.

    `folder`: of the files of factdrift's methods.
    """
    found = entry(given, folder)
    hyper = read_hyper(found.name, model, overrides, found.values, sizes=sizes)
    return replace(hyper, own=found if found.path else None)


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


def default_values(method: str, folder: Path = METHODS) -> dict[str, Any]:
    """The defaults of the keys, for every model without a value of its own."""
    keys = _file(method, folder)["keys"]
    return {key: schema["default"] for key, schema in keys.items() if "default" in schema}


def read_search(method: str, folder: Path = METHODS) -> dict[str, Any]:
    """What `edit tune` tries: `shares` of the blocks, and `factors` of other hyper-parameters.

    Raises InputError if the method has no file, or its file does not say what to try.
    """
    found: dict[str, Any] | None = _file(method, folder).get("tune")
    if found is None:
        files = sorted(METHODS.glob("*.yaml") if not folder.is_dir() else folder.glob("*.yaml"))
        known = ", ".join(path.stem for path in files if "tune" in read_yaml(path))
        raise InputError(
            f"edit tune: {method}: its file does not say what to try; methods that can be tuned: "
            f"{known}, and yours with `tune` in a YAML file"
        )
    return {"shares": [], "factors": {}, **found}


def check_values(
    method: str, given: Mapping[str, Any], folder: Path = METHODS, above: str = ""
) -> dict[str, Any]:
    """The user's values of a method without those that are None, numbers and truth values parsed from text.

    Raises InputError that names the key if the method does not know it or its value is not valid.
    """
    keys = _file(method, folder)["keys"]
    values: dict[str, Any] = {}
    for key, value in given.items():
        if value is None:
            continue
        if key not in keys:
            raise InputError(
                f"configuration: {above}{method}.{key}: no such key; there are {', '.join(keys) or 'none'}"
            )
        values[key] = read_value(value, keys[key])
        for fault in validator()(keys[key]).iter_errors(values[key]):
            where = above + ".".join(map(str, (method, key, *fault.absolute_path)))
            hint = f" ({' '.join(keys[key]['description'].split())})"
            raise InputError(f"configuration: {where}: {fault.message}{hint}")
    return {key: value for key, value in values.items() if value is not None}


@cache
def _file(method: str, folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        return read_description(folder)
    path = folder / f"{method}.yaml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yaml")))
        kind = "locators" if folder == LOCATORS else "methods"
        raise InputError(f"{kind}: {method}: no such {kind[:-1]}; there are {known} (files in {folder})")
    file = read_yaml(path)
    if "like" not in file:
        return file
    other = _file(file["like"], folder)
    keys = {key: other["keys"].get(key, {}) | schema for key, schema in file.get("keys", {}).items()}
    models = [*file.get("models", []), *other.get("models", [])]
    return {**other, **file, "keys": other["keys"] | keys, "models": models}


def files_of(method: str, folder: Path = METHODS) -> list[Path]:
    """The files with the hyper-parameters of one of factdrift's methods or locators."""
    path = folder / f"{method}.yaml"
    other = read_yaml(path).get("like")
    return [path, *(files_of(other, folder) if other else ())]


def derive(rule: Mapping[str, Any], sizes: HasSizes | None, listed: bool) -> tuple[Any, str]:
    """The value that a rule gives, and what it depends on in words; `listed`: the key is a list of blocks."""
    if "value" in rule:
        return rule["value"], ""
    assert sizes is not None
    if "by_width" in rule:
        import numpy as np

        widths, values = zip(*sorted(rule["by_width"].items()), strict=True)
        exponent = np.interp(math.log(sizes.hidden), np.log(widths), np.log(values))
        return float(f"{math.exp(exponent):.1e}"), f" for width {sizes.hidden}"
    first, last = rule.get("between", (rule.get("share"),) * 2)
    end = block_at(last, sizes.layers)
    begin = max(block_at(first, sizes.layers), end + 1 - rule.get("most", sizes.layers))
    blocks = list(range(begin, end + 1)) if listed or "between" in rule else end
    return blocks, f" of {sizes.layers}"


def block_at(share: float, layers: int) -> int:
    """The block before which `share` of the blocks lie, from 0 to `layers` - 1."""
    return min(math.floor(share * layers), layers - 1)
