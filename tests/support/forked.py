"""Runs of Snakemake, their jobs and other programs, forked from a process that has their modules.

Loading these takes half of a plan's time, and most of that of a small job or of one that runs a small model.

As a program, a server at a socket: for each connection it forks a child that does what is asked
(ask_forked.py), and answers with its exit status. Modules that a child had to load, the server loads for
those that come later.
"""

import atexit
import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
import types
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NoReturn

from support import ask_forked

AT_START = ("PYTHONPATH", "PYTHONWARNINGS", "PYTHONHOME", "PYTHONHASHSEED")
"""Variables that Python reads when it starts: runs that have others have a server of their own."""

KEPT = (sys.prefix, sys.base_prefix, str(Path(__file__).resolve().parents[2] / "workflow"))
"""Where modules lie that the server loads: no test changes them."""


def run(words: Sequence[str], directory: Path, env: Mapping[str, str]) -> tuple[int, str, str]:
    """The exit status, output and errors of `snakemake`, or of a program of Python, with its arguments."""
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context(tempfile.TemporaryFile("w+", errors="replace")) for _ in range(2)]
        to = [file.fileno() for file in files]
        status = ask_forked.ask(_server(env), list(words), str(directory), env, to)
        for file in files:
            file.seek(0)
        output, errors = (file.read() for file in files)
        return status, output, errors


def quiet(**variables: str) -> dict[str, str]:
    """The environment of a program that prints no warnings of Python, with these variables."""
    return {**os.environ, "PYTHONWARNINGS": "ignore", **variables}


def with_forked_jobs(**variables: str) -> dict[str, str]:
    """The environment of a run of Snakemake in which what bash calls `factdrift` is forked."""
    env = quiet(**variables)
    client = f'"{sys.executable}" -I -S "{ask_forked.__file__}" "{_server(env)}" factdrift'
    return {**env, "BASH_FUNC_factdrift%%": f'() {{ {client} "$@"; }}'}


def _server(env: Mapping[str, str]) -> str:
    """The address of a server that was started with these values of AT_START."""
    return _started(tuple(env.get(name) for name in AT_START))


@cache
def _started(started_with: tuple[str | None, ...]) -> str:
    """The address of a server that ends with this process."""
    env = {**os.environ, **dict(zip(AT_START, started_with, strict=True))}
    server = subprocess.Popen(
        [sys.executable, "-m", "support.forked"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={name: value for name, value in env.items() if value is not None},
        cwd=Path(__file__).parents[1],
    )
    atexit.register(server.communicate)
    return server.stdout.readline().rstrip("\n")


def serve() -> None:
    """Answers until the input ends, as it does with the process that started the server."""
    sys.path[0] = ""  # as with `python -m`: the folder of the run
    with socket.socket(socket.AF_UNIX) as listening, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        listening.bind(f"{name}/socket")
        listening.listen()
        print(f"{name}/socket", flush=True)
        while listening in select.select([listening, sys.stdin], [], [])[0]:
            connection, _ = listening.accept()
            for path in folder.glob("*.modules"):
                _load(path.read_text(encoding="utf-8").split())
                path.unlink()
            if not os.fork():
                try:
                    listening.close()
                    _attend(connection, folder)
                finally:
                    os._exit(1)  # also after an error: the folder is the server's to remove
            connection.close()
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def _attend(connection: socket.socket, folder: Path) -> NoReturn:
    """Has a child do what is asked; kills it when who asks ends before, as Snakemake ends its jobs."""
    _, files, _, _ = socket.recv_fds(connection, 1, 2)
    asked = json.loads(b"".join(iter(lambda: connection.recv(1 << 16), b"")))
    child = os.fork()
    if not child:
        connection.close()
        _do(asked, files, folder)
    for file in files:
        os.close(file)
    ended = os.pidfd_open(child)
    waiting = select.poll()
    waiting.register(connection, 0)  # the end of the connection is always told
    waiting.register(ended, select.POLLIN)
    if ended not in dict(waiting.poll()):
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _do(asked: dict[str, Any], files: Sequence[int], folder: Path) -> NoReturn:
    """Does in this process what a program does, and ends it; then the server knows what modules it had."""
    status = 1
    before = set(sys.modules)
    try:
        os.chdir(asked["directory"])
        os.environ.clear()
        os.environ.update(asked["env"])
        tempfile.tempdir = None
        importlib.invalidate_caches()
        for number, file in enumerate([os.open(os.devnull, os.O_RDONLY), *files]):
            os.dup2(file, number)
        sys.argv = asked["words"]
        if sys.argv[0] == "snakemake":
            from snakemake import cli

            sys.argv[0] = str(Path(cli.__file__).with_name("__main__.py"))
            cli.main(sys.argv[1:])
        elif sys.argv[0] == "factdrift":
            from factdrift.cli import main

            sys.path[0] = str(Path(sys.executable).parent)
            sys.exit(main(sys.argv[1:]))
        else:
            script = Path(sys.argv[0])
            sys.path[0] = str(script.parent)
            program = types.ModuleType("__main__")
            program.__file__ = str(script)
            # Processes of `multiprocessing` know what runs by the second name, since its modules are loaded.
            sys.modules["__main__"] = sys.modules["__mp_main__"] = program
            exec(compile(script.read_bytes(), script, "exec"), program.__dict__)
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # as Python does at the end of a program
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        found = [
            name for name, module in list(sys.modules.items()) if name not in before and _is_kept(module)
        ]
        if found:
            part = folder / f"{os.getpid()}.part"
            part.write_text("\n".join(found), encoding="utf-8")
            part.rename(part.with_suffix(".modules"))
        os._exit(status)


def _is_kept(module: Any) -> bool:
    spec = getattr(module, "__spec__", None)
    return str(getattr(spec, "origin", None)).startswith(KEPT)


def _load(names: Sequence[str]) -> None:
    """Imports modules, in this order, and spares children to look for garbage among them."""
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    serve()
    os._exit(0)  # without the words of libraries about what Python does not free at its end
