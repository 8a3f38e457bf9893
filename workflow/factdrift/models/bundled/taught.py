"""Facts of a benchmark that a bundled model is taught besides the facts of the dataset."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

TAUGHT = pa.schema(
    [
        ("kind", pa.string()),
        ("fact", pa.string()),
        ("subject", pa.string()),
        ("relation", pa.string()),
        ("object", pa.string()),
        ("prompt", pa.string()),
    ]
)
"""One row for each wording. `kind` and `fact` name what is stated; `prompt` ends before the object."""


def changed_since(wikifactdiff: Path) -> frozenset[tuple[str, str]]:
    """(subject, relation) that changed between the dumps, such as `("Q30", "P6")`."""
    columns = ["subject", "relation", "objects"]
    return frozenset(
        (row["subject"]["id"], row["relation"]["id"])
        for batch in pq.ParquetFile(wikifactdiff).iter_batches(1000, columns=columns)
        for row in batch.to_pylist()
        if any(one["decision"] in ("new", "obsolete") for one in row["objects"])
    )
