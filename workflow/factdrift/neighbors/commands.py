"""`factdrift neighbors`: nearest and random facts for the updated groups."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stage = commands.add_parser("neighbors", help="facts about similar entities, and random facts")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    space = verbs.add_parser(
        "space", help="make TF-IDF vectors of the old dump's entities and of updated new ones"
    )
    _add_shared(space)
    space.add_argument(
        "--old", type=Path, nargs="+", required=True, help="the old dump's filtered statements"
    )
    space.add_argument(
        "--new", type=Path, nargs="+", required=True, help="the new dump's filtered statements"
    )
    _add_variant(space)
    space.set_defaults(run=_space)

    holding = verbs.add_parser("holding", help="choose the fact that each subject of a bucket may contribute")
    _add_shared(holding)
    holding.add_argument("--old", type=Path, required=True, help="the bucket's filtered statements, old dump")
    holding.add_argument("--entities", type=Path, nargs="+", required=True, help="items with their labels")
    holding.add_argument(
        "--labels", type=Path, nargs="*", default=[], help="id, label of what the dumps lack"
    )
    holding.add_argument("--old-date", type=date.fromisoformat, required=True, help="T_old, YYYY-MM-DD")
    _add_variant(holding)
    holding.add_argument("--dates", choices=["first_day", "interval"], default="first_day")
    holding.set_defaults(run=_holding)

    search = verbs.add_parser("search", help="find the nearest facts of updated groups")
    _add_shared(search)
    _add_search(search)
    search.add_argument("--holding", type=Path, nargs="+", required=True, help="what `holding` wrote")
    search.add_argument("--candidates", type=int, default=500, help="entities to walk (default %(default)s)")
    search.add_argument(
        "--part", default="0-of-1", help="of the updated subjects, 0-of-4 to 3-of-4 (default %(default)s)"
    )
    search.set_defaults(run=_search)

    gather = verbs.add_parser("gather", help="join the parts of the nearest facts into one table")
    gather.add_argument("--parts", type=Path, nargs="+", required=True, help="in their order")
    gather.add_argument("-o", "--output", type=Path, required=True)
    gather.set_defaults(run=_gather)

    random = verbs.add_parser("random", help="draw random facts for every updated group")
    _add_shared(random)
    _add_search(random)
    random.add_argument("--neighbors", type=Path, required=True, help="what `search` found")
    random.add_argument(
        "--replacements", type=Path, required=True, help="the groups whose nearest facts are the pool"
    )
    random.add_argument("--seed", type=int, default=0)
    random.set_defaults(run=_random)

    shared = verbs.add_parser(
        "shared-objects", help="facts of other subjects with the old or the new object of a replacement"
    )
    _add_shared(shared)
    _add_search(shared)
    for side in ("old", "new"):
        shared.add_argument(
            f"--{side}", type=Path, nargs="+", required=True, help=f"the {side} dump's filtered statements"
        )
        shared.add_argument(f"--{side}-date", type=date.fromisoformat, required=True, help="YYYY-MM-DD")
    shared.add_argument("--entities", type=Path, nargs="+", required=True, help="items with their labels")
    shared.add_argument("--labels", type=Path, nargs="*", default=[], help="id, label of what the dumps lack")
    shared.add_argument(
        "--candidates", type=int, default=500, help="subjects to compare for an object (default %(default)s)"
    )
    shared.add_argument("--seed", type=int, default=0)
    _add_variant(shared)
    shared.add_argument("--dates", choices=["first_day", "interval"], default="first_day")
    shared.add_argument("--out-new", type=Path, required=True, help="the facts with the new object")
    shared.set_defaults(run=_shared_objects)


def _add_shared(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--updates", type=Path, nargs="+", required=True, help="labelled triples, all buckets")
    verb.add_argument("--memory-mb", type=int, default=4000, help="for the tables (default %(default)s)")
    verb.add_argument("--threads", type=int, default=1)
    verb.add_argument("-o", "--output", type=Path, required=True)


def _add_search(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--space", type=Path, required=True, help="the folder that `space` wrote")
    verb.add_argument("--facts", type=int, default=10, help="facts a group (default %(default)s)")


def _add_variant(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--variant", choices=["paper", "reference", "revised"], default="paper")


def _space(options: argparse.Namespace) -> None:
    from factdrift.neighbors.vectors import make_space

    rows = make_space(
        options.updates,
        options.old,
        options.new,
        options.output,
        options.variant,
        options.memory_mb,
        options.threads,
    )
    print(f"{rows:,} entities as vectors")


def _holding(options: argparse.Namespace) -> None:
    from factdrift.neighbors.holding import write_holding
    from factdrift.wikidata.time import pack

    day: date = options.old_date
    rows = write_holding(
        options.updates,
        options.old,
        options.entities,
        options.labels,
        options.output,
        pack(day.year, day.month, day.day),
        options.variant,
        options.dates,
        options.memory_mb,
        options.threads,
    )
    print(f"{rows:,} facts that may be taken")


def _search(options: argparse.Namespace) -> None:
    from factdrift.core.errors import InputError
    from factdrift.neighbors.facts import search

    first, _, number = options.part.partition("-of-")
    if not (first.isdigit() and number.isdigit() and int(first) < int(number)):
        raise InputError(f"--part: {options.part!r} is no part such as 0-of-4")
    search(
        options.updates,
        options.space,
        options.holding,
        options.output,
        options.candidates,
        options.facts,
        (int(first), int(number)),
        options.memory_mb,
        options.threads,
    )


def _gather(options: argparse.Namespace) -> None:
    from factdrift.neighbors.facts import gather

    rows = gather(options.parts, options.output)
    print(f"{rows:,} nearest facts")


def _random(options: argparse.Namespace) -> None:
    from factdrift.neighbors.random_facts import draw

    draw(
        options.updates,
        options.neighbors,
        options.replacements,
        options.space,
        options.output,
        options.seed,
        options.facts,
        options.memory_mb,
        options.threads,
    )


def _shared_objects(options: argparse.Namespace) -> None:
    from factdrift.neighbors.shared_objects import Dump, write_shared_objects
    from factdrift.wikidata.time import pack

    def dump(paths: list[Path], day: date) -> Dump:
        return Dump(paths, pack(day.year, day.month, day.day))

    obsolete, new = write_shared_objects(
        options.updates,
        dump(options.old, options.old_date),
        dump(options.new, options.new_date),
        options.entities,
        options.labels,
        options.space,
        options.output,
        options.out_new,
        options.variant,
        options.dates,
        options.candidates,
        options.facts,
        options.seed,
        options.memory_mb,
        options.threads,
    )
    print(f"{obsolete:,} facts with an obsolete object, {new:,} with a new one")
