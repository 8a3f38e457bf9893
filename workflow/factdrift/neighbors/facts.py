"""Nearest facts: for each updated (subject, relation) that of similar entities as of T_old (section 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.core.errors import InputError
from factdrift.core.tables import database, sql, table_of, write_parquet, write_query
from factdrift.neighbors.groups import Group, updated_groups, updated_subjects
from factdrift.neighbors.tfidf import Neighbors, nearest
from factdrift.neighbors.vectors import open_space
from factdrift.wikidata.tables import TIME

if TYPE_CHECKING:
    from factdrift.neighbors.jobs import Search

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
        ("pit", TIME),
    ]
)
"""One row a fact (`neighbor`, `relation`, value) chosen for the updated group (`subject`, `property`);
`rank_no` numbers the facts of a group from 1, `pit` is the statement's point in time. Nearest facts have
`relation` = `property`, random ones any."""

COLUMNS = ", ".join(NEIGHBORS.names)


def search(job: Search) -> int:
    """Writes the nearest facts of updated groups (schema NEIGHBORS); returns their number.

    The part i-of-n is the i-th, from 0, of n stretches of about equal length of the updated subjects. For
    each group the `candidates` most similar documents are tried until `facts` facts are found; a group may
    get fewer, or none. Raises InputError if there is no such part.
    """
    first, _, number = job.part.partition("-of-")
    if not (first.isdigit() and number.isdigit() and int(first) < int(number)):
        raise InputError(f"--part: {job.part!r} is no part such as 0-of-4")
    with database(job.memory_mb, job.threads) as db:
        groups = updated_groups(db, job.updates)
        subjects = np.array_split(updated_subjects(groups), int(number))[int(first)]
        mine = set(subjects.tolist())
        groups = [group for group in groups if group.subject in mine]
        relations = sorted({group.property for group in groups})
        rows = db.sql(
            f"""SELECT (relation::BIGINT << 32) + neighbor AS cell FROM read_parquet({sql(job.holding)})
            WHERE relation IN (SELECT unnest({sql(relations)}))"""
        ).fetchnumpy()
        holders = np.sort(rows["cell"])
        vectors = open_space(job.space)
        neighbors = nearest(vectors.of(subjects), vectors.corpus, vectors.having, job.candidates)
        best = zip(subjects.tolist(), neighbors, strict=True)
        chosen = _choose(groups, best, vectors.known, holders, job.facts)
        db.register("chosen", chosen)
        return write_query(
            db,
            f"""SELECT {COLUMNS} FROM chosen JOIN read_parquet({sql(job.holding)}) USING (neighbor, relation)
            ORDER BY subject, property, rank_no""",
            job.output,
        )


def gather(parts: Sequence[Path], output: Path) -> int:
    """Writes the parts, given in their order, as one table; returns its number of rows."""
    schema = pq.read_schema(parts[0])
    batches = (batch for part in parts for batch in pq.ParquetFile(part).iter_batches())
    return write_parquet(pa.RecordBatchReader.from_batches(schema, batches), output)


def _choose(
    groups: Iterable[Group],
    ranked: Iterator[tuple[int, Neighbors]],
    known: NDArray[np.int32],
    holders: NDArray[np.int64],
    facts: int,
) -> pa.Table:
    """Chooses the facts of each group from its subject's neighbours.

    `groups` and `ranked` are sorted by subject. `holders`: ascending codes, relation << 32 + neighbour, of
    the facts that there are; `known`: the entity of each document.
    """
    rows: list[tuple[int | float, ...]] = []
    subject, neighbors, similarities = None, np.empty(0, np.int32), np.empty(0)
    for group in groups:
        if group.subject != subject:
            subject, best = next(ranked)
            neighbors, similarities = known[best.documents], best.similarities
        cells = (group.property << 32) + neighbors.astype(np.int64)
        place = np.minimum(np.searchsorted(holders, cells), max(len(holders) - 1, 0))
        has_fact = holders[place] == cells if len(holders) else np.zeros(len(cells), bool)
        allowed = has_fact & ~np.isin(neighbors, (group.subject, *group.changed))
        taken = np.flatnonzero(allowed)[:facts]
        found = zip(neighbors[taken].tolist(), similarities[taken].tolist(), strict=True)
        for number, chosen in enumerate(found, start=1):
            rows.append((group.subject, group.property, number, *chosen, group.property))
    names = ("subject", "property", "rank_no", "neighbor", "similarity", "relation")
    return table_of(rows, pa.schema([NEIGHBORS.field(name) for name in names]))
