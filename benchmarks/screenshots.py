"""Screenshots of the page about a build, or of the explorer's, at three widths, and checks by axe-core.

    python benchmarks/screenshots.py results/report.html /tmp/screenshots
    python benchmarks/screenshots.py results/explorer/Q30.html /tmp/screenshots
    python benchmarks/screenshots.py http://127.0.0.1:8765/Q30 /tmp/screenshots
    python benchmarks/screenshots.py results/report.html /tmp/screenshots --axe axe.min.js
    python benchmarks/screenshots.py results/report.html docs/figures --readme

The first three make seven images of a whole page to look at: light, dark, and printed. The fourth also runs
axe-core (`npm pack axe-core`, then `tar xf axe-core-*.tgz package/axe.min.js`), prints what it finds in each,
and ends with status 1 if it finds anything. The last makes the images of the README and the gallery.
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


def whole_pages(browser: Browser, page: Path | str, folder: Path, axe: str) -> int:
    """Writes the whole page in each size and colour scheme, and printed, as PNG; returns axe's findings."""
    stem, found = Path(page).stem, 0
    shots = [
        (f"{name}{'-dark' * dark}", size, dark) for name, size in SIZES.items() for dark in (False, True)
    ]
    for name, size, dark in [*shots, ("print", PAPER, False)]:
        browser.size(*size, dark, media="print" if name == "print" else "screen")
        browser.visit(page)
        browser.screenshot(folder / f"{stem}-{name}.png", whole=True, kind="png")
        if axe and name != "print":
            for line in violations(browser, axe):
                print(f"{stem}, {name}: {line}")
                found += 1
    return found


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
    options.add_argument("page", type=address, metavar="FILE|ADDRESS")
    options.add_argument("folder", type=Path)
    options.add_argument("--readme", action="store_true", help="the images of the README and the gallery")
    options.add_argument("--axe", type=Path, metavar="AXE.MIN.JS", help="check the page by axe-core, too")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with Browser.open() as browser:
        if given.readme:
            readme(browser, given.page, given.folder)
            return
        axe = given.axe.read_text(encoding="utf-8") if given.axe else ""
        found = whole_pages(browser, given.page, given.folder, axe)
        print(*browser.said, sep="\n", end="\n" * bool(browser.said))
        raise SystemExit(found > 0)


if __name__ == "__main__":
    main()
