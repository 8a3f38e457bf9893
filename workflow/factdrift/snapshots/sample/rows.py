"""Reads rows of the sample's tab-separated tables; what is wrong is named with file, line and column."""

from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.paths import SAMPLE

T = TypeVar("T")


class Row(dict[str, str]):
    """A row's cells by column; `place`: file and line."""

    def __init__(self, where: str, cells: Iterable[tuple[str, str]]) -> None:
        super().__init__(cells)
        self.where = where

    def fault(self, column: str, what: str) -> InputError:
        """The error about a cell; `what` says what is wrong, and the remedy."""
        return InputError(f"{self.where}, column {column}: {what}")

    def read(self, column: str, read: Callable[[str], T], empty: T) -> T:
        """`read` applied to a cell; `empty` for an empty cell. A ValueError becomes the fault of the cell."""
        cell = self[column]
        return self._value(column, read, cell) if cell else empty

    def needed(self, column: str, read: Callable[[str], T]) -> T:
        """As `read`, of a cell that may not be empty."""
        if not (cell := self[column]):
            raise self.fault(column, "is empty; every row needs one")
        return self._value(column, read, cell)

    def _value(self, column: str, read: Callable[[str], T], cell: str) -> T:
        try:
            return read(cell)
        except ValueError as error:
            raise self.fault(column, str(error)) from None


def read_rows(paths: Iterable[Path], columns: str) -> list[Row]:
    """The rows of tables that have exactly these columns (separated by blanks), in any order.

    Raises InputError that names the first file that cannot be read, or the first cell that cannot be used.
    """
    rows: list[Row] = []
    names = columns.split()
    for path in paths:
        try:
            header, *lines = utf8_lines(path) or [""]
        except OSError as error:
            why = f"cannot be read ({error.strerror})"
            raise InputError(f"{path}: {why}; name the folder of the sample") from error
        present = header.split("\t")
        if sorted(present) != sorted(names):
            wrong = [f"unknown {name!r}" for name in present if name not in names]
            wrong += [f"missing {name!r}" for name in names if name not in present]
            what = f"{', '.join(wrong) or 'a name occurs twice'}; write {columns}"
            raise InputError(f"{path}, line 1, column header: {what}")
        for number, line in enumerate(lines, start=2):
            if not line.strip():
                continue
            cells = line.split("\t")
            row = Row(f"{path}, line {number}", zip(present, cells, strict=False))
            if len(cells) != len(present):
                remedy = "add the missing cells or take tabs out"
                raise row.fault("row", f"{len(cells)} cells under {len(present)} columns; {remedy}")
            if cells != [*map(str.strip, cells)]:
                column = next(name for name, cell in row.items() if cell != cell.strip())
                raise row.fault(column, f"{row[column]!r} begins or ends with a blank; take it off")
            if not row["source"]:
                raise row.fault("source", "is empty; say where the row comes from")
            rows.append(row)
    return rows


@cache
def other_sites() -> tuple[str, ...]:
    """The sites besides the English Wikipedia to which items link, in the order in which they are used.

    They are those of the bundled sample, also for tables of one's own.
    """
    return tuple(utf8_lines(SAMPLE / "sites.tsv")[1:])
