"""`factdrift updates ...`: from the tables of two snapshots to labelled updates."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from factdrift.core.stage_settings import add_settings
from factdrift.updates.method import PART, MethodSettings


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stage = commands.add_parser("updates", help="difference two snapshots and label what changed")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    verb = _verb(
        verbs, "context", _context, "which items are relevant, which relations functional or restrictive"
    )
    verb.add_argument("--entities", type=Path, nargs="+", required=True)
    verb.add_argument("--other-entities", type=Path, nargs="+", required=True)
    verb.add_argument("--classes", type=Path, required=True)
    verb.add_argument("--other-classes", type=Path, required=True)
    verb.add_argument("--properties", type=Path, required=True)
    verb.add_argument("--new-properties", type=Path, required=True)
    verb.add_argument(
        "--snapshots",
        type=Path,
        nargs="*",
        default=[],
        metavar="JSON",
        help="snapshot.json of the old and of the new dump: refused if they are one file, or swapped",
    )
    verb.add_argument("--relevant", type=Path, required=True, help="output: ids of the relevant items")
    verb.add_argument("--relations", type=Path, required=True, help="output: one row a property")

    verb = _verb(verbs, "preprocess", _preprocess, "name the filter that drops each statement of a bucket")
    verb.add_argument("--statements", type=Path, required=True)
    verb.add_argument("--relevant", type=Path, required=True)
    verb.add_argument("--relations", type=Path, required=True)
    verb.add_argument("--dump-is", choices=("old", "new"), required=True)
    verb.add_argument("-o", "--output", type=Path, required=True, help="all statements")
    verb.add_argument("--kept", type=Path, required=True, help="output: those that no filter drops, packed")

    verb = _verb(verbs, "report", _report, "count what each filter dropped, per property", settings=False)
    verb.add_argument("--old", type=Path, nargs="+", required=True)
    verb.add_argument("--new", type=Path, nargs="+", required=True)
    verb.add_argument("-o", "--output", type=Path, required=True)

    verb = _verb(verbs, "difference", _difference, "match the old and the new statements of a bucket")
    _dumps(verb)
    verb.add_argument("-o", "--output", type=Path, required=True)

    verb = _verb(verbs, "new-entities", _new_entities, "find the new entities of a bucket")
    verb.add_argument("--statements", type=Path, required=True, help="of the new snapshot")
    verb.add_argument("--triples", type=Path, required=True)
    verb.add_argument("--old-entities", type=Path, required=True)
    verb.add_argument("-o", "--output", type=Path, required=True)

    verb = _verb(verbs, "classify", _classify, "label the triples of a bucket and settle its groups")
    verb.add_argument("--triples", type=Path, required=True)
    _dumps(verb)
    verb.add_argument("--relations", type=Path, required=True, help="of the new dump")
    verb.add_argument("--new-entities", type=Path, nargs="+", required=True)
    verb.add_argument("--old-entities", type=Path, nargs="+", required=True)
    verb.add_argument("--entities", type=Path, nargs="+", required=True)
    verb.add_argument("--properties", type=Path, nargs=2, required=True, metavar=("NEW", "OLD"))
    verb.add_argument("--labels", type=Path, nargs="*", default=[])
    verb.add_argument("--rules", type=Path, required=True)
    verb.add_argument("--only-relations", nargs="*", default=[], metavar="P")
    verb.add_argument("--only-subjects", type=Path)
    verb.add_argument("--only-classes", nargs="*", default=[], metavar="Q")
    verb.add_argument("--classes", type=Path, nargs="*", default=[], help="of both dumps; for --only-classes")
    verb.add_argument("-o", "--output", type=Path, required=True, help="the triples of open groups")
    verb.add_argument("--untouched", type=Path, required=True, help="output: counts of the others")


def _dumps(verb: argparse.ArgumentParser) -> None:
    for which in ("old", "new"):
        verb.add_argument(
            f"--{which}",
            type=Path,
            nargs=2,
            required=True,
            metavar=("FILTERED", "KEPT"),
            help=f"the two tables that `preprocess` made of the {which} dump",
        )


def _verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: object,
    help_: str,
    settings: bool = True,
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(name, help=help_, description=help_)
    verb.set_defaults(run=run)
    if settings:
        add_settings(verb, MethodSettings, PART)
    return verb


def _context(options: argparse.Namespace) -> None:
    from factdrift.updates.dumps import check_dumps
    from factdrift.updates.filters import context
    from factdrift.updates.method import read_method
    from factdrift.wikidata.time import unpack

    method = read_method(options.settings)
    if options.snapshots:
        dates = ("{:04}-{:02}-{:02}".format(*unpack(day)) for day in (method.t_old, method.t_new))
        for warning in check_dumps(*options.snapshots, *dates):
            print(f"factdrift: warning: {warning}", file=sys.stderr, flush=True)
    context(
        entities=options.entities,
        other_entities=options.other_entities,
        classes=options.classes,
        other_classes=options.other_classes,
        properties=options.properties,
        constraints=options.new_properties if method.variant == "reference" else options.properties,
        method=method,
        relevant=options.relevant,
        relations=options.relations,
    )


def _preprocess(options: argparse.Namespace) -> None:
    from factdrift.updates.filters import preprocess
    from factdrift.updates.kept import Dump
    from factdrift.updates.method import read_method

    method = read_method(options.settings)
    cap = method.t_old if options.dump_is == "old" else method.t_new
    output = Dump(options.output, options.kept)
    rows = preprocess(options.statements, options.relevant, options.relations, cap, method, output)
    print(f"{rows:,} statements of the {options.dump_is} dump filtered")


def _report(options: argparse.Namespace) -> None:
    from factdrift.updates.filters import report

    report(options.old, options.new, options.output)


def _difference(options: argparse.Namespace) -> None:
    from factdrift.updates.difference import difference
    from factdrift.updates.kept import Dump
    from factdrift.updates.method import read_method

    rows = difference(Dump(*options.old), Dump(*options.new), read_method(options.settings), options.output)
    print(f"{rows:,} triples in either dump")


def _new_entities(options: argparse.Namespace) -> None:
    from factdrift.updates.method import read_method
    from factdrift.updates.new_entities import new_entities

    method = read_method(options.settings)
    rows = new_entities(options.statements, options.triples, options.old_entities, method, options.output)
    print(f"{rows:,} new entities")


def _classify(options: argparse.Namespace) -> None:
    from factdrift.core.errors import InputError
    from factdrift.updates.classify import classify
    from factdrift.updates.kept import Dump
    from factdrift.updates.method import read_method
    from factdrift.updates.only import OnlyClasses, item_of
    from factdrift.wikidata.ids import property_number

    try:
        relations = [property_number(name) for name in options.only_relations]
    except ValueError as error:
        raise InputError(f"only.relations: {error}") from error
    if options.only_classes and not options.classes:
        raise InputError("--only-classes needs --classes, the tables of both snapshots")
    wanted = [item_of(name) for name in options.only_classes]
    kinds = OnlyClasses(wanted, options.classes, [*options.entities, *options.old_entities])
    kept = classify(
        triples=options.triples,
        old=Dump(*options.old),
        new=Dump(*options.new),
        relations=options.relations,
        new_entities=options.new_entities,
        old_entities=options.old_entities,
        entities=options.entities,
        properties=options.properties,
        labels=options.labels,
        rules=options.rules,
        only_relations=relations,
        only_subjects=options.only_subjects,
        method=read_method(options.settings),
        output=options.output,
        untouched=options.untouched,
        only_classes=kinds if wanted else None,
    )
    print(f"{kept:,} triples reach the dataset")
