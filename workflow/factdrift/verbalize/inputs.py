"""What the verbs of this stage read besides Parquet tables: tab-separated files, checked line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from factdrift.settings import InputError


def rows_of(path: Path, header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row of a tab-separated UTF-8 file without quoting.

    Raises InputError if the file is missing, its first line is not `header`, or a row has too many or few
    fields.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path of a table of {', '.join(header)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}); convert it") from None
    lines = [line.removesuffix("\r") for line in lines]
    if lines[0].split("\t") != list(header):
        raise InputError(f"{path}, line 1: the header must be {' '.join(header)}, separated by tabs")
    for number, line in enumerate(lines[1:], start=2):
        if not line and number == len(lines):
            return
        fields = line.split("\t")
        if len(fields) != len(header):
            raise InputError(
                f"{path}, line {number}: {len(fields)} fields instead of {len(header)};"
                f" separate {', '.join(header)} by tabs"
            )
        yield number, fields
