"""Reads rows of the sample's tab-separated tables, collecting all problems instead of raising the first."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.paths import SAMPLE

SHOWN_PROBLEMS = 30

T = TypeVar("T")


class Place(NamedTuple):
    """A row of a table."""

    file: Path
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True, slots=True)
class Row:
    """A row's cells by column."""

    place: Place
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells[column]


class Problems:
    """What is wrong with the tables, in the order in which it was found."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, place: Place, column: str, what: str) -> None:
        self.found.append(f"{place}, column {column}: {what}")

    def read(self, row: Row, column: str, read: Callable[[str], T], empty: T) -> T:
        """`read` applied to a cell; `empty` if the cell is empty or `read` raises ValueError."""
        cell = row.cells[column]
        if not cell:
            return empty
        try:
            return read(cell)
        except ValueError as error:
            self.add(row.place, column, str(error))
            return empty

    def finish(self) -> None:
        """Raises InputError if there is any problem."""
        if self.found:
            others = len(self.found) - SHOWN_PROBLEMS
            shown = self.found[:SHOWN_PROBLEMS] + ([f"... and {others} more"] if others > 0 else [])
            raise InputError("\n".join(shown))


def read_rows(paths: Iterable[Path], columns: str, problems: Problems) -> list[Row]:
    """The rows of tables that have exactly these columns (separated by blanks), in any order.

    Raises InputError if a file cannot be read; what is wrong inside becomes a problem.
    """
    rows: list[Row] = []
    names = columns.split()
    for path in paths:
        try:
            header, *lines = utf8_lines(path) or [""]
        except OSError as error:
            raise InputError(
                f"{path}: cannot be read ({error.strerror}); name the folder of the sample"
            ) from error
        given = header.split("\t")
        if sorted(given) != sorted(names):
            wrong = [f"unknown {name!r}" for name in given if name not in names]
            wrong += [f"missing {name!r}" for name in names if name not in given]
            what = f"{', '.join(wrong) or 'a name occurs twice'}; write {columns}"
            problems.add(Place(path, 1), "header", what)
            continue
        for number, line in enumerate(lines, start=2):
            if line.strip():
                row = _row(Place(path, number), given, line.split("\t"), problems)
                if row is not None:
                    rows.append(row)
    return rows


@cache
def other_sites() -> tuple[str, ...]:
    """The sites besides the English Wikipedia to which items link, in the order in which they are used.

    They are those of the bundled sample, also for tables of one's own.
    """
    return tuple(utf8_lines(SAMPLE / "sites.tsv")[1:])


def _row(place: Place, header: list[str], cells: list[str], problems: Problems) -> Row | None:
    if len(cells) != len(header):
        what = f"{len(cells)} cells under {len(header)} columns; add the missing cells or take tabs out"
        problems.add(place, "row", what)
        return None
    row = Row(place, dict(zip(header, cells, strict=True)))
    for column, cell in row.cells.items():
        if cell != cell.strip():
            problems.add(place, column, f"{cell!r} begins or ends with a blank; take it off")
            return None
    if not row["source"]:
        problems.add(place, "source", "is empty; say where the row comes from")
    return row
