"""The sample, guesses from the surface, rates with intervals."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

from factdrift.audit.account import rates, share
from factdrift.audit.build import chosen, rows_at
from factdrift.audit.jobs import _beside
from factdrift.audit.surface import Question, guess
from factdrift.core.intervals import wilson

Row = dict[str, Any]


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=60), st.integers(1, 60), st.integers(0, 5))
def test_strata_have_their_share(keys: list[str], rows: int, seed: int) -> None:
    strata = [(key, str(place)) for place, key in enumerate(keys)]
    places = chosen(strata, rows, seed)
    assert len(set(places)) == len(places) == min(rows, len(keys))
    assert places == sorted(places)
    if rows < len(keys):
        drawn = Counter(keys[place] for place in places)
        for key, count in Counter(keys).items():
            assert abs(drawn[key] - count * rows / len(keys)) <= 1


def test_the_seed_decides_and_the_order_of_rows_does_not() -> None:
    strata = [("a", str(place)) for place in range(100)]
    first = {strata[place] for place in chosen(strata, 10, 0)}
    turned = strata[::-1]
    assert {turned[place] for place in chosen(turned, 10, 0)} == first
    assert {strata[place] for place in chosen(strata, 10, 1)} != first


def test_rows_at_places(tmp_path: Path) -> None:
    pq.write_table(pa.table({"number": range(10_000)}), tmp_path / "rows.parquet")
    found = rows_at(tmp_path / "rows.parquet", [0, 4095, 4096, 9999])
    assert [row["number"] for row in found] == [0, 4095, 4096, 9999]


def questions(choose: Any) -> list[Question]:
    """200 questions with four random words; `choose` gives the place of the answer."""
    draw = random.Random(0)
    found = []
    for number in range(200):
        words = ["x" * draw.randint(1, 30) + str(draw.random()) for _ in range(4)]
        found.append(Question(words, ["item"] * 4, choose(words, draw), str(number)))
    return found


def test_answers_are_guessed_where_their_form_or_place_gives_them_away() -> None:
    for choose, leaks in (
        (lambda words, draw: draw.randrange(4), False),
        (lambda words, draw: max(range(4), key=lambda place: len(words[place])), True),
        (lambda words, draw: 0 if draw.random() < 0.6 else draw.randrange(4), True),
    ):
        found = guess(questions(choose), 0)
        assert found is not None
        assert (found.leaks, found.low > 0.25, found.chance) == (leaks, leaks, 0.25)
        assert found == guess(questions(choose), 0)
    # Of few questions nothing is said.
    assert guess(questions(lambda words, draw: 0)[:20], 0) is None


def finding(row: str, kind: str, outcome: str) -> Row:
    return {"dataset": "wikifactdiff", "row": row, "kind": kind, "outcome": outcome, "reason": "so"}


FINDINGS = [
    *(finding("Q1 P6", *each) for each in (("gone", "failed"), ("gone", "failed"), ("leak", "declared"))),
    *(finding("Q2 P6", *each) for each in (("gone", "passed"), ("leak", "failed"))),
    *(finding("Q3 P6", "gone", "unchecked"), finding("", "surface", "failed")),
]


def test_rates_count_rows() -> None:
    found = {each["kind"]: each for each in rates(FINDINGS)}
    assert list(found) == ["gone", "leak", "role", "any"]
    names = ("rows", "failed", "declared", "unchecked")
    counts = {kind: tuple(row[name] for name in names) for kind, row in found.items()}
    assert counts == {"gone": (2, 1, 0, 1), "leak": (2, 1, 1, 0), "role": (2, 1, 0, 1), "any": (2, 2, 0, 1)}
    gone = found["gone"]
    assert (gone["rate"], gone["low"], gone["high"]) == (0.5, *wilson(1, 2))
    assert share(0, 0)["rate"] is None


def test_products_of_another_pair_are_not_audited_with_this_one(tmp_path: Path) -> None:
    (tmp_path / "stream.parquet").touch()
    one, other = tmp_path / "2021-01-04_2023-02-27", tmp_path / "2021-01-04_2022-02-28"
    assert _beside(one) == _beside(other) == [tmp_path / "stream.parquet"]
    (tmp_path / "manifest.json").write_text('{"dates": {"old": "2021-01-04", "new": "2023-02-27"}}')
    assert _beside(one) == [tmp_path / "stream.parquet"]
    assert _beside(other) == []
