"""Texts of a dump without what would move a cursor or begin a line: anybody can write them."""

import re
import unicodedata

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters (tab, line feed and escape among them), line and paragraph separators, and the marks
that override the direction of text."""

_HIDDEN = re.compile(
    "[\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b\\u200e\\u200f\\u2060-\\u2064\\u206a-\\u206f"
    "\\u3164\\ufeff\\uffa0\\ufff9-\\ufffb\\U000e0000-\\U000e0fff]"
)
"""What has no shape of its own: marks of direction, fillers, tags and further variation selectors, which can
hide words from a reader. Joiners are left, since scripts and emoji need them."""

_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def printable(text: str) -> str:
    """The text for people: a blank in the place of each control character, so that it stays on its line, and
    nothing in the place of characters that are not seen."""
    return _HIDDEN.sub("", _CONTROL.sub(" ", text))


def one_line(text: str) -> str:
    """The text with single blanks in the place of control characters; any other text is returned as it is."""
    return " ".join(_CONTROL.sub(" ", text).split()) if _CONTROL.search(text) else text


def sheet_cell(text: str) -> str:
    """The text as a cell of a CSV file that no spreadsheet takes for a formula.

    An apostrophe is put before `=`, `+`, `-`, `@`, a tab or a carriage return at the beginning, also after
    apostrophes, so that it can be taken away again; a plain number is left as it is.
    """
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def folded(text: str) -> str:
    """A label without case and accents, as searches compare it."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in plain if not unicodedata.combining(char))
