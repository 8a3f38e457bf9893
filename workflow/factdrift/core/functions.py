"""Functions that users write and name as `PATH.py:FUNCTION`: editing methods and locators of their own."""

import ast
import importlib
import importlib.util
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.errors import InputError
from factdrift.core.files import sha256, sha256_of_all


def split_function(text: str, key: str) -> tuple[Path, str] | None:
    """The file and the function that `PATH.py:FUNCTION` names; None if `text` has not this form.

    `key`: the key of the configuration, for messages. Raises InputError if the file does not exist, or its
    name or the function's cannot be part of a path.
    """
    name, separator, function = text.rpartition(":")
    path = Path(name)
    if not separator or path.suffix != ".py":
        return None
    if not path.is_file():
        raise InputError(f"{key}: {text}: there is no file {path}; write PATH.py:FUNCTION")
    if not function.isidentifier():
        raise InputError(f"{key}: {text}: {function!r} is no name of a function; write PATH.py:FUNCTION")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", path.stem) or not function.isascii():
        raise InputError(
            f"{key}: {text}: results are named after file and function; use letters, digits, `_` and `-` in "
            "both, and begin with a letter"
        )
    return path, function


def check_names(names: Sequence[str], key: str, rename: str) -> None:
    """Raises InputError if two of a configuration's methods or locators have the same name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InputError(f"{key}: two are called {name}; rename {rename}")


def code_files(path: Path, module: str = "") -> list[Path]:
    """The file of a function and the modules that it imports from beside it, directly or not; the file first.

    Beside it is in its folder or below, or, for a `module` of an installed package, in that package. The code
    is parsed, not imported; a file that is no Python code imports nothing.
    """
    package = module.split(".")[:-1]
    root = path.parents[len(package)]
    files, waiting = [path], [(path, package)]
    while waiting:
        file, inside = waiting.pop()
        for name in _imported(file, inside):
            parts = name.split(".")
            if module and parts[0] != module.partition(".")[0]:
                continue
            # Importing a.b.c also runs a and a.b; c may be a name that a.b defines.
            for depth in range(1, len(parts) + 1):
                target = root.joinpath(*parts[:depth])
                for other, its in (
                    (target / "__init__.py", parts[:depth]),
                    (target.with_suffix(".py"), parts[: depth - 1]),
                ):
                    if other.is_file() and other not in files:
                        files.append(other)
                        waiting.append((other, its))
    return [path, *sorted(files[1:])]


def _imported(file: Path, package: Sequence[str]) -> Iterator[str]:
    """The dotted names that a file imports, also inside functions; relative ones are those of its package."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError):
        return
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = [*above, *([node.module] if node.module else [])]
            yield from (".".join([*start, alias.name]) for alias in node.names)


def code_digest(files: Sequence[Path]) -> str:
    """SHA-256 of a file, or over the digests of several, in hexadecimal digits."""
    return sha256(files[0]) if len(files) == 1 else sha256_of_all(files)


def read_function(path: Path, function: str, key: str) -> Callable[..., Any]:
    """Imports the file and returns the function; raises InputError if it is not there.

    The file may import what lies beside it; a module of that name that is installed comes first.
    """
    name = f"own_{key}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{key}: {path} is no file with Python code")
    module = importlib.util.module_from_spec(spec)
    # Where dataclasses and pickle look for the module of what it defines.
    sys.modules[name] = module
    if (folder := str(path.parent.resolve())) not in sys.path:
        sys.path.append(folder)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{key}: {path} cannot be imported: {type(error).__name__}: {error}") from error
    return function_of(module, function, str(path), key)


def named_function(package: str, name: str) -> Callable[..., Any]:
    """The function MODULE.FUNCTION of a package, as the record of a method or locator names it.

    Raises InputError if there is none.
    """
    module, _, function = name.rpartition(".")
    whole = f"{package}.{module}"
    try:
        imported = importlib.import_module(whole)
    except ModuleNotFoundError as error:
        if error.name and whole.startswith(error.name):
            raise InputError(f"record: {name}: there is no module {whole}; correct the name") from None
        raise
    return function_of(imported, function, whole, "record")


def function_of(module: Any, function: str, where: str, key: str) -> Callable[..., Any]:
    """A function of an imported module; raises InputError with the names of its functions if it has none."""
    named = getattr(module, function, None)
    if not callable(named):
        names = ", ".join(name for name, value in vars(module).items() if inspect.isfunction(value))
        raise InputError(f"{key}: {where} has no function {function}; it has {names or 'none'}")
    called: Callable[..., Any] = named
    return called
