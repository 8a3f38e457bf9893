"""Nearest facts: for each updated (subject, relation) that of similar entities as of T_old (section 8)."""

from collections.abc import Sequence
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.switches import Variant
from factdrift.core.tables import sql, table_of, write_parquet, write_query
from factdrift.wikidata.tables import TIME, supplied_labels, time_bound
from factdrift.wikidata.time import pack_date
from factdrift.words.templates import BLANK

NEIGHBORS = schema_of(
    "subject property rank_no neighbor: int32, similarity: float64, relation: int32, statement: string",
    "object: int32, datatype json key: string",
    ("pit", TIME),
)
"""One row a fact (`neighbor`, `relation`, value) of an updated group (docs/tables/neighbors.md)."""

COLUMNS = ", ".join(NEIGHBORS.names)


class Group(NamedTuple):
    """An updated group; `changed` are the entity objects of its new and obsolete triples."""

    subject: int
    property: int
    changed: Sequence[int]


def updated_groups(db: Connection, updates: Sequence[Path]) -> list[Group]:
    """The groups that reach the dataset, by subject and property."""
    rows = db.sql(
        f"""SELECT subject, property, list(DISTINCT object) FILTER (
                label IN ('new', 'obsolete') AND object IS NOT NULL) AS changed
        FROM read_parquet({sql(updates)}) WHERE dropped_by IS NULL
        GROUP BY subject, property ORDER BY subject, property"""
    ).fetchall()
    return [Group(subject, property, changed or ()) for subject, property, changed in rows]


class Naming(NamedTuple):
    """Where the labels of entities are: those of the old dump, and tables of those that the dumps lack."""

    entities: Sequence[Path]
    labels: Sequence[Path] = ()


class Dates(NamedTuple):
    """How the dates of statements are read, by variant and its switch."""

    variant: Variant
    dates: Literal["first_day", "interval"]


class Limits(NamedTuple):
    """Of each group, how many subjects are tried, and how many facts are taken."""

    candidates: int
    facts: int


def write_holding(
    db: Connection, updates: Sequence[Path], old: Path, naming: Naming, condition: str, output: Path
) -> int:
    """Writes a triple of W_old for each subject of a bucket and updated relation; returns their number.

    `old`: the bucket's filtered statements; `condition`: that they held at T_old (`holds`). Columns: neighbor
    (the subject), relation, statement, object, datatype, json, key, pit. Facts are left out whose
    subject or object has no label, or whose subject's label holds the blank of a cloze test: nobody could ask
    for them.
    """
    create_labelled(db, naming)
    return write_query(
        db,
        f"""WITH updated AS (
            SELECT DISTINCT property FROM read_parquet({sql(updates)}) WHERE dropped_by IS NULL
        )
        SELECT subject AS neighbor, property AS relation, statement, object, datatype, json, key, pit
        FROM read_parquet({sql(old)})
        WHERE dropped_by IS NULL AND property IN (FROM updated)
            AND {condition}
            AND subject IN (FROM askable)
            -- Properties (negative numbers) always have a label.
            AND (object IS NULL OR object < 0 OR object IN (SELECT id FROM labelled))
        QUALIFY row_number() OVER (
            PARTITION BY subject, property ORDER BY rank = 'preferred' DESC, upper(statement), position
        ) = 1
        ORDER BY neighbor, relation""",
        output,
    )


def create_labelled(db: Connection, naming: Naming) -> None:
    """TEMP VIEWs of entities: `labelled` (id, label), and `askable` (id), whose label holds no blank."""
    db.register("supplied", supplied_labels(naming.labels))
    db.execute(
        f"""CREATE TEMP VIEW labelled AS
        SELECT id, label FROM read_parquet({sql(naming.entities)}) WHERE label IS NOT NULL
        UNION ALL SELECT id, label FROM supplied;
        CREATE TEMP VIEW askable AS SELECT id FROM labelled WHERE NOT contains(label, {sql(BLANK)})"""
    )


def holds(day: date, dates: Dates) -> str:
    """SQL over STATEMENTS: the fact has not ended before `day` and does not begin after it.

    A fact that ended at an unknown time (`somevalue`) does not hold.
    """
    start = "CASE WHEN start IS NULL AND NOT start_unknown THEN pit ELSE start END"
    start = "start" if dates.variant == "reference" else start
    first_day = time_bound(f"({start})", "first", dates.variant, dates.dates)
    last_day = time_bound('"end"', "last", dates.variant, dates.dates)
    packed = pack_date(day)
    begins_after, ended_before = f"({first_day}) > {packed}", f"({last_day}) < {packed}"
    return f"(NOT (end_unknown OR coalesce({ended_before}, false) OR coalesce({begins_after}, false)))"


