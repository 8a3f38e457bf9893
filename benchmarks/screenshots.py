"""Screenshots of the page about a build, or of the explorer's, at the widths of a phone and of a desk.

    python benchmarks/screenshots.py results/report.html /tmp/screenshots
    python benchmarks/screenshots.py results/explorer/Q30.html /tmp/screenshots
    python benchmarks/screenshots.py http://127.0.0.1:8765/Q30 /tmp/screenshots
    python benchmarks/screenshots.py results/report.html docs/figures --readme

The first three make four images of a whole page to look at, light and dark; the last the two images of the
README.
"""

import argparse
from pathlib import Path

from browser import Browser

SIZES = {"phone": (390, 844), "desk": (1280, 900)}


def address(text: str) -> Path | str:
    """A page by its file, or by its address."""
    return text if text.startswith("http://") else Path(text)


def whole_pages(browser: Browser, page: Path | str, folder: Path) -> None:
    """Writes the whole page in each size and colour scheme, as PNG."""
    stem = Path(page).stem
    for name, (width, height) in SIZES.items():
        for dark in (False, True):
            browser.size(width, height, dark)
            browser.visit(page)
            browser.screenshot(folder / f"{stem}-{name}{'-dark' * dark}.png", whole=True, kind="png")


def readme(browser: Browser, page: Path | str, folder: Path) -> None:
    """Writes the beginning of the page on a desk, and its scenarios on a phone in the dark."""
    browser.size(1280, 1000)
    browser.visit(page)
    browser.screenshot(folder / "report-desk.webp")
    browser.size(390, 800, dark=True, scale=1.5)
    browser.visit(page)
    browser.run("document.querySelector('#scenarios').scrollIntoView()")
    browser.screenshot(folder / "report-phone.webp")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("page", type=address, metavar="FILE|ADDRESS")
    options.add_argument("folder", type=Path)
    options.add_argument("--readme", action="store_true", help="the two images of the README")
    given = options.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    with Browser.open() as browser:
        (readme if given.readme else whole_pages)(browser, given.page, given.folder)
        for line in browser.said:
            print(line)


if __name__ == "__main__":
    main()
