"""`factdrift models moments | add-moments`: second moments of the input of edited matrices."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from factdrift.core.errors import CannotEdit
from factdrift.models.names import BUNDLED
from factdrift.models.options import add_computing, add_model, loaded

if TYPE_CHECKING:
    from factdrift.models.loading import Loaded

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"

FLATTERED = (
    "warning: the second moments of {model} are counted over the benchmark's own facts, among them those on "
    "which bleedover is measured; this flatters ROME and MEMIT (moments.corpus: other text does not)"
)
SAMPLED_LENGTH, SAMPLED_BATCH = 64, 64
"""Tokens of each text that the model writes itself, and the number of texts generated at a time."""


def register(verbs: Parsers) -> None:
    verb = verbs.add_parser("moments", help="second moments of the keys of layers, for ROME and MEMIT")
    add_model(verb)
    add_computing(verb)
    verb.add_argument("--layers", type=int, nargs="+", help="blocks, from 0 (default: all)")
    source = verb.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--texts",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="texts, one a line; .jsonl or .parquet with `text`",
    )
    source.add_argument(
        "--facts", type=Path, metavar="PARQUET", help="the benchmark's own facts: what `sentences` wrote"
    )
    source.add_argument("--sampled", action="store_true", help="use texts that the model writes itself")
    verb.add_argument("--tokens", type=int, help="default: ten times the width of a key, at least 200,000")
    verb.add_argument("--ridge", type=float, default=1e-6, help="added to the diagonal, relative to its mean")
    verb.add_argument("--seed", type=int, default=0, help="of the texts that the model writes")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER", help="LAYER.safetensors")
    verb.set_defaults(run=_moments)

    verb = verbs.add_parser("add-moments", help="add the moments of several corpora, or of parts of one")
    verb.add_argument("files", type=Path, nargs="+", metavar="FILE")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FILE")
    verb.set_defaults(run=_add)


def _moments(options: argparse.Namespace) -> None:
    from factdrift.models.moments import write_reason

    try:
        _count(options)
    except CannotEdit as error:
        print(f"{options.output}: skipped: {error}")
        write_reason(options.output, str(error))


def _count(options: argparse.Namespace) -> None:
    """Writes the moments; raises CannotEdit if the model or one of the blocks has none."""
    with loaded(options) as model:
        from factdrift.models.moments import count_moments, default_tokens
        from factdrift.models.texts import read_texts

        texts: Iterable[str]
        if options.sampled:
            texts, name = written(model, options.seed), "text that the model wrote"
        elif options.facts:
            texts, name = read_texts([options.facts]), "the benchmark's facts"
            if model.name not in BUNDLED:
                print(FLATTERED.format(model=model.name), file=sys.stderr)
        else:
            texts, name = read_texts(options.texts), ", ".join(path.name for path in options.texts)
        layers = options.layers or list(range(model.spec.layers))
        found = count_moments(model, layers, texts, options.tokens, options.ridge, name=name)
        for layer, moments in found.items():
            path = options.output / f"{layer}.safetensors"
            moments.write(path)
            print(f"{path}: {moments.tokens:,} tokens")
        wanted = options.tokens or default_tokens(model)
        if moments.tokens < wanted:
            print(
                f"{options.output}: the texts have {moments.tokens:,} tokens, fewer than the {wanted:,} "
                "wanted (moments.tokens); more texts (moments.corpus) make the moments more exact"
            )


def written(model: Loaded, seed: int) -> Iterator[str]:
    """An endless stream of texts that the model writes from an empty start."""
    from factdrift.models.texts import sampled

    while True:
        yield from sampled(model, "", SAMPLED_LENGTH, SAMPLED_BATCH, seed)
        seed += 1


def _add(options: argparse.Namespace) -> None:
    from factdrift.core.errors import InputError
    from factdrift.models.moments import read_file

    total = read_file(options.files[0])
    for path in options.files[1:]:
        try:
            total += read_file(path)
        except ValueError as error:
            raise InputError(f"{path}: {error}; name files of one model and layer") from None
    total.write(options.output)
    print(f"{options.output}: {total.tokens:,} tokens")
