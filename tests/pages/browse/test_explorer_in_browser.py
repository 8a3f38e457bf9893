"""The explorer in a headless Chromium, served and from files: search, keys, phones, hostile labels."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, program
from browsing import Synthetic
from support.explorer import NAMED, World, serving

from factdrift.pages.browse.build import Build
from factdrift.pages.browse.index import index_of

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(program() is None, reason="no Chromium here (Debian: apt install chromium)"),
]


Explored = Callable[[Synthetic], contextlib.AbstractContextManager[tuple[str, str, str]]]


@pytest.fixture(scope="module", params=["served", "files"])
def explored(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    exported: Callable[[Path], Path],
) -> Explored:
    """`explored(build)`: the address of a build's pages, what ends the name of one, and the first one."""

    @contextlib.contextmanager
    def pages(build: Synthetic) -> Iterator[tuple[str, str, str]]:
        if request.param == "files":
            address = f"{exported(build.pair).resolve().as_uri()}/"
            yield address, ".html", f"{address}index.html"
        else:
            index = index_of(Build.of(build.pair), tmp_path_factory.mktemp("index") / "index.sqlite")
            with serving(build.pair, index) as address:
                yield address, "", address

    return pages


@pytest.fixture(scope="module")
def where(explored: Explored, made: Synthetic) -> Iterator[tuple[str, str, str]]:
    with explored(made) as found:
        yield found


@pytest.fixture
def page(browser: Browser, quiet: Any, where: tuple[str, str, str]) -> Iterator[Browser]:
    """The first page."""
    with quiet(where[0], 1280):
        browser.visit(where[2])
        yield browser


def typed(page: Browser, text: str, least: int = 1) -> list[str]:
    """The names that are shown once a text has been typed, when there are enough."""
    page.run("document.querySelector('#q').select()")
    page.type(text)
    for _ in range(200):
        page.run("new Promise(done => setTimeout(done, 25))")
        if page.run("document.querySelector('#found').dataset.of") == text:
            break
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


def test_search_by_keyboard_alone(page: Browser, where: tuple[str, str, str], made: Synthetic) -> None:
    number = int(made.subjects[7])
    label = made.labels(made.subjects[7:8]).to_pylist()[0]
    page.key("/", 191, "/")
    assert page.run("document.activeElement.id") == "q"
    assert page.run("document.activeElement.value") == ""
    assert label in typed(page, label[:-1])
    page.key("ArrowDown", 40)
    assert page.run("document.activeElement.tagName") == "A"
    page.key("ArrowUp", 38)
    assert page.run("document.activeElement.id") == "q"
    page.key("Escape", 27)
    assert page.run("document.querySelector('#found').hidden")
    assert typed(page, f"q{number}")[0] == label
    page.key("Enter", 13, "\r")
    address, ending, _ = where
    waited(page, f"document.readyState === 'complete' && location.href === '{address}Q{number}{ending}'")
    assert page.run("document.querySelector('h1').textContent") == label


def test_what_a_visitor_types(
    browser: Browser, explored: Explored, exported: Callable[[Path], Path], named: World
) -> None:
    pages = {path.stem for path in exported(named.pair).glob("*.html")}
    with explored(named) as (address, ending, home):
        browser.visit(home)
        for text, first in NAMED:
            # Files are written for what has updates, and for their relations and classes only.
            expected = [each for each in first.split() if not ending or each in pages]
            if expected:
                typed(browser, text)
                script = "[...document.querySelectorAll('#found a')].map(e => e.getAttribute('href'))"
                assert browser.run(script)[: len(expected)] == [each + ending for each in expected], text
        typed(browser, "germny")
        assert "Found for germany" in browser.run("document.querySelector('#found p').textContent")
        typed(browser, "germany")
        browser.key("Enter", 13, "\r")
        waited(browser, f"document.readyState === 'complete' && location.href === '{address}Q11{ending}'")


def test_nothing_found_is_said(page: Browser) -> None:
    assert typed(page, "zzzzqqqq", 0) == []
    assert "No label begins with these words" in page.run("document.querySelector('#found').textContent")


def test_the_first_tab_skips_to_the_content(page: Browser) -> None:
    page.key("Tab", 9)
    page.key("Enter", 13, "\r")
    assert page.run("location.hash") == "#content"


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_nothing_is_wider_than_the_window(
    page: Browser, where: tuple[str, str, str], made: Synthetic, width: int
) -> None:
    address, ending, _ = where
    for name in (f"Q{made.subjects[0]}", f"P{made.relation[0]}"):
        page.size(width, 800)
        page.visit(f"{address}{name}{ending}")
        page.run("for (const each of document.querySelectorAll('details')) each.open = true")
        assert page.run("document.documentElement.scrollWidth") == width


def test_statements_load_when_they_are_opened(browser: Browser, quiet: Any, tmp_path: Path) -> None:
    long = Synthetic(tmp_path / "results", 12, 4, 200, 1, 2)
    long.make()
    index = index_of(Build.of(long.pair), tmp_path / "index.sqlite")
    with serving(long.pair, index) as address, quiet(address, 1280):
        browser.visit(f"{address}Q{long.subjects[0]}")
        waiting = "document.querySelectorAll('details[data-part]')"
        number = browser.run(f"{waiting}.length")
        assert number > 20
        relation = browser.run(f"{waiting}[0].id")
        assert browser.run(f"document.querySelector('#{relation} table') === null")
        browser.run(f"document.querySelector('#{relation}').open = true")
        waited(browser, f"document.querySelector('#{relation} table.compared') !== null")
        assert browser.run(f"document.querySelector('#{relation} > p') === null")
        assert browser.run(f"{waiting}.length") == number - 1


def test_hostile_labels_are_shown_as_text(
    browser: Browser, quiet: Any, explored: Explored, hostile: Synthetic
) -> None:
    with explored(hostile) as (address, ending, home), quiet(address, 390):
        for page in (f"{address}Q{hostile.subjects[0]}{ending}", f"{address}P1{ending}", home):
            browser.visit(page)
            assert browser.run("document.images.length") == 0
            assert browser.run("document.querySelectorAll('h1').length") == 1
            assert browser.run("document.documentElement.scrollWidth") == 390
        assert any("<script>" in name for name in typed(browser, "script"))
        assert any(name.startswith("xxxx") and len(name) <= 301 for name in typed(browser, "xxxxx"))
        assert browser.run("typeof window.hacked") == "undefined"
