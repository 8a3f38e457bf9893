"""The index: searches against a plain search of all names, updates in order, when it is made again."""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.explorer import NAMED, world

from factdrift.core.errors import InputError
from factdrift.core.exhausted import full
from factdrift.core.tables import database
from factdrift.core.text import folded
from factdrift.pages import DAY
from factdrift.pages.browse import index as index_module
from factdrift.pages.browse.build import Build
from factdrift.pages.browse.index import index_of
from factdrift.pages.browse.search import Chosen, Index
from factdrift.wikidata.ids import entity_id


@pytest.fixture(scope="module")
def opened(index: Path) -> Index:
    return Index(index)


@pytest.fixture(scope="module")
def names(build: Build) -> list[tuple[int, str, float]]:
    """Id, text that is searched and popularity of every item, by falling popularity."""
    rows = []
    for path in sorted(build.snapshot("new", "entities").glob("*.parquet")):
        for row in pq.read_table(path, columns=["id", "label", "aliases", "sitelinks"]).to_pylist():
            rows.append((row["id"], f"{row['label']} {row['aliases'][0]}", row["sitelinks"]))
    return sorted(rows, key=lambda row: (-row[2], row[0]))


def plain_search(names: list[tuple[int, str, float]], text: str) -> list[int]:
    """Ids of the items that have all words of the text, the last one as the beginning of a word."""
    *whole, last = text.split()
    words = {id: label.split() for id, label, _ in names}
    fitting = [id for id in words if any(word.startswith(last) for word in words[id])]
    return [id for id in fitting if {*whole} <= {*words[id]}]


@given(data=st.data())
def test_a_search_finds_what_a_plain_one_finds(data, opened, names):
    _, label, _ = data.draw(st.sampled_from(names))
    words = data.draw(st.lists(st.sampled_from(label.split()), min_size=1, max_size=3))
    cut = data.draw(st.integers(1, len(words[-1])))
    text = " ".join([*words[:-1], words[-1][:cut]])
    found = opened.search(text, (0, 400, 400))
    shown = [row["id"] for kind in ("exact", "classes", "subjects") for row in found[kind]]
    ids = [id for id in shown if id > 0]  # `exact` has relations, too
    expected = plain_search(names, text)
    assert sorted(ids) == sorted(expected)
    exact = [id for id in ids if folded(opened.names([id])[id]["label"]) == folded(text)]
    rest = [id for id in ids if id not in exact]
    assert rest == [id for id in expected if id not in exact]


@settings(max_examples=examples(30))
@given(text=st.text(max_size=30))
def test_any_text_can_be_typed(opened: Index, text: str) -> None:
    found = opened.search(text)
    assert list(found) == ["exact", "relations", "subjects", "classes"]
    opened.corrected(text)


def test_operators_are_words_and_nothing_similar_is_nothing(opened: Index) -> None:
    for text in ('"', "a AND b", "a*", "text:a", "NEAR(a b)", "-a", "^a", "a\x00b", "ｑ", "𐐷𐐷"):
        opened.search(text)
    assert not any(opened.search("  ").values())
    assert [opened.corrected(text) for text in ("zzzzqqqq", "", "xk")] == [None] * 3


