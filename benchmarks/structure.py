"""The structure of the project in numbers: lines, rooms, floors, long signatures, records, rules.

A room is a folder of the package with all that is in it, or a module beside these folders. An import counts
wherever it stands, also in a function or for type checkers only; the modules that the command line names as
texts do not. tests/core/test_layout.py holds the numbers to their bars.

    .venv/bin/python benchmarks/structure.py
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatch
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise, zip_longest
from pathlib import Path

import pandas as pd

from factdrift.cli import parser
from factdrift.core.jobs import JOBS, fields
from factdrift.core.paths import PACKAGE

ROOT = Path(__file__).resolve().parents[1]
PARAMETERS = 7
"""Of a function at most; the object whose method it is does not count."""

NEWER = {
    "date of a model": "*cutoff* */questions/successions.py */questions/tenures.py */models/options.py",
    "written answers and their verdict": """*written* */verdict/* */ways/asked.py *judged.py
        */scores/verdicts.py */models/writing.py */test_writing.py */support/writing.py */inspect_tasks.py""",
    "ripples": """*/factdrift/ripples/* tests/ripples/* rules/ripples.smk */evaluation/*/ripple*
        *rippleedits.py */scores/test_ripples.py */scores/conditions.py
        */audit/*ripple* */workflow/test_ripples.py""",
    "one grid of benchmarks, states and ways": """*/scores/grid.py */test_grid.py
        */tools/cell.py */test_cell.py""",
    "more methods, models and tools": """*wise.py *merge.py */methods/*replay.py *quantized.py
        */models/memories.py *fitting.py */tools/compare.py */evaluation/test_compare.py
        */bundled/shipped.py */test_resume.py *pretended.py */test_on_gpu.py""",
    "explorer: why, spelling; site, notebooks": """*why.py */test_docs_site.py
        *notebook*.py */test_tutorials.py""",
    "audit by a second implementation": """*/audit/conclusions.py */audit/documents.py
        */audit/expected.py */audit/filters.py */audit/phrases.py */audit/reading.py */audit/sentences.py
        */audit/survey.py */audit/world.py */audit/of_[dfklnst]*.py */audit/of_rules.py *audit_plants.py""",
    "refusals of what was wrong without a word": "*/wikidata/course.py",
    "first minute: names, messages, Python, help": "",
    "clusters: estimate, submissions": "",
}
"""What came after 2026-11-23 (commit 2bf5b39), when the bars on lines were set: feature -> patterns of the
files that serve nothing else. DEFINITIONS are in files from before; all else that features added to these
counts as from before."""

DEFINITIONS = ROOT / "benchmarks" / "newer.tsv"
"""Feature, module of the package, and its functions, classes and constants that serve only the feature."""

LATER = ("date of a model", "written answers and their verdict", "ripples")
"""Of these, what is no part of the rebuilding of the evaluation."""
REBUILT = 15_171
"""Lines of edit, answer and locate before they became `evaluation` (commit c262f7c1)."""

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


def long_signatures(package: Path) -> list[str]:
    """Module, line and name of each function that has more than PARAMETERS parameters."""
    found = []
    for module, path in modules_of(package).items():
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
                if len([each for each in given if each.arg not in ("self", "cls")]) > PARAMETERS:
                    found.append(f"{module}, line {node.lineno}: {node.name}")
    return found


def size(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def count(paths: Iterable[Path]) -> str:
    """Lines and files."""
    sizes = [size(path) for path in paths]
    return f"{sum(sizes):,} lines in {len(sizes)} files"


@cache
def newer(path: Path) -> str:
    """The feature of NEWER of which a file is; empty if it was there before or serves others too."""
    name = path.relative_to(ROOT).as_posix()
    return next((feature for feature, of in NEWER.items() if any(fnmatch(name, p) for p in of.split())), "")


@cache
def definitions() -> dict[Path, dict[str, str]]:
    """Module -> name -> feature, by DEFINITIONS."""
    found: dict[Path, dict[str, str]] = {}
    for feature, module, names in pd.read_csv(DEFINITIONS, sep="\t").itertuples(index=False):
        found.setdefault(PACKAGE / module, {}).update(dict.fromkeys(names.split(), feature))
    return found


@cache
def lines_of(path: Path) -> Counter[str]:
    """Feature of NEWER -> lines of a file that serve it alone; the other lines have the feature "".

    Raises KeyError if the file has no definition that DEFINITIONS names.
    """
    found = Counter({newer(path): size(path)})
    if named := definitions().get(path):
        body = ast.parse(path.read_bytes()).body
        inner = [(f"{node.name}.", node.body) for node in body if isinstance(node, ast.ClassDef)]
        places = {}
        for prefix, nodes in (("", body), *inner):
            for node, after in zip_longest(nodes, nodes[1:]):
                target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
                # What explains a constant stands below it.
                last = after if isinstance(after, ast.Expr) and target is not node else node
                name = getattr(target, "name", getattr(target, "id", ""))
                places[prefix + name] = last.end_lineno - node.lineno + 1
        for name, feature in named.items():
            found[feature] += places[name]
            found[""] -= places[name]
    return found


def features(files: Mapping[str, Sequence[Path]]) -> Iterator[str]:
    """Lines of a table: of each feature of NEWER, and of all else, the lines of package, rules and tests."""
    yield f"{'':42}" + "".join(f"{part:>10}" for part in files)
    counts = [sum((lines_of(path) for path in paths), Counter()) for paths in files.values()]
    for feature in (*NEWER, ""):
        row = f"{feature or 'what was there on 2026-11-23':42}"
        yield row + "".join(f"{of[feature]:10,}" for of in counts)


def main() -> None:
    parser()  # which imports all records
    rules = [*(ROOT / "rules").rglob("*.smk"), ROOT / "Snakefile"]
    files = {
        "package": [*PACKAGE.rglob("*.py")],
        "rules": rules,
        "tests": [*(ROOT / "tests").rglob("*.py")],
        "evaluation": [*(PACKAGE / "evaluation").rglob("*.py")],
    }
    named = re.findall(
        r"^ *(?:use )?rule \w+", "".join(path.read_text("utf-8") for path in rules), re.MULTILINE
    )
    chain = longest_chain(imports_between(PACKAGE))
    print(f"package: {count(files['package'])}")
    print(f"rules: {count(rules)}, {len(named)} rules")
    print(f"tests: {count(files['tests'])}")
    print(f"README.md: {count([ROOT / 'README.md'])}; CHANGELOG.md: {count([ROOT / 'CHANGELOG.md'])}")
    print(f"rooms: {len(rooms_of(PACKAGE))}; floors: {len(chain)} ({' -> '.join(chain)})")
    inside = longest_chain(imports_between(PACKAGE / "evaluation"))
    rooms = len(rooms_of(PACKAGE / "evaluation"))
    print(f"rooms of evaluation: {rooms}; floors: {len(inside)} ({' -> '.join(inside)})")
    print(f"functions with more than {PARAMETERS} parameters: {len(long_signatures(PACKAGE))}")
    print("\n".join(features(files)))
    own = sum(lines_of(path)[feature] for path in files["evaluation"] for feature in {*NEWER, ""} - {*LATER})
    print(f"evaluation without {', '.join(LATER)}: {own:,} lines, {own / REBUILT:.0%} of {REBUILT:,} before")
    print(f"commands: {len(JOBS)}, with {sum(len(fields(job)) for job in JOBS.values()):,} fields")


if __name__ == "__main__":
    main()
