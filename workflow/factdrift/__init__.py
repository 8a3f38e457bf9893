"""factdrift: what changed in the world between two Wikidata dumps, as benchmarks for language models."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    import pandas as pd


def load(path: str | PathLike[str]) -> pd.DataFrame:
    """A result table as a DataFrame; structs become dicts, lists of them lists of dicts.

    `factdrift.load("results/wfd_repl.parquet")["objects"][0][0]["label"]` is the first object's label.
    Raises FileNotFoundError if there is no such file.
    """
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    return pd.DataFrame(
        {
            name: pd.Series(column.to_pylist(), dtype=object)
            if pa.types.is_nested(column.type)
            else column.to_pandas()
            for name, column in zip(table.column_names, table.columns, strict=True)
        }
    )
