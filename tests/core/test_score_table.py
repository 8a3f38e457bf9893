"""Tables of scores: what is printed, and which numbers are marked."""

import math
import random

import pytest

from factdrift.core.intervals import Interval
from factdrift.core.score_table import (
    HIGHER,
    LOWER,
    UNDERLINED,
    Cell,
    Column,
    Line,
    bounded,
    count,
    explained,
    mean,
    rules,
    share,
    table,
)


def cell(row: dict[str, float]) -> Cell:
    return bounded(row.get("value"), row.get("low"), row.get("high"), ".1f")


def printed(column: Column, *lines: Line) -> list[str]:
    """The cells of a column, without the name of the line."""
    return [line.split()[-1] for line in table("", [column], lines)][1:]


@pytest.mark.parametrize("better", [HIGHER, LOWER, 0])
def test_the_best_of_a_column_is_underlined_with_its_ties_among_those_that_take_part(better: int) -> None:
    draw = random.Random(better)
    for _ in range(50):
        values = [draw.choice([None, 0.0, 1.04, 0.96, 2.0, math.inf]) for _ in range(5)]
        rivals, among = [draw.random() < 0.8 for _ in values], [draw.choice("ab") for _ in values]
        rows = list(zip(values, rivals, among, strict=True))
        lines = [Line("x", {"value": value}, rival, model) for value, rival, model in rows]
        found = printed(Column("c", cell, better), *lines)
        for number, text in enumerate(found):
            of_model = [value for value, rival, model in rows if rival and model == among[number]]
            others = [value for value in of_model if value is not None and math.isfinite(value)]
            plain = "-" if values[number] is None else f"{values[number]:.1f}"
            best = f"{better * max(better * value for value in others):.1f}" if others else ""
            # 1.04 and 0.96 are printed alike, so that they are a tie.
            marked = better and rivals[number] and len(others) > 1 and plain == best
            assert text == (f"_{plain}_" if marked else plain)


@pytest.mark.parametrize(
    ("better", "low", "high", "fails"),
    [
        *((HIGHER, 10, 49.9, True), (HIGHER, 10, 50, False), (HIGHER, 60, 70, False)),
        *((LOWER, 50.1, 60, True), (LOWER, 50, 60, False), (LOWER, 10, 20, False)),
        *((HIGHER, None, None, False), (LOWER, 60, None, False)),
    ],
)
def test_a_clear_failure_is_one_whose_whole_interval_is_worse(better, low, high, fails):
    row = {"value": 30.0, "low": low, "high": high}
    column = Column("c", lambda row: cell(row)._replace(spread=""), better, fails=50)
    assert printed(column, Line("x", row), Line("none", row, False)) == ["30.0!" if fails else "30.0", "30.0"]
    assert printed(column._replace(fails=None), Line("x", row)) == ["30.0"]


def test_cells_say_what_they_can() -> None:
    row = {"right": 1, "all": 4, "none": 0, "right_low": 0.1, "right_high": 0.5, "mean": 0.25, "many": 1234}
    assert share("right", "all")(row)[:3] == ("25.0", "", 25.0)
    assert share("right", "all", ends=True)(row) == ("25.0", "[10.0, 50.0]", 25.0, 10.0, 50.0)
    assert share("mean", "", known="all")(row).text == "25.0"
    for missing in ("none", "absent"):
        assert share("right", missing, empty="no answer")(row) == Cell("no answer")
        assert share("right", "all", known=missing)(row) == Cell("-")
    assert count("many")(row).text == "1,234"
    assert mean(None) == Cell("-")
    assert mean(Interval(7, math.nan, 1)) == Cell("7.0", value=7)
    assert mean(Interval(7, 2, 3), ".3g", ".2g") == Cell("7", "±2", 7, 5, 9)
    assert bounded(None, 0.1, 0.2) == Cell("-")
    assert bounded(0.5, 0.1, None).spread == ""


def test_the_rules_name_the_columns_and_their_bounds() -> None:
    columns = [Column("D", cell, HIGHER, 0), Column("S", cell, HIGHER, 50), Column("n", cell)]
    more = [Column("Lost", cell, LOWER, 50), Column("S", cell, HIGHER, 50)]
    first, second = rules(columns, more)
    assert first.startswith("_5.0_: the best of its column")
    assert second.endswith("is below 0 in D; below 50 in S; above 50 in Lost.")
    assert list(rules([columns[2]])) == []


def test_a_table_is_aligned() -> None:
    column = Column("c", lambda row: Cell("1.0", "±0.5", 1.0, 0.5, 1.5), HIGHER, fails=2)
    lines = [Line("first", {}), Line("x", {})]
    found = list(table("all", [column], lines))
    assert found == ["all              c", "first  _1.0_! ±0.5", "x      _1.0_! ±0.5"]


@pytest.mark.parametrize(
    ("line", "marked"),
    [("ft  _5.0_! [1, 9]", True), ("ft  5.0 (a_b_c)", False), ("ft  file_name_ 5.0", False)],
)
def test_marks_are_explained_where_a_number_has_one(line: str, marked: bool) -> None:
    assert list(explained(["a", line])) == ["a", line, *[UNDERLINED] * marked]
