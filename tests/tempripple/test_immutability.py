"""Immutable values: dates at the bounds of the window, several statements, and every guard."""

from typing import Any

import pytest
from support.ripples import METHOD, RELATIONS, claim, date, method_with

from factdrift.tempripple.claims import Claim
from factdrift.tempripple.related import immutable_value, is_immutable
from factdrift.tempripple.timelines import Dropped

SPOUSE, DEATH_PLACE, BIRTH, DEATH, INCEPTION, MOTHER, LANGUAGE = 26, 20, 569, 570, 571, 25, 103


def dated(relation: int, text: str, **more: Any) -> Claim:
    """A claim whose value is a date."""
    return claim(f"d{relation}{text}", "?", relation=relation)._replace(snak="value", date=date(text), **more)


def judged(relation: int, *claims: Claim, human: bool = True, **switches: Any) -> str:
    """The value, the reason, or `nothing`."""
    of_subject: dict[int, list[Claim]] = {}
    for each in claims:
        of_subject.setdefault(each.relation, []).append(each)
    method = method_with(**switches)
    result = immutable_value(RELATIONS.immutable[relation], of_subject, human, method)
    if result is None:
        return "nothing"
    return result.reason if isinstance(result, Dropped) else str(result.value)


@pytest.mark.parametrize(
    ("start", "end", "kept"),
    [
        ("2015-01-01", "-", True),
        ("2015-01-02", "-", False),
        ("2015", "-", False),
        ("2014", "-", True),
        ("-", "2025-12-31", True),
        ("-", "2025", False),
        ("-", "2026", True),
        ("-", "?", False),
        ("-", "-", True),
        ("2014|2016", "-", False),
        ("-", "2030|2031", False),
        ("2014/5", "-", True),
        ("-", "2026/5", False),
    ],
)
def test_vectors(start, end, kept):
    assert is_immutable(claim("s", "A", start, end), METHOD) == kept
    required = method_with(require_start=True)
    assert is_immutable(claim("s", "A", start, end), required) == (kept and start != "-")


def spouse(name: str, value: str, start: str = "-", end: str = "-", **more: Any) -> Claim:
    return claim(name, value, start, end, relation=SPOUSE, **more)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ([spouse("1", "Q7", "1990", "1999"), spouse("2", "Q8", "2005")], "Q8"),
        ([spouse("1", "Q7", "1990", "2017"), spouse("2", "Q8", "2018")], "several_values"),
        ([spouse("1", "Q7", "1990", "1999")], "outside_window"),
        ([spouse("1", "Q7", "1990", "2015-01-01"), spouse("2", "Q8", "2015-01-01")], "Q8"),
        ([spouse("1", "Q7", "1990", "2015-01-02"), spouse("2", "Q8", "2015-01-01")], "several_values"),
        ([spouse("1", "Q7", "2005"), spouse("2", "Q8", "2025-12-31")], "several_values"),
        ([spouse("1", "Q7", "2005"), spouse("2", "Q8", "2026-01-01")], "Q7"),
        ([spouse("1", "Q7", "2005", "2020")], "not_immutable"),
        ([spouse("1", "Q7", "1990|1994")], "bad_date"),
        ([spouse("1", "Q7", "1990", "?")], "bad_date"),
        ([spouse("1", "Q7", "1990|1994"), spouse("2", "Q7", "1990")], "Q7"),
        ([spouse("1", "Q7", "1990|1994"), spouse("2", "Q8", "1990")], "several_values"),
        ([spouse("1", "Q7", "1990|1994", "1999"), spouse("2", "Q8", "1990")], "Q8"),
        ([spouse("1", "Q7")], "no_start"),
        ([spouse("1", "?", "2005")], "unknown_value"),
        ([spouse("1", "novalue")], "nothing"),
        ([], "nothing"),
        ([spouse("1", "Q7", "2005", preferred=True), spouse("2", "Q8", "2005")], "Q7"),
        ([spouse("1", "Q7", "1990", "2004"), spouse("2", "Q7", "2005")], "Q7"),
        ([spouse("1", "Q7", "2005", "2019"), spouse("2", "Q7", "2019")], "not_immutable"),
        ([spouse("1", "Q7", "2005"), spouse("2", "?", "2005")], "several_values"),
    ],
)
def test_one_competing_value(claims, expected):
    assert judged(SPOUSE, *claims) == expected


PLACE, MOTHERS = claim("1", "Q7", relation=DEATH_PLACE), claim("1", "Q7", relation=MOTHER)


def born(text: str, **more: Any) -> Claim:
    return dated(BIRTH, text, **more)


@pytest.mark.parametrize(
    ("relation", "claims", "human", "expected"),
    [
        (BIRTH, [born("1946-06-14")], True, "1946-06-14"),
        (BIRTH, [born("2015-01-01")], True, "2015-01-01"),
        (BIRTH, [born("2015")], True, "late_date"),
        (BIRTH, [born("1946/8")], True, "coarse_date"),
        (DEATH_PLACE, [PLACE], True, "subject_alive"),
        (DEATH_PLACE, [PLACE, dated(DEATH, "2014-12")], True, "Q7"),
        (DEATH_PLACE, [PLACE, dated(DEATH, "2015")], True, "subject_alive"),
        (DEATH_PLACE, [PLACE, dated(DEATH, "2014"), dated(DEATH, "2016")], True, "subject_alive"),
        (MOTHER, [MOTHERS, born("2014")], True, "Q7"),
        (MOTHER, [MOTHERS, born("2015")], True, "late_existence"),
        (MOTHER, [MOTHERS, born("2014"), born("2016")], True, "Q7"),
        (MOTHER, [MOTHERS, born("2016", preferred=True), born("2014")], True, "late_existence"),
        (MOTHER, [MOTHERS, dated(INCEPTION, "2020")], True, "Q7"),
        (MOTHER, [MOTHERS, dated(INCEPTION, "2020")], False, "late_existence"),
        (MOTHER, [MOTHERS, born("2020")], False, "Q7"),
    ],
)
def test_guards(relation, claims, human, expected):
    assert judged(relation, *claims, human=human) == expected


def test_of_several_statements_the_one_with_the_smallest_id_is_shown():
    claims = {LANGUAGE: [claim(name, "Q7", relation=LANGUAGE) for name in ("b", "a")]}
    result = immutable_value(RELATIONS.immutable[LANGUAGE], claims, True, METHOD)
    assert isinstance(result, Claim)
    assert result.statement == "a"
