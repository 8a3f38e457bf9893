"""The explorer as files: every link leads to a file, the same bytes each time, nothing incomplete."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
from browsing import Synthetic

from factdrift.cli import main
from factdrift.pages.browse import pages

LINK = re.compile(r'<(\w+)[^<]* (?:href|src)="([^"]*)"')
"""An element and its address."""


def test_every_link_leads_to_a_file_or_to_wikidata(files: Path, made: Synthetic) -> None:
    pages = sorted(files.glob("*.html"))
    for page in pages:
        for tag, address in LINK.findall(page.read_text("utf-8")):
            if address.startswith("https://"):
                assert tag == "a", (page, address)
                assert address.startswith("https://www.wikidata.org/w"), (page, address)
            elif not address.startswith("data:,"):
                name, _, place = address.partition("#")
                file = files / name if name else page
                assert file.is_file(), (page, address)
                filters = name == "table.html"
                assert not place or filters or f'id="{place}"' in file.read_text("utf-8"), (page, address)
    names = {page.stem for page in pages}
    assert {f"Q{number}" for number in made.subjects} <= names
    assert {f"P{number}" for number in made.relation} <= names
    assert {"index", "index-2"} <= names


def test_the_search_has_every_page(files: Path) -> None:
    text = (files / "search.js").read_text("utf-8")
    rows = json.loads(re.sub(r"^.*?names: (.*) \};\n$", r"\1", text, flags=re.DOTALL))
    pages = {path.stem for path in files.glob("*.html") if not re.search(r"-\d+$", path.stem)}
    assert {row[0] for row in rows} == pages - {"index", "names", "table"}
    assert {0, 1} <= {row[2] for row in rows}


def test_again_it_has_the_same_bytes(files: Path, made: Synthetic) -> None:
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    assert main(["browse", "--pair", str(made.pair), "-o", str(files)]) == 0
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_a_larger_build_is_for_the_server(made, tmp_path, monkeypatch, refused):
    monkeypatch.setattr(pages, "MOST", 59)
    said = refused("browse", "--pair", made.pair, "-o", tmp_path / "x")
    assert "60 updates; files are written for up to 59: use `factdrift browse`" in said
    assert list(tmp_path.iterdir()) == []


def test_a_build_without_updates_has_a_first_page(made: Synthetic, tmp_path: Path) -> None:
    shutil.copytree(made.pair.parent, tmp_path / "results")
    path = tmp_path / "results" / made.pair.name / "wikifactdiff.parquet"
    pq.write_table(pq.read_table(path).slice(0, 0), path)
    assert main(["browse", "--pair", str(path.parent), "-o", str(tmp_path / "x")]) == 0
    assert {page.stem for page in (tmp_path / "x").glob("*.html")} == {"index", "names", "table"}


def test_other_files_are_not_replaced(made: Synthetic, tmp_path: Path, refused: Callable[..., str]) -> None:
    """Also beside a script of the explorer's name."""
    (tmp_path / "search.js").write_text("mine")
    (tmp_path / "thesis.tex").write_text("years of work")
    said = refused("browse", "--pair", made.pair, "-o", tmp_path)
    assert "search.js in it was not written there by factdrift" in said
    assert (tmp_path / "thesis.tex").read_text() == "years of work"
    assert (tmp_path / "search.js").read_text() == "mine"


def test_hostile_labels_are_text(hostile_files: Path) -> None:
    for path in hostile_files.iterdir():
        text = path.read_text("utf-8")
        assert len(text) < 400_000, path
        assert "x" * 320 not in text
        if path.suffix == ".html":
            assert text.count("<script") == 1
            assert text.count("<h1") == 1
            assert "<img" not in text
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u202a-\u202e]", text), path
    for name in ("search.js", "updates.js"):
        assert "<" not in (hostile_files / name).read_text("utf-8")


def test_without_a_script_the_search_leads_to_all_names(files: Path, made: Synthetic) -> None:
    home = (files / "index.html").read_text("utf-8")
    assert '<form class="search" role="search" action="names.html"' in home
    addresses = {address for _, address in LINK.findall((files / "names.html").read_text("utf-8"))}
    subjects = {f"Q{number}.html" for number in made.subjects}
    assert subjects | {f"P{number}.html" for number in made.relation} <= addresses
