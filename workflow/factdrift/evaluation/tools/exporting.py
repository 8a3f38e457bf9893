"""Makes edits and writes them as LoRA adapters or as whole models. Imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.evaluation.adapters import about, write_adapter, write_model
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.states.edited import check_layers, edited
from factdrift.evaluation.tools.found import find_artefacts

if TYPE_CHECKING:
    from factdrift.evaluation.tools.jobs import ExportAdapter

BATCH = 16
"""Edits that are made at a time."""


def export(job: ExportAdapter) -> str:
    """Makes the edits of a job and writes all folders, or none; returns the line to print."""
    alone = job.regime == "independent"
    write = write_model if job.full else write_adapter
    with job.loaded() as model, atomic_path(job.output) as whole:
        hyper = job.hyper_of(model, job.method)
        check_layers(model, hyper)
        edits = [Edit("edit", job.prompt or "", job.subject or "", job.new_object or "")]
        if job.edit:
            edits = _chosen(job)
        artefacts = find_artefacts(job, hyper, model)
        size = BATCH if alone else len(edits)
        for group in (edits[at : at + size] for at in range(0, len(edits), size)):
            made = edited(model, group, hyper, artefacts, job.regime)
            for place, reason in sorted(made.failed.items()):
                raise InputError(f"{hyper.method}: the edit {group[place].id} failed: {reason}")
            if not alone:
                write(model, made.deltas, 0, whole, about(model, hyper, group))
                continue
            for place, edit in enumerate(group):
                folder = whole / edit.id if len(edits) > 1 else whole
                write(model, made.deltas, place, folder, about(model, hyper, [edit]))
    what = "whole model" if job.full else "adapter"
    count = len(edits) if alone else 1
    return f"{job.output}: {count} {what}{'s' * (count > 1)}"


def _chosen(job: ExportAdapter) -> list[Edit]:
    """The edits that are named, in the order of their names in the job."""
    path = job.edits
    if path is None:
        found = sorted(job.results.glob("*/edit/edits.parquet"), key=lambda each: each.stat().st_mtime)
        if not found:
            raise InputError(f"--edits: no {job.results}/*/edit/edits.parquet; name a table of edits")
        path = found[-1]
    edits = {edit.id: edit for edit in read_edits(path).edits}
    for name in job.edit:
        if name not in edits:
            raise InputError(f"--edit: {path} has no edit {name!r}; it has such as {next(iter(edits), '')!r}")
    return [edits[name] for name in dict.fromkeys(job.edit)]
