"""Charts of columns, such as the updates of each month, which pages draw by the template `columns.html`."""

import datetime
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

MOST_COLUMNS = 120
"""The time line has a column a month, or a column a year where that would be more columns than this."""


class Axis(NamedTuple):
    """What a column is, `ticks` with position (0 to the number of bars) and text, and what is counted."""

    title: str
    ticks: Sequence[tuple[float, str]]
    unit: str


def chart(
    bars: Sequence[tuple[str, int, int]],
    axis: Axis,
    names: Mapping[str, str],
    links: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """What the template draws; `bars`: a label and the amounts above and below the line, in one scale.

    `names`: of the amounts, with the colour of each. `links`: label -> the address to which its column leads.
    """
    highest, deepest = max(above for _, above, _ in bars), max(below for *_, below in bars)
    steps = (factor * 10**power for power in itertools.count() for factor in (1, 2, 5))
    step = next(step for step in steps if max(highest, deepest) <= 4 * step)
    return {
        "bars": bars,
        "axis": axis,
        "names": names,
        "highest": highest,
        "deepest": deepest,
        "levels": [*range(0, highest + 1, step), *range(-step, -deepest - 1, -step)],
        "most": max(above + below for _, above, below in bars),
        "links": links or {},
    }


def periods(old: str, new: str) -> list[str]:
    """The months from that of a day to that of a later one, or the years where there are too many months."""
    months = list(months_of(old, new))
    return months if len(months) <= MOST_COLUMNS else list(dict.fromkeys(month[:4] for month in months))


def months_of(old: str, new: str) -> Iterator[str]:
    """Yields the months (2021-01) from that of a day to that of a later one."""
    first, last = (datetime.date.fromisoformat(day) for day in (old, new))
    for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        yield f"{number // 12:04}-{number % 12 + 1:02}"


def ticks(names: Iterable[str]) -> Iterator[tuple[float, str]]:
    """The marks of an axis of months, at each January, or of years, some six of them."""
    every = max(len([*names]) // 6, 1)
    for index, name in enumerate(names):
        if name.endswith("-01") or (len(name) == 4 and int(name) % every == 0):
            yield index + 0.5, name[:4]
