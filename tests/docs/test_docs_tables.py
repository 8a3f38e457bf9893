"""The data dictionary names every column of every shared table, with its type and in its order."""

import importlib
import re
from pathlib import Path

import pyarrow as pa

from factdrift.audit.kinds import DATASETS as AUDITED
from factdrift.klob.facts import CHAIN_DROPS, FACT_DROPS
from factdrift.klob.facts import DROPS as FACT_STATEMENT_DROPS
from factdrift.pages.compare import CHANGES
from factdrift.ripples.tables import REASONS as RIPPLE_REASONS
from factdrift.tempripple.schemas import TR_ITEMS
from factdrift.tempripple.sources import DATE
from factdrift.updates.rules import DROPS
from factdrift.verbalize.candidates import RULES
from factdrift.verbalize.sentences import KINDS, REASONS, STEPS, UNUSED
from factdrift.wikidata.filters import read_filters
from factdrift.wikidata.tables import TIME

TABLES = Path(__file__).parents[2] / "docs" / "tables"


def rows(page: str) -> list[list[str]]:
    """The cells of each row of each table of a page."""
    lines = (TABLES / f"{page}.md").read_text(encoding="utf-8").splitlines()
    return [re.split(r" \| ", line.strip("| ")) for line in lines if line.startswith("|")]


def columns(page: str) -> dict[str, str]:
    """Column -> type, from the page's table of columns."""
    cells = rows(page)
    assert cells[0] == ["column", "type", "unit", "meaning", "source"]
    found = {}
    for row in cells[2:]:
        if row[0] in ("step", "filter", "value", "flag", "reason", "field"):
            break
        found.update(dict.fromkeys(re.findall(r"`(\w+)`", row[0]), row[1]))
    return found


def typed(kind: pa.DataType) -> str:
    if kind == TIME:
        return "TIME"
    if kind == pa.list_(TIME):
        return "list<TIME>"
    if kind == pa.list_(DATE):
        return "list<DATE>"
    return re.sub(r"(element|item): ", "", str(kind))


OTHERS = {"accounts", "context", "filtered", "new_entities", "popularity", "preprocess_report"}
OTHERS |= {"ripple_facts", "wikifactdiff"}
"""Pages about what a query or the dataset's own nesting defines, with tests of their own."""


def schema_of(page: str) -> pa.Schema:
    """The schema that a page names on its last line, without columns that another page explains."""
    named = re.search(r"<!-- schema: (.+)\.(\w+) -->\n$", (TABLES / f"{page}.md").read_text("utf-8"))
    assert named is not None, f"docs/tables/{page}.md: end it with <!-- schema: module.NAME -->"
    schema = getattr(importlib.import_module(f"factdrift.{named[1]}"), named[2])
    elsewhere = TR_ITEMS.names if page == "asof" else ()
    return pa.schema([field for field in schema if field.name not in elsewhere])


def test_every_column_with_its_type() -> None:
    for page in sorted({path.stem for path in TABLES.glob("*.md")} - OTHERS - {"README"}):
        wanted = {field.name: typed(field.type) for field in schema_of(page)}
        found = columns(page)
        assert found == wanted, page
        assert page == "updates" or list(found) == list(wanted), page


def named(page: str) -> list[str]:
    """The first cell of each row of a page."""
    return [row[0].strip("`") for row in rows(page)]


def test_meanings_are_those_of_the_code() -> None:
    assert [change for change in CHANGES if change not in named("../diff-builds")] == []
    explained = rows("ripple_dropped")
    assert [name for name, text in RIPPLE_REASONS.items() if [f"`{name}`", text] not in explained] == []
    numbered = [[f"`{each.name}`", str(each.number or ""), each.meaning] for each in read_filters()]
    table = rows("filtered")
    assert table[table.index(["filter", "number", "drops"]) + 2 :] == numbered
    (dataset,) = (row for row in rows("audit") if row[0] == "`dataset`")
    assert set(re.findall(r"`(\w+)`", " ".join(dataset[1:]))) == set(AUDITED)


def test_filters_steps_answers_and_reasons_are_explained() -> None:
    assert [name for name in named("updates") if name in DROPS] == list(DROPS)
    assert {*FACT_DROPS, *CHAIN_DROPS} <= set(named("klob_candidates"))
    (dropped,) = (row for row in rows("klob_facts") if row[0] == "`dropped_by`")
    assert set(FACT_STATEMENT_DROPS) <= set(re.findall(r"`(\w+)`", " ".join(dropped)))
    values = named("verbalizations")
    start = values.index("value") + 2
    assert values[start : start + len(KINDS)] == list(KINDS)
    assert values[start + len(KINDS) + 2 :] == ["duplicate", *REASONS]
    assert STEPS[1:] == (*UNUSED, "wrong_count", "duplicate", *REASONS)
    assert rows("candidates")[-5][0] == ", ".join(f"`{rule}`" for rule in RULES)


def test_every_page_is_in_the_index() -> None:
    index = (TABLES / "README.md").read_text(encoding="utf-8")
    pages = sorted(path.name for path in TABLES.glob("*.md") if path.name != "README.md")
    assert sorted(set(re.findall(r"\]\((\w+\.md)\)", index))) == pages
