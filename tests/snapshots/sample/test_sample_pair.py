"""A pair of dates of which the bundled sample knows no change is refused before anything is built."""

import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import RESOURCES
from factdrift.snapshots.sample.account import check_pair, last_end

SAMPLE = RESOURCES / "sample"


@pytest.mark.parametrize(
    ("old", "new"), [("2025-02-01", "2026-01-01"), ("2000-01-01", "2001-01-01"), ("2010-01-01", "2020-01-01")]
)
def test_nothing_changed_between(old: str, new: str) -> None:
    with pytest.raises(InputError, match=rf"{old} and {new}.* between 2012-10-29.*choose two dates between"):
        check_pair(SAMPLE, old, new)


@pytest.mark.parametrize(("old", "new"), [("2021-01-04", "2023-02-27"), ("2023-03-01", "2024-12-01")])
def test_something_may_have_changed(old: str, new: str) -> None:
    check_pair(SAMPLE, old, new)
    assert last_end(SAMPLE) == "2024-12-31"
