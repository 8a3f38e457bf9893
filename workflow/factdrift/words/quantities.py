"""Wikidata's amounts as English writes them.

The number is exact, with separators and without trailing zeros. Its unit is, in this order: the percent
sign; the unit's symbol (P5061), before the number for a currency sign (`$12.50`), without a blank for
signs of angle and share (`45°`), after a blank otherwise (`12.5 kg`); the unit's label in the plural
(`12 United States dollars`); its id, so that the amount is never taken for a plain number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal, localcontext

from babel.numbers import format_compact_decimal

from factdrift.wikidata.ids import entity_id, entity_number

Units = Mapping[int, tuple[str | None, str | None]]
"""Unit item number -> (label, symbol), each None where there is none."""

PERCENT = 11229
"""Q11229, which is written as the sign % whether or not the snapshot holds its symbol."""

_AMOUNT = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?")
_GLUED = frozenset("%‰°′″'\"")
_SHORT_FROM, _SHORT_BELOW = Decimal(10**6), Decimal(10**15)
_SAME_IN_PLURAL = frozenset(
    {"baht", "dalasi", "dong", "hertz", "kip", "lux", "old", "rand", "renminbi", "ringgit", "rupiah"}
    | {"siemens", "tenge", "won", "yen", "yuan", "złoty"}
)
_IRREGULAR = {"foot": "feet", "inch": "inches", "person": "people", "man": "men", "child": "children"}


def parse_amount(amount: str) -> Decimal | None:
    """`+125440000` -> Decimal; None if it is no amount."""
    return Decimal(amount) if _AMOUNT.fullmatch(amount) and amount.isascii() else None


def unit_number(unit: str) -> int | None:
    """The item number in a unit's address; None for `1` (no unit). Raises ValueError for anything else."""
    if unit == "1":
        return None
    number = entity_number(unit.rpartition("/")[2])
    if number is None:
        raise ValueError(f"{unit!r} is no unit such as http://www.wikidata.org/entity/Q11573")
    return number


def written_number(number: Decimal) -> str:
    """Decimal('125440000.50') -> `125,440,000.5`; exact for any number of digits."""
    text = format(number, ",f")
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def short_number(number: Decimal) -> str:
    """Amounts from a million to below 10**15 with at most two decimals (`125.44M`), others in full."""
    if not _SHORT_FROM <= abs(number) < _SHORT_BELOW:
        return written_number(number)
    with localcontext() as context:
        context.prec = len(number.as_tuple().digits) + 20
        # Rounded before the letter is chosen: 999,999,999 is 1B and not 1000M.
        rounded = number.quantize(Decimal(1).scaleb(number.adjusted() // 3 * 3 - 2))
        if abs(rounded) >= _SHORT_BELOW:
            return written_number(number)
        return str(format_compact_decimal(rounded, locale="en", fraction_digits=2))


def with_unit(number: str, unit: int | None, units: Units, is_one: bool) -> str:
    """The number's text with its unit; `is_one`: the amount is 1 or -1, so the unit is in the singular."""
    if unit is None:
        return number
    label, symbol = units.get(unit, (None, None))
    if unit == PERCENT:
        return f"{number}%"
    if symbol:
        if unicodedata.category(symbol[-1]) == "Sc":
            sign, size = ("-", number[1:]) if number.startswith("-") else ("", number)
            cents = "0" if re.search(r"\.\d$", size) else ""
            return f"{sign}{symbol}{size}{cents}"
        return f"{number}{symbol}" if symbol in _GLUED else f"{number} {symbol}"
    if label:
        return f"{number} {label if is_one else plural(label)}"
    return f"{number} {entity_id(unit)}"


def plural(label: str) -> str:
    """The plural of a unit's label: `kilometre per hour` -> `kilometres per hour`.

    Names that do not change (yen, hertz) and those that are plural already stay as they are.
    """
    head, separator, rest = label, "", ""
    for mark in (" per ", " of ", " (", " sterling", " Celsius", " Fahrenheit"):
        before, found, after = head.partition(mark)
        if found:
            head, separator, rest = before, found, after + separator + rest
    first, blank, last = head.rpartition(" ")
    if last in _IRREGULAR:
        last = _IRREGULAR[last]
    elif not last.isalpha() or last.lower() in _SAME_IN_PLURAL or last.endswith("s"):
        pass
    elif last.endswith(("x", "z", "ch", "sh")):
        last += "es"
    elif last.endswith("y") and last[-2:-1] not in tuple("aeiou"):
        last = f"{last[:-1]}ies"
    else:
        last += "s"
    return f"{first}{blank}{last}{separator}{rest}"
