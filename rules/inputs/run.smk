"""What happens at the start and at the end of a run."""

RUN = []


def begin_run():
    """Prints what the run needs, stops what the disk cannot hold, and reports progress from now on."""
    from factdrift.runs.begin import Planned, begin

    jobs = workflow.dag.needrun_jobs()
    planned = [Planned(job.rule.name, job.shellcmd, job.log, job.benchmark) for job in jobs if job.is_shell]
    sources = [] if workflow.touch else dump_sources()
    here = workflow.local_exec
    try:
        RUN.append(begin(planned, sources, config, workflow.cores if here else workflow.nodes, here))
    except InputError as error:
        raise WorkflowError(str(error)) from None


def end_run():
    """Says how far the stages have come."""
    for run in RUN:
        run.end()
