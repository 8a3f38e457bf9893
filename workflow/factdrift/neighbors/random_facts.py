"""Random facts for each updated group: what an update must leave alone far away from it."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from factdrift.core.tables import database, sql, write_query
from factdrift.neighbors.facts import COLUMNS
from factdrift.neighbors.groups import Group, updated_groups
from factdrift.neighbors.tfidf import pair_similarities
from factdrift.neighbors.vectors import open_space

if TYPE_CHECKING:
    from factdrift.neighbors.jobs import Random

_FACT = "neighbor, relation, statement, object, datatype, json, key, pit"


def draw(job: Random) -> int:
    """Writes `facts` random facts of every updated group (schema NEIGHBORS); returns their number.

    They are drawn uniformly and without repetition from the distinct nearest facts of the groups of
    WFD_repl. A group gets no fact whose subject or object is
    the group's subject or an object that its update changes; it gets fewer facts if there are no more. The
    draw depends only on the seed, the group and the pool.
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
        subjects = np.unique(columns[0])
        vectors = open_space(job.space)
        others = np.unique(ends[columns[3], 0])
        similarities = pair_similarities(
            vectors.of(subjects)[np.searchsorted(subjects, columns[0])],
            vectors.of(others)[np.searchsorted(others, ends[columns[3], 0])],
        )
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
