"""Literal values (dates, quantities, texts) as people write them.

The number of a quantity is exact, with separators and without trailing zeros. Its unit is, in this order: the
percent sign; the unit's symbol (P5061), before the number for a currency sign (`$12.50`), without a blank for
signs of angle and share (`45°`), after a blank otherwise (`12.5 kg`); the unit's label in the plural
(`12 United States dollars`); its id, so that the amount is never taken for a plain number.
"""

import json
import re
import unicodedata
from collections.abc import Mapping
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Any, NamedTuple

from babel.numbers import format_compact_decimal

from factdrift.core.paths import PLURALS
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import entity_id, entity_number
from factdrift.wikidata.time import parse_time
from factdrift.wikidata.values import text_of
from factdrift.words.dates import written_date

Units = Mapping[int, tuple[str | None, str | None]]
"""Unit item number -> (label, symbol), each None where there is none."""

PERCENT = 11229
"""Q11229, which is written as the sign % whether or not the snapshot holds its symbol."""

_AMOUNT = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d{1,3})?", re.ASCII)
_GLUED = frozenset("%‰°′″'\"")
_SHORT_FROM, _SHORT_BELOW = Decimal(10**6), Decimal(10**15)


class LiteralText(NamedTuple):
    """A literal in three forms.

    `label`: as people write it. `short`: the same but for large amounts (`125.44M`). `raw`: the value's own
    text (`+2022-09-08T00:00:00Z`, `+125440000`), without unit, precision or language.
    """

    label: str
    short: str
    raw: str


def shown(datatype: str, value: str, units: Units) -> LiteralText:
    """The forms of a literal.

    `datatype` is the property's datatype, `value` the JSON of the datavalue's value, `units` names the units.
    Never fails: a value that is not formed as its datatype wants is shown in its raw form, and what is no
    literal known here as its id or, failing that, as its JSON.
    """
    raw, forms = value, None
    try:
        decoded: Any = json.loads(value)
        raw = text_of(decoded) or value
        if datatype == "time":
            forms = _time(decoded)
        elif datatype == "quantity":
            forms = _quantity(decoded, units)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        pass
    label, short = forms or (raw, raw)
    return LiteralText(label, short, raw)


def _time(decoded: Any) -> tuple[str, str] | None:
    precision = decoded["precision"]
    if not isinstance(precision, int) or not 0 <= precision <= 14:
        return None
    label = written_date(parse_time(decoded["time"], precision, decoded.get("calendarmodel", "")))
    return (label, label) if label else None


def _quantity(decoded: Any, units: Units) -> tuple[str, str] | None:
    """The label and the short form; None if it is no amount, or its unit no item."""
    amount, unit = decoded["amount"], decoded.get("unit", "1")
    entity = entity_number(unit.rpartition("/")[2])
    if not _AMOUNT.fullmatch(amount) or (entity is None and unit != "1"):
        return None
    number = Decimal(amount)
    whole, short = written_number(number), short_number(number)
    label, brief = (with_unit(text, entity, units, abs(number) == 1) for text in (whole, short))
    return label, brief


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


def with_unit(number: str, unit: int | None, units: Units, singular: bool) -> str:
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
        return f"{number} {label if singular else plural(label)}"
    return f"{number} {entity_id(unit)}"


def plural(label: str) -> str:
    """The plural of a unit's label: `kilometre per hour` -> `kilometres per hour`.

    `resources/words/plurals.tsv` has the words that follow no rule or do not change (yen, hertz). Others in
    -s, but for -ss and -us, are plural already. Of hyphenated words the last changes: `light-years`.
    """
    head, separator, rest = label, "", ""
    for mark in (" per ", " of ", " (", " sterling", " Celsius", " Fahrenheit"):
        before, joint, after = head.partition(mark)
        if joint:
            head, separator, rest = before, joint, after + separator + rest
    *_, last = re.split(r"[ -]", head)
    irregular = _plurals()
    whole = head.rpartition(" ")[2]
    if whole in irregular:
        last, changed = whole, irregular[whole]
    elif last.lower() in irregular:
        changed = irregular[last.lower()]
    elif not last.isalpha() or (last.endswith("s") and not last.endswith(("ss", "us"))):
        changed = last
    elif last.endswith(("s", "x", "z", "ch", "sh")):
        changed = f"{last}es"
    elif last.endswith("y") and last[-2:-1] not in tuple("aeiou"):
        changed = f"{last[:-1]}ies"
    else:
        changed = f"{last}s"
    return f"{head.removesuffix(last)}{changed}{separator}{rest}"


@lru_cache(maxsize=1)
def _plurals() -> dict[str, str]:
    """Word -> its plural. Raises InputError that names the line of a row that is not formed as it should."""
    return {singular: plural_ for _, (singular, plural_) in rows_of(PLURALS, ("singular", "plural"))}
