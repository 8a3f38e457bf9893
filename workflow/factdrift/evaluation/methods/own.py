"""Editing methods of the user's own: where they are and which hyper-parameters they have. No torch.

`PATH.py:FUNCTION`, or the name of an entry point `factdrift.methods` of an installed package. The code is
parsed, not imported, so that a workflow does not wait for what it imports. docs/own-methods.md describes both
interfaces.
"""

import ast
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError, meant
from factdrift.core.files import read_yaml
from factdrift.core.functions import check_names, code_digest, code_files, split_function
from factdrift.core.keys import validator
from factdrift.core.paths import CONFIG, LOCATORS, METHODS

GROUP = "factdrift.methods"
"""The group of entry points."""

DOCUMENT = "docs/own-methods.md"
GIVEN = {"plain": ("model", "tokenizer", "update"), "batched": ("loaded", "edits", "hyper", "artefacts")}
"""Interface -> the parameters that every method of it has. The second one says which interface it is."""


@dataclass(frozen=True)
class UserMethod:
    """One method of a configuration, or one of factdrift's locators."""

    name: str
    """In tables, paths and the configuration: the method's, the file's (`mine`, or `mine.other` for another
    function than `edit`) or the entry point's."""
    given: str
    """As the user named it."""
    file: Mapping[str, Any] = field(compare=False)
    """What is known of it, as in config/methods/*.yaml; of the user's own in NAME.yaml beside the code, or
    from the parameters of the function."""
    described: tuple[Path, ...]
    """The files with that."""
    path: Path | None = None
    """The file with the user's function; None for a method of factdrift."""
    function: str = ""
    module: str = ""
    """Of an entry point; empty for PATH.py:FUNCTION."""
    plain: bool = False
    code: str = ""
    """`code_digest` of the file and of what it imports from beside it."""

    def files(self) -> list[Path]:
        """What its results depend on besides the configuration and the package."""
        return [*(code_files(self.path, self.module) if self.path else ()), *self.described]


def entries(reference: Sequence[str], folder: Path = METHODS) -> list[UserMethod]:
    """`entry` for each; raises InputError if two have the same name."""
    methods = [entry(each, folder) for each in reference]
    check_names([each.name for each in methods], "methods", "a file or function")
    return methods


def keys_of_methods(reference: Sequence[str]) -> dict[str, str]:
    """Name -> as given, of the user's own methods among these, and of factdrift's that have keys.

    Raises InputError as `entries`.
    """
    names = sorted(path.stem for path in METHODS.glob("*.yaml"))
    known = {name: name for name in names if file_of(name, METHODS)[0]["keys"]}
    return known | {each.name: each.given for each in entries(reference) if each.path is not None}


def entry(reference: str, folder: Path = METHODS) -> UserMethod:
    """What the user means by a method.

    `folder`: of the files of factdrift's methods or locators. Raises InputError if there is no such one, or
    the parameters of a method or its YAML file are not as they must be.
    """
    known = sorted(file.stem for file in folder.iterdir() if file.suffix == ".yaml")
    if reference in known:
        return _known(reference, folder)
    if folder == LOCATORS:
        raise InputError(
            f"locators: {reference}: no such locator{meant(reference, known)}; there are {', '.join(known)} "
            f"(files in {folder.parent.name}/{folder.name})"
        )
    named = split_function(reference, "methods")
    if named is None:
        path, function, module = _entry_point(reference, known, folder)
        name = reference
    else:
        (path, function), module = named, ""
        name = path.stem if function == "edit" else f"{path.stem}.{function}"
    if name in known:
        raise InputError(
            f"methods: {reference} would be called {name}, as a method of factdrift; rename the file"
        )
    arguments = _arguments(path, function)
    plain = _is_plain(reference, arguments)
    taken = {each.arg: (each, default) for each, default in _own(arguments)} if plain else {}
    beside = path.parent / f"{name}.yaml"
    described: tuple[Path, ...] = ()
    if beside.is_file():
        file, described = _checked(beside), (beside,)
        for key in file["keys"] if plain and arguments.kwarg is None else ():
            if key not in taken:
                raise InputError(f"methods: {beside}: {function} has no parameter {key}")
        for key, (_, default) in taken.items():
            if default is None and key not in file["keys"]:
                raise InputError(f"methods: {beside}: the parameter {key} of {function} is no key")
    else:
        file = {"keys": {key: _schema(path, *each) for key, each in taken.items()}}
    code = code_digest(code_files(path, module))
    return UserMethod(name, reference, file, described, path, function, module, plain, code)


