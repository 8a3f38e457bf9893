"""`factdrift edit`: edits of a dataset; methods run, scored, tried on one fact, exported; other layouts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from factdrift.edit import (
    ability_commands,
    export_commands,
    family_commands,
    layout_commands,
    mend_commands,
    prefix_commands,
    probe_commands,
    run_commands,
    score_commands,
    try_commands,
    tune_commands,
)
from factdrift.edit.lifelong import commands as lifelong_commands
from factdrift.edit.settings import SCENARIOS

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(commands: Parsers) -> None:
    stage = commands.add_parser(
        "edit", help="editing methods on language models: edits, scores, layouts of other projects"
    )
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_dataset(verbs)
    prefix_commands.register(verbs)
    ability_commands.register(verbs)
    run_commands.register(verbs)
    score_commands.register(verbs)
    lifelong_commands.register(verbs)
    try_commands.register(verbs)
    export_commands.register(verbs)
    probe_commands.register(verbs)
    tune_commands.register(verbs)
    mend_commands.register(verbs)
    layout_commands.register(verbs)
    family_commands.register(verbs)


def _add_dataset(verbs: Parsers) -> None:
    verb = verbs.add_parser("dataset", help="convert the updates of a dataset to edits with probes")
    verb.add_argument("--dataset", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--scenarios", nargs="+", choices=list(SCENARIOS), default=["replacement"])
    verb.add_argument("--split", choices=("all", "train", "test"), default="all")
    verb.add_argument("--limit", type=int, default=0, help="edits, drawn with the seed; 0 for all")
    verb.add_argument("--fluency-sample", type=float, default=1.0, metavar="SHARE")
    verb.add_argument("--archive-target", default="nothing", metavar="TEXT")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_dataset)


def _dataset(options: argparse.Namespace) -> None:
    from factdrift.edit.dataset import write_edits

    edits = write_edits(
        options.dataset,
        options.output,
        options.scenarios,
        split=options.split,
        limit=options.limit,
        fluency_sample=options.fluency_sample,
        archive_target=options.archive_target,
        seed=options.seed,
    )
    print(f"{options.output}: {edits:,} edits")
