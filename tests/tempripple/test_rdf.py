"""From the lines of a dump to RDF and its database, and to the answers of the source over tables."""

import gzip

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyoxigraph import Store
from support.ripple_lines import source as source_of_lines
from support.sparql import rdf_of

from factdrift.core.errors import InputError
from factdrift.sparql.server import load, serving
from factdrift.sparql.vocabulary import PREFIXES
from factdrift.tempripple.search import ids
from factdrift.tempripple.sources import STATEMENTS
from factdrift.tempripple.table_source import make_rows


@pytest.fixture(scope="module")
def rdf(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rdf")
    with source_of_lines(folder, 1):
        return rdf_of(folder, folder / "rdf.nt.gz")


def test_triples_of_statements(rdf):
    text = gzip.decompress(rdf.read_bytes()).decode()
    for prefix, base in sorted(PREFIXES.items(), key=lambda entry: -len(entry[1])):
        text = text.replace(f"<{base}", f"{prefix}:")
    lines = {line.replace(">", "").removesuffix(" .") for line in text.splitlines()}
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
    # Wikidata's prefixes are known, and an error is where the user's own query has it.
    assert bool(Store.read_only(str(tmp_path / "database")).query("ASK { wd:Q1 p:P6 ?o }", prefixes=PREFIXES))
    for folder, said in ((tmp_path / "none", "no such folder"), (tmp_path, "cannot be read as a database")):
        with pytest.raises(InputError, match=said), serving(folder):
            pass


def day(packed, precision):
    return {"day": packed, "precision": precision}


def test_statements_of_items_and_restrictive_qualifiers(tmp_path):
    with source_of_lines(tmp_path, 1) as tables:
        table = tables.statements(ids([1]), ids([6]), ids([]))
        assert table.schema.equals(STATEMENTS)
        rows = {row["statement"]: row for row in table.to_pylist()}
        assert list(rows) == [f"Q1${letter}" for letter in "abcdfghi"]
        assert {name: (row["snak"], row["object"]) for name, row in rows.items()} == {
            "Q1$a": ("value", 10),
            "Q1$b": ("value", 11),
            "Q1$c": ("somevalue", None),
            "Q1$d": ("novalue", None),
            "Q1$f": ("somevalue", None),
            "Q1$g": ("somevalue", None),
            "Q1$h": ("value", 13),
            "Q1$i": ("value", 14),
        }
        assert rows["Q1$a"]["starts"] == [day(20200501, 10), day(20200603, 11)]
        assert [name for name, row in rows.items() if row["preferred"]] == ["Q1$b"]
        assert [name for name, row in rows.items() if row["end_unknown"]] == ["Q1$b", "Q1$i"]
        assert (rows["Q1$c"]["ends"], rows["Q1$d"]["starts"]) == ([], [])
        assert rows["Q1$h"]["ends"] == [day(20200603, 11)]

        def restricted(*asked):
            found = tables.statements(ids([1]), ids([6]), ids(asked)).to_pylist()
            return [row["statement"] for row in found if row["restricted"]]

        assert restricted() == restricted(518) == []
        assert restricted(642, 518) == ["Q1$a"]

        # Statements without an id get one of their place.
        path = tmp_path / "statements-0.parquet"
        table = pq.read_table(path)
        nameless = pa.array([None] * table.num_rows, pa.string())
        pq.write_table(table.set_column(2, "statement", nameless), path)
        again = tmp_path / "again.parquet"
        make_rows(path, tmp_path / "entities-0.parquet", [6], again, tmp_path / "edges.parquet")
        names = pq.read_table(again)["statement"].to_pylist()
    assert names == [f"Q1${place}" for place in (0, 1, 2, 3, 5, 6, 7, 8)]
