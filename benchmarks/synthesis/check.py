"""Compares what the workflow found with the truth of a synthetic pair."""

from pathlib import Path
from typing import NamedTuple

import duckdb

from factdrift.core.tables import database, sql

_SAME_GROUP = "subject, property"
_SKIPPED = "unchanged"
"""Groups that the reference passes over: whatever label stands there means nothing."""
_TRIPLE = "subject, property, key, label, dropped_by, scenario"


class Difference(NamedTuple):
    """Triples that the truth and the workflow do not share; `truth` and `found` are how often each has it."""

    subject: int
    property: int
    key: str | None
    label: str | None
    dropped_by: str | None
    scenario: str | None
    event: str | None
    truth: int
    found: int


class Score(NamedTuple):
    """Triples that reach the dataset, of one event (or all) and label: in the truth, found, and both."""

    event: str
    label: str
    truth: int
    found: int
    both: int

    @property
    def precision(self) -> float:
        return self.both / self.found if self.found else 1.0

    @property
    def recall(self) -> float:
        return self.both / self.truth if self.truth else 1.0


class Comparison(NamedTuple):
    """All that was compared; everything agrees where the three lists are empty."""

    scores: list[Score]
    triples: int
    """Triples that the truth names, whether or not they reach the dataset."""
    differences: list[Difference]
    strays: list[Difference]
    """Triples that reach the dataset and belong to no planted group."""
    filters: list[Difference]
    """Statements that another filter dropped than the truth says, or none: `dropped_by` is what was found."""

    @property
    def exact(self) -> bool:
        return not (self.differences or self.strays or self.filters)


def compare(truth: Path, results: Path, variant: str, limit: int = 50) -> Comparison:
    """Compares `truth.parquet` with the tables in `results` (`results/<old>_<new>`) of a build of a variant.

    Triples are compared by subject, property, value, label, `dropped_by` and scenario, as often as each
    occurs; of differences at most `limit` of a kind are returned.
    """
    with database(4000, threads=2) as connection:
        connection.execute(
            f"CREATE VIEW truth AS SELECT * FROM read_parquet({sql(truth)}) WHERE variant = {sql(variant)}"
        )
        connection.execute(
            "CREATE VIEW listed AS SELECT subject, property, key, dropped_by, scenario, "
            f"CASE WHEN dropped_by IS DISTINCT FROM {sql(_SKIPPED)} THEN label END AS label "
            f"FROM read_parquet({sql(f'{results}/updates/*.parquet')})"
        )
        # Of groups that nothing is known of the workflow lists no triples; it counts them by relation.
        connection.execute(
            f"""CREATE VIEW updates AS FROM listed UNION ALL BY NAME
            SELECT subject, property, key, untouched.dropped_by, NULL::VARCHAR AS scenario,
                CASE WHEN untouched.dropped_by IS DISTINCT FROM {sql(_SKIPPED)} THEN label END AS label
            FROM read_parquet({sql(f"{results}/filtered/new/*.parquet")}) AS statements
            JOIN (SELECT DISTINCT property, label, dropped_by
                FROM read_parquet({sql(f"{results}/untouched/*.parquet")})) AS untouched USING (property)
            SEMI JOIN truth USING (subject, property) ANTI JOIN listed USING (subject, property)
            WHERE statements.dropped_by IS NULL"""
        )
        connection.execute(
            "CREATE VIEW filtered AS SELECT subject, property, key, dropped_by "
            f"FROM read_parquet({sql(f'{results}/filtered/*/*.parquet')})"
        )
        connection.execute(
            f"CREATE TABLE groups AS SELECT {_SAME_GROUP}, any_value(event) AS event FROM truth GROUP BY ALL"
        )
        connection.execute(
            f"CREATE TABLE found AS SELECT {_TRIPLE}, event FROM updates JOIN groups USING ({_SAME_GROUP})"
        )
        connection.execute(f"CREATE TABLE wanted AS SELECT {_TRIPLE}, event FROM truth WHERE filter IS NULL")
        (triples,) = connection.execute("SELECT count(*) FROM wanted").fetchall()[0]
        return Comparison(
            scores=_scores(connection),
            triples=triples,
            differences=_differences(connection, limit),
            strays=_strays(connection, limit),
            filters=_filters(connection, limit),
        )


def _listed(connection: duckdb.DuckDBPyConnection, query: str, limit: int) -> list[Difference]:
    rows = connection.execute(f"{query} ORDER BY ALL LIMIT {limit}").fetchall()
    return [Difference(*row) for row in rows]


def _differences(connection: duckdb.DuckDBPyConnection, limit: int) -> list[Difference]:
    return _listed(
        connection,
        f"""
        SELECT {_TRIPLE}, any_value(event), sum(truth)::INTEGER AS truth, sum(found)::INTEGER AS found
        FROM (
            SELECT *, 1 AS truth, 0 AS found FROM wanted UNION ALL BY NAME
            SELECT *, 0 AS truth, 1 AS found FROM found
        )
        GROUP BY {_TRIPLE} HAVING sum(truth) <> sum(found)
        """,
        limit,
    )


def _strays(connection: duckdb.DuckDBPyConnection, limit: int) -> list[Difference]:
    return _listed(
        connection,
        f"""
        SELECT {_TRIPLE}, NULL, 0, 1 FROM updates ANTI JOIN groups USING ({_SAME_GROUP})
        WHERE dropped_by IS NULL
        """,
        limit,
    )


def _filters(connection: duckdb.DuckDBPyConnection, limit: int) -> list[Difference]:
    """A statement that is to be dropped by a filter must stand in some dump, and be dropped so in each."""
    return _listed(
        connection,
        """
        SELECT truth.subject, truth.property, truth.key, NULL, filtered.dropped_by, NULL,
            any_value(truth.event), 1, count(filtered.subject)::INTEGER
        FROM truth LEFT JOIN filtered ON truth.subject = filtered.subject
            AND truth.property = filtered.property AND truth.key IS NOT DISTINCT FROM filtered.key
        WHERE truth.filter IS NOT NULL AND truth.filter IS DISTINCT FROM filtered.dropped_by
        GROUP BY ALL
        """,
        limit,
    )


def _scores(connection: duckdb.DuckDBPyConnection) -> list[Score]:
    """By label, then by event and label; of triples that reach the dataset, value and label must agree."""
    rows = connection.execute(
        f"""
        WITH counted AS (
            SELECT event, subject, property, key, label, count(*) FILTER (truth) AS truth,
                count(*) FILTER (NOT truth) AS found
            FROM (
                SELECT *, true AS truth FROM wanted WHERE dropped_by IS NULL AND scenario IS NOT NULL
                UNION ALL BY NAME
                SELECT *, false AS truth FROM found WHERE dropped_by IS NULL
                UNION ALL BY NAME
                SELECT {_TRIPLE}, '(none)' AS event, false AS truth
                FROM updates ANTI JOIN groups USING ({_SAME_GROUP}) WHERE dropped_by IS NULL
            )
            GROUP BY ALL
        )
        SELECT coalesce(event, '(all)'), label, sum(truth)::INTEGER, sum(found)::INTEGER,
            sum(least(truth, found))::INTEGER
        FROM counted
        GROUP BY GROUPING SETS ((label), (event, label))
        ORDER BY event NULLS FIRST, label
        """
    ).fetchall()
    return [Score(*row) for row in rows]
