"""`factdrift edit scores | table | figures`: evaluate the runs of all models and methods, without a model."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from factdrift.models.bundled.known import add_recall

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("scores", help="compute the metrics of each edit and join all probes")
    verb.add_argument("--edits", type=Path, required=True, metavar="PARQUET")
    for option in ("--unaligned", "--base-probes", "--base-clozes"):
        verb.add_argument(
            option, type=Path, required=True, nargs="+", metavar="PARQUET", help="of each model"
        )
    for option in ("--run-probes", "--run-edits"):
        verb.add_argument(option, type=Path, nargs="*", default=[], metavar="PARQUET", help="of each job")
    verb.add_argument("--costs", type=Path, nargs="*", default=[], metavar="JSON", help="of each job")
    verb.add_argument("--ability", type=Path, nargs="*", default=[], metavar="JSON", help="of each model")
    verb.add_argument(
        "--skipped", default="[]", metavar="JSON", help="[model, method, reason] of methods without a job"
    )
    verb.add_argument("--strict", action="store_true", help="fail if a method could not edit a model")
    verb.add_argument("--models", nargs="+", required=True, help="in the order of the tables")
    verb.add_argument("--methods", nargs="+", required=True, help="likewise")
    verb.add_argument("--out-scores", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-probes", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-costs", type=Path, required=True, metavar="JSON")
    verb.set_defaults(run=_scores)

    verb = verbs.add_parser(
        "table", help="print the scores in the layout of the WikiFactDiff paper's Tables 6 and 7"
    )
    verb.add_argument("--scores", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--costs", type=Path, required=True, metavar="JSON")
    verb.add_argument("--unaligned", type=Path, nargs="*", default=[], metavar="PARQUET")
    add_recall(verb)
    verb.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_table)

    verb = verbs.add_parser(
        "figures",
        help="draw bleedover against popularity and similarity, as the WikiFactDiff paper's Figure 2",
    )
    verb.add_argument("--probes", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--output", type=Path, nargs="+", required=True, metavar="SVG|PNG")
    verb.set_defaults(run=_figures)


def _scores(options: argparse.Namespace) -> None:
    from factdrift.edit.scores.costs import write_costs
    from factdrift.edit.scores.metrics import Runs, write_scores
    from factdrift.edit.skipped import Skipped, skipped_methods

    runs = Runs(
        edits=options.edits,
        unaligned=options.unaligned,
        base_probes=options.base_probes,
        base_clozes=options.base_clozes,
        run_probes=options.run_probes,
        run_edits=options.run_edits,
        models=options.models,
        methods=options.methods,
        abilities=options.ability,
    )
    skipped = [Skipped(*each) for each in json.loads(options.skipped)]
    for line in skipped_methods(write_costs(options.costs, options.out_costs, skipped, options.strict)):
        print(f"skipped: {line}")
    rows = write_scores(runs, options.out_scores, options.out_probes)
    print(f"{options.out_scores}: {rows:,} rows")


def _table(options: argparse.Namespace) -> None:
    write_tables(options.scores, options.costs, options.unaligned, options.output, options.recall)


def write_tables(
    scores: Path, costs: Path, unaligned: Sequence[Path], output: Path, bundled: Sequence[Path] = ()
) -> None:
    """Writes Tables 6 and 7 to a folder as text and as comma-separated values, and prints them.

    `bundled`: folders of bundled models, whose recall is told below the tables.
    """
    from factdrift.core.owned import claim
    from factdrift.edit.scores.table import (
        lines,
        read_groups,
        read_skipped,
        unaligned_lines,
        write_table,
    )
    from factdrift.models.bundled.known import recall_lines

    claim(output, (f"{name}.{form}" for name in ("table6", "table7") for form in ("txt", "csv")))
    skipped = read_skipped(costs)
    for name, title, known in (
        ("table6", "All edits (Table 6 of the WikiFactDiff paper)", False),
        ("table7", "Edits of facts that the model knew before (Table 7)", True),
    ):
        groups = read_groups(scores, costs, known)
        text, table = output / f"{name}.txt", output / f"{name}.csv"
        known_lines = list(recall_lines(bundled))
        write_table(groups, title, text, table, skipped, known_lines)
        print("\n".join([*lines(groups, title, skipped), *known_lines]), end="\n\n")
    for line in unaligned_lines(unaligned):
        print(f"skipped: {line}")


def _figures(options: argparse.Namespace) -> None:
    from factdrift.edit.scores.figures import draw

    for path in options.output:
        missing = draw(options.probes, path)
    print(*options.output)
    for column in missing:
        print(
            f"{options.probes}: no probe of a neighbour has a value of `{column}`, so its panel is empty; "
            "the edited dataset has none (imported files have neither `dist` nor `popularity`)",
            file=sys.stderr,
        )
