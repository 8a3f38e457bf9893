"""Runs tests of a copy of the checkout over and over, each time in a fork of one warm process.

The process has loaded the modules that the tests need, but those of the checkout itself, which differ from
run to run: so a run costs little more than its tests. `WarmTests` starts the process and asks it; as a
program, this module is the process.
"""

import contextlib
import gc
import importlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest

PACKAGE = Path("workflow", "factdrift")
_STARTS_A_PROGRAM = frozenset({"subprocess.Popen", "os.posix_spawn", "os.fork", "os.exec", "socket.connect"})
"""Events of Python's audit by which a test starts a process, or asks one that runs."""


class KnownTest(NamedTuple):
    """What a test does on the unchanged checkout."""

    name: str
    seconds: float
    entered: frozenset[tuple[str, int]]
    """The functions that it, or a process of Python that it starts, enters: module, number of first line."""
    is_unseen: bool
    """It starts programs, and no function was seen in them."""

    @property
    def modules(self) -> set[str]:
        return {module for module, _ in self.entered}


MARKED = """
import ast, builtins, os
from importlib.machinery import SourceFileLoader

package, get_code, entered = os.environ["MUTANTS_PACKAGE"], SourceFileLoader.get_code, set()

class Marks(ast.NodeTransformer):
    def __init__(self, module):
        self.module = module

    def visit_FunctionDef(self, node):
        self.generic_visit(node)
        line = min(part.lineno for part in (node, *node.decorator_list))
        mark = ast.parse(f"mutants_enter({self.module!r}, {line})").body[0]
        for part in ast.walk(mark):
            ast.copy_location(part, node)
        node.body.insert(ast.get_docstring(node) is not None, mark)
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

def marked(loader, name):
    if not loader.path.startswith(package):
        return get_code(loader, name)
    tree = Marks(loader.path[len(package):]).visit(ast.parse(loader.get_data(loader.path)))
    return compile(tree, loader.path, "exec", dont_inherit=True)

def enter(module, line):
    entered.add((module, line))

SourceFileLoader.get_code, builtins.mutants_enter = marked, enter
"""
"""Lets the functions of the package say that they are entered, in `entered`."""

IN_PROCESSES = f"""
{MARKED}
file = os.open(os.environ["MUTANTS_ENTERED"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
os.register_at_fork(after_in_child=entered.clear)

def write(module, line):
    if (module, line) not in entered:
        entered.add((module, line))
        os.write(file, f"{{module}}\\t{{line}}\\n".encode())

builtins.mutants_enter = write
"""
"""What a process of Python that a test starts runs first (as `sitecustomize`): it writes what it enters."""


