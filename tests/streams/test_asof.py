"""The questions that follow from what a timeline proves about a date."""

from __future__ import annotations

from typing import Any

import pytest

from factdrift.streams.asof import Chain, Value, in_past, questions, short_of
from factdrift.streams.timelines import NEVER_ENDS, Tenure
from factdrift.tempripple.items import Instance, Pool

from .test_changes import DAYS

HUMAN = (frozenset({"Q5"}),)


def chain(*timeline: Tenure, labels: dict[int, str] | None = None, **given_: Any) -> Chain:
    named = labels or {1: "Ann", 2: "Bob", 3: "Cid"}
    values = {item: Value(label, (), HUMAN) for item, label in named.items()}
    sentences = "The mayor of Town is ____", "The mayor of Town was ____"
    plain = Chain("Q9-P6", *sentences, values, frozenset(values), timeline)
    return plain._replace(**given_)


ANN = Tenure(1, (20110101, 20141231), (20110101, 20150101))
BOB = Tenure(2, (20150101, 20181231), (20150101, 20181231))
CID = Tenure(3, (20190101, 20210104), (20190101, NEVER_ENDS))


def pool(*named: tuple[int, str], kind: str = "Q5") -> list[Instance]:
    return [
        Instance((f"Q{100 + item}", "P6"), f"Q{item}", label, None, (frozenset({kind}),))
        for item, label in named
    ]


POOL = Pool(pool((3, "Cid"), (4, "Dan"), (5, "Ann"), (6, "Eve")))


def asked(*timeline: Tenure, of: Pool = POOL, **changes: Any) -> list[dict[str, Any]]:
    return list(questions(chain(*timeline, **changes), of, DAYS, 0))


def test_questions_at_three_precisions():
    found = asked(ANN, BOB, CID)
    expected = (
        ("31 December 2012", "Ann", "then"),
        ("31 December 2016", "Bob", "before"),
        ("3 January 2020", "Cid", "now"),
    )
    assert [(each["question"], each["answer_label"], each["holds"]) for each in found] == [
        (f"As of {date.split(' ', part)[-1]}, the mayor of Town was ____", name, holds)
        for date, name, holds in expected
        for part in range(3)
    ]
    assert {each["context"] for each in found} == {"As of 4 January 2021, the mayor of Town is Cid."}
    for each in found:
        told_ = dict(zip(each["options"], each["option_verdicts"], strict=True))
        assert told_.pop(each["answer_label"]) == "correct"
        assert each["options"][each["answer_index"]] == each["answer_label"]
        # An object of another chain with the name of one of this chain is no option.
        assert sorted(told_.values()) == ["never", "wrong", "wrong"]
        assert len(set(each["options"])) == 4
    assert len({each["item_id"] for each in found}) == len(found)


def test_nothing_is_asked_of_what_no_statement_dates():
    undated = [each._replace(dated=False) for each in (ANN, BOB, CID)]
    assert asked(*undated) == []
    assert asked(ANN._replace(doubted=True), *undated[1:]) == []
    assert asked(*undated[:2], CID)


def test_sentences_are_in_the_past_of_every_day_before_the_last_dump_and_end_with_one_full_stop():
    retired = asked(ANN, BOB)
    assert {each["context"] for each in retired} == {"As of 31 December 2018, the mayor of Town was Bob."}
    club = asked(ANN, CID, labels={1: "Ann", 3: "Cid F.C."}, of=Pool(pool((4, "Dan"), (6, "Eve"))))
    assert club[0]["context"].endswith(" is Cid F.C.")
    (on_the_day,) = (each for each in asked(CID._replace(certain=(20210104, 20210104))) if each["first_day"])
    assert on_the_day["question"] == "As of 4 January 2021, the mayor of Town is ____"


@pytest.mark.parametrize(
    ("prompt", "label", "past"),
    [
        ("The head of state of What Is ____", "What Is", "The head of state of What Is ____"),
        ("The head of What is is ____", "What is", "The head of What is was ____"),
        ("The Beatles have their seat in ____", "Beatles", "The Beatles had their seat in ____"),
        ("Georgia (sovereign state) borders ____", "Georgia", "Georgia (sovereign state) bordered ____"),
        ("Lyon frobnicates ____", "Lyon", "Lyon frobnicates ____"),
    ],
)
def test_a_cloze_test_in_the_past(prompt, label, past):
    assert in_past(prompt, label, "sovereign state") == past


def test_only_objects_of_updates_are_asked_for_and_others_of_the_chain_are_options():
    found = asked(ANN, BOB, CID, asked=frozenset({3}))
    assert {each["answer_label"] for each in found} == {"Cid"}
    for each in found:
        assert {"Ann", "Bob"} < set(each["options"])
    # What was never said for certain is none, though the date excludes it.
    false = asked(ANN._replace(certain=None, doubted=True), BOB, CID, asked=frozenset({3}))
    assert all("Ann" not in each["options"] for each in false)


def test_too_few_options_make_an_open_question():
    found = list(questions(chain(BOB, CID), Pool(pool((2, "Bob"), (3, "Cid"))), DAYS, 0))
    assert {each["open_only"] for each in found} == {True}
    assert {short_of(each) for each in found} == {"options"}
    assert {each["pool_size"] for each in found} == {1}
