"""What Snakemake prints of a run: warnings and errors whole; progress by stage replaces the list of jobs."""

import difflib
import logging
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

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


class Quiet(logging.Filter):
    """Lets through what a person has to know: all warnings and errors, and what is neither job nor list.

    `targets`: what can be asked for, by its names, of which the most similar one is suggested in the place
    of an unknown one. `idle`: called once a run has printed that nothing is to be done.
    """

    def __init__(
        self, targets: Callable[[], Mapping[str, str]] = dict, idle: Callable[[], None] | None = None
    ):
        super().__init__()
        self._targets, self._idle = targets, idle

    def filter(self, record: logging.LogRecord) -> bool:
        text = str(record.msg or "")
        if record.levelno >= logging.ERROR and (unknown := UNKNOWN.search(text)):
            asked = unknown[2]
            known = self._targets()
            if matches := difflib.get_close_matches(asked, known, 1):
                record.msg = UNKNOWN.sub(rf"\1{asked}: did you mean {known[matches[0]]}?", text, count=1)
        elif text.startswith(IDLE) and self._idle is not None:
            # Snakemake calls no handler at the end of a run without jobs.
            self._idle()
        passes = record.levelno >= logging.WARNING or not (
            str(getattr(record, "event", "")) in EVENTS or str(record.msg or "").startswith(BEGINNINGS)
        )
        if passes and is_terminal(sys.stderr):
            sys.stderr.write(ERASE)  # of a line of progress that is still changing
        return passes


def quieten(
    logger: logging.Logger, settings: Any, targets: Callable[[], Mapping[str, str]], idle: Callable[[], None]
) -> None:
    """Keeps lists of jobs out of Snakemake's output; its log file under .snakemake/log stays complete.

    `settings`: Snakemake's output settings. Nothing changes in a dry run, which is there for its list, nor
    where the user has asked for more: with --printshellcmds, --verbose, --debug-dag or a logger of another
    kind. `targets`, `idle`: as in `Quiet`; with --quiet, `idle` is not called.
    """
    if settings.dryrun or settings.printshellcmds or settings.verbose or settings.debug_dag:
        return
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.addFilter(Quiet(targets, None if settings.quiet else idle))
