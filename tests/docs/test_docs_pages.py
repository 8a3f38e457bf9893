"""The pages: lines that fit a screen, links that lead somewhere, every page reachable from the entrance."""

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

from support.workflow import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "results/README.md")]
WIDEST = 100
LINK = re.compile(r"\]\(([^)#\s]+)")


def prose(page: Path) -> Iterator[tuple[int, str]]:
    """The numbered lines outside tables, code blocks and headings, whose width is free."""
    code = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.lstrip().startswith(("|", "#", "<!--")):
            yield number, line


def test_lines_are_at_most_100_characters() -> None:
    # A line of one word, such as a link, cannot be broken.
    wide = [
        f"{page.relative_to(ROOT)}, line {number}"
        for page in PAGES
        for number, line in prose(page)
        if len(line) > WIDEST and len(line.split()) > 2
    ]
    assert not wide


def test_links_lead_somewhere() -> None:
    texts = [(page, page.read_text(encoding="utf-8")) for page in (*PAGES, *OTHERS)]
    for notebook in (ROOT / "docs/notebooks").glob("*.ipynb"):
        cells = json.loads(notebook.read_text("utf-8"))["cells"]
        texts += [(notebook, "".join(each["source"])) for each in cells if each["cell_type"] != "code"]
    assert [
        f"{page.relative_to(ROOT)}: {target}"
        for page, text in texts
        for target in LINK.findall(text)
        if not target.startswith("https://") and not (page.parent / target).exists()
    ] == []


def test_every_page_is_reachable_from_the_entrance() -> None:
    entrance = ROOT / "docs" / "README.md"
    named = {(entrance.parent / target).resolve() for target in LINK.findall(entrance.read_text("utf-8"))}
    assert set((ROOT / "docs").glob("*.md")) - {entrance} <= named


def test_readme_and_changelog_are_read_in_a_minute() -> None:
    for name, most in (("README.md", 120), ("CHANGELOG.md", 100)):
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


def test_each_fault_has_its_tests() -> None:
    page = (ROOT / "docs" / "faults.md").read_text("utf-8").splitlines()
    faults = [row.split(" | ")[0].removeprefix("| ") for row in page if row.startswith("| ")]
    with (ROOT / "tests" / "faults.tsv").open(encoding="utf-8", newline="") as lines:
        tests = {row["fault"]: row["tests"].split() for row in csv.DictReader(lines, delimiter="\t")}
    assert [fault for fault in faults if fault != "fault"] == list(tests)
    assert all(tests.values())
    for path, test in (name.split("::") for named in tests.values() for name in named):
        assert f"def {test}(" in (ROOT / path).read_text("utf-8"), f"{path}::{test}"
