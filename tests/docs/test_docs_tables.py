"""The data dictionary names every column of every shared table, with its type and in its order."""

import re
from pathlib import Path

import pyarrow as pa
import pytest

from factdrift.audit.account import AUDIT
from factdrift.audit.kinds import KINDS as AUDIT_KINDS
from factdrift.chat.tables import ANSWERS, REQUESTS, STORED
from factdrift.evaluation.locators.table import SCORES as LOCATE_SCORES
from factdrift.evaluation.questions.cutoff import ANSWERS as CUTOFF_ANSWERS
from factdrift.evaluation.questions.stream import STREAM_EDITS
from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.scores.against_edits import VS_EDIT
from factdrift.evaluation.scores.answers import PREDICTIONS as ANSWER_PREDICTIONS
from factdrift.evaluation.scores.answers import SCORES as ANSWER_SCORES
from factdrift.evaluation.scores.clozes import CLOZES as ANSWER_CLOZES
from factdrift.evaluation.scores.cutoff import TABLE as CUTOFF
from factdrift.evaluation.scores.grid import GRID
from factdrift.evaluation.scores.judged import JUDGED
from factdrift.evaluation.scores.metrics import PROBES as EDIT_PROBES
from factdrift.evaluation.scores.metrics import SCORES as EDIT_SCORES
from factdrift.evaluation.scores.ripples import RIPPLE_SCORES
from factdrift.evaluation.scores.stream import INTERVALS, STREAM_SCORES
from factdrift.evaluation.scores.verdicts import WRITTEN_SCORES
from factdrift.evaluation.scores.written import WRITTEN
from factdrift.evaluation.tables import ANSWERS as EVALUATION_ANSWERS
from factdrift.evaluation.tables import MADE, STATES
from factdrift.klob.candidates import CANDIDATES as KLOB_CANDIDATES
from factdrift.klob.candidates import CHAIN_DROPS, FACT_DROPS
from factdrift.klob.facts import DROPS as FACT_STATEMENT_DROPS
from factdrift.klob.facts import FACTS
from factdrift.klob.schemas import EXAMPLES, RECALL, SENTENCES
from factdrift.models.bundled.corpus import SENTENCES as MODEL_SENTENCES
from factdrift.models.bundled.taught import TAUGHT
from factdrift.neighbors.facts import NEIGHBORS
from factdrift.pages.compare.differences import CHANGES, DIFFERENCES
from factdrift.publish.flat import FLAT
from factdrift.ripples.tables import DROPPED as RIPPLE_DROPPED
from factdrift.ripples.tables import PROBES as RIPPLES
from factdrift.ripples.tables import REASONS as RIPPLE_REASONS
from factdrift.snapshots.api.entities import FETCHED
from factdrift.statements.gather import CLASSES
from factdrift.streams.assemble import STREAM
from factdrift.streams.schemas import ASOF
from factdrift.streams.stated import TIMELINES
from factdrift.tempripple import immutability, timelines
from factdrift.tempripple.rows import ROWS
from factdrift.tempripple.schemas import TR_DROPPED, TR_FACTS, TR_ITEMS, TR_RELATED
from factdrift.tempripple.sources import DATE
from factdrift.updates.after_rules import DROPS
from factdrift.updates.classify import UPDATES
from factdrift.updates.difference import TRIPLES
from factdrift.updates.filters import FILTERS
from factdrift.updates.kept import KEPT
from factdrift.updates.untouched import UNTOUCHED
from factdrift.verbalize.answers import KINDS, UNUSED
from factdrift.verbalize.candidates import CANDIDATES, RULES
from factdrift.verbalize.filters import REASONS
from factdrift.verbalize.literals import LITERALS
from factdrift.verbalize.sample import SAMPLE
from factdrift.verbalize.sentences import REPORT, STEPS, VERBALIZATIONS
from factdrift.verbalize.templates import TEMPLATES
from factdrift.wikidata.pageviews import VIEWS
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS, TIME, TRANSLATIONS

