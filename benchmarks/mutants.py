"""What the tests see: small changes of logic, each made alone, and how many of them fail a test.

    python benchmarks/mutants.py --record benchmarks/RESULTS.md
    python benchmarks/mutants.py --only updates/ --outcomes outcomes.json

`mutants.tsv` has a change a line: a module of the package, a text that stands in it once, what is put in its
place, and the tests that ought to fail. Each change is made in a temporary copy of the checkout, and its
tests run until the first one fails. A change that fails no test has survived: a result could become wrong in
this way, and nobody would be told. At the end the tests that failed run on the unchanged copy, where all must
pass.

With `--outcomes FILE` what was found is kept there, and a later run tries only what is not known to be
caught.
"""

import argparse
import csv
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from record import add_record, record

ROOT = Path(__file__).resolve().parents[1]
TABLE = Path(__file__).with_suffix(".tsv")
COLUMNS = ("module", "old", "new", "tests")
PACKAGE = Path("workflow", "factdrift")
SURVIVED, ENDLESS = "survived", "did not end"
"""What became of a change if no test failed; one with which tests do not end in time is caught, too."""

Outcomes = dict[str, list[str]]
"""Key of a change -> the tests that failed, or SURVIVED or ENDLESS alone."""


class Mutant(NamedTuple):
    """A change: in `module`, `old` becomes `new`; `tests`: paths under tests/, or tests (`PATH::NAME`)."""

    module: str
    old: str
    new: str
    tests: tuple[str, ...]

    @property
    def key(self) -> str:
        return f"{self.module}: {self.old} -> {self.new}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", type=Path, default=TABLE)
    parser.add_argument("--only", default="", help="changes whose module contains this text")
    parser.add_argument("--outcomes", type=Path, help="file of what former runs have found")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for the tests of one change")
    add_record(parser)
    options = parser.parse_args()
    mutants = [each for each in read_mutants(options.table) if options.only in each.module]
    known: Outcomes = {}
    if options.outcomes and options.outcomes.exists():
        known = json.loads(options.outcomes.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copy = copied(Path(folder, "checkout"))
        for number, mutant in enumerate(mutants, start=1):
            if known.get(mutant.key, [SURVIVED]) == [SURVIVED]:
                known[mutant.key] = tried(copy, mutant, options.timeout)
                if options.outcomes:
                    options.outcomes.write_text(json.dumps(known, indent=1), encoding="utf-8")
            print(f"{number} of {len(mutants)}: {mutant.key}: {', '.join(known[mutant.key])}", flush=True)
        confirm(copy, [test for mutant in mutants for test in known[mutant.key]], options.timeout)
    report(mutants, known, options.record)


def read_mutants(path: Path) -> list[Mutant]:
    """The changes of a table; ends the program with all lines that do not fit the code (any more)."""
    mutants, problems = [], []
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        if tuple(next(reader)) != COLUMNS:
            raise SystemExit(f"{path}, line 1: the columns must be {', '.join(COLUMNS)}")
        for line, (module, old, new, tests) in enumerate(reader, start=2):
            source = ROOT / PACKAGE / module
            found = source.read_text(encoding="utf-8").count(old) if source.is_file() else 0
            if found != 1 or old == new:
                problems.append(f"{path}, line {line}: {old!r} stands {found} times in {module}, not once")
            names = tuple(tests.split())
            missing = [name for name in names if not _exists(name)]
            problems += [f"{path}, line {line}: tests/{name} is missing" for name in missing]
            mutants.append(Mutant(module, old, new, names))
    if problems:
        raise SystemExit("\n".join(problems))
    return mutants


def _exists(test: str) -> bool:
    """Whether tests/ has the path and, for `PATH::NAME`, the file defines the function."""
    path, _, name = test.partition("::")
    source = ROOT / "tests" / path
    return source.exists() and (not name or f"\ndef {name}(" in source.read_text(encoding="utf-8"))


def copied(to: Path) -> Path:
    """A copy of the files of the checkout that git knows or would add."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    for name in listed.stdout.rstrip("\0").split("\0"):
        if (ROOT / name).is_file():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, to / name)
    return to


def tried(copy: Path, mutant: Mutant, timeout: float) -> list[str]:
    """What becomes of a change, as in Outcomes; the copy is as before afterwards."""
    path = copy / PACKAGE / mutant.module
    text = path.read_text(encoding="utf-8")
    # Examples that failed one change would be tried first on the next.
    shutil.rmtree(copy / ".hypothesis", ignore_errors=True)
    try:
        _write(path, text.replace(mutant.old, mutant.new))
        return outcome_of(copy, [f"tests/{name}" for name in mutant.tests], timeout)
    finally:
        _write(path, text)


def confirm(copy: Path, tests: Sequence[str], timeout: float) -> None:
    """Ends the program if a test that caught a change fails without any; with all its parameters."""
    paths = sorted({name.partition("[")[0] for name in tests} - {SURVIVED, ENDLESS})
    found = outcome_of(copy, paths, timeout * 10) if paths else [SURVIVED]
    if found != [SURVIVED]:
        raise SystemExit(f"fails without any change, so that it catches none: {', '.join(found)}")


def _write(path: Path, text: str) -> None:
    """Writes a module without what Python compiled of it, which may be as old and as long as the new one."""
    path.write_text(text, encoding="utf-8")
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def outcome_of(copy: Path, tests: Sequence[str], timeout: float) -> list[str]:
    """What becomes of a run of some tests, as in Outcomes."""
    line = [sys.executable, "-m", "pytest", "-x", "-q", "-m", "not slow", "--hypothesis-seed", "0"]
    line += ["--cache-clear", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / PACKAGE.parent)}
    try:
        done = subprocess.run(line, cwd=copy, env=environment, capture_output=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return [ENDLESS]
    if done.returncode == 0:
        return [SURVIVED]
    if done.returncode not in (1, 2):  # failed, not importable
        raise SystemExit(f"{' '.join(line)}\n{done.stdout.decode()[-2000:]}{done.stderr.decode()[-2000:]}")
    return list(json.loads((copy / ".pytest_cache/v/cache/lastfailed").read_text(encoding="utf-8")))


def report(mutants: Sequence[Mutant], known: Outcomes, file: Path | None) -> None:
    """Prints, and appends to a file, the share caught by stage, and what survived."""
    stages: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        stages.setdefault(mutant.module.partition("/")[0], []).append(mutant)
    rows = []
    for stage, mine in [*stages.items(), ("all", list(mutants))]:
        caught = sum(known[each.key] != [SURVIVED] for each in mine)
        rows.append([stage, str(len(mine)), str(caught), f"{100 * caught / len(mine):.0f} %"])
    left = [f"`{each.key}`" for each in mutants if known[each.key] == [SURVIVED]]
    record(
        "Small changes of logic that the tests catch (`mutants.py`)",
        ["modules", "changes", "caught", "share"],
        rows,
        "Survived: " + ("; ".join(left) or "none") + ".",
        file,
    )


if __name__ == "__main__":
    main()