@cache
def _known(name: str, folder: Path) -> UserMethod:
    """One of factdrift's methods or locators, whose file has been checked."""
    file, described = file_of(name, folder)
    _check({key: value for key, value in file.items() if key not in ("record", "like")}, described[0])
    return UserMethod(name, name, file, described)


@cache
def file_of(method: str, folder: Path) -> tuple[dict[str, Any], tuple[Path, ...]]:
    """What is known of one of factdrift's methods, also from that which it is `like`; and the files."""
    path = folder / f"{method}.yaml"
    file = read_yaml(path)
    if "like" not in file:
        return file, (path,)
    if not (folder / f"{file['like']}.yaml").is_file():
        raise InputError(f"methods: {path}: like: there is no {file['like']}.yaml beside it")
    other, paths = file_of(file["like"], folder)
    keys = {key: other["keys"].get(key, {}) | schema for key, schema in file.get("keys", {}).items()}
    models = [*file.get("models", []), *other.get("models", [])]
    record = other.get("record", {}) | (file.get("record") or {})
    joined = {"keys": other["keys"] | keys, "models": models, "record": record}
    return {**other, **file, **joined}, (path, *paths)


def _entry_point(reference: str, known: Sequence[str], folder: Path) -> tuple[Path, str, str]:
    """File, function and module of an entry point."""
    from importlib.metadata import entry_points  # slow to import, and few name an entry point

    points = {point.name: point for point in entry_points(group=GROUP)}
    if reference not in points:
        names = [*known, *sorted(points)]
        raise InputError(
            f"methods: {reference}: no such method{meant(reference, names)}; there are {', '.join(names)} "
            f"(files in {folder.parent.name}/{folder.name}; entry points {GROUP} of installed packages); or "
            "give PATH.py:FUNCTION "
            f"({DOCUMENT})"
        )
    point = points[reference]
    path = _file_of(point.module)
    if path is None or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", reference) or "." in point.attr:
        raise InputError(
            f"methods: {reference}: the entry point {point.value!r} must be a function of a module in "
            "Python, and its name must consist of letters, digits, `_` and `-`"
        )
    return path, point.attr, point.module


def _file_of(module: str) -> Path | None:
    """The file of a module that can be imported, without importing it or the packages it is in."""
    name, locations, spec = "", None, None
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        spec = next((found for finder in finders if (found := finder.find_spec(name, locations))), None)
        if spec is None:
            return None
        locations = spec.submodule_search_locations
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _arguments(path: Path, function: str) -> ast.arguments:
    """The parameters of a function that a file defines."""
    try:
        body = ast.parse(path.read_bytes(), str(path)).body
    except (SyntaxError, ValueError) as error:
        raise InputError(f"methods: {path} is no Python code: {error}") from None
    functions = {each.name: each.args for each in body if isinstance(each, ast.FunctionDef)}
    if function not in functions:
        raise InputError(
            f"methods: {path} defines no function {function}; it defines {', '.join(functions) or 'none'}"
        )
    return functions[function]


def _is_plain(reference: str, arguments: ast.arguments) -> bool:
    names = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    for interface, wanted in GIVEN.items():
        if names[1:2] == [wanted[1]] and len(names) >= len(wanted):
            return interface == "plain"
    forms = " or ".join(f"edit({', '.join(wanted)})" for wanted in GIVEN.values())
    raise InputError(
        f"methods: {reference}: its parameters are ({', '.join(names)}); a method is {forms}, "
        f"and a plain one takes its hyper-parameters behind these ({DOCUMENT})"
    )


