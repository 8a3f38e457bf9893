"""The table of questions with a date."""

from __future__ import annotations

import pyarrow as pa

from factdrift.tempripple.schemas import TR_ITEMS

ASOF = pa.schema(
    [
        *TR_ITEMS,
        ("chain", pa.string()),
        ("precision", pa.string()),
        ("date", pa.string()),
        ("first_day", pa.int64()),
        ("last_day", pa.int64()),
        ("holds", pa.string()),
        ("option_verdicts", pa.list_(pa.string())),
    ]
)
"""Items as TempRIPPLE has them, so that they are asked in the same way, and what is theirs."""
