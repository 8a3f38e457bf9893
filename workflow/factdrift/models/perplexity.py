"""Perplexity of a model, edited or not, on a fixed text. Imports torch."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from factdrift.models.alignment import Sentence
from factdrift.models.deltas import Deltas
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import BUDGET, score

VALUES = 2**28
"""Logits at a time, 1 GB in float32: of such a text all are needed, of a probe only those of its target."""


def pieces(tokenizer: Any, texts: Iterable[str], tokens: int, length: int) -> list[tuple[int, ...]]:
    """Texts as token ids, cut into pieces of at most `length`, until `tokens` of them are predicted.

    The first token of each piece is context only, so a piece of n tokens has n - 1 that are predicted; the
    last piece is cut. Fewer pieces if the texts end before.
    """
    found: list[tuple[int, ...]] = []
    left = tokens
    for text in texts:
        ids = tokenizer(text, verbose=False)["input_ids"]
        for start in range(0, len(ids), length):
            piece = tuple(ids[start : start + min(length, left + 1)])
            if len(piece) > 1:
                found.append(piece)
                left -= len(piece) - 1
            if not left:
                return found
    return found


def perplexity(
    loaded: Loaded,
    rows: Sequence[Sequence[int]],
    deltas: Deltas | None = None,
    owner: int = -1,
    budget: int = BUDGET,
) -> float:
    """exp(-sum of log p(token | tokens before it in its piece) / number of predicted tokens) over all pieces.

    Every token has the same weight, whatever piece it is in. `rows`: what `pieces` returned. `owner`: the
    edit of `deltas` that is in place in all pieces; -1 for the unedited model. Infinite if the output of the
    model is not finite, or the number too large for a float.
    """
    sentences = [Sentence(tuple(row), None, 1) for row in rows]
    most = min(budget, max(VALUES // loaded.spec.vocabulary, 1))
    scores = score(loaded, sentences, deltas, [owner] * len(sentences), most)
    surprise = -math.fsum(scores.logprob * scores.tokens) / int(scores.tokens.sum())
    try:
        return math.exp(surprise) if math.isfinite(surprise) else math.inf
    except OverflowError:
        return math.inf
