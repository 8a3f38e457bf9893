"""Reads rows of the sample's tab-separated tables; what is wrong is named with file and line."""

import csv
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import TypeVar

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.paths import SAMPLE

T = TypeVar("T")
Row = dict[str, str]
"""A row's cells by column."""


def read_rows(paths: Iterable[Path], columns: str, use: Callable[[Row], T]) -> list[T]:
    """What `use` makes of each row of tables that have exactly these columns (separated by blanks).

    Raises InputError that names the first file without these columns, or the first line that cannot be used.
    """
    made = []
    for path in paths:
        lines = csv.DictReader(utf8_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
        if sorted(lines.fieldnames or []) != sorted(columns.split()):
            raise InputError(f"{path}: has other columns than {columns}; write these")
        for row in lines:
            try:
                if len(row) != len(columns.split()) or None in row.values():
                    raise ValueError("has another number of cells than the header")
                made.append(use(row))
            except LookupError as error:
                raise InputError(f"{path}, line {lines.line_num}: {error} is unknown; correct it") from error
            except ValueError as error:
                raise InputError(f"{path}, line {lines.line_num}: {error}; correct it") from error
    return made


@cache
def other_sites() -> tuple[str, ...]:
    """The sites besides the English Wikipedia to which items link, in the order in which they are used.

    They are those of the bundled sample, also for tables of one's own.
    """
    return tuple(utf8_lines(SAMPLE / "sites.tsv")[1:])
