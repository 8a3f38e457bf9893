"""Reference locators to compare with: constant, mostly constant, random, oracle, lexical."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factdrift.klob.scoring.examples import Examples
from factdrift.klob.scoring.locator import Scores
from factdrift.klob.scoring.selection import Selection

REFERENCES = ("constant", "mostly_constant", "random", "oracle")
"""The locators that score any number of units; the lexical one is `word_sets`."""

SAME = 0.9
"""The probability with which the mostly constant locator has the same scores for a sentence."""


def reference(
    kind: str, examples: Sequence[Examples], units: int, seed: int = 0, like: Scores | None = None
) -> Scores:
    """The scores of a reference locator for all sentences of some subtasks, [sentences x units].

    `constant`: 1 for every unit. `mostly_constant`: the same scores with the probability SAME, whatever the
    sentence says, else random ones: a locator that mostly names one unit. `random`: uniform, drawn for each
    sentence. `oracle`: uniform, drawn for each fact, so that all wordings of a fact and the chains that begin
    with it have equal scores. `like`: the method whose model and granularity the scores name.
    """
    facts: dict[str, str] = {}
    for part in examples:
        for place, sentence in enumerate(part.sentences):
            # A sentence of KLoB-u states no fact, so it is its own key.
            fact = f"fact {part.fact[place]} of {part.subtask}" if part.subtask != "u" else sentence
            facts[sentence] = fact
    sentences = list(facts)
    keys = list(facts.values()) if kind == "oracle" else sentences
    if kind == "mostly_constant":
        keys = ["the same" if _number(f"{seed}:same:{name}") / 2**64 < SAME else name for name in sentences]
    dense = _Drawn(keys, units, seed, constant=kind == "constant")
    model, revision, granularity = (
        (like.model, like.revision, like.granularity) if like else ("", "", "neuron")
    )
    return Scores(kind, model, revision, granularity, units, "as_given", sentences, dense=dense)


def _number(key: str) -> int:
    """A number below 2**64 that depends on the key alone."""
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8])


class _Drawn:
    """Scores [sentences x units] that are drawn when they are read; sentences with equal keys are equal."""

    def __init__(self, keys: Sequence[str], units: int, seed: int, constant: bool):
        self.keys, self.seed, self.constant = keys, seed, constant
        self.shape = (len(keys), units)

    def __getitem__(self, rows: Any) -> NDArray[np.float32]:
        chosen = np.arange(len(self.keys))[rows]
        scores = np.ones((len(chosen), self.shape[1]), np.float32)
        if not self.constant:
            for place, row in enumerate(chosen):
                dice = np.random.default_rng(_number(f"{self.seed}:{self.keys[row]}"))
                scores[place] = dice.random(self.shape[1], np.float32)
        return scores


def word_sets(examples: Examples) -> Selection:
    """The lexical locator's results: the units are a subtask's words, and each sentence has its own words.

    K is the sentence's number of different words n and not a percentage of the vocabulary, of which a
    sentence has far fewer words than 1 %. Each of its words has the weight 1 / sqrt(n), so that the overlap
    of two results is (common words) / sqrt(n1 n2), which is Sim where both have K words. Case is ignored.
    """
    places: dict[str, int] = {}
    rows = [
        sorted({places.setdefault(word, len(places)) for word in re.findall(r"\w+", text.casefold())})
        for text in examples.texts
    ]
    sizes = np.array([len(row) for row in rows], np.int64)
    zeros = np.zeros(len(rows))
    return Selection(
        chosen=1,
        units=max(1, len(places)),
        tie_share=zeros,
        background=zeros,
        mass=np.sqrt(sizes),
        indptr=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        indices=np.array([place for row in rows for place in row], np.int32),
        weights=np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes),
    )
