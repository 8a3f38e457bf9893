"""Matches of texts, as others score written answers: beside the verdict, to compare with their tables."""

from __future__ import annotations

import string
from collections.abc import Iterable

_UNMARKED = str.maketrans("", "", string.punctuation)


def exact_match(text: str, accepted: Iterable[str]) -> bool:
    """Whether the whole text is an accepted answer, but for case, ASCII punctuation and outer blanks.

    This is `exact_match` of lm-evaluation-harness with `ignore_case` and `ignore_punctuation`.
    """
    return _plain(text) in map(_plain, accepted)


def contains(text: str, accepted: Iterable[str]) -> bool:
    """Whether an accepted answer is anywhere in the text, also in a word or denied; case counts.

    This is `verify_answer` of EasyEdit (`easyeditor/evaluate/evaluate_utils.py`).
    """
    return any(answer in text for answer in accepted)


def _plain(text: str) -> str:
    return text.strip().lower().translate(_UNMARKED)
