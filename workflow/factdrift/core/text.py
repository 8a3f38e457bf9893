"""Texts as this project keeps and shows them: anybody can write a label, and what is not seen says nothing.

`clean` is the entrance: every text of a dump, of the API or of a user's table goes through it once.
`printable` guards terminals and pages against texts that have not come in that way.
"""

import re
import unicodedata

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
"""Control characters (tab, line feed and escape among them), line and paragraph separators."""

_UNSEEN = re.compile(
    "[\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e\\u200b\\u200e\\u200f\\u202a-\\u202e"
    "\\u2060-\\u206f\\u3164\\ufeff\\uffa0\\ufff0-\\ufffb\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a]"
)
"""Characters without a shape of their own, which no script needs: marks of direction, soft hyphens,
fillers, the byte order mark."""

_SCRIPTS = "\\u0590-\\u1cff\\ua800-\\uabff\\U00010a00-\\U00011fff"
_VIRAMAS = "\\u094d\\u09cd\\u0a4d\\u0acd\\u0b4d\\u0bcd\\u0c4d\\u0ccd\\u0d4d\\u0dca"
_EMOJI = "\\u00a9\\u00ae\\u203c\\u2049\\u2100-\\u2bff\\u3030\\u303d\\u3297\\u3299\\U0001f000-\\U0001fbff"
_SHAPING = re.compile(
    f"(?:(?<=[{_SCRIPTS}{_EMOJI}])|(?<=[{_EMOJI}]\\ufe0f))"
    "([\\u200c\\u200d])[\\u200c\\u200d]*(?=[^\\s\\u200c\\u200d])"
    f"|(?<=[{_VIRAMAS}])(\\u200d)[\\u200c\\u200d]*"
    f"|(?<=[{_EMOJI}])([\\ufe0e\\ufe0f])|(?<=[#*0-9])(\\ufe0f)(?=\\u20e3)"
    "|(\\U0001f3f4[\\U000e0020-\\U000e007f]+)|(?<=[\\u1820-\\u18aa])([\\u180b-\\u180d\\u180f])"
    "|[\\u180b-\\u180d\\u180f\\u200c\\u200d\\ufe00-\\ufe0f\\U000e0000-\\U000e0fff]"
)
"""Characters that shape their neighbours. A group is what stays: joiners inside a text of a script that joins
letters (Persian, the Indic ones) or between emoji, a joiner after a virama, selectors of emoji and keycaps,
the tags of flags, Mongolian selectors."""

_PLAIN = re.compile(r"[!-~]+(?: [!-~]+)*")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


def clean(text: str) -> str:
    """The text in normal form C, without characters that nobody sees and without blanks around it.

    Single blanks replace white space if there is a control character; equal results look alike. Joiners,
    selectors and tags stay where a script or an emoji needs them. Cleaning twice changes nothing more.
    """
    if _PLAIN.fullmatch(text):
        return text
    if _CONTROL.search(text):
        text = " ".join(_CONTROL.sub(" ", text).split())
    return printable(unicodedata.normalize("NFC", printable(text))).strip()


def printable(text: str) -> str:
    """The text for people: a blank in the place of each control character, so that it stays on its line, and
    nothing in the place of characters that are not seen."""
    if text.isascii() and text.isprintable():
        return text
    text = _UNSEEN.sub("", _CONTROL.sub(" ", text))
    return _SHAPING.sub(lambda match: match[match.lastindex] if match.lastindex else "", text)


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
