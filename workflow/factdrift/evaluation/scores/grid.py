"""Every cell of benchmark x state x way: how many answers there are, and how many are right."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import wilson
from factdrift.core.score_table import Cell, explained
from factdrift.core.tables import database, sql, write_parquet
from factdrift.evaluation.methods.record import Skipped, skipped_methods, title_of
from factdrift.evaluation.questions.clozes import NEIGHBORS
from factdrift.evaluation.scores.costs import skipped_among
from factdrift.evaluation.scores.groups import by_columns, by_state
from factdrift.models.alignment import NOT_FINITE

GRID = schema_of(
    "model benchmark method way kind: string, asked answered judged right trained: int32",
    "share low high: float64, reasons: string",
)
"""One row for each model, benchmark, state, way, and kind of the plan (docs/tables/answer_grid.md)."""


_OBJECTS = """
    INSERT INTO objects SELECT DISTINCT question,
        CASE object WHEN 'obsolete' THEN 'old' ELSE object END || ' object'
    FROM (
        SELECT edit || '#' || (generate_subscripts(probes, 1) - 1) AS question,
            unnest(probes, max_depth := 2)
        FROM read_parquet({}, union_by_name = true)
    ) WHERE object IN ('new', 'obsolete', 'later')"""
"""SQL: of which object of its update a question asks for the likelihood; the old one is no right answer."""


def write_grid(
    answers: Sequence[Path], made: Sequence[Path], output: Path, edits: Sequence[Path] = ()
) -> pa.Table:
    """Writes GRID of ANSWERS, in their order, with EDITS of the same jobs; returns it.

    `edits`: EDITS and STREAM_EDITS that are asked about.
    """
    with database() as db:
        db.execute("CREATE TEMP TABLE objects (question VARCHAR, object VARCHAR)")
        if edits:
            db.execute(_OBJECTS.format(sql(list(edits))))
        rows = db.sql(
            f"""WITH told AS (
                SELECT model, method, edit, any_value(trained) AS trained
                FROM read_parquet({sql(list(made))}) GROUP BY ALL
            ), rows AS (
                SELECT g.*, object, coalesce(t.trained, false) AS trained,
                    CASE WHEN way = 'loglik' AND correct IS NULL AND len(exact) = 1 THEN exact[1]
                        ELSE correct END AS judged
                FROM read_parquet({sql(list(answers))}) g LEFT JOIN told t USING (model, method, edit)
                LEFT JOIN objects o ON way = 'loglik' AND o.question = g.question
            )
            SELECT model, benchmark, method, way,
                coalesce(nullif(concat_ws(', ', nullif(kind, ''), object), ''), CASE
                    WHEN role IN {NEIGHBORS!r} THEN 'neighbors' ELSE 'all' END) AS kind,
                count(*)::INTEGER AS asked,
                (count(*) FILTER (reason IS NULL OR reason = '{NOT_FINITE}'))::INTEGER AS answered,
                count(judged)::INTEGER AS judged, (count(*) FILTER (judged))::INTEGER AS "right",
                (count(*) FILTER (trained))::INTEGER AS trained,
                to_json(histogram(reason) FILTER (reason IS NOT NULL))::VARCHAR AS reasons
            FROM rows GROUP BY ALL ORDER BY model, benchmark, method, way, kind"""
        ).to_arrow_table()
    cells = rows.to_pylist()
    for row in cells:
        if row["judged"]:
            row["share"] = row["right"] / row["judged"]
            row["low"], row["high"] = wilson(row["right"], row["judged"])
    table = pa.Table.from_pylist(cells, schema=GRID)
    write_parquet(table, output)
    return table


def lines(cells: pa.Table, runs: Sequence[Path], without: Sequence[Skipped]) -> Iterator[str]:
    """The grid as text: a table for each model and benchmark, and below it why methods are not in it.

    `runs`: the descriptions of the jobs, each in the folder of its benchmark.
    """
    yield "Share of right answers (right/asked), by model state and way of asking. A cloze counts as right if"
    yield "the model writes its object."
    read = [(path.parents[1].name, json.loads(path.read_text(encoding="utf-8"))) for path in runs]
    left_out = ({**run, "benchmark": name} for name, run in read if "skipped" in run)
    skipped = by_columns(left_out, "model", "benchmark")
    groups = by_columns(cells.to_pylist(), "model", "benchmark")
    yield from explained(_tables(groups, skipped))
    yield from skipped_methods(without)


def _tables(
    groups: dict[tuple[Any, ...], list[Row]], skipped: dict[tuple[Any, ...], list[Row]]
) -> Iterator[str]:
    """A table for each model and benchmark, with what was not answered, was trained on or was skipped."""
    for model, benchmark in groups | skipped:
        mine = groups.get((model, benchmark), [])
        yield from ("", f"{model}, {benchmark}", *by_state(mine, _title, right_cell))
        for row in mine:
            about = f"{title_of(row['method'])}, {row['way']}"
            for reason, number in json.loads(row["reasons"] or "{}").items():
                yield f"{about}: {number:,} of {row['asked']:,} {reason}"
            if row["trained"]:
                numbers = f"{row['trained']:,} of {row['asked']:,}"
                yield f"{about}: {numbers} are about subjects on which the method was trained"
        yield from skipped_methods(skipped_among(skipped.get((model, benchmark), [])))


def _title(row: Row) -> str:
    return str(row["way"] if row["kind"] == "all" else f"{row['way']}, {row['kind']}")


def right_cell(row: Row) -> Cell:
    """The share right of a row of GRID, with its numbers; or only how many answers there are."""
    if not row["judged"]:
        return Cell(f"{row['answered']:,} answers")
    # What makes an old object likelier is no better.
    value = None if row["kind"].endswith("old object") else row["share"]
    numbers = f"({row['right']:,}/{row['judged']:,})"
    return Cell(f"{row['share']:.3f}", numbers, value, row["low"], row["high"])
