"""Lines of a page-view file: those of the English Wikipedia, whatever their bytes."""

import io

import pytest

from factdrift.wikidata import pageviews
from factdrift.wikidata.pageviews import EnglishViews

TEXT = b"""de.wikipedia \xff two many fields 1 A1
en.wikipedia A 1 desktop 3 A3
en.wikipedia A\xff b 1 desktop 3 A3
en.wikipedia \xe9 null mobile-web 4 A4\r
en.wikipedia A \xfe mobile-web many A4
en.wikipedia A \xfe mobile-web 9999999999999 A4
en.wikipedia.extra A 1 desktop 5 A5
en.wikipedia

en.wikipedia "A null desktop 6 A6"""


@pytest.mark.parametrize("block", [59, 1 << 20])
def test_lines_that_are_malformed_or_not_utf8(monkeypatch, block):
    monkeypatch.setattr(pageviews, "_BLOCK", block)
    views = EnglishViews()
    rows = [row for batch in views.batches(io.BytesIO(TEXT)) for row in batch.to_pylist()]
    assert [(row["title"], row["views"]) for row in rows] == [(b"A", 3), (b"\xe9", 4), (b'"A', 6)]
    assert views.malformed == 4


@pytest.mark.parametrize(("text", "problem"), [(b"", "no text"), (b"x" * 50, "more than 20 bytes")])
def test_what_is_no_page_view_file(monkeypatch, text, problem):
    monkeypatch.setattr(pageviews, "_BLOCK", 20)
    with pytest.raises(ValueError, match=problem):
        list(EnglishViews().batches(io.BytesIO(text)))


@pytest.mark.parametrize("end", [b"", b"\n"])
def test_a_line_may_be_as_long_as_a_block(monkeypatch, end):
    line = b"en.wikipedia A 1 desktop 3 A3"
    monkeypatch.setattr(pageviews, "_BLOCK", len(line))
    (row,) = (row for batch in EnglishViews().batches(io.BytesIO(line + end)) for row in batch.to_pylist())
    assert row == {"title": b"A", "views": 3}
