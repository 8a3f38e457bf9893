"""What the tests see: small changes of logic, drawn by a seed, each made alone, and how many fail a test.

    python benchmarks/mutants.py --seed 1 2 --number 200 --record benchmarks/RESULTS.md
    python benchmarks/mutants.py --seed 1 --only ripples --outcomes outcomes.json

Changes are drawn from all modules that decide results, as many from each room as from another: operators
over the syntax tree of Python and over SQL in strings (`changes.py`). Each is made in a temporary copy of the
checkout. The quick tests of its room run until the first one fails, the fastest first: those that enter the
changed function, in their own process or in one that they start, as a run on the unchanged copy has shown,
where all must pass. A test that never enters it cannot fail by it. A change that fails no test has survived:
a result could become wrong in this way, and nobody would notice. `mutants.tsv` names the changes that leave
all results as they are, with the reason; they do not count.

With `--outcomes FILE` the outcomes are kept there, and a later run tries only what survived or is new.
"""

import argparse
import csv
import json
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice, zip_longest
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from changes import Change, can_be_compiled, changes_of
from mutants_tests import PACKAGE, KnownTest, WarmTests
from record import add_record, record

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_suffix(".tsv")
SURVIVED, ENDLESS = "survived", "did not end"
"""The outcome of a change if no test failed; one with which tests do not end in time is caught, too."""

DIGESTS = "workflow/test_digests.py"
"""Tests of all rooms that make products: these, of two small dumps, are what they were."""

DRAWN = "evaluation/test_drawn_world.py"
"""Digests of questions, and of scores of answers by chance."""

ROOMS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "statements": (("statements", "wikidata"), ("statements", "wikidata", DIGESTS)),
    "updates": (("updates",), ("updates", DIGESTS)),
    "neighbors": (("neighbors",), ("neighbors", DIGESTS)),
    "verbalize": (("verbalize", "words"), ("verbalize", "words", DIGESTS)),
    "wikifactdiff": (("wikifactdiff",), ("wikifactdiff", "words/test_words_grammar.py", DIGESTS)),
    "streams": (("streams",), ("streams", DIGESTS)),
    "ripples": (("ripples",), ("ripples", DIGESTS)),
    "klob": (("klob",), ("klob", DIGESTS)),
    "tempripple": (("tempripple",), ("tempripple", DIGESTS)),
    "verdict": (("verdict",), ("verdict",)),
    "questions": (
        ("evaluation/questions", "evaluation/ways", "evaluation/plan.py"),
        (
            *("evaluation/answers", "evaluation/cutoff", "evaluation/stream", DRAWN),
            *(f"evaluation/test_{name}.py" for name in ("corpus_questions", "dataset", "own_questions")),
            *(f"evaluation/test_{name}.py" for name in ("rippleedits", "taught", "template")),
        ),
    ),
    "methods": (
        ("evaluation/methods", "evaluation/states", "evaluation/locators"),
        (
            *("evaluation/methods", "evaluation/locators", "evaluation/test_own_methods.py"),
            *(f"evaluation/test_{name}.py" for name in ("adapters", "batches", "fitting", "tuning")),
        ),
    ),
    "scores": (
        ("evaluation/scores",),
        (
            *("evaluation/scores", "evaluation/answers", "evaluation/cutoff", "evaluation/stream", DRAWN),
            *(f"evaluation/test_{name}.py" for name in ("ability", "compare", "family_table", "grid")),
            *("evaluation/test_rippleedits.py", "evaluation/test_skipped.py"),
            "evaluation/locators/test_against_edits.py",
        ),
    ),
    "audit": (
        ("audit",),
        (
            *("audit", "publish/test_folders.py", DIGESTS),
            *(f"{name}/test_against_oracle.py" for name in ("updates", "streams", "ripples")),
        ),
    ),
}
"""Room -> its modules or folders in the package, and its folders or files in tests/."""
NO_RESULT = {"__init__.py", "jobs.py", "figure.py", "figures.py", "table.py", "show.py", "sizes.py"}
"""Modules of these names hold commands, pictures and prints of results, and estimates before a run."""
NO_RESULTS = ("_jobs", "_figure", "_text", "_report")
"""Endings of the names of such modules."""

FIRST = 6
"""So many tests run before the files of the others are read."""

Outcomes = dict[str, list[str]]
"""Key of a change -> the tests that failed, or SURVIVED or ENDLESS alone."""


