"""What happens at the start and at the end of a run."""

import json

from factdrift.runs.quiet import quieten

RUN = []
"""The progress of this run."""

WRITTEN = []
"""The files of this run that users ask for by name."""

TABLES = []
"""Logs of the jobs that make tables of scores as text, which they print too."""


def warn_of_sample():
    """Says in every run which parts of the bundled sample end before a date that is rendered from it."""
    from factdrift.snapshots.sample.account import first_end, read_parts, warning

    dates = [date for date in dates_of(config) if dump_source(config, date) == "sample"]
    if not dates or max(dates) <= first_end(Path(resource("sample"))):
        return
    parts = read_parts(Path(resource("sample")))
    for said in filter(None, (warning(parts, date) for date in dates)):
        print(f"factdrift: {said}", file=sys.stderr)


def begin_run():
    """Prints what the run needs, stops what the disk cannot hold, and reports progress from now on."""
    from factdrift.runs.begin import Planned, begin

    jobs = list(workflow.dag.needrun_jobs())
    planned = [Planned(job.rule.name, job.shellcmd, job.log, job.benchmark) for job in jobs if job.is_shell]
    sources = [] if workflow.touch else dump_sources()
    here = workflow.local_exec
    asked = {str(file) for file in workflow.dag.targetfiles}
    outputs = sorted({str(file) for job in jobs for file in job.output})
    WRITTEN.extend(
        path
        for path in map(Path, outputs)
        if path.parent in (Path("results"), Path("results/releases")) or str(path) in asked
    )
    beside = {Path(home(product), path).parent for product in products() for path in product.reports}
    makers = (
        job
        for job in jobs
        if any(Path(file).parent in beside and file.endswith(".txt") for file in job.output)
    )
    TABLES.extend(Path(job.log[0]) for job in makers)
    try:
        RUN.append(begin(planned, sources, config, workflow.cores if here else workflow.nodes, here))
    except InputError as error:
        raise WorkflowError(str(error)) from None


def end_run():
    """Says how far the stages have come."""
    for run in RUN:
        run.end()


def print_summary():
    """Prints what the run gave: updates in words, the tables of scores, files, what can be done next."""
    from factdrift.runs.summary import summary

    settings = workflow.config_settings
    given = [word for path in settings.configfiles for word in ("--configfile", os.path.relpath(path))]
    if settings.config:
        given += ["--config", *(f"{key}={json.dumps(value)}" for key, value in settings.config.items())]
    for line in summary(Path(PAIR), WRITTEN, TABLES, given, sys.stderr):
        print(line, file=sys.stderr)
