"""`factdrift klob recall | examples | subtask`: which candidates a model knows, and the examples."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.klob.options import (
    add_choice,
    add_klob_settings,
    add_memory,
    add_snapshot,
    add_tables,
    choice_of,
    inputs_of,
    settings_of,
    wording_of,
)

if TYPE_CHECKING:
    from factdrift.klob.commands import Parsers


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("recall", help="which candidates a language model knows")
    add_tables(verb)
    add_snapshot(verb)
    add_choice(verb)
    verb.add_argument(
        "--models", type=Path, default=Path("results/models"), metavar="FOLDER", help="the bundled models"
    )
    add_klob_settings(verb)
    verb.add_argument("--out-recall", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-passes", type=Path, required=True, metavar="PARQUET")
    add_memory(verb, 4000)
    verb.set_defaults(run=_recall)

    verb = verbs.add_parser("examples", help="klob_examples, klob_sentences and klob_meta.json")
    add_tables(verb)
    add_snapshot(verb)
    add_choice(verb)
    verb.add_argument("--passes", type=Path, help="what `recall` wrote, if it ran")
    verb.add_argument("--snapshot", type=Path, required=True, metavar="JSON", help="snapshot.json")
    add_klob_settings(verb)
    verb.add_argument("--out-examples", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-sentences", type=Path, required=True, metavar="PARQUET")
    verb.add_argument("--out-meta", type=Path, required=True, metavar="JSON")
    add_memory(verb, 5000)
    verb.set_defaults(run=_examples)

    verb = verbs.add_parser("subtask", help="klob_c, klob_r or klob_u: examples with their sentences")
    verb.add_argument("--examples", type=Path, required=True)
    verb.add_argument("--sentences", type=Path, required=True)
    verb.add_argument("--subtask", choices=("c", "r", "u"), required=True)
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    verb.set_defaults(run=_subtask)


def _recall(options: argparse.Namespace) -> None:
    from factdrift.klob.recall import read_demonstrations, write_recall
    from factdrift.klob.settings import recall_model

    settings = settings_of(options)
    name, revision, dtype = recall_model(settings)
    demonstrations = read_demonstrations(Path(settings.demos) if settings.demos else None)
    wording = wording_of(options, settings)
    candidates, choice = choice_of(options, settings, wording)

    import torch

    from factdrift.klob.completions import CausalModel
    from factdrift.models.devices import held
    from factdrift.models.loading import load

    torch.set_num_threads(options.threads)
    with held(settings.device) as device:
        loaded = load(name, revision=revision, device=device, dtype=dtype, folder=options.models)
        write_recall(
            inputs_of(options),
            candidates,
            wording,
            choice,
            settings.need,
            demonstrations,
            CausalModel(loaded, settings.budget),
            options.out_recall,
            options.out_passes,
            options.memory_mb,
            options.threads,
        )


def _examples(options: argparse.Namespace) -> None:
    from msgspec import to_builtins

    from factdrift.klob.build import build
    from factdrift.klob.word_lists import read_words

    settings = settings_of(options)
    wording = wording_of(options, settings)
    words = read_words(settings.words, options.resources / "word_lists.tsv", settings.words_sha256)
    candidates, choice = choice_of(options, settings, wording, options.passes)
    dump = json.loads(options.snapshot.read_text(encoding="utf-8"))
    origin = {
        "snapshot": {
            "id": options.date,
            "date": options.date,
            "dump": dump.get("dump"),
            "scope": dump.get("scope"),
        },
        "seed": settings.seed,
        "configuration": to_builtins(settings),
        "words": {
            "name": words.name,
            "entries": len(words.entries),
            "sha256": words.sha256,
            "source": words.source,
        },
        "templates": {"table": options.templates.name, "sha256": wording.templates.sha256},
    }
    build(
        inputs_of(options),
        candidates,
        wording,
        words,
        choice,
        origin,
        options.out_examples,
        options.out_sentences,
        options.out_meta,
        options.memory_mb,
        options.threads,
    )


def _subtask(options: argparse.Namespace) -> None:
    from factdrift.klob.build import write_subtask

    rows = write_subtask(options.examples, options.sentences, options.subtask, options.output)
    print(f"{rows:,} examples of KLoB-{options.subtask}")
