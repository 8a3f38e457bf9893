"""The stage from a snapshot to items, on worlds made by hand."""

from collections import Counter
from typing import Any

from support.ripples import CITY, COUNTRY, HUMAN, TEAM, kinds, ripple
from support.worlds import Date, Fact, Text, World

USA, BIDEN, TRUMP, JILL, FRANCE, PARIS = 30, 6279, 22686, 235349, 142, 90
HEAD, CAPITAL, SPOUSE, MOTHER, LANGUAGE, BIRTHPLACE, COUNTRY_OF = 6, 36, 26, 25, 103, 19, 17


def held(subject: int, relation: int, old: int, new: int, **more: Any) -> list[Fact]:
    """One holder until 2025-03-14, and another one from then on."""
    return [
        Fact(subject, relation, old, "2010-01-01", "2025-03-14", **more),
        Fact(subject, relation, new, "2025-03-14", **more),
    ]


def heads(*facts: Fact, labels: dict[int, str] | None = None, **world: Any) -> World:
    """Who heads the government of the United States has changed; with more facts about the two."""
    names = {USA: "United States", BIDEN: "Joe Biden", TRUMP: "Donald Trump", JILL: "Jill Biden"}
    people = kinds(**{f"Q{USA}": (COUNTRY,)}, **{f"Q{person}": (HUMAN,) for person in (BIDEN, TRUMP, JILL)})
    return World(
        new=[*held(USA, HEAD, BIDEN, TRUMP), *people, *facts], labels=names | (labels or {}), **world
    )


def test_facts_of_a_change(tmp_path):
    found = ripple(heads(), tmp_path)
    new, old = sorted(found.facts, key=lambda fact: fact["ordinal"])
    assert (new["role"], new["o_label"], new["n_timeline"], new["n_changes"]) == ("new", "Donald Trump", 2, 1)
    assert new["statement"] == "The most recent head of government of United States is Donald Trump."
    assert new["question"] == "Who is the most recent head of government of United States?"
    assert old["question"] == "Who was the previous head of government of United States?"
    assert old["statement"] == "The previous head of government of United States is Joe Biden."
    assert (new["s_type"], new["s_class"]) == ("country", "Q6256")
    assert (old["duration_days"], new["duration_days"]) == (5551, 297)
    assert (new["end_lo"], new["end_hi"], new["end_prec"], new["start_prec"]) == (None, None, None, 11)
    assert new["known_values"] == old["known_values"] == ["Q22686", "Q6279"]
    assert len({fact["fact_id"] for fact in found.facts}) == 2
    assert all(len(fact["fact_id"]) == 16 for fact in found.facts)


def test_three_hops_and_a_literal_ends_the_path(tmp_path):
    chain = [
        Fact(BIDEN, BIRTHPLACE, 50),
        Fact(50, COUNTRY_OF, 51),
        Fact(51, 37, 52),
        Fact(52, 282, 53),
        Fact(51, 297, "GB"),
        Fact(BIDEN, 569, Date("1942-11-20")),
        Fact(BIDEN, 1477, Text("en", "Joseph Robinette")),
        *kinds(Q50=(CITY,), Q51=(COUNTRY,), Q52=(34770,)),
    ]
    found = ripple(heads(*chain), tmp_path)
    assert found.answers(1) == {
        ("P19", "item 50"),
        ("P569", "20 November 1942"),
        ("P1477", "Joseph Robinette"),
    }
    assert found.answers(2) == {("P19 P17", "item 51")}
    assert found.answers(3) == {("P19 P17 P37", "item 52"), ("P19 P17 P297", "GB")}
    code = next(row for row in found.related if row["answer_id"] == "GB")
    assert code["question"] == (
        "What is the ISO 3166-1 alpha-2 code of the country of the birthplace of the previous head of "
        "government of United States?"
    )
    assert code["question_debug"] == (
        "What is [3 the ISO 3166-1 alpha-2 code of [2 the country of [1 the birthplace of [0 the previous "
        "head of government of United States]]]]?"
    )
    assert code["value_type"] == "external-id"
    assert [(step["p"], step["x"], step["value"], step["x_type"]) for step in code["path"]] == [
        ("P19", "Q6279", "Q50", "human"),
        ("P17", "Q50", "Q51", "settlement"),
        ("P297", "Q51", "GB", "country"),
    ]
    born = next(row for row in found.related if row["value_type"] == "time")
    assert (born["precision"], born["answer_id"]) == (11, "1942-11-20")
    named = next(row for row in found.related if row["value_type"] == "monolingualtext")
    assert (named["answer_id"], named["known_values"]) == ("en:Joseph Robinette", ["en:Joseph Robinette"])


