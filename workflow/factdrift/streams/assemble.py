"""Writes the stream: the datasets of all consecutive pairs of dates, one after the other, linked.

Also draws its updates by month and scenario.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.figures import KEPT, NEW, OBSOLETE, SOFT, parts, save
from factdrift.core.tables import database, sql, write_parquet
from factdrift.streams.chains import CHAINS
from factdrift.updates.rules import SCENARIOS

STREAM = schema_of(
    CHAINS.field("interval"),
    "old_date new_date chain: string",
    *(CHAINS.field(name) for name in CHAINS.names if name not in ("interval", "subject", "property")),
)
"""What the stream has beside the columns of a pair's dataset."""

_ROWS = 2_000
"""Rows that are held at once: those of a dataset are some kilobytes each."""


def assemble(datasets: Sequence[Path], chains: Sequence[Path], dates: Sequence[str], output: Path) -> int:
    """Writes the rows of the pairs' datasets in their order, with STREAM's columns; returns their number.

    `chains`: the tables of all buckets. Raises InputError that names the dataset if the two were not made of
    the same updates.
    """
    with database() as db:
        db.execute(f"CREATE TEMP VIEW chains AS SELECT * FROM read_parquet({sql(chains)})")
        schema = pa.schema([*pq.read_schema(datasets[0]).remove_metadata(), *STREAM])
        batches = (
            batch.cast(schema)
            for interval, dataset in enumerate(datasets, start=1)
            for batch in _interval(db, interval, dataset, dates)
        )
        return write_parquet(pa.RecordBatchReader.from_batches(schema, batches), output)


def _interval(db: Connection, interval: int, dataset: Path, dates: Sequence[str]) -> Iterator[pa.RecordBatch]:
    constants = {"old_date": sql(dates[interval - 1]), "new_date": sql(dates[interval]), "chain": "chain"}
    columns = ", ".join(f"{constants.get(name, 'c.' + name)} AS {name}" for name in STREAM.names)
    # A row for each of the dataset's, in its order.
    links = db.sql(
        f"""SELECT {columns} FROM (
            SELECT subject.id || '-' || relation.id AS chain, row_number() OVER () AS place
            FROM read_parquet({sql(dataset)})
        ) d FULL JOIN (
            SELECT *, 'Q' || subject || '-P' || property AS chain FROM chains WHERE interval = {int(interval)}
        ) c USING (chain) ORDER BY place"""
    ).to_arrow_table()
    file = pq.ParquetFile(dataset)
    wrong = InputError(
        f"{dataset}: its updates are not those of the chains of interval {interval}, "
        f"{dates[interval - 1]} to {dates[interval]}; make both again from the same tables"
    )
    if links.num_rows != file.metadata.num_rows or links.column("link").null_count:
        raise wrong
    start = 0
    for batch in file.iter_batches(_ROWS):
        own = links.slice(start, batch.num_rows).combine_chunks()
        start += batch.num_rows
        objects = pc.list_value_length(batch.column("objects"))
        if not objects.equals(pc.list_value_length(own.column("changes").combine_chunks())):
            raise wrong
        arrays = [*batch.columns, *(own.column(name).combine_chunks() for name in STREAM.names)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *STREAM.names])


_COLORS = {"Archive": OBSOLETE, "ReplaceObject": NEW}
"""Of scenarios that say only what began or ended; others have the colour of `KEPT`."""
_SMALL = {"fontsize": "x-small", "color": SOFT}


def months(stream: Path) -> dict[str, dict[int, int]]:
    """Scenario -> month (year x 12 + month - 1) -> updates whose change is dated to a month or finer."""
    with database() as db:
        rows = db.sql(
            f"""SELECT scenario, first_day // 10000 * 12 + first_day // 100 % 100 - 1 AS month, count(*)
            FROM read_parquet({sql(stream)})
            WHERE dated_by <> 'interval' AND first_day // 100 = last_day // 100 GROUP BY ALL ORDER BY ALL"""
        ).fetchall()
    counts: dict[str, dict[int, int]] = {scenario: {} for scenario in SCENARIOS}
    for scenario, month, number in rows:
        counts[scenario][month] = number
    return counts


def draw(stream: Path, dates: Sequence[str], path: Path) -> None:
    """Draws a panel for each scenario with a bar a month, from the first date to the last.

    Dashed lines are the dates of the dumps.
    """
    counts = {scenario: by_month for scenario, by_month in months(stream).items() if by_month}
    begin, end = (int(date[:4]) * 12 + int(date[5:7]) - 1 for date in (dates[0], dates[-1]))
    whole = range(begin, end + 1)
    totals = {month: sum(by_month.get(month, 0) for by_month in counts.values()) for month in whole}
    peak = max(whole, key=lambda month: totals[month])
    message = (
        f"{sum(totals.values()):,} updates are dated to a month, most in {peak // 12}-{peak % 12 + 1:02} "
        f"({totals[peak]:,})"
    )
    names = list(counts) or [SCENARIOS[0]]
    figure, ((*axes,),) = parts([message], [len(names)], 1, (9, 0.95), sharex=True, sharey=True)
    years = range(-(-begin // 12), end // 12 + 1, max((end - begin) // 96, 1))
    named = -math.inf
    for axis, scenario in zip(axes, names, strict=True):
        heights = [counts.get(scenario, {}).get(month, 0) for month in whole]
        axis.bar(whole, heights, 1, color=_COLORS.get(scenario, KEPT), linewidth=0)
        for date in dates:
            position = int(date[:4]) * 12 + int(date[5:7]) - 1 + (int(date[8:]) - 1) / 31 - 0.5
            axis.axvline(position, color=SOFT, linewidth=0.8, linestyle="--")
            # A name that would lie on the one before it is left out.
            if axis is axes[0] and position >= named + (end - begin + 2) / 10:
                named = position
                above = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
                axis.annotate(f"dump {date}", (position, 1), xytext=(-2, 2), ha="right", **above, **_SMALL)
        axis.set_title(f"{scenario}: {sum(heights):,}", fontsize="medium", y=0.78, x=0.01, pad=0)
        axis.set_xticks([year * 12 - 0.5 for year in years], [str(year) for year in years])
        axis.set_xlim(begin - 1, end + 1)
        axis.grid(visible=False, axis="x")
    axes[-1].set_ylabel("a month")
    save(figure, path)
