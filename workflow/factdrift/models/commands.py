"""`factdrift models`: train the bundled models, count second moments. `edit` adds `describe`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TypeAlias

from factdrift.models import moment_commands

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(commands: Parsers) -> None:
    stage = commands.add_parser(
        "models", help="language models: descriptions, second moments, the bundled sample models"
    )
    verbs = stage.add_subparsers(dest="verb", required=True, metavar="VERB")

    sentences = verbs.add_parser("sentences", help="write the training sentences of the bundled models")
    sentences.add_argument("--dataset", type=Path, required=True, help="wfd_repl.parquet or one like it")
    sentences.add_argument("--templates", type=Path, required=True, help="with which it was made")
    sentences.add_argument("--wording", type=Path, required=True, help="config/models/sentences.yaml")
    sentences.add_argument(
        "--taught", type=Path, nargs="*", default=[], metavar="PARQUET", help="more facts to teach"
    )
    sentences.add_argument("-o", "--output", type=Path, required=True, metavar="PARQUET")
    sentences.set_defaults(run=_sentences)

    train = verbs.add_parser("train", help="train a bundled model and measure what it knows")
    train.add_argument("--sentences", type=Path, required=True, help="what `sentences` wrote")
    train.add_argument("--recipe", type=Path, required=True, help="config/models/sample-llama.yaml")
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    train.set_defaults(run=_train)
    moment_commands.register(verbs)


def _sentences(options: argparse.Namespace) -> None:
    from factdrift.models.bundled.corpus import read_wording, write_sentences

    wording = read_wording(options.wording)
    facts = write_sentences(options.dataset, options.templates, wording, options.output, options.taught)
    print(f"{options.output}: {facts:,} facts", file=sys.stderr)


def _train(options: argparse.Namespace) -> None:
    from factdrift.models.bundled.recipe import read_recipe
    from factdrift.models.bundled.train import train

    recipe = read_recipe(options.recipe)
    found = train(options.sentences, recipe, options.output, seed=options.seed)
    print(json.dumps(found, indent=2))
