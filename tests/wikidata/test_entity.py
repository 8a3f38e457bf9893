"""Lines of dumps of every age, as typed entities."""

import json
from typing import Any

import pytest

from factdrift.wikidata.entity import UNREADABLE, read_entity, read_outline, statement_id


def line(**fields: Any) -> bytes:
    return json.dumps({"id": "Q1", "type": "item", **fields}).encode()


@pytest.mark.parametrize("read", [read_entity, read_outline])
def test_empty_maps_may_be_lists_or_absent(read):
    maps = ("labels", "descriptions", "aliases", "claims", "sitelinks")
    for empty in ({}, {name: [] for name in maps}, {name: {} for name in maps}):
        entity = read(line(**empty))
        assert (entity.label, entity.description, entity.alias_texts, entity.sites) == (None, None, [], {})
        assert entity.stated("P31") == []
        assert entity.lastrevid is None
    for name in maps:
        with pytest.raises(UNREADABLE):
            read(line(**{name: [{"language": "en", "value": "x"}]}))


@pytest.mark.parametrize(
    ("labels", "label"),
    [
        *(({"en": "English", "mul": "all"}, "English"), ({"mul": "all", "de": "deutsch"}, "all")),
        *(({"en-gb": "British", "de": "deutsch"}, None), ({"en": " \n", "mul": "\u001b"}, None)),
        ({"en": "", "mul": "all"}, "all"),
        ({"en": "a\n\tb\u001b[2Jc\u202e"}, "a b [2Jc"),
        ({"en": "non\u00a0breaking  as it is"}, "non\u00a0breaking  as it is"),
    ],
)
def test_label_is_english_else_for_all_languages_else_none(labels, label):
    terms = {language: {"language": language, "value": text} for language, text in labels.items()}
    assert read_entity(line(labels=terms, descriptions=terms)).label == label
    assert read_outline(line(labels=terms, descriptions=terms)).description == label


def test_aliases_of_both_kinds_once_each_and_no_blank_ones():
    blank = {"en": [{"value": text} for text in ("", " ", "a\nb", "a b")]}
    assert read_entity(line(aliases=blank)).alias_texts == ["a b"]
    aliases = {
        "mul": {"0": {"value": "c"}, "2": {"value": "a"}},
        "en": [{"value": "b"}, {"value": "a"}, {"value": "b"}],
        "de": [{"value": "d"}],
    }
    assert read_entity(line(aliases=aliases)).alias_texts == ["b", "a", "c"]


@pytest.mark.parametrize(
    "text",
    [
        *(b"", b"[]", b"{}", b'{"id":5}'),
        b'{"id":"Q1","labels":{"en":{"value":"\xff"}}}',
        b'{"id":"Q1","lastrevid":-1}',
        b'{"id":"Q1","lastrevid":9223372036854775808}',
        b'{"id":"Q1","claims":' + b"[" * 100_000,
        b'{"id":"Q1"} {"id":"Q2"}',
    ],
)
def test_unreadable_lines(text):
    for read in (read_entity, read_outline):
        with pytest.raises(UNREADABLE):
            read(text)


def test_statement_ids_have_an_upper_case_prefix():
    for written in ("q42$F078E5B3-f9a8", "Q42$F078E5B3-f9a8"):
        assert statement_id(written) == "Q42$F078E5B3-f9a8"
    assert [statement_id(written) for written in ("p31$aB", "q42")] == ["P31$aB", "Q42"]
