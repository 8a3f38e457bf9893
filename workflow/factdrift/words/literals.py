"""Literal values (dates, quantities, texts) as people write them."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from factdrift.wikidata.text import one_line
from factdrift.wikidata.time import parse_time
from factdrift.words.dates import written_date
from factdrift.words.quantities import (
    Units,
    parse_amount,
    short_number,
    unit_number,
    with_unit,
    written_number,
)


class Shown(NamedTuple):
    """A literal in three forms.

    `label`: as people write it. `short`: the same but for large amounts (`125.44M`). `raw`: the value's own
    text (`+2022-09-08T00:00:00Z`, `+125440000`), without unit, precision or language.
    """

    label: str
    short: str
    raw: str


def shown(datatype: str, value: str, units: Units) -> Shown:
    """The forms of a literal.

    `datatype` is the property's datatype, `value` the JSON of the datavalue's value, `units` names the units.
    Never fails: a value that is not formed as its datatype wants is shown in its raw form, and what is no
    literal known here as its id or, failing that, as its JSON.
    """
    try:
        decoded: Any = json.loads(value)
    except (ValueError, RecursionError):
        return Shown(one_line(value), one_line(value), value)
    raw = _raw(decoded, value)
    try:
        if datatype == "time":
            return _time(decoded, raw)
        if datatype == "quantity":
            return _quantity(decoded, raw, units)
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    label = one_line(raw)
    return Shown(label, label, raw)


def _raw(decoded: Any, value: str) -> str:
    """The text that the value itself carries: a string, or the field that names it; else its JSON."""
    if isinstance(decoded, str):
        return decoded
    if isinstance(decoded, dict):
        for field in ("time", "amount", "text", "id"):
            if isinstance(decoded.get(field), str):
                return str(decoded[field])
    return value


def _time(decoded: Any, raw: str) -> Shown:
    precision = decoded["precision"]
    if not isinstance(precision, int) or not 0 <= precision <= 14:
        raise ValueError(f"no precision: {precision!r}")
    label = written_date(parse_time(decoded["time"], precision, decoded.get("calendarmodel", "")))
    label = label or one_line(raw)
    return Shown(label, label, raw)


def _quantity(decoded: Any, raw: str, units: Units) -> Shown:
    number = parse_amount(decoded["amount"])
    if number is None:
        raise ValueError(f"no amount: {raw!r}")
    unit = unit_number(decoded.get("unit", "1"))
    is_one = abs(number) == 1
    return Shown(
        with_unit(written_number(number), unit, units, is_one),
        with_unit(short_number(number), unit, units, is_one),
        raw,
    )