class WarmTests:
    """The tests of one copy of the checkout."""

    def __init__(self, copy: Path) -> None:
        self._copy = copy
        self._process: subprocess.Popen[str] | None = None
        self._loaded: set[str] = set()

    def survey(self, paths: Sequence[str], timeout: float) -> tuple[list[KnownTest], list[str]]:
        """What each quick test of some files and folders does, and the modules that they need.

        Ends the program if one of them fails.
        """
        answer = self._ask({"survey": list(paths)}, timeout)
        if answer is None or answer["failed"] or not answer["tests"]:
            said = "no end" if answer is None else answer["failed"] or "no test"
            raise SystemExit(f"{' '.join(paths)}: fails without any change, so that it catches none: {said}")
        tests = [
            KnownTest(name, test["seconds"], frozenset(map(tuple, test["entered"])), test["is_unseen"])
            for name, test in answer["tests"].items()
        ]
        return tests, answer["modules"]

    def load(self, modules: Sequence[str]) -> None:
        """Lets the process load what it has not loaded, so that later tests find it there."""
        missing = [module for module in modules if module not in self._loaded]
        self._loaded |= set(missing)
        if missing:
            self._ask({"load": missing}, 600)

    def named(self, paths: Sequence[str], timeout: float) -> dict[str, str]:
        """The names of the quick tests of some files and folders -> the text of their file; none is run."""
        answer = self._ask({"names": list(paths)}, timeout)
        self.load(answer["modules"])
        files = {name.partition("::")[0] for name in answer["names"]}
        texts = {file: (self._copy / file).read_text(encoding="utf-8") for file in files}
        return {name: texts[name.partition("::")[0]] for name in answer["names"]}

    def failed(self, names: Sequence[str], timeout: float) -> list[str] | None:
        """The first of some tests that fails, as they are run in this order, if any; None if they do not end
        in time."""
        answer = self._ask({"run": list(names)}, timeout)
        return None if answer is None else list(answer["failed"])

    def close(self) -> None:
        if self._process is not None:
            assert self._process.stdin
            self._process.stdin.close()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: Mapping[str, Any], timeout: float) -> Any:
        if self._process is None:
            environment = {**os.environ, "PYTHONPATH": str(self._copy / PACKAGE.parent)}
            environment |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
            line = [sys.executable, str(Path(__file__).resolve())]
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
            self._process = subprocess.Popen(line, cwd=self._copy, env=environment, **pipes)
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps({**request, "timeout": timeout}) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"the process of the tests ended with {self._process.wait()}")
        return json.loads(answer)


def serve() -> None:
    """Answers requests, a line of JSON each, until there are no more."""
    for line in sys.stdin:
        request = json.loads(line)
        if "load" in request:
            _load(request["load"])
            answer: Any = {}
        else:
            answer = _forked(request)
        print(json.dumps(answer), flush=True)


def _load(modules: Sequence[str]) -> None:
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # a test may have put something else in its place
            continue
    gc.collect()
    gc.freeze()


def _forked(request: Mapping[str, Any]) -> Any:
    """What a child says that runs the tests; None if it does not end in time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        os.close(reader)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        for name, answers in {"survey": _survey, "names": _names, "run": _run}.items():
            if name in request:
                answer = answers(request[name])
        with os.fdopen(writer, "w") as file:
            json.dump(answer, file)
        os._exit(0)
    os.close(writer)
    parts: list[bytes] = []
    until = time.monotonic() + request["timeout"]
    while (left := until - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        part = os.read(reader, 1 << 16)
        if not part:
            break
        parts.append(part)
    os.close(reader)
    # Servers that a test has left behind end, too.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return json.loads(b"".join(parts)) if left > 0 and parts else None


def _run(names: Sequence[str]) -> Mapping[str, Any]:
    listener = _Order(names)
    status = _pytest(listener.files, listener, "-x")
    if status != 0 and not listener.failed:
        listener.failed.append(f"pytest ended with {status}")
    return {"failed": listener.failed}


def _survey(paths: Sequence[str]) -> Mapping[str, Any]:
    before = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "sitecustomize.py").write_text(IN_PROCESSES, encoding="utf-8")
        os.environ["PYTHONPATH"] = os.pathsep.join([folder, os.environ["PYTHONPATH"]])
        listener = _Survey(Path(folder, "entered"))
        _pytest(paths, listener)
    return {"failed": listener.failed, "tests": dict(listener.tests()), "modules": _loaded(before)}


def _names(paths: Sequence[str]) -> Mapping[str, Any]:
    before = set(sys.modules)
    listener = _Names()
    _pytest(paths, listener, "--collect-only")
    return {"names": listener.names, "modules": _loaded(before)}


def _loaded(before: Set[str]) -> list[str]:
    """The modules that were loaded since, but those of the checkout."""
    here = str(Path.cwd())
    return [
        name
        for name, module in list(sys.modules.items())
        if name not in before and (file := getattr(module, "__file__", None)) and not file.startswith(here)
    ]


def _pytest(paths: Sequence[str], plugin: object, *options: str) -> int:
    base = Path.cwd().with_suffix(".tmp")
    line = [
        "-q",
        "-m",
        "not slow",
        "-p",
        "no:cacheprovider",
        "--hypothesis-seed",
        "0",
        "--basetemp",
        str(base),
    ]
    return int(pytest.main([*line, *options, *dict.fromkeys(paths)], plugins=[plugin]))


class _Listener:
    """Which tests failed; a file that cannot be loaded counts as one."""

    def __init__(self) -> None:
        self.failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)


class _Names(_Listener):
    """The tests that would run."""

    names: Sequence[str] = ()

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.names = [item.nodeid for item in session.items]


class _Order(_Listener):
    """Runs the tests of these names only, in their order."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__()
        self._places = {name: place for place, name in enumerate(names)}
        self.files = list(dict.fromkeys(name.partition("::")[0] for name in names))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> Iterator[None]:
        yield
        items[:] = [item for item in items if item.nodeid in self._places]
        items.sort(key=lambda item: self._places[item.nodeid])


