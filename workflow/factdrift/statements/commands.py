"""Command line: `factdrift statements extract | gather | snapshot`."""

from __future__ import annotations

import argparse
from pathlib import Path


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the verbs of this stage to the command line."""
    from factdrift import statements

    stage = commands.add_parser("statements", help="a dump as tables", description=statements.__doc__)
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    extract = verbs.add_parser("extract", help="one shard of a dump as tables split by subject")
    extract.add_argument("--dump", type=Path, required=True, help="dump file, compressed or not")
    extract.add_argument("--shard", type=int, default=0, help="number of the shard, from 0")
    extract.add_argument("--shards", type=int, default=1, help="number of shards")
    extract.add_argument("--buckets", type=int, default=1, help="number of subject buckets")
    extract.add_argument("--scope", default="enwiki", help="items held whole: enwiki, anywiki or all")
    extract.add_argument(
        "--names", default="all", help="items that get a row: all, or held (whole ones, classes and units)"
    )
    extract.add_argument(
        "--parse-all",
        action="store_true",
        help="parse also lines that could be skipped by their bytes (for tests)",
    )
    extract.add_argument(
        "--languages",
        nargs="*",
        default=[],
        metavar="CODE",
        help="languages other than English whose terms are kept",
    )
    extract.add_argument("-o", "--output", type=Path, required=True, help="folder of the shard")
    extract.set_defaults(run=_extract)

    gather = verbs.add_parser("gather", help="one bucket of all shards as tables of the snapshot")
    _add_shards(gather)
    gather.add_argument("--bucket", type=int, required=True, help="number of the bucket, from 0")
    gather.add_argument("--properties", type=Path, required=True, help="the snapshot's properties.parquet")
    gather.add_argument("--statements", type=Path, required=True, help="output: statements of the bucket")
    gather.add_argument("--entities", type=Path, required=True, help="output: items of the bucket")
    gather.add_argument("--translations", type=Path, help="output: terms in other languages of the bucket")
    gather.set_defaults(run=_gather)

    snapshot = verbs.add_parser("snapshot", help="properties, classes and counts of all shards")
    _add_shards(snapshot)
    snapshot.add_argument("--dump", type=Path, required=True, help="the dump that the shards were read from")
    snapshot.add_argument(
        "--max-bad-lines", type=float, default=0.0001, help="share of unusable lines above which it fails"
    )
    snapshot.add_argument("--properties", type=Path, required=True, help="output: properties.parquet")
    snapshot.add_argument("--classes", type=Path, required=True, help="output: classes.parquet")
    snapshot.add_argument("--json", type=Path, required=True, help="output: snapshot.json")
    snapshot.set_defaults(run=_snapshot)


def _add_shards(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--shard-dirs", type=Path, nargs="+", required=True, help="folders of all shards")
    verb.add_argument("--memory", type=int, default=1000, help="megabytes of memory before spilling to disk")


def _extract(options: argparse.Namespace) -> None:
    from factdrift.statements.extract import extract

    extract(
        options.dump,
        options.shard,
        options.shards,
        options.buckets,
        options.scope,
        options.output,
        options.names,
        options.parse_all,
        options.languages,
    )


def _gather(options: argparse.Namespace) -> None:
    from factdrift.statements.gather import gather_bucket

    gather_bucket(
        options.shard_dirs,
        options.bucket,
        options.properties,
        options.statements,
        options.entities,
        options.memory,
        options.translations,
    )


def _snapshot(options: argparse.Namespace) -> None:
    from factdrift.statements.gather import gather_snapshot

    gather_snapshot(
        options.shard_dirs,
        options.dump,
        options.max_bad_lines,
        options.properties,
        options.classes,
        options.json,
        options.memory,
    )
