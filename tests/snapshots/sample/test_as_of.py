"""What stands on a day: every column of the tables, and random facts against a plain reading of the rules."""

import datetime
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from factdrift.snapshots.sample.model import entity_lines
from factdrift.snapshots.sample.tables import read_sample

from ..conftest import Render, write_sample

FACT = {"subject": "Q1", "property": "P6", "value": "Q2"}


def statements(entities: dict[str, dict[str, Any]], subject: str = "Q1") -> list[dict[str, Any]]:
    claims = entities[subject]["claims"]
    return [statement for group in claims.values() for statement in group] if claims else []


def short(statement: dict[str, Any]) -> str:
    """`Q2 preferred P580=2001 P582` for a statement, dates to the year."""
    value = statement["mainsnak"].get("datavalue", {}).get("value", {})
    words = [value.get("id") or value.get("amount") or statement["mainsnak"]["snaktype"], statement["rank"]]
    for name in statement.get("qualifiers-order", ()):
        for snak in statement["qualifiers"][name]:
            date = snak.get("datavalue", {}).get("value", {})
            words.append(f"{name}={date.get('time', '')[1:5] or date.get('id') or snak['snaktype']}")
    return " ".join(words)


def standing(render: Render, day: int, *facts: dict[str, str], **tables: Any) -> list[str]:
    return [short(statement) for statement in statements(render(day, facts, **tables))]


def test_an_item_stands_from_its_creation_to_its_deletion(render):
    item = {"id": "Q1", "created": "2015-06-01", "deleted": "2018-06-01"}
    for day, stands in [(20150531, False), (20150601, True), (20180531, True), (20180601, False)]:
        assert ("Q1" in render(day, entities=[item])) is stands
    assert "Q2" in render(20121029)


def test_a_merged_item_disappears_and_references_name_the_target(render):
    items = [{"id": "Q2", "merged": "2018-01-01>Q3"}, {"id": "Q3", "merged": "2019-01-01>Q4"}]
    fact = FACT | {"qualifiers": "P39=Q2"}
    amount = {"subject": "Q1", "property": "P1082", "value": "+7 Q2"}
    for day, there, name in [(20171231, True, "Q2"), (20180101, False, "Q3"), (20190101, False, "Q4")]:
        entities = render(day, [fact, amount], items)
        assert ("Q2" in entities) is there
        first, second = statements(entities)
        assert short(first) == f"{name} normal P39={name}"
        assert second["mainsnak"]["datavalue"]["value"]["unit"].endswith(f"/{name}")


def test_the_article_comes_with_the_item_or_on_its_own_day(render):
    def sites(day: int, **columns: str) -> list[str]:
        return list(render(day, entities=[{"id": "Q1", **columns}])["Q1"]["sitelinks"])

    item = {"title": "Item", "sitelinks": "3", "created": "2015-01-01"}
    assert sites(20150101, **item) == ["enwiki", "frwiki", "dewiki"]
    assert sites(20200504, **item, article="2020-05-05") == ["frwiki", "dewiki"]
    assert sites(20200505, **item, article="2020-05-05") == ["enwiki", "frwiki", "dewiki"]
    assert sites(20200101, sitelinks="2") == ["frwiki", "dewiki"]
    assert sites(20200101, title="T") == ["enwiki"]


def test_a_fact_needs_its_object(render):
    items = [{"id": "Q2", "created": "2015-01-01"}]
    assert standing(render, 20141231, FACT, entities=items) == []
    assert standing(render, 20150101, FACT, entities=items) == ["Q2 normal"]
    other = FACT | {"value": "Q3", "qualifiers": "P39=Q2"}
    assert standing(render, 20141231, other, entities=items) == ["Q3 normal"]
    assert standing(render, 20150101, other, entities=items) == ["Q3 normal P39=Q2"]


@pytest.mark.parametrize(
    ("dates", "first"),
    [
        ({"start": "2017|2015-03-04"}, 20150304),
        ({"pit": "2015"}, 20151231),
        ({"pit": "2015-02"}, 20150228),
        ({"start": "somevalue", "pit": "2015-03-04"}, 20150304),
    ],
)
def test_the_first_day_of_a_fact_without_exact_dates(render, dates, first):
    before = datetime.datetime.strptime(str(first), "%Y%m%d") - datetime.timedelta(days=1)
    assert standing(render, int(before.strftime("%Y%m%d")), FACT | dates) == []
    assert len(standing(render, first, FACT | dates)) == 1


def test_old_and_unknown_dates_stand_from_the_beginning(render):
    for start in ("-0044-03-15", "c12", "somevalue", "novalue"):
        assert len(standing(render, 20121029, FACT | {"start": start})) == 1


def test_other_qualifiers_and_several_values(render):
    fact = FACT | {"pit": "2001|2002", "qualifiers": "P39=Q3;P39=Q4;P1535=P6;P39=novalue"}
    (statement,) = statements(render(20200101, [fact]))
    assert statement["qualifiers-order"] == ["P585", "P39", "P1535"]
    assert short(statement) == "Q2 normal P585=2001 P585=2002 P39=Q3 P39=Q4 P39=novalue P1535=P6"


def test_what_begins_again_after_its_end_is_preferred_again(render):
    fact = FACT | {"rank": "current", "start": "2010|2016", "end": "2012"}
    for day, rank in ((20140601, "normal"), (20170601, "preferred")):
        (statement,) = statements(render(day, [fact]))
        assert statement["rank"] == rank


