"""Kills a process at the worst moment: when an output is written and about to take its name.

Python imports a module `sitecustomize` when it starts. Ours installs an audit hook for renamings.
"""

import os
from pathlib import Path

_HOOK = """
import os, signal, sys

def hook(event, arguments):
    if event == "os.rename" and str(arguments[1]).endswith(os.environ["KILL_AT"]):
        if os.environ["KILL"] == "run":
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

if os.environ.get("KILL_AT"):
    sys.addaudithook(hook)
"""


def killing(folder: Path, at: str, what: str) -> dict[str, str]:
    """Environment variables that kill the process that is about to rename a file to `at`.

    `what` is `job` for that process alone, `run` for its process group. Temporary files go to `folder`.
    """
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(_HOOK)
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(paths),
        "KILL_AT": at,
        "KILL": what,
        "TMPDIR": str(folder),
    }
