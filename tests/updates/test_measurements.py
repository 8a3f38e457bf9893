"""Measurements beside later ones: in `revised` only the last one on each side of T_old counts."""

import pytest
from support.worlds import Amount, Fact, Property, World

RANKING = 1352
OLD = [("5", "2018"), ("3", "2020-12-10")]
NEW = [*OLD, ("2", "2022-03-31"), ("1", "2022-12-22")]


def series(values, **changes):
    return [
        Fact(1, RANKING, Amount(value), pit=day, id=f"Q1${value}", **changes.get(value, {}))
        for value, day in values
    ]


def decided(tmp_path, new, **switches):
    rows = World(series(OLD), new, [Property(RANKING)], labels={1: "Brazil"}).updates(tmp_path, **switches)
    return [(row["rule"], row["label"]) for row in rows], {row["scenario"] for row in rows}


def test_the_last_measurement_of_each_side_counts_in_revised(tmp_path):
    found, scenarios = decided(tmp_path, series(NEW), variant="revised")
    assert found == [
        ("outdated", "ignore"),
        ("superseded", "obsolete"),
        ("outdated", "ignore"),
        ("measured_inside", "new"),
    ]
    assert scenarios == {None, "ReplaceObject"}


def test_all_count_in_paper(tmp_path):
    found, scenarios = decided(tmp_path, series(NEW))
    assert [label for _, label in found] == ["static", "static", "new", "new"]
    assert scenarios == {"AddObject"}


@pytest.mark.parametrize("change", [{"start": "2017"}, {"end": "2030"}, {"end": "unknown"}])
def test_a_quantity_with_a_start_or_an_end_is_no_measurement(change, tmp_path):
    found, _ = decided(tmp_path, series(NEW, **{"3": change}), variant="revised")
    assert found[1][0] not in ("outdated", "superseded")
    assert found[0] == ("superseded", "obsolete")


def test_without_a_measurement_inside_the_last_one_stays(tmp_path):
    new = [*series(OLD), Fact(1, RANKING, Amount("9"), pit="2024", id="Q1$9")]
    found, _ = decided(tmp_path, new, variant="revised")
    assert found[:2] == [("outdated", "ignore"), ("still_holds", "static")]


def test_awards_are_no_measurements(tmp_path):
    old = [Fact(1, 166, 600, pit="1993-05-24")]
    rows = World(old, [*old, Fact(1, 166, 601, pit="2022-03-27")]).updates(tmp_path, variant="revised")
    assert [row["label"] for row in rows] == ["static", "new"]
    assert {row["scenario"] for row in rows} == {"AddObject"}


def test_of_two_measurements_that_may_be_of_one_day_both_count(tmp_path):
    """A month is not earlier than a day in it, nor later."""
    old = series([("5", "2020-12"), ("3", "2020-12-10")])
    new = [*old, *series([("2", "2022-12"), ("1", "2022-12-22")])]
    world = World(old, new, [Property(RANKING)], labels={1: "Brazil"})
    rows = world.updates(tmp_path, variant="revised", dates="interval")
    assert [row["rule"] for row in rows] == ["superseded", "superseded", "measured_inside", "measured_inside"]


def test_a_measurement_of_the_day_t_old_is_on_neither_side(tmp_path):
    old = series([("5", "2018"), ("3", "2021-01-04")])
    new = [*old, *series([("1", "2022-12-22")])]
    world = World(old, new, [Property(RANKING)], labels={1: "Brazil"})
    rules = [row["rule"] for row in world.updates(tmp_path, variant="revised")]
    assert (rules[0], rules[2]) == ("superseded", "measured_inside")
    assert rules[1] not in ("outdated", "superseded")
