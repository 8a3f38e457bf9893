"""Ordinals, phrases, dates in words, and which names contain which."""

import pytest
from support.ripples import date

from factdrift.tempripple.claims import date_id
from factdrift.tempripple.phrases import contains, date_text, holder_phrase, ordinal_text, statement, year
from factdrift.words.noun_phrases import nested


def test_ordinals():
    assert (ordinal_text(1), ordinal_text(2)) == ("most recent", "previous")
    numbers = (3, 4, 8, 9, 11, 12, 18, 20, 21, 22, 101)
    words = "third fourth eighth ninth eleventh twelfth eighteenth twentieth 21st 22nd 101st"
    assert [ordinal_text(number) for number in numbers] == [f"{word} most recent" for word in words.split()]


def test_names_may_look_like_blanks_and_bring_a_full_stop():
    phrase = holder_phrase("the {ord} employer of {x}", "previous", "{ord} {x}")
    assert phrase == "the previous employer of {ord} {x}"
    assert nested(["the founder of {x}"], phrase) == "the founder of the previous employer of {ord} {x}"
    assert statement("the capital", "Fulham F.C.") == "The capital is Fulham F.C."


def test_dates_in_words():
    for written, text in (("1776-07-04", "4 July 1776"), ("1776-07", "July 1776"), ("0079", "79")):
        assert (date_text(date(written)), date_id(date(written))) == (text, written)
        assert year(written) == (written[:4], text.split()[-1])
    # Before Christ.
    ides = date("0044-03-15")._replace(day=-44 * 10_000 + 315)
    assert (date_text(ides), date_id(ides)) == ("15 March 44 BC", "-0044-03-15")
    assert year("-0044-03-15") == ("-0044", "44 BC")


@pytest.mark.parametrize(
    ("text", "part", "expected"),
    [
        ("University of Oxford", "oxford", True),
        ("FC Bayern Munich", "Munich Bayern", False),
        ("Oxfordshire", "Oxford", False),
        ("São Paulo FC", "sao paulo", False),
        ("Straße", "STRASSE", True),
        ("Iceland", "is", False),
        ("Paris-Saint-Germain", "Paris", True),
        ("anything", "!", False),
    ],
)
def test_contains_compares_whole_words(text, part, expected):
    assert contains(text, part) == expected
