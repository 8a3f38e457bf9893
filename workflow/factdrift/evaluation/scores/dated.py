"""Scores of questions with a date: accuracies, and whether a right date makes an answer more likely.

The comparison of dates is that of TimeStress (arXiv 2502.01220): a model that knows when a fact held gives
its object more probability under a date on which it held than under one on which it did not.
"""

from collections.abc import Sequence
from pathlib import Path

from factdrift.core.columns import schema_of
from factdrift.core.tables import database, sql, write_query
from factdrift.evaluation.methods.record import UNEDITED
from factdrift.evaluation.scores.conditions import CONDITION
from factdrift.evaluation.scores.metrics import typed
from factdrift.streams.timelines import PRECISIONS

_BY = ("model", "scoring", "condition", "questions", "precision")
DATED_SCORES = schema_of(
    f"{' '.join(_BY)} holds: string, n right unanswered: int32, accuracy: float64",
    "kept lost gained pairs pairs_left_out won: int32, win_rate: float64, facts: int32, robust: float64",
)
"""One row for each value of _BY and `holds`, which is `all` for all of them (docs/tables/asof.md)."""


def write_scores(items: Path, answers: Sequence[Path], output: Path) -> int:
    """Writes DATED_SCORES; returns the number of rows.

    A *pair* is a fact under its own date and under another date of the same precision on which the timeline
    proves it wrong; it is won if the first gives the fact's object the higher log-probability. A fact is
    robust if all of its pairs are won. Answers as letters have no pairs. Output that is not finite wins no
    pair; pairs of which a question could not be asked are left out and counted. Kept, lost and gained compare
    with the unedited model's answer to the same question.
    """
    with database() as db:
        db.execute(_ASKED.format(items=sql(items), answers=sql(list(answers)), unedited=sql(UNEDITED)))
        db.execute(_PAIRS)
        order = " ".join(f"WHEN '{name}' THEN {number}" for number, name in enumerate(PRECISIONS))
        return write_query(
            db,
            f"""SELECT {typed(DATED_SCORES)} FROM ({_SCORES})
            ORDER BY model, scoring, condition, questions, CASE precision {order} END, holds""",
            output,
        )


_ASKED = f"""
    CREATE TEMP TABLE answered AS
    SELECT i.* , a.model, a.way AS scoring, {CONDITION} AS condition, a.correct,
        method NOT IN {{unedited}} AS edited, bool_or(a.correct) FILTER (method = 'none') OVER (
            PARTITION BY item_id, a.model, a.way) AS before,
        coalesce(a.logprobs, [NULL, NULL, NULL, NULL]::DOUBLE[]) AS logprobs
    FROM read_parquet({{items}}) i JOIN read_parquet({{answers}}) a
        ON i.item_id = a.question WHERE a.way <> 'written';
    CREATE TEMP TABLE asked AS
    SELECT 'all' AS questions, * FROM answered WHERE NOT edited UNION ALL
    SELECT 'edited', * FROM answered
    WHERE (model, item_id) IN (SELECT (model, item_id) FROM answered WHERE edited)"""
"""SQL: the answers, once among all questions and once among those that edited models were asked."""

_PAIRS = """
    CREATE TEMP TABLE options AS
    SELECT model, scoring, condition, questions, precision, chain, fact_id, holds, answer_index,
        unnest(option_ids) AS id, unnest(option_verdicts) AS verdict, unnest(logprobs) AS logprob,
        option_ids[answer_index + 1] AS answer, correct IS NOT NULL AS answered
    FROM asked WHERE scoring = 'loglik';
    CREATE TEMP TABLE facts AS
    SELECT model, scoring, condition, questions, precision, own.holds, own.fact_id,
        count(*) FILTER (own.answered AND other.answered) AS pairs,
        count(*) FILTER (NOT (own.answered AND other.answered)) AS pairs_left_out,
        count(*) FILTER (own.logprob > other.logprob) AS won
    FROM (SELECT * FROM options WHERE id = answer) own
    JOIN (SELECT * FROM options WHERE verdict = 'wrong') other
        USING (model, scoring, condition, questions, precision, chain, id)
    GROUP BY ALL"""
"""SQL: the pairs of each fact."""

_BOTH = "(SELECT * FROM {0} UNION ALL SELECT * REPLACE ('all' AS holds) FROM {0})"
_KEY = ", ".join((*_BY, "holds"))
_SCORES = f"""
    SELECT * REPLACE (robust / nullif(facts, 0) AS robust, coalesce(pairs, 0) AS pairs,
        coalesce(pairs_left_out, 0) AS pairs_left_out, coalesce(won, 0) AS won,
        coalesce(facts, 0) AS facts),
        "right" / nullif(n, 0) AS accuracy, won / nullif(pairs, 0) AS win_rate
    FROM (
        SELECT {_KEY}, count(*) FILTER (correct AND before) AS kept,
            count(*) FILTER (NOT correct AND before) AS lost,
            count(*) FILTER (correct AND NOT before) AS gained,
            count(correct) AS n, count(*) FILTER (correct) AS "right",
            count(*) FILTER (correct IS NULL) AS unanswered
        FROM {_BOTH.format("asked")} GROUP BY ALL
    ) LEFT JOIN (
        SELECT {_KEY}, sum(pairs) AS pairs, sum(pairs_left_out) AS pairs_left_out, sum(won) AS won,
            count(*) FILTER (pairs > 0) AS facts,
            count(*) FILTER (pairs > 0 AND won = pairs) AS robust
        FROM {_BOTH.format("facts")} GROUP BY ALL
    ) USING ({_KEY})"""
"""SQL: DATED_SCORES."""
