"""Texts that anybody can write, for people: one line, nothing hidden, no formula."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from factdrift.core.text import clean, printable, sheet_cell


def test_what_cannot_be_seen_is_not_shown():
    """Marks of direction, tags, fillers and control characters; joiners of scripts and emoji stay."""
    hidden = [
        sign
        for sign in map(chr, [*range(0x600), *range(0x1800, 0x10000), *range(0xE0000, 0xE1000)])
        if unicodedata.category(sign) == "Cf" and sign not in "\u200c\u200d"
    ]
    assert len(hidden) > 120
    assert {printable(f"a{sign}b") for sign in hidden} <= {"ab", "a b"}
    assert printable("a\u061cb\u200fc\U000e0041d\U000e0100e\u3164f") == "abcdef"
    assert printable("\U0001f469\u200d\U0001f680 می\u200cخواهم") == "\U0001f469\u200d\U0001f680 می\u200cخواهم"
    assert printable("a\tb\u202ec") == "a bc"


def test_a_cell_is_no_formula():
    formula = '=HYPERLINK("http://evil.example")'
    for text in (formula, "+1 555", "-0044-03-15", "@handle", "\tx", "'=1"):
        assert sheet_cell(text) == f"'{text}"
    for text in ("-12.5", "+7e3", "plain = text", "'quoted'", ""):
        assert sheet_cell(text) == text


ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"{sign}Mark{sign}land{sign}", "Markland") for sign in "\u200b\u200e\u200f\ufeff\u00ad"),
        *((f"{sign}Mark{sign}land{sign}", "Markland") for sign in "\u2060\u202e\u2066"),
        *((f"Mark{sign}land{sign}", "Markland") for sign in "\u200c\u200d\ufe0f\U000e0041\u034f"),
        *((sign, "") for sign in "\u200b\u200c\u00ad\u3164\t \x00"),
        *(("a\n\tb \x00c", "a b c"), ("\u00a0Rome ", "Rome"), ("Zu\u0308rich", "Zürich")),
        ("می\u200cخواهم\u200c", "می\u200cخواهم"),
        ("क्\u200dष", "क्\u200dष"),
        ("അവന്\u200d", "അവന്\u200d"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
        ("\u2764\ufe0f\u200d\U0001f525\u200d", "\u2764\ufe0f\u200d\U0001f525"),
        ("1\ufe0f\u20e3", "1\ufe0f\u20e3"),
        (ENGLAND, ENGLAND),
    ],
)
def test_a_clean_text_is_what_a_reader_sees(text: str, expected: str) -> None:
    assert clean(text) == expected


SIGNS = st.sampled_from(
    "aB1é\u0301 \u00a0\t\n\u200b\u200c\u200d\u200e\u202a\u2060\ufeff\u00adمक\u094d😀❤\ufe0f\ufe00\u20e3葛"
    "\U0001f3f4\U000e0067\U000e007f\U000e0100\u180b\u1820\u3164\u034f\u2028\u0600\u061c"
)


@given(st.text(SIGNS | st.characters(exclude_categories=["Cs"]), max_size=8))
@settings(max_examples=examples(500))
def test_cleaning_a_clean_text_changes_nothing(text: str) -> None:
    assert clean(clean(text)) == clean(text)
