"""The pages: lines that fit a screen, links that lead somewhere, every page reachable from the entrance."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
WIDEST = 100


def prose(page: Path) -> list[tuple[int, str]]:
    """The numbered lines outside tables, code blocks and headings, whose width is free."""
    found, code = [], False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), start=1):
        if line.lstrip().startswith("```"):
            code = not code
        elif not code and not line.lstrip().startswith(("|", "#", "<!--")):
            found.append((number, line))
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_are_at_most_100_characters(page: Path):
    # A line of one word, such as a link, cannot be broken.
    wide = [number for number, line in prose(page) if len(line) > WIDEST and len(line.split()) > 2]
    assert not wide, f"{page.relative_to(ROOT)}: lines {wide}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (page.parent / target).exists(), target


def test_every_page_is_reachable_from_the_entrance():
    entrance = ROOT / "docs" / "README.md"
    named = {
        (entrance.parent / target).resolve() for target in re.findall(r"\]\(([^)#]+)", entrance.read_text())
    }
    assert set((ROOT / "docs").glob("*.md")) - {entrance} <= named


def test_readme_and_changelog_are_read_in_a_minute():
    for name, most in (("README.md", 120), ("CHANGELOG.md", 100)):
        assert len((ROOT / name).read_text(encoding="utf-8").splitlines()) <= most
