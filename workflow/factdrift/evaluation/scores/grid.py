"""Every cell of benchmark x state x way: how many answers there are, and how many are right."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from factdrift.core.columns import Row, schema_of
from factdrift.core.intervals import wilson
from factdrift.core.score_table import HIGHER, Cell, Column, rules, table
from factdrift.core.tables import database, sql, write_parquet
from factdrift.evaluation.methods.record import Skipped, skipped_methods, title_of
from factdrift.evaluation.scores.costs import skipped_among
from factdrift.evaluation.scores.groups import by_columns, state_line
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
                    WHEN role IN ('nearest', 'random') THEN 'neighbors' ELSE 'all' END) AS kind,
                count(*)::INTEGER AS asked,
                (count(*) FILTER (reason IS NULL OR reason = '{NOT_FINITE}'))::INTEGER AS answered,
                count(judged)::INTEGER AS judged, (count(*) FILTER (judged))::INTEGER AS "right",
                (count(*) FILTER (trained))::INTEGER AS trained,
                to_json(histogram(reason) FILTER (reason IS NOT NULL))::VARCHAR AS reasons
            FROM rows GROUP BY ALL ORDER BY model, benchmark, method, way, kind"""
        ).to_arrow_table()
    found = rows.to_pylist()
    for row in found:
        if row["judged"]:
            row["share"] = row["right"] / row["judged"]
            row["low"], row["high"] = wilson(row["right"], row["judged"])
    table = pa.Table.from_pylist(found, schema=GRID)
    write_parquet(table, output)
    return table


def lines(cells: pa.Table, runs: Sequence[Path], without: Sequence[Skipped]) -> Iterator[str]:
    """The grid as text: a table for each model and benchmark, and below it why methods are not in it.

    `runs`: the descriptions of the jobs, each in the folder of its benchmark.
    """
    yield "Share of right answers by state and way, with the numbers; of a cloze test: its object is written"
    read = [(path.parents[1].name, json.loads(path.read_text(encoding="utf-8"))) for path in runs]
    skipped = by_columns(
        ({**run, "benchmark": name} for name, run in read if "skipped" in run), "model", "benchmark"
    )
    groups = by_columns(cells.to_pylist(), "model", "benchmark")
    for model, benchmark in groups | skipped:
        mine = groups.get((model, benchmark), [])
        ways = list(dict.fromkeys((row["way"], row["kind"]) for row in mine))
        yield from ("", f"{model}, {benchmark}")
        states = by_columns(mine, "method").items()
        body = [
            state_line(method, {(row["way"], row["kind"]): row for row in own}) for (method,), own in states
        ]
        yield from table("", map(_declared, ways), body)
        for row in mine:
            about = f"{title_of(row['method'])}, {row['way']}"
            for reason, number in json.loads(row["reasons"] or "{}").items():
                yield f"{about}: {number:,} of {row['asked']:,} {reason}"
            if row["trained"]:
                numbers = f"{row['trained']:,} of {row['asked']:,}"
                yield f"{about}: {numbers} are about subjects on which the method was trained"
        yield from skipped_methods(skipped_among(skipped.get((model, benchmark), [])))
    yield from rules([_declared(("", "all"))])
    yield from skipped_methods(without)


def _declared(key: tuple[str, str]) -> Column:
    """The column of a way of asking and a kind of question."""
    way, kind = key

    def cell(of: Mapping[tuple[str, str], Row]) -> Cell:
        row = of.get(key)
        if row is None or not row["judged"]:
            return Cell() if row is None else Cell(f"{row['answered']:,} answers")
        ends = (row["low"], row["high"])
        return Cell(f"{row['share']:.3f}", f"({row['right']:,}/{row['judged']:,})", row["share"], *ends)

    # What makes an old object likely is not what an edit is for.
    better = 0 if kind.endswith("old object") else HIGHER
    return Column(way if kind == "all" else f"{way}, {kind}", cell, better)
