"""Matches of answers, as others score written ones: beside the verdict, to compare with their tables."""

from __future__ import annotations

import string
from collections.abc import Iterable

from factdrift.words.reasoning import answer_of

_UNMARKED = str.maketrans("", "", string.punctuation)


def exact_match(text: str, accepted: Iterable[str]) -> bool:
    """Whether the whole answer is an accepted one, but for case, ASCII punctuation and outer blanks.

    This is `exact_match` of lm-evaluation-harness with `ignore_case` and `ignore_punctuation`.
    """
    return _plain(answer_of(text)) in map(_plain, accepted)


def contains(text: str, accepted: Iterable[str]) -> bool:
    """Whether an accepted answer is anywhere in the answer, also in a word or denied; case counts.

    This is `verify_answer` of EasyEdit (`easyeditor/evaluate/evaluate_utils.py`).
    """
    text = answer_of(text)
    return any(answer in text for answer in accepted)


def _plain(text: str) -> str:
    return text.strip().lower().translate(_UNMARKED)