def search(
    db: Connection,
    updates: Sequence[Path],
    space: Path,
    holding: Sequence[Path],
    limits: Limits,
    part: str,
    output: Path,
) -> int:
    """Writes the nearest facts of updated groups (schema NEIGHBORS); returns their number.

    The part i-of-n is the i-th, from 0, of n stretches of about equal length of the updated subjects. For
    each group the most similar documents are tried, `limits.candidates` of them, until enough facts are
    there; a group may get fewer, or none. Raises InputError if there is no such part.
    """
    from factdrift.neighbors.nearest import nearest  # scipy, which the other jobs of this room do not need
    from factdrift.neighbors.vectors import open_space

    first, _, number = part.partition("-of-")
    if not (first.isdigit() and number.isdigit() and int(first) < int(number)):
        raise InputError(f"--part: {part!r} is no part such as 0-of-4")
    by_subject = groupby(updated_groups(db, updates), key=lambda group: group.subject)
    groups = {subject: list(own) for subject, own in by_subject}
    subjects = np.array_split(np.array([*groups], np.int32), int(number))[int(first)]
    relations = sorted({group.property for subject in subjects.tolist() for group in groups[subject]})
    cells = db.sql(
        f"""SELECT (relation::BIGINT << 32) + neighbor AS cell FROM read_parquet({sql(holding)})
        WHERE relation IN (SELECT unnest({sql(relations)}))"""
    ).fetchnumpy()["cell"]
    # A last one that is no fact, so that a search for any cell ends at one.
    holders = np.append(np.sort(cells), np.iinfo(np.int64).max)
    vectors = open_space(space)
    ranked = nearest(vectors.of(subjects), vectors.corpus, vectors.having, limits.candidates)
    rows: list[tuple[int | float, ...]] = []
    for subject, best in zip(subjects.tolist(), ranked, strict=True):
        neighbors = vectors.known[best.documents]
        for group in groups[subject]:
            cells = (group.property << 32) + neighbors.astype(np.int64)
            has_fact = holders[np.searchsorted(holders, cells)] == cells
            usable = np.flatnonzero(has_fact & ~np.isin(neighbors, (subject, *group.changed)))
            chosen = usable[: limits.facts]
            similar = zip(neighbors[chosen].tolist(), best.similarities[chosen].tolist(), strict=True)
            for rank, (neighbor, similarity) in enumerate(similar, start=1):
                rows.append((subject, group.property, rank, neighbor, similarity, group.property))
    names = ("subject", "property", "rank_no", "neighbor", "similarity", "relation")
    return _write(db, table_of(rows, pa.schema([NEIGHBORS.field(name) for name in names])), holding, output)


def _write(db: Connection, chosen: pa.Table, holding: Sequence[Path], output: Path) -> int:
    """Writes NEIGHBORS: the facts of the chosen subjects."""
    db.register("chosen", chosen)
    return write_query(
        db,
        f"""SELECT {COLUMNS} FROM chosen JOIN read_parquet({sql(holding)}) USING (neighbor, relation)
        ORDER BY subject, property, rank_no""",
        output,
    )


def popular(
    db: Connection,
    updates: Sequence[Path],
    space: Path,
    holding: Sequence[Path],
    popularity: Path,
    facts: int,
    output: Path,
) -> int:
    """Writes `facts` facts of the most popular subjects for each group (NEIGHBORS); returns their number.

    They are of the group's relation, and unchanged: no triple of theirs has a label but `static`. Subjects
    that the update is about are left out as from the nearest facts. Ties: the smaller id.
    """
    from factdrift.neighbors.vectors import open_space

    groups = updated_groups(db, updates)
    avoided = [[group.subject, *group.changed] for group in groups]
    names = ("subject", "property")
    columns = {name: pa.array([getattr(group, name) for group in groups], pa.int32()) for name in names}
    db.register("groups", pa.table(columns | {"avoided": pa.array(avoided, pa.list_(pa.int32()))}))
    chosen = db.sql(
        f"""WITH ranked AS (
            SELECT neighbor, relation, row_number() OVER (
                PARTITION BY relation ORDER BY popularity DESC NULLS LAST, neighbor) AS popular_rank
            FROM read_parquet({sql(holding)}) LEFT JOIN read_parquet({sql(popularity)}) p ON p.id = neighbor
            WHERE (neighbor, relation, statement) NOT IN (
                SELECT (subject, property, old_statement) FROM read_parquet({sql(updates)})
                WHERE label <> 'static' AND old_statement IS NOT NULL)
            QUALIFY popular_rank <= {facts + max(map(len, avoided), default=0)}
        )
        SELECT subject, property, row_number() OVER (
            PARTITION BY subject, property ORDER BY popular_rank)::INTEGER AS rank_no, neighbor, relation
        FROM groups JOIN ranked ON relation = property AND NOT list_contains(avoided, neighbor)
        QUALIFY rank_no <= {facts}"""
    ).to_arrow_table()
    similar = open_space(space).similarities(*(chosen[name].to_numpy() for name in ("subject", "neighbor")))
    return _write(db, chosen.append_column("similarity", pa.array(similar)), holding, output)


def gather(parts: Sequence[Path], output: Path) -> int:
    """Writes the parts in their order as a table; returns its number of rows."""
    schema = pq.read_schema(parts[0])
    batches = (batch for part in parts for batch in pq.ParquetFile(part).iter_batches())
    return write_parquet(pa.RecordBatchReader.from_batches(schema, batches), output)
