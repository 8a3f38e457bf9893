"""Makes edits and writes them as LoRA adapters or as whole models. Imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.evaluation.adapters import about, adapter_of, write_adapter, write_model
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit, Edited
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.states.edited import check_layers, edited
from factdrift.evaluation.tools.found import find_artefacts
from factdrift.models.loaded import Loaded

if TYPE_CHECKING:
    from factdrift.evaluation.tools.jobs import ExportAdapter

BATCH = 16
"""Edits that are made at a time."""


def export(job: ExportAdapter) -> list[str]:
    """Makes the edits of a job and writes all folders, or none; returns the lines to print."""
    with job.loaded() as model:
        hyper = job.hyper(model)
        check_layers(model, hyper)
        if job.edit:
            edits = _chosen(job)
        else:
            edits = [Edit("edit", job.prompt or "", job.subject or "", job.new_object or "")]
        return _write(job, model, hyper, edits)


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


def _write(job: ExportAdapter, model: Loaded, hyper: Hyper, edits: Sequence[Edit]) -> list[str]:
    """Makes the edits and writes all folders, or none; returns the lines to print."""
    artefacts = find_artefacts(job, hyper, model)
    alone = job.regime == "independent"
    groups = [edits[at : at + BATCH] for at in range(0, len(edits), BATCH)] if alone else [edits]
    lines: list[str] = []
    with atomic_path(job.output) as whole:
        for group in groups:
            made = edited(model, group, hyper, artefacts, job.regime)
            for place, reason in sorted(made.failed.items()):
                raise InputError(f"{hyper.method}: the edit {group[place].id} failed: {reason}")
            if not alone:
                lines += _one(job, model, hyper, group, made, 0, whole)
                continue
            for place, edit in enumerate(group):
                folder = whole / edit.id if len(edits) > 1 else whole
                lines += _one(job, model, hyper, [edit], made, place, folder)
    what = "whole model" if job.full else "adapter"
    count = len(edits) if alone else 1
    return [*lines, f"{job.output}: {count} {what}{'s' * (count > 1)}"]


def _one(
    job: ExportAdapter,
    model: Loaded,
    hyper: Hyper,
    edits: Sequence[Edit],
    made: Edited,
    place: int,
    folder: Path,
) -> list[str]:
    """Writes one change; returns the lines to print about its approximation error, none for a full change."""
    said: dict[str, Any] = about(model, hyper, edits)
    if job.full:
        write_model(model, made.deltas, place, folder, said)
        return []
    found = adapter_of(made.deltas, place, job.rank)
    write_adapter(model, found, folder, said, precision=job.precision)
    return [
        f"{edits[0].id}: {name}: rank {job.rank}, relative error {error:.3g} (Frobenius)"
        for name, error in found.errors.items()
    ]
