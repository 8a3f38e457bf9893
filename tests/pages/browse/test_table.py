"""The table of all updates: its cells, and its filters as SQL and as pandas, which find the same rows."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest
from browser import program
from support.explorer import visiting

from factdrift.cli import main
from factdrift.core.tables import database
from factdrift.pages.browse.build import Build, Tables
from factdrift.pages.browse.index import index_of
from factdrift.pages.browse.pages import COLUMNS, updates_script
from factdrift.pages.browse.search import Chosen, Index

PAIR = "2021-01-04_2023-02-27"


@pytest.fixture(scope="module")
def build(built: Path) -> Build:
    return Build.of(built / "results" / PAIR)


@pytest.fixture(scope="module")
def data(build: Build) -> Any:
    with database() as db:
        text = updates_script(Tables(build, db))
    return json.loads(text[text.index("table: ") + len("table: ") : text.rindex("}")])


def test_the_cells_are_what_pandas_finds(data: Any, build: Build) -> None:
    rows = pd.read_parquet(build.dataset)
    for place, (name, (_, code)) in enumerate(COLUMNS.items()):
        assert list(eval(code, {"rows": rows})) == [row[place + 2] for row in data["rows"]], name
    assert data["rows"][0][:4] == ["Q183", "P6", "2021-12-08", "Germany"]


def test_months_and_objects_are_those_of_the_table(data: Any, build: Build, tmp_path: Path) -> None:
    index = Index(index_of(build, tmp_path / "index.sqlite"))
    days = [row[2] for row in data["rows"]]
    periods = index.periods(7)
    assert sum(periods.values()) == len(days)
    for period, number in periods.items():
        assert number == sum(day[:7] == period for day in days)
        if len(period) == 7:
            assert sum(index.scenarios(Chosen(period=period)).values()) == number
    rows = pd.read_parquet(build.dataset)
    for id in (6279, 567, 4916):
        own = rows[[any(value["id"] == f"Q{id}" for value in objects) for objects in rows["objects"]]]
        expected = [(row.subject["id"], row.relation["id"]) for row in own.itertuples()]
        found = [(f"Q{row['subject']}", f"P{row['relation']}") for row in index.updates(0, 50, object=id)]
        assert found == expected
        assert found


@pytest.mark.slow
@pytest.mark.system
@pytest.mark.skipif(program() is None, reason="no Chromium here (Debian: apt install chromium)")
def test_what_is_filtered_can_be_copied(browser, build, built, tmp_path, monkeypatch):
    assert main(["browse", "--pair", str(build.pair), "-o", str(tmp_path / "x")]) == 0
    monkeypatch.chdir(built)
    address = f"{(tmp_path / 'x').resolve().as_uri()}/"
    shown = "document.querySelector('.copies output')?.textContent"
    # The quotes of the last are those of SQL and Python.
    for filters, least in (
        ("day=2021-12&subject=germ", 1),
        ("obsolete=DONALD+trump", 2),
        ("relation=head&new=%C3%A9", 1),
        ("scenario=Add&split=test", 50),
        ("subject=%27&new=%22", 0),
    ):
        with visiting(browser, f"{address}table.html#{filters}", address):
            assert browser.run(f"new Promise(done => setTimeout(() => done({shown}), 500))")
            text = browser.run(shown)
            number = int(text.partition(" ")[0].replace(",", ""))
            assert number >= least
            browser.run("document.querySelector('[data-as=sql]').click()")
            assert len(duckdb.sql(browser.run("document.querySelector('.code').textContent"))) == number
            browser.run("document.querySelector('[data-as=pandas]').click()")
            found: dict[str, Any] = {}
            exec(browser.run("document.querySelector('.code').textContent"), found)
            assert len(found["rows"]) == number
            assert browser.run("document.querySelectorAll('#table tbody tr').length") == min(number, 100)
