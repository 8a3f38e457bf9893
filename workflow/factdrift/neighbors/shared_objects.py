"""Facts of other subjects that share the old or the new object of a replacement (docs/layouts.md).

CounterFact asks them beside each edit (arXiv 2202.05262, section 3.3): the neighbourhood prompts have the old
object for their answer, the attribute prompts the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa

from factdrift.core.tables import database, sql, write_query
from factdrift.neighbors.facts import COLUMNS
from factdrift.neighbors.holding import holds
from factdrift.neighbors.tfidf import pair_similarities
from factdrift.neighbors.vectors import Space, open_space
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.templates import BLANK

BLOCK = 100_000
"""Pairs of entities whose similarity is computed at a time."""


class Dump(NamedTuple):
    """One of the two dumps: its filtered statements, all buckets, and its day as YYYYMMDD."""

    statements: Sequence[Path]
    day: int


def write_shared_objects(
    updates: Sequence[Path],
    old: Dump,
    new: Dump,
    entities: Sequence[Path],
    labels: Sequence[Path],
    space: Path,
    obsolete_output: Path,
    new_output: Path,
    variant: str,
    dates: str,
    candidates: int = 500,
    facts: int = 10,
    seed: int = 0,
    memory_mb: int = 4000,
    threads: int = 1,
) -> tuple[int, int]:
    """Writes two tables NEIGHBORS, of facts with the obsolete and with the new object; returns their lengths.

    Each update that replaces one item by another gets, from other subjects, facts of its relation that have
    the object and hold at T_old, as all neighbour facts do. Those that still hold at T_new come first, then
    those of the nearest subjects by TF-IDF; `facts` of them are written. Left out are subjects that are an
    object of the update, that have both objects, or that have no label. Of more than `candidates` subjects
    with an object that many are drawn by `seed`. `entities`, `labels`, `variant` and `dates`: as in
    `write_holding`. `space`: what `make_space` wrote.
    """
    with database(memory_mb, threads) as db:
        db.register("supplied", supplied_labels(labels))
        db.execute(
            f"""CREATE TEMP TABLE replaced AS
            SELECT subject, property, max(object) FILTER (label = 'obsolete') AS obsolete,
                max(object) FILTER (label = 'new') AS new
            FROM read_parquet({sql(updates)}) WHERE dropped_by IS NULL AND is_replace
            GROUP BY subject, property HAVING obsolete > 0 AND new > 0"""
        )
        db.execute(
            f"""CREATE TEMP TABLE held AS
            WITH wanted AS (
                SELECT property, obsolete AS object FROM replaced UNION SELECT property, new FROM replaced
            ), lasting AS (
                SELECT subject, property, object FROM read_parquet({sql(new.statements)})
                WHERE dropped_by IS NULL AND (property, object) IN (FROM wanted)
                    AND {holds(new.day, variant, dates)}
            ), labelled AS (
                SELECT id, label FROM read_parquet({sql(entities)}) WHERE label IS NOT NULL
                UNION ALL SELECT id, label FROM supplied
            )
            SELECT subject AS neighbor, property AS relation, statement, object, datatype, json, key, pit,
                (subject, property, object) IN (FROM lasting) AS lasting
            FROM read_parquet({sql(old.statements)})
            WHERE dropped_by IS NULL AND (property, object) IN (FROM wanted)
                AND {holds(old.day, variant, dates)}
                AND subject IN (SELECT id FROM labelled WHERE NOT contains(label, {sql(BLANK)}))
            QUALIFY row_number() OVER (
                PARTITION BY subject, property, object ORDER BY rank = 'preferred' DESC, upper(statement)
            ) = 1"""
        )
        vectors = open_space(space)
        counts = [
            _write(db, role, other, vectors, output, candidates, facts, seed)
            for role, other, output in (
                ("obsolete", "new", obsolete_output),
                ("new", "obsolete", new_output),
            )
        ]
    return counts[0], counts[1]


def _write(
    db: duckdb.DuckDBPyConnection,
    role: str,
    other: str,
    vectors: Space,
    output: Path,
    candidates: int,
    facts: int,
    seed: int,
) -> int:
    """Writes the facts with the object `role` of each replacement, of subjects without the object `other`."""
    pairs = db.sql(
        f"""WITH drawn AS (
            SELECT neighbor, relation, object FROM held
            QUALIFY row_number() OVER (PARTITION BY relation, object
                ORDER BY lasting DESC, md5(concat_ws(':', {seed}, neighbor, relation, object)), neighbor
            ) <= {candidates}
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
        ) WHERE rank_no <= {facts} ORDER BY subject, property, rank_no""",
        output,
    )
