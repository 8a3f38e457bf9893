"""Statements with several starts, ends or points in time: which one counts.

The earliest start, the latest end, the latest point in time, as the variant reads dates. A snapshot does not
know the variant, so its columns `start`, `end` and `pit` are replaced when the filters run.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pyarrow as pa

from factdrift.updates.method import Method
from factdrift.updates.readings import high, low
from factdrift.wikidata.tables import TIME

_SEVERAL = (("start", "starts", "arg_min"), ("end", "ends", "arg_max"), ("pit", "pits", "arg_max"))


def chosen_dates(db: duckdb.DuckDBPyConnection, table: pa.Table, method: Method) -> pa.Table:
    """The statements with `start`, `end` and `pit` chosen among `starts`, `ends` and `pits` where given.

    Dates are ordered by the first day that they may mean, then by the last.
    """
    for name, several, choose in _SEVERAL:
        rows = np.flatnonzero(table[several].is_valid().to_numpy())
        if not len(rows):
            continue
        db.register("several", pa.table({"line": rows, "dates": table[several].take(rows)}))
        dates = db.sql(
            f"""SELECT {choose}(date, ({low("date", method)}, {high("date", method)}, date)) AS date
            FROM (SELECT line, unnest(dates) AS date FROM several) GROUP BY line ORDER BY line"""
        ).to_arrow_table()["date"]
        db.unregister("several")
        source = np.arange(table.num_rows)
        source[rows] = table.num_rows + np.arange(len(rows))
        both = pa.chunked_array([*table[name].chunks, *dates.cast(TIME).chunks], TIME)
        place = table.schema.get_field_index(name)
        table = table.set_column(place, table.schema.field(name), both.take(pa.array(source)))
    return table
