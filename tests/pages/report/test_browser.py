"""The page in a headless Chromium: no error or request, keyboard, sorted tables, phones, hostile labels."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, program
from screenshots import FIRST_SCREEN
from support.explorer import visiting
from support.workflow import ROOT

from factdrift.core.figures import save, subplots
from factdrift.pages.report.blocks import Build

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(program() is None, reason="no Chromium here (Debian: apt install chromium)"),
]

ROWS = "[...document.querySelectorAll('#scenarios-3 tbody tr')].filter(row => !row.hidden)"
"""The visible rows of the table of relations."""


@pytest.fixture
def page(browser: Browser, sample: Build) -> Iterator[Browser]:
    address = (sample.results / "report.html").resolve().as_uri()
    with visiting(browser, address, address):
        yield browser


def cells(browser: Browser, place: int) -> list[str]:
    """The visible cells of a column of the table of relations."""
    found: list[str] = browser.run(f"{ROWS}.map(row => row.cells[{place}].textContent)")
    return found


def test_a_table_sorts_by_numbers_and_by_text(page: Browser) -> None:
    page.run("document.querySelector('#scenarios-3 .more').click()")
    whole = len(cells(page, 2))
    assert whole > 50
    page.run("document.querySelectorAll('#scenarios-3 th button')[4].click()")
    numbers = [int(cell.replace(",", "")) for cell in cells(page, 4)]
    assert numbers == sorted(numbers, reverse=True)
    page.run("document.querySelectorAll('#scenarios-3 th button')[4].click()")
    assert [int(cell.replace(",", "")) for cell in cells(page, 4)] == sorted(numbers)
    assert page.run("document.querySelectorAll('#scenarios-3 th')[4].ariaSort") == "ascending"
    page.run("document.querySelectorAll('#scenarios-3 th button')[1].click()")
    texts = cells(page, 1)
    assert texts == sorted(texts, key=str.casefold)
    assert len(texts) == whole


def test_the_keyboard_reaches_the_content_the_filter_and_the_headings(page: Browser) -> None:
    page.key("Tab", 9)
    page.key("Enter", 13, "\r")
    assert page.run("location.hash") == "#updates"
    page.run("document.querySelector('#scenarios-3 details').open = true")
    page.run("document.querySelector('#scenarios-3 .filter input').focus()")
    page.type("HEAD of")
    assert {"head of government", "head of state"} <= set(cells(page, 1))
    assert all("head of" in label for label in cells(page, 1))
    assert page.run("document.querySelector('#scenarios-3 output').textContent").endswith(" of 87")
    for _ in range(3):  # the table's frame, which scrolls, then the first and the second heading
        page.key("Tab", 9)
    assert page.run("document.activeElement.textContent") == "relation"
    page.key("Enter", 13, "\r")
    assert page.run("document.querySelectorAll('#scenarios-3 th')[1].ariaSort") == "ascending"


MEETING = """[...document.querySelectorAll('svg.chart')].flatMap(chart => {
    const texts = [...chart.querySelectorAll('text')].map(each => [each, each.getBoundingClientRect()]);
    return texts.flatMap(([one, a], place) => texts.slice(place + 1)
        .filter(([, b]) => a.left < b.right && b.left < a.right)
        .filter(([, b]) => a.top + 4 < b.bottom && b.top + 4 < a.bottom)
        .map(([other]) => `${one.textContent} / ${other.textContent}`));
})"""
"""JavaScript: texts of a chart that lie upon each other."""


def test_widths_and_colours(page: Browser, tmp_path: Path) -> None:
    """Nothing is wider than the window, no two texts of a chart meet, contents are folded on a phone only,
    figures have the page's ink.
    """
    figure, axis = subplots(figsize=(2, 1))
    axis.set_title("a title")
    save(figure, tmp_path / "drawn.svg")
    text = (tmp_path / "drawn.svg").read_text("utf-8")
    drawn = json.dumps(f'<div id="drawn">{text[text.index("<svg") :]}</div>')
    page.run(f"document.querySelector('main').insertAdjacentHTML('beforeend', {drawn})")
    assert page.run("document.querySelector('.contents').open") is False
    for width, dark in ((320, False), (390, True), (1280, True), (1280, False)):
        page.size(width, 800, dark)
        assert page.run("document.documentElement.scrollWidth") == width
        assert page.run(MEETING) == []
        ink, paper = page.run("(s => [s.color, s.backgroundColor])(getComputedStyle(document.body))")
        assert (luminance(ink) > luminance(paper)) == dark
        assert abs(luminance(ink) - luminance(paper)) > 150
        ink = page.run("getComputedStyle([...document.querySelectorAll('#drawn text')].at(-1)).fill")
        assert luminance(ink) > 180 if dark else luminance(ink) < 60
    opened = "document.querySelector('.contents').open"
    assert page.run(f"new Promise(done => setTimeout(() => done({opened}), 50))")


def luminance(colour: str) -> float:
    """The mean of the parts of `rgb(1, 2, 3)`."""
    return sum(map(float, colour[colour.index("(") + 1 : -1].split(","))) / 3


def test_on_paper_nothing_is_cut_off(page: Browser) -> None:
    page.run("document.querySelector('#scenarios-3 details').open = true")
    page.size(717, 1050)  # A4 without its margins
    page.send("Emulation.setEmulatedMedia", media="print")
    try:
        assert page.run("document.documentElement.scrollWidth") == 717
        rows = "[...document.querySelectorAll('#scenarios-3 tbody tr')]"
        assert page.run(f"{rows}.filter(row => row.getClientRects().length).length") == 12
        said = page.run("document.querySelector('#scenarios-3 .on-paper').innerText")
        assert "first 12 of 87 rows" in said
        assert page.run("getComputedStyle(document.querySelector('nav')).display") == "none"
    finally:
        page.send("Emulation.setEmulatedMedia", media="")


def test_the_pictures_of_the_readme_say_what_the_page_says(page: Browser) -> None:
    expected = (ROOT / "docs/figures/report.txt").read_text("utf-8").strip()
    command = "python benchmarks/screenshots.py results/report.html --readme -o docs/figures"
    assert page.run(FIRST_SCREEN).strip() == expected, f"make the pictures again: {command}"


def test_what_is_shown_at_first_is_printed_on_two_pages(page: Browser) -> None:
    page.size(1280, 900, media="print")
    printed = base64.b64decode(page.send("Page.printToPDF", preferCSSPageSize=True)["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == 2


def test_a_month_shows_its_updates_and_a_link_opens_its_section(page: Browser) -> None:
    shown = "[...document.querySelectorAll('.chosen > div')].filter(each => each.getClientRects().length)"
    (first,) = page.run(f"{shown}.map(each => each.id)")
    click = "dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    page.run(f"document.querySelector('a[href=\"#in-2021-12\"]').{click}")
    (chosen,) = page.run(f"{shown}.map(each => each.id)")
    assert (first, chosen) == ("in-2022-07", "in-2021-12")
    assert "2021-12-08" in page.run(f"{shown}[0].innerText")
    assert page.run("document.querySelector('#funnel > details').open") is False
    page.run("document.querySelector('.findings li:last-child a').click()")
    page.run("new Promise(done => setTimeout(done, 500))")
    assert page.run("document.querySelector('#funnel > details').open") is True


def test_without_the_script_all_rows_are_there(page: Browser, sample: Build) -> None:
    page.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        page.send("Page.reload")
        page.visit(sample.results / "report.html")
        assert len(cells(page, 1)) == 87
    finally:
        page.send("Emulation.setScriptExecutionDisabled", value=False)


def test_hostile_labels_are_shown_as_text(browser: Browser, hostile: Build) -> None:
    address = (hostile.results / "report.html").resolve().as_uri()
    with visiting(browser, address, address):
        assert browser.run("typeof window.hacked") == "undefined"
        assert browser.run("document.images.length") == 0
        assert browser.run("document.documentElement.scrollWidth") == 390
        assert "<script>window.hacked" in browser.run("document.querySelector('main').innerText")