def test_answers_that_the_question_names_are_dropped(tmp_path):
    labels = {70: "united  states", 71: "Joe", 72: "Donald Trump", 73: "States of nowhere"}
    facts = [
        Fact(BIDEN, BIRTHPLACE, 70),
        Fact(BIDEN, 735, 71),
        Fact(BIDEN, MOTHER, 72),
        Fact(BIDEN, 734, 73),
        *kinds(Q72=(HUMAN,)),
    ]
    found = ripple(heads(*facts, labels=labels), tmp_path / "a")
    assert found.answers(1) == {("P25", "Donald Trump"), ("P734", "States of nowhere")}
    assert found.reasons("related") == {("Q6279", "P19"): "leak", ("Q6279", "P735"): "leak"}
    mother = next(row for row in found.related if row["path"][-1]["p"] == "P25")
    assert mother["answer_in_context"]
    assert "answer_in_context" in next(i for i in found.items if i["rel_id"] == mother["rel_id"])["flags"]
    kept = ripple(heads(*facts, labels=labels), tmp_path / "b", leak_check=False)
    assert len(kept.answers(1)) == 4


def test_mutable_drop_reasons(tmp_path):
    world = World(
        new=[
            *kinds(**{f"Q{item}": (COUNTRY,) for item in (1, 3, 6, 13, 14, 15)}),
            *held(1, HEAD, 100, 101),
            *held(2, HEAD, 100, 101),
            *held(3, HEAD, 100, 102),
            *held(6, HEAD, 100, 101),
            Fact(6, HEAD, 103, "2020-01-01", "2020-02-01"),
            Fact(13, HEAD, 100, "2010", "2025-03-14", rank="deprecated"),
            Fact(13, HEAD, 101, "2025-03-14", rank="deprecated"),
            *held(14, HEAD, 100, 101),
            Fact(14, HEAD, 103, "2020-01-01", "2020-02-01", rank="deprecated"),
            *held(15, HEAD, 100, 106),
        ],
        no_label=frozenset({102}),
        labels={106: ""},
    )
    found = ripple(world, tmp_path)
    assert {fact["s"] for fact in found.facts} == {"Q1", "Q14"}
    assert {s: reason for (s, _), reason in found.reasons("mutable").items()} == {
        "Q2": "no_type",
        "Q3": "no_label",
        "Q6": "overlap",
        "Q15": "no_label",
    }
    nameless = next(row for row in found.dropped if row["reason"] == "no_label")
    assert (nameless["detail"], len(nameless["stmt_ids"])) == ("Q102", 2)


def test_related_drop_reasons(tmp_path):
    facts = [
        *(Fact(BIDEN, MOTHER, 81), Fact(BIDEN, MOTHER, 82)),
        Fact(BIDEN, LANGUAGE, 83, "2018"),
        Fact(BIDEN, 22, 0, snak="somevalue"),
        Fact(BIDEN, 20, 85),
        Fact(BIDEN, BIRTHPLACE, 86),
        Fact(BIDEN, 115, 87),
        Fact(TRUMP, 569, Date("2016")),
        Fact(TRUMP, LANGUAGE, 83),
    ]
    found = ripple(heads(*facts, no_label=frozenset({86})), tmp_path)
    assert found.related == []
    assert found.reasons("related") == {
        ("Q6279", "P25"): "several_values",
        ("Q6279", "P103"): "not_immutable",
        ("Q6279", "P22"): "unknown_value",
        ("Q6279", "P20"): "subject_alive",
        ("Q6279", "P19"): "no_label",
        ("Q6279", "P115"): "wrong_type",
        ("Q22686", "P569"): "late_date",
        ("Q22686", "P103"): "late_existence",
    }


