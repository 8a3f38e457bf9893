"""The RDF of a snapshot, and its way into a database."""

from __future__ import annotations

import gzip

import pytest
from support.ripple_lines import source as source_of_lines
from support.sparql import rdf_of

from factdrift.core.errors import InputError
from factdrift.sparql.server import load, serving
from factdrift.sparql.vocabulary import DATATYPES, PREFIXES, datatype_iri, datatype_of


@pytest.fixture(scope="module")
def rdf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rdf")
    with source_of_lines(folder, 1):
        return rdf_of(folder, folder / "rdf.nt.gz")


def short(line: str) -> str:
    for prefix, base in sorted(PREFIXES.items(), key=lambda entry: -len(entry[1])):
        line = line.replace(f"<{base}", f"{prefix}:")
    return line.replace(">", "").removesuffix(" .")


def test_triples_of_statements(rdf):
    lines = {short(line) for line in gzip.decompress(rdf.read_bytes()).decode().splitlines()}
    assert {
        "wd:Q1 p:P6 wds:Q1-b",
        "wds:Q1-b wikibase:rank wikibase:PreferredRank",
        "wds:Q1-b rdf:type wikibase:BestRank",
        "wds:Q1-b ps:P6 wd:Q11",
        "wd:Q1 wdt:P6 wd:Q11",
        "wds:Q1-e wikibase:rank wikibase:DeprecatedRank",
        "wds:Q1-c rdf:type wdno:P582",
        "wds:Q1-d rdf:type wdno:P6",
        "wds:Q1-g ps:P6 wd:P7",
        'wds:Q1-a pq:P580 "2020-05-01T00:00:00Z"^^xsd:dateTime',
        'wds:Q1-a pq:P580 "2020-06-03T00:00:00Z"^^xsd:dateTime',
        'wds:Q2-a ps:P569 "1582-10-14T00:00:00Z"^^xsd:dateTime',
        'wds:Q2-d ps:P1477 "Ma\u0142gorzata \\"M\\""@pl',
        'wds:Q2-e ps:P297 "GB"',
        'wd:Q1 rdfs:label "one"@en',
        'wd:Q1 skos:altLabel "ace"@en',
        "wd:P6 wikibase:propertyType wikibase:WikibaseItem",
        "wd:P6 wikibase:claim p:P6",
        "wd:P569 wikibase:statementValue psv:P569",
    } <= lines
    # Only what is of best rank is `wdt:`; what the snapshot does not declare has no datatype.
    assert not {"wd:Q1 wdt:P6 wd:Q10", "wd:P569 wikibase:propertyType wikibase:Time"} & lines
    node = next(line.split()[2] for line in lines if line.startswith("wds:Q2-a psv:P569"))
    assert f'{node} wikibase:timePrecision "11"^^xsd:integer' in lines
    assert f"{node} wikibase:timeCalendarModel wd:Q1985786" in lines


def test_bytes_do_not_depend_on_buckets(rdf, tmp_path):
    with source_of_lines(tmp_path, 3):
        plain = rdf_of(tmp_path, tmp_path / "rdf.nt").read_bytes()
    assert gzip.decompress(rdf.read_bytes()) == plain


def test_datatypes_there_and_back():
    for datatype in (*DATATYPES, "something-new"):
        assert datatype_of(datatype_iri(datatype)) == datatype


def test_a_damaged_file_makes_no_database(rdf, tmp_path):
    cut = tmp_path / "cut.nt.gz"
    cut.write_bytes(rdf.read_bytes()[:-100])
    wrong = tmp_path / "wrong.nt"
    wrong.write_text("<a> <b>\n", encoding="utf-8")
    for path in (cut, wrong):
        with pytest.raises(InputError, match=f"{path.name}: not valid N-Triples"):
            load([path], tmp_path / "database")
        assert not (tmp_path / "database").exists()
    load([rdf], tmp_path / "database")
    with pytest.raises(InputError, match="exists already"):
        load([rdf], tmp_path / "database")


def test_no_database(tmp_path):
    for folder, said in ((tmp_path / "none", "no such folder"), (tmp_path, "cannot be read as a database")):
        with pytest.raises(InputError, match=said), serving(folder):
            pass
