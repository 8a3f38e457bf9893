"""`factdrift klob import | export | templates`: the published files, and the checks of templates."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.core.errors import InputError
from factdrift.core.paths import KLOB_TEMPLATES
from factdrift.klob.options import add_tables, method_of

if TYPE_CHECKING:
    from factdrift.klob.commands import Parsers


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("import", help="the published files (KLoB-c.jsonl, ...) as tables")
    verb.add_argument("folder", type=Path, metavar="DIR")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    verb.set_defaults(run=_import)

    verb = verbs.add_parser("export", help="a subtask in the published layout")
    verb.add_argument("dataset", type=Path, metavar="klob_c.parquet")
    verb.add_argument("--ascii", action="store_true", help="escape what is not ASCII (default: as imported)")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="JSONL")
    verb.set_defaults(run=_export)

    verb = verbs.add_parser("templates", help="check a table of templates, the project's own or a user's")
    add_tables(verb)
    verb.add_argument("table", type=Path, nargs="?", default=KLOB_TEMPLATES, metavar="TABLE")
    verb.add_argument("--words", default="web2", help="web2, nltk, or a path")
    verb.add_argument("--report", type=Path, metavar="FILE", help="write the findings here, and do not fail")
    verb.set_defaults(run=_templates)


def _import(options: argparse.Namespace) -> None:
    from factdrift.klob.published import import_published

    for subtask, rows in import_published(options.folder, options.output).items():
        print(f"{rows:,} examples of KLoB-{subtask}")


def _export(options: argparse.Namespace) -> None:
    from factdrift.klob.published import escapes, export

    rows = export(options.dataset, options.output, options.ascii or escapes(options.dataset))
    print(f"{rows:,} lines")


def _templates(options: argparse.Namespace) -> None:
    from factdrift.klob.template_checks import check_templates, read_golden, read_word_lists
    from factdrift.klob.templates import read_templates
    from factdrift.klob.word_lists import read_words

    method = method_of(options)
    own = read_templates(options.resources / KLOB_TEMPLATES.name, method.relations)
    table = read_templates(options.table, method.relations)
    findings = check_templates(
        table.all(),
        own.all(),
        method.relations,
        {word.lower() for word in read_words(options.words, options.resources / "word_lists.tsv").entries},
        read_word_lists(options.resources / "template_words.tsv"),
        read_golden(options.resources / "golden.tsv") if table.sha256 == own.sha256 else {},
    )
    errors = sum(finding.error for finding in findings)
    lines = [
        *map(str, findings),
        f"{len(table.all())} templates, {errors} defects, {len(findings) - errors} warnings",
    ]
    print(*lines, sep="\n")
    if options.report:
        options.report.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    elif errors:
        raise InputError(
            f"{options.table}: {errors} defects; fix them, or write them to a file with --report"
        )
