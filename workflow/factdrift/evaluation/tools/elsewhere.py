"""Scores a checkpoint or an adapter into which edits were made elsewhere. Imports torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.owned import claim
from factdrift.core.tables import write_parquet
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Prepared
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.run import Files, Run, evaluate
from factdrift.evaluation.scores.costs import write_costs
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.scores.table import unaligned_lines, write_tables
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.session import Session
from factdrift.evaluation.states.telling import Telling
from factdrift.evaluation.tables import TABLES
from factdrift.models.loaded import Loaded
from factdrift.models.loading import base_of
from factdrift.models.names import split_name
from factdrift.models.running import loaded

if TYPE_CHECKING:
    from factdrift.evaluation.tools.jobs import Probe


def probe(job: Probe) -> None:
    """Scores the checkpoint of a job; writes and prints the tables."""
    named = base_of(Path(job.model))
    base = job.base or named
    if not base:
        raise InputError("--base: name the model from which the checkpoint was made")
    name = job.name or Path(job.model).resolve().name
    if name == "none":
        raise InputError("--name: `none` is the model without edits; give another name")
    settings = msgspec.structs.replace(job.settings, regime="independent")
    job = dataclasses.replace(job, base=base, name=name, settings=settings)
    written = ["edits", "edit_scores", "probes"]
    for state in (name, *(() if job.baseline else ("none",))):
        written += [f"{state}/0-of-1.{table}" for table in TABLES]
    claim(job.output, [*(f"{table}.parquet" for table in written), "costs.json"])
    _write_chosen(job)
    _report(job, [_baseline(job), _run(job)])


def _write_chosen(job: Probe) -> None:
    """Writes the edits that the options choose."""
    if not job.edits.is_file():
        raise InputError(f"{job.edits}: no such file; make it with `factdrift edit dataset`")
    if lacking := [column for column in EDITS.names if column not in pq.read_schema(job.edits).names]:
        raise InputError(f"{job.edits}: lacks {', '.join(lacking)}; give a table of `edit dataset`")
    table = pq.read_table(job.edits, schema=EDITS)
    known = table["edit"].to_pylist()
    if unknown := [edit for edit in job.only if edit not in known]:
        raise InputError(f"--only: {job.edits} has no edit {unknown[0]}; its edits are {known[0]}, ...")
    if job.only:
        table = table.filter([edit in job.only for edit in known])
    table = table[: job.limit or len(table)]
    write_parquet(table, job.output / "edits.parquet")


def _ask(job: Probe, model: Loaded, telling: Telling) -> Files:
    """Asks a model the edits' questions; returns the files of its tables."""
    benchmark = read_edits(job.output / "edits.parquet")
    files = Files.under(job.output / telling.method, "0-of-1")
    evaluate(Run.of(Session(model, job.settings), benchmark, [telling], 0), files)
    return files


def _baseline(job: Probe) -> Files:
    """The tables of the unedited model: those that were given, or newly made ones."""
    if job.baseline:
        files = Files.under(job.baseline, "0-of-1")
        _check_baseline(job, files)
        return files
    telling = Telling(Prepared(Hyper("none", job.base, "", {})), job.settings.regime)
    with dataclasses.replace(job, model=job.base).loaded() as model:
        return _ask(job, model, telling)


def _check_baseline(job: Probe, files: Files) -> None:
    """Raises InputError if tables are missing, or of another model, template or other edits."""
    for path in (files.answers, files.edits, files.states):
        if not path.is_file():
            raise InputError(f"--baseline: {path} is missing; give a folder of the workflow, or leave it out")
    made = pq.read_table(files.edits, columns=["model", "method", "template", "edit"]).to_pylist()
    models = {row["model"] for row in made}
    if models - {split_name(job.base)[0]}:
        raise InputError(f"--baseline: {files.edits} is of {', '.join(sorted(models))}, not of {job.base}")
    if {row["method"] for row in made} - {"none"}:
        raise InputError(f"--baseline: {files.edits} is of an editing method; give the folder of `none`")
    templates = {row["template"] for row in made}
    if templates - {job.template}:
        raise InputError(
            f"--baseline: {files.edits} is of --template {', '.join(sorted(templates))}, not {job.template}"
        )
    asked = set(pq.read_table(files.answers, columns=["question"])["question"].to_pylist())
    for question in read_edits(job.output / "edits.parquet").questions:
        if question.id not in asked:
            raise InputError(
                f"--baseline: {files.answers} lacks a probe of {question.edit}: it is of other edits"
            )


def _run(job: Probe) -> Files:
    """Asks the checkpoint."""
    with loaded(job, job.settings, job.threads, job.base) as model:
        made = Prepared(Hyper(job.name, model.name, "made elsewhere", {}))
        edits = len(read_edits(job.output / "edits.parquet").edits)
        return _ask(job, model, Telling(made, "checkpoint", about={"group": edits}))


def _report(job: Probe, files: Sequence[Files]) -> None:
    """Writes scores, probes, costs and tables of the unedited model and the checkpoint; prints the tables."""
    runs = Runs(
        edits=job.output / "edits.parquet",
        answers=[each.answers for each in files],
        made=[each.edits for each in files],
        states=[each.states for each in files],
        models=[split_name(job.base)[0]],
        methods=["none", job.name],
    )
    scores, costs = job.output / "edit_scores.parquet", job.output / "costs.json"
    write_scores(runs, scores, job.output / "probes.parquet")
    written = job.output / "written.parquet"
    write_parquet(written_table(runs.answers, [runs.edits]), written)
    # Nothing is known of what the edits cost where they were made.
    write_costs([], costs)
    unaligned = list(unaligned_lines([files[0].answers], [files[0].edits]))
    write_tables(scores, written, costs, unaligned, job.output)
