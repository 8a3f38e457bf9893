"""Chains of small worlds that go through the real comparison, and the laws of sequences."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.sequences import (
    PLAIN,
    SINGLE,
    chains,
    check_chains,
    check_composition,
    difference,
    differences,
    random_dumps,
)
from support.worlds import Fact, World

ANCHOR = Fact(1, 999, 5, start="2000-01-01")
"""A fact that never changes, so that the subject is not a new one."""


def held(object_: int, start: str | None = None, end: str | None = None, relation: int = SINGLE) -> Fact:
    return Fact(1, relation, object_, start=start, end=end)


def test_successors_and_a_return(tmp_path):
    dumps = [
        [ANCHOR, held(7, "2010-01-01")],
        [ANCHOR, held(7, "2010-01-01", "2016-03-01"), held(8, "2016-03-01")],
        [ANCHOR, held(8, "2016-03-01", "2018-05-01"), held(7, "2018-05-01")],
        [ANCHOR, held(7, "2018-05-01", "2020-07")],
    ]
    rows = chains(differences(tmp_path, dumps), tmp_path / "chains.parquet")
    told = [
        (row["interval"], row["link"], row["links"], row["date"], row["dated_by"], row["reverts"])
        for row in rows
    ]
    assert told == [
        (1, 1, 3, "2016-03-01", "start", False),
        (2, 2, 3, "2018-05-01", "start", True),
        (3, 3, 3, "2020-07", "end", False),
    ]
    assert [row["superseded_by"] for row in rows] == [2, 3, None]
    # The date is exact and the statement is new, so only when it was added is not known to the day.
    assert (rows[0]["lag_min"], rows[0]["lag_max"]) == (-424, 306)


def test_an_interval_without_an_update_is_no_link(tmp_path):
    dumps = [
        [ANCHOR, held(7, "2010-01-01")],
        [ANCHOR, held(7, "2010-01-01", "2016-03-01"), held(8, "2016-03-01")],
        [ANCHOR, held(8, "2016-03-01")],
        [ANCHOR, held(8, "2016-03-01", "2020-05-01"), held(9, "2020-05-01")],
    ]
    rows = chains(differences(tmp_path, dumps), tmp_path / "chains.parquet")
    assert [(row["interval"], row["link"], row["superseded_by"]) for row in rows] == [(1, 1, 2), (3, 2, None)]


def test_values_that_hold_together_do_not_supersede_each_other(tmp_path):
    first, second, third = (
        held(7, "2016-02-01", relation=PLAIN),
        held(8, "2018-02-01", relation=PLAIN),
        held(7, "2016-02-01", "2020-02-01", relation=PLAIN),
    )
    dumps = [[ANCHOR], [ANCHOR, first], [ANCHOR, first, second], [ANCHOR, third, second]]
    rows = chains(differences(tmp_path, dumps), tmp_path / "chains.parquet")
    assert [row["superseded_by"] for row in rows] == [3, None, None]
    assert [[each["dated_by"] for each in row["changes"]] for row in rows] == [
        ["start"],
        [None, "start"],
        ["end", None],
    ]


@settings(max_examples=examples(12), phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 2**32))
def test_the_laws_hold_in_random_worlds(seed):
    dumps = random_dumps(Random(seed), 4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = differences(folder, dumps)
        direct = difference(folder, dumps, 0, len(dumps) - 1)
        check_composition([World.differences(pair) for pair in pairs], World.differences(direct))
        rows = chains(pairs, folder / "chains.parquet")
        check_chains(rows, len(pairs))
        updates = {
            (interval, row["subject"], row["property"])
            for interval, pair in enumerate(pairs, start=1)
            for row in pq.read_table(pair / "updates.parquet").to_pylist()
            if row["dropped_by"] is None
        }
        assert {(row["interval"], row["subject"], row["property"]) for row in rows} == updates
        # What is found of the first intervals does not depend on later ones, but for what supersedes it.
        alone = chains(pairs[:-1], folder / "alone.parquet")
        kept = (
            "interval",
            "subject",
            "property",
            "link",
            "date",
            "dated_by",
            "lag_min",
            "lag_max",
            "reverts",
        )
        assert [[row[name] for name in kept] for row in alone] == [
            [row[name] for name in kept] for row in rows if row["interval"] < len(pairs)
        ]
