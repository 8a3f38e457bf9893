"""Fingerprints of code: a short text that changes when what a command runs changes, and only then.

The rules pass the fingerprint of their command as a parameter, so Snakemake makes the outputs again after a
change of the code behind it. A fingerprint covers the function that runs the command, what that function uses
of its own module, and every module of the package that is imported from there, directly or not. It is a hash
of syntax trees: comments, docstrings, layout and the help texts of options do not count.
"""

import ast
import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.jobs import Job
from factdrift.core.paths import PACKAGE

_UNCOUNTED = {"factdrift.core.jobs"}
"""The values that it reads from the command line are parameters of the rules, so that these count."""


class _Statement(NamedTuple):
    """The part of a top-level statement that the fingerprint covers."""

    defines: frozenset[str]
    """The function, the class or the variables that it defines, or the names that it imports."""
    uses: frozenset[str]
    """All names that occur in it."""
    imports: frozenset[str]
    """All that is imported anywhere in it, as dotted names."""
    text: str
    """Its syntax tree, without what only people and type checkers read."""


def of_jobs(*jobs: type[Job]) -> str:
    """The fingerprint of one or several commands: 16 hexadecimal digits."""
    pieces: dict[str, bytes] = {}
    for job in jobs:
        pieces |= _pieces(job.__module__, job.__name__)
    return _combined(pieces)


def of_module(name: str) -> str:
    """The fingerprint of a module of the package and of all that it imports: 16 hexadecimal digits."""
    return _combined({module: _digest(module) for module in closure(name)})


def modules_of(job: type[Job]) -> frozenset[str]:
    """The modules of the package that the fingerprint of a command covers, wholly or in part."""
    return frozenset(name.partition(":")[0] for name in _pieces(job.__module__, job.__name__))


@cache
def closure(name: str) -> frozenset[str]:
    """A module of the package and all modules of the package that it imports, directly or not.

    Imports inside functions count; those for type checkers only do not.
    """
    modules, waiting = set[str](), [name]
    while waiting:
        module = waiting.pop()
        if module not in modules:
            modules.add(module)
            waiting += _imported(module)
    return frozenset(modules)


@cache
def _pieces(module: str, name: str) -> dict[str, bytes]:
    """Name -> digest of each piece of a job's code: a module, or `module:name` of what it uses of its own."""
    definitions = {name: piece for piece in _statements(module) for name in piece.defines}
    used, modules = set[str](), set[str]()
    waiting = [name]
    while waiting:
        piece = waiting.pop()
        if piece in definitions and piece not in used:
            used.add(piece)
            modules |= _modules(definitions[piece].imports)
            waiting += definitions[piece].uses
    whole = {piece for start in modules for piece in closure(start)} - {module}
    # Of an import only the modules count.
    own = {piece: definitions[piece].text for piece in used}
    parts = {f"{module}:{piece}": _hashed(text) for piece, text in own.items() if text[:6] != "Import"}
    return parts | {piece: _digest(piece) for piece in whole}


@cache
def _imported(module: str) -> set[str]:
    """The modules of the package that a module imports itself."""
    return _modules(name for statement in _statements(module) for name in statement.imports)


def _modules(names: Iterable[str]) -> set[str]:
    """The modules of the package that are loaded when these dotted names are imported, and that count."""
    return {module for name in names if (module := _module(name)) is not None} - _UNCOUNTED


@cache
def _module(name: str) -> str | None:
    """The module of the package that a dotted name is, or in which it is defined; None if there is none."""
    return next((module for module in (name, name.rpartition(".")[0]) if module in _files()), None)


@cache
def _files() -> dict[str, Path]:
    """Name -> file of all modules of the package, and of its folders, whose file is their `__init__`."""
    files = {}
    for path in PACKAGE.rglob("*.py"):
        stem = path.parent if path.name == "__init__.py" else path.with_suffix("")
        files[".".join(stem.relative_to(PACKAGE.parent).parts)] = path
    return files


@cache
def _statements(module: str) -> list[_Statement]:
    """The statements of a module that count."""
    source = _files()[module].read_bytes()
    return [_statement(node) for node in ast.parse(source).body if not _is_unread(node)]


def _statement(node: ast.stmt) -> _Statement:
    defines = frozenset[str]()
    if isinstance(node, ast.Import | ast.ImportFrom):
        defines = frozenset(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        defines = frozenset([node.name])
    elif isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inner = (part for target in targets for part in ast.walk(target))
        defines = frozenset(part.id for part in inner if isinstance(part, ast.Name))
    texts: list[str] = []
    uses, imports = set[str](), set[str]()
    _write(node, texts, uses, imports)
    return _Statement(defines, frozenset(uses), frozenset(imports), "\0".join(texts))


def _is_unread(node: Any) -> bool:
    """Whether a node is for people or type checkers only: a docstring or other bare text."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _write(node: ast.AST, texts: list[str], uses: set[str], imports: set[str]) -> None:
    """Adds the text of a syntax tree, the names in it and what it imports.

    Fields without value are left out, so that Python's versions agree. One walk for all, and the commonest
    nodes first, since every run of the workflow begins with it.
    """
    kind = type(node)
    texts.append(kind.__name__)
    if isinstance(node, ast.Name):
        uses.add(node.id)
        texts.append(node.id)
        return
    if isinstance(node, ast.Constant):
        texts.append(repr(node.value))
        return
    if isinstance(node, ast.Import):
        imports.update(alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        imports.update(f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Subscript) and getattr(node.value, "id", "") == "Annotated":
        # The texts are the help of a job's field.
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        node = ast.Tuple([part for part in parts if not isinstance(part, ast.Constant)])
    for field in node._fields:
        value = getattr(node, field, None)
        # Whether a name is read or written follows from its place.
        if value is None or field == "ctx":
            continue
        if isinstance(value, list):
            if field in _BLOCKS:
                value = [item for item in value if not _is_unread(item)]
            if value:
                texts += (field, "[")
                for item in value:
                    if isinstance(item, ast.AST):
                        _write(item, texts, uses, imports)
                    else:
                        texts.append(repr(item))
                texts.append("]")
        elif isinstance(value, ast.AST):
            texts.append(field)
            _write(value, texts, uses, imports)
        else:
            texts += (field, repr(value))


_BLOCKS = frozenset({"body", "orelse", "finalbody"})
"""The fields that hold statements."""


@cache
def _digest(module: str) -> bytes:
    statements = _statements(module)
    body = ("body", "[", *(statement.text for statement in statements), "]") if statements else ()
    return _hashed("\0".join(("Module", *body)))


def _hashed(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _combined(pieces: dict[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name, digest in sorted(pieces.items()):
        whole.update(name.encode() + b"\0" + digest)
    return whole.hexdigest()[:16]
