"""`factdrift edit mend-train | mend-import`: train or import the editor networks of MEND."""

from __future__ import annotations

import argparse
from pathlib import Path

from factdrift.core.errors import CannotEdit
from factdrift.edit.run_commands import add_hyper
from factdrift.models.options import add_computing, add_model, add_template, loaded, named


def register(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    train = verbs.add_parser(
        "mend-train", help="train MEND's editor for a model, on subjects that are not edited"
    )
    train.add_argument(
        "--dataset", type=Path, required=True, metavar="PARQUET", help="such as wfd_repl.parquet"
    )
    train.add_argument(
        "--templates", type=Path, required=True, metavar="PARQUET", help="the templates of that dataset"
    )
    train.add_argument(
        "--edits",
        type=Path,
        required=True,
        metavar="PARQUET",
        help="edits whose subjects must not be trained on",
    )
    add_model(train)
    add_template(train)
    add_computing(train)
    add_hyper(train)
    train.add_argument("--seed", type=int, default=0)
    train.add_argument(
        "--out-split", type=Path, required=True, metavar="JSON", help="subjects that train and that validate"
    )
    train.add_argument("-o", "--output", type=Path, required=True, metavar="SAFETENSORS")
    train.set_defaults(run=_train)

    load = verbs.add_parser("mend-import", help="convert a published MEND checkpoint")
    load.add_argument("checkpoint", type=Path, help="such as mend-10tok-gpt-j-6b.pt")
    add_model(load)
    add_computing(load)
    add_hyper(load)
    load.add_argument(
        "--rates",
        choices=("by_position", "matched"),
        default="by_position",
        help="assignment of the learned rates to matrices: as in kmeng01/rome, or as trained",
    )
    load.add_argument("-o", "--output", type=Path, required=True, metavar="SAFETENSORS")
    load.set_defaults(run=_import)


def _train(options: argparse.Namespace) -> None:
    from factdrift.edit.artefacts.mend_facts import Split, read_split
    from factdrift.edit.artefacts.mend_training import train
    from factdrift.edit.methods.hyperparameters import hyper_of
    from factdrift.edit.methods.mend_editor import write_reason

    try:
        with loaded(options) as model:
            hyper = hyper_of(model, "mend", options.set, options.methods)
            split = read_split(
                options.dataset,
                options.templates,
                options.edits,
                validation=hyper["validation_share"],
                seed=options.seed,
            )
            split.write(options.out_split)
            train(model, split, hyper, options.output, seed=options.seed)
    except CannotEdit as error:
        print(f"mend on {named(options)}: skipped: {error}")
        Split((), (), {}).write(options.out_split)
        write_reason(options.output, str(error))


def _import(options: argparse.Namespace) -> None:
    with loaded(options) as model:
        from factdrift.edit.artefacts.mend_published import import_checkpoint
        from factdrift.edit.methods.hyperparameters import hyper_of

        hyper = hyper_of(model, "mend", options.set, options.methods)
        net = import_checkpoint(options.checkpoint, model, blocks=hyper["blocks"], rates=options.rates)
        net.write(options.output, {"model": model.digest, "source": options.checkpoint.name})
