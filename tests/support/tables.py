"""Tables that tests write by hand."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq


def written(path: Path, schema: pa.Schema, rows: Iterable[Mapping[str, Any]]) -> Path:
    """A column that a row does not name is empty in it."""
    pq.write_table(pa.Table.from_pylist(list(rows), schema), path)
    return path
