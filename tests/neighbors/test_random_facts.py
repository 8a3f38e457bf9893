"""Random facts: drawn from the right pool, the same whatever else is drawn."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from support.tables import written

from factdrift.neighbors.facts import NEIGHBORS
from factdrift.neighbors.jobs import Random

from .conftest import Row, in_space, statement, update

GROUPS = pa.schema([("subject", pa.int32()), ("property", pa.int32())])


def near(subject: int, property: int, neighbor: int, object: int | None, **more: Any) -> Row:
    row = dict.fromkeys(NEIGHBORS.names) | {"rank_no": 1, "similarity": 0.5, "datatype": "wikibase-item"}
    row |= {"subject": subject, "property": property, "neighbor": neighbor, "object": object}
    return row | {"relation": property, "statement": f"Q{neighbor}-{object}", "key": f"Q{object}"} | more


def new(subject: int, property: int, object: int) -> Row:
    return update(subject, property, "new", object)


def run(tmp_path: Path, updates: list[Row], pool: list[Row], **options: int) -> list[Row]:
    old = [statement(subject, 31, 515) for subject in sorted({row["neighbor"] for row in pool} | {1, 2})]
    given = in_space(tmp_path, updates, old)
    groups = [{"subject": subject, "property": 6} for subject in (1, 2)]
    output = tmp_path / "random.parquet"
    Random(
        updates=given["updates"],
        neighbors=written(tmp_path / "neighbors.parquet", NEIGHBORS, pool),
        replacements=written(tmp_path / "replacements.parquet", GROUPS, groups),
        space=given["space"],
        output=output,
        **{"seed": 0, "facts": 10} | options,
    ).run()
    found = pq.read_table(output)
    assert found.schema.equals(NEIGHBORS)
    rows: list[Row] = found.to_pylist()
    return rows


def test_pool_and_exclusions(tmp_path):
    facts = [
        near(1, 6, 11, 110),
        near(2, 6, 11, 110),  # the same fact, once in the pool
        near(2, 6, 12, 120),
        near(2, 6, 1, 130),  # about the subject of the first group
        near(2, 6, 13, 102),  # its object is changed there
        near(3, 6, 14, 140),  # of no replacement
    ]
    updates = [new(1, 6, 102), new(5, 17, 500), update(5, 17, "static", 12)]
    found = run(tmp_path, updates, facts)
    of_first = {(row["neighbor"], row["object"]) for row in found if row["subject"] == 1}
    of_other = [(row["neighbor"], row["object"]) for row in found if row["subject"] == 5]
    assert of_first == {(11, 110), (12, 120)}
    assert sorted(of_other) == [(1, 130), (11, 110), (12, 120), (13, 102)]
    assert {row["relation"] for row in found} == {6}
    # Q5 is in neither dump and has no vector.
    assert all((row["similarity"] > 0) == (row["subject"] == 1) for row in found)


def test_the_draw_is_a_shuffle_by_the_hashes_of_seed_group_and_step(tmp_path):
    """Fisher and Yates's, of the pool in the order of neighbour, relation and statement."""
    facts = [
        near(1, 6, 1000 + i // 3, 2000 + 7 * i % 11, relation=6 + i % 2, statement=f"Q{7 * i % 30:02}")
        for i in range(30)
    ]
    assert run(tmp_path, [new(8, 6, 5)], []) == []
    found = run(tmp_path, [new(9, 17, 2004), new(8, 6, 5)], facts[::-1], seed=3, facts=12)
    ordered = sorted((row["neighbor"], row["relation"], row["statement"], row["object"]) for row in facts)
    for subject, relation, changed in ((9, 17, 2004), (8, 6, 5)):
        pool = list(ordered)
        for step in range(len(pool)):
            digest = hashlib.sha256(f"3:{subject}:{relation}:{step}".encode()).digest()
            other = step + int.from_bytes(digest[:16]) % (len(pool) - step)
            pool[step], pool[other] = pool[other], pool[step]
        wanted = [name for _, _, name, object_ in pool if object_ != changed][:12]
        assert [row["statement"] for row in found if row["subject"] == subject] == wanted
