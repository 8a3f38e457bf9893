"""`factdrift edit probe`: score a checkpoint or an adapter into which edits were made elsewhere."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from factdrift.core.errors import InputError
from factdrift.core.stage_settings import read_settings
from factdrift.edit.settings import Settings
from factdrift.models.options import PART, add_computing, add_source, add_template, loaded

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from factdrift.edit.methods.interface import Edit, Edited
    from factdrift.models.loading import Loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

BASELINE = ("aligned", "unaligned", "baseline", "clozes")
"""The tables of the unedited model, as the workflow names them."""


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("probe", help="score a checkpoint or adapter that was edited elsewhere")
    verb.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER", help="of save_pretrained, or of a PEFT adapter"
    )
    verb.add_argument("--edits", type=Path, required=True, metavar="PARQUET", help="what was edited")
    verb.add_argument(
        "--base", metavar="NAME", help="the model without edits (default: the one that an adapter names)"
    )
    verb.add_argument("--name", help="of the method, in tables (default: the folder's)")
    chosen = verb.add_mutually_exclusive_group()
    chosen.add_argument("--only", nargs="+", default=[], metavar="EDIT", help="the edits that were made")
    chosen.add_argument("--limit", type=int, default=0, help="only the first ones of the table; 0 for all")
    verb.add_argument(
        "--baseline",
        type=Path,
        metavar="FOLDER",
        help="results/<old>_<new>/edit/<model>, instead of running the model without edits",
    )
    verb.add_argument("--models", type=Path, default=Path("results/models"), metavar="FOLDER")
    add_source(verb)
    add_template(verb)
    add_computing(verb, Settings)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_probe)


class _AsItIs(NamedTuple):
    """A Maker for a model in which all edits are in place."""

    loaded: Loaded

    def made(self, edits: Sequence[Edit]) -> AbstractContextManager[tuple[Loaded, Edited]]:
        from factdrift.edit.methods.interface import Edited

        return nullcontext((self.loaded, Edited()))


def _probe(options: argparse.Namespace) -> None:
    import msgspec

    from factdrift.core.owned import claim
    from factdrift.models.checkpoint import base_of
    from factdrift.models.names import split_name

    settings = read_settings(options.settings, Settings, PART)
    settings = msgspec.structs.replace(settings, regime="independent")
    named = base_of(options.model)
    base = options.base or named
    if not base:
        raise InputError("--base: name the model from which the checkpoint was made")
    name = options.name or options.model.resolve().name
    if name == "none":
        raise InputError("--name: `none` is the model without edits; give another name")
    options.base, model = base, split_name(base)[0]
    written = ["edits", "edit_scores", "probes", *(() if options.baseline else BASELINE)]
    written += [f"{name}/0-of-1.{what}" for what in ("probes", "edits")]
    claim(options.output, [*(f"{table}.parquet" for table in written), "costs.json"])
    edits = _chosen(options)
    tables = _baseline(options, settings, edits)
    runs = _run(options, settings, name, edits, tables)
    _report(options.output, edits, tables, runs, model, name)


def _chosen(options: argparse.Namespace) -> Path:
    """Writes the edits that the options choose; returns the table."""
    import pyarrow.parquet as pq

    from factdrift.core.tables import write_parquet
    from factdrift.edit.dataset import EDITS

    if not options.edits.is_file():
        raise InputError(f"{options.edits}: no such file; make it with `factdrift edit dataset`")
    if options.limit < 0:
        raise InputError(f"--limit: {options.limit} is no number of edits; give 0 for all, or more")
    if lacking := [column for column in EDITS.names if column not in pq.read_schema(options.edits).names]:
        raise InputError(f"{options.edits}: lacks {', '.join(lacking)}; give a table of `edit dataset`")
    table = pq.read_table(options.edits, schema=EDITS)
    known = table["edit"].to_pylist()
    if unknown := [edit for edit in options.only if edit not in known]:
        raise InputError(f"--only: {options.edits} has no edit {unknown[0]}; its edits are {known[0]}, ...")
    if options.only:
        table = table.filter([edit in options.only for edit in known])
    table = table[: options.limit or len(table)]
    path: Path = options.output / "edits.parquet"
    write_parquet(table, path)
    return path


def _baseline(options: argparse.Namespace, settings: Settings, edits: Path) -> dict[str, Path]:
    """The tables of the unedited model: those that were given, or newly made ones."""
    from factdrift.edit.job import Job
    from factdrift.edit.probes import read_aligned, read_updates, write_aligned

    tables = {name: (options.baseline or options.output) / f"{name}.parquet" for name in BASELINE}
    if options.baseline:
        _check_baseline(tables, edits, options.base, options.template)
        return tables
    from factdrift.edit.baseline import write_baseline

    with loaded(argparse.Namespace(**vars(options) | {"model": options.base}), settings) as model:
        write_aligned(model.tokenizer, model.name, edits, tables["aligned"], tables["unaligned"])
        job = Job(model, read_aligned(tables["aligned"]), settings)
        updates = read_updates(edits, tables["unaligned"])
        write_baseline(job, updates, options.output / "baseline", tables["baseline"], tables["clozes"])
    return tables


def _check_baseline(tables: dict[str, Path], edits: Path, base: str, template: str) -> None:
    """Raises InputError if tables are missing, or of another model, template or other edits."""
    import pyarrow.parquet as pq

    from factdrift.edit.probes import read_updates
    from factdrift.models.names import split_name

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
        for probe in update.probes:
            if (probe["prompt"], probe["target"]) not in known:
                raise InputError(
                    f"--baseline: {tables['aligned']} lacks a probe of {update.edit.id}: it is of other edits"
                )


def _run(
    options: argparse.Namespace, settings: Settings, name: str, edits: Path, tables: dict[str, Path]
) -> dict[str, Path]:
    """Probes the checkpoint; returns the tables RUN_PROBES and RUN_EDITS."""
    import torch

    from factdrift.edit.job import Job
    from factdrift.edit.methods.hyperparameters import Hyper
    from factdrift.edit.methods.interface import Artefacts
    from factdrift.edit.probes import read_aligned, read_updates
    from factdrift.edit.run import write_run
    from factdrift.models.checkpoint import load_checkpoint
    from factdrift.models.devices import held

    torch.set_num_threads(options.threads)
    folder = options.output / name
    runs = {what: folder / f"0-of-1.{what}.parquet" for what in ("probes", "edits")}
    with held(settings.device, settings.gpus) as device:
        model = load_checkpoint(
            options.model,
            options.base,
            revision=options.revision,
            device=device,
            dtype=settings.dtype,
            models=options.models,
            trust_remote_code=options.trust_remote_code,
        ).with_template(options.template)
        updates = read_updates(edits, tables["unaligned"])
        about: dict[str, Any] = {"regime": "checkpoint", "group": len(updates)}
        write_run(
            Job(model, read_aligned(tables["aligned"]), settings),
            updates,
            Hyper(name, model.name, "made elsewhere", {}),
            Artefacts(),
            {},
            (0, 1),
            folder / "0-of-1",
            runs["probes"],
            runs["edits"],
            _AsItIs(model),
            about,
        )
    return runs


def _report(
    output: Path, edits: Path, tables: dict[str, Path], runs: dict[str, Path], model: str, name: str
) -> None:
    """Writes scores, probes, costs and tables, and prints the tables."""
    from factdrift.edit.score_commands import write_tables
    from factdrift.edit.scores.costs import write_costs
    from factdrift.edit.scores.metrics import Runs, write_scores

    asked = Runs(
        edits=edits,
        unaligned=[tables["unaligned"]],
        base_probes=[tables["baseline"]],
        base_clozes=[tables["clozes"]],
        run_probes=[runs["probes"]],
        run_edits=[runs["edits"]],
        models=[model],
        methods=["none", name],
    )
    scores, costs = output / "edit_scores.parquet", output / "costs.json"
    write_scores(asked, scores, output / "probes.parquet")
    # Nothing is known of what the edits cost where they were made.
    write_costs([], costs)
    write_tables(scores, costs, [tables["unaligned"]], output)
