"""Facts beside the nearest ones: random facts, and those that share an object of a replacement."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from factdrift.core.tables import sql, write_query
from factdrift.neighbors.facts import COLUMNS, Group, Limits, Naming, create_labelled, updated_groups
from factdrift.neighbors.vectors import Space, open_space

_FACT = "neighbor, relation, statement, object, datatype, json, key, pit"


class Pool(NamedTuple):
    """Where random facts are drawn from: the table of nearest facts, and the groups whose facts count."""

    neighbors: Path
    groups: Path


def draw(
    db: Connection, updates: Sequence[Path], pool: Pool, space: Path, number: int, seed: int, output: Path
) -> int:
    """Writes `number` random facts of every updated group (schema NEIGHBORS); returns how many there are.

    They are drawn uniformly and without repetition from the distinct nearest facts of the groups of WFD_repl:
    what an update must leave alone far away from it. A group gets no fact whose subject or object is the
    group's subject or an object that its update changes; it gets fewer facts if there are no more. The draw
    depends only on the seed, the group and the pool.
    """
    groups = updated_groups(db, updates)
    db.execute(
        f"""CREATE TEMP TABLE pool AS
        SELECT row_number() OVER (ORDER BY neighbor, relation, statement) - 1 AS place, *
        FROM (SELECT DISTINCT {_FACT} FROM read_parquet({sql(pool.neighbors)})
            WHERE (subject, property) IN (
                SELECT (subject, property) FROM read_parquet({sql(pool.groups)})))"""
    )
    facts = db.sql("SELECT neighbor, coalesce(object, 0) AS object FROM pool ORDER BY place").fetchnumpy()
    ends = np.stack([facts["neighbor"], facts["object"]], axis=1).astype(np.int32)
    drawn = ((group, enumerate(_draw(group, ends, seed, number), start=1)) for group in groups)
    rows = [(group.subject, group.property, rank, row) for group, own in drawn for rank, row in own]
    columns = np.array(rows, np.int32).reshape(-1, 4).T
    similarities = open_space(space).similarities(columns[0], ends[columns[3], 0])
    chosen = dict(zip(("subject", "property", "rank_no", "place"), columns, strict=True))
    db.register("chosen", pa.table(chosen | {"similarity": similarities}))
    query = f"SELECT {COLUMNS} FROM chosen JOIN pool USING (place) ORDER BY subject, property, rank_no"
    return write_query(db, query, output)


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
        index = moved.get(other, other)
        moved[other] = moved.get(step, step)
        if avoided.isdisjoint(ends[index].tolist()):
            taken.append(index)
    return taken


class DayStatements(NamedTuple):
    """The filtered statements of a dump, and the condition that one holds on its day (`facts.holds`)."""

    filtered: Sequence[Path]
    condition: str


def create_shared_objects(
    db: Connection, updates: Sequence[Path], old: DayStatements, new: DayStatements, naming: Naming
) -> None:
    """TEMP TABLEs of the replacements of one item by another, and of the facts that have either of the two.

    `replaced` (subject, property, obsolete, new). `held` (neighbor, relation, columns of a fact, lasting):
    facts of the replacements' relations that hold at T_old, as all neighbour facts do, and whether they still
    hold at T_new. Subjects without a label are left out.
    """
    create_labelled(db, naming)
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
            SELECT subject, property, object FROM read_parquet({sql(new.filtered)})
            WHERE dropped_by IS NULL AND (property, object) IN (FROM wanted)
                AND {new.condition}
        )
        SELECT subject AS neighbor, property AS relation, statement, object, datatype, json, key, pit,
            (subject, property, object) IN (FROM lasting) AS lasting
        FROM read_parquet({sql(old.filtered)})
        WHERE dropped_by IS NULL AND (property, object) IN (FROM wanted)
            AND {old.condition}
            AND subject IN (FROM askable)
        QUALIFY row_number() OVER (
            PARTITION BY subject, property, object ORDER BY rank = 'preferred' DESC, upper(statement)
        ) = 1"""
    )


def write_shared_objects(
    db: Connection, role: Literal["obsolete", "new"], vectors: Space, limits: Limits, seed: int, output: Path
) -> int:
    """Writes a table NEIGHBORS of facts with the object `role` of each replacement; returns its length.

    CounterFact asks them beside each edit (arXiv 2202.05262, section 3.3): the neighbourhood prompts have the
    old object for their answer, the attribute prompts the new one. Needs the tables of
    `create_shared_objects`. Facts that still hold at T_new come first, then those of the nearest subjects by
    TF-IDF; `limits.facts` of them are written. Left out are subjects that are an object of the update, or
    that have both objects. Of more than `limits.candidates` subjects with an object that many are drawn by
    `seed`.
    """
    other = "new" if role == "obsolete" else "obsolete"
    pairs = db.sql(
        f"""WITH drawn AS (
            SELECT neighbor, relation, object FROM held
            QUALIFY row_number() OVER (PARTITION BY relation, object
                ORDER BY lasting DESC, md5(concat_ws(':', {seed}, neighbor, relation, object)), neighbor
            ) <= {limits.candidates}
        )
        SELECT r.subject, r.property, d.neighbor, d.object
        FROM replaced r JOIN drawn d ON d.relation = r.property AND d.object = r.{role}
        WHERE d.neighbor NOT IN (r.subject, r.obsolete, r.new)
            AND (d.neighbor, r.property, r.{other}) NOT IN (SELECT (neighbor, relation, object) FROM held)"""
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
        ) WHERE rank_no <= {limits.facts} ORDER BY subject, property, rank_no""",
        output,
    )
