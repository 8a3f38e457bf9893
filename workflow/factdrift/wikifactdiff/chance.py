"""Chance that depends on a seed and on what is chosen, never on the order of rows: SQL over SHA-256."""

from __future__ import annotations

from factdrift.core.tables import sql

_HEX_DIGITS = 13
"""52 bits, which a DOUBLE holds exactly."""


def digest(purpose: str, seed: int, *columns: str) -> str:
    """SQL: a text that orders the rows at random; `purpose` keeps choices with one seed apart."""
    return f"sha256(concat_ws(':', {sql(purpose)}, {seed}, {', '.join(columns)}))"


def chance(purpose: str, seed: int, *columns: str) -> str:
    """SQL: a DOUBLE in [0, 1) for the values of `columns`."""
    number = f"('0x' || substr({digest(purpose, seed, *columns)}, 1, {_HEX_DIGITS}))::BIGINT"
    return f"({number} / {float(16**_HEX_DIGITS)})"
