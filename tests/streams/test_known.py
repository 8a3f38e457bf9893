"""Timelines with a record axis: the laws of the sequence of K_1 to K_n, on random worlds.

The oracle computes each K_k anew from the first k dumps.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from .definitions import Dating, Group, Timelines
from .drawn import DATES, Drawn, Row

TIMELINE = ["subject", "property", "value", "certain_first", "certain_last", "possible_first"]
TIMELINE += ["possible_last", "doubted", "dated"]


class Early(Timelines):
    """K_k of all groups of the whole sequence, by the definitions of docs/two-times.md."""

    def __init__(self, drawn: Drawn, dumps: int) -> None:
        early = drawn.before(dumps)
        super().__init__(early, Dating(early).links())
        self.linked, self.whole = self.groups, drawn
        self.groups = sorted({(row["subject"], row["property"]) for row in Dating(drawn).links()})

    def functional(self, group: Group) -> bool:
        if group in self.linked:
            return super().functional(group)
        for number in range(1, len(self.whole.triples) + 1):
            of_first = Timelines(self.whole.before(number + 1), [])
            kept = [row for row in of_first.drawn.triples[-1] if row["dropped_by"] is None]
            if any((row["subject"], row["property"]) == group for row in kept):
                return of_first.functional(group)
        raise AssertionError(group)


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in TIMELINE) for row in rows)


@settings(max_examples=examples(12), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_rows_known_by_a_dump_are_those_of_the_dumps_up_to_it(seed: int) -> None:
    drawn = Drawn(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        *_, newest = drawn.chains(folder)
        known: list[Row] = pq.read_table(folder / "known.parquet").to_pylist()
        dumps = [day.isoformat() for day in DATES]
        for number, dump in enumerate(dumps, start=1):
            rows = [
                row
                for row in known
                if row["known_from"] <= dump and (row["known_until"] is None or dump < row["known_until"])
            ]
            oracle = Early(drawn, number)
            assert bag(rows) == bag(oracle.rows())
            linked = [row for row in rows if row["linked_from"] <= dump]
            assert {(row["subject"], row["property"]) for row in linked} <= {*oracle.linked}
            if number > 1:
                *_, alone = drawn.before(number).chains(folder)
                assert bag(linked) == bag(alone)
        assert bag(row for row in known if row["known_until"] is None) == bag(newest)
        check_rows(known, dumps)


def check_rows(known: list[Row], dumps: list[str]) -> None:
    """Rows of a statement follow each other; what is known no more says what became of it."""
    for row in known:
        assert row["known_from"] in dumps
        assert row["linked_from"] in dumps[1:]
        if row["known_until"] is None:
            assert row["became"] in (None, "removed", "corrected")
        else:
            assert row["known_from"] < row["known_until"] in dumps
            assert row["became"] not in (None, "removed")
        assert (row["late"] is None) == (row["first_known"] is None)
        if row["first_known"]:
            assert row["known_until"] is None
            assert row["start_last"] == row["certain_first"]
            assert row["first_known"] <= row["known_from"]
