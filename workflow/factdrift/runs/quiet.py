"""What Snakemake prints of a run: warnings and errors whole; progress by stage replaces the list of jobs."""

import logging
import sys
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


class Quiet(logging.Filter):
    """Lets through what a person has to know: all warnings and errors, and what is neither job nor list."""

    def filter(self, record: logging.LogRecord) -> bool:
        passes = record.levelno >= logging.WARNING or not (
            str(getattr(record, "event", "")) in EVENTS or str(record.msg or "").startswith(BEGINNINGS)
        )
        if passes and is_terminal(sys.stderr):
            sys.stderr.write(ERASE)  # of a line of progress that is still changing
        return passes


def quieten(logger: logging.Logger, settings: Any) -> None:
    """Keeps lists of jobs out of Snakemake's output; its log file under .snakemake/log stays complete.

    `settings`: Snakemake's output settings. Nothing changes in a dry run, which is there for its list, nor
    where the user has chosen what is printed: with --printshellcmds, --verbose, --debug-dag, --quiet or a
    logger of another kind.
    """
    if settings.dryrun or settings.printshellcmds or settings.verbose or settings.debug_dag or settings.quiet:
        return
    for handler in logger.handlers:
        if handler.name == "DefaultStreamHandler":
            handler.addFilter(Quiet())
