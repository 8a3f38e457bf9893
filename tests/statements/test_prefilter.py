"""Lines skipped by their bytes: the tables are the same as when every line is parsed."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.shards import extract
from support.workflow import ROOT

from factdrift.statements.extract import NeedlessItems
from factdrift.statements.rows import OF_ENTITIES, OF_STATEMENTS, read_about, read_bucket

from .conftest import claim, linked, snak

NEEDLES = ("enwiki", "dewiki", "P279", "P5061", '"enwiki"', '"P279":[', "claims", "sitelinks")
words = st.sampled_from((*NEEDLES, '"sitelinks":{', "é", "\\", "\n", "},", "]", "\\u0050279"))
texts = st.lists(words, max_size=3).map(" ".join)


def link(property_id: str, number: int, subject: int = 1) -> dict[str, Any]:
    return claim(snak(property_id, "wikibase-entityid", linked(number)), id=f"Q{subject}$a")


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    """An item, needed or not, whose texts contain the names that the search looks for."""
    number = draw(st.integers(1, 9))
    term = {"en": {"language": "en", "value": draw(texts)}}
    relations = draw(st.sets(st.sampled_from(("P31", "P279", "P5061", "P2"))))
    claims = {name: [link(name, 5, number)] for name in relations}
    if draw(st.booleans()):
        claims["P279"] = []
    sites = draw(st.sets(st.sampled_from(("enwiki", "dewiki", "commonswiki", "enwikinews"))))
    entity = {
        "type": draw(st.sampled_from(("item", "item", "item", "property"))),
        "id": f"Q{number}",
        "labels": term,
        "descriptions": draw(st.sampled_from(([], {}, term))),
        "aliases": {},
        "claims": claims or draw(st.sampled_from(([], {}))),
        "sitelinks": {site: {"site": site, "title": draw(texts), "badges": []} for site in sorted(sites)},
        "lastrevid": draw(st.integers(1, 3)),
    }
    if entity["type"] == "property":
        entity |= {"id": f"P{number}", "datatype": "string"}
        del entity["sitelinks"]
        claims.clear()
    if draw(st.booleans()):
        entity["extra"] = {draw(texts): {"sitelinks": {"enwiki": 1}}}
    separators = draw(st.sampled_from(((",", ":"), (",", ":"), (", ", ": "))))
    text = json.dumps(entity, separators=separators, ensure_ascii=draw(st.booleans()))
    if draw(st.integers(0, 5)) == 0:  # names disguised as JSON allows it
        text = text.replace("P279", "\\u0050279").replace("enwiki", "enw\\u0069ki")
    return text.encode()


def tables(folder: Path) -> list[Any]:
    """All that two buckets of a shard hold."""
    kinds = (OF_STATEMENTS, OF_ENTITIES)
    found = [read_bucket([folder], kind, bucket, 2).read_all() for kind in kinds for bucket in range(2)]
    return [*found, read_about(folder / OF_ENTITIES.file)["properties"]]


def assert_same(dump: Path, scope: str, folder: Path) -> dict[str, Any]:
    early = extract(dump, 0, 1, 2, scope, folder / "early", "held")
    parsed = extract(dump, 0, 1, 2, scope, folder / "parsed", "held", parse_all=True)
    needless = early["share"].pop("needless")
    assert parsed["share"].pop("needless") == 0
    assert early == parsed
    assert tables(folder / "early") == tables(folder / "parsed")
    return {**early, "needless": needless}


@pytest.mark.parametrize("scope", ["enwiki", "anywiki"])
@settings(max_examples=examples(30))
@given(entities=st.lists(lines(), min_size=1, max_size=8))
def test_lines_that_resemble_others(tmp_path_factory, scope, entities):
    folder = tmp_path_factory.mktemp("deceive")
    (folder / "dump").write_bytes(gzip.compress(b"[\n" + b",\n".join(entities) + b"\n]\n"))
    assert_same(folder / "dump", scope, folder)


def test_the_real_excerpt(tmp_path):
    report = assert_same(ROOT / "tests" / "data" / "real-excerpt.json.bz2", "enwiki", tmp_path)
    assert report["items"] > 30


def test_most_lines_of_a_dump_are_rejected_unparsed(write_dump, tmp_path):
    items: list[dict[str, Any]] = [
        {"type": "item", "id": f"Q{number}", "labels": {}, "claims": {"P31": [link("P31", 5, number)]}}
        | {"sitelinks": {"dewiki": {"title": "T"}}}
        for number in range(1, 200)
    ]
    held = {"type": "item", "id": "Q500", "sitelinks": {"enwiki": {"title": "T"}}}
    items.insert(90, held)
    dump = write_dump(*(json.dumps(each, separators=(",", ":")).encode() for each in items))
    # Where no checksum tells that nothing is missing in a line, it is parsed.
    assert assert_same(dump, "enwiki", tmp_path / "plain")["needless"] == 0
    dump.write_bytes(gzip.compress(dump.read_bytes()))
    report = assert_same(dump, "enwiki", tmp_path / "archive")
    assert (report["needless"], report["rejected"], report["items"], report["lines"]) == (199, 199, 1, 200)


ITEM = b'{"type":"item","id":"Q1","labels":{"en":{"value":"x"}},"claims":{"P1":[{"id":"Q1$a"}]}'
ITEM += b',"sitelinks":[]}'
PAGE = b'"title":"Q1","lastrevid":7,"modified":"2023-02-27T00:00:00Z"}'


@pytest.mark.parametrize(
    ("line", "needless"),
    [
        (ITEM, True),
        (ITEM[:-1], False),
        (ITEM.replace(b"x", b"\xff"), False),
        (ITEM.replace(b"x", "é".encode()), True),
        (ITEM.replace(b'"type":"item","id":"Q1"', b'"id":"Q1","type":"item"'), True),
        (ITEM.replace(b"[]}", b'{"dewiki":{"title":"A$AP"}}}'), True),
        (ITEM.replace(b"[]}", b"[]," + PAGE), True),
        # What ends as another item is made of two lines; what does not tell its id may be.
        (ITEM.replace(b"Q1$a", b"Q11$a"), False),
        (ITEM.replace(b"Q1$a", b"xQ1$a"), False),
        (ITEM.replace(b"[]}", b"[]," + PAGE.replace(b"Q1", b"Q11")), False),
        (ITEM + ITEM.replace(b"Q1", b"Q2"), False),
        (ITEM.replace(b"[]}", b'[],"modified":"2023-02-27T00:00:00Z"}'), False),
    ],
)
@pytest.mark.parametrize("around", [0, 3])
def test_only_whole_lines_of_items_are_rejected(line, needless, around):
    other = ITEM.replace(b"Q1", b"Q2") + b",\n"
    data = other * around + line + b"\n" + other * around
    found = list(NeedlessItems("enwiki").others(data, 0, len(data)))
    passed = sum(each for each, _, _ in found)
    kept = [data[start:end] for _, start, end in found[:-1]]
    assert kept == [line] * (not needless)
    assert passed == 2 * around + needless