class Mutant(NamedTuple):
    """A change of a module of a room."""

    room: str
    module: str
    change: Change

    @property
    def key(self) -> str:
        return f"{self.module}:{self.change.line} {self.change.old} -> {self.change.new or 'nothing'}"

    @property
    def can_be_made(self) -> bool:
        return can_be_compiled(self.change.applied((ROOT / PACKAGE / self.module).read_bytes()))

    def in_order(self, tests: Iterable[KnownTest], caught: Mapping[str, int]) -> list[str]:
        """The tests that may enter the changed function, the fastest first.

        Those of the whole room if it is no function. A test that has caught other changes counts as faster by
        their number.
        """
        changed = (self.module, self.change.function)

        def cost(test: KnownTest) -> tuple[bool, float]:
            return self.module not in test.modules, test.seconds / (1 + caught.get(test.name, 0))

        near = [
            test for test in tests if not self.change.function or test.is_unseen or changed in test.entered
        ]
        return [test.name for test in sorted(near, key=cost)]

    def in_brief(self, tests: Mapping[str, str], caught: Mapping[str, int]) -> list[str]:
        """The tests in files that name the changed module, then those of the whole room."""
        folder, _, name = self.module.removesuffix(".py").replace("/", ".").rpartition(".")
        named = re.compile(rf"factdrift\.{folder}\.{name}\b|factdrift\.{folder} import .*\b{name}\b")
        of_all = re.compile(r"test_digests|test_drawn_world|against_oracle|_oracle\.py|tests/verdict")
        chosen = [test for test, text in tests.items() if named.search(text) or of_all.search(test)]
        return sorted(chosen, key=lambda test: (bool(of_all.search(test)), -caught.get(test, 0)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=[0], nargs="+", help="of a draw; a table for each")
    parser.add_argument("--number", type=int, default=200, help="changes of all rooms together, by seed")
    parser.add_argument("--only", default="", help="changes of this room")
    parser.add_argument("--outcomes", type=Path, help="file of the outcomes of former runs")
    parser.add_argument(
        "--brief",
        action="store_true",
        help="run only digests, oracles and the tests in files that name the changed module, which takes "
        "no run of all others before: for a few changes a room; others may catch what survives",
    )
    parser.add_argument("--timeout", type=float, default=600, help="seconds for the tests of one change")
    parser.add_argument("--workers", type=int, default=1, help="changes that are tried at a time")
    add_record(parser)
    options = parser.parse_args()
    equivalent = read_equivalent(EQUIVALENT)
    mutants = {
        seed: [
            mutant
            for mutant in drawn(seed, options.number)
            if options.only in ("", mutant.room) and (mutant.module, *mutant.change.text) not in equivalent
        ]
        for seed in options.seed
    }
    known: Outcomes = {}
    if options.outcomes and options.outcomes.exists():
        known = json.loads(options.outcomes.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copies: SimpleQueue[Checkout] = SimpleQueue()
        surveys = Surveys(10 * options.timeout)
        for number in range(options.workers):
            copies.put(Checkout(Path(folder, f"checkout-{number}"), options.timeout, options.brief, surveys))
        with ThreadPoolExecutor(options.workers) as pool:
            every = {mutant.key: mutant for mutant in chain.from_iterable(mutants.values())}
            missing = [every[key] for key in every if known.get(key, [SURVIVED]) == [SURVIVED]]
            outcomes = pool.map(lambda mutant: tried(copies, mutant), missing)
            begun = time.monotonic()
            for number, (mutant, outcome) in enumerate(zip(missing, outcomes, strict=True), start=1):
                known[mutant.key] = outcome
                if options.outcomes:
                    options.outcomes.write_text(json.dumps(known, indent=1), encoding="utf-8")
                spent = (time.monotonic() - begun) / number
                said = f"{number} of {len(missing)}, {spent:.1f} s each: {mutant.key}: {', '.join(outcome)}"
                print(said, flush=True)
        while not copies.empty():
            copies.get().tests.close()
    for seed in options.seed:
        report(seed, mutants[seed], known, options.record)


def drawn(seed: int, number: int) -> list[Mutant]:
    """`number` changes, drawn in turns from each room without repetition; fewer if there are no more."""
    orders = []
    for room in ROOMS:
        mutants = list(mutants_of(room))
        random.Random(f"{seed}/{room}").shuffle(mutants)
        orders.append(mutant for mutant in mutants if mutant.can_be_made)
    turns = (mutant for turn in zip_longest(*orders) for mutant in turn if mutant is not None)
    return list(islice(turns, number))


def mutants_of(room: str) -> Iterator[Mutant]:
    """All changes of a room, in the order of its modules and of their lines."""
    for name in ROOMS[room][0]:
        path = ROOT / PACKAGE / name
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            if file.name not in NO_RESULT and not file.stem.endswith(NO_RESULTS):
                module = file.relative_to(ROOT / PACKAGE).as_posix()
                for change in changes_of(file.read_text(encoding="utf-8")):
                    yield Mutant(room, module, change)


def read_equivalent(path: Path) -> set[tuple[str, str, str]]:
    """Module, line before and line after of the changes that leave all results as they are.

    Ends the program with the lines of the table whose line of code is gone.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    gone = [
        f"{path}, line {number}: {row['before']!r} is no line of {row['module']}; remove the row"
        for number, row in enumerate(rows, start=2)
        if row["before"] not in map(str.strip, _lines(row["module"]))
    ]
    if gone:
        raise SystemExit("\n".join(gone))
    return {(row["module"], row["before"], row["after"]) for row in rows}


def _lines(module: str) -> list[str]:
    path = ROOT / PACKAGE / module
    return path.read_text(encoding="utf-8").splitlines() if path.is_file() else []


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


def tried(copies: "SimpleQueue[Checkout]", mutant: Mutant) -> list[str]:
    checkout = copies.get()
    try:
        return checkout.outcome(mutant)
    finally:
        copies.put(checkout)


class Surveys:
    """What the tests of each room do on the unchanged checkout, as one of its copies has shown."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._lock = threading.Lock()
        self._tests: dict[str, list[KnownTest]] = {}
        """File or folder of tests -> its tests; rooms share some."""
        self._modules: dict[str, None] = {}

    def tests_of(self, room: str, copy: WarmTests) -> list[KnownTest]:
        paths = [f"tests/{name}" for name in ROOMS[room][1]]
        with self._lock:
            missing = [path for path in paths if path not in self._tests]
            if missing:
                surveyed, modules = copy.survey(missing, self._timeout)
                self._modules |= dict.fromkeys(modules)
                for path in missing:
                    self._tests[path] = [
                        test for test in surveyed if test.name.startswith((f"{path}/", f"{path}::"))
                    ]
            copy.load(list(self._modules))
        return [test for path in paths for test in self._tests[path]]


class Checkout:
    """A copy of the checkout with its tests."""

    def __init__(self, folder: Path, timeout: float, brief: bool, surveys: Surveys) -> None:
        self._folder, self._timeout, self._brief = copied(folder), timeout, brief
        self.tests = WarmTests(folder)
        self._surveys = surveys
        self._named: dict[str, dict[str, str]] = {}
        self._caught: Counter[str] = Counter()

    def _named_of(self, room: str) -> dict[str, str]:
        if room not in self._named:
            paths = [f"tests/{name}" for name in ROOMS[room][1]]
            self._named[room] = self.tests.named(paths, 10 * self._timeout)
        return self._named[room]

    def outcome(self, mutant: Mutant) -> list[str]:
        """The outcome of a change, as in Outcomes; the copy is as before afterwards."""
        if self._brief:
            names = mutant.in_brief(self._named_of(mutant.room), self._caught)
        else:
            names = mutant.in_order(self._surveys.tests_of(mutant.room, self.tests), self._caught)
        path = self._folder / PACKAGE / mutant.module
        text = path.read_bytes()
        # Examples that failed one change would be tried first on the next.
        shutil.rmtree(self._folder / ".hypothesis", ignore_errors=True)
        try:
            _write(path, mutant.change.applied(text))
            # Most changes fail one of the first tests: the files of the others need not be read.
            for few in (names[:FIRST], names[FIRST:]):
                failed = self.tests.failed(few, self._timeout) if few else []
                if failed != []:
                    self._caught.update(failed or ())
                    return [ENDLESS] if failed is None else failed
            return [SURVIVED]
        finally:
            _write(path, text)


def _write(path: Path, text: bytes) -> None:
    """Writes a module without what Python compiled of it, which may be as old and as long as the new one."""
    path.write_bytes(text)
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*.pyc"):
        compiled.unlink()


def report(seed: int, mutants: Sequence[Mutant], known: Outcomes, table: Path | None) -> None:
    """Prints, and appends to the file `table`, the share caught by room, and the changes that survived."""
    rows = []
    for room in [*ROOMS, "all"]:
        mine = [mutant for mutant in mutants if room in (mutant.room, "all")]
        if mine:
            caught = sum(known[mutant.key] != [SURVIVED] for mutant in mine)
            rows.append([room, str(len(mine)), str(caught), f"{100 * caught / len(mine):.0f} %"])
    survivors = [f"`{mutant.key}`" for mutant in mutants if known[mutant.key] == [SURVIVED]]
    record(
        f"Small changes of logic that the tests catch (`mutants.py --seed {seed}`)",
        ["room", "changes", "caught", "share"],
        rows,
        "Survived: " + ("; ".join(survivors) or "none") + ".",
        table,
    )


if __name__ == "__main__":
    main()
