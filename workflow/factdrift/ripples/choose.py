"""The probes of all buckets in one table: no answer has too large a share, no update too many probes."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.tables import sql, write_parquet, write_query
from factdrift.ripples.tables import CRITERIA, table_of_dropped

ANSWER_SHARE = 4
"""No answer has more than one in so many probes of a criterion."""


def choose(
    db: Connection,
    probes: Sequence[Path],
    counts: Sequence[Path],
    per_criterion: int,
    seed: int,
    output: Path,
    out_dropped: Path,
) -> None:
    """Writes ripples.parquet and the counts of what was left out, those of `counts` included.

    First no answer gets more than a quarter of a criterion's candidates, by a seeded draw; then an update
    keeps `per_criterion` of each, half of them the most popular, the others drawn; then again no answer gets
    more than a quarter of what is left.
    """
    db.execute(
        f"""CREATE TEMP VIEW candidates AS SELECT * FROM read_parquet({sql(probes)});
        CREATE TEMP TABLE chosen AS
        SELECT probe_id, update, relation, criterion, popularity,
            coalesce(answers[1].id, answers[1].label) AS answer,
            sha256(concat_ws(':', 'ripples', {seed}, probe_id)) AS draw
        FROM candidates"""
    )
    dropped: Counter[tuple[str, str, str]] = Counter()
    _cap_answers(db, dropped)
    _cap_updates(db, per_criterion, dropped)
    _cap_answers(db, dropped)
    order = f"list_position({sql(CRITERIA)}, criterion)"
    write_query(
        db,
        f"""SELECT * REPLACE ((row_number() OVER (
                PARTITION BY update, criterion ORDER BY popularity DESC, prompt, probe_id
            ) - 1)::SMALLINT AS place)
        FROM candidates WHERE probe_id IN (SELECT probe_id FROM chosen)
        ORDER BY substr(subject, 2)::INTEGER, substr(relation, 2)::INTEGER, {order}, place""",
        output,
    )
    for row in db.sql(f"SELECT * FROM read_parquet({sql(counts)})").fetchall():
        dropped[row[:3]] += row[3]
    write_parquet(table_of_dropped(dropped), out_dropped)


def largest_cap(counts: list[int]) -> int:
    """The largest c for which no answer has more than a quarter if each keeps c at most; at least 1."""

    def is_too_many(most: int) -> bool:
        return ANSWER_SHARE * most > sum(min(count, most) for count in counts)

    return max(1, bisect_left(range(1, max(counts) + 1), True, key=is_too_many))


def _cap_answers(db: Connection, dropped: Counter[tuple[str, str, str]]) -> None:
    counts: dict[str, list[int]] = {}
    for criterion, count in db.sql(
        "SELECT criterion, count(*) FROM chosen GROUP BY criterion, answer ORDER BY ALL"
    ).fetchall():
        counts.setdefault(criterion, []).append(count)
    caps = {name: largest_cap(numbers) for name, numbers in sorted(counts.items())}
    if cases := " ".join(f"WHEN {sql(name)} THEN {cap}" for name, cap in caps.items()):
        rank = "row_number() OVER (PARTITION BY criterion, answer ORDER BY draw)"
        _keep(db, f"{rank} <= CASE criterion {cases} END", "answer_share", dropped)


def _cap_updates(db: Connection, most: int, dropped: Counter[tuple[str, str, str]]) -> None:
    by_popularity = "row_number() OVER (PARTITION BY update, criterion ORDER BY popularity DESC, draw)"
    popular = (most + 1) // 2
    db.execute(
        f"""CREATE OR REPLACE TEMP TABLE chosen AS
        SELECT *, {by_popularity} <= {popular} AS popular FROM chosen"""
    )
    rank = "row_number() OVER (PARTITION BY update, criterion ORDER BY popular DESC, draw)"
    _keep(db, f"{rank} <= {most}", "per_update", dropped)


def _keep(db: Connection, condition: str, reason: str, dropped: Counter[tuple[str, str, str]]) -> None:
    """Leaves the rows of `chosen` that fulfil a condition, and counts the others."""
    db.execute(f"CREATE OR REPLACE TEMP TABLE judged AS SELECT *, {condition} AS kept FROM chosen")
    for criterion, relation, count in db.sql(
        "SELECT criterion, relation, count(*) FROM judged WHERE NOT kept GROUP BY ALL ORDER BY ALL"
    ).fetchall():
        dropped[criterion, relation, reason] += count
    db.execute("CREATE OR REPLACE TEMP TABLE chosen AS SELECT * EXCLUDE (kept) FROM judged WHERE kept")