class _Survey(_Listener):
    """How long each test takes and what it enters, with what its fixtures enter for the first test."""

    def __init__(self, in_processes: Path) -> None:
        super().__init__()
        self._package = str(Path.cwd() / PACKAGE) + os.sep
        os.environ |= {"MUTANTS_PACKAGE": self._package, "MUTANTS_ENTERED": str(in_processes)}
        self._in_processes, self._read = in_processes, 0
        self._entered: set[tuple[str, int]] = set()
        names: dict[str, Any] = {}
        exec(MARKED, names)
        self._marks: set[tuple[str, int]] = names["entered"]
        self._programs = 0
        self._tests: dict[str, tuple[float, set[tuple[str, int]], bool]] = {}
        self._fixtures: dict[tuple[str, str], set[tuple[str, int]]] = {}
        self._items: list[pytest.Function] = []
        sys.addaudithook(self._audit)

    def _audit(self, event: str, _: object) -> None:
        if event in _STARTS_A_PROGRAM:
            self._programs += 1

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._entered, programs, begun = set(), self._programs, time.monotonic()
        try:
            return (yield)
        finally:
            spent = time.monotonic() - begun
            here, others = self._from_marks(), self._from_processes()
            unseen = self._programs > programs and not others
            self._tests[item.nodeid] = spent, self._entered | here | others, unseen
            if isinstance(item, pytest.Function):
                self._items.append(item)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Iterator[None]:
        before = self._entered | self._from_marks() | self._from_processes()
        self._entered = set()
        try:
            return (yield)
        finally:
            self._entered |= self._from_marks() | self._from_processes()
            self._fixtures[fixturedef.baseid, fixturedef.argname] = self._entered
            self._entered = before | self._entered

    def _from_marks(self) -> set[tuple[str, int]]:
        """The functions that this process has entered since the last call."""
        entered = set(self._marks)
        self._marks.clear()
        return entered

    def _from_processes(self) -> set[tuple[str, int]]:
        """The functions that processes have entered since the last call."""
        if not self._in_processes.exists():
            return set()
        with self._in_processes.open(encoding="utf-8") as file:
            file.seek(self._read)
            lines = file.read().splitlines()
            self._read = file.tell()
        return {(module, int(number)) for module, number in (line.split("\t") for line in lines)}

    def tests(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        definitions = {item.nodeid: item._fixtureinfo.name2fixturedefs for item in self._items}
        for name, (seconds, entered, unseen) in self._tests.items():
            used = itertools.chain.from_iterable(definitions.get(name, {}).values())
            keys = [(fixture.baseid, fixture.argname) for fixture in used]
            entered = entered.union(*(self._fixtures.get(key, ()) for key in keys))
            yield name, {"seconds": seconds, "entered": sorted(entered), "is_unseen": unseen}


if __name__ == "__main__":
    serve()
    # Without what modules would do at the end, which takes time and words.
    os._exit(0)
