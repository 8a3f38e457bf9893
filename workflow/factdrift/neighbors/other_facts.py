"""Facts beside the nearest ones: random facts, and those that share an object of a replacement."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from factdrift.core.tables import database, sql, write_query
from factdrift.neighbors.facts import COLUMNS, Group, create_labelled, holds, updated_groups
from factdrift.neighbors.vectors import Space, open_space

if TYPE_CHECKING:
    from factdrift.neighbors.jobs import Random, SharedObjects

_FACT = "neighbor, relation, statement, object, datatype, json, key, pit"


def draw(job: Random) -> int:
    """Writes `facts` random facts of every updated group (schema NEIGHBORS); returns their number.

    They are drawn uniformly and without repetition from the distinct nearest facts of the groups of WFD_repl:
    what an update must leave alone far away from it. A group gets no fact whose subject or object is the
    group's subject or an object that its update changes; it gets fewer facts if there are no more. The draw
    depends only on the seed, the group and the pool.
    """
    with database(job.memory_mb, job.threads) as db:
        groups = updated_groups(db, job.updates)
        db.execute(
            f"""CREATE TEMP TABLE pool AS
            SELECT row_number() OVER (ORDER BY neighbor, relation, statement) - 1 AS place, *
            FROM (SELECT DISTINCT {_FACT} FROM read_parquet({sql(job.neighbors)})
                WHERE (subject, property) IN (
                    SELECT (subject, property) FROM read_parquet({sql(job.replacements)})))"""
        )
        pool = db.sql("SELECT neighbor, coalesce(object, 0) AS object FROM pool ORDER BY place").fetchnumpy()
        ends = np.stack([pool["neighbor"], pool["object"]], axis=1).astype(np.int32)
        rows = [
            (group.subject, group.property, number, place)
            for group in groups
            for number, place in enumerate(_draw(group, ends, job.seed, job.facts), start=1)
        ]
        columns = np.array(rows, np.int32).reshape(-1, 4).T
        similarities = open_space(job.space).similarities(columns[0], ends[columns[3], 0])
        chosen = dict(zip(("subject", "property", "rank_no", "place"), columns, strict=True))
        db.register("chosen", pa.table(chosen | {"similarity": similarities}))
        return write_query(
            db,
            f"SELECT {COLUMNS} FROM chosen JOIN pool USING (place) ORDER BY subject, property, rank_no",
            job.output,
        )


def _draw(group: Group, ends: NDArray[np.int32], seed: int, number: int) -> list[int]:
    """Rows of the pool: a lazy Fisher-Yates shuffle that skips facts with an avoided entity.

    `ends`: [pool, 2] subject and object of each fact, 0 for a literal.
    """
    avoided = {group.subject, *group.changed}
    moved: dict[int, int] = {}
    taken: list[int] = []
    for step in range(len(ends)):
        if len(taken) == number:
            break
        digest = hashlib.sha256(f"{seed}:{group.subject}:{group.property}:{step}".encode()).digest()
        other = step + int.from_bytes(digest[:16]) % (len(ends) - step)
        place = moved.get(other, other)
        moved[other] = moved.get(step, step)
        if avoided.isdisjoint(ends[place].tolist()):
            taken.append(place)
    return taken


def write_shared_objects(job: SharedObjects) -> tuple[int, int]:
    """Writes two tables NEIGHBORS, of facts with the obsolete and with the new object; returns their lengths.

    CounterFact asks them beside each edit (arXiv 2202.05262, section 3.3): the neighbourhood prompts have the
    old object for their answer, the attribute prompts the new one.
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
    similarity = vectors.similarities(*(pairs[name].to_numpy() for name in ("subject", "neighbor")))
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
