"""`factdrift verbalize sample | requests | sentences | count | published`: sentences from a chat model."""

from __future__ import annotations

import argparse
from pathlib import Path

from factdrift.chat.settings import Chat
from factdrift.core.paths import PROMPTS
from factdrift.core.stage_settings import add_settings, read_settings
from factdrift.verbalize.settings import PART, Quality, SampleSettings


def register(verbs: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = verbs.add_parser("sample", help="draw the triples that are put into sentences")
    for option, help in (
        ("--filtered", "the old dump's filtered statements, all buckets"),
        ("--entities", "the old dump's items, all buckets"),
    ):
        verb.add_argument(option, type=Path, nargs="+", required=True, metavar="TABLE", help=help)
    for option, help in (
        ("--properties", "of the old dump"),
        ("--classes", "of the old dump"),
        ("--popularity", "as of the old dump"),
    ):
        verb.add_argument(option, type=Path, required=True, metavar="TABLE", help=help)
    verb.add_argument(
        "--translations", type=Path, nargs="*", default=[], metavar="TABLE", help="labels in other languages"
    )
    verb.add_argument(
        "--labels", type=Path, nargs="*", default=[], metavar="TSV", help="id, label: of what the dump lacks"
    )
    verb.add_argument("--memory-mb", type=int, default=3000, help="for the tables (default %(default)s)")
    verb.add_argument("--threads", type=int, default=1)
    _add_prompts_and_output(verb)
    add_settings(verb, SampleSettings, PART)
    verb.set_defaults(run=_sample)

    verb = verbs.add_parser("requests", help="what the chat model is asked about each triple")
    verb.add_argument("--sample", type=Path, required=True, metavar="TABLE")
    _add_number(verb)
    _add_prompts_and_output(verb)
    add_settings(verb, Chat, "chat")
    verb.set_defaults(run=_requests)

    verb = verbs.add_parser("sentences", help="read and filter the answers")
    verb.add_argument("--sample", type=Path, required=True, metavar="TABLE")
    verb.add_argument("--answers", type=Path, required=True, metavar="TABLE")
    _add_number(verb)
    verb.add_argument("--report", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--text", type=Path, required=True, metavar="TXT", help="the report for reading")
    _add_prompts_and_output(verb)
    verb.set_defaults(run=_sentences)

    verb = verbs.add_parser("count", help="count the templates of the kept sentences")
    verb.add_argument("--verbalizations", type=Path, required=True, metavar="TABLE")
    verb.add_argument("--sample", type=Path, required=True, metavar="TABLE")
    verb.add_argument("--language", default="en", metavar="CODE")
    add_settings(verb, Quality, PART)
    _add_prompts_and_output(verb)
    verb.set_defaults(run=_count)

    verb = verbs.add_parser("published", help="read templates that others have published")
    verb.add_argument("file", type=Path, help="best_templates.json, triple_verbs, or a templates.parquet")
    add_settings(verb, Quality, PART)
    _add_prompts_and_output(verb)
    verb.set_defaults(run=_published)


def _add_prompts_and_output(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--prompts", type=Path, default=PROMPTS, metavar="FOLDER", help=f"default: {PROMPTS}")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")


def _add_number(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--number", type=int, default=10, help="of sentences a triple (default %(default)s)")


def _sample(options: argparse.Namespace) -> None:
    from factdrift.verbalize.language import read_language
    from factdrift.verbalize.sample import Inputs, draw

    settings = read_settings(options.settings, SampleSettings, PART)
    for code in settings.languages:
        read_language(options.prompts, code)
    rows = draw(
        Inputs(
            options.filtered,
            options.entities,
            options.properties,
            options.classes,
            options.popularity,
            options.translations,
            options.labels,
        ),
        settings.languages,
        options.output,
        settings.entities,
        settings.triples,
        settings.seed,
        options.memory_mb,
        options.threads,
    )
    print(f"{rows:,} triples to put into sentences")


def _requests(options: argparse.Namespace) -> None:
    from factdrift.chat.settings import chat_settings
    from factdrift.verbalize.requests import write_requests

    chat = chat_settings(options.settings)
    rows = write_requests(options.sample, options.prompts, chat, options.output, options.number)
    print(f"{rows:,} requests")


def _sentences(options: argparse.Namespace) -> None:
    from factdrift.verbalize.sentences import write_sentences

    totals = write_sentences(
        options.sample,
        options.answers,
        options.prompts,
        options.output,
        options.report,
        options.text,
        options.number,
    )
    print(f"{totals.pop('kept'):,} of {totals.pop('asked'):,} sentences kept ({options.text})")
    for step, number in totals.items():
        if number:
            print(f"{number:,} dropped: {step}")


def _count(options: argparse.Namespace) -> None:
    from factdrift.verbalize.candidates import write_candidates

    rows = write_candidates(
        options.verbalizations,
        options.sample,
        options.prompts,
        options.language,
        read_settings(options.settings, Quality, PART),
        options.output,
    )
    print(f"{rows:,} different templates")


def _published(options: argparse.Namespace) -> None:
    from factdrift.verbalize.published import write_published

    dropped = write_published(
        options.file, options.prompts, read_settings(options.settings, Quality, PART), options.output
    )
    for reason, number in dropped.items():
        print(f"{number:,} not used: {reason}")
