"""The checks of an update against two small dumps: what is right passes, and each fault fails its kind."""

import copy
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.audit_dumps import NEW, OLD, UPDATE, dumps, entity, item, snak, statement, time

from factdrift.audit.kinds import DECLARED, FAILED, PASSED, UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_neighbours import Nearby, check_neighbours
from factdrift.audit.of_rules import Groups, missing
from factdrift.audit.of_tables import Shared
from factdrift.audit.of_updates import Finding, check_update
from factdrift.audit.sentences import Templates, misread, prompts

Row = dict[str, Any]


@pytest.fixture
def update() -> Row:
    """A right update of two small dumps."""
    return copy.deepcopy(UPDATE)


def findings(row: Row, folder: Path, old: list[Row] = OLD, new: list[Row] = NEW) -> Iterator[Finding]:
    """Those about an update; the whole dataset is this row."""
    columns = ("subject", "relation", "update_prompt", "generalization_prompts")
    pq.write_table(pa.Table.from_pylist([{name: row[name] for name in columns}]), folder / "data.parquet")
    given = dumps(folder, copy.deepcopy(old), copy.deepcopy(new))
    yield from check_update(row, given, Shared(folder / "data.parquet"))
    yield from check_neighbours(row, given, Nearby(None, {}, (500, 10, 10)))


def found(row: Row, folder: Path, **dumps: Any) -> dict[str, set[str]]:
    """Kind -> outcomes of an update."""
    outcomes: dict[str, set[str]] = {}
    for kind, outcome, _ in findings(row, folder, **dumps):
        outcomes.setdefault(kind, set()).add(outcome)
    return outcomes


def failed(row: Row, folder: Path, **dumps: Any) -> set[str]:
    return {kind for kind, outcomes in found(row, folder, **dumps).items() if FAILED in outcomes}


def test_the_reason_names_the_qualifier_or_reference(update: Row, tmp_path: Path) -> None:
    for name, place in (("Q36578", "qualifier P1366"), ("Q5375741", "reference P248")):
        update["objects"][0].update(id=name, raw=name)
        assert any(place in reason for kind, _, reason in findings(update, tmp_path) if kind == "main_snak")


def test_the_build_says_how_many_templates_of_a_relation_it_uses(update: Row) -> None:
    update.update(template_source="bundled", generalization_prompts=[])
    reasons = {most: " ".join(prompts(update, Templates(True, most))) for most in (1, 5)}
    assert "1 prompts, as many as the relation has no templates" in reasons[5]
    assert "1 prompts" not in reasons[1]


def with_claims(*statements: Row) -> list[Row]:
    return [entity("Q1", "Atlantis", *statements, revision=9), *NEW[1:]]


def test_what_still_holds_is_not_gone(update: Row, tmp_path: Path) -> None:
    value = update["objects"][0]
    value.update(new_statement=None, new_revision=None, end=None, rule="replaced")
    current = statement("Q1$B", "P6", item("Q12"), P580=time("2022-03-01"))
    update["objects"][1]["start"] = "2022-03-01"
    for other, wanted in (
        *(({"P582": end}, set()) for end in ("somevalue", time("2022-00-00", 9))),
        *(({"P582": end}, {"gone", "single"}) for end in ("novalue", time("2031-01-01"))),
        ({"P580": time("2016-05-01")}, {"gone", "single"}),
    ):
        new = with_claims(statement("Q1$D", "P6", item("Q11"), **other), current)
        assert failed(update, tmp_path, new=new) == wanted
    # Another statement has the preferred rank; the old one was withdrawn.
    preferred = {**current, "rank": "preferred"}
    new = with_claims(statement("Q1$D", "P6", item("Q11")), preferred)
    assert failed(update, tmp_path, new=new) == set()
    new = with_claims(statement("Q1$D", "P6", item("Q11"), "deprecated"), current)
    assert failed(update, tmp_path, new=new) == set()
    # The latest measurement holds until a later one is made; two of one day are both the latest.
    update["objects"][1].update(start=None, point_in_time="2022-03-01")
    measured = statement("Q1$B", "P6", item("Q12"), P585=time("2022-03-01"))
    for day, wanted in (("2021-05-01", False), ("2022-03-01", True), ("2022-04-01", True)):
        other = statement("Q1$D", "P6", item("Q11"), P585=time(day), P582="somevalue")
        assert ("gone" in failed(update, tmp_path, new=with_claims(other, measured))) == wanted


def test_a_merged_object_is_not_gone_and_a_merged_subject_has_no_statements(update, tmp_path):
    assert failed(update, tmp_path, new=[each for each in NEW if each["id"] != "Q11"]) == {"gone"}
    assert "statement" in failed(update, tmp_path, new=NEW[1:])


def test_what_held_before_is_not_new(update: Row, tmp_path: Path) -> None:
    old = copy.deepcopy(OLD)
    old[0]["claims"]["P6"].append(statement("Q1$B", "P6", item("Q12"), P580=time("2019-01-01")))
    assert failed(update, tmp_path, old=old) == {"new"}
    # What ended before, and what was announced, may be new.
    old[0]["claims"]["P6"][1] = statement("Q1$B", "P6", item("Q12"), P582=time("2019-01-01"))
    assert failed(update, tmp_path, old=old) == set()


