"""Colours and a changing last line, only where a stream is a terminal; tables as aligned text."""

import os
from collections.abc import Iterator, Sequence
from typing import TextIO

ERASE = "\r\x1b[2K"
"""Moves the cursor to the beginning of its line and empties the line."""

_STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "cyan": 36}


def is_terminal(stream: TextIO) -> bool:
    """Whether a person reads the stream on a terminal that obeys control sequences."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def styled(text: str, style: str, stream: TextIO) -> str:
    """The text in a style (`bold`, `dim`, `red`, `green`, `yellow`, `cyan`) if the stream is a terminal.

    The variable NO_COLOR (https://no-color.org) switches all styles off.
    """
    if not is_terminal(stream) or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{_STYLES[style]}m{text}\x1b[0m"


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Aligned lines of a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        cells = (
            cell.ljust(width) if position == 0 else cell.rjust(width)
            for position, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()
