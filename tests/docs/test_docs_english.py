"""The English of the pages: none of the habits in the table of CONTRIBUTING.md."""

import re

import yaml
from support.workflow import ROOT

EXAMPLES = re.compile(r"^\| ([^|]+) \| [^|]+ \| \"([^|]+)\" \| \"([^|]+)\" \|$", re.M)
"""Rows of the table: the habit, what to write, an example to avoid and the same in better words."""

LONGEST = 45
"""Words between two of . ! ? : ;"""

PATTERNS = {
    "*what* for a noun": r"\b(from|beside|than|without|into) what (is|was|are|has|have)\b",
    "*which* in *which*": r", which [^.;|]*, which\b",
    "a verb without its object": r"\b(is|are|was|were|be) told\b(?! (that|to|by|how))(?<!can be told)",
    "pronouns of pronouns": r"\bof each of (these|those|them)\b",
    "words of another time": r"\b(whence|wherein|thereof|be (it|they) [a-z]+ or|but for|in the place of)\b",
    "*so many*": r"\bso many\b(?! \w+s\b)",
    "*passed over*": r"\bpass(es|ed)? over (the|a|bad|lines|rows|it|them)\b|\b(is|are) passed over\b",
    "*mend*": r"(?<![/,] )(?<!/)\bmend(s|ed|ing)?\b(?!,)",
    "a passive without an agent": r"\b[Nn]othing is (asked|told|sent|written|built|loaded|removed)\b",
}


def prose(text: str) -> str:
    """A page without its code, comments and rows of the table of habits."""
    text = re.sub(r"^ *```.*?^ *```|<!--.*?-->", "", text, flags=re.S | re.M)
    return EXAMPLES.sub("", re.sub(r"`[^`]*`", "`x`", text))


def descriptions(node: object) -> list[str]:
    """What the schema of the configuration says of its keys."""
    if not isinstance(node, dict):
        return []
    here = [node["description"]] if isinstance(node.get("description"), str) else []
    return here + [text for value in node.values() for text in descriptions(value)]


def long_parts(text: str) -> list[str]:
    """Parts of sentences that are too long, without headings, rows of tables and indented code."""
    running = re.sub(r"^( {4,}|\||#).*$", "", text, flags=re.M)
    blocks = re.split(r"\n\s*\n|\n\s*(?=[-*] |\d+\. )", running)
    parts = [part for block in blocks for part in re.split(r"(?<=[.!?:;])\s+", block)]
    return [part for part in parts if len(part.split()) > LONGEST]


def habits(text: str) -> list[str]:
    """The habits that a text has, each with the words that show it."""
    found = [(name, re.search(pattern, " ".join(text.split()))) for name, pattern in PATTERNS.items()]
    return [f"{name}: {hit[0]}" for name, hit in found if hit] + long_parts(text)


def test_the_patterns_know_the_examples() -> None:
    rows = EXAMPLES.findall((ROOT / "CONTRIBUTING.md").read_text("utf-8"))
    assert [habit for habit, _, _ in rows] == [*PATTERNS, "several ideas in one sentence"]
    assert [bad for _, bad, _ in rows[:-1] if not habits(bad)] == []
    assert [good for _, _, good in rows if habits(good)] == []
    assert [n for n in (LONGEST, LONGEST + 1) if long_parts("word " * n)] == [LONGEST + 1]


def test_no_page_has_a_habit() -> None:
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
    shown = {page.name: habits(prose(page.read_text("utf-8"))) for page in pages}
    schema = yaml.safe_load((ROOT / "config" / "config.schema.yaml").read_text("utf-8"))
    shown["config.schema.yaml"] = [hit for text in descriptions(schema) for hit in habits(prose(text))]
    assert {name: hits for name, hits in shown.items() if hits} == {}