@pytest.fixture(scope="module")
def sampled(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """The names of the bundled sample, some of which have classes and relations of nearly the same name."""
    folder = tmp_path_factory.mktemp("world")
    return Index(index_of(Build.of(world(folder / "results").pair), folder / "index.sqlite"))


@pytest.mark.parametrize(("text", "first"), NAMED)
def test_what_a_visitor_types(sampled: Index, text: str, first: str) -> None:
    found = sampled.search(text)
    if not any(found.values()):
        found = sampled.search(sampled.corrected(text) or "")
    ids = [row["id"] for rows in found.values() for row in rows]
    assert [entity_id(each) for each in ids[: len(first.split())]] == first.split()


def test_updates_come_in_the_order_of_the_dataset(opened: Index, build: Build) -> None:
    rows = pq.read_table(build.dataset).to_pylist()
    ids = [(int(row["subject"]["id"][1:]), int(row["relation"]["id"][1:])) for row in rows]
    assert [(each["subject"], each["relation"]) for each in opened.updates(0, 100)] == ids
    assert sum(opened.scenarios().values()) == len(rows)
    relation = ids[0][1]
    expected = [pair for pair in ids if pair[1] == relation]
    found = opened.updates(0, 100, relation=relation)
    assert [(each["subject"], each["relation"]) for each in found] == expected
    archived = opened.updates(0, 100, chosen=Chosen("Archive"))
    assert len(archived) == opened.scenarios()["Archive"] == sum(row["scenario"] == "Archive" for row in rows)
    for days, number in ((("2022-01-01", ""), len(rows)), (("2022-01-02", ""), 0), (("", "2021-12-31"), 0)):
        chosen = Chosen("", *days)
        assert sum(opened.scenarios(chosen=chosen).values()) == number
        assert len(opened.updates(0, len(rows), chosen=chosen)) == number
    class_ = next(iter(opened.with_updates("class")))
    of_class = [each["subject"] for each in opened.updates(0, 100, of=class_)]
    assert of_class
    assert all(f"{class_}" in opened.names([subject])[subject]["classes"] for subject in of_class)


def test_an_update_is_dated_by_what_changed() -> None:
    def one(decision: str, **dates: str) -> dict[str, str | None]:
        return {"decision": decision, "start": None, "end": None, "point_in_time": None} | dates

    updates = {
        "2021-12-08": [one("new", start="2021-12-08T00"), one("obsolete", start="2005-11-22")],
        "2022-03": [one("new", point_in_time="2022-03"), one("new", start="2022-04-01")],
        "2022-03-16": [one("obsolete", start="1996-02-28", end="2022-03-16")],
        None: [one("new", start="the 1990s"), one("static", start="2022-01-01")],
    }
    with database() as db:
        rows = pa.table({"objects": pa.array(list(updates.values()))})
        db.register("rows", rows)
        days = [day for (day,) in db.sql(f"SELECT {DAY} FROM rows").fetchall()]
    assert days == list(updates)


def test_a_month_is_in_a_time_that_begins_or_ends_in_it() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as db:
        for chosen, expected in (
            *((Chosen("", "2022-03-10", ""), True), (Chosen("", "2022-04-01", ""), False)),
            *((Chosen("", "", "2022-03-01"), True), (Chosen("", "", "2022-02-28"), False)),
        ):
            conditions, values = chosen.conditions()
            query = f"SELECT count(*) FROM (SELECT '2022-03' AS day) u WHERE {' AND '.join(conditions)}"
            assert db.execute(query, values).fetchone() == (expected,)


def test_the_index_is_made_again_when_tables_change(build, tmp_path, capfd):
    results = tmp_path / "results"
    shutil.copytree(build.pair.parent, results)
    copy, path = Build.of(results / build.pair.name), tmp_path / "index.sqlite"
    index_of(copy, path)
    assert "index: names" in capfd.readouterr().err
    index_of(copy, path)
    assert "index: names" not in capfd.readouterr().err
    os.utime(copy.dataset, ns=(1, 1))
    index_of(copy, path)
    assert "index: names" in capfd.readouterr().err
    path.write_bytes(b"no index")
    with pytest.raises(InputError, match="is no index"):
        Index(path)
    path.write_bytes(b"")
    index_of(copy, path)
    assert Index(path).search("Q1")["exact"]


def test_only_an_index_is_replaced(build: Build, tmp_path: Path, refused: Callable[..., str]) -> None:
    """Neither texts nor another program's database, nor a file with the name of the lock."""
    text, other = tmp_path / "thesis.tex", tmp_path / "places.sqlite"
    text.write_text("years of work")
    with contextlib.closing(sqlite3.connect(other)) as db:
        db.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT)")
    before = {path: path.read_bytes() for path in (text, other)}
    for path in (*before, tmp_path):
        said = refused("browse", "--pair", build.pair, "--index", path, "--no-browser")
        assert f"--index {path}: is not an index of the explorer" in said
    (tmp_path / "new.sqlite.lock").write_text("years of work")
    index_of(build, tmp_path / "new.sqlite")
    assert (tmp_path / "new.sqlite.lock").read_text() == "years of work"
    assert {path: path.read_bytes() for path in before} == before


def test_a_full_disk_is_named(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = index_module._add_names

    def small(build: Build, tables: Any, db: sqlite3.Connection) -> None:
        db.execute("PRAGMA max_page_count = 40")
        real(build, tables, db)

    monkeypatch.setattr(index_module, "_add_names", small)
    with pytest.raises(OSError, match="No space left") as error:
        index_of(build, tmp_path / "index.sqlite")
    assert f"{tmp_path} could not hold index.sqlite" in full(error.value)
    assert [path.name for path in tmp_path.iterdir()] == ["index.sqlite.lock"]


def test_it_lies_in_the_cache_folder(build: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = {path: path.stat().st_mtime_ns for path in build.pair.parent.rglob("*")}
    path = index_of(build)
    assert path.parent == tmp_path / "factdrift"
    assert before == {path: path.stat().st_mtime_ns for path in build.pair.parent.rglob("*")}
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM names").fetchone() == (400 + 2000,)


def test_a_folder_that_is_none_of_a_pair(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is no folder of a pair"):
        Build.of(tmp_path)
    with pytest.raises(InputError, match=r"wikifactdiff\.parquet: no such file.*snakemake"):
        Build.of(tmp_path / "2021-01-04_2023-02-27")
