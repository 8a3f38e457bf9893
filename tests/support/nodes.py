"""Machines that share folders, made of namespaces: own host name, processes, scratch and home."""

import os
import shlex
import shutil
import signal
import subprocess
from functools import cache
from pathlib import Path

ENTER = ("unshare", "--mount", "--uts", "--pid", "--fork", "--mount-proc", "--kill-child")


@cache
def why_no_nodes() -> str:
    """Why this machine cannot be divided; empty if it can."""
    if shutil.which("unshare") is None:
        return "there is no program `unshare`"
    done = subprocess.run([*ENTER, "true"], capture_output=True, text=True, check=False)
    return f"no right to make namespaces: {done.stderr.strip()}" if done.returncode else ""


class Node:
    """A machine with a name.

    Its TMPDIR and HOME are `folder`/scratch and `folder`/home: paths that every node has, with contents of
    its own. All other folders are shared.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.scratch, self.home = name, folder / "scratch", folder / "home"
        for each in (self.scratch, self.home):
            each.mkdir(exist_ok=True)

    def line(self, command: list[str]) -> list[str]:
        """The command line that runs a command there."""
        set_up = [f"hostname {shlex.quote(self.name)}"]
        set_up += [f"mount -t tmpfs none {shlex.quote(str(each))}" for each in (self.scratch, self.home)]
        variables = f"TMPDIR={shlex.quote(str(self.scratch))} HOME={shlex.quote(str(self.home))}"
        return [*ENTER, "sh", "-ec", "; ".join([*set_up, f"{variables} exec {shlex.join(command)}"])]

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        """Starts a command there; its output is a pipe."""
        return subprocess.Popen(
            self.line(command),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=dict(os.environ),
        )

    @staticmethod
    def kill(process: subprocess.Popen[str]) -> None:
        """The power of the node fails: all of its processes are gone at once."""
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
