"""The run as a whole: prints the estimate before it, the progress during it and the summary after it.

Outputs: logs/progress.txt, a line a stage.
"""

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
    if dates and max(dates) > first_end(Path(resource("sample"))):
        parts = read_parts(Path(resource("sample")))
        for text in filter(None, (warning(parts, date) for date in dates)):
            print(f"factdrift: {text}", file=sys.stderr)


if workflow.modifier.is_main_snakefile():
    quieten(workflow.logger_manager.logger, workflow.output_settings)
    if workflow.is_main_process:
        warn_of_sample()


onstart:
    from factdrift.runs.begin import Planned, begin

    jobs = list(workflow.dag.needrun_jobs())
    planned = [
        Planned(job.rule.name, job.shellcmd, job.log, job.benchmark) for job in jobs if job.is_shell
    ]
    here = workflow.local_exec
    asked = {str(file) for file in workflow.dag.targetfiles}
    outputs = sorted({str(file) for job in jobs for file in job.output})
    named = (Path("results"), Path("results/releases"))
    WRITTEN.extend(path for path in map(Path, outputs) if path.parent in named or str(path) in asked)
    beside = {Path(path).parent for product in products() for path in reports_of(product)}
    TABLES.extend(
        Path(job.log[0])
        for job in jobs
        if any(Path(file).parent in beside and file.endswith(".txt") for file in job.output)
    )
    try:
        sources = [] if workflow.touch else dump_sources()
        RUN.append(begin(planned, sources, config, workflow.cores if here else workflow.nodes, here))
    except InputError as error:
        raise WorkflowError(str(error)) from None


onsuccess:
    from factdrift.runs.summary import summary

    for run in RUN:
        run.end()
    settings = workflow.config_settings
    options = [word for path in settings.configfiles for word in ("--configfile", os.path.relpath(path))]
    if settings.config:
        options += ["--config", *(f"{key}={json.dumps(value)}" for key, value in settings.config.items())]
    for line in summary(Path(PAIR), WRITTEN, TABLES, options, sys.stderr):
        print(line, file=sys.stderr)


onerror:
    for run in RUN:
        run.end()
