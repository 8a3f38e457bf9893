"""What the jobs of a run find: the working directory, environment variables, the container image.

And what Snakemake prints of it: warnings and errors whole; progress by stage replaces the list of jobs.
"""

import difflib
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import snakemake.persistence
import yaml

from factdrift.core.errors import InputError
from factdrift.core.screen import ERASE, is_terminal

EVENTS = frozenset(
    {
        *("workflow_started", "run_info", "resources_info", "group_info", "rulegraph"),
        *("job_info", "job_started", "job_finished", "shellcmd", "progress"),
    }
)
"""Names of Snakemake's events that are left out."""

BEGINNINGS = (
    *("Building DAG of jobs", "Using shell:", "Singularity containers:", "Conda environments:"),
    *("Group jobs:", "Select jobs to execute", "Execute ", "Removing temporary output", "Elapsed time:"),
    *("Storing output in storage", "Touching output file", "localrule ", "Complete log(s):"),
)
"""Beginnings of Snakemake's other messages that are left out; what it may say besides is printed."""


IDLE = "Nothing to be done"
UNKNOWN = re.compile(r"(No rule to produce )(\S+)")


def _day_or_text(loader: yaml.FullLoader, node: yaml.ScalarNode) -> Any:
    """The day that a text of a YAML file names; the text itself if no calendar has the day."""
    try:
        return loader.construct_yaml_timestamp(node)
    except ValueError:
        return node.value


# With PyYAML's own, 2021-02-30 in config.yaml would end the run before anything can name the key.
yaml.FullLoader.add_constructor("tag:yaml.org,2002:timestamp", _day_or_text)


def say_interrupted(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    """Reports an exception that ends this process: Ctrl-C in one line, any other as Python does."""
    if issubclass(kind, KeyboardInterrupt):
        print("Interrupted; the same command continues from there.", file=sys.stderr)
    else:
        sys.__excepthook__(kind, error, trace)


def prepare(contact: str) -> None:
    """Checks the working directory, and sets PATH and FACTDRIFT_CONTACT, which all jobs inherit.

    Jobs find the programs beside the running Python there, and downloads the contact; no shell parses
    variables of the environment, whatever characters they contain. Where the disk of
    Snakemake's log is full, the job that needed room says so, without a traceback for each line of the log.
    Raises InputError if the working directory is read-only, or `results` is no folder.
    """
    here = Path(".snakemake") if Path(".snakemake").is_dir() else Path()
    if not os.access(here, os.W_OK):
        raise InputError(
            f"{here.resolve()}: cannot be written, and results and Snakemake's records belong there; work in "
            "another directory (snakemake --directory FOLDER), or make this one writable"
        )
    if os.path.lexists("results") and not Path("results").is_dir():
        raise InputError(
            f"{Path('results').absolute()}: is a file, or a link to a folder that is not there (is its disk "
            "mounted?), and results belong there; move it away, or make the folder"
        )
    logging.raiseExceptions = False
    programs = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    if contact:
        os.environ["FACTDRIFT_CONTACT"] = contact


def import_pandas_by_need() -> None:
    """Lets Snakemake look for data frames among parameters only where something has imported pandas.

    To look, it imports pandas itself: a third of a second, and 2 s in a new installation.
    """
    serializer = property(
        lambda self: (
            self._serialize_param_pandas if "pandas" in sys.modules else self._serialize_param_builtin
        )
    )
    for kind in vars(snakemake.persistence).values():
        if "_serialize_param" in getattr(kind, "__dict__", {}):
            kind._serialize_param = serializer


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


def passes(
    record: logging.LogRecord,
    targets: Callable[[], Mapping[str, str]] = dict,
    idle: Callable[[], None] = lambda: None,
) -> bool:
    """Whether a message of Snakemake is printed: warnings and errors are, and what is neither job nor list.

    `targets`: what can be asked for, by its names, of which the most similar one is suggested in the place
    of an unknown one. `idle`: called once a run has printed that nothing is to be done.
    """
    text = str(record.msg or "")
    if record.levelno >= logging.ERROR and (unknown := UNKNOWN.search(text)):
        asked = unknown[2]
        known = targets()
        if matches := difflib.get_close_matches(asked, known, 1):
            record.msg = UNKNOWN.sub(rf"\1{asked}: did you mean {known[matches[0]]}?", text, count=1)
    elif text.startswith(IDLE):
        # Snakemake calls no handler at the end of a run without jobs.
        idle()
    passing = record.levelno >= logging.WARNING or not (
        str(getattr(record, "event", "")) in EVENTS or str(record.msg or "").startswith(BEGINNINGS)
    )
    if passing and is_terminal(sys.stderr):
        sys.stderr.write(ERASE)  # of a line of progress that is still changing
    return passing


def quieten(
    logger: logging.Logger, settings: Any, targets: Callable[[], Mapping[str, str]], idle: Callable[[], None]
) -> None:
    """Keeps lists of jobs out of Snakemake's output; its log file under .snakemake/log stays complete.

    `settings`: Snakemake's output settings. Nothing changes in a dry run, which is there for its list, nor
    where the user has asked for more: with --printshellcmds, --verbose, --debug-dag or a logger of another
    kind. `targets`, `idle`: as in `passes`; with --quiet, `idle` is not called.
    """
    if settings.dryrun or settings.printshellcmds or settings.verbose or settings.debug_dag:
        return
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            at_end = (lambda: None) if settings.quiet else idle
            handler.addFilter(partial(passes, targets=targets, idle=at_end))
