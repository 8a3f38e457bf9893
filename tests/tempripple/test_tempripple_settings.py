"""The settings of TempRIPPLE: defaults, what YAML and the command line give, what is refused."""

import datetime
import json

import pytest
from support.configured import configured

from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings, settings_of
from factdrift.tempripple.settings import PART, ItemSettings


def ripple_of(config):
    return read_settings(settings_of(config, ItemSettings, PART), ItemSettings, PART)


def test_tempripple_by_default_is_the_papers_but_for_dates_and_options():
    ripple = ripple_of(configured())
    assert (ripple.as_of, ripple.alike) == ("auto", ("P641", "P31"))
    dates = (ripple.window_start, ripple.change_start, ripple.change_end)
    assert [date.isoformat() for date in dates] == ["2015-01-01", "2025-01-01", "2026-01-01"]
    assert ripple.immutable_span == (dates[0].toordinal(), dates[2].toordinal() - 1)
    assert (ripple.gap_days, ripple.cap_per_property, ripple.type_depth) == (365, 1_000_000, 5)
    assert (ripple.unite_same_object, ripple.leak_check) == (True, True)
    assert (ripple.infer_end_from_next, ripple.require_start, ripple.slice) == (False, False, False)
    assert (ripple.on_ambiguous, ripple.coverage, ripple.new_rule) == ("drop", "gap", "start")
    assert (ripple.immutable_set, ripple.same_timeline) == ("full53", "exclude")
    assert ripple.cap_per_fact is None
    assert ripple.restrictive_qualifiers == ripple.exclude_object_classes == ()
    assert ripple.snapshot_date == ripple.last_day == datetime.date(2023, 2, 27)
    assert ripple.partial_period


def test_tempripple_as_yaml_gives_it():
    given = {
        "window_start": datetime.date(2012, 1, 1),
        "change_start": 20220101,
        "change_end": "2023-01-01",
        "coverage": False,  # an unquoted `off`
        "as_of": True,  # an unquoted `on`
        "distractors": {"alike": ["P31"]},
        "slice": "true",  # from the command line
        "related": {"cap_per_fact": "3"},
        "restrictive_qualifiers": ["P518"],
    }
    ripple = ripple_of(configured(seed=7, tempripple=given))
    assert (ripple.window_start.year, ripple.change_start.year) == (2012, 2022)
    assert (ripple.as_of, ripple.dated, ripple.alike) == ("on", True, ("P31",))
    assert ripple.last_day == datetime.date(2022, 12, 31)
    assert (ripple.coverage, ripple.slice, ripple.cap_per_fact, ripple.seed) == ("off", True, 3, 7)
    assert ripple.numbers("restrictive_qualifiers") == [518]
    assert not ripple.partial_period


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"snapshots_new": "soon"}, "snapshots_new"),
        ({"alike": ["P106"]}, r"alike\[0\]"),
        ({"restrictive_qualifiers": ["Q5"]}, "'Q5' is not an id such as P"),
        ({"immutable_from": "2026-01-01"}, "must not be after immutable_until"),
    ],
)
def test_settings_of_tempripple_that_are_wrong_are_named(given, said):
    text = json.dumps({"snapshots_new": "2026-01-05"} | given)
    with pytest.raises(InputError, match=said):
        read_settings(text, ItemSettings, "tempripple")


@pytest.mark.parametrize(
    ("as_of", "snapshot", "dated"),
    [("auto", "2025-12-31", False), ("auto", "2026-01-01", True), ("on", "2025-06-01", True)],
)
def test_items_are_dated_where_the_window_ends_before_the_snapshot(as_of, snapshot, dated):
    given = json.dumps({"snapshots_new": snapshot, "as_of": as_of})
    assert read_settings(given, ItemSettings, "tempripple").dated == dated
