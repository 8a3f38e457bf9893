"""The RDF of a snapshot, and its way into a database."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest
from support.ripple_lines import source as source_of_lines
from support.ripples import RELATIONS

from factdrift.core.errors import InputError
from factdrift.core.tables import database
from factdrift.sparql.server import load, serving
from factdrift.sparql.vocabulary import DATATYPES, PREFIXES, datatype_iri, datatype_of
from factdrift.tempripple.rdf import write_rdf


def rdf_of(folder: Path, buckets: int, name: str = "rdf.nt.gz") -> Path:
    folder.mkdir()
    with source_of_lines(folder, buckets), database() as db:
        write_rdf(
            db,
            sorted(folder.glob("statements-*.parquet")),
            sorted(folder.glob("entities-*.parquet")),
            folder / "properties.parquet",
            RELATIONS.properties(),
            [entry.number for entry in RELATIONS.types],
            folder / name,
        )
    return folder / name


def short(line: str) -> str:
    for prefix, base in sorted(PREFIXES.items(), key=lambda entry: -len(entry[1])):
        line = line.replace(f"<{base}", f"{prefix}:")
    return line.replace(">", "").removesuffix(" .")


def test_triples_of_statements(tmp_path: Path) -> None:
    text = gzip.decompress(rdf_of(tmp_path / "a", 1).read_bytes()).decode()
    lines = {short(line) for line in text.splitlines()}
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


def test_bytes_do_not_depend_on_buckets(tmp_path: Path) -> None:
    files = [rdf_of(tmp_path / str(buckets), buckets).read_bytes() for buckets in (1, 3)]
    assert files[0] == files[1]
    plain = rdf_of(tmp_path / "plain", 2, "rdf.nt").read_bytes()
    assert gzip.decompress(files[0]) == plain


def test_datatypes_there_and_back() -> None:
    for datatype in (*DATATYPES, "something-new"):
        assert datatype_of(datatype_iri(datatype)) == datatype


def test_a_damaged_file_makes_no_database(tmp_path: Path) -> None:
    whole = rdf_of(tmp_path / "a", 1)
    cut = tmp_path / "cut.nt.gz"
    cut.write_bytes(whole.read_bytes()[:-100])
    wrong = tmp_path / "wrong.nt"
    wrong.write_text("<a> <b>\n", encoding="utf-8")
    for path in (cut, wrong):
        with pytest.raises(InputError, match=f"{path.name}: not valid N-Triples"):
            load([path], tmp_path / "database")
        assert not (tmp_path / "database").exists()
    load([whole], tmp_path / "database")
    with pytest.raises(InputError, match="exists already"):
        load([whole], tmp_path / "database")


def test_no_database(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"), serving(tmp_path / "none"):
        pass
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="cannot be read as a database"), serving(tmp_path / "empty"):
        pass


def test_a_killed_job_leaves_no_server(tmp_path: Path) -> None:
    load([rdf_of(tmp_path / "a", 1)], tmp_path / "database")
    script = (
        "import pathlib, sys, time\n"
        "from factdrift.sparql.server import serving\n"
        "with serving(pathlib.Path(sys.argv[1])) as url:\n"
        "    print(url, flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "database")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as job:
        assert job.stdout is not None
        url = job.stdout.readline().strip()
        ask = [sys.executable, "-c", f"import urllib.request as u; u.urlopen({url + '?query=ASK%7B%7D'!r})"]
        assert subprocess.run(ask, check=False, capture_output=True).returncode == 0
        job.kill()
        job.wait()
        refused = subprocess.run(ask, check=False, capture_output=True, text=True)
    assert "Connection refused" in refused.stderr
