"""The rows of a table that a test reads."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

Row = dict[str, Any]


def rows(path: Path, *columns: str) -> list[Row]:
    """All rows of a Parquet file; only these columns, if any are named."""
    return pq.read_table(path, columns=[*columns] or None).to_pylist()
