"""The run as a whole: prints the estimate before it, the progress during it and the summary after it."""

import atexit

from factdrift.runs.environment import quieten

RUN = []
"""The progress of this run."""

WRITTEN = []
"""The files of this run that users ask for by name."""

TABLES = []
"""Logs of the jobs that make tables of scores as text, which they print too."""


def warn_of_sample():
    """Says in every run which parts of the bundled sample end before a date that is rendered from it; refuses a
    pair of dates between which the sample has nothing that changed."""
    from factdrift.snapshots.sample.account import check_pair, first_end, read_parts, warning

    if {dump_source(config, date) for date in (OLD, NEW)} == {"sample"}:
        try:
            check_pair(Path(resource("sample")), OLD, NEW)
        except InputError as error:
            raise WorkflowError(str(error)) from None
    dates = [date for date in dates_of(config) if dump_source(config, date) == "sample"]
    if dates and max(dates) > first_end(Path(resource("sample"))):
        parts = read_parts(Path(resource("sample")))
        for text in filter(None, (warning(parts, date) for date in dates)):
            print(f"factdrift: {text}", file=sys.stderr)


def summarise(heading="Files written"):
    """Prints what the run has made, or what is there if nothing was to be done, and what can be done next."""
    from factdrift.runs.summary import summary

    settings = workflow.config_settings
    options = [word for path in settings.configfiles for word in ("--configfile", os.path.relpath(path))]
    if settings.config:
        options += ["--config", *(f"{key}={json.dumps(value)}" for key, value in settings.config.items())]
    for line in summary(Path(PAIR), WRITTEN, TABLES, options, sys.stderr, heading):
        print(line, file=sys.stderr)


def summarise_idle():
    """As `summarise`, about the targets that are up to date, once the line that says so is printed."""
    found = [Path(str(file)) for file in workflow.dag.targetfiles]
    WRITTEN.extend(path for path in found if path.exists())
    atexit.register(summarise, "Files that are up to date")


def targets():
    """What can be asked for, by each name under which someone may look for it: rules without files, products."""
    named = {
        part: f"results/{name}"
        for each in products()
        for name in each.names
        for part in (Path(name).stem, name, f"results/{name}")
    }
    return named | {rule.name: rule.name for rule in workflow.rules if not rule.output}


if workflow.modifier.is_main_snakefile():
    quieten(workflow.logger_manager.logger, workflow.output_settings, targets, summarise_idle)
    if workflow.is_main_process:
        warn_of_sample()


onstart:
    from factdrift.runs.begin import begin
    from factdrift.runs.stages import Job, words_of

    jobs = list(workflow.dag.needrun_jobs())
    planned = [
        Job(job.rule.name, words_of(job.rule), job.shellcmd, Path(job.log[0]), Path(job.benchmark))
        for job in jobs
        if job.is_shell and job.log and job.benchmark
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
        dumps = [] if workflow.touch else known_dumps(dump_sources(), config)
        RUN.append(begin(planned, dumps, config, workflow.cores if here else workflow.nodes, here))
    except InputError as error:
        raise WorkflowError(str(error)) from None


onsuccess:
    for run in RUN:
        run.end()
    summarise()


onerror:
    for run in RUN:
        run.end()
