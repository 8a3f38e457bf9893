"""Scores a checkpoint or an adapter into which edits were made elsewhere. Imports torch."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.owned import claim
from factdrift.core.tables import check_columns, write_parquet
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores.common import write_costs
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.scores.table import write_tables
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.session import Session
from factdrift.evaluation.states.telling import Telling
from factdrift.evaluation.tables import TABLES
from factdrift.evaluation.tools.jobs import Probe
from factdrift.models.loaded import Loaded
from factdrift.models.loading import base_of
from factdrift.models.names import split_name
from factdrift.models.running import loaded


def probe(job: Probe) -> None:
    """Scores the checkpoint of a job; writes and prints the tables."""
    named = base_of(Path(job.model))  # which an adapter must say even if another one is given
    base = job.base or named
    if not base:
        raise InputError("--base: name the model from which the checkpoint was made")
    name = job.name or Path(job.model).resolve().name
    if name == "none":
        raise InputError("--name: `none` is the model without edits; give another name")
    settings = msgspec.structs.replace(job.settings, regime="independent")
    tables = [f"{state}/0-of-1.{table}" for state in (name, "none") for table in TABLES]
    if job.baseline:
        tables = tables[: len(TABLES)]
    tables += ["edits", "edit_scores", "probes"]
    claim(job.output, [*(f"{table}.parquet" for table in tables), "costs.json"])
    edits = job.output / "edits.parquet"
    write_parquet(_chosen(job), edits)
    benchmark = read_edits(edits)

    def ask(model: Loaded, telling: Telling) -> Files:
        files = Files.under(job.output / telling.method, "0-of-1")
        evaluate(Run.of(Session(model, settings), benchmark, [telling], 0), files)
        return files

    if job.baseline:
        none = Files.under(job.baseline, "0-of-1")
        _check_baseline(job, none, split_name(base)[0], [each.id for each in benchmark.questions])
    else:
        with loaded(dataclasses.replace(job, model=base), settings, job.threads) as model:
            none = ask(model, Telling(Prepared(Hyper("none", base, "", {})), settings.regime))
    with loaded(job, settings, job.threads, base) as model:
        made = Prepared(Hyper(name, model.name, "made elsewhere", {}))
        edited = ask(model, Telling(made, "checkpoint", about={"group": len(benchmark.edits)}))
    files = (none, edited)
    runs = Runs(
        edits=edits,
        answers=[each.answers for each in files],
        made=[each.edits for each in files],
        states=[each.states for each in files],
        models=[split_name(base)[0]],
        methods=["none", name],
    )
    scores, costs = job.output / "edit_scores.parquet", job.output / "costs.json"
    write_scores(runs, scores, job.output / "probes.parquet")
    written = job.output / "written.parquet"
    write_parquet(written_table(runs.answers, [edits]), written)
    # Nothing is known of what the edits cost where they were made.
    write_costs([], costs)
    write_tables(scores, written, costs, job.output, [(none.answers, none.edits)])


def _chosen(job: Probe) -> pa.Table:
    """The edits that the options choose."""
    if not job.edits.is_file():
        raise InputError(f"{job.edits}: no such file; make it with `factdrift edit dataset`")
    check_columns(job.edits, EDITS.names, "; give a table of `edit dataset`")
    table = pq.read_table(job.edits, schema=EDITS)
    known = table["edit"].to_pylist()
    if unknown := [edit for edit in job.only if edit not in known]:
        raise InputError(f"--only: {job.edits} has no edit {unknown[0]}; its edits are {known[0]}, ...")
    return table.filter([edit in job.only for edit in known]) if job.only else table


def _check_baseline(job: Probe, files: Files, model: str, questions: Sequence[str]) -> None:
    """Raises InputError if tables are missing, or of another model, template or other edits."""
    for path in (files.answers, files.edits, files.states):
        if not path.is_file():
            raise InputError(f"--baseline: {path} is missing; give a folder of the workflow, or leave it out")
    wanted = {"model": model, "method": "none", "template": job.template}
    for row in pq.read_table(files.edits, columns=list(wanted)).to_pylist():
        if row != wanted:
            is_, not_ = (", ".join(f"{key} {value}" for key, value in each.items()) for each in (row, wanted))
            raise InputError(f"--baseline: {files.edits} is of {is_}, not of {not_}")
    asked = set(pq.read_table(files.answers, columns=["question"])["question"].to_pylist())
    if lacking := [question for question in questions if question not in asked]:
        raise InputError(f"--baseline: {files.answers} lacks {lacking[0]}: it is of other edits")
