"""Options that several of KLoB's commands have, and what they name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.core.paths import KLOB, KLOB_TEMPLATES, NOUN_PHRASES
from factdrift.core.stage_settings import add_settings, read_settings
from factdrift.klob.settings import Settings

if TYPE_CHECKING:
    from factdrift.klob.build import Candidates, Choice
    from factdrift.klob.candidates import Inputs
    from factdrift.klob.relations import Method
    from factdrift.klob.sentences import Wording


def add_tables(verb: argparse.ArgumentParser) -> None:
    """The project's own tables, for which others can be given."""
    verb.add_argument("--resources", type=Path, default=KLOB, metavar="FOLDER", help="relations and words")
    verb.add_argument("--phrases", type=Path, default=NOUN_PHRASES, metavar="TSV", help="noun phrases")


def add_klob_settings(verb: argparse.ArgumentParser) -> None:
    """`--settings`, of which each command reads the keys that it needs."""
    add_settings(verb, Settings, "klob")


def settings_of(options: argparse.Namespace) -> Settings:
    """The settings that a command was given."""
    return read_settings(options.settings, Settings, "klob")


def add_snapshot(verb: argparse.ArgumentParser) -> None:
    """The tables of one snapshot."""
    verb.add_argument("--facts", type=Path, nargs="+", required=True, help="tables that `facts` wrote")
    verb.add_argument(
        "--entities", type=Path, nargs="+", required=True, help="tables of the snapshot's items"
    )
    verb.add_argument("--classes", type=Path, required=True, help="the snapshot's classes")
    verb.add_argument("--properties", type=Path, required=True, help="the snapshot's properties")
    verb.add_argument(
        "--labels", type=Path, nargs="*", default=[], help="tables `id label` of entities that it lacks"
    )


def add_choice(verb: argparse.ArgumentParser) -> None:
    """What examples are chosen from and worded with."""
    verb.add_argument("--candidates", type=Path, required=True, help="facts that `candidates` wrote")
    verb.add_argument("--chains", type=Path, required=True, help="chains that `candidates` or `mquake` wrote")
    verb.add_argument("--templates", type=Path, default=KLOB_TEMPLATES, metavar="TABLE")
    verb.add_argument("--date", required=True, help="the snapshot's date")


def add_memory(verb: argparse.ArgumentParser, default: int) -> None:
    """What a command may use of the machine."""
    verb.add_argument(
        "--memory-mb", type=int, default=default, help="memory for the tables (default %(default)s)"
    )
    verb.add_argument("--threads", type=int, default=1, help="CPU threads (default %(default)s)")


def method_of(options: argparse.Namespace) -> Method:
    """The tables that `add_tables` names."""
    from factdrift.klob.relations import read_method

    return read_method(options.resources, options.phrases)


def inputs_of(options: argparse.Namespace) -> Inputs:
    """The tables that `add_snapshot` names."""
    from factdrift.klob.candidates import Inputs

    return Inputs(options.facts, options.entities, options.classes, options.labels)


def wording_of(options: argparse.Namespace, settings: Settings) -> Wording:
    """The templates, noun phrases and labels of relations."""
    from factdrift.klob.relations import check_properties
    from factdrift.klob.sentences import Wording
    from factdrift.klob.template_checks import read_word_lists
    from factdrift.klob.templates import read_templates
    from factdrift.words.names import read_names

    method = method_of(options)
    labels = check_properties(options.properties, method, settings.slice)
    stop = read_word_lists(options.resources / "template_words.tsv").stop
    templates = read_templates(options.templates, method.relations)
    # A user's table is filled in byte for byte.
    used = read_names() if templates.are_own and settings.grammar != "plain" else None
    return Wording(templates, method, labels, stop, used)


def choice_of(
    options: argparse.Namespace, settings: Settings, wording: Wording, passes: Path | None = None
) -> tuple[Candidates, Choice]:
    """Where examples come from and how many there are; `passes`: what the recall filter wrote."""
    from factdrift.klob.build import Candidates, Choice
    from factdrift.klob.relations import quotas

    worded = wording.templates.of
    candidates = Candidates(options.candidates, options.chains, passes, settings.source)
    choice = Choice(
        quotas={
            relation: quota
            for relation, quota in quotas(wording.method, settings.c_quota).items()
            if relation in worded
        },
        chain_quota=settings.r_quota,
        max_pair_share=settings.max_pair_share if settings.source == "snapshot" else 1,
        max_answer_share=settings.answer_share,
        chain_text=settings.chain_text,
        random_size=None if settings.size == "per_sentence" else settings.size,
        seed=settings.seed,
        snapshot=options.date,
    )
    return candidates, choice
