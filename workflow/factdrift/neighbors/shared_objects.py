"""Facts of other subjects that share the old or the new object of a replacement (docs/layouts.md).

CounterFact asks them beside each edit (arXiv 2202.05262, section 3.3): the neighbourhood prompts have the old
object for their answer, the attribute prompts the new one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa

from factdrift.core.tables import database, sql, write_query
from factdrift.neighbors.facts import COLUMNS
from factdrift.neighbors.holding import create_labelled, holds
from factdrift.neighbors.tfidf import pair_similarities
from factdrift.neighbors.vectors import Space, open_space

if TYPE_CHECKING:
    from factdrift.neighbors.jobs import SharedObjects

BLOCK = 100_000
"""Pairs of entities whose similarity is computed at a time."""


def write_shared_objects(job: SharedObjects) -> tuple[int, int]:
    """Writes two tables NEIGHBORS, of facts with the obsolete and with the new object; returns their lengths.

    Each update that replaces one item by another gets, from other subjects, facts of its relation that have
    the object and hold at T_old, as all neighbour facts do. Those that still hold at T_new come first, then
    those of the nearest subjects by TF-IDF; `facts` of them are written. Left out are subjects that are an
    object of the update, that have both objects, or that have no label. Of more than `candidates` subjects
    with an object that many are drawn by `seed`.
    """
    with database(job.memory_mb, job.threads) as db:
        create_labelled(db, job)
        db.execute(
            f"""CREATE TEMP TABLE replaced AS
            SELECT subject, property, max(object) FILTER (label = 'obsolete') AS obsolete,
                max(object) FILTER (label = 'new') AS new
            FROM read_parquet({sql(job.updates)}) WHERE dropped_by IS NULL AND is_replace
            GROUP BY subject, property HAVING obsolete > 0 AND new > 0"""
        )
        db.execute(
            f"""CREATE TEMP TABLE held AS
            WITH wanted AS (
                SELECT property, obsolete AS object FROM replaced UNION SELECT property, new FROM replaced
            ), lasting AS (
                SELECT subject, property, object FROM read_parquet({sql(job.new)})
                WHERE dropped_by IS NULL AND (property, object) IN (FROM wanted)
                    AND {holds(job.new_date, job)}
            )
            SELECT subject AS neighbor, property AS relation, statement, object, datatype, json, key, pit,
                (subject, property, object) IN (FROM lasting) AS lasting
            FROM read_parquet({sql(job.old)})
            WHERE dropped_by IS NULL AND (property, object) IN (FROM wanted)
                AND {holds(job.old_date, job)}
                AND subject IN (FROM askable)
            QUALIFY row_number() OVER (
                PARTITION BY subject, property, object ORDER BY rank = 'preferred' DESC, upper(statement)
            ) = 1"""
        )
        vectors = open_space(job.space)
        obsolete = _write(db, "obsolete", "new", vectors, job, job.output)
        new = _write(db, "new", "obsolete", vectors, job, job.out_new)
    return obsolete, new


def _write(
    db: duckdb.DuckDBPyConnection, role: str, other: str, vectors: Space, job: SharedObjects, output: Path
) -> int:
    """Writes the facts with the object `role` of each replacement, of subjects without the object `other`."""
    pairs = db.sql(
        f"""WITH drawn AS (
            SELECT neighbor, relation, object FROM held
            QUALIFY row_number() OVER (PARTITION BY relation, object
                ORDER BY lasting DESC, md5(concat_ws(':', {job.seed}, neighbor, relation, object)), neighbor
            ) <= {job.candidates}
        )
        SELECT r.subject, r.property, d.neighbor, d.object
        FROM replaced r JOIN drawn d ON d.relation = r.property AND d.object = r.{role}
        WHERE d.neighbor NOT IN (r.subject, r.obsolete, r.new)
            AND (d.neighbor, r.property, r.{other}) NOT IN (SELECT (neighbor, relation, object) FROM held)
        ORDER BY r.subject, r.property, d.neighbor"""
    ).to_arrow_table()
    subjects, neighbors = (pairs[name].to_numpy() for name in ("subject", "neighbor"))
    similarity = np.empty(len(pairs))
    for start in range(0, len(pairs), BLOCK):
        block = slice(start, start + BLOCK)
        similarity[block] = pair_similarities(vectors.of(subjects[block]), vectors.of(neighbors[block]))
    db.register("pairs", pairs.append_column("similarity", pa.array(similarity)))
    return write_query(
        db,
        f"""SELECT {COLUMNS} FROM (
            SELECT subject, property, similarity, h.*, row_number() OVER (
                PARTITION BY subject, property ORDER BY lasting DESC, similarity DESC, p.neighbor
            )::INTEGER AS rank_no
            FROM pairs p JOIN held h
                ON h.neighbor = p.neighbor AND h.relation = p.property AND h.object = p.object
        ) WHERE rank_no <= {job.facts} ORDER BY subject, property, rank_no""",
        output,
    )