def test_classes_of_objects_and_qualifiers_can_be_excluded(tmp_path):
    national = 1194951
    career = [
        *held(1, 54, 10, 11),
        Fact(1, 54, 12, "2012"),
        *kinds(Q1=(HUMAN,), Q10=(TEAM,), Q11=(TEAM,), Q12=(300,)),
        Fact(300, 279, national),
        *held(2, 54, 10, 11),
        Fact(2, 54, 12, "2012", quals=(642,)),
        *kinds(Q2=(HUMAN,)),
    ]
    world = World(new=career)
    assert {s for s, _ in ripple(world, tmp_path / "a").reasons("mutable")} == {"Q1", "Q2"}
    without = ripple(world, tmp_path / "b", exclude_object_classes=[f"Q{national}"])
    assert {fact["s"] for fact in without.facts} == {"Q1", "Q2"}
    unrestricted = ripple(world, tmp_path / "c", restrictive_qualifiers=["P642"])
    assert {fact["s"] for fact in unrestricted.facts} == {"Q2"}


def test_caps_and_durations(tmp_path):
    two = World(
        new=[
            *kinds(Q1=(COUNTRY,), Q2=(COUNTRY,), Q10=(HUMAN,)),
            Fact(1, HEAD, 10, "2010", "2025", id="Q1$b"),
            Fact(1, HEAD, 11, "2025-03", id="Q1$d"),
            Fact(2, HEAD, 10, "2010", "2025", id="Q2$a"),
            Fact(2, HEAD, 11, "2025-03", id="Q2$c"),
            Fact(10, MOTHER, 12),
            Fact(10, LANGUAGE, 13),
            Fact(10, BIRTHPLACE, 14),
        ]
    )
    for cap in (1, 2):
        capped = ripple(two, tmp_path / f"{cap}", cap_per_property=cap)
        assert {fact["s"] for fact in capped.facts} == {"Q1"}
    whole = ripple(two, tmp_path / "b")
    # From 2010-01-01 to 2025-01-01, and from 2025-03-01 to the day of the snapshot, 2026-01-05.
    days = [(fact["role"], fact["duration_days"]) for fact in whole.facts]
    assert sorted(days) == [("new", 310)] * 2 + [("old", 5479)] * 2
    cut = ripple(two, tmp_path / "c", cap_per_fact=2)
    of_one, kept = (
        sorted(row["rel_id"] for row in found.related if row["fact_id"] == whole.related[0]["fact_id"])
        for found in (whole, cut)
    )
    assert kept == of_one[:2]
    assert Counter(row["reason"] for row in cut.dropped) == {"cap": 2}


def test_kinds_are_those_of_the_value_and_where_it_has_none_of_the_subject(tmp_path):
    """A player, two teams of which one says its sport, and when the other was founded."""
    world = World(
        new=[
            *kinds(Q1=(HUMAN,)),
            *held(1, 54, 10, 11),
            *kinds(Q10=(TEAM,)),
            Fact(10, 641, 2736),
            *kinds(Q11=(TEAM,)),
            Fact(11, 571, Date("1899")),
            Fact(1, 641, 5372),
            Fact(1, 641, 5373, rank="deprecated"),
        ]
    )
    found = ripple(world, tmp_path)
    kinds_of = {fact["o"]: fact["o_kinds"] for fact in found.facts}
    assert kinds_of == {"Q10": [f"P31 Q{TEAM}", "P641 Q2736"], "Q11": [f"P31 Q{TEAM}", "P641 Q5372"]}
    (founded,) = [row for row in found.related if row["value_type"] == "time"]
    assert founded["answer_kinds"] == [f"P31 Q{TEAM}"]


def test_a_date_is_said_in_the_calendar_in_which_it_was_written(tmp_path):
    facts = [Fact(BIDEN, 569, Date("-0753-04-21 julian")), Fact(TRUMP, 569, Date("1946-06-14"))]
    found = ripple(heads(*facts), tmp_path)
    born = {row["answer_label"]: row["answer_id"] for row in found.related if row["value_type"] == "time"}
    # Values are compared as days of the Gregorian calendar.
    assert born == {"21 April 753 BC": "-0753-04-13", "14 June 1946": "1946-06-14"}


def test_empty_results(tmp_path):
    """No candidate, no type, no timeline, nothing related."""
    for place, facts in enumerate(
        ([], held(2, HEAD, 10, 11), [Fact(1, HEAD, 10, "2025")], held(1, HEAD, 10, 11))
    ):
        found = ripple(World(new=[*kinds(Q1=(COUNTRY,)), *facts]), tmp_path / str(place))
        assert found.related == []
        assert len(found.items) == len(found.facts)
        assert all(item["open_only"] and item["options"] is None for item in found.items)
