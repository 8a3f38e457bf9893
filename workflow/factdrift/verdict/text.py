"""Words of a text as verdicts compare them: NFKC, without case and diacritics, marks of Markdown removed."""

from __future__ import annotations

import html
import re
import string
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from factdrift.words.mentions import folded

_SIGNS = str.maketrans(
    dict.fromkeys("‘’‚‛‹›ʼ`´", "'")
    | dict.fromkeys("“”„‟«»", '"')
    | dict.fromkeys("‐‑−", "-")
    | {"\u00ad": "", "\u200b": "", "\ufeff": "", "\u2060": ""}
)
_UNMARKED = str.maketrans("", "", string.punctuation)
_ARROWS = re.compile(r"[-=]+>|[⇒⟶⟹➔➜➝➙➞➡⮕🡒]\ufe0f?")
_FRACTIONS = {"½": ".5", "¼": ".25", "¾": ".75"}
_FRACTION = re.compile(r"(\d?)\s?([½¼¾])")
_POWER = re.compile(r"(?<!\d)10([⁰¹²³⁴-⁹]+)")
_BROKEN = re.compile(r"(?<=[^\W\d_])-\n(?=[^\W\d_A-Z])")
"""A word that a line's end divides."""
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[ \t]*[\w+.-]*[ \t]*$", re.M)
"""A line that begins or ends a block of code, with the block's language."""
MOST = 8192
"""Characters of an answer that are read."""
_MARKS = [
    (re.compile(r"</?[a-z][a-z0-9]{0,10}\s*/?>|<\|[^|<>]{1,40}\|>", re.I), " "),
    (re.compile(r"\\(?:boxed|text|textbf|mathbf|mathrm)\{([^{}]*)\}"), r"\1"),
    (re.compile(r"!?\[([^\[\]]+)\]\((?:[^()\s]|\([^()\s]*\))*\)"), r"\1"),
    (re.compile(r"\[\^?\d{1,3}\]"), ""),
    (re.compile(r"(?<=[a-z]) [\"(][A-Z][a-z]+[\")](?= [A-Z][a-z]+)"), ""),
    (re.compile(r"(?<!\w)n/a(?!\w)", re.I), "na"),
    (re.compile(r"~~[^~\n]*~~"), " "),
    (re.compile(r"(?<=[^\W\d_])_(?=[^\W\d_])(?=[A-Z])"), " "),
    (re.compile(r"\*\*|__|~~|(?<!\w)[*_]+(?=\S)|(?<=\S)[*_]+(?!\w)"), ""),
    (re.compile(r"^[ \t]{0,3}(?:#{1,6} |>+ ?)", re.M), ""),
]
_SMALL = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_DURATION = re.compile(
    r"\b(?:(\d{1,2}) ?(?:hours?|hrs?|h),? (?:and )?)?"
    rf"(\d{{1,2}}|{'|'.join(_SMALL)}) ?(?:minutes?|mins?\.?),? (?:and )?"
    r"(\d{1,2}(?:\.\d+)?) ?(?:seconds?|secs?\.?|s)\b",
    re.I,
)
_PLAIN = re.compile(r"[A-Za-z0-9 .,;:'\"!?()-]*", re.ASCII)
"""What is left as it is, unless it has one of the words that marks are made of."""
_LETTER = r"[^\W\d_]"
_ALONE = r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]"
"""Letters of scripts that put no blank between words: each is a word."""

_TOKEN = re.compile(
    rf"(?P<break>\n)|(?P<bullet>(?:(?<=\n)|^)[ \t]*(?:[-*•·+]|\(?\d{{1,2}}[.)])[ \t]+)"
    rf"|(?P<alone>{_ALONE})"
    rf"|(?P<initials>(?<![\w'-])(?:(?:{_LETTER}\.(?:[ -](?={_LETTER}\.))?)+(?:{_LETTER}(?![\w]))?"
    r"|(?:[A-Z] )+[A-Z](?= [A-Z][a-z])))"
    rf"|(?P<number>\d+(?:[.,]\d+)*(?:(?:st|nd|rd|th|s|er|e)(?!\w))?)"
    rf"|(?P<word>(?:(?!{_ALONE}){_LETTER})+[\u0300-\u036f]*(?:'(?:(?!{_ALONE}){_LETTER})+)*[+#]*)"
    r"|(?P<point>[^\s])"
)


_SHORTENED = frozenset(("it", "that", "he", "she", "who", "there", "here", "what", "where", "this", "let"))
"""Words behind which `'s` is a verb."""


