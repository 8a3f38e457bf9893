"""The pages as a site: `make docs` gives every page, with what it says, and asks nothing of other servers."""

import html
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from browser import Browser, program
from markdown_it import MarkdownIt
from support.workflow import ROOT

from factdrift.pages import meanings


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("mkdocs", reason="the site needs `make docs`")
    folder = tmp_path_factory.mktemp("site") / "docs"
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    env = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    # Strict: a page that is in no list, a link or an anchor that leads nowhere is an error.
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def article(site: Path, page: str) -> str:
    text = (site / page).with_suffix(".html").read_text(encoding="utf-8")
    return text[text.index("<article") : text.index("</article>")]


def elements(text: str) -> Counter[str]:
    return Counter(re.findall(r"<(li|td|th|h[1-4]|blockquote)\b", text))


def test_pages_have_the_lists_and_tables_that_they_have_on_github(site: Path) -> None:
    """Two readers of Markdown differ in what begins a list, and in what goes on inside one."""
    reader = MarkdownIt("commonmark").enable("table")
    for path in (ROOT / "docs").rglob("*.md"):
        page = str(path.relative_to(ROOT))
        expected = elements(reader.render(path.read_text("utf-8")))
        assert elements(article(site, page.replace("README.md", "index.md"))) == expected, page


def test_nothing_is_asked_of_another_server(site: Path) -> None:
    for path in site.rglob("*.html"):
        address = r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(https?:)"
        assert not re.findall(address, path.read_text("utf-8")), path
    assert (site / "search" / "search_index.json").stat().st_size > 100_000
    assert "Frank Bainimarama" in article(site, "docs/notebooks/one-fact.md")


def test_the_glossary_is_a_page_with_the_sentences_of_the_tooltips(site: Path) -> None:
    page = article(site, "docs/glossary.md")
    table = (ROOT / "resources" / "glossary.tsv").read_text("utf-8").splitlines()[1:]
    assert len(table) > 40
    for term, _, meaning in (line.split("\t") for line in table):
        assert meanings()[f"term {term.lower()}"] == meaning
        assert meaning in html.unescape(page), term


@pytest.mark.system
@pytest.mark.skipif(program() is None, reason="no Chromium here (Debian: apt install chromium)")
def test_what_scrolls_takes_the_focus_and_what_is_no_landmark_is_none(site: Path) -> None:
    """What docs/site.js adds to the theme; `benchmarks/screenshots.py --axe` asks all that axe-core knows."""
    regions = "[...document.querySelectorAll('pre > code, .md-typeset__scrollwrap')]"
    scrolled = f"{regions}.filter(region => region.scrollWidth > region.clientWidth)"
    with Browser.open() as browser:
        browser.size(390, 844)
        browser.visit(site / "docs" / "editing.html")
        browser.run("new Promise(done => setTimeout(done, 500))")
        assert browser.run(f"{scrolled}.length") > 5
        assert browser.run(f"{scrolled}.every(region => region.tabIndex == 0)")
        assert browser.run("document.querySelectorAll('nav.md-code__nav').length") > 5
        assert browser.run("document.querySelectorAll('nav.md-code__nav:not([role])').length") == 0
        assert browser.run("document.querySelectorAll('th:empty').length") == 0
        assert browser.run("document.querySelector('.md-search').ariaLabel") == "Search"
