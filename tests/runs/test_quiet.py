"""Lists of jobs stay out of Snakemake's output; warnings, errors and what else it says do not."""

import io
import logging
from types import SimpleNamespace

import pytest
from snakemake.settings.types import OutputSettings
from snakemake_interface_logger_plugins.common import LogEvent

from factdrift.runs.environment import passes, quieten


def record(level: int, message: str | None) -> logging.LogRecord:
    return logging.LogRecord("snakemake", level, __file__, 1, message, (), None)


def test_what_passes() -> None:
    for level, message, event, expected in (
        (logging.INFO, None, LogEvent.JOB_INFO, False),
        (logging.INFO, "Job stats:\n...", LogEvent.RUN_INFO, False),
        (logging.INFO, "Building DAG of jobs...", None, False),
        (logging.INFO, "Nothing to be done (all requested files are present and up to date).", None, True),
        (logging.INFO, "Will exit after finishing currently running jobs (scheduler).", None, True),
        (logging.INFO, "a sentence of a later version", None, True),
        (logging.ERROR, None, LogEvent.JOB_ERROR, True),
        (logging.ERROR, "Building DAG of jobs... failed", None, True),
        (logging.WARNING, "Execute 3 jobs slowly", None, True),
    ):
        said = record(level, message)
        if event is not None:
            said.event = event
        assert passes(said) == expected, message


@pytest.mark.parametrize(
    "settings", [{}, {"dryrun": True}, {"printshellcmds": True}, {"quiet": {"progress"}}]
)
def test_who_asks_for_more_gets_it(settings: dict[str, object]) -> None:
    shown, kept = logging.StreamHandler(io.StringIO()), logging.StreamHandler(io.StringIO())
    shown.name, kept.name = "DefaultStreamHandler", "DefaultLogFileHandler"
    logger = logging.Logger("a run")
    logger.addHandler(shown)
    logger.addHandler(kept)
    snakemakes = {name: getattr(OutputSettings(), name) for name in ("dryrun", "verbose", "quiet")}
    known = SimpleNamespace(**{"printshellcmds": False, "debug_dag": False} | snakemakes | settings)
    quieten(logger, known, dict, lambda: None)
    assert bool(shown.filters) == (not {"dryrun", "printshellcmds"} & settings.keys())
    assert not kept.filters


def test_an_unknown_target_is_answered_with_the_most_similar_one() -> None:
    wfd_repl = "results/wfd_repl.parquet"
    named = {"klob": "klob", wfd_repl: wfd_repl, "report": "results/report.html"}
    for asked, meant in (("reprot", "results/report.html"), ("results/wfd_rpl.parquet", wfd_repl)):
        text = f"MissingRuleException:\nNo rule to produce {asked} (if you use input functions ...)."
        said = record(logging.ERROR, text)
        assert passes(said, lambda: named)
        assert f"No rule to produce {asked}: did you mean {meant}? (if" in said.msg


def test_a_run_without_jobs_has_an_end_too() -> None:
    called: list[str] = []
    assert passes(record(logging.INFO, "Nothing to be done (...)"), idle=lambda: called.append("end"))
    assert called == ["end"]
