"""Texts of a dump without what would move a cursor or begin a line: anybody can write them."""

from __future__ import annotations

import re

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters (tab, line feed and escape among them), line and paragraph separators, and the marks
that override the direction of text."""


def printable(text: str) -> str:
    """The text with a blank in the place of each control character, so that it stays on its line."""
    return _CONTROL.sub(" ", text)


def one_line(text: str) -> str:
    """The text with single blanks in the place of control characters; any other text is returned as it is."""
    return " ".join(printable(text).split()) if _CONTROL.search(text) else text
