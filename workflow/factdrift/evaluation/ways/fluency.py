"""How varied a text is: the entropy of its n-grams (wikifactdiff.md section 10)."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from nltk.probability import FreqDist, MLEProbDist
from nltk.probability import entropy as entropy_of
from nltk.tokenize import RegexpTokenizer
from nltk.util import ngrams

WORDS = RegexpTokenizer(r"\w+|[^\w\s]")
"""Words, and punctuation marks one by one."""


class Fluency(NamedTuple):
    """The fluency of some texts, in bits."""

    halved: float
    """The mean of 2/3 H2 and 4/3 H3, as in the released code and the paper's 5.2."""
    full: float
    """Their sum, as the paper defines it."""


def words(text: str) -> list[str]:
    """The words and punctuation marks of a text."""
    found: list[str] = WORDS.tokenize(text)
    return found


def entropy(tokens: Sequence[str], n: int) -> float:
    """The entropy of the n-grams of a text in bits; 0 if they are all equal or there are none."""
    bits: float = entropy_of(MLEProbDist(FreqDist(ngrams(tokens, n))))
    return bits + 0.0


def fluency(texts: Sequence[str]) -> Fluency:
    """The mean over the texts; raises ValueError if there is none."""
    if not texts:
        raise ValueError("fluency of no text")
    full = fmean(2 / 3 * entropy(words(text), 2) + 4 / 3 * entropy(words(text), 3) for text in texts)
    return Fluency(full / 2, full)
