"""What the jobs of a run find: the working directory, environment variables, the container image."""

import logging
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

    Snakemake's log file lies in the working directory. Where its disk is full, the job that needed room says
    so; that the log could not be written either would be a traceback for each of its lines.

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
    logging.raiseExceptions = False
    programs = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    if contact:
        os.environ["FACTDRIFT_CONTACT"] = contact


def link_image(image: Path, link: Path) -> None:
    """Makes `link` a symbolic link to the container image.

    The workflow names the link: Snakemake refuses an image whose path has a space, and would repeat all jobs
    if the path changed. Raises InputError that names the command to build the image if there is none, or if
    `link` is a file.
    """
    if not image.is_file():
        recipe = image.with_suffix(".def")
        raise InputError(
            f"{image}: the container image has not been built; run `apptainer build {image} {recipe}` in the "
            "checkout, or leave out --software-deployment-method (--sdm) apptainer"
        )
    target = image.resolve()
    if link.is_symlink() and link.resolve() == target:
        return  # other jobs may be using it
    if link.exists() and not link.is_symlink():
        raise InputError(f"{link}: is a file of its own, where a link to {image} belongs; move it away")
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)
