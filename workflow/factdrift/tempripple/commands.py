"""`factdrift tempripple rows | load | facts | related | items | account | examples | score | mquake`."""

from __future__ import annotations

import argparse
import datetime
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from factdrift.core.stage_settings import Settings
    from factdrift.tempripple.resources import Resources


Verbs = argparse._SubParsersAction


def register(commands: Verbs[argparse.ArgumentParser]) -> None:
    from factdrift import tempripple
    from factdrift.tempripple import sparql_commands

    stage = commands.add_parser(
        "tempripple", help="what changed, what it was, and what follows", description=tempripple.__doc__
    )
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")
    _declare_rows(verbs)
    sparql_commands.register(commands, verbs)
    _declare_facts(verbs)
    _declare_related(verbs)
    _declare_items(verbs)
    _declare_account(verbs)
    _declare_examples(verbs)
    _declare_score(verbs)
    _declare_mquake(verbs)


def _declare_rows(verbs: Verbs[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("rows", help="the statements and classes that TempRIPPLE needs, of one bucket")
    verb.add_argument("--statements", type=Path, required=True)
    verb.add_argument("--entities", type=Path, required=True)
    _add_resources(verb)
    verb.add_argument("--rows", type=Path, required=True, help="output: statements of the needed properties")
    verb.add_argument("--classes", type=Path, required=True, help="output: classes of items and of classes")
    verb.add_argument("--memory-mb", type=int, default=2000)
    verb.set_defaults(run=_rows)


def _declare_facts(verbs: Verbs[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("facts", help="what changed in the period, and what it was before")
    _add_search(verb)
    verb.add_argument("--facts", type=Path, required=True, help="output: tr_facts")
    verb.set_defaults(run=_facts)


def _declare_related(verbs: Verbs[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("related", help="what follows from the facts over up to three hops")
    _add_search(verb)
    verb.add_argument("--facts", type=Path, required=True)
    verb.add_argument("--related", type=Path, required=True, help="output: tr_related")
    verb.set_defaults(run=_related)


def _declare_items(verbs: Verbs[argparse.ArgumentParser]) -> None:
    from factdrift.core.stage_settings import add_settings
    from factdrift.tempripple.method import PART, ItemMethod

    verb = verbs.add_parser("items", help="the questions, with four options where there are enough values")
    add_settings(verb, ItemMethod, PART)
    verb.add_argument("--facts", type=Path, required=True)
    verb.add_argument("--related", type=Path, required=True)
    verb.add_argument("-o", "--output", type=Path, required=True, help="tr_items")
    verb.set_defaults(run=_items)


def _declare_account(verbs: Verbs[argparse.ArgumentParser]) -> None:
    from factdrift.core.stage_settings import add_settings
    from factdrift.tempripple.method import PART, ItemMethod

    verb = verbs.add_parser("account", help="statistics, and everything that was dropped")
    add_settings(verb, ItemMethod, PART)
    _add_resources(verb)
    verb.add_argument("--facts", type=Path, required=True)
    verb.add_argument("--related", type=Path, required=True)
    verb.add_argument("--items", type=Path, required=True)
    verb.add_argument("--dropped", type=Path, nargs="+", required=True, help="from `facts` and `related`")
    verb.add_argument("--accounts", type=Path, nargs="+", required=True, help="from `facts` and `related`")
    verb.add_argument("--snapshot", type=Path, help="snapshot.json, if the rows are a snapshot's")
    verb.add_argument("--endpoint", help="the SPARQL server that the rows came from otherwise")
    verb.add_argument("--all-dropped", type=Path, required=True, help="output: tr_dropped")
    verb.add_argument("--json", type=Path, required=True, help="output: tr_stats.json")
    verb.add_argument("--markdown", type=Path, required=True, help="output: the statistics as Markdown")
    verb.set_defaults(run=_account)


def _declare_examples(verbs: Verbs[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("examples", help="some items as a Markdown page")
    verb.add_argument("items", type=Path, help="tr_items, such as results/tempripple.parquet")
    verb.add_argument("--number", type=int, default=20)
    verb.add_argument("--seed", type=int, default=0)
    verb.set_defaults(run=_examples)


def _declare_score(verbs: Verbs[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("score", help="accuracies of models' answers, with intervals and tests")
    verb.add_argument("items", type=Path, help="tr_items, such as results/tempripple.parquet")
    verb.add_argument(
        "predictions",
        type=Path,
        help="Parquet or .csv: item_id, condition (without, with, edited), correct (bool); if several, model",
    )
    verb.add_argument("--facts", type=Path, help="tr_facts: adds the correlation with durations")
    verb.add_argument(
        "--cutoff",
        type=datetime.date.fromisoformat,
        metavar="DATE",
        help="last day of the models' training data (needs --facts): items of new facts that had begun by "
        "then, and of old ones that had not, are left out and counted",
    )
    verb.add_argument("--draws", type=int, default=2000, help="of the bootstrap (default %(default)s)")
    verb.add_argument("--seed", type=int, default=0)
    verb.add_argument("--json", type=Path, help="output: the same as JSON")
    verb.set_defaults(run=_score)


def _declare_mquake(verbs: Verbs[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("mquake", help="what follows from the new facts, in the layout of MQuAKE")
    verb.add_argument("--facts", type=Path, required=True, metavar="PARQUET", help="tr_facts")
    verb.add_argument("--related", type=Path, required=True, metavar="PARQUET", help="tr_related")
    _add_resources(verb)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="JSON")
    verb.set_defaults(run=_mquake)


def _add_search(verb: argparse.ArgumentParser) -> None:
    """Adds the options that `facts` and `related` share."""
    from factdrift.core.stage_settings import add_settings
    from factdrift.tempripple.method import PART, Method
    from factdrift.tempripple.opening import add_source

    add_source(verb)
    add_settings(verb, Method, PART)
    _add_resources(verb)
    verb.add_argument("--labels", type=Path, nargs="*", default=[], help="id, label of what the dump lacks")
    verb.add_argument("--dropped", type=Path, required=True, help="output: tr_dropped of this job")
    verb.add_argument("--account", type=Path, required=True, help="output: counts for the statistics")


def _add_resources(verb: argparse.ArgumentParser) -> None:
    from factdrift.core.paths import TEMPRIPPLE

    verb.add_argument(
        "--resources", type=Path, default=TEMPRIPPLE, help="folder of mutable.tsv, immutable.tsv, types.tsv"
    )


def _resources(options: argparse.Namespace) -> Resources:
    from factdrift.tempripple.resources import Resources

    return Resources(options.resources, getattr(options, "labels", ()))


def _settings(options: argparse.Namespace, kind: type[Settings]) -> Settings:
    from factdrift.core.stage_settings import read_settings
    from factdrift.tempripple.method import PART

    return read_settings(options.settings, kind, PART)


def _rows(options: argparse.Namespace) -> None:
    from factdrift.tempripple.rows import make_rows

    resources = _resources(options)
    properties = resources.properties()
    rows = make_rows(
        options.statements, options.entities, properties, options.rows, options.classes, options.memory_mb
    )
    print(f"{rows:,} statements of {len(properties)} properties")


def _facts(options: argparse.Namespace) -> None:
    from factdrift.tempripple.build import make_facts
    from factdrift.tempripple.method import Method
    from factdrift.tempripple.opening import open_source

    method = _settings(options, Method)
    with open_source(options) as source:
        rows = make_facts(
            source, method, _resources(options), options.facts, options.dropped, options.account
        )
    print(f"{rows:,} mutable facts")
    if not rows:
        print(
            f"warning: nothing changed between {method.change_start} and {method.change_end} that passes; "
            f"{options.dropped} says why",
            file=sys.stderr,
        )


def _related(options: argparse.Namespace) -> None:
    from factdrift.tempripple.build import make_related
    from factdrift.tempripple.method import Method
    from factdrift.tempripple.opening import open_source

    with open_source(options) as source:
        rows = make_related(
            source,
            _settings(options, Method),
            _resources(options),
            options.facts,
            options.related,
            options.dropped,
            options.account,
        )
    print(f"{rows:,} related facts")


def _items(options: argparse.Namespace) -> None:
    from factdrift.tempripple.items import make_items
    from factdrift.tempripple.method import ItemMethod
    from factdrift.tempripple.schemas import TR_FACTS, TR_ITEMS, TR_RELATED, read_rows, write_rows

    facts, related = read_rows(options.facts, TR_FACTS), read_rows(options.related, TR_RELATED)
    items = make_items(facts, related, _settings(options, ItemMethod))
    rows = write_rows(items, TR_ITEMS, options.output)
    print(f"{rows:,} items")


def _account(options: argparse.Namespace) -> None:
    from factdrift.tempripple.account import write_account
    from factdrift.tempripple.method import ItemMethod

    write_account(
        _settings(options, ItemMethod),
        _resources(options),
        options.facts,
        options.related,
        options.items,
        options.dropped,
        options.accounts,
        options.snapshot,
        options.endpoint,
        options.all_dropped,
        options.json,
        options.markdown,
    )
    print(options.markdown.read_text(encoding="utf-8"))


def _examples(options: argparse.Namespace) -> None:
    from factdrift.tempripple.examples import examples

    print(examples(options.items, options.number, options.seed))


def _score(options: argparse.Namespace) -> None:
    from factdrift.core.errors import InputError
    from factdrift.core.owned import atomic_path
    from factdrift.tempripple.schemas import TR_FACTS, TR_ITEMS, read_rows
    from factdrift.tempripple.score import as_markdown, read_predictions, report, within_cutoff

    answers = read_predictions(options.predictions, read_rows(options.items, TR_ITEMS))
    facts = read_rows(options.facts, TR_FACTS) if options.facts else []
    if options.cutoff is not None:
        if not facts:
            raise InputError("--cutoff: needs the days on which facts began; give them with --facts")
        cutoffs = {key[0]: options.cutoff for key in answers}
        answers, left_out = within_cutoff(answers, facts, cutoffs)
        print(f"{sum(left_out.values()):,} answers are left out because of the cutoff {options.cutoff}\n")
    tables = report(answers, facts, options.seed, options.draws)
    if options.json:
        with atomic_path(options.json) as temporary:
            temporary.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")
    print(as_markdown(tables))


def _mquake(options: argparse.Namespace) -> None:
    from factdrift.tempripple.mquake import write_mquake

    known = _resources(options).relations()
    relations = {
        f"P{number}": relation.label
        for table in (known.immutable, known.mutable)
        for number, relation in table.items()
    }
    cases, left = write_mquake(options.facts, options.related, relations, options.output)
    print(
        f"{options.output}: {cases:,} cases; {left:,} chains left out: a value is no item, or the fact "
        "before leads to no other one"
    )
