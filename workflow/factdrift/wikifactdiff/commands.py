"""`factdrift wikifactdiff`: datasets from labelled updates; `factdrift show`: the updates of one subject."""

from __future__ import annotations

import argparse
import json
import sys
from datetime import date
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from factdrift.core.stage_settings import add_settings, read_settings
from factdrift.core.switches import switches

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class AssembleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--settings` of `assemble`; descriptions and defaults are those of `config/config.schema.yaml`."""

    snapshots_old: str
    snapshots_new: str
    variant: Literal["paper", "reference", "revised"]
    subject_names: Literal["variant", "label", "unique"]
    grammar: Literal["variant", "fitted", "plain"]
    measurements: Literal["variant", "plain", "dated"]
    seed: int
    test_share: float


def register(commands: Parsers) -> None:
    stage = commands.add_parser("wikifactdiff", help="the datasets, their statistics and their origin")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")
    _add_popularity(verbs)
    _add_select(verbs)
    _add_assemble(verbs)
    _add_accounts(verbs)
    _add_manifest(verbs)

    show = commands.add_parser(
        "show",
        help="list updates by popularity, name, relation or date; print those of one subject",
        description="Without --subject, lists the most popular updates. With --subject, prints each of its "
        "updates whole, its objects in the order of time, with the rule that decided.",
    )
    show.add_argument(
        "dataset",
        type=Path,
        nargs="?",
        metavar="FILE.parquet",
        help="default: results/wikifactdiff.parquet, else results/wfd_repl.parquet",
    )
    show.add_argument("--subject", metavar="Q30", help="print the updates of this item whole")
    show.add_argument("--relation", metavar="P6|NAME", help="only this relation; NAME only in lists")
    show.add_argument("--search", metavar="TEXT", help="list what has it in the name of subject or object")
    show.add_argument(
        "--since", type=date.fromisoformat, metavar="2022-01-01", help="list what began, ended or was then"
    )
    show.add_argument(
        "--limit", type=int, metavar="N", help="updates to print at most (default: 20 in lists, else all)"
    )
    show.set_defaults(run=_show)


def _verb(verbs: Parsers, name: str, help: str) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=help)
    verb.add_argument("-o", "--output", type=Path, required=True)
    return verb


def _files(verb: argparse.ArgumentParser, option: str, help: str) -> None:
    verb.add_argument(option, type=Path, nargs="+", required=True, help=help)


def _file(verb: argparse.ArgumentParser, option: str, help: str) -> None:
    verb.add_argument(option, type=Path, required=True, help=help)


def _resources(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--memory-mb", type=int, default=3000, help="for the tables (default %(default)s)")
    verb.add_argument("--threads", type=int, default=1)


def _add_popularity(verbs: Parsers) -> None:
    verb = _verb(verbs, "popularity", "page views, or sitelinks, of every item")
    _files(verb, "--new", "entities of the snapshot of that date, all buckets")
    verb.add_argument(
        "--old", type=Path, nargs="*", default=[], help="entities of another snapshot, for what only it has"
    )
    verb.add_argument(
        "--pageviews", required=True, metavar="DIRECTORY|none", help="monthly files; none: use sitelinks"
    )
    verb.add_argument(
        "--date", type=date.fromisoformat, required=True, help="of the dump before which the views count"
    )
    verb.add_argument("--months", type=int, default=12, help="of page views (default %(default)s)")
    _resources(verb)
    verb.set_defaults(run=_popularity)


def _add_select(verbs: Parsers) -> None:
    verb = _verb(verbs, "select", "the groups of WFD_repl")
    _files(verb, "--updates", "labelled triples, all buckets")
    verb.add_argument(
        "--undersample",
        type=_factor,
        action="append",
        default=[],
        metavar="P1082=14",
        help="keep one of this many groups of a relation",
    )
    verb.add_argument("--seed", type=int, default=0)
    verb.set_defaults(run=_select)

    verb = _verb(verbs, "replacements", "wfd_repl.parquet: the selected groups' records")
    _file(verb, "--dataset", "the assembled wikifactdiff.parquet")
    _file(verb, "--groups", "what `select` wrote")
    verb.set_defaults(run=_replacements)


def _add_assemble(verbs: Parsers) -> None:
    verb = _verb(verbs, "assemble", "wikifactdiff.parquet: one record an update")
    _files(verb, "--updates", "labelled triples, all buckets")
    _files(verb, "--old-entities", "entities of the old snapshot, all buckets")
    _files(verb, "--new-entities", "entities of the new snapshot, all buckets")
    _file(verb, "--old-properties", "properties of the old snapshot")
    _file(verb, "--new-properties", "properties of the new snapshot")
    verb.add_argument("--labels", type=Path, nargs="*", default=[], help="id, label of what the dumps lack")
    _file(verb, "--popularity", "what `popularity` wrote")
    _file(verb, "--templates", "sentence templates of every relation")
    _file(verb, "--literals", "literals as people write them")
    _file(verb, "--neighbors", "nearest facts")
    _file(verb, "--random-neighbors", "random facts")
    verb.add_argument("--funnel", required=True, help="what `funnel` wrote; an error names it")
    verb.add_argument("--may-be-empty", action="store_true", help="no update at all is no error")
    _resources(verb)
    add_settings(verb, AssembleSettings, "")
    verb.set_defaults(run=_assemble)


def _add_accounts(verbs: Parsers) -> None:
    verb = _verb(verbs, "stats", "counts of both datasets, as JSON")
    _file(verb, "--dataset", "wikifactdiff.parquet")
    _file(verb, "--groups", "what `select` wrote")
    verb.set_defaults(run=_stats)

    verb = _verb(verbs, "funnel", "triples dropped and labelled per stage, relation and reason")
    _file(verb, "--report", "the preprocessing report")
    _files(verb, "--updates", "labelled triples, all buckets")
    _files(verb, "--untouched", "counts of the triples that are not among them, all buckets")
    _file(verb, "--groups", "what `select` wrote")
    verb.set_defaults(run=_funnel)

    verb = _verb(verbs, "export", "JSON Lines in the layout of the public dataset")
    _file(verb, "--dataset", "wikifactdiff.parquet or wfd_repl.parquet")
    verb.set_defaults(run=_export)


def _add_manifest(verbs: Parsers) -> None:
    verb = _verb(verbs, "manifest", "dumps, configuration, versions and counts, as JSON")
    verb.add_argument("--old-date", required=True)
    verb.add_argument("--new-date", required=True)
    for option, what in (
        ("--dump", "dump file"),
        ("--snapshot", "snapshot.json"),
        ("--sample", "account of the bundled sample"),
    ):
        verb.add_argument(
            option,
            type=_dated_path,
            action="append",
            default=[],
            metavar="DATE=PATH",
            help=f"{what} of a date",
        )
    verb.add_argument("--configuration", type=json.loads, default={}, help="resolved settings, as JSON")
    verb.add_argument("--tables", type=Path, nargs="*", default=[], help="Parquet files to count the rows of")
    _file(verb, "--funnel", "what `funnel` wrote")
    verb.add_argument("--checksum", choices=["sha1", "sha256"], default="sha1", help="default %(default)s")
    verb.set_defaults(run=_manifest)


def _dated_path(text: str) -> tuple[str, Path]:
    day, separator, path = text.partition("=")
    if not (day and separator and path):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form 2021-01-04=PATH")
    return day, Path(path)


def _factor(text: str) -> tuple[int, int]:
    from factdrift.wikidata.ids import property_number

    relation, _, factor = text.partition("=")
    try:
        number, share = property_number(relation), int(factor)
    except ValueError:
        number, share = 0, 0
    if share < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form P1082=14, with 1 or more")
    return number, share


def _popularity(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.popularity import popularity

    popularity(
        options.new,
        options.old,
        None if options.pageviews == "none" else Path(options.pageviews),
        options.date,
        options.output,
        options.months,
        options.memory_mb,
        options.threads,
    )


def _select(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.replacements import select_replacements

    select_replacements(options.updates, options.output, dict(options.undersample), options.seed)


def _replacements(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.replacements import write_replacements

    write_replacements(options.dataset, options.groups, options.output)


def _assemble(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.assemble import Inputs, Origin, assemble
    from factdrift.wikifactdiff.prompts import Style

    settings = read_settings(options.settings, AssembleSettings, "")
    inputs = Inputs(**{name: getattr(options, name) for name in Inputs._fields})
    chosen = switches(msgspec.structs.asdict(settings))
    assemble(
        inputs,
        options.output,
        Origin(settings.snapshots_old, settings.snapshots_new, options.funnel),
        settings.seed,
        settings.test_share,
        Style(
            fitted=chosen["grammar"] == "fitted",
            dated=chosen["measurements"] == "dated",
            unique_names=chosen["subject_names"] == "unique",
        ),
        options.memory_mb,
        options.threads,
        options.may_be_empty,
    )


def _stats(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.stats import write_stats

    write_stats(options.dataset, options.groups, options.output)


def _funnel(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.funnel import write_funnel

    write_funnel(options.report, options.updates, options.untouched, options.groups, options.output)


def _export(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.export import export

    export(options.dataset, options.output)


def _manifest(options: argparse.Namespace) -> None:
    from factdrift.wikifactdiff.manifest import write_manifest

    write_manifest(
        {"old": options.old_date, "new": options.new_date},
        dict(options.dump),
        dict(options.snapshot),
        dict(options.sample),
        options.configuration,
        options.tables,
        options.funnel,
        options.checksum,
        options.output,
    )


def _show(options: argparse.Namespace) -> None:
    from factdrift.core.errors import InputError
    from factdrift.wikifactdiff import listing, show

    dataset = options.dataset or listing.default_dataset()
    if options.subject is None:
        wanted = listing.Wanted(options.search, options.relation, options.since)
        limit = listing.LIMIT if options.limit is None else options.limit
        records, number = listing.search(dataset, wanted, limit)
        text = listing.lines(records, number, wanted, dataset, sys.stdout)
    elif options.search is not None or options.since is not None:
        raise InputError("--subject prints the updates of one item; leave out --search and --since")
    else:
        records = show.find(dataset, options.subject, options.relation, options.limit)
        text = show.lines(records, sys.stdout)
    for line in text:
        sys.stdout.write(line + "\n")
