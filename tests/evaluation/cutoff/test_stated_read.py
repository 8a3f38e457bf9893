"""Outcomes by the rules against a reader's, and the numbers of the page about them."""

import re

import pytest
import stated_reading
from support.workflow import ROOT

LEAST = {"real": 128, "scripted": 43, "denial": 20, "real, later": 96, "denial, later": 13}
"""Answers of a set on whose outcome rules and reader agree now, at least."""


@pytest.mark.parametrize("name", LEAST)
def test_rules_and_reading_agree(name):
    rows = [row for row in stated_reading.rows_of() if row["set"] == name]
    equal = sum(stated_reading.by_rule(row)[0] == row["reader"][0] for row in rows)
    assert equal >= LEAST[name]


def test_no_answer_is_called_taken_that_a_reader_calls_kept_and_vice_versa():
    for row in stated_reading.rows_of():
        assert {stated_reading.by_rule(row)[0], row["reader"][0]} != {"taken", "kept"}, row["text"]


def test_the_page_has_the_numbers_of_the_command():
    page = " ".join((ROOT / "docs" / "stated-date.md").read_text(encoding="utf-8").split())
    for line in [*stated_reading.lines(stated_reading.rows_of())][1:]:
        name, share, kappa, now, *_ = re.split(r" {2,}", line)
        own = f"| {name} | {share.split()[2]} | {share.split()[0]} ({share.split('(')[1]} | {kappa} | {now} |"
        assert own in page, own
