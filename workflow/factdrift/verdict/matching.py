"""Exact match, as others score written answers: beside the verdict, to compare with their tables."""

from __future__ import annotations

import string
from collections.abc import Iterable

_UNMARKED = str.maketrans("", "", string.punctuation)


def exact_match(text: str, accepted: Iterable[str]) -> bool:
    """Whether the whole text is an accepted answer, but for case, ASCII punctuation and outer blanks.

    This is `exact_match` of lm-evaluation-harness with `ignore_case` and `ignore_punctuation`.
    """
    return _plain(text) in map(_plain, accepted)


def _plain(text: str) -> str:
    return text.strip().lower().translate(_UNMARKED)
