"""Values as the sample's tables write them, turned into Wikibase's snaks.

Every function raises ValueError, with the remedy in its message, for text that it cannot read.
"""

import re
from typing import Any, NamedTuple, Self

from factdrift.wikidata.ids import entity_number, property_number
from factdrift.wikidata.time import DAY, JULIAN_CALENDAR, MONTH, YEAR, Time, covered, pack, parse_time

ENTITY_URL = "http://www.wikidata.org/entity/"
GREGORIAN_CALENDAR = "Q1985727"
NO_UNIT = "1"
EARTH = "Q2"
DECADE, CENTURY = 8, 7

DATATYPES = sorted(
    [
        *("wikibase-item", "wikibase-property", "wikibase-lexeme", "wikibase-form", "wikibase-sense"),
        *("time", "quantity", "monolingualtext", "globe-coordinate", "string", "external-id", "url"),
        *("commonsMedia", "math", "musical-notation", "geo-shape", "tabular-data"),
    ]
)
"""The datatypes whose values the tables can hold."""
_ENTITY = "wikibase-entityid"

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
    if match := _FULL_DAY.fullmatch(text):
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
    value = {"time": timestamp, "timezone": 0, "before": 0, "after": 0}
    value |= {"precision": precision, "calendarmodel": calendar}
    return value, parse_time(timestamp, precision, calendar)


def parse_snak(property_: int, datatype: str, text: str) -> Snak:
    """The value text of a property of this datatype, one of DATATYPES; `somevalue` and `novalue` fit each."""
    if text in ("somevalue", "novalue"):
        return Snak(property_, text, datatype)
    if not text or text != text.strip():
        raise ValueError(f"the value {text!r} is empty or begins or ends with a blank; write the value alone")
    type_, item, time = _ENTITY, None, None
    value: Any
    match datatype:
        case "wikibase-item":
            item = item_number(text)
            value = item_value(item)
        case "wikibase-property":
            value = {"entity-type": "property", "numeric-id": property_number(text), "id": text}
        case "wikibase-lexeme" | "wikibase-form" | "wikibase-sense":
            lexeme = _matched(_LEXEME, text)
            value = {"entity-type": "lexeme", "numeric-id": int(lexeme[1]), "id": text}
            if lexeme[2]:
                value = {"entity-type": "form" if lexeme[2][1] == "F" else "sense", "id": text}
        case "time":
            type_ = "time"
            value, time = parse_time_text(text)
        case "quantity":
            quantity = _matched(_QUANTITY, text)
            type_, unit = "quantity", quantity[2]
            item = item_number(unit) if unit else None
            value = {"amount": quantity[1], "unit": f"{ENTITY_URL}{unit}" if unit else NO_UNIT}
        case "monolingualtext":
            written = _matched(_TEXT, text)
            type_, value = "monolingualtext", {"text": written[2], "language": written[1]}
        case "globe-coordinate":
            latitude, longitude = map(float, _matched(_COORDINATE, text).groups())
            type_, value = "globecoordinate", {"latitude": latitude, "longitude": longitude}
            value |= {"altitude": None, "precision": None, "globe": ENTITY_URL + EARTH}
        case _:
            type_, value = "string", text
    return Snak(property_, "value", datatype, type_, value, item, time)


def _matched(pattern: re.Pattern[str], text: str) -> re.Match[str]:
    """The match of a whole text; ValueError if there is none."""
    if (match := pattern.fullmatch(text)) is None:
        raise ValueError(f"{text!r} is not written as its datatype is ({pattern.pattern})")
    return match


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
