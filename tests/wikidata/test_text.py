"""Texts that anybody can write, for people: one line, nothing hidden, no formula."""

import unicodedata

from factdrift.wikidata.text import printable, sheet_cell


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
