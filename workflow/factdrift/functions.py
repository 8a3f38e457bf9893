"""Functions that users write and name as `PATH.py:FUNCTION`: editing methods and locators of their own."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from factdrift.errors import InputError


def split_function(given: str, key: str) -> tuple[Path, str] | None:
    """The file and the function that `PATH.py:FUNCTION` names; None if `given` has not this form.

    `key`: the key of the configuration, for messages. Raises InputError if the file does not exist, or its
    name or the function's cannot be part of a path.
    """
    name, separator, function = given.rpartition(":")
    path = Path(name)
    if not separator or path.suffix != ".py":
        return None
    if not path.is_file():
        raise InputError(f"{key}: {given}: there is no file {path}; write PATH.py:FUNCTION")
    if not function.isidentifier():
        raise InputError(f"{key}: {given}: {function!r} is no name of a function; write PATH.py:FUNCTION")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", path.stem) or not function.isascii():
        raise InputError(
            f"{key}: {given}: results are named after file and function; use letters, digits, `_` and `-` in "
            "both, and begin with a letter"
        )
    return path, function


def read_function(path: Path, function: str, key: str) -> Callable[..., Any]:
    """Imports the file and returns the function; raises InputError if it is not there."""
    name = f"own_{key}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise InputError(f"{key}: {path} is no file with Python code")
    module = importlib.util.module_from_spec(spec)
    # Where dataclasses and pickle look for the module of what it defines.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(f"{key}: {path} cannot be imported: {type(error).__name__}: {error}") from error
    return function_of(module, function, str(path), key)


def function_of(module: Any, function: str, where: str, key: str) -> Callable[..., Any]:
    """A function of an imported module; raises InputError with the names of its functions if it has none."""
    found = getattr(module, function, None)
    if not callable(found):
        names = ", ".join(name for name, value in vars(module).items() if inspect.isfunction(value))
        raise InputError(f"{key}: {where} has no function {function}; it has {names or 'none'}")
    called: Callable[..., Any] = found
    return called
