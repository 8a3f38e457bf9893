"""`factdrift locate edit-facts | edit-layers | against-edits`: does locating say where to edit?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from factdrift.edit.run_commands import add_job, add_method, add_strict, artefacts, job_of, read_shard

if TYPE_CHECKING:
    from factdrift.edit.methods.hyperparameters import Hyper
    from factdrift.edit.methods.interface import Artefacts

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("edit-facts", help="choose the edits whose facts are located and edited")
    verb.add_argument("--edits", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--limit", type=int, default=0, help="of edits (default 0, all)")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--out-edits", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-sentences", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_facts)

    verb = verbs.add_parser("edit-layers", help="make the edits of one method at every block of a model")
    add_job(verb)
    add_method(verb)
    add_strict(verb)
    verb.add_argument("--shard", type=read_shard, default=(0, 1), metavar="0-of-1")
    verb.add_argument("--out-probes", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-edits", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_layers)

    verb = verbs.add_parser("against-edits", help="compare blocks' scores with the success of edits there")
    verb.add_argument("--edits", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--models", nargs="+", required=True, help="names, in the order of the tables")
    verb.add_argument(
        "--folders", type=Path, nargs="+", required=True, help="of each model, as the workflow fills them"
    )
    verb.add_argument("--bases", type=Path, nargs="+", required=True, help="of each model's unedited probes")
    verb.add_argument("--locators", nargs="+", required=True, help="names, in the order of the tables")
    verb.add_argument("--methods", nargs="+", required=True)
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--out-table", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-text", type=Path, required=True, metavar="TXT")
    verb.add_argument("--out-figures", type=Path, nargs="+", required=True, metavar="SVG|PNG")
    verb.set_defaults(run=_against)


def _facts(options: argparse.Namespace) -> None:
    from factdrift.locate.choose import write_edit_facts

    number = write_edit_facts(
        options.edits, options.limit, options.seed, options.out_edits, options.out_sentences
    )
    print(f"{options.out_edits}: {number:,} edits")


def _layers(options: argparse.Namespace) -> None:
    with job_of(options) as job:
        from factdrift.edit.probes import read_updates
        from factdrift.locate.layers import independent, write_layers

        def needed(hyper: Hyper) -> tuple[Artefacts, dict[str, str | None]]:
            return artefacts(options, hyper, job.loaded)

        write_layers(
            independent(job),
            read_updates(options.edits, options.unaligned),
            options.method,
            options.set,
            needed,
            options.shard,
            options.parts,
            options.out_probes,
            options.out_edits,
            strict=options.strict,
        )


def _against(options: argparse.Namespace) -> None:
    from factdrift.core.owned import atomic_path
    from factdrift.edit.scores.metrics import Runs, weights_of
    from factdrift.locate.against_edits import (
        compare,
        draw,
        lines,
        read_edited,
        read_located,
        unedited,
        write_against,
    )
    from factdrift.locate.blocks import named
    from factdrift.models.names import check_same_weights

    rows = []
    notes: list[str] = []
    for model, folder, base in zip(options.models, options.folders, options.bases, strict=True):
        located = []
        for name in options.locators:
            tables = sorted((folder / name).glob("edits.*.parquet"))
            found = read_located(tables, [path.with_suffix(".json") for path in tables])
            if found is None:
                print(f"{name} on {model}: its units are not numbered block by block; it is left out")
            else:
                located.append(found)
        layers = max((len(values) for one in located for values in one.scores.values()), default=0)
        runs = {
            kind: [
                path
                for method in options.methods
                for path in sorted((folder / "edit").glob(f"{method}.*.{kind}.parquet"))
            ]
            for kind in ("probes", "edits")
        }
        weights = [(model, one.weights, one.locator) for one in located]
        check_same_weights([*weights, *weights_of([base / "clozes.parquet"], runs["edits"])])
        edited = read_edited(
            Runs(
                edits=options.edits,
                unaligned=[base / "unaligned.parquet"],
                base_probes=[base / "baseline.parquet"],
                base_clozes=[base / "clozes.parquet"],
                run_probes=runs["probes"],
                run_edits=runs["edits"],
                models=[model],
                methods=[named(method, layer) for method in options.methods for layer in range(layers)],
            ),
            layers,
        )
        rows += list(compare(model, located, edited, options.seed))
        notes += unedited(model, edited, options.methods, layers)
    number = write_against(rows, options.out_table)
    text = "\n".join([*lines(rows), *notes]) + "\n"
    print(text)
    with atomic_path(options.out_text) as path:
        path.write_text(text, encoding="utf-8")
    draw(rows, options.out_figures)
    print(f"{options.out_table}: {number:,} rows")
