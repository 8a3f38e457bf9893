"""The explorer in a headless Chromium, served and from files: search, keys, phones, hostile labels."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, program
from browsing import Synthetic
from support.explorer import NAMED, serving, visiting, world

from factdrift.cli import main
from factdrift.pages.browse.build import Build
from factdrift.pages.browse.index import index_of

pytestmark = [
    pytest.mark.slow,
    pytest.mark.system,
    pytest.mark.skipif(program() is None, reason="no Chromium here (Debian: apt install chromium)"),
]


@pytest.fixture(scope="module", params=["served", "files"])
def where(request: pytest.FixtureRequest) -> tuple[str, str]:
    """The address of the explorer's pages, and what ends the name of one."""
    found = request.getfixturevalue(request.param)
    return (found, "") if request.param == "served" else (f"{found.as_uri()}/", ".html")


@pytest.fixture
def page(browser: Browser, where: tuple[str, str]) -> Iterator[Browser]:
    """The first page."""
    address, ending = where
    with visiting(browser, address + ("index.html" if ending else ""), address, 1280):
        yield browser


def typed(page: Browser, text: str, least: int = 1) -> list[str]:
    """The names that are shown once a text has been typed, when there are enough."""
    page.run("document.querySelector('#q').select()")
    page.type(text)
    waited(page, f"document.querySelector('#found').dataset.of === {json.dumps(text)}")
    found: list[str] = page.run(
        "[...document.querySelectorAll('#found a bdi:first-child')].map(e => e.textContent)"
    )
    assert len(found) >= least
    return found


def waited(page: Browser, script: str) -> None:
    """Waits until an expression holds, and fails if it does not."""
    for _ in range(200):
        if page.run(script):
            return
        page.run("new Promise(done => setTimeout(done, 25))")
    raise AssertionError(script)


def test_search_by_keyboard_alone(page: Browser, where: tuple[str, str], made: Synthetic) -> None:
    number = int(made.subjects[7])
    label = made.labels(made.subjects[7:8]).to_pylist()[0]
    page.key("Tab", 9)
    page.key("Enter", 13, "\r")
    assert page.run("location.hash") == "#content"
    page.key("/", 191, "/")
    assert page.run("document.activeElement.id") == "q"
    assert page.run("document.activeElement.value") == ""
    assert typed(page, "zzzzqqqq", 0) == []
    assert "No label begins with these words" in page.run("document.querySelector('#found').textContent")
    assert label in typed(page, label[:-1])
    page.key("ArrowDown", 40)
    assert page.run("document.activeElement.tagName") == "A"
    page.key("ArrowUp", 38)
    assert page.run("document.activeElement.id") == "q"
    page.key("Escape", 27)
    assert page.run("document.querySelector('#found').hidden")
    assert typed(page, f"q{number}")[0] == label
    page.key("Enter", 13, "\r")
    address, ending = where
    waited(page, f"document.readyState === 'complete' && location.href === '{address}Q{number}{ending}'")
    assert page.run("document.querySelector('h1').textContent") == label


def test_what_a_visitor_types(browser: Browser, tmp_path: Path) -> None:
    """In files, whose script searches by itself; the server's search is that of test_search.py."""
    build = world(tmp_path / "results")
    assert main(["browse", "--pair", str(build.pair), "-o", str(tmp_path / "x")]) == 0
    address = f"{(tmp_path / 'x').resolve().as_uri()}/"
    browser.visit(f"{address}index.html")
    # Pages are written for what has updates, and for their relations and classes only.
    pages = {path.stem for path in (tmp_path / "x").glob("*.html")}
    for text, first in NAMED:
        expected = [f"{each}.html" for each in first.split() if each in pages]
        if expected:
            typed(browser, text)
            script = "[...document.querySelectorAll('#found a')].map(e => e.getAttribute('href'))"
            assert browser.run(script)[: len(expected)] == expected, text
    typed(browser, "germny")
    assert "Found for germany" in browser.run("document.querySelector('#found p').textContent")
    typed(browser, "germany")
    browser.key("Enter", 13, "\r")
    waited(browser, f"document.readyState === 'complete' && location.href === '{address}Q11.html'")


def test_nothing_is_wider_than_the_window(page: Browser, where: tuple[str, str], made: Synthetic) -> None:
    address, ending = where
    for name in (f"Q{made.subjects[0]}", f"P{made.relation[0]}"):
        page.visit(f"{address}{name}{ending}")
        page.run("for (const each of document.querySelectorAll('details')) each.open = true")
        for width in (320, 390, 1280):
            page.size(width, 800)
            assert page.run("document.documentElement.scrollWidth") == width


def test_statements_load_when_they_are_opened(browser: Browser, tmp_path: Path) -> None:
    long = Synthetic(tmp_path / "results", 12, 4, 200, 1, 2)
    long.make()
    index = index_of(Build.of(long.pair), tmp_path / "index.sqlite")
    with serving(long.pair, index) as address, visiting(browser, f"{address}Q{long.subjects[0]}", address):
        waiting = "document.querySelectorAll('details[data-part]')"
        number = browser.run(f"{waiting}.length")
        assert number > 20
        relation = browser.run(f"{waiting}[0].id")
        assert browser.run(f"document.querySelector('#{relation} table') === null")
        browser.run(f"document.querySelector('#{relation}').open = true")
        waited(browser, f"document.querySelector('#{relation} table.compared') !== null")
        assert browser.run(f"document.querySelector('#{relation} a.load') === null")
        assert browser.run(f"{waiting}.length") == number - 1


@pytest.mark.parametrize("kind", ["served", "files"])
def test_hostile_labels_are_shown_as_text(browser, hostile, hostile_files, tmp_path, kind):
    with contextlib.ExitStack() as stack:
        if kind == "served":
            index = index_of(Build.of(hostile.pair), tmp_path / "index.sqlite")
            address, home, ending = stack.enter_context(serving(hostile.pair, index)), "", ""
        else:
            address, home, ending = f"{hostile_files.as_uri()}/", "index.html", ".html"
        stack.enter_context(visiting(browser, address + home, address))
        for name in (f"Q{hostile.subjects[0]}{ending}", f"P1{ending}", home):
            browser.visit(address + name)
            assert browser.run("document.images.length") == 0
            assert browser.run("document.querySelectorAll('h1').length") == 1
            assert browser.run("document.documentElement.scrollWidth") == 390
        assert any("<script>" in name for name in typed(browser, "script"))
        assert any(name.startswith("xxxx") and len(name) <= 301 for name in typed(browser, "xxxxx"))
        assert browser.run("typeof window.hacked") == "undefined"
