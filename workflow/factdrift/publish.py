"""`factdrift publish`: copies a finished file to the name under which users look for it."""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "copy a finished file; the copy appears only when it is complete"
    verb = commands.add_parser("publish", help=help_, description=help_)
    verb.add_argument("source", type=Path)
    verb.add_argument("output", type=Path)
    verb.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from factdrift.tables import atomic_path

    with atomic_path(options.output) as path:
        shutil.copyfile(options.source, path)
