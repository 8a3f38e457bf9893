"""Values that a command takes from its flags: days, and switches that the variant sets."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from factdrift.cli import parser
from factdrift.core.jobs import record
from factdrift.neighbors.jobs import Holding

LINE = "neighbors holding --updates u --old o --entities e --output x --old-date"


def holding(*more: str) -> Holding:
    return record(Holding, parser("neighbors").parse_args([*LINE.split(), *more]))


@pytest.mark.parametrize(
    ("flags", "dates"),
    [
        ([], "first_day"),
        (["--variant=revised"], "interval"),
        (["--variant=revised", "--dates=first_day"], "first_day"),
    ],
)
def test_a_switch_that_is_not_given_is_the_variants(flags: list[str], dates: str) -> None:
    given = holding("2021-01-04", *flags)
    assert (given.dates, given.old_date, given.entities) == (dates, datetime.date(2021, 1, 4), (Path("e"),))


def test_a_day_that_is_no_date_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        holding("2021-02-30")
    assert "--old-date: '2021-02-30' is no date; write it as 2021-01-04" in capsys.readouterr().err