class Token(NamedTuple):
    """A word, a number or a sign. `key`: what is compared; `text`: as it is written."""

    kind: str
    text: str
    key: str
    start: int
    end: int
    possessive: bool = False

    @property
    def is_word(self) -> bool:
        return self.kind in ("word", "number", "initials", "alone")

    @property
    def is_capital(self) -> bool:
        """Whether it begins as names do."""
        return self.kind in ("word", "initials") and self.text[:1].isupper()


def plain(text: str) -> str:
    """A text with plain quotes and hyphens, and without what only lays it out."""
    text = text.strip()[:MOST]
    if "min" in text:
        text = _DURATION.sub(_clock, text)
    if _PLAIN.fullmatch(text):
        return text.strip()
    text = _FENCE.sub("", text)
    if "&" in text:
        text = html.unescape(text)
    text = _FRACTION.sub(lambda match: f"{match[1] or 0}{_FRACTIONS[match[2]]}", text)
    text = _POWER.sub(r"10^\1", text)
    text = unicodedata.normalize("NFKC", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _BROKEN.sub("", _ARROWS.sub("→", text.translate(_SIGNS)))
    for pattern, instead in _MARKS:
        text = pattern.sub(instead, text)
    return text.strip()


def spelled_in_full(text: str) -> str:
    """A text with `is not` for `isn't` and `he is` for `he's`, as the cue words have them."""
    return _IS.sub(r"\1 is", _NOT.sub(lambda match: f"{_FULL.get(match[1].lower(), match[1])} not", text))


_NOT = re.compile(
    r"\b([Ii]s|[Ww]as|[Aa]re|[Ww]ere|do|[Dd]oes|[Dd]id|has|have|had|would|could|should|wo)n't\b"
)
_IS = re.compile(r"\b(he|she)'s(?= (?-i:[a-z]))(?! (?:been|had|got|become|held|led|taken)\b)", re.I)
_FULL = {"wo": "will"}


def _clock(duration: re.Match[str]) -> str:
    """`28 minutes and 54.14 seconds` as a record has it: `28:54.14`."""
    hours, minutes, seconds = duration.groups()
    if minutes.casefold() in _SMALL:
        minutes = str(_SMALL.index(minutes.casefold()) + 1)
    whole, point, rest = seconds.partition(".")
    return (
        f"{hours}:{minutes:0>2}:{whole:0>2}{point}{rest}" if hours else f"{minutes}:{whole:0>2}{point}{rest}"
    )


def tokens(text: str) -> list[Token]:
    """The tokens of a text that is plain."""
    found = []
    for match in _TOKEN.finditer(text):
        kind, written = str(match.lastgroup), match[0]
        lowered, possessive = written.lower(), False
        if kind == "number":
            key = written.replace(",", "").casefold()
        else:
            owner = kind == "word" and len(written) > 2 and lowered.endswith("'s")
            possessive = owner and lowered[:-2] not in _SHORTENED
            key = _key(written[:-2] if possessive else written)
        found.append(Token(kind, written, key, match.start(), match.end(), possessive))
    return found


def name_tokens(name: str) -> list[Token]:
    """The tokens of a name, whose number at the beginning is no point of a list: `2. Bundesliga`."""
    return tokens(f"x {plain(name)}")[1:]


@lru_cache(maxsize=1 << 15)
def _key(written: str) -> str:
    if not any(character.isalnum() for character in written):
        return written
    key = folded(unicodedata.normalize("NFC", written)).text
    return "".join(character for character in key if character.isalnum() or character in "+#")


@lru_cache(maxsize=1 << 16)
def keys_of(text: str) -> tuple[str, ...]:
    """The keys of the words of a text; `&` is a word."""
    return tuple(each.key for each in tokens(plain(text)) if each.is_word or each.text == "&")


def exact_match(text: str, accepted: Iterable[str]) -> bool:
    """Whether the whole text is an accepted answer, but for case, ASCII punctuation and outer blanks.

    This is `exact_match` of lm-evaluation-harness with `ignore_case` and `ignore_punctuation`.
    """
    own, *names = (name.strip().lower().translate(_UNMARKED) for name in (text, *accepted))
    return own in names


def contains(text: str, accepted: Iterable[str]) -> bool:
    """Whether an accepted answer is anywhere in the text, also in a word or denied; case counts.

    This is `verify_answer` of EasyEdit (`easyeditor/evaluate/evaluate_utils.py`).
    """
    return any(answer in text for answer in accepted)
