"""Counts, per relation, the triples that each filter and rule dropped or labelled, from dumps to WFD_repl."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from factdrift.core.tables import database, sql, write_query

if TYPE_CHECKING:
    from factdrift.wikifactdiff.jobs import Funnel

STAGES = (
    "preprocess_old",
    "preprocess_new",
    "difference",
    "rules",
    "labels",
    "groups",
    "scenarios",
    "wfd_repl",
)
"""The stages in order. Their reasons: names of filters, or `kept` (the first two); `F-`, `F0`, `F+`; names of
rules; labels; the step that dropped a triple or its group, or `kept`; scenarios of kept triples; and `kept`,
`undersampled` or `other_scenario`."""


def by_stage(db: duckdb.DuckDBPyConnection, funnel: Path) -> dict[str, dict[str, int]]:
    """Stage -> reason -> triples of a funnel, all relations together; in the order of STAGES and of reasons.

    A stage without triples is left out.
    """
    counts: dict[str, dict[str, int]] = {}
    for stage, reason, triples in db.sql(
        f"""SELECT stage, reason, sum(triples)::BIGINT FROM read_parquet({sql(funnel)})
        GROUP BY stage, reason ORDER BY list_position({sql(STAGES)}, stage), reason"""
    ).fetchall():
        counts.setdefault(stage, {})[reason] = triples
    return counts


def write_funnel(job: Funnel) -> int:
    """Writes `stage`, `relation`, `reason`, `triples` (statements in the first two stages).

    A build without updates has a funnel too.
    """
    kept = "FROM updates WHERE dropped_by IS NULL"
    with database() as db:
        db.execute(
            f"""CREATE TEMP VIEW updates AS
            SELECT subject, property, change, rule, label, dropped_by, scenario, 1 AS triples
            FROM read_parquet({sql(job.updates)})
            UNION ALL BY NAME SELECT *, 'F0' AS change FROM read_parquet({sql(job.untouched)})"""
        )
        parts = [
            f"SELECT 'preprocess_' || dump AS stage, property, filter AS reason, statements AS triples "
            f"FROM read_parquet({sql(job.report)})"
        ]
        for stage, reason, source in (
            ("difference", "change", "FROM updates"),
            ("rules", "rule", "FROM updates"),
            ("labels", "label", "FROM updates"),
            ("groups", "coalesce(dropped_by, 'kept')", "FROM updates"),
            ("scenarios", "scenario", kept),
            (
                "wfd_repl",
                f"""CASE WHEN (subject, property) IN (
                    SELECT (subject, property) FROM read_parquet({sql(job.groups)})) THEN 'kept'
                    WHEN scenario = 'ReplaceObject' THEN 'undersampled' ELSE 'other_scenario' END""",
                kept,
            ),
        ):
            parts.append(
                f"SELECT '{stage}', property, {reason} AS reason, sum(triples) {source} "
                "GROUP BY property, reason"
            )
        return write_query(
            db,
            f"""SELECT stage, 'P' || property AS relation, reason, triples::BIGINT AS triples
            FROM ({" UNION ALL ".join(parts)})
            ORDER BY list_position({sql(STAGES)}, stage), property, reason""",
            job.output,
        )
