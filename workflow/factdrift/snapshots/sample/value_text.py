"""Values as the sample's tables write them, turned into Wikibase's snaks.

Every function raises ValueError, with the remedy in its message, for text that it cannot read.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple, Self

from factdrift.wikidata.ids import entity_number, property_number
from factdrift.wikidata.time import DAY, JULIAN_CALENDAR, MONTH, YEAR, Time, covered, pack, parse_time

ENTITY_URL = "http://www.wikidata.org/entity/"
GREGORIAN_CALENDAR = "Q1985727"
NO_UNIT = "1"
EARTH = "Q2"
DECADE, CENTURY = 8, 7

_DATE = re.compile(r"(-?)(\d{4,16})(?:-(\d\d)(?:-(\d\d))?)?(?:/(\d{1,2}))?")
_DECADE = re.compile(r"(-?)(\d{3,})0s")
_CENTURY = re.compile(r"c(-?)(\d{1,3})")
_QUANTITY = re.compile(r"([+-]\d+(?:\.\d+)?)(?: (Q[1-9]\d*))?")
_COORDINATE = re.compile(r"(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?)")
_TEXT = re.compile(r"([a-z]{2,}(?:-[a-z0-9]+)*):(\S.*)")
_LEXEME = re.compile(r"L([1-9]\d*)(-[FS][1-9]\d*)?")
_FULL_DAY = re.compile(r"(\d{4})-(\d\d)-(\d\d)")


class Snak(NamedTuple):
    """A property with a value, some value or no value.

    `kind` is Wikibase's snaktype. `type` and `value` are the datavalue's, the value ready for JSON; `item` is
    the item that the value names, as object or unit, which may be replaced by a redirect's target; `time` is
    the value of a date. All four are None where they do not apply.
    """

    property: int
    kind: str
    datatype: str
    type: str | None = None
    value: Any = None
    item: int | None = None
    time: Time | None = None

    def redirected(self, item: int) -> Self:
        """The same snak with another item in the place of `item`."""
        if self.type == "quantity":
            return self._replace(item=item, value=self.value | {"unit": f"{ENTITY_URL}Q{item}"})
        return self._replace(item=item, value=item_value(item))


def item_value(item: int) -> dict[str, Any]:
    """42 -> the entity value of Q42."""
    return {"entity-type": "item", "numeric-id": item, "id": f"Q{item}"}


def item_number(text: str) -> int:
    """`Q42` -> 42."""
    number = entity_number(text)
    if number is None or number <= 0:
        raise ValueError(f"{text!r} is no item id; write one such as Q42")
    return number


def parse_day(text: str) -> int:
    """`2021-01-04` -> 20210104; it must be a day of the calendar."""
    match = _FULL_DAY.fullmatch(text)
    if match:
        year, month, day = (int(field) for field in match.groups())
        if year and _is_day(year, month, day):
            return pack(year, month, day)
    raise ValueError(f"{text!r} is no day; write one such as 2021-01-04")


def parse_time_text(text: str) -> tuple[dict[str, Any], Time]:
    """A date as the tables write it -> Wikibase's time value and what `parse_time` makes of it.

    `1990-03-02`, `1990-03`, `1990`, `1990s` (decade), `c20` (20th century), a leading `-` for years before
    Christ (`-0044-03-15`, `-0340s`, `c-3`), a trailing ` julian`. `fields/precision` states a date whose
    fields are not checked against its precision, as in `1990-01-01/9`.
    """
    date = text.removesuffix(" julian")
    year, month, day, precision = _fields(date, julian=date != text)
    timestamp = f"{'-' if year < 0 else '+'}{abs(year):04d}-{month:02d}-{day:02d}T00:00:00Z"
    calendar = ENTITY_URL + (GREGORIAN_CALENDAR if date == text else JULIAN_CALENDAR)
    value = {
        "time": timestamp,
        "timezone": 0,
        "before": 0,
        "after": 0,
        "precision": precision,
        "calendarmodel": calendar,
    }
    return value, parse_time(timestamp, precision, calendar)


def parse_snak(property_: int, datatype: str, text: str) -> Snak:
    """The value text of a property of this datatype, one of DATATYPES; `somevalue` and `novalue` fit each."""
    if text in ("somevalue", "novalue"):
        return Snak(property_, text, datatype)
    if not text or text != text.strip():
        raise ValueError(f"the value {text!r} is empty or begins or ends with a blank; write the value alone")
    return _READERS[datatype](Snak(property_, "value", datatype), text)


def _fields(date: str, julian: bool) -> tuple[int, int, int, int]:
    """Year, month, day and precision of a date without its calendar."""
    if match := _DECADE.fullmatch(date):
        year, precision = int(match[2]) * 10, DECADE
    elif match := _CENTURY.fullmatch(date):
        year, precision = int(match[2]) * 100, CENTURY
    elif match := _DATE.fullmatch(date):
        year, month, day = int(match[2]), int(match[3] or 0), int(match[4] or 0)
        if year == 0:
            raise ValueError(f"{date!r}: there is no year 0; the year before 1 is -0001")
        year = -year if match[1] else year
        if match[5]:
            if int(match[5]) > 14 or month > 12 or day > 31:
                raise ValueError(f"{date!r}: month, day or precision is out of range; write fields/precision")
            return year, month, day, int(match[5])
        if (match[3] and not 1 <= month <= 12) or (match[4] and not _is_day(year, month, day, julian)):
            raise ValueError(f"{date!r} is no day or month; an impossible date is written {date}/11")
        return year, month, day, DAY if match[4] else MONTH if match[3] else YEAR
    else:
        raise ValueError(
            f"{date!r} is no date; write 1990-03-02, 1990-03, 1990, 1990s, c20, -0044-03-15 or 1990-01-01/9, "
            "with ' julian' after it for the Julian calendar"
        )
    if year == 0:
        raise ValueError(f"{date!r}: there is no year 0")
    return (-year if match[1] else year), 0, 0, precision


def _is_day(year: int, month: int, day: int, julian: bool = False) -> bool:
    return 1 <= month <= 12 and 1 <= day <= covered(year, month, 1, MONTH, julian)[1][2]


def _item(snak: Snak, text: str) -> Snak:
    item = item_number(text)
    return snak._replace(type="wikibase-entityid", value=item_value(item), item=item)


def _property(snak: Snak, text: str) -> Snak:
    number = property_number(text)
    value = {"entity-type": "property", "numeric-id": number, "id": text}
    return snak._replace(type="wikibase-entityid", value=value)


def _lexeme(snak: Snak, text: str) -> Snak:
    match = _LEXEME.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no lexeme, form or sense; write L1, L1-F1 or L1-S1")
    value: dict[str, Any]
    if match[2]:
        value = {"entity-type": "form" if match[2][1] == "F" else "sense", "id": text}
    else:
        value = {"entity-type": "lexeme", "numeric-id": int(match[1]), "id": text}
    return snak._replace(type="wikibase-entityid", value=value)


def _time(snak: Snak, text: str) -> Snak:
    value, time = parse_time_text(text)
    return snak._replace(type="time", value=value, time=time)


def _quantity(snak: Snak, text: str) -> Snak:
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no quantity; write +125440000 or, with a unit, '+643801 Q712226'")
    unit = item_number(match[2]) if match[2] else None
    value = {"amount": match[1], "unit": f"{ENTITY_URL}{match[2]}" if match[2] else NO_UNIT}
    return snak._replace(type="quantity", value=value, item=unit)


def _monolingual_text(snak: Snak, text: str) -> Snak:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} has no language; write the text as en:Text")
    return snak._replace(type="monolingualtext", value={"text": match[2], "language": match[1]})


def _coordinate(snak: Snak, text: str) -> Snak:
    match = _COORDINATE.fullmatch(text)
    if match is None or abs(float(match[1])) > 90 or abs(float(match[2])) > 360:
        raise ValueError(f"{text!r} is no place on Earth; write latitude,longitude in degrees as 51.5,-0.12")
    value = {
        "latitude": float(match[1]),
        "longitude": float(match[2]),
        "altitude": None,
        "precision": None,
        "globe": ENTITY_URL + EARTH,
    }
    return snak._replace(type="globecoordinate", value=value)


def _string(snak: Snak, text: str) -> Snak:
    return snak._replace(type="string", value=text)


_READERS: dict[str, Callable[[Snak, str], Snak]] = {
    "wikibase-item": _item,
    "wikibase-property": _property,
    "wikibase-lexeme": _lexeme,
    "wikibase-form": _lexeme,
    "wikibase-sense": _lexeme,
    "time": _time,
    "quantity": _quantity,
    "monolingualtext": _monolingual_text,
    "globe-coordinate": _coordinate,
    **dict.fromkeys(("string", "external-id", "url", "commonsMedia", "math", "musical-notation"), _string),
    **dict.fromkeys(("geo-shape", "tabular-data"), _string),
}
DATATYPES = sorted(_READERS)
