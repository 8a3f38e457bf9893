"""`factdrift klob facts | candidates | mquake`; the stage's other commands are in modules of their own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from factdrift.klob import example_commands, file_commands, score_commands
from factdrift.klob.options import (
    add_klob_settings,
    add_memory,
    add_snapshot,
    add_tables,
    inputs_of,
    method_of,
    settings_of,
)

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(commands: Parsers) -> None:
    stage = commands.add_parser("klob", help="sentences on which locating methods are judged (KLoB)")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_facts(verbs)
    _add_candidates(verbs)
    _add_mquake(verbs)
    example_commands.register(verbs)
    file_commands.register(verbs)
    score_commands.register(verbs)


def _add_facts(verbs: Parsers) -> None:
    verb = verbs.add_parser("facts", help="the statements of KLoB's relations in one bucket of a snapshot")
    add_tables(verb)
    verb.add_argument("--statements", type=Path, required=True, help="the statements of one bucket")
    verb.add_argument("--date", required=True, help="the snapshot's date; facts hold on that day")
    add_klob_settings(verb)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    add_memory(verb, 2000)
    verb.set_defaults(run=_facts)


def _add_candidates(verbs: Parsers) -> None:
    verb = verbs.add_parser("candidates", help="facts and chains that can be examples")
    add_tables(verb)
    add_snapshot(verb)
    add_klob_settings(verb)
    verb.add_argument("--out-facts", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-chains", type=Path, required=True, metavar="PARQUET")
    add_memory(verb, 6000)
    verb.set_defaults(run=_candidates)


def _add_mquake(verbs: Parsers) -> None:
    verb = verbs.add_parser("mquake", help="chains from a file in MQuAKE's format")
    add_tables(verb)
    verb.add_argument("cases", type=Path, metavar="FILE.json")
    add_klob_settings(verb)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_mquake)


def _facts(options: argparse.Namespace) -> None:
    from factdrift.klob.facts import DEATH, write_facts
    from factdrift.klob.relations import second_hops

    method = method_of(options)
    wanted = sorted({*method.relations, *second_hops(method, settings_of(options).second_hop)})
    day = int(options.date.replace("-", ""))
    rows = write_facts(
        options.statements, [*wanted, DEATH], day, options.output, options.memory_mb, options.threads
    )
    print(f"{rows:,} statements of {len(wanted)} relations")


def _candidates(options: argparse.Namespace) -> None:
    from factdrift.klob.candidates import Switches, write_candidates
    from factdrift.klob.relations import check_properties, inverses_of, second_hops
    from factdrift.wikidata.ids import entity_number

    settings = settings_of(options)
    method = method_of(options)
    check_properties(options.properties, method, settings.slice)
    classes = [entity_number(identifier) for identifier in settings.page_classes]
    write_candidates(
        inputs_of(options),
        method.relations,
        second_hops(method, settings.second_hop),
        inverses_of(options.properties, method),
        [number for number in classes if number is not None],
        Switches(
            single_valued=settings.single_valued,
            object_words=settings.object_words,
            max_object_words=settings.max_object_words,
            min_sitelinks=settings.min_sitelinks if settings.filter == "off" else 0,
            min_pair_support=settings.min_pair_support,
            seed=settings.seed,
        ),
        options.out_facts,
        options.out_chains,
        options.memory_mb,
        options.threads,
    )


def _mquake(options: argparse.Namespace) -> None:
    from factdrift.klob.mquake import write_mquake

    settings = settings_of(options)
    method = method_of(options)
    rows = write_mquake(
        options.cases, method.shared, method.second_hops, settings.chain_text, settings.seed, options.output
    )
    print(f"{rows:,} chains")
