"""The structure of the project in numbers: lines, rooms, floors, circles, functions, names, words.

A room is a folder of the package with all that is in it, or a module beside these folders. An import counts
wherever it stands, also in a function or for type checkers only; the modules that the command line names as
texts do not. tests/core/test_layout.py holds the numbers to their bars.

    .venv/bin/python benchmarks/structure.py
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import numpy as np
from scipy.sparse.csgraph import connected_components

from factdrift.cli import parser
from factdrift.core.jobs import JOBS, fields
from factdrift.core.paths import PACKAGE

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = 7
"""Of a function at most; the object whose method it is does not count."""
BODY = 85
"""Lines of a function at most."""
GLUE = re.compile(r"(?<![a-z])(?:found|each|one|said|told|given|place|put|held|seen)s?(?![a-z])")
"""Words that name nothing: in names and docstrings, a noun of the field says more."""

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


@cache
def imports_between(package: Path) -> Imports:
    """The imports of a package, or of a folder in one, that lead from one room to another."""
    modules = modules_of(package)
    # Imports inside a folder begin with the names of the folders that hold it.
    outer = [each.name for each in package.parents if (each / "__init__.py").is_file()]
    prefix = "".join(f"{name}." for name in reversed(outer))
    found: Imports = {}
    for module, path in modules.items():
        for name in (name.removeprefix(prefix) for name in imported_names(path)):
            imported = name if name in modules else name.rpartition(".")[0]
            rooms = module.split(".")[1], imported.partition(".")[2].partition(".")[0]
            if imported in modules and rooms[0] != rooms[1]:
                found.setdefault(rooms, []).append(f"{module} imports {imported}")
    return found


def rooms_of(package: Path) -> set[str]:
    return {module.split(".")[1] for module in modules_of(package)}


def order(imports: Imports) -> list[str]:
    """The rooms, each behind all that it imports. Raises ValueError with the imports of a circle."""
    below: dict[str, set[str]] = {}
    for room, imported in imports:
        below.setdefault(room, set()).add(imported)
    try:
        return [*TopologicalSorter(below).static_order()]
    except CycleError as error:
        circle = error.args[1][::-1]
        raise ValueError(f"rooms import each other in a circle:\n{lines(circle, imports)}") from None


def longest_chain(imports: Imports) -> list[str]:
    """The rooms from the highest floor down, each of which imports the next one."""
    chains: dict[str, list[str]] = {}
    for room in order(imports):
        below = [chains[imported] for above, imported in imports if above == room]
        chains[room] = [room, *max(below, key=len, default=[])]
    return max(chains.values(), key=len)


def lines(rooms: Sequence[str], imports: Imports) -> str:
    """The imports that lead from each of these rooms to the next one, a line each."""
    return "\n".join(f"{' -> '.join(pair)}: {line}" for pair in pairwise(rooms) for line in imports[pair])


def functions(package: Path) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Module, line and name, and syntax tree, of all functions."""
    for module, path in modules_of(package).items():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield f"{module}, line {node.lineno}: {node.name}", node


def long_signatures(package: Path) -> list[str]:
    """The functions that have more than PARAMETERS parameters."""
    signatures = {
        name: [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        for name, node in functions(package)
    }
    return [
        name
        for name, parameters in signatures.items()
        if sum(parameter.arg not in ("self", "cls") for parameter in parameters) > PARAMETERS
    ]


def long_functions(package: Path) -> list[str]:
    """The functions that have more than BODY lines."""
    return [name for name, node in functions(package) if (node.end_lineno or 0) - node.lineno >= BODY]


def circles(package: Path) -> list[list[str]]:
    """The modules of each circle: each of them imports all others of it, directly or through them."""
    modules = modules_of(package)
    number = {module: row for row, module in enumerate(modules)}
    arrows = np.zeros((len(modules), len(modules)), bool)
    for module, path in modules.items():
        for name in imported_names(path):
            imported = name if name in modules else name.rpartition(".")[0]
            if imported in modules:
                arrows[number[module], number[imported]] = True
    _, circle = connected_components(arrows, connection="strong")
    members: dict[int, list[str]] = {}
    for module, of in zip(modules, circle, strict=True):
        members.setdefault(of, []).append(module)
    return [names for names in members.values() if len(names) > 1]


def names_and_docstrings(path: Path) -> Iterator[str]:
    """Every use of a name in a file, and its docstrings."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Name | ast.Attribute | ast.arg | ast.keyword):
            name = getattr(node, "id", getattr(node, "attr", getattr(node, "arg", None)))
            yield name or ""
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
            yield ast.get_docstring(node) or ""


def glue_words(package: Path) -> Counter[str]:
    """Word of GLUE -> how often names and docstrings of a package use it."""
    texts = (text for path in package.rglob("*.py") for text in names_and_docstrings(path))
    return Counter(word for text in texts for word in GLUE.findall(text.lower().replace("_", " ")))


def size(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def count(paths: Iterable[Path]) -> str:
    """Lines and files."""
    sizes = [size(path) for path in paths]
    return f"{sum(sizes):,} lines in {len(sizes)} files"


def words(paths: Iterable[Path]) -> str:
    """Words and files."""
    sizes = [len(path.read_text("utf-8").split()) for path in paths]
    return f"{sum(sizes):,} words in {len(sizes)} pages"


def main() -> None:
    parser()  # which imports all records
    rules = [*(ROOT / "rules").rglob("*.smk"), ROOT / "Snakefile"]
    named = re.findall(
        r"^ *(?:use )?rule \w+", "".join(path.read_text("utf-8") for path in rules), re.MULTILINE
    )
    chain = longest_chain(imports_between(PACKAGE))
    print(f"package: {count(PACKAGE.rglob('*.py'))}")
    print(f"evaluation: {count((PACKAGE / 'evaluation').rglob('*.py'))}")
    print(f"rules: {count(rules)}, {len(named)} rules")
    print(f"tests: {count((ROOT / 'tests').rglob('*.py'))}")
    print(f"docs: {words((ROOT / 'docs').glob('*.md'))}, and the dictionary of tables")
    print(f"README.md: {count([ROOT / 'README.md'])}; CHANGELOG.md: {count([ROOT / 'CHANGELOG.md'])}")
    print(f"rooms: {len(rooms_of(PACKAGE))}; floors: {len(chain)} ({' -> '.join(chain)})")
    inside = longest_chain(imports_between(PACKAGE / "evaluation"))
    rooms = len(rooms_of(PACKAGE / "evaluation"))
    print(f"rooms of evaluation: {rooms}; floors: {len(inside)} ({' -> '.join(inside)})")
    print(f"circles of files: {len(circles(PACKAGE))}")
    print(f"functions with more than {PARAMETERS} parameters: {len(long_signatures(PACKAGE))}")
    print(f"functions of more than {BODY} lines: {len(long_functions(PACKAGE))}")
    glue = glue_words(PACKAGE)
    counts = ", ".join(f"{word} {number:,}" for word, number in glue.most_common())
    print(f"words that name nothing: {glue.total():,} ({counts})")
    print(f"commands: {len(JOBS)}, with {sum(len(fields(job)) for job in JOBS.values()):,} fields")


if __name__ == "__main__":
    main()
