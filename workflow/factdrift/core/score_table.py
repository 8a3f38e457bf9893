"""Tables of scores as text, of declared columns: the best of each is underlined, clear failures are marked.

COLUMNS = (
    Column("n", count("answers")),
    Column("Right", share("right", "answers", ends=True), HIGHER, fails=50),
)
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from factdrift.core.columns import Row
from factdrift.core.intervals import Interval
from factdrift.core.screen import grid

HIGHER, LOWER = 1, -1
"""Which numbers of a column are better."""


UNDERLINED = "_5.0_: the best of its column, ties together; the unedited model takes no part."


class Cell(NamedTuple):
    """A number as a table prints it, with its value and its 95 % interval where they are known."""

    text: str = "-"
    spread: str = ""
    """What follows the number: `±2.0` or `[4.9, 87.6]`."""
    value: float | None = None
    low: float | None = None
    high: float | None = None


class Column(NamedTuple):
    """A column of a table."""

    title: str
    cell: Callable[[Any], Cell]
    """The cell of a row."""
    better: int = 0
    """HIGHER or LOWER; 0 if no number of it is better than another, so that none is underlined."""
    fails: float | None = None
    """A number is a clear failure if its whole interval is worse than this one."""
    optional: bool = False
    """Whether tables leave it out where no row has a value (`shown`)."""


class Line(NamedTuple):
    """A line of a table."""

    name: str
    row: Any
    rival: bool = True
    """Whether it can be the best of a column: the unedited model, which others are compared with, cannot."""
    among: Any = ""
    """The lines with the same value are compared with each other, such as those of one model."""


def count(name: str) -> Callable[[Row], Cell]:
    """The cell of a whole number."""
    return lambda row: Cell(f"{row[name]:,}")


def share(
    part: str, whole: str, *, known: str = "", ends: bool = False, empty: str = "-"
) -> Callable[[Row], Cell]:
    """The cell of a share in percent: of the columns `part` and `whole`, or of `part` alone if `whole` is "".

    `known`: the column that must not be 0 or null, else the cell is `empty`; that is `whole` by default.
    `ends`: with the interval from the columns `PART_low` and `PART_high`.
    """

    def cell(row: Row) -> Cell:
        if not row.get(known or whole):
            return Cell(empty)
        value = 100 * (row[part] / row[whole] if whole else row[part])
        if not ends:
            return Cell(f"{value:.1f}", value=value)
        low, high = (100 * row[f"{part}_{end}"] for end in ("low", "high"))
        return Cell(f"{value:.1f}", f"[{low:.1f}, {high:.1f}]", value, low, high)

    return cell


def mean(interval: Interval | None, number: str = ".1f", width: str = ".1f") -> Cell:
    """The cell of a mean with half the width of its interval, each in a format."""
    if interval is None:
        return Cell()
    text = f"{interval.mean:{number}}"
    if math.isnan(interval.half):
        return Cell(text, value=interval.mean)
    ends = (interval.mean - interval.half, interval.mean + interval.half)
    return Cell(text, f"±{interval.half:{width}}", interval.mean, *ends)


def bounded(value: float | None, low: float | None, high: float | None, number: str = ".2f") -> Cell:
    """The cell of a value, in a format, with the ends of its interval where they are known."""
    if value is None:
        return Cell()
    spread = "" if low is None or high is None else f"[{low:.2f}, {high:.2f}]"
    return Cell(f"{value:{number}}", spread, value, low, high)


def shown(columns: Iterable[Column], rows: Sequence[Any]) -> list[Column]:
    """The columns, with the optional columns that have a value in some row."""
    return [
        column
        for column in columns
        if not column.optional or any(column.cell(row).value is not None for row in rows)
    ]


def table(first: str, columns: Iterable[Column], lines: Sequence[Line]) -> Iterator[str]:
    """A table as aligned text with the names of its lines in the column `first`."""
    columns = list(columns)
    texts = [[line.name for line in lines], *(_texts(column, lines) for column in columns)]
    yield from grid([first, *(column.title for column in columns)], list(zip(*texts, strict=True)))


def explained(lines: Iterable[str]) -> Iterator[str]:
    """The lines of tables; below them, what an underlined number means, if there is one."""
    underlined = False
    for line in lines:
        underlined = underlined or re.search(r"(?<!\S)_\S+_(?!\w)", line) is not None
        yield line
    if underlined:
        yield UNDERLINED


def rules(*tables: Iterable[Column]) -> Iterator[str]:
    """What the marks of some tables mean, as lines for below them."""
    columns = [column for columns in tables for column in columns]
    if any(column.better for column in columns):
        yield UNDERLINED
    bounds: dict[str, dict[str, None]] = {}
    for column in columns:
        if column.fails is not None:
            side = "below" if column.better == HIGHER else "above"
            bounds.setdefault(f"{side} {column.fails:g}", {})[column.title] = None
    if bounds:
        named = "; ".join(f"{bound} in {', '.join(titles)}" for bound, titles in bounds.items())
        yield f"5.0!: a clear failure, since the whole 95 % interval is {named}."


def _texts(column: Column, lines: Sequence[Line]) -> list[str]:
    """The cells of a column with their marks; what is printed alike is a tie."""
    cells = [column.cell(line.row) for line in lines]
    rivals: dict[Any, list[Cell]] = {}
    for cell, line in zip(cells, lines, strict=True):
        if column.better and line.rival and cell.value is not None and math.isfinite(cell.value):
            rivals.setdefault(line.among, []).append(cell)
    best = {
        among: max(own, key=lambda cell: column.better * (cell.value or 0)).text
        for among, own in rivals.items()
        if len(own) > 1
    }
    return [
        _text(cell, line.rival and cell.text == best.get(line.among), line.rival and _fails(column, cell))
        for cell, line in zip(cells, lines, strict=True)
    ]


def _fails(column: Column, cell: Cell) -> bool:
    if column.fails is None or cell.low is None or cell.high is None:
        return False
    return cell.high < column.fails if column.better == HIGHER else cell.low > column.fails


def _text(cell: Cell, best: bool, fails: bool) -> str:
    number = f"_{cell.text}_" if best else cell.text
    return " ".join(filter(None, (f"{number}!" if fails else number, cell.spread)))
