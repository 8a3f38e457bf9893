"""The pages: links that lead somewhere, every page reachable from the entrance."""

import csv
import json
import re

from support.workflow import ROOT

PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
OTHERS = [ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "results/README.md", "config/README.md")]
LINK = re.compile(r"\]\(([^)#\s]+)")


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
    for name, most in (("README.md", 120), ("CHANGELOG.md", 40)):
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most


def test_each_fault_has_its_tests() -> None:
    with (ROOT / "tests" / "faults.tsv").open(encoding="utf-8", newline="") as lines:
        tests = {row["fault"]: row["tests"].split() for row in csv.DictReader(lines, delimiter="\t")}
    assert all(tests.values())
    for path, test in (name.split("::") for named in tests.values() for name in named):
        assert f"def {test}(" in (ROOT / path).read_text("utf-8"), f"{path}::{test}"
