"""Timelines of real items."""

from __future__ import annotations

import csv
from collections import defaultdict
from pathlib import Path

import pytest
from support.ripples import METHOD, RELATIONS, claim, method_with

from factdrift.tempripple.claims import Claim
from factdrift.tempripple.immutability import immutable_value
from factdrift.tempripple.timelines import Dropped, timeline

DATA = Path(__file__).resolve().parents[1] / "data" / "timelines.tsv"


def excerpt() -> dict[tuple[int, int], list[Claim]]:
    """(subject, relation) -> its statements."""
    found: dict[tuple[int, int], list[Claim]] = defaultdict(list)
    with DATA.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            group = int(row["subject"][1:]), int(row["property"][1:])
            told = [row[name] for name in ("statement", "object", "start", "end")]
            known = dict(zip(("subject", "relation"), group, strict=True))
            found[group].append(claim(*told, **known, preferred=row["rank"] == "preferred"))
    return found


CLAIMS = excerpt()


@pytest.mark.parametrize(
    ("subject", "relation", "first", "year", "without", "expected"),
    [
        # A year with four beginnings, and a holder of no length.
        (36, 35, 2000, 2010, -1, [42939, 362851, 890410, 42939, 2757, 55758]),
        (183, 6, 1995, 2005, -1, [567, 2530, 2518]),
        (183, 35, 2002, 2012, -1, [2538, 2540, 2542, 2551]),
        (30, 6, 2007, 2017, -1, [22686, 76, 207]),
        (142, 38, 1989, 1999, -1, "undated"),
        # Franc and euro overlap even without the undated statement.
        (142, 38, 1989, 1999, 214393, "overlap"),
        (142, 36, 1930, 1940, -1, "overlap"),
        (36, 36, 2000, 2010, -1, "no_change"),
        (36, 36, 2015, 2025, -1, "no_change"),
    ],
)
def test_holders_newest_first_or_why_there_are_none(subject, relation, first, year, without, expected):
    dates = {"window_start": first, "change_start": year, "change_end": year + 1, "snapshots_new": 2022}
    method = method_with(**{key: f"{year}-01-01" for key, year in dates.items()})
    result = timeline([each for each in CLAIMS[subject, relation] if each.object != without], method)
    found = result.reason if isinstance(result, Dropped) else [each.object for each in result.holdings]
    assert found == expected


def test_continents():
    of_france, of_usa = (
        immutable_value(RELATIONS.immutable[30], {30: CLAIMS[country, 30]}, False, METHOD)
        for country in (142, 30)
    )
    assert isinstance(of_france, Claim)
    assert of_france.value == "Q46"
    assert isinstance(of_usa, Dropped)
    assert of_usa.reason == "several_values"