def test_states_of_one_statement(render):
    guid = "Q1$12345678-1234-1234-1234-1234567890AB"
    facts = [
        FACT | {"statement": guid, "removed": "2018-01-01"},
        FACT | {"statement": guid, "value": "Q3", "stated": "2018-01-01"},
    ]
    for day, value in [(20171231, "Q2"), (20180101, "Q3")]:
        (statement,) = statements(render(day, facts))
        assert (short(statement), statement["id"]) == (f"{value} normal", guid)


def test_statement_ids_stay_and_tell_equal_rows_apart(render):
    facts = [
        FACT | {"removed": "2016-01-01"},
        FACT | {"stated": "2018-01-01"},
        FACT | {"start": "2011", "end": "2017"},
    ]
    ids = {day: [s["id"] for s in statements(render(day, facts))] for day in (20150101, 20190101)}
    assert len({*ids[20150101], *ids[20190101]}) == 3
    assert len(set(ids[20150101]) & set(ids[20190101])) == 1
    assert all(name.startswith("Q1$") and len(name) == 39 for name in ids[20190101])


def test_revisions_grow_exactly_when_the_content_changes(render):
    def revisions(*days: int, **tables: Any) -> list[tuple[int, str]]:
        entities = [render(day, **tables)["Q1"] for day in days]
        first = entities[0]["lastrevid"]
        return [(entity["lastrevid"] - first, entity.get("modified", "")[:10]) for entity in entities]

    fact = FACT | {"start": "2022-07-01", "end": "2023-05-01", "rank": "current"}
    begun, ended = (1, "2022-07-01"), (2, "2023-05-01")
    days = (20220630, 20220701, 20230430, 20230501, 20240101)
    assert revisions(*days, facts=[fact]) == [(0, "2012-10-29"), begun, begun, ended, ended]
    # An article, and a redirect of the object.
    items = [
        {"id": "Q1", "title": "T", "created": "2022-06-01", "article": "2022-07-01"},
        {"id": "Q2", "merged": "2022-08-01>Q3"},
    ]
    found = revisions(20220601, 20220701, 20220801, facts=[FACT], entities=items)
    assert found == [(0, "2022-06-01"), (1, "2022-07-01"), (2, "2022-08-01")]


# Random facts against a plain reading

YEARS = st.integers(2012, 2024)
DAYS = st.builds(
    lambda year, month, day: f"{year}-{month:02d}-{day:02d}", YEARS, st.integers(1, 12), st.just(15)
)
MAYBE = st.one_of(st.just(""), DAYS)


@st.composite
def random_fact(draw: st.DrawFn) -> dict[str, str]:
    fact = {key: draw(MAYBE) for key in ("start", "pit", "stated", "removed")}
    fact["property"] = draw(st.sampled_from(["P1082", "P1545"]))
    fact["end"] = draw(st.one_of(MAYBE, st.sampled_from(["somevalue", "novalue"])))
    fact["end_stated"] = draw(MAYBE) if fact["end"] else ""
    fact["rank"] = draw(st.sampled_from(["", "preferred", "deprecated", "current", "latest"]))
    if fact["rank"] == "latest" and not (fact["start"] or fact["pit"]):
        fact["rank"] = ""
    if fact["removed"] <= (fact["stated"] or fact["start"] or fact["pit"]):
        fact["removed"] = ""
    return fact


def expected(facts: list[dict[str, str]], day: str) -> dict[str, tuple[str, bool]]:
    """Rank, and whether the end is told, by value; days compared as text."""
    stands = [
        fact
        for fact in facts
        if (fact["stated"] or fact["start"] or fact["pit"]) <= day
        and not (fact["removed"] and fact["removed"] <= day)
    ]
    latest: dict[str, tuple[str, str]] = {}
    for fact in stands:
        date, property_ = fact["start"] or fact["pit"], fact["property"]
        if fact["rank"] == "latest" and date <= day and date > latest.get(property_, ("",))[0]:
            latest[property_] = (date, fact["value"])
    found = {}
    for fact in stands:
        end = fact["end"]
        told = bool(end)
        if fact["end_stated"]:
            told = fact["end_stated"] <= day
        elif end and end[0].isdigit():
            told = end <= day
        rank = fact["rank"] or "normal"
        if rank == "latest":
            rank = "preferred" if latest.get(fact["property"], ("", ""))[1] == fact["value"] else "normal"
        if rank == "current":
            date = fact["start"] or fact["pit"]
            over = told and (end == "somevalue" or (end[0].isdigit() and end <= day and not date > end))
            rank = "preferred" if date <= day and not over else "normal"
        found[fact["value"]] = (rank, told)
    return found


@settings(max_examples=examples(60))
@given(st.lists(random_fact(), min_size=1, max_size=6), st.lists(DAYS, min_size=1, max_size=4))
def test_random_facts(facts, days):
    facts = [{"subject": "Q1", "value": f"+{number}", **fact} for number, fact in enumerate(facts)]
    with tempfile.TemporaryDirectory() as name:
        sample = read_sample(write_sample(Path(name), facts))
    before = None
    for day in sorted(days):
        entity = json.loads(next(entity_lines(sample, int(day.replace("-", "")))))
        found = {}
        for statement in statements({"Q1": entity}):
            value = statement["mainsnak"]["datavalue"]["value"]
            told = "P582" in statement.get("qualifiers", {})
            found[value if isinstance(value, str) else value["amount"]] = (statement["rank"], told)
        assert found == expected(facts, day)
        said = (entity["claims"] or {}, entity.get("lastrevid"))
        if before is not None and before[1] is not None:
            assert (said[1] == before[1]) <= (said[0] == before[0])
            assert said[1] >= before[1]
        before = said
