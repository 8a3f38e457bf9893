"""`factdrift answer`: ask models TempRIPPLE's questions, and score their answers."""

from __future__ import annotations

import argparse
import datetime
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from factdrift.answer.settings import METHODS, Settings, check_asked
from factdrift.chat.settings import Chat, chat_settings
from factdrift.core.errors import CannotEdit, InputError, Unsupported
from factdrift.core.stage_settings import add_settings, read_json, read_settings
from factdrift.edit.run_commands import add_method, add_strict
from factdrift.edit.settings import check_regime
from factdrift.models.bundled.known import add_recall
from factdrift.models.options import PART, add_computing, add_model, loaded

if TYPE_CHECKING:
    from factdrift.edit.job import Job

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


_OR_FILE = "JSON itself, or FILE or @FILE that holds it"


def register(commands: Parsers) -> None:
    stage = commands.add_parser(
        "answer", help="ask models TempRIPPLE's questions: without context, with it, after an edit"
    )
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    verb = verbs.add_parser("run", help="ask the unedited model, without and with context")
    _add_job(verb)
    verb.set_defaults(run=_run)

    verb = verbs.add_parser("edited", help="ask the model with each new fact as an edit")
    _add_job(verb)
    verb.add_argument("--facts", type=Path, required=True, metavar="PARQUET", help="tr_facts")
    add_method(verb)
    add_strict(verb)
    verb.set_defaults(run=_edited)

    verb = verbs.add_parser("clozes", help="ask the unedited model the cloze tests of KLoB and WikiFactDiff")
    verb.add_argument("--klob", type=Path, nargs="*", default=[], metavar="PARQUET", help="klob_c, klob_r")
    verb.add_argument("--edits", type=Path, required=True, metavar="PARQUET", help="of `edit dataset`")
    add_model(verb)
    add_computing(verb, Settings)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_clozes)

    verb = verbs.add_parser("cloze-table", help="join the cloze tests of all models, and print the shares")
    verb.add_argument("tables", type=Path, nargs="+", metavar="PARQUET", help="of `answer clozes`")
    add_recall(verb)
    verb.add_argument("--out-text", type=Path, required=True, metavar="TXT")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_cloze_table)

    verb = verbs.add_parser("lm-eval", help="write tasks for EleutherAI's lm-evaluation-harness")
    verb.add_argument(
        "--questions",
        nargs="*",
        default=[],
        metavar="NAME=PARQUET",
        help="questions with options, such as tempripple=results/tempripple.parquet",
    )
    verb.add_argument(
        "--edits", type=Path, metavar="PARQUET", help="of `edit dataset`: WikiFactDiff's clozes"
    )
    verb.add_argument("--prompt", required=True, help="the configuration's answer.prompts.loglik")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_lm_eval)

    verb = verbs.add_parser("taught", help="what TempRIPPLE asks, for a bundled model to learn")
    for option, what in (("--facts", "tr_facts"), ("--related", "tr_related"), ("--wikifactdiff", "changes")):
        verb.add_argument(option, type=Path, required=True, metavar="PARQUET", help=what)
    verb.add_argument("--old", type=datetime.date.fromisoformat, required=True, metavar="DAY", help="T_old")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_taught)

    verb = verbs.add_parser("requests", help="what a chat model is asked, without and with context")
    _add_chat(verb)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET", help="requests")
    verb.set_defaults(run=_requests)

    verb = verbs.add_parser("read", help="predictions from the answers of a chat model")
    _add_chat(verb)
    verb.add_argument("--answers", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-run", type=Path, required=True, metavar="JSON", help="description of the run")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET", help="predictions")
    verb.set_defaults(run=_read)

    verb = verbs.add_parser("scores", help="accuracies with intervals, and the paper's tests")
    for option, what in (("--items", "tr_items"), ("--facts", "tr_facts")):
        verb.add_argument(option, type=Path, required=True, metavar="PARQUET", help=what)
    verb.add_argument(
        "--predictions", type=Path, required=True, nargs="+", metavar="PARQUET", help="of each job"
    )
    verb.add_argument("--runs", required=True, nargs="+", metavar="JSON", help=f"of each job; {_OR_FILE}")
    verb.add_argument(
        "--cutoffs",
        default="{}",
        metavar="JSON",
        help=f"model -> last day of its training data, 2021-01-04; {_OR_FILE}",
    )
    verb.add_argument(
        "--skipped",
        default="[]",
        metavar="JSON",
        help=f"[model, method, reason] of methods without a job; {_OR_FILE}",
    )
    verb.add_argument("--strict", action="store_true", help="fail if a method could not edit a model")
    verb.add_argument("--draws", type=int, default=2000, help="of the bootstrap (default %(default)s)")
    verb.add_argument("--seed", type=int, default=0)
    for option, form in (("--out-predictions", "PARQUET"), ("--out-runs", "JSON"), ("--out-tests", "JSON")):
        verb.add_argument(option, type=Path, required=True, metavar=form)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET", help="the scores")
    verb.set_defaults(run=_scores)

    verb = verbs.add_parser("dated-scores", help="scores of questions with a date")
    verb.add_argument("--items", type=Path, required=True, metavar="PARQUET", help="of `streams asof`")
    verb.add_argument(
        "--predictions", type=Path, required=True, nargs="+", metavar="PARQUET", help="of each job"
    )
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_dated_scores)

    verb = verbs.add_parser(
        "table", help="print the scores by task and by hop, as the TempRIPPLE paper's tables"
    )
    verb.add_argument("--scores", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--tests", type=Path, required=True, metavar="JSON")
    verb.add_argument("--runs", required=True, metavar="JSON", help=f"of `answer scores`; {_OR_FILE}")
    add_recall(verb)
    verb.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_table)

    verb = verbs.add_parser("figure", help="draw accuracy against the number of hops")
    verb.add_argument("--scores", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--output", type=Path, nargs="+", required=True, metavar="SVG|PNG")
    verb.set_defaults(run=_figure)


def _add_items(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--items", type=Path, required=True, metavar="PARQUET", help="tr_items")
    each = "items of each task and number of hops, drawn with the seed; 0 for all"
    verb.add_argument("--limit", type=int, default=0, help=each)
    verb.add_argument("--seed", type=int, default=0)


def _add_job(verb: argparse.ArgumentParser) -> None:
    _add_items(verb)
    add_model(verb)
    add_computing(verb, Settings)
    verb.add_argument("--parts", type=Path, required=True, metavar="FOLDER", help="of finished batches")
    verb.add_argument("--out-run", type=Path, required=True, metavar="JSON", help="description of the run")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET", help="predictions")


def _add_chat(verb: argparse.ArgumentParser) -> None:
    _add_items(verb)
    verb.add_argument("--prompt", required=True, help="the configuration's answer.prompts.letter")
    add_settings(verb, Chat, "chat")


@contextmanager
def _job(options: argparse.Namespace) -> Iterator[tuple[Job, Settings]]:
    settings = read_settings(options.settings, Settings, PART)
    check_regime(settings)
    with loaded(options, settings) as model:
        from factdrift.edit.job import Job

        yield Job(model, {}, settings), settings


def _write(about: Mapping[str, Any], path: Path) -> None:
    from factdrift.core.owned import atomic_path

    with atomic_path(path) as partial:
        partial.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def _skip(options: argparse.Namespace, method: str, reason: InputError) -> None:
    """Writes in the place of answers why a model is not asked."""
    from factdrift.answer.schemas import PREDICTIONS
    from factdrift.core.tables import write_parquet
    from factdrift.models.names import split_name

    model, _ = split_name(options.model)
    print(f"{method} on {model}: skipped: {reason}")
    write_parquet(PREDICTIONS.empty_table(), options.output)
    _write({"model": model, "method": method, "skipped": str(reason)}, options.out_run)


def _run(options: argparse.Namespace) -> None:
    try:
        with _job(options) as (job, settings):
            from factdrift.answer.items import read_items
            from factdrift.answer.run import ask_plain

            items = read_items(options.items, options.limit, options.seed)
            about = ask_plain(job, settings, items, options.parts, options.output)
            _write(about, options.out_run)
    except Unsupported as error:
        _skip(options, "none", error)


def _edited(options: argparse.Namespace) -> None:
    if options.method not in METHODS:
        raise InputError(
            f"--method: {options.method}: not an edit to ask about; there are {', '.join(METHODS)}"
        )
    try:
        with _job(options) as (job, settings):
            from factdrift.answer.edits import edits_of
            from factdrift.answer.items import read_items
            from factdrift.answer.run import ask_edited
            from factdrift.edit.methods.hyperparameters import hyper_of
            from factdrift.edit.run_commands import artefacts

            items = read_items(options.items, options.limit, options.seed)
            check_asked(options.method, settings.regime)
            hyper = hyper_of(job.loaded, options.method, options.set, options.methods)
            print(f"{hyper.method} on {job.loaded.name}: {hyper.source}", flush=True)
            found, digests = artefacts(options, hyper, job.loaded)
            edits = edits_of(items, options.facts)
            about = ask_edited(
                job, settings, items, edits, hyper, found, digests, options.parts, options.output
            )
            _write(about, options.out_run)
    except CannotEdit as error:
        if options.strict:
            raise
        _skip(options, options.method, error)


def _clozes(options: argparse.Namespace) -> None:
    try:
        with _job(options) as (job, _):
            from factdrift.answer.clozes import ask_clozes
            from factdrift.answer.items import read_clozes

            number = ask_clozes(job, read_clozes(options.klob, options.edits), options.output)
            print(f"{options.output}: {number:,} cloze tests")
    except Unsupported as error:
        from factdrift.answer.schemas import CLOZES
        from factdrift.core.tables import write_parquet

        print(f"{options.model}: skipped: {error}")
        write_parquet(CLOZES.empty_table(), options.output)


def _cloze_table(options: argparse.Namespace) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    from factdrift.answer.clozes import lines
    from factdrift.answer.schemas import CLOZES
    from factdrift.core.owned import atomic_path
    from factdrift.core.tables import write_parquet
    from factdrift.models.bundled.known import recall_lines

    table = pa.concat_tables([pq.read_table(path, schema=CLOZES) for path in options.tables])
    text = "\n".join([*lines(table), *recall_lines(options.recall)]) + "\n"
    with atomic_path(options.out_text) as path:
        path.write_text(text, encoding="utf-8")
    write_parquet(table, options.output)
    print(text, end="")


def _lm_eval(options: argparse.Namespace) -> None:
    from factdrift.answer.harness import Task, cloze_tasks, question_tasks, write_tasks
    from factdrift.answer.items import read_clozes
    from factdrift.answer.settings import check_prompt

    try:
        check_prompt("loglik", options.prompt)
    except ValueError as error:
        raise InputError(f"--prompt: {error}") from None
    tasks: list[Task] = []
    for given in options.questions:
        name, _, path = given.partition("=")
        if not re.fullmatch(r"\w+", name) or not path:
            raise InputError(f"--questions: {given!r} is not of the form tempripple=FILE.parquet")
        tasks += question_tasks(name, Path(path), options.prompt)
    if options.edits is not None:
        tasks += cloze_tasks(read_clozes([], options.edits))
    for task in write_tasks(tasks, options.output):
        print(f"{task.name}: {len(task.table):,}")


def _taught(options: argparse.Namespace) -> None:
    from factdrift.answer.taught import write_taught

    facts = write_taught(options.facts, options.related, options.wikifactdiff, options.old, options.output)
    print(f"{options.output}: {facts:,} facts")


def _requests(options: argparse.Namespace) -> None:
    from factdrift.answer.chat import write_requests
    from factdrift.answer.items import read_items

    chat = chat_settings(options.settings)
    items = read_items(options.items, options.limit, options.seed)
    rows = write_requests(items, options.prompt, chat, options.output)
    print(f"{options.output}: {rows:,} requests")


def _read(options: argparse.Namespace) -> None:
    from factdrift.answer.chat import read_answers
    from factdrift.answer.items import read_items

    chat = chat_settings(options.settings)
    items = read_items(options.items, options.limit, options.seed)
    _write(read_answers(items, options.prompt, chat, options.answers, options.output), options.out_run)


def _scores(options: argparse.Namespace) -> None:
    from factdrift.answer.scores import write_runs, write_scores
    from factdrift.edit.skipped import Skipped

    skipped = [Skipped(*each) for each in _json(options.skipped, "--skipped", "[]")]
    runs = [_json(each, "--runs", "what `answer run` describes") for each in options.runs]
    write_runs(runs, options.out_runs, skipped, options.strict)
    rows = write_scores(
        options.items,
        options.facts,
        options.predictions,
        _cutoffs(options.cutoffs),
        options.out_predictions,
        options.out_tests,
        options.output,
        seed=options.seed,
        draws=options.draws,
    )
    print(f"{options.output}: {rows:,} rows")


def _json(text: str, option: str, form: str) -> Any:
    """What an option gives: JSON, or a file that holds it, with `@` before its name or without."""
    return read_json(text if text[:1] in ("{", "[", "@") else f"@{text}", option, form)


def _cutoffs(text: str) -> dict[str, datetime.date]:

    form = '{"sample-llama": "2021-01-04"}'
    given = _json(text, "--cutoffs", form)
    try:
        return {model: datetime.date.fromisoformat(day) for model, day in given.items()}
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"--cutoffs: {given!r} is no object from models to days ({error}); give {form}"
        ) from None


def _dated_scores(options: argparse.Namespace) -> None:
    from factdrift.answer.dated import write_scores

    write_scores(options.items, options.predictions, options.output)


def _table(options: argparse.Namespace) -> None:
    from factdrift.answer import table
    from factdrift.core.owned import claim
    from factdrift.edit.scores.table import skipped_among
    from factdrift.models.bundled.known import recall_lines
    from factdrift.tempripple.score import SELECTIONS

    claim(options.output, (f"{name}.{form}" for name in ("table2", "table3") for form in ("txt", "csv")))
    skipped = skipped_among(_json(options.runs, "--runs", "what `answer scores` wrote"))
    selections = [table.read_scores(options.scores, options.tests, name) for name in SELECTIONS]
    for name, lines, columns in (
        ("table2", table.by_task, table.TASK_COLUMNS),
        ("table3", table.by_hop, table.HOP_COLUMNS),
    ):
        text = [line for scores in selections for line in (*lines(scores, skipped), "")]
        text += recall_lines(options.recall)
        table.write_text(text, options.output / f"{name}.txt")
        table.write_csv(selections, columns, options.output / f"{name}.csv")
        print("\n".join(text))


def _figure(options: argparse.Namespace) -> None:
    from factdrift.answer.figure import draw

    for path in options.output:
        draw(options.scores, path)
    print(*options.output)
