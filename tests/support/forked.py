"""Runs of Snakemake, forked from a process that has its modules: loading them takes half of a plan's time.

As a program, a server: reads a run as a line of JSON, forks a child that does it, and answers with its exit
status. The first run loads what it needs by itself, and the server loads the same before the others.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

AT_START = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONHOME")
"""Variables that Python reads when it starts; a run that has others needs a process of its own."""


def run(arguments: Sequence[str], directory: Path, env: Mapping[str, str]) -> tuple[int, str]:
    """The exit status of `python -m snakemake` with these arguments, and its output, errors last."""
    server, started_with = _server()
    if any(env.get(name) != started_with.get(name) for name in AT_START):
        line = [sys.executable, "-m", "snakemake", *arguments]
        done = subprocess.run(line, capture_output=True, text=True, check=False, cwd=directory, env=env)
        return done.returncode, done.stdout + done.stderr
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("output", "errors")]
        asked = {"arguments": list(arguments), "directory": str(directory), "env": dict(env)}
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps(asked | {"files": list(map(str, files))}) + "\n")
        server.stdin.flush()
        status = int(server.stdout.readline())
        return status, "".join(file.read_text(encoding="utf-8", errors="replace") for file in files)


@cache
def _server() -> tuple[subprocess.Popen[str], dict[str, str]]:
    """The server of this process, which ends with it, and the environment in which it was started."""
    env = {**os.environ, "PYTHONWARNINGS": "ignore"}
    line = [sys.executable, __file__]
    server = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
    atexit.register(server.kill)
    return server, env


def serve() -> None:
    sys.path[0] = ""  # as with `python -m`: the folder of the run
    answers, modules = os.dup(1), Path(tempfile.mkstemp()[1])
    loaded = False
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _do(json.loads(line), None if loaded else modules)
        _, status = os.waitpid(child, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())
        if not loaded:
            _load(modules.read_text(encoding="utf-8").split())
            modules.unlink()
            loaded = True


def _do(asked: dict[str, Any], modules: Path | None) -> None:
    """Does a run in a child and ends it; writes the names of its modules to a file, if there is one."""
    status = 1
    try:
        os.chdir(asked["directory"])
        os.environ.clear()
        os.environ.update(asked["env"])
        for number, file in ((1, asked["files"][0]), (2, asked["files"][1])):
            os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        from snakemake import cli

        sys.argv = [str(Path(cli.__file__).with_name("__main__.py")), *asked["arguments"]]
        cli.main(sys.argv[1:])
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # as Python does at the end of a program
        traceback.print_exc()
    finally:
        if modules is not None:
            modules.write_text("\n".join(sys.modules), encoding="utf-8")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _load(names: Sequence[str]) -> None:
    """Imports modules, in this order; what only a run has (its rules, modules of its folder) is left out."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


if __name__ == "__main__":
    serve()
