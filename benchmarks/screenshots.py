"""Screenshots of the page about a build, or of the explorer's, at three widths, and checks by axe-core.

    python benchmarks/screenshots.py results/report.html -o /tmp/screenshots
    python benchmarks/screenshots.py results/explorer/Q30.html -o /tmp/screenshots
    python benchmarks/screenshots.py http://127.0.0.1:8765/Q30 -o /tmp/screenshots
    python benchmarks/screenshots.py build/site/*.html build/site/*/*.html --axe axe.min.js
    python benchmarks/screenshots.py results/report.html --readme -o docs/figures

The first three make seven images of a whole page to look at: light, dark, and printed. The fourth makes none,
but runs axe-core (`npm pack axe-core`, then `tar xf axe-core-*.tgz package/axe.min.js`) on each page in six
ways, prints what it finds, and ends with status 1 if it finds anything. The last makes the images of the
README and the gallery.
"""

import argparse
from pathlib import Path

from browser import Browser

SIZES = {"phone": (390, 844), "tablet": (820, 1180), "desk": (1440, 900)}
PAPER = (794, 1123)


FIRST_SCREEN = "document.querySelector('header').innerText"
"""JavaScript: what the first screen of the report says."""


def address(text: str) -> Path | str:
    """A page by its file, or by its address."""
    return text if text.startswith("http://") else Path(text)


WAYS = [(f"{name}{'-dark' * dark}", size, dark) for name, size in SIZES.items() for dark in (False, True)]
"""Name, size and colour scheme of each look at a page on a screen."""


def whole_pages(browser: Browser, page: Path | str, folder: Path) -> None:
    """Writes the whole page in each size and colour scheme, and printed, as PNG."""
    for name, size, dark in [*WAYS, ("print", PAPER, False)]:
        browser.size(*size, dark, media="print" if name == "print" else "screen")
        browser.visit(page)
        browser.screenshot(folder / f"{Path(page).stem}-{name}.png", whole=True, kind="png")


def check(browser: Browser, page: Path | str, axe: str) -> int:
    """Prints what axe-core (its script) finds in each size and colour scheme; returns the number of lines."""
    number = 0
    for name, size, dark in WAYS:
        browser.size(*size, dark)
        browser.visit(page)
        browser.run("new Promise(done => setTimeout(done, 300))")
        for line in violations(browser, axe):
            print(f"{page}, {name}: {line}", flush=True)
            number += 1
    return number


def violations(browser: Browser, axe: str) -> list[str]:
    """What axe-core, whose script is given, finds wrong on the open page: a line for each rule."""
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    browser.run(f"{axe}; 0")
    found: list[str] = browser.run(
        """axe.run(document, {resultTypes: ['violations'], preload: false})
        .then(done => done.violations.map(each =>
        `${each.id} (${each.impact}): ${each.help}; ${each.nodes.length} times, at ${each.nodes[0].html}`))"""
    )
    return found


def readme(browser: Browser, page: Path | str, folder: Path) -> None:
    """Writes the first screen of the report, light and dark, at the width of a README; its text, with which
    tests/pages/report compares a build; and the table of the explorer beside it.
    """
    for name, dark in (("light", False), ("dark", True)):
        browser.size(820, 690, dark, scale=1.5)
        browser.visit(page)
        browser.screenshot(folder / f"report-{name}.webp")
    (folder / "report.txt").write_text(browser.run(FIRST_SCREEN) + "\n", encoding="utf-8")
    browser.size(820, 620, scale=1.5)
    browser.visit(f"{Path(page).resolve().parent.as_uri()}/explorer/table.html#relation=head+of+government")
    browser.run("new Promise(done => setTimeout(done, 1000))")
    browser.screenshot(folder / "explorer.webp")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("pages", nargs="+", type=address, metavar="FILE|ADDRESS")
    options.add_argument("--axe", type=Path, metavar="AXE.MIN.JS", help="check the pages by axe-core")
    options.add_argument("--readme", action="store_true", help="the images of the README and the gallery")
    options.add_argument("-o", "--output", type=Path, metavar="FOLDER", help="where the images are written")
    given = options.parse_args()
    if bool(given.axe) == bool(given.output):
        options.error("give either --output, for images, or --axe, for checks")
    with Browser.open() as browser:
        if given.axe:
            axe = given.axe.read_text(encoding="utf-8")
            raise SystemExit(sum(check(browser, page, axe) for page in given.pages) > 0)
        given.output.mkdir(parents=True, exist_ok=True)
        for page in given.pages:
            (readme if given.readme else whole_pages)(browser, page, given.output)
        print(*browser.said, sep="\n", end="\n" * bool(browser.said))


if __name__ == "__main__":
    main()
