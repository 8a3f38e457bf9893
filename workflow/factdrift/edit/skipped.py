"""Methods that do not run on a model, for tables and accounts."""

from __future__ import annotations

from typing import NamedTuple


class Skipped(NamedTuple):
    """A method that does not run on a model."""

    model: str
    method: str
    skipped: str
    """The reason."""
