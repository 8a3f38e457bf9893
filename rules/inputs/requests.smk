"""What jobs ask a cluster for, which of them share a submission, and whether any is submitted at all."""

from factdrift.core.settings import derived_from, scope
from factdrift.runs.begin import Input, known_dumps
from factdrift.runs.estimate import (
    ALONE,
    CostParts,
    first_requests,
    read_quantities,
    read_submissions,
    texts_of,
    width_of,
)


def dump_sources():
    """The dumps of both dates, or from which they are derived, as far as known before they are downloaded."""
    read = [
        derived_from(config, date) if dump_source(config, date) == "derive" else date for date in (OLD, NEW)
    ]
    dumps = [remote_dump(config, date) for date in read]
    return [
        Input(date, Path(dump_file(date)), dump is not None, dump and dump.size)
        for date, dump in zip(read, dumps, strict=True)
    ]


try:
    DUMPS = known_dumps(dump_sources(), config)
except InputError as error:
    raise WorkflowError(str(error)) from None

REQUESTS = first_requests(DUMPS, scope(config), CostParts(SHARDS, BUCKETS, config["neighbors"]["blocks"]))

SUBMISSIONS, LANES = read_submissions(), round(read_quantities()["submission_lanes"])

# Jobs of seconds are not worth a wait in a queue.
SMALL = sum(texts_of(DUMPS)) < config["cluster"]["local_gb"]


def request(command):
    """The resources of the jobs of a command: memory, time and scratch, which double with each attempt.

    And `lanes`, of which a submission has as many as the default profile says: jobs that need each other take
    one, so that it asks for the cores and the memory of several at once. SLURM's plugin runs the others one
    after the other: they take all, or half where two are needed by a third.
    """
    of = SUBMISSIONS.get(command, ALONE)
    needed = 1 if of.whole or of == ALONE else LANES // width_of(of.group)
    return {**growing(*REQUESTS[command]), "lanes": lambda wildcards: 0 if workflow.local_exec else needed}


def growing(mem_mb, runtime, disk_mb=10000):
    """Resources that double with each attempt; those of jobs that run models do not depend on the dumps."""
    doubled = lambda amount: lambda wildcards, attempt: amount * 2 ** (attempt - 1)
    return {"mem_mb": doubled(mem_mb), "runtime": doubled(runtime), "disk_mb": doubled(disk_mb)}


def together(name):
    """The group whose jobs share submissions; none where they are not submitted.

    Jobs of a group that need each other are one submission; of others as many are as a cluster's profile says.
    By a function, since only when jobs are planned Snakemake knows whether it submits them; for groups that it does
    not need, it would look at all that comes before, once for each pair of their jobs.
    """
    return None if SMALL else lambda wildcards: None if workflow.local_exec else name


def without_model():
    """The rules of this workflow whose jobs run no model; those that do say how many GPUs they take, if only 0."""
    own = [each for each in workflow.rules if str(each.snakefile).startswith(str(workflow.current_basedir))]
    return [each.name for each in own if "gpu" not in each.resources]
