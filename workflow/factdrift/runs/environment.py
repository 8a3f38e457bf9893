"""The environment variables of a run's jobs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import TracebackType

from factdrift.core.errors import InputError


def say_interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Reports an exception that ends this process: Ctrl-C in one line, any other as Python does."""
    if issubclass(kind, KeyboardInterrupt):
        print("Interrupted; the same command goes on from there.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def prepare(contact: str) -> None:
    """Checks the working directory, and sets PATH and FACTDRIFT_CONTACT, which all jobs inherit.

    Jobs find the programs beside the running Python, and downloads the contact. As variables of the
    environment they are never parsed by a shell, whatever characters they contain. Raises InputError if the
    working directory, in which results and Snakemake's records are written, is read-only.
    """
    here = Path(".snakemake") if Path(".snakemake").is_dir() else Path()
    if not os.access(here, os.W_OK):
        raise InputError(
            f"{here.resolve()}: cannot be written, and results and Snakemake's records belong there; work in "
            "another directory (snakemake --directory FOLDER), or make this one writable"
        )
    programs = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    if contact:
        os.environ["FACTDRIFT_CONTACT"] = contact
