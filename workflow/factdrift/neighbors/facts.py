"""For each updated (subject, relation): what similar entities have there, as of T_old (spec section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.neighbors.groups import Group, updated_groups, updated_subjects
from factdrift.neighbors.tfidf import Neighbors, nearest
from factdrift.neighbors.vectors import open_space
from factdrift.progress import tracked
from factdrift.tables import database, sql, supplied_labels, time_bound, write_parquet, write_query

NEIGHBORS = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("rank_no", pa.int32()),
        ("neighbor", pa.int32()),
        ("similarity", pa.float64()),
        ("relation", pa.int32()),
        ("statement", pa.string()),
        ("object", pa.int32()),
        ("datatype", pa.string()),
        ("json", pa.string()),
        ("key", pa.string()),
    ]
)
"""One row a fact (`neighbor`, `relation`, value) chosen for the updated group (`subject`, `property`), the
`rank_no`-th of it, counted from 1. Nearest facts have `relation` = `property`, random ones any."""

COLUMNS = ", ".join(NEIGHBORS.names)


def search(
    updates: Sequence[Path],
    space: Path,
    old: Sequence[Path],
    entities: Sequence[Path],
    labels: Sequence[Path],
    output: Path,
    old_day: int,
    variant: str,
    dates: str,
    candidates: int = 500,
    facts: int = 10,
    part: tuple[int, int] = (0, 1),
    memory_mb: int = 4000,
    threads: int = 1,
) -> int:
    """Writes the nearest facts of updated groups (schema NEIGHBORS); returns their number.

    `part` is (i, n): of the updated subjects, in n stretches of about equal length, the i-th, from 0.
    `space`: what `make_space` wrote. `old`: preprocessed statements of the old dump. `entities`: tables with
    `id` and `label`; `labels`: tab-separated files of the same. Facts of a neighbour or with an object that
    has no label in any of them are passed over, for nobody could ask for them. `old_day`: T_old as YYYYMMDD.
    Of each group the `candidates` most similar documents are walked until `facts` facts are found; a group
    may get fewer, or none.
    """
    with database(memory_mb, threads) as db:
        groups = updated_groups(db, updates)
        subjects = np.array_split(updated_subjects(groups), part[1])[part[0]]
        mine = set(subjects.tolist())
        groups = [group for group in groups if group.subject in mine]
        relations = sorted({group.property for group in groups})
        _create_holding(db, old, entities, labels, relations, old_day, variant, dates)
        holding = db.sql("SELECT relation, neighbor FROM holding").fetchnumpy()
        holders = np.sort(_cell(holding["relation"].astype(np.int64), holding["neighbor"]))
        vectors = open_space(space)
        found = tracked(
            nearest(vectors.of(subjects), vectors.corpus, candidates),
            "nearest facts",
            len(subjects),
            "subjects",
        )
        chosen = _choose(groups, zip(subjects.tolist(), found, strict=True), vectors.known, holders, facts)
        db.register("chosen", chosen)
        return write_query(
            db,
            f"""SELECT {COLUMNS} FROM chosen JOIN holding USING (neighbor, relation)
            ORDER BY subject, property, rank_no""",
            output,
        )


def gather(parts: Sequence[Path], output: Path) -> int:
    """Writes the parts, given in their order, as one table; returns its number of rows."""
    schema = pq.read_schema(parts[0])
    batches = (batch for part in parts for batch in pq.ParquetFile(part).iter_batches())
    return write_parquet(pa.RecordBatchReader.from_batches(schema, batches), output)


def _create_holding(
    db: duckdb.DuckDBPyConnection,
    old: Sequence[Path],
    entities: Sequence[Path],
    labels: Sequence[Path],
    relations: Sequence[int],
    old_day: int,
    variant: str,
    dates: str,
) -> None:
    """TEMP TABLE holding: of each subject and relation of W_old the one triple that may be taken."""
    db.register("supplied", supplied_labels(labels))
    db.execute(
        f"""CREATE TEMP TABLE holding AS
        WITH labelled AS (
            SELECT id FROM read_parquet({sql(entities)}) WHERE label IS NOT NULL
            UNION SELECT id FROM supplied
        )
        SELECT subject AS neighbor, property AS relation, statement, object, datatype, json, key
        FROM read_parquet({sql(old)})
        WHERE dropped_by IS NULL AND property IN (SELECT unnest({sql(relations)}))
            AND {holds(old_day, variant, dates)}
            AND subject IN (SELECT id FROM labelled)
            -- Properties (negative numbers) always have a label.
            AND (object IS NULL OR object < 0 OR object IN (SELECT id FROM labelled))
        QUALIFY row_number() OVER (
            PARTITION BY subject, property ORDER BY rank = 'preferred' DESC, upper(statement), position
        ) = 1"""
    )


def holds(day: int, variant: str, dates: str) -> str:
    """SQL over STATEMENTS: the fact has not ended before `day` (YYYYMMDD) and does not begin after it.

    An end that is known to have come, but not when (somevalue), is an end.
    """
    if variant == "reference":
        start = "start"
    else:
        start = "CASE WHEN start IS NULL AND NOT start_unknown THEN pit ELSE start END"
    begins_after = f"({time_bound(f'({start})', 'first', variant, dates)}) > {day}"
    last_day = time_bound('"end"', "last", variant, dates)
    ended_before = f"({last_day}) < {day}"
    return f"(NOT (end_unknown OR coalesce({ended_before}, false) OR coalesce({begins_after}, false)))"


def _cell(relation: NDArray[np.int64] | int, neighbors: NDArray[np.integer]) -> NDArray[np.int64]:
    return (np.asarray(relation, np.int64) << 32) + neighbors.astype(np.int64)


def _choose(
    groups: Iterable[Group],
    found: Iterator[tuple[int, Neighbors]],
    known: NDArray[np.int32],
    holders: NDArray[np.int64],
    facts: int,
) -> pa.Table:
    """Walks the neighbours of each group's subject; both run by subject, `holders` is ascending."""
    columns: dict[str, list[NDArray[np.generic]]] = {
        name: [] for name in ("subject", "property", "rank_no", "neighbor", "similarity")
    }
    subject, neighbors, similarities = None, np.empty(0, np.int32), np.empty(0)
    for group in groups:
        if group.subject != subject:
            subject, best = next(found)
            neighbors, similarities = known[best.documents], best.similarities
        cells = _cell(group.property, neighbors)
        place = np.minimum(np.searchsorted(holders, cells), max(len(holders) - 1, 0))
        has_fact = holders[place] == cells if len(holders) else np.zeros(len(cells), bool)
        allowed = has_fact & ~np.isin(neighbors, (group.subject, *group.changed))
        taken = np.flatnonzero(allowed)[:facts]
        columns["subject"].append(np.full(len(taken), group.subject, np.int32))
        columns["property"].append(np.full(len(taken), group.property, np.int32))
        columns["rank_no"].append(np.arange(1, len(taken) + 1, dtype=np.int32))
        columns["neighbor"].append(neighbors[taken])
        columns["similarity"].append(similarities[taken])
    types = {name: NEIGHBORS.field(name).type for name in columns}
    table = pa.table(
        {
            name: pa.array(np.concatenate(parts) if parts else [], types[name])
            for name, parts in columns.items()
        }
    )
    return table.append_column("relation", table["property"])
