"""Dates and amounts in texts, and whether one is the other."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from enum import Enum
from functools import lru_cache
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.numbers import DIGITS, Date, counts, dates_in, in_words, number_of, raw, spelled
from factdrift.verdict.text import keys_of, plain


class Kind(Enum):
    DATE = "date"
    AMOUNT = "amount"


_METRIC = {
    "t": ("g", Decimal(1_000_000)),
    "kg": ("g", Decimal(1_000)),
    "km": ("m", Decimal(1_000)),
    "cm": ("m", Decimal("0.01")),
    "mm": ("m", Decimal("0.001")),
    "ha": ("km2", Decimal("0.01")),
    "¢": ("$", Decimal("0.01")),
    "h": ("s", Decimal(3_600)),
    "min": ("s", Decimal(60)),
}
"""Unit -> the unit in which it is compared, and how many of these it is: exact ones only."""
_DEGREES = frozenset(("°", "°c", "°f"))
"""Units of which the first may be any."""
_POUNDS = {"lb", "£"}


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

    def holds(self, other: Value) -> bool:
        """Whether another value is this one, or a finer date within it."""
        if self.kind != other.kind:
            is_year = self.kind == Kind.DATE and not any(self.date[1:]) and self.span == 1
            return is_year and other.kind == Kind.AMOUNT and other.number == self.date[0] and not other.unit
        if self.kind == Kind.AMOUNT:
            if other.unit[:2] in ("$/", "€/", "£/", "¥/") and "/" not in self.unit:
                other = other._replace(unit=other.unit[0])  # 12.82 euros per hour
            units = {self.unit, other.unit}
            if not self.unit and other.unit in ("km2", "ha"):
                return False
            if "" in units or len(units) == 1 or units == _POUNDS or ("°" in units and units <= _DEGREES):
                return self.number == other.number
            return self._metric() == other._metric()
        if self.span > 1:
            return self.date[0] <= other.date[0] and other.date[0] + other.span <= self.date[0] + self.span
        if other.span > 1:
            return False
        return all(own in (0, theirs) for own, theirs in zip(self.date, other.date, strict=True))

    def rounds_to(self, other: Value) -> bool:
        """Whether another amount rounds this amount, of ten thousand or more, to three or more digits.

        Four digits may be a year. The last digits may be zeros: 3,499,451 is 3.5 million.
        """
        if self.kind != Kind.AMOUNT or min(self.number, other.number) < 10_000:
            return False
        digits = len(other.number.normalize().as_tuple().digits)
        finest = min(other.number.adjusted() - digits + 1, self.number.adjusted() - 2)
        try:
            rounded = self.number.quantize(Decimal(1).scaleb(finest), ROUND_HALF_UP)
            return self._replace(number=rounded).holds(other)
        except InvalidOperation:  # it would have more than 28 digits
            return False

    def _metric(self) -> tuple[str, Decimal]:
        base, size = _METRIC.get(self.unit, (self.unit, Decimal(1)))
        return base, self.number * size


_SIGNS = {"$": "$", "€": "€", "£": "£", "¥": "¥", "%": "%", "°C": "°c", "°F": "°f", "°": "°", "km²": "km2"}
_BELOW = re.compile(r"\s+(?:below zero|unter null)\b", re.I)
_PER = re.compile(r"\s*(?:/|\b(?:per|pro)\b)\s*([^\W\d_]+)", re.I)
_CURRENCY = re.compile(r"\s([A-Z][a-z]+(?:\s[A-Z][a-z]+)?)\s([a-z]+)\b")
"""Money of another country, such as `Canadian dollars`."""
_SCALE = re.compile(r"[\s-]?([^\W\d_]+)\.?")
_ORDINAL = re.compile(r"(?<![\w.,])(\d+)(?:st|nd|rd|th)(?!\w)", re.I)
_POWER = (
    r"(?:[eE](?P<exponent>[+-]?\d{1,2})(?!\w)|\s?[x×*·⋅]\s?10\s?\^?\s?\{?(?P<power>[+-]?\d{1,2})(?!\d)\}?)?"
)


@lru_cache(maxsize=1 << 14)
def read_value(text: str, cues: Cues, language: str) -> Value | None:
    """The date or amount that a whole text is; None if it is something else."""
    text = plain(text)
    if (date := raw(text)) is not None:
        return _dated(date)
    # `1500 metres` begins with what may be a year, so amounts with a known unit are read without dates, too.
    for kinds, known_units in ((frozenset(Kind), False), (frozenset((Kind.AMOUNT,)), True)):
        for value in values_in(text, cues, language, kinds, known_units):
            if value.start == 0 and value.end == len(text):
                return value
    return None


def values_in(
    text: str,
    cues: Cues,
    language: str,
    kinds: Collection[Kind],
    known_units: bool = True,
    metres: bool = False,
) -> list[Value]:
    """The dates and amounts in a plain text, in their order; a date's numbers are no amounts.

    `known_units`: only these are read as units, not any words up to the end of the text. `metres`: `5m` is
    five metres, not five million.
    """
    dates = dates_in(text, cues)
    values = [_dated(date) for date in dates] if Kind.DATE in kinds else []
    if Kind.AMOUNT not in kinds:
        return values
    taken = [date for date in dates if Kind.DATE in kinds or not text[date.start : date.end].isdigit()]
    amounts = [
        amount
        for amount in _amounts(text, cues, language, known_units, metres)
        if not any(date.start < amount.end and amount.start < date.end for date in taken)
    ]
    return sorted([*values, *(amounts or _ordinals(text, cues))], key=lambda value: value.start)


def _dated(date: Date) -> Value:
    return Value(Kind.DATE, date.start, date.end, date.date, date.span)


@lru_cache(maxsize=16)
def _pattern(cues: Cues) -> re.Pattern[str]:
    words = f"|{pattern}" if (pattern := spelled(cues)) else ""
    return re.compile(
        rf"(?P<minus>(?<![\w)])[-–−+](?=[$€£¥\d])|\b(?:minus|negative)\s)?"
        r"(?:\b(?P<code>USD|EUR|GBP|JPY|CHF|CAD|AUD|CNY|INR)\s?(?=[\d-]))?"
        rf"(?:(?P<country>\b[A-Z]{{1,2}}|\bU\.S\.)?(?P<sign>[$€£¥])\s?)?(?<![\w.,])"
        rf"(?P<number>(?P<digits>{DIGITS}){_POWER}{words})",
        re.I,
    )


def _amounts(
    text: str, cues: Cues, language: str, known_units: bool, metres: bool = False
) -> Iterator[Value]:
    units, scales = cues.values["unit"], cues.values["scale"]
    pattern, end = _pattern(cues), 0
    while match := pattern.search(text, end):
        end = match.end()
        number = _number(match, text, cues, language)
        ordinal = _ordinal_words(cues)
        if number is None or (ordinal and (words := ordinal.match(text, match.start())) and "-" in words[0]):
            continue
        if half := re.compile(r"\s+and a half\b").match(text, end):
            number, end = number + Decimal("0.5"), half.end()
        after = _SCALE.match(text, end)
        while after and after[1].casefold() in scales:
            if (
                len(after[1]) == 1
                and after[1].islower()
                and (after[0][0] == " " or (metres and after[1] == "m"))
            ):
                break  # `5 m` is metres, `5m` and `5M` are millions
            number *= Decimal(scales[after[1].casefold()])
            end = after.end(1)
            after = _SCALE.match(text, end)
        if match["minus"] and match["minus"] != "+":
            number = -number
        unit = match["sign"] or ""
        if match["country"] and match["country"].upper() not in ("US", "U.S."):
            unit = f"{match['country'].upper()}{unit}"
        if match["code"]:
            unit = units.get(match["code"].casefold(), match["code"].casefold())
        if not unit:
            unit, end = _unit(text, end, units, known_units)
        if re.match(r"\w", text[end : end + 1]) and not unit:
            continue  # part of a word, such as 3rd or A380
        if below := _BELOW.match(text, end):
            number, end = -abs(number), below.end()
        yield Value(Kind.AMOUNT, match.start(), end, number=number.normalize(), unit=unit)


def _number(match: re.Match[str], text: str, cues: Cues, language: str) -> Decimal | None:
    written = match["number"]
    if not written[0].isdigit():
        before = text[: match.start()].split()[-1:] or [""]
        return in_words(written, cues) if counts(written, before[0]) else None
    power = match["exponent"] or match["power"]
    number = number_of(match["digits"], language)
    return number.scaleb(int(power)) if number is not None and power else number


def _ordinals(text: str, cues: Cues) -> Iterator[Value]:
    """Ordinals, which are read as amounts where there are no others."""
    for match in _ORDINAL.finditer(text):
        yield Value(Kind.AMOUNT, *match.span(), number=Decimal(match[1]))
    if pattern := _ordinal_words(cues):
        for match in pattern.finditer(text):
            tens = int(cues.values["number"][match[1].casefold()]) if match[1] else 0
            unit = int(cues.values["ordinal"][match[2].casefold()])
            if not tens or (tens >= 20 and unit < 10):
                yield Value(Kind.AMOUNT, *match.span(), number=Decimal(tens + unit))


@lru_cache(maxsize=16)
def _ordinal_words(cues: Cues) -> re.Pattern[str] | None:
    if "second" not in cues.values["ordinal"]:
        return None
    words = (sorted(cues.values[kind], key=len, reverse=True) for kind in ("number", "ordinal"))
    tens, units = ("|".join(map(re.escape, row)) for row in words)
    return re.compile(rf"\b(?:({tens})[ -])?({units})\b", re.I)


_WORDS = {n: re.compile(rf"[\s-]?([^\W\d_][\w²]*(?:\s[^\W_][\w²]*){{{n - 1}}})(?!\w)") for n in (3, 2, 1)}


def _unit(text: str, start: int, units: dict[str, str], known_units: bool) -> tuple[str, int]:
    """The unit behind a number, and the position behind it; empty if there is none that is known."""
    behind = text[start : start + 80]
    for sign, unit in _SIGNS.items():
        if behind.lstrip(" ").startswith(sign):
            return unit, start + len(behind) - len(behind.lstrip(" ")) + len(sign)
    for pattern in _WORDS.values():
        match = pattern.match(text, start)
        if match and (known := units.get(" ".join(keys_of(match[1])))):
            if per := _PER.match(text, match.end()):
                return f"{known}/{per[1].casefold()}", per.end()
            return known, match.end()
    if (of_country := _CURRENCY.match(text, start)) and (known := units.get(of_country[2].casefold())):
        return f"{of_country[1].casefold()} {known}", of_country.end()
    rest = text[start:].strip()
    if (
        not known_units
        and rest
        and text[0] in "+-0123456789"
        and re.fullmatch(r"[^\d A-Z][^\dA-Z]{0,40}", rest)
    ):
        return " ".join(keys_of(rest)) or rest, len(text)
    return "", start
