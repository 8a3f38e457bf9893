"""`factdrift locate`: run locating methods on a model, score them on KLoB, compare them with editing."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.stage_settings import add_settings, read_settings
from factdrift.edit.run_commands import read_shard, read_values
from factdrift.locate import edit_commands
from factdrift.locate.settings import PART, Settings
from factdrift.models.bundled.known import add_recall
from factdrift.models.options import add_model, loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(commands: Parsers) -> None:
    stage = commands.add_parser("locate", help="locating methods on language models: run and compare them")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_sentences(verbs)
    _add_run(verbs)
    _add_gather(verbs)
    _add_scores(verbs)
    _add_taught(verbs)
    edit_commands.register(verbs)


def _add_sentences(verbs: Parsers) -> None:
    verb = verbs.add_parser("sentences", help="choose the examples of KLoB that locators are run on")
    verb.add_argument(
        "--examples", type=Path, required=True, metavar="FOLDER", help="of klob_c, _r, _u.parquet"
    )
    verb.add_argument("--limit", type=int, default=0, help="examples of each subtask (default 0, all)")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--out-examples", type=Path, required=True, metavar="FOLDER", help="the chosen ones")
    verb.add_argument("--out-sentences", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_sentences)


def _add_run(verbs: Parsers) -> None:
    verb = verbs.add_parser("run", help="run one locator on a model and a shard of the sentences")
    verb.add_argument("--sentences", type=Path, required=True, metavar="PARQUET")
    add_model(verb)
    add_settings(verb, Settings, PART)
    verb.add_argument("--threads", type=int, default=1, help="of the CPU (default %(default)s)")
    verb.add_argument("--locator", required=True, help="a name (config/locators) or PATH.py:FUNCTION")
    verb.add_argument(
        "--set",
        type=read_values,
        default={},
        metavar="JSON",
        help="your hyper-parameters: config/locators/NAME.yaml",
    )
    verb.add_argument("--shard", type=read_shard, default=(0, 1), metavar="0-of-1")
    verb.add_argument("--parts", type=Path, required=True, metavar="FOLDER", help="of finished batches")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-about", type=Path, required=True, metavar="JSON")
    verb.set_defaults(run=_run)


def _add_gather(verbs: Parsers) -> None:
    verb = verbs.add_parser("gather", help="join the shards of a locator into a folder of scores")
    verb.add_argument("--sentences", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--shards", type=Path, nargs="+", required=True, metavar="PARQUET")
    verb.add_argument("--about", type=Path, nargs="+", required=True, metavar="JSON")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_gather)


def _add_scores(verbs: Parsers) -> None:
    verb = verbs.add_parser("scores", help="RSim and RSD of all locators: one table, and a figure a subtask")
    verb.add_argument(
        "--examples", type=Path, required=True, metavar="FOLDER", help="of klob_c, _r, _u.parquet"
    )
    verb.add_argument("--folders", type=Path, nargs="+", required=True, metavar="FOLDER", help="of scores")
    add_recall(verb)
    verb.add_argument("--k", nargs="+", required=True, metavar="PERCENT")
    verb.add_argument(
        "--headline", default="1", metavar="PERCENT", help="k of the printed tables (default 1)"
    )
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--out-scores", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-reports", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_scores)


def _add_taught(verbs: Parsers) -> None:
    verb = verbs.add_parser("taught", help="what KLoB asks, for a bundled model to learn")
    verb.add_argument("--examples", type=Path, required=True, metavar="FOLDER", help="of klob_c, _r.parquet")
    verb.add_argument("--wikifactdiff", type=Path, required=True, metavar="PARQUET", help="what changed")
    verb.add_argument("--limit", type=int, default=0, help="examples of each subtask (default 0, all)")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_taught)


def _sentences(options: argparse.Namespace) -> None:
    from factdrift.locate.choose import write_examples

    if options.limit < 0:
        raise InputError(f"--limit: {options.limit} is no number of examples; give 0 for all, or more")
    found = write_examples(
        options.examples, options.limit, options.seed, options.out_examples, options.out_sentences
    )
    print(", ".join(f"KLoB-{name}: {number:,} sentences" for name, number in found.items()))


def _taught(options: argparse.Namespace) -> None:
    from factdrift.locate.taught import write_taught

    facts = write_taught(options.examples, options.wikifactdiff, options.limit, options.seed, options.output)
    print(f"{options.output}: {facts:,} facts and chains")


def _run(options: argparse.Namespace) -> None:
    from factdrift.locate.plan import entry
    from factdrift.locate.prompts import read_sentences

    settings = read_settings(options.settings, Settings, PART)
    locator = entry(options.locator)
    if locator.kind == "folder":
        raise InputError(f"--locator: {options.locator} is a folder of scores, which is not run")
    rows = read_sentences(options.sentences)
    try:
        with loaded(options, settings.computing) as model:
            from factdrift.locate.run import make_job, write_located

            job = make_job(model, locator, options.set, settings)
            write_located(
                job, rows, options.shard, options.parts, options.output, options.out_about, options.threads
            )
    except Unsupported as error:
        from factdrift.locate.gather import write_skipped

        write_skipped(locator.name, options.model, str(error), options.output, options.out_about)


def _gather(options: argparse.Namespace) -> None:
    from factdrift.locate.gather import gather

    number = gather(options.sentences, options.shards, options.about, options.output)
    print(f"{options.output}: {number:,} sentences")


def _scores(options: argparse.Namespace) -> None:
    from fractions import Fraction

    from factdrift.core.owned import atomic_path, scratch
    from factdrift.klob.scoring.examples import read_examples
    from factdrift.locate.gather import skipped
    from factdrift.locate.report import draw, lines
    from factdrift.locate.table import compare, write_table
    from factdrift.models.bundled.known import recall_lines

    subtasks = {
        name: read_examples(options.examples / f"klob_{name}.parquet", name) for name in ("c", "r", "u")
    }
    headline = Fraction(options.headline)
    percents = [headline, *map(Fraction, options.k)]
    reasons = {folder: skipped(folder) for folder in options.folders}
    folders = [folder for folder in options.folders if reasons[folder] is None]
    notes = [reason for reason in reasons.values() if reason]
    if not folders:
        raise CannotEdit(f"locators: none of them has a score: {'; '.join(notes)}")
    with scratch() as folder:
        groups = compare(folders, subtasks, percents, folder, options.seed)
        rows = write_table(groups, options.out_scores)
    notes += recall_lines(options.recall)
    for subtask in subtasks:
        text = "\n".join([*lines(groups, subtask, float(headline)), *notes]) + "\n"
        print(text)
        with atomic_path(options.out_reports / f"table_{subtask}.txt") as path:
            path.write_text(text, encoding="utf-8")
        draw(groups, subtask, [options.out_reports / f"figure_{subtask}.{form}" for form in ("svg", "png")])
    print(f"{options.out_scores}: {rows:,} rows")
