"""Reads rows of the sample's tab-separated tables, collecting all problems instead of raising the first."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TypeVar

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.paths import SAMPLE

SHOWN_PROBLEMS = 30

T = TypeVar("T")


class Row(dict[str, str]):
    """A row's cells by column; `place`: file and line."""

    def __init__(self, place: str, cells: Mapping[str, str]) -> None:
        super().__init__(cells)
        self.place = place


class Problems:
    """What is wrong with the tables, in the order in which it was found."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def add(self, place: str, column: str, what: str) -> None:
        self.found.append(f"{place}, column {column}: {what}")

    def read(
        self, row: Row, column: str, read: Callable[[str], T], empty: T, *, needed: str | None = None
    ) -> T:
        """`read` applied to a cell; `empty` if `read` raises ValueError, or the cell is empty.

        `needed`: what says that an empty cell is a problem.
        """
        if not row[column]:
            if needed:
                self.add(row.place, column, f"is empty; {needed}")
            return empty
        try:
            return read(row[column])
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
            problems.add(f"{path}, line 1", "header", what)
            continue
        for number, line in enumerate(lines, start=2):
            place, cells = f"{path}, line {number}", line.split("\t")
            padded = [name for name, cell in zip(given, cells, strict=False) if cell != cell.strip()]
            if not line.strip():
                continue
            if len(cells) != len(given):
                remedy = "add the missing cells or take tabs out"
                problems.add(place, "row", f"{len(cells)} cells under {len(given)} columns; {remedy}")
            elif padded:
                problems.add(place, padded[0], "the cell begins or ends with a blank; take it off")
            else:
                rows.append(Row(place, dict(zip(given, cells, strict=True))))
                if not rows[-1]["source"]:
                    problems.add(place, "source", "is empty; say where the row comes from")
    return rows


@cache
def other_sites() -> tuple[str, ...]:
    """The sites besides the English Wikipedia to which items link, in the order in which they are used.

    They are those of the bundled sample, also for tables of one's own.
    """
    return tuple(utf8_lines(SAMPLE / "sites.tsv")[1:])
