"""`factdrift verbalize templates | literals | show`; the verbs for chat models are in `chat_commands`."""

from __future__ import annotations

import argparse
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.paths import TEMPLATES
from factdrift.verbalize import chat_commands


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    stage = commands.add_parser("verbalize", help="sentence templates for relations, literals in words")
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    verb = verbs.add_parser("templates", help="write templates.parquet for the relations of a build")
    _add_facts(verb)
    for side in ("new", "old"):
        verb.add_argument(
            f"--{side}", type=Path, required=True, metavar="PROPERTIES", help=f"properties of the {side} dump"
        )
    verb.add_argument(
        "--templates", type=Path, default=TEMPLATES, metavar="TSV", help=f"default: {TEMPLATES}"
    )
    verb.add_argument("--no-fallback", action="store_true", help="the candidates alone")
    verb.add_argument(
        "--candidates", type=Path, nargs="*", default=[], metavar="TABLE", help="from sentences or a file"
    )
    verb.add_argument("--source", choices=("chat", "file"), default="chat", help="of the candidates")
    verb.add_argument("--kept", type=int, default=5, help="templates a relation (default %(default)s)")
    _add_labels(verb)
    verb.set_defaults(run=_templates)

    verb = verbs.add_parser("literals", help="write literals.parquet for the literals of a build")
    _add_facts(verb)
    for side in ("new", "old"):
        verb.add_argument(
            f"--{side}",
            type=Path,
            nargs="*",
            default=[],
            metavar="ENTITIES",
            help=f"entities tables of the {side} dump (units)",
        )
    _add_labels(verb)
    verb.add_argument("--variant", choices=("paper", "reference", "revised"), default="paper")
    verb.set_defaults(run=_literals)

    verb = verbs.add_parser("show", help="print the sentences of a relation")
    verb.add_argument("property", metavar="PROPERTY", help="such as P6")
    verb.add_argument("--subject", required=True, help="the subject's name")
    verb.add_argument("--object", required=True, help="the object's name")
    verb.add_argument("--relation", metavar="LABEL", help="the relation's label, if it has no templates")
    verb.add_argument(
        "--templates", type=Path, default=TEMPLATES, metavar="TSV", help=f"default: {TEMPLATES}"
    )
    verb.set_defaults(run=_show)
    chat_commands.register(verbs)


def _add_facts(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--updates", type=Path, nargs="+", required=True, metavar="TABLE", help="all buckets")
    verb.add_argument(
        "--neighbors", type=Path, nargs="*", default=[], metavar="TABLE", help="nearest and random facts"
    )
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")


def _add_labels(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--labels", type=Path, nargs="*", default=[], metavar="TSV", help="id, label: of what the dumps lack"
    )


def _templates(options: argparse.Namespace) -> None:
    from factdrift.verbalize.templates import write_templates

    write_templates(
        options.updates,
        options.neighbors,
        [options.new, options.old],
        options.labels,
        None if options.no_fallback else options.templates,
        options.output,
        options.candidates,
        options.source,
        options.kept,
    )


def _literals(options: argparse.Namespace) -> None:
    from factdrift.verbalize.literals import write_literals

    write_literals(
        options.updates,
        options.neighbors,
        options.new,
        options.old,
        options.labels,
        options.variant,
        options.output,
    )


def _show(options: argparse.Namespace) -> None:
    from factdrift.verbalize.templates import read_templates
    from factdrift.wikidata.ids import property_number
    from factdrift.words.grammar import cloze, read_grammar
    from factdrift.words.names import read_names

    try:
        number = property_number(options.property)
    except ValueError as error:
        raise InputError(f"{error}; write the relation's id") from None
    templates = read_templates(options.templates)
    if number not in templates.bundled and not options.relation:
        raise InputError(
            f"{options.templates}: no templates for {options.property};"
            " give --relation LABEL to see the generic ones"
        )
    sentences, source = templates.of(number, options.relation or "")
    print(f"{options.property} {templates.labels.get(number, options.relation)} ({source})")
    names, grammar = read_names(), read_grammar()
    usage, article = names.usage(options.subject), names.usage(options.object).article
    for rank, sentence in enumerate(sentences, start=1):
        print(f"{rank}. {cloze(sentence, options.subject, usage, grammar, article, options.object)}.")