def _own(arguments: ast.arguments) -> list[tuple[ast.arg, ast.expr | None]]:
    """The parameters of a plain method after the first three, each with its default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    lacking = [None] * (len(positional) - len(arguments.defaults))
    pairs = list(zip(positional, [*lacking, *arguments.defaults], strict=True))[len(GIVEN["plain"]) :]
    return [*pairs, *zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)]


def _schema(path: Path, argument: ast.arg, default: ast.expr | None) -> dict[str, Any]:
    """JSON Schema of a parameter, from its default or its annotation."""
    described: dict[str, Any] = {"description": f"a parameter of {path}"}
    if default is None:
        kind = argument.annotation.id if isinstance(argument.annotation, ast.Name) else ""
        return described | ({"type": _KINDS[kind]} if kind in _KINDS else {})
    try:
        value = ast.literal_eval(default)
    except ValueError:
        raise InputError(
            f"methods: {path}: the default of {argument.arg} is no plain value (number, text, list); "
            "write one, or describe the hyper-parameters in a YAML file beside the code"
        ) from None
    value = list(value) if isinstance(value, tuple) else value
    kind = type(value).__name__
    described |= {"default": value} | ({"type": _KINDS[kind]} if kind in _KINDS else {})
    inner = {type(each).__name__ for each in value} if isinstance(value, list) else set()
    if len(inner) == 1 and inner <= set(_KINDS):
        described["items"] = {"type": _KINDS[inner.pop()]}
    return described


_KINDS = {
    **{"bool": "boolean", "int": "integer", "float": "number", "str": "string"},
    **{"list": "array", "dict": "object"},
}
"""Type of a default -> type in JSON Schema."""


def _checked(path: Path) -> dict[str, Any]:
    """The content of the YAML file of a user's method, with what it leaves out."""
    file = read_yaml(path)
    _check(file, path)
    keys = {key: {"description": "", **schema} for key, schema in file["keys"].items()}
    return {"models": [], **file, "keys": keys}


@cache
def _form() -> Any:
    """The validator of what a file says of a method or locator."""
    return validator()(read_yaml(CONFIG / "method.schema.yaml"))


def _check(file: Mapping[str, Any], path: Path) -> None:
    """Raises InputError if what a file says of a method or locator has not the form of config/methods/."""
    from jsonschema import SchemaError

    for fault in _form().iter_errors(file):
        where = ".".join(map(str, fault.absolute_path))
        raise InputError(
            f"methods: {path}: {where + ': ' if where else ''}{fault.message}; the form is that of the files "
            f"in {METHODS}"
        )
    for key, schema in file["keys"].items():
        try:
            validator().check_schema(schema)
        except SchemaError as error:
            raise InputError(f"methods: {path}: keys.{key} is no JSON Schema: {error.message}") from None
    ruled, tried = file.get("derived", {}).get("rules", {}), file.get("tune", {})
    for part, named in (("derived.rules", ruled), ("tune.factors", tried.get("factors", {}))):
        for key in set(named) - set(file["keys"]):
            raise InputError(f"methods: {path}: {part}: {key} is not among its keys")
    if "shares" in tried and not {"layer", "layers"} & set(file["keys"]):
        raise InputError(f"methods: {path}: tune.shares: there is no key layer or layers that they could set")
    for number, one in enumerate(file.get("models", [])):
        for key in set(one) - {"names", "source"}:
            if key not in file["keys"]:
                raise InputError(f"methods: {path}: models.{number}: {key} is not among its keys")
            for fault in validator()(file["keys"][key]).iter_errors(one[key]):
                raise InputError(f"methods: {path}: models.{number}.{key}: {fault.message}")
