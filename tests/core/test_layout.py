"""The layout of the package: few rooms, whose imports run one way.

A room is a folder of the package with all that is in it, or a module beside these folders. An import counts
wherever it stands, also in a function or for type checkers only; the modules that the command line names as
texts do not.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

from factdrift.core.paths import PACKAGE

ROOMS = 24
FLOORS = 7
"""The longest chain of rooms that import each other, in rooms."""
PARAMETERS = 7
"""Of a function at most; the object whose method it is does not count."""

Imports = dict[tuple[str, str], list[str]]
"""(room, room that it imports) -> the imports between them, each as `MODULE imports MODULE`."""


def modules_of(package: Path) -> dict[str, Path]:
    """Dotted name -> file, of each module of a package but its own `__init__`."""
    found = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    del found[package.name]
    return found


def imported_names(path: Path) -> Iterator[str]:
    """Dotted names of all that a file imports."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}, line {node.lineno}: a relative import; write the whole name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def imports_between(package: Path) -> Imports:
    """The imports of a package that lead from one room to another."""
    modules = modules_of(package)
    found: Imports = {}
    for module, path in modules.items():
        for name in imported_names(path):
            imported = name if name in modules else name.rpartition(".")[0]
            rooms = module.split(".")[1], imported.partition(".")[2].partition(".")[0]
            if imported in modules and rooms[0] != rooms[1]:
                found.setdefault(rooms, []).append(f"{module} imports {imported}")
    return found


def rooms_of(package: Path) -> set[str]:
    return {module.split(".")[1] for module in modules_of(package)}


def order(imports: Imports) -> list[str]:
    """The rooms, each behind all that it imports; fails with the imports of a circle if there is one."""
    below: dict[str, set[str]] = {}
    for room, imported in imports:
        below.setdefault(room, set()).add(imported)
    try:
        return [*TopologicalSorter(below).static_order()]
    except CycleError as error:
        circle = error.args[1][::-1]
        pytest.fail(f"rooms import each other in a circle:\n{said(circle, imports)}")


def longest_chain(imports: Imports) -> list[str]:
    """The rooms from the highest floor down, each of which imports the next one."""
    chains: dict[str, list[str]] = {}
    for room in order(imports):
        below = [chains[imported] for above, imported in imports if above == room]
        chains[room] = [room, *max(below, key=len, default=[])]
    return max(chains.values(), key=len)


def said(rooms: Sequence[str], imports: Imports) -> str:
    """The imports that lead from each of these rooms to the next one, a line each."""
    return "\n".join(f"{' -> '.join(pair)}: {line}" for pair in pairwise(rooms) for line in imports[pair])


@pytest.fixture(scope="module")
def imports() -> Imports:
    return imports_between(PACKAGE)


def test_there_are_few_rooms():
    rooms = rooms_of(PACKAGE)
    assert len(rooms) <= ROOMS, f"{len(rooms)} rooms: {', '.join(sorted(rooms))}; fold one into another"


def test_no_rooms_import_each_other_and_floors_are_few(imports: Imports):
    chain = longest_chain(imports)
    assert len(chain) <= FLOORS, f"{len(chain)} floors:\n{said(chain, imports)}"


def test_the_core_imports_no_other_room(imports: Imports):
    lines = [line for (room, _), found in imports.items() if room == "core" for line in found]
    assert not lines, "\n".join(["core must import nothing else of the package:", *lines])


def test_no_function_has_more_than_seven_parameters():
    found = []
    for module, path in modules_of(PACKAGE).items():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [
                    each.arg for each in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                ]
                if len([name for name in names if name not in ("self", "cls")]) > PARAMETERS:
                    found.append(f"{module}, line {node.lineno}: {node.name}")
    assert not found, "\n".join(["these take a record instead:", *found])


def test_a_circle_is_named_with_its_modules(tmp_path: Path):
    package = tmp_path / "house"
    texts = {
        "__init__": "",
        "attic/__init__": "",
        "attic/roof": "if TYPE_CHECKING:\n    from house.hall import door\n",
        "hall/__init__": "",
        "hall/door": "def opened():\n    import house.cellar\n",
        "cellar": "from house.attic.roof import tiles\n",
    }
    for name, text in texts.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / f"{name}.py").write_text(text)
    assert rooms_of(package) == {"attic", "hall", "cellar"}
    found = imports_between(package)
    with pytest.raises(pytest.fail.Exception) as failure:
        longest_chain(found)
    for line in (
        "attic -> hall: house.attic.roof imports house.hall.door",
        "hall -> cellar: house.hall.door imports house.cellar",
        "cellar -> attic: house.cellar imports house.attic.roof",
    ):
        assert line in str(failure.value)
    del found["cellar", "attic"]
    assert longest_chain(found) == ["attic", "hall", "cellar"]
