"""Scores of questions with a date: accuracies, and whether a right date makes an answer more likely.

The comparison of dates is that of TimeStress (arXiv 2502.01220): a model that knows when a fact held gives
its object more probability under a date on which it held than under one on which it did not.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from factdrift.core.tables import database, sql, write_parquet
from factdrift.evaluation.scores.conditions import CONDITION
from factdrift.streams.timelines import PRECISIONS

DATED_SCORES = pa.schema(
    [
        *((name, pa.string()) for name in ("model", "scoring", "condition", "precision", "holds")),
        ("n", pa.int32()),
        ("right", pa.int32()),
        ("unanswered", pa.int32()),
        ("accuracy", pa.float64()),
        ("pairs", pa.int32()),
        ("pairs_left_out", pa.int32()),
        ("won", pa.int32()),
        ("win_rate", pa.float64()),
        ("facts", pa.int32()),
        ("robust", pa.float64()),
    ]
)
"""One row for each model, way of scoring, condition, precision and `holds` (`all` for all of them)."""


def write_scores(items: Path, answers: Sequence[Path], output: Path) -> int:
    """Writes DATED_SCORES; returns the number of rows.

    A *pair* is a fact under its own date and under another date of the same precision on which the timeline
    proves it wrong; it is won if the first gives the fact's object the higher log-probability. A fact is
    robust if all of its pairs are won. Answers as letters have no pairs. Output that is not finite wins no
    pair; pairs of which a question could not be asked are left out and counted.
    """
    order = " ".join(f"WHEN '{name}' THEN {place}" for place, name in enumerate(PRECISIONS))
    with database() as db:
        db.execute(
            f"""CREATE TEMP TABLE asked AS
            SELECT i.* , a.model, a.way AS scoring, {CONDITION} AS condition, a.correct,
                coalesce(a.logprobs, [NULL, NULL, NULL, NULL]::DOUBLE[]) AS logprobs
            FROM read_parquet({sql(items)}) i JOIN read_parquet({sql(list(answers))}) a
                ON i.item_id = a.question WHERE a.way <> 'written'"""
        )
        db.execute(
            """CREATE TEMP TABLE said AS
            SELECT model, scoring, condition, precision, chain, fact_id, holds, answer_index,
                unnest(option_ids) AS id, unnest(option_verdicts) AS verdict, unnest(logprobs) AS logprob,
                option_ids[answer_index + 1] AS answer, correct IS NOT NULL AS answered
            FROM asked WHERE scoring = 'loglik'"""
        )
        db.execute(
            """CREATE TEMP TABLE facts AS
            SELECT model, scoring, condition, precision, own.holds, own.fact_id,
                count(*) FILTER (own.answered AND other.answered) AS pairs,
                count(*) FILTER (NOT (own.answered AND other.answered)) AS pairs_left_out,
                count(*) FILTER (own.logprob > other.logprob) AS won
            FROM (SELECT * FROM said WHERE id = answer) own
            JOIN (SELECT * FROM said WHERE verdict = 'wrong') other
                USING (model, scoring, condition, precision, chain, id)
            GROUP BY ALL"""
        )
        table = db.sql(
            f"""SELECT model, scoring, condition, precision, holds,
                n::INTEGER AS n, "right"::INTEGER AS "right", unanswered::INTEGER AS unanswered,
                "right" / nullif(n, 0) AS accuracy, coalesce(pairs, 0)::INTEGER AS pairs,
                coalesce(pairs_left_out, 0)::INTEGER AS pairs_left_out, coalesce(won, 0)::INTEGER AS won,
                won / nullif(pairs, 0) AS win_rate, coalesce(facts, 0)::INTEGER AS facts,
                robust / nullif(facts, 0) AS robust
            FROM (
                SELECT model, scoring, condition, precision, coalesce(holds, 'all') AS holds,
                    count(correct) AS n, count(*) FILTER (correct) AS "right",
                    count(*) FILTER (correct IS NULL) AS unanswered
                FROM asked GROUP BY GROUPING SETS (
                    (model, scoring, condition, precision), (model, scoring, condition, precision, holds))
            ) LEFT JOIN (
                SELECT model, scoring, condition, precision, coalesce(holds, 'all') AS holds,
                    sum(pairs) AS pairs, sum(pairs_left_out) AS pairs_left_out, sum(won) AS won,
                    count(*) FILTER (pairs > 0) AS facts,
                    count(*) FILTER (pairs > 0 AND won = pairs) AS robust
                FROM facts GROUP BY GROUPING SETS (
                    (model, scoring, condition, precision), (model, scoring, condition, precision, holds))
            ) USING (model, scoring, condition, precision, holds)
            ORDER BY model, scoring, condition, CASE precision {order} END, holds"""
        ).to_arrow_table()
        return write_parquet(table.cast(DATED_SCORES), output)
