"""Measurements beside later ones: in `revised` only the last one on each side of T_old counts."""

from support.worlds import Amount, Fact, Property, World

RANKING = 1352


def series(values):
    return [Fact(1, RANKING, Amount(value), pit=day, id=f"Q1${value}") for value, day in values]


def decided(tmp_path, old, added, **switches):
    world = World(series(old), series([*old, *added]), [Property(RANKING)], labels={1: "Brazil"})
    rows = world.updates(tmp_path, variant="revised", **switches)
    return [(row["rule"], row["label"]) for row in rows], {row["scenario"] for row in rows}


def test_the_last_measurement_of_each_side_counts_in_revised(tmp_path):
    old, added = [("5", "2018"), ("3", "2020-12-10")], [("2", "2022-03-31"), ("1", "2022-12-22")]
    found, scenarios = decided(tmp_path, old, added)
    assert found == [
        ("outdated", "ignore"),
        ("superseded", "obsolete"),
        ("outdated", "ignore"),
        ("measured_inside", "new"),
    ]
    assert scenarios == {None, "ReplaceObject"}


def test_of_two_measurements_that_may_be_of_one_day_both_count(tmp_path):
    """A month is not earlier than a day in it, nor later."""
    old, added = [("5", "2020-12"), ("3", "2020-12-10")], [("2", "2022-12"), ("1", "2022-12-22")]
    found, _ = decided(tmp_path, old, added, dates="interval")
    assert [rule for rule, _ in found] == ["superseded", "superseded", "measured_inside", "measured_inside"]


def test_a_measurement_of_the_day_t_old_is_on_neither_side(tmp_path):
    found, _ = decided(tmp_path, [("5", "2018"), ("3", "2021-01-04")], [("1", "2022-12-22")])
    assert (found[0][0], found[2][0]) == ("superseded", "measured_inside")
    assert found[1][0] not in ("outdated", "superseded")
