"""Numbers in digits and in words, and dates as year, month and day."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.text import keys_of

DIGITS = r"\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
_ROMAN = re.compile(r"(x{0,3})(ix|iv|v?i{0,3})")
_DEFINITE = frozenset(("the", "no", "this", "that", "any", "some", "every"))


def number_of(written: str, language: str) -> Decimal | None:
    """`1,234.5`, `1.234,5` (German) or `1 234`; what only the other language writes is read as there."""
    text = re.sub(r"[' \u00a0\u202f]", "", written)
    group, point = (".", ",") if language == "de" else (",", ".")
    for one, other in ((group, point), (point, group)):
        grouped, rest = rf"\d{{1,3}}(?:{re.escape(one)}\d{{3}})+", rf"(?:{re.escape(other)}\d+)?"
        if re.fullmatch(rf"(?:{grouped}|\d+){rest}", text):
            return Decimal(text.replace(one, "").replace(other, "."))
    return None


@lru_cache(maxsize=16)
def spelled(cues: Cues) -> str:
    """The pattern of a number in words, such as `one hundred and twenty million`; empty if there is none."""
    numbers, scales = cues.values["number"], cues.values["scale"]
    if not numbers:
        return ""
    long = {word for word in scales if len(word) > 3}  # abbreviations stand behind digits only
    words = sorted({*numbers, *long}, key=len, reverse=True)
    one = "|".join(map(re.escape, words))
    if "hundert" in scales:  # German writes it in one word
        parts = "|".join((one, "ein", "und", "einhalb"))
        return rf"\b(?=[^\W\d_]{{3}})(?:{parts})+(?![^\W_])"
    return rf"\b(?:{one})(?:(?:[- ]|,? and |(?<=ion), |(?<=thousand), )(?:{one}))*\b"


@lru_cache(maxsize=1 << 12)
def in_words(written: str, cues: Cues) -> Decimal | None:
    """The number that words say; None if they are no number."""
    numbers, scales = cues.values["number"], cues.values["scale"]
    words = [word for word in keys_of(written) if word != "and"]
    if "hundert" in scales and len(words) == 1:
        return _compound(words[0], numbers)
    return _sum(words, numbers, scales)


def _sum(words: Sequence[str], numbers: dict[str, str], scales: dict[str, str]) -> Decimal | None:
    total, group, smallest = 0, None, 0
    for word in words:
        if word in numbers:
            number, rest = int(numbers[word]), (group or 0) % 100
            if rest and not (rest >= 20 and not rest % 10 and 0 < number < 10):
                return None
            group = (group or 0) + number
            continue
        scale = int(scales[word]) if word in scales else 0
        if scale == 100:
            if (group or 1) >= 100:
                return None
            group = (group or 1) * 100
        elif scale > smallest == 1000 and group is None:
            total *= scale  # five thousand million
        elif scale and not (smallest and scale >= smallest):
            total, group, smallest = total + (1 if group is None else group) * scale, None, scale
        else:
            return None
    return Decimal(total + (group or 0))


def _compound(word: str, numbers: dict[str, str]) -> Decimal | None:
    """A German number that is written in one word."""
    if word.endswith("einhalb"):
        whole = _compound(word.removesuffix("einhalb"), numbers)
        return None if whole is None else whole + Decimal("0.5")
    if word in numbers:
        return Decimal(numbers[word])
    if word == "ein":
        return Decimal(1)
    for name, size in (("tausend", 1000), ("hundert", 100)):
        before, found, after = word.partition(name)
        if found:
            times = _compound(before, numbers) if before else Decimal(1)
            rest = _compound(after.removeprefix("und"), numbers) if after else Decimal(0)
            return None if times is None or rest is None or rest >= size else times * size + rest
    unit, found, tens = word.partition("und")
    one, ten = (_compound(part, numbers) if found and part else None for part in (unit, tens))
    return one + ten if one is not None and ten is not None and one < 10 <= ten else None


def counts(written: str, before: str) -> bool:
    """Whether a number in words is one: in `the one`, `one` is none. `before`: the word before it."""
    return written.casefold() not in ("one", "eine", "ein", "und") or before.casefold() not in _DEFINITE


def roman(key: str) -> str:
    """A Roman number of two to six letters up to 39 as digits; any other word as it is."""
    match = _ROMAN.fullmatch(key) if len(key) > 1 else None
    if match is None:
        return key
    ends = {"ix": 9, "iv": 4}
    unit = ends.get(match[2], 5 * match[2].count("v") + match[2].count("i"))
    return str(10 * len(match[1]) + unit)


_BEFORE_CHRIST = r"BC|BCE|B\. ?C\.(?: ?E\.)?|v\. ?Chr\."
_AFTER_CHRIST = r"AD|CE|A\. ?D\.|C\. ?E\.|n\. ?Chr\."
_ERA = rf"(?:\s*(?P<era>{_BEFORE_CHRIST}|{_AFTER_CHRIST})(?!\w))?"
_RAW = re.compile(r"([+-])(\d{4,})-(\d\d)-(\d\d)T[\d:]+Z")
_PERIODS = frozenset(("century", "jahrhundert"))


class Date(NamedTuple):
    """A date and its span in the text. What is not known of it is 0; `span`: years that it covers."""

    start: int
    end: int
    date: tuple[int, int, int]
    span: int = 1


class _Forms(NamedTuple):
    """What a language writes: the patterns of its dates; months and days in words -> their numbers."""

    patterns: tuple[re.Pattern[str], ...]
    months: dict[str, int]
    days: dict[str, int]


def raw(text: str) -> Date | None:
    """A date as Wikidata writes it."""
    match = _RAW.fullmatch(text)
    if match is None:
        return None
    year = int(match[2]) * (-1 if match[1] == "-" else 1)
    return Date(0, len(text), (year, int(match[3]), int(match[4])))


def dates_in(text: str, cues: Cues) -> list[Date]:
    """The dates in a text, in their order; none overlaps another."""
    if not any(character.isdigit() for character in text) and not _tens(cues)[0].search(text):
        return []
    forms = _forms(cues)
    matches = (match for pattern in forms.patterns for match in pattern.finditer(text))
    dates: list[Date] = []
    for date in (*(_date(match, forms) for match in matches), *_years_in_words(text, cues)):
        if date and not any(other.start < date.end and date.start < other.end for other in dates):
            dates.append(date)
    return sorted(dates)


@lru_cache(maxsize=16)
def _forms(cues: Cues) -> _Forms:
    months = {name: int(number) for name, number in cues.values["month"].items()}
    days = {name: int(number) for name, number in cues.values["ordinal"].items()}
    if "zwolfte" in days:
        days |= {f"{name}{ending}": number for name, number in list(days.items()) for ending in "nrsm"}
    names, ordinals = (
        "|".join(sorted(map(re.escape, row), key=len, reverse=True)) or "(?!)" for row in (months, days)
    )
    year = rf"(?P<year>\d{{1,3}}(?:,\d{{3}})+|\d{{1,4}}){_ERA}(?![\d]|[.,]\d)"
    day = rf"(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?|(?P<day>{ordinals}))"
    month = rf"(?P<month>{names})\b\.?"
    slashed = r"(?P<m>\d{1,2})/(?P<d>\d{1,2})"
    if "january" not in months:  # only English writes the month first
        slashed = r"(?P<d>\d{1,2})/(?P<m>\d{1,2})"
    patterns = (
        r"\b(?P<year>\d{4})(?P<by>[-/])(?P<m>\d\d)(?P=by)(?P<d>\d\d)(?:T[\d:]+Z)?\b",
        r"\b(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<year>\d{4})\b",
        rf"\b{slashed}/(?P<year>\d{{4}})\b",
        rf"\b{month}\s+(?:the\s+)?{day},?\s+(?:of\s+)?{year}",
        rf"\b{day}[\s-]+(?:of\s+|day of\s+|de\s+)?{month},?[\s-]+(?:of\s+|del?\s+)?{year}",
        rf"\b(?P<year>\d{{4}}),?\s+{month}\s+{day}(?!\d)",
        rf"\b{month},?\s+(?:of\s+|the year\s+|del?\s+)?{year}",
        r"(?<![\d/])(?P<m>0?[1-9]|1[0-2])/(?P<year>(?:1\d|20)\d\d)\b(?!/)",
        r"\b(?P<year>\d{4})-(?P<m>0[1-9]|1[0-2])\b(?!-)",
        r"\b(?P<year>(?:1\d|20)\d\d)[-–/](?P<until>\d\d(?:\d\d)?)\b(?![-–/\d])",
        r"\b(?P<decade>\d{3,4})0(?:s|er)\b(?P<bc> BC)?",
        r"\b(?P<cent>\d{1,2})(?:st|nd|rd|th|\.)?\s+(?P<of>century|millennium|Jahrhundert|Jahrtausend)"
        r"(?P<bc> BC| v\. ?Chr\.)?",
        rf"(?<![\d.,$€£¥+-])(?P<year>\d{{1,4}})\s*(?P<era>{_BEFORE_CHRIST}|{_AFTER_CHRIST})(?!\w)",
        r"\b(?P<era>AD)\s(?P<year>\d{1,4})\b",
        r"(?<![\d.,$€£¥/])(?P<year>(?:1\d|20)\d\d)(?!\d|[.,]\d|\s*(?:%|°))\b",
    )
    return _Forms(tuple(re.compile(pattern, re.I) for pattern in patterns), months, days)


def _date(match: re.Match[str], forms: _Forms) -> Date | None:
    parts = match.groupdict()
    start, end = match.span()
    if parts.get("decade"):
        first = int(parts["decade"]) * 10
        return Date(start, end, (-first - 9 if parts.get("bc") else first, 0, 0), 10)
    if parts.get("cent"):
        size = 100 if parts["of"].casefold() in _PERIODS else 1000
        first = (int(parts["cent"]) - 1) * size + 1
        return Date(start, end, (-first - size + 1 if parts.get("bc") else first, 0, 0), size)
    year = int(parts["year"].replace(",", ""))
    if parts.get("until"):
        span = int(parts["until"]) - (year % 100 if len(parts["until"]) == 2 else year) + 1
        return Date(start, end, (year, 0, 0), span) if span > 1 else None
    if (parts.get("era") or "").casefold().startswith(("b", "v")):
        year = -year
    month = forms.months[parts["month"].casefold()] if parts.get("month") else int(parts.get("m") or 0)
    day = forms.days[parts["day"].casefold()] if parts.get("day") else int(parts.get("d") or 0)
    if month > 12 and day <= 12 and "/" in match[0]:
        month, day = day, month
    if month > 12 or day > 31:
        return None
    return Date(start, end, (year, month, day))


@lru_cache(maxsize=16)
def _tens(cues: Cues) -> tuple[re.Pattern[str], dict[str, int]]:
    """Years as English says them, `nineteen ninety-eight`, and the numbers of their words."""
    numbers = {word: int(value) for word, value in cues.values["number"].items() if value.isdigit()}
    high = [word for word, value in numbers.items() if 10 < value < 21]
    low = [word for word, value in numbers.items() if 9 < value < 100]
    units = [word for word, value in numbers.items() if 0 < value < 10]
    if "hundred" not in cues.values["scale"]:
        high = []
    first, second, third = ("|".join(row) or "(?!)" for row in (high, low, units))
    return re.compile(
        rf"\b({first})[ -]({second})(?:[ -]({third}))?\b(?![ -](?:thousand|million))", re.I
    ), numbers


def _years_in_words(text: str, cues: Cues) -> Iterator[Date]:
    pattern, numbers = _tens(cues)
    for match in pattern.finditer(text):
        first, second, *third = (numbers[" ".join(keys_of(part))] for part in match.groups() if part)
        yield Date(*match.span(), (first * 100 + second + sum(third), 0, 0))
