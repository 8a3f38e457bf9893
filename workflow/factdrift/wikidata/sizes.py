"""Known sizes of Wikidata's dumps: resources/costs/dumps.tsv."""

import datetime
import itertools

from factdrift.core.files import read_tsv
from factdrift.core.paths import COSTS


def dump_bytes(date: str) -> float:
    """Estimated bytes of Wikidata's .json.gz dump of a date, interpolated or extrapolated from known
    sizes."""
    known, day = _known("gb"), _day(date)
    pairs = list(itertools.pairwise(known))
    begin, end = next((pair for pair in pairs if day <= pair[1][0]), pairs[-1])
    return 1e9 * max(_on_line(begin, end, day), known[0][1] / 10)


def dump_entities(date: str) -> int | None:
    """Estimated number of entities in Wikidata's dump of a date, right within some percent.

    None for dates before or after those of the dumps whose entities somebody has counted.
    """
    day = _day(date)
    for begin, end in itertools.pairwise(_known("entities")):
        if begin[0] <= day <= end[0]:
            return round(_on_line(begin, end, day))
    return None


Point = tuple[int, float]
"""A day as a number, and an amount."""


def _known(column: str) -> list[Point]:
    """The days of the dumps of which an amount is known, with the amount."""
    rows = read_tsv(COSTS / "dumps.tsv")
    return [(_day(row["date"]), float(row[column])) for row in rows if row[column]]


def _day(date: str) -> int:
    return datetime.date.fromisoformat(date).toordinal()


def _on_line(begin: Point, end: Point, day: int) -> float:
    return begin[1] + (end[1] - begin[1]) * (day - begin[0]) / (end[0] - begin[0])