def test_a_new_value_needs_a_date_between_the_dumps_or_a_new_entity(update: Row, tmp_path: Path) -> None:
    new = with_claims(*NEW[0]["claims"]["P6"][:1], statement("Q1$B", "P6", item("Q12"), "preferred"))
    update["objects"][1]["start"] = None
    assert failed(update, tmp_path, new=new) == {"new"}
    born = statement("Q12$A", "P571", time("2021-06-01"))
    new = [*new[:2], entity("Q12", "Zoë", born), new[3]]
    assert failed(update, tmp_path, new=new) == set()
    # A day of the year of T_old may be after it; the year before is not.
    for year, kinds in (("2021", set()), ("2020", {"new"})):
        born = statement("Q12$A", "P571", time(f"{year}-00-00", 9))
        assert failed(update, tmp_path, new=[*new[:2], entity("Q12", "Zoë", born), new[3]]) == kinds


def test_static_values_hold_on_both_dates(update: Row, tmp_path: Path) -> None:
    value = update["objects"][0]
    value.update(decision="static", rule="still_holds")
    update["is_replace"] = False
    assert failed(update, tmp_path) == {"static"}
    began = statement("Q1$A", "P6", item("Q11"), P580=time("2021-05-01"), P582=time("2025-01-01"))
    value.update(start="2021-05-01", end="2025-01-01")
    new = with_claims(began, *NEW[0]["claims"]["P6"][1:])
    assert failed(update, tmp_path, new=new) == {"static"}
    value["rule"] = "end_after"
    assert found(update, tmp_path, new=new)["static"] == {DECLARED}
    # Of several starts the earliest says whether it held before.
    value.update(rule="still_holds", start="2019-05-01")
    began["qualifiers"]["P580"].append(snak("P580", time("2019-05-01")))
    assert found(update, tmp_path, new=new)["static"] == {PASSED}


def test_several_values_are_no_single_answer(update: Row, tmp_path: Path) -> None:
    third = statement("Q1$C", "P6", item("Q11"), "preferred", P580=time("2022-04-01"))
    new = with_claims(*NEW[0]["claims"]["P6"], third)
    assert failed(update, tmp_path, new=new) == {"gone", "single"}
    other = statement("Q1$C", "P6", item("Q13"), "preferred", P580=time("2022-04-01"))
    assert failed(update, tmp_path, new=with_claims(*NEW[0]["claims"]["P6"], other)) == {"single"}
    # A qualifier that the answer lacks limits it; a lower rank does not count.
    other["qualifiers"]["P518"] = [{"snaktype": "somevalue", "property": "P518"}]
    assert failed(update, tmp_path, new=with_claims(*NEW[0]["claims"]["P6"], other)) == set()
    lower = statement("Q1$C", "P6", item("Q13"), P580=time("2022-04-01"))
    assert failed(update, tmp_path, new=with_claims(*NEW[0]["claims"]["P6"], lower)) == set()


def test_a_declared_leak_is_no_failure(update: Row, tmp_path: Path) -> None:
    update["update_prompt"] = "Zoë is the head of Atlantis, which is governed by ____"
    update["objects"][1]["leaks"] = True
    assert found(update, tmp_path)["leak"] == {DECLARED}


METRE, DOLLAR = (Entity(each, None) for each in (entity("Q11573", "metre"), entity("Q4917", "dollar")))
METRE.symbols, DOLLAR.symbols = set(), {"$"}
UNITS = {"Q11573": METRE, "Q4917": DOLLAR}
WIKIDATA = "http://www.wikidata.org/entity/"
METRES, DOLLARS, PERCENT = ({"unit": f"{WIKIDATA}{name}"} for name in ("Q11573", "Q4917", "Q11229"))


@pytest.mark.parametrize(
    ("raw", "stated", "good", "bad"),
    [
        ("+125440000.0", METRES, "125,440,000 metres", ["125,440 metres", "125,440,000", "125440000 metres"]),
        ("-3.50", DOLLARS, "-$3.5", ["$3.5", "-$3.55", "-€3.5", "-3.5", "-$3.5 metres"]),
        ("+7", {"unit": "1"}, "7", ["7 metres", "8", "-7", "17"]),
        ("+7", PERCENT, "7%", ["7 metres", "7"]),
        ("", time("2022-05-08")["value"], "May 8, 2022", ["May 8, 2023", "2022", "May 9, 2022"]),
        ("", time("2022-09-00", 10)["value"], "September 2022", ["October 2022", "2022"]),
        ("", time("2022-09-08", 9)["value"], "2022", ["September 8, 2022", "2021"]),
    ],
)
def test_labels_of_literals(raw: str, stated: Row, good: str, bad: list[str]) -> None:
    value = {"datatype": "quantity", "raw": raw, "short": None}
    if "time" in stated:
        value |= {"datatype": "time", "raw": stated["time"]}
    assert misread(value | {"label": good}, stated, False, UNITS) is None
    for label in bad:
        assert misread(value | {"label": label}, stated, False, UNITS) is not None


def test_a_group_is_missing_if_it_is_due_decided_drawn_and_has_no_row() -> None:
    keys = [(f"Q{number}", "P6") for number in range(8)]
    open_, drawn, rows = ({key for number, key in enumerate(keys) if number >> bit & 1} for bit in range(3))
    triple = SimpleNamespace(label="new", rule="began_inside")
    groups = Groups({key: [triple] for key in keys}, {}, open_)  # type: ignore[list-item]
    for narrowed, outcome in ((False, FAILED), (True, UNCHECKED)):
        due = [key for key in keys if key in drawn and key not in open_]
        given = missing(groups, {name for name, _ in drawn}, rows, narrowed)
        assert {key: each for key, (_, each, _) in given} == {
            key: PASSED if key in rows else outcome for key in due
        }
