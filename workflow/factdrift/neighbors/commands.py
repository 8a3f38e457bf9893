"""`factdrift neighbors`: nearest and random facts for the updated groups."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stage = commands.add_parser("neighbors", help="facts about similar entities, and random facts")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    search = verbs.add_parser("search", help="the nearest facts of every updated group")
    _add_shared(search)
    search.add_argument("--entities", type=Path, nargs="+", required=True, help="items with their labels")
    search.add_argument("--labels", type=Path, nargs="*", default=[], help="id, label of what the dumps lack")
    search.add_argument("--old-date", type=date.fromisoformat, required=True, help="T_old, YYYY-MM-DD")
    search.add_argument("--dates", choices=["first_day", "interval"], default="first_day")
    search.add_argument("--candidates", type=int, default=500, help="entities to walk (default %(default)s)")
    search.set_defaults(run=_search)

    random = verbs.add_parser("random", help="random facts for every updated group")
    _add_shared(random)
    random.add_argument("--neighbors", type=Path, required=True, help="what `search` wrote")
    random.add_argument(
        "--replacements", type=Path, required=True, help="the groups whose nearest facts are the pool"
    )
    random.add_argument("--seed", type=int, default=0)
    random.set_defaults(run=_random)


def _add_shared(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--updates", type=Path, nargs="+", required=True, help="labelled triples, all buckets")
    verb.add_argument("--old", type=Path, nargs="+", required=True, help="the old dump's filtered statements")
    verb.add_argument("--new", type=Path, nargs="+", required=True, help="the new dump's filtered statements")
    verb.add_argument("--variant", choices=["paper", "reference", "revised"], default="paper")
    verb.add_argument("--facts", type=int, default=10, help="facts a group (default %(default)s)")
    verb.add_argument("--memory-mb", type=int, default=4000, help="for the tables (default %(default)s)")
    verb.add_argument("--threads", type=int, default=1)
    verb.add_argument("-o", "--output", type=Path, required=True)


def _search(options: argparse.Namespace) -> None:
    from factdrift.neighbors.facts import search
    from factdrift.wikidata.time import pack

    day: date = options.old_date
    search(
        options.updates,
        options.old,
        options.new,
        options.entities,
        options.labels,
        options.output,
        pack(day.year, day.month, day.day),
        options.variant,
        options.dates,
        options.candidates,
        options.facts,
        options.memory_mb,
        options.threads,
    )


def _random(options: argparse.Namespace) -> None:
    from factdrift.neighbors.random_facts import draw

    draw(
        options.updates,
        options.neighbors,
        options.replacements,
        options.old,
        options.new,
        options.output,
        options.variant,
        options.seed,
        options.facts,
        options.memory_mb,
        options.threads,
    )
