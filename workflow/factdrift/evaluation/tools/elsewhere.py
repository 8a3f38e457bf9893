"""Scores a checkpoint or an adapter into which edits were made elsewhere. Imports torch."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import pyarrow.parquet as pq
import torch

from factdrift.core.errors import InputError
from factdrift.core.owned import claim
from factdrift.core.tables import write_parquet
from factdrift.evaluation.baseline import write_baseline
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit, Edited, Prepared
from factdrift.evaluation.questions.probes import read_aligned, read_updates, write_aligned
from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.run import Files, write_run
from factdrift.evaluation.scores.costs import write_costs
from factdrift.evaluation.scores.metrics import Runs, write_scores
from factdrift.evaluation.scores.table import write_tables
from factdrift.evaluation.session import Job as Probing
from factdrift.models.checkpoint import base_of, load_checkpoint
from factdrift.models.devices import held
from factdrift.models.loaded import Loaded
from factdrift.models.names import split_name

if TYPE_CHECKING:
    from factdrift.evaluation.tool_jobs import Probe

BASELINE = ("aligned", "unaligned", "baseline", "clozes")
"""The tables of the unedited model, as the workflow names them."""


class _AsItIs(NamedTuple):
    """A Maker for a model in which all edits are in place."""

    loaded: Loaded

    def made(self, edits: Sequence[Edit]) -> AbstractContextManager[tuple[Loaded, Edited]]:
        return nullcontext((self.loaded, Edited()))


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
    written = ["edits", "edit_scores", "probes", *(() if job.baseline else BASELINE)]
    written += [f"{name}/0-of-1.{what}" for what in ("probes", "edits")]
    claim(job.output, [*(f"{table}.parquet" for table in written), "costs.json"])
    edits = _chosen(job)
    tables = _baseline(job, edits)
    _report(job, edits, tables, _run(job, edits, tables))


def _chosen(job: Probe) -> Path:
    """Writes the edits that the options choose; returns the table."""
    if not job.edits.is_file():
        raise InputError(f"{job.edits}: no such file; make it with `factdrift edit dataset`")
    if job.limit < 0:
        raise InputError(f"--limit: {job.limit} is no number of edits; give 0 for all, or more")
    if lacking := [column for column in EDITS.names if column not in pq.read_schema(job.edits).names]:
        raise InputError(f"{job.edits}: lacks {', '.join(lacking)}; give a table of `edit dataset`")
    table = pq.read_table(job.edits, schema=EDITS)
    known = table["edit"].to_pylist()
    if unknown := [edit for edit in job.only if edit not in known]:
        raise InputError(f"--only: {job.edits} has no edit {unknown[0]}; its edits are {known[0]}, ...")
    if job.only:
        table = table.filter([edit in job.only for edit in known])
    table = table[: job.limit or len(table)]
    path: Path = job.output / "edits.parquet"
    write_parquet(table, path)
    return path


def _baseline(job: Probe, edits: Path) -> dict[str, Path]:
    """The tables of the unedited model: those that were given, or newly made ones."""
    tables = {name: (job.baseline or job.output) / f"{name}.parquet" for name in BASELINE}
    if job.baseline:
        _check_baseline(tables, edits, job.base, job.template)
        return tables
    with dataclasses.replace(job, model=job.base).loaded() as model:
        write_aligned(model.tokenizer, model.name, edits, tables["aligned"], tables["unaligned"])
        asked = Probing(model, read_aligned(tables["aligned"]), job.settings)
        updates = read_updates(edits, tables["unaligned"])
        write_baseline(asked, updates, job.output / "baseline", tables["baseline"], tables["clozes"])
    return tables


def _check_baseline(tables: dict[str, Path], edits: Path, base: str, template: str) -> None:
    """Raises InputError if tables are missing, or of another model, template or other edits."""
    for path in tables.values():
        if not path.is_file():
            raise InputError(f"--baseline: {path} is missing; give a folder of the workflow, or leave it out")
    models = set(pq.read_table(tables["baseline"], columns=["model"])["model"].to_pylist())
    if models - {split_name(base)[0]}:
        raise InputError(f"--baseline: {tables['baseline']} is of {', '.join(sorted(models))}, not of {base}")
    made = set(pq.read_table(tables["clozes"], columns=["template"])["template"].to_pylist())
    if made - {template}:
        raise InputError(
            f"--baseline: {tables['clozes']} is of --template {', '.join(sorted(made))}, not {template}"
        )
    aligned = pq.read_table(tables["aligned"])
    known = set(zip(aligned["prompt"].to_pylist(), aligned["target"].to_pylist(), strict=True))
    for update in read_updates(edits):
        for row in update.probes:
            if (row["prompt"], row["target"]) not in known:
                raise InputError(
                    f"--baseline: {tables['aligned']} lacks a probe of {update.edit.id}: it is of other edits"
                )


def _run(job: Probe, edits: Path, tables: dict[str, Path]) -> Files:
    """Probes the checkpoint; returns what has the tables RUN_PROBES and RUN_EDITS."""
    torch.set_num_threads(job.threads)
    folder = job.output / job.name
    files = Files(folder / "0-of-1", *(folder / f"0-of-1.{what}.parquet" for what in ("probes", "edits")))
    with held(job.settings.device, job.settings.gpus) as device:
        model = load_checkpoint(
            Path(job.model),
            job.base,
            revision=job.revision,
            device=device,
            dtype=job.settings.dtype,
            models=job.models,
            trust_remote_code=job.trust_remote_code,
        ).with_template(job.template)
        write_run(
            Probing(model, read_aligned(tables["aligned"]), job.settings),
            updates := read_updates(edits, tables["unaligned"]),
            Prepared(Hyper(job.name, model.name, "made elsewhere", {})),
            files,
            making=_AsItIs(model),
            about={"regime": "checkpoint", "group": len(updates)},
        )
    return files


def _report(job: Probe, edits: Path, tables: dict[str, Path], files: Files) -> None:
    """Writes scores, probes, costs and tables, and prints the tables."""
    runs = Runs(
        edits=edits,
        unaligned=[tables["unaligned"]],
        base_probes=[tables["baseline"]],
        base_clozes=[tables["clozes"]],
        run_probes=[files.probes],
        run_edits=[files.edits],
        models=[split_name(job.base)[0]],
        methods=["none", job.name],
    )
    scores, costs = job.output / "edit_scores.parquet", job.output / "costs.json"
    write_scores(runs, scores, job.output / "probes.parquet")
    # Nothing is known of what the edits cost where they were made.
    write_costs([], costs)
    write_tables(scores, costs, [tables["unaligned"]], job.output)
