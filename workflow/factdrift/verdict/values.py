"""Dates and amounts in texts, and whether one is the other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.text import keys_of, plain


class Kind(Enum):
    DATE = "date"
    AMOUNT = "amount"


class Value(NamedTuple):
    """A date or an amount in a text. A date is (year, month, day); what is not known of it is 0."""

    kind: Kind
    start: int
    end: int
    date: tuple[int, int, int] = (0, 0, 0)
    span: int = 1
    """Years that a coarse date covers, from `date`."""
    number: Decimal = Decimal(0)
    unit: str = ""
    digits: int = 0
    """Significant digits of an amount that is written with a large scale, such as `125.44 million`."""

    def holds(self, other: Value) -> bool:
        """Whether another value is this one, or a finer date within it."""
        if self.kind != other.kind:
            year = (
                self.date[0] if self.kind == Kind.DATE and not any(self.date[1:]) and self.span == 1 else None
            )
            return year is not None and other.kind == Kind.AMOUNT and other.number == year and not other.unit
        if self.kind == Kind.AMOUNT:
            unit = not other.unit or not self.unit or self.unit == other.unit
            return self.number == other.number and unit
        if self.span > 1:
            inside = self.date[0] <= other.date[0] and other.date[0] + other.span <= self.date[0] + self.span
            return inside
        if other.span > 1:
            return False
        return all(own in (0, theirs) for own, theirs in zip(self.date, other.date, strict=True))


_NUMBER = r"\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
_SIGNS = {"$": "$", "€": "€", "£": "£", "¥": "¥", "%": "%", "°": "°", "km²": "km2"}
_RAW = re.compile(r"([+-])(\d{4,})-(\d\d)-(\d\d)T[\d:]+Z")
_ERA = r"(?:\s*(?P<era>BC|BCE|B\.C\.|v\. ?Chr\.|AD|CE|A\.D\.|n\. ?Chr\.))?"


def read_value(text: str, cues: Cues, language: str) -> Value | None:
    """The date or amount that a whole text is; None if it is something else."""
    text = plain(text)
    raw = _RAW.fullmatch(text)
    if raw:
        year = int(raw[2]) * (-1 if raw[1] == "-" else 1)
        return Value(Kind.DATE, 0, len(text), (year, int(raw[3]), int(raw[4])))
    for value in values_in(text, cues, language, {Kind.DATE, Kind.AMOUNT}, known_units=False):
        if value.start == 0 and value.end == len(text):
            return value
    return None


def values_in(
    text: str, cues: Cues, language: str, kinds: Collection[Kind], known_units: bool = True
) -> Iterator[Value]:
    """The dates and amounts in a plain text, in their order; a date's numbers are no amounts.

    `known_units`: only these are read as units, not any words up to the end of the text.
    """
    dates = list(_dates(text, cues, language))
    taken = [(each.start, each.end) for each in dates]
    bare = {(each.start, each.end) for each in dates if _is_year(text, each)}
    found = dates if Kind.DATE in kinds else [each for each in dates if (each.start, each.end) not in bare]
    if Kind.DATE not in kinds:
        taken = [span for span in taken if span not in bare]
        found = []
    if Kind.AMOUNT in kinds:
        amounts = [
            each
            for each in _amounts(text, cues, language, known_units)
            if not any(start < each.end and each.start < end for start, end in taken)
        ]
        found = sorted([*found, *amounts], key=lambda each: each.start)
    yield from found


def _is_year(text: str, value: Value) -> bool:
    return text[value.start : value.end].isdigit()


def _dates(text: str, cues: Cues, language: str) -> Iterator[Value]:
    months = cues.values["month"] or {}
    names = "|".join(sorted((re.escape(name) for name in _spelled(months)), key=len, reverse=True)) or "(?!)"
    year = rf"(?P<year>\d{{1,3}}(?:,\d{{3}})+|\d{{1,4}}){_ERA}(?![\d]|[.,]\d)"
    patterns = [
        r"\b(?P<year>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:T[\d:]+Z)?\b",
        r"\b(?P<d>\d{1,2})\.\s?(?P<m>\d{1,2})\.\s?(?P<year>\d{4})\b",
        r"\b(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<year>\d{4})\b",
        rf"\b(?P<month>{names})\.?\s+(?P<d>\d{{1,2}})(?:st|nd|rd|th)?,?\s+{year}",
        rf"\b(?P<d>\d{{1,2}})(?:st|nd|rd|th|\.)?\s+(?:of\s+)?(?P<month>{names})\.?,?\s+{year}",
        rf"\b(?P<month>{names})\.?,?\s+(?:of\s+|the year\s+)?{year}",
        r"\b(?P<year>\d{4})-(?P<m>\d\d)\b(?!-)",
        r"\b(?P<decade>\d{3,4})0(?:s|er)\b(?P<bce> BC)?",
        r"\b(?P<cent>\d{1,2})(?:st|nd|rd|th|\.)?\s+(?P<of>century|millennium|Jahrhundert|Jahrtausend)"
        r"(?P<bc> BC| v\. ?Chr\.)?",
        r"(?<![\d.,$€£¥+-])(?P<year>\d{1,4})\s*(?P<era>BC|BCE|B\.C\.|v\. ?Chr\.|AD|CE|n\. ?Chr\.)(?!\w)",
        r"(?<![\d.,$€£¥/])(?P<year>(?:1\d|20)\d\d)(?!\d|[.,]\d|\s*(?:%|°))\b",
    ]
    spelled = _spelled(months)
    spans: list[tuple[int, int]] = []
    found = []
    for pattern in patterns:
        for match in re.finditer(pattern, text, re.I):
            if any(start < match.end() and match.start() < end for start, end in spans):
                continue
            value = _date(match, spelled)
            if value is not None:
                spans.append(match.span())
                found.append(value)
    yield from sorted(found, key=lambda each: each.start)


def _spelled(months: dict[str, str]) -> dict[str, str]:
    """The months with and without the diacritics that keys lack."""
    more = {"märz": "3", "mär": "3", "jänner": "1"} if "marz" in months else {}
    return {**months, **more}


def _date(match: re.Match[str], months: dict[str, str]) -> Value | None:
    parts = match.groupdict()
    start, end = match.span()
    if parts.get("decade"):
        return Value(Kind.DATE, start, end, (int(parts["decade"]) * 10, 0, 0), 10)
    if parts.get("cent"):
        size = 100 if parts["of"].casefold() in ("century", "jahrhundert") else 1000
        first = (int(parts["cent"]) - 1) * size + 1
        return Value(Kind.DATE, start, end, (-first - size + 1 if parts.get("bc") else first, 0, 0), size)
    year = int(parts["year"].replace(",", ""))
    era = (parts.get("era") or "").casefold()
    if era.startswith(("b", "v")):
        year = -year
    month = int(months[parts["month"].casefold()]) if parts.get("month") else int(parts.get("m") or 0)
    day = int(parts.get("d") or 0)
    if month > 12 and day <= 12 and "/" in match[0]:
        month, day = day, month
    if month > 12 or day > 31:
        return None
    return Value(Kind.DATE, start, end, (year, month, day))


def number_of(written: str, language: str) -> Decimal | None:
    """`1,234.5`, `1.234,5` (German) or `1 234`; what only the other language writes is read as there."""
    text = re.sub(r"[' \u00a0\u202f]", "", written)
    group, point = (".", ",") if language == "de" else (",", ".")
    for one, other in ((group, point), (point, group)):
        grouped, rest = rf"\d{{1,3}}(?:{re.escape(one)}\d{{3}})+", rf"(?:{re.escape(other)}\d+)?"
        if re.fullmatch(rf"(?:{grouped}|\d+){rest}", text):
            try:
                return Decimal(text.replace(one, "").replace(other, "."))
            except InvalidOperation:
                return None
    return None


def _amounts(text: str, cues: Cues, language: str, known_units: bool) -> Iterator[Value]:
    units, scales, numbers = cues.values["unit"], cues.values["scale"], cues.values["number"]
    words = "|".join(sorted((re.escape(word) for word in numbers), key=len, reverse=True))
    spelled = rf"|\b(?:(?:{words})(?:[- ](?:{words}))?)\b" if words else ""
    pattern = re.compile(
        rf"(?P<minus>(?<![\w)])[-–−+](?=[$€£¥\d]))?(?P<sign>[$€£¥]\s?)?(?<![\w.,])"
        rf"(?P<number>{_NUMBER}{spelled})",
        re.I,
    )
    place = 0
    while match := pattern.search(text, place):
        place = match.end()
        written = match["number"]
        if written[0].isdigit():
            number = number_of(written, language)
        else:
            number = _of_words(written, numbers, text, match.start())
        if number is None:
            continue
        after = re.compile(r"[\s-]?([^\W\d_]+)\.?").match(text, place)
        while after and after[1].casefold() in scales and not _unit_first(after[1], text, after.start(1)):
            number *= Decimal(scales[after[1].casefold()])
            place = after.end(1)
            after = re.compile(r"[\s-]?([^\W\d_]+)\.?").match(text, place)
        if match["minus"] in ("-", "–", "−"):
            number = -number
        unit = _SIGNS.get((match["sign"] or "").strip(), "")
        if not unit:
            unit, place = _unit(text, place, units, known_units)
        if re.match(r"\w", text[place:]) and not unit:
            continue  # part of a word, such as 3rd or A380
        yield Value(Kind.AMOUNT, match.start(), place, number=number.normalize(), unit=unit)


def _unit_first(word: str, text: str, start: int) -> bool:
    """Whether a single letter is a unit: `5 m` is metres, `5m` and `5M` are millions."""
    return len(word) == 1 and word.islower() and text[start - 1 : start] == " "


def _of_words(written: str, numbers: dict[str, str], text: str, start: int) -> Decimal | None:
    before = text[:start].split()[-1:] or [""]
    key = " ".join(keys_of(written))
    if key in ("one", "eine") and before[0].casefold() in (
        "the",
        "no",
        "this",
        "that",
        "any",
        "some",
        "every",
    ):
        return None
    parts = [int(numbers[part]) for part in re.split(r"[- ]", written.casefold()) if part in numbers]
    if len(parts) == 2 and not (parts[0] >= 20 and parts[0] % 10 == 0 and parts[1] < 10):
        return None
    return Decimal(sum(parts)) if parts else None


def _unit(text: str, place: int, units: dict[str, str], known_units: bool) -> tuple[str, int]:
    """The unit behind a number, and the place behind it; empty if there is none that is known."""
    for sign, unit in _SIGNS.items():
        if text[place:].lstrip(" ").startswith(sign):
            return unit, place + len(text[place:]) - len(text[place:].lstrip(" ")) + len(sign)
    for size in (3, 2, 1):
        match = re.compile(rf"[\s-]?([^\W\d_][\w²]*(?:\s[^\W_][\w²]*){{{size - 1}}})(?!\w)").match(
            text, place
        )
        if match and (known := units.get(" ".join(keys_of(match[1])))):
            return known, match.end()
    rest = text[place:].strip()
    if (
        not known_units
        and rest
        and text[0] in "+-0123456789"
        and re.fullmatch(r"[^\d A-Z][^\dA-Z]{0,40}", rest)
    ):
        return " ".join(keys_of(rest)) or rest, len(text)
    return "", place
