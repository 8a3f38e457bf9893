"""`factdrift <stage> <verb>`: every job of the workflow, and the tools for users, as commands.

Each of MODULES has a function `register(commands)`, which adds commands and their verbs; what a verb needs
is imported only when it runs.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from factdrift.core import disk, memory
from factdrift.core.errors import DAMAGED, DamagedDump, InputError
from factdrift.core.threads import wait_asleep

MODULES = (
    "snapshots.commands",
    "statements.commands",
    "updates.commands",
    "neighbors.commands",
    "verbalize.commands",
    "wikifactdiff.commands",
    "streams.commands",
    "snapshots.recent.commands",
    "klob.commands",
    "tempripple.commands",
    "models.commands",
    "edit.describe_commands",
    "edit.commands",
    "locate.commands",
    "answer.commands",
    "chat.commands",
    "runs.commands",
    "audit.commands",
    "pages.compare.commands",
    "pages.report.commands",
    "publish.releases.commands",
    "publish.commands",
    "pages.browse.commands",
    "core.unlock",
)

MODEL_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "peft")
"""What `make models` adds to the environment."""


INTERRUPTED = 130
"""The exit status after Ctrl-C, as shells have it."""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="factdrift", description=sys.modules["factdrift"].__doc__)
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for module in MODULES:
        importlib.import_module(f"factdrift.{module}").register(commands)
    return top


def _missing(options: argparse.Namespace, error: Exception) -> str | None:
    """Says which file of an option does not exist, if an error is about that."""
    for name, given in vars(options).items():
        for path in given if isinstance(given, list) else [given]:
            if isinstance(path, Path) and str(path) in str(error) and not path.exists():
                return f"--{name.replace('_', '-')}: {path}: no such file"
    return None


def main(arguments: list[str] | None = None) -> int:
    options = argparse.Namespace()
    try:
        memory.warn_of_limit()
        options = parser().parse_args(arguments)
        wait_asleep()
        options.run(options)
    except InputError as error:
        kind = DAMAGED if isinstance(error, DamagedDump) else ""
        print(f"factdrift: {kind}{error}", file=sys.stderr)
        return 1
    except ModuleNotFoundError as error:
        if error.name not in MODEL_PACKAGES:
            raise
        print(
            f"factdrift: {error.name} is not installed, which runs language models; run `make models`, "
            "which adds it to the environment",
            file=sys.stderr,
        )
        return 1
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if disk.is_full(error):
            message = disk.full(error)
        elif memory.is_exhausted(error):
            message = memory.exhausted(error)
        elif missing := _missing(options, error):
            message = missing
        else:
            raise
        print(f"factdrift: {message}", file=sys.stderr)
        return 1
    return 0
