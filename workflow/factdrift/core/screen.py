"""Colours and a changing last line, only where a stream is a terminal."""

import os
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
