"""Values of snaks: when two are equal, and which entity or date they name.

Two identities exist. The canonical key is the paper's: amounts as decimals without their bounds, dates
truncated to their precision, texts as they are. Canonical JSON is the reference code's: the datavalue's
`value` with sorted keys and no white space. Both hold within one datatype only, and of clean texts.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from factdrift.core.text import clean
from factdrift.wikidata.ids import entity_id, entity_number
from factdrift.wikidata.time import DAY, MONTH, YEAR, Time, covered, parse_time

_AMOUNT = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]*))?")
_PREFIXES = {"item": "Q", "property": "P"}
_ENCODE = msgspec.json.Encoder(order="sorted").encode
_FURTHEST_YEAR = 10**14
"""Years beyond it (the universe is 10**10 old) would not fit the packed 64-bit form of a date."""

_MOST_PRECISE = 14

_NAMING = ("time", "amount", "text", "id")
"""Fields of a value that name it."""


class Value(NamedTuple):
    """A datavalue in the forms that the tables hold.

    `object`: the number of an entity (`factdrift.wikidata.ids`), else None. `key`: the canonical key. `json`:
    the canonical JSON, None for entities with a number. `time`: the date, if it is one and can be read.
    """

    object: int | None
    key: str
    json: str | None
    time: Time | None


def canonical_json(value: object) -> str:
    """JSON with sorted keys, no white space and unescaped text: equal strings for equal JSON values."""
    return _ENCODE(value).decode()


def read_value(kind: str, value: object) -> Value:
    """Reads the `type` (`kind`) and `value` of a datavalue; never fails.

    The key of an unknown kind, and of a value that is not of its kind's form (an impossible date, an entity
    without a usable id), is its canonical JSON.
    """
    if kind == "wikibase-entityid" and (entity := _entity(value)):
        return entity
    value = clean_value(value)
    json = canonical_json(value)
    if kind == "time":
        time, date = _dated(value) or (None, json)
        return Value(None, date, json, time)
    key = _KEYS[kind](value) if kind in _KEYS else None
    return Value(None, json if key is None else key, json, None)


def clean_value(value: Any) -> Any:
    """The `value` of a datavalue with clean texts: of a string, and of a text in a language."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict) and isinstance(value.get("text"), str):
        return {**value, "text": clean(value["text"])}
    return value


def text_of(value: Any) -> str | None:
    """The text that a value itself carries: a string, or the field that names it; None if it is JSON only."""
    if isinstance(value, dict):
        value = next((value[name] for name in _NAMING if isinstance(value.get(name), str)), None)
    return value if isinstance(value, str) else None


def decimal_key(amount: str) -> str | None:
    """`+10.0` -> `10`, `-0` -> `0`, `+0.50` -> `0.5`; None if it is no decimal number."""
    if (match := _AMOUNT.fullmatch(amount)) is None:
        return None
    sign, whole, fraction = match[1], match[2].lstrip("0") or "0", (match[3] or "").rstrip("0")
    digits = f"{whole}.{fraction}" if fraction else whole
    return f"-{digits}" if sign == "-" and digits != "0" else digits


def read_time(value: object) -> Time | None:
    """The date of a `time` datavalue; None if it cannot be read."""
    found = _dated(value)
    return found[0] if found else None


def _dated(value: object) -> tuple[Time, str] | None:
    """The date of a `time` datavalue and its canonical key; None if it cannot be read."""
    if not isinstance(value, dict):
        return None
    timestamp, precision, calendar = value.get("time"), value.get("precision"), value.get("calendarmodel", "")
    if not (isinstance(timestamp, str) and type(precision) is int and isinstance(calendar, str)):
        return None
    return _date(timestamp, precision, calendar)


@lru_cache(maxsize=1 << 16)
def _date(timestamp: str, precision: int, calendar: str) -> tuple[Time, str] | None:
    """The key is the date truncated to its precision, the precision, the calendar: `+1990-03/10/Q1985727`.

    Only precisions finer than a day keep the time of day. The year of a span longer than a year is its first
    one, whichever year of the span was written.
    """
    if not 0 <= precision <= _MOST_PRECISE:
        return None
    try:
        time = parse_time(timestamp, precision, calendar)
    except ValueError:
        return None
    if abs(time.year) >= _FURTHEST_YEAR:
        return None
    year = time.year
    if precision < YEAR:
        year = covered(year, time.month, time.day, precision)[0][0]
    date = f"{year:+05d}"
    if precision >= MONTH:
        date += f"-{time.month:02d}"
    if precision >= DAY:
        date += f"-{time.day:02d}"
    if precision > DAY:
        date += timestamp[-len("T00:00:00Z") :]
    return time, f"{date}/{precision}/{_last_segment(calendar)}"


def _entity(value: Any) -> Value | None:
    """An entity by its `id`, or, in old dumps, by `entity-type` and `numeric-id`; None if it has neither."""
    if not isinstance(value, dict):
        return None
    named = value.get("id")
    if isinstance(named, str) and named:
        return _numbered(named) or Value(None, named, canonical_json(value), None)
    kind, numeric = value.get("entity-type"), value.get("numeric-id")
    prefix = _PREFIXES.get(kind) if isinstance(kind, str) else None
    number = entity_number(f"{prefix}{numeric}") if prefix and type(numeric) is int else None
    return Value(number, entity_id(number), None, None) if number else None


@lru_cache(maxsize=1 << 16)
def _numbered(named: str) -> Value | None:
    """The entity of an id; None for lexemes, forms, senses and schemas, which have no number."""
    number = entity_number(named)
    return Value(number, entity_id(number), None, None) if number else None


def _quantity(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    amount, unit = value.get("amount"), value.get("unit", "1")
    if not (isinstance(amount, str) and isinstance(unit, str)):
        return None
    key = decimal_key(amount)
    return key if key is None or unit == "1" else f"{key} {_last_segment(unit)}"


def _monolingual(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    language, text = value.get("language"), value.get("text")
    return f"{language}:{text}" if isinstance(language, str) and isinstance(text, str) else None


def _last_segment(uri: str) -> str:
    """`http://www.wikidata.org/entity/Q11573` -> `Q11573`: a unit is the same under any host."""
    return uri.rpartition("/")[2]


_KEYS: dict[str, Callable[[Any], str | None]] = {
    "quantity": _quantity,
    "monolingualtext": _monolingual,
    "string": lambda value: value if isinstance(value, str) else None,
}
"""Kind of a literal -> its canonical key; None for a value that is not of its form."""
