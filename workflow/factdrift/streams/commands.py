"""`factdrift streams ...`: sequences of dates, from the tables of their pairs."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from factdrift.core.errors import InputError


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stage = commands.add_parser("streams", help="the updates of a sequence of dates, linked to chains")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    verb = _verb(verbs, "chains", _chains, "link the updates of a bucket over all intervals")
    verb.add_argument("--updates", type=Path, nargs="+", required=True, help="a table per interval")
    verb.add_argument("--new-entities", type=Path, nargs="+", required=True, help="a table per interval")

    each = "all statements of a dump with the filter that drops them; a table per date"
    verb.add_argument("--statements", type=Path, nargs="+", required=True, help=each)
    verb.add_argument("--timelines", type=Path, required=True, help="output: when their values held")

    verb = _verb(verbs, "assemble", _assemble, "write the updates of all intervals in one table")
    verb.add_argument("--datasets", type=Path, nargs="+", required=True, help="a table per interval")
    verb.add_argument("--chains", type=Path, nargs="+", required=True, help="the tables of all buckets")

    verb = _verb(verbs, "asof", _asof, "write questions about what held on a date")
    verb.add_argument("--stream", type=Path, required=True, help="what `assemble` wrote")
    verb.add_argument("--timelines", type=Path, nargs="+", required=True, help="of all buckets")
    for option in ("rows", "classes"):
        verb.add_argument(
            f"--{option}", type=Path, nargs="+", required=True, help="of `tempripple rows`, last date"
        )
    verb.add_argument("--entities", type=Path, nargs="+", required=True, help="of the last date")
    verb.add_argument("--properties", type=Path, required=True, help="of the last date")
    verb.add_argument(
        "--alike", nargs="*", default=[], metavar="PID", help="the key tempripple.distractors.alike"
    )
    verb.add_argument("--seed", type=int, default=0)

    verb = _verb(verbs, "figure", _figure, "draw the updates of each month by scenario")
    verb.add_argument("--stream", type=Path, required=True, help="what `assemble` wrote")


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], name: str, run: object, help_: str
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=help_, description=help_)
    verb.add_argument(
        "--dates", type=date.fromisoformat, nargs="+", required=True, help="of the dumps, ascending"
    )
    verb.add_argument("-o", "--output", type=Path, required=True)
    verb.set_defaults(run=run)
    return verb


def _dates(options: argparse.Namespace, tables: Sequence[object] | None = None) -> list[str]:
    """The dates as text. Raises InputError unless they ascend and fit the number of tables, if any."""
    dates: list[date] = options.dates
    if dates != sorted(set(dates)) or len(dates) < 2:
        raise InputError("--dates: give two dates or more, each later than the one before")
    if tables is not None and len(tables) != len(dates) - 1:
        raise InputError(
            f"--dates: {len(dates)} dates have {len(dates) - 1} intervals, but {len(tables)} tables are "
            "given; give one for each interval"
        )
    return [day.isoformat() for day in dates]


def _chains(options: argparse.Namespace) -> None:
    from factdrift.streams.chains import Bucket, write_chains

    dates = _dates(options, options.updates)
    if len(options.new_entities) != len(options.updates):
        raise InputError("--new-entities: give one table for each interval, as for --updates")
    if len(options.statements) != len(dates):
        raise InputError(f"--statements: give one table for each of the {len(dates)} dates")
    bucket = Bucket(options.updates, options.new_entities, options.statements)
    rows = write_chains(bucket, dates, options.output, options.timelines)
    print(f"{rows:,} updates linked")


def _assemble(options: argparse.Namespace) -> None:
    from factdrift.streams.assemble import assemble

    rows = assemble(options.datasets, options.chains, _dates(options, options.datasets), options.output)
    print(f"{rows:,} updates of {len(options.datasets)} intervals")


def _asof(options: argparse.Namespace) -> None:
    from factdrift.streams.asof import Tables, write_questions

    tables = Tables(
        options.stream,
        options.timelines,
        options.rows,
        options.classes,
        options.entities,
        options.properties,
    )
    written = write_questions(tables, _dates(options), options.alike, options.seed, options.output)
    print(f"{written.questions:,} questions with a date")
    if written.strange:
        print(
            f"{written.strange:,} of them have no option that held at another time: of their subject and "
            "relation the dumps name no other value"
        )
    for relation, chains in sorted(written.unsaid.items()):
        print(
            f"{relation}: {chains:,} subjects are not asked about: resources/words/grammar.tsv has no past "
            "of the verb of its template"
        )


def _figure(options: argparse.Namespace) -> None:
    from factdrift.streams.figure import draw

    draw(options.stream, _dates(options), options.output)