TABLES = Path(__file__).parents[2] / "docs" / "tables"
SCHEMAS = {
    "fetched": FETCHED,
    "statements": STATEMENTS,
    "entities": ENTITIES,
    "properties": PROPERTIES,
    "translations": TRANSLATIONS,
    "classes": CLASSES,
    "kept": KEPT,
    "triples": TRIPLES,
    "updates": UPDATES,
    "untouched": UNTOUCHED,
    "neighbors": NEIGHBORS,
    "templates": TEMPLATES,
    "literals": LITERALS,
    "ripples": RIPPLES,
    "ripple_dropped": RIPPLE_DROPPED,
    "pageviews": VIEWS,
    "klob_facts": FACTS,
    "klob_candidates": KLOB_CANDIDATES,
    "klob_recall": RECALL,
    "klob_sentences": SENTENCES,
    "klob_examples": EXAMPLES,
    "model_sentences": MODEL_SENTENCES,
    "answer_clozes": ANSWER_CLOZES,
    "model_taught": TAUGHT,
    "sampled_triples": SAMPLE,
    "verbalizations": VERBALIZATIONS,
    "verbalization_report": REPORT,
    "candidates": CANDIDATES,
    "requests": REQUESTS,
    "answers": ANSWERS,
    "stored_answers": STORED,
    "tempripple_rows": ROWS,
    "stream": STREAM,
    "timelines": TIMELINES,
    "asof": pa.schema([field for field in ASOF if field.name not in TR_ITEMS.names]),
    "tr_facts": TR_FACTS,
    "tr_related": TR_RELATED,
    "tr_items": TR_ITEMS,
    "tr_dropped": TR_DROPPED,
    "edits": EDITS,
    "edit_probes": EDIT_PROBES,
    "edit_scores": EDIT_SCORES,
    "stream_edits": STREAM_EDITS,
    "evaluation_answers": EVALUATION_ANSWERS,
    "evaluation_edits": MADE,
    "evaluation_states": STATES,
    "stream_intervals": INTERVALS,
    "stream_scores": STREAM_SCORES,
    "locate_scores": LOCATE_SCORES,
    "locate_vs_edit": VS_EDIT,
    "answer_predictions": ANSWER_PREDICTIONS,
    "answer_scores": ANSWER_SCORES,
    "answer_grid": GRID,
    "judged": JUDGED,
    "written_scores": WRITTEN_SCORES,
    "edit_written": WRITTEN,
    "cutoff": CUTOFF,
    "cutoff_answers": CUTOFF_ANSWERS,
    "ripple_scores": RIPPLE_SCORES,
    "flat_updates": FLAT,
    "audit": AUDIT,
    "differences": DIFFERENCES,
}


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
        if row[0] in ("step", "filter", "value", "flag", "reason"):
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


@pytest.mark.parametrize("page", SCHEMAS)
def test_every_column_with_its_type(page: str) -> None:
    wanted = {field.name: typed(field.type) for field in SCHEMAS[page]}
    if page == "updates":
        assert columns(page) == wanted
    else:
        assert list(columns(page).items()) == list(wanted.items())


def test_kinds_of_the_audit_and_of_differences_are_explained() -> None:
    explained = rows("../audit")
    for kind, each in AUDIT_KINDS.items():
        mark = "yes" if each.role else ""
        assert [f"`{kind}`", ", ".join(each.datasets), mark, each.description] in explained
    explained = rows("../diff-builds")
    assert all([f"`{change}`", meaning] in explained for change, meaning in CHANGES.items())


def test_filters_and_steps_are_explained() -> None:
    assert [row[0].strip("`") for row in rows("filtered") if row[0].strip("`") in FILTERS] == list(FILTERS)
    assert [row[0].strip("`") for row in rows("updates") if row[0].strip("`") in DROPS] == list(DROPS)


def test_reasons_of_ripples_are_explained() -> None:
    explained = rows("ripple_dropped")
    assert all([f"`{reason}`", meaning] in explained for reason, meaning in RIPPLE_REASONS.items())


def test_reasons_of_klob_are_explained() -> None:
    reasons = {row[0].strip("`") for row in rows("klob_candidates")}
    assert {*FACT_DROPS, *CHAIN_DROPS} <= reasons
    (dropped,) = (row for row in rows("klob_facts") if row[0] == "`dropped_by`")
    assert set(FACT_STATEMENT_DROPS) <= set(re.findall(r"`(\w+)`", " ".join(dropped)))


def test_answers_and_reasons_against_sentences_are_explained() -> None:
    values = [row[0].strip("`") for row in rows("verbalizations")]
    start = values.index("value") + 2
    assert values[start : start + len(KINDS)] == list(KINDS)
    assert values[start + len(KINDS) + 2 :] == ["duplicate", *REASONS]
    assert STEPS[1:] == (*UNUSED, "wrong_count", "duplicate", *REASONS)
    assert rows("candidates")[-5][0] == ", ".join(f"`{rule}`" for rule in RULES)


def test_reasons_of_tempripple_are_explained() -> None:
    explained = {reason for row in rows("tr_dropped") for reason in re.findall(r"`(\w+)`", row[0])}
    elsewhere = {"no_type", "no_label", "wrong_type", "leak", "cycle", "cap"}
    assert {*timelines.REASONS, *immutability.REASONS, *elsewhere} <= explained


def test_every_page_is_in_the_index() -> None:
    index = (TABLES / "README.md").read_text(encoding="utf-8")
    pages = sorted(path.name for path in TABLES.glob("*.md") if path.name != "README.md")
    assert sorted(set(re.findall(r"\]\((\w+\.md)\)", index))) == pages
