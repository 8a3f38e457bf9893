"""Four-option items: which options, on which letter, and when there are none."""

from __future__ import annotations

import datetime
import hashlib
import math
from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.ripples import METHOD, method_with

from factdrift.tempripple.items import Choice, Instance, Item, Pool, make_items
from factdrift.tempripple.phrases import normal


def instance(x: str, value: str, label: str | None = None, precision: int | None = None) -> Instance:
    return Instance((x, "P1"), value, label or f"label {value}", precision)


def chosen(pool: list[Instance], answer: Instance, aliases=(), never=()) -> Choice:
    return Pool([answer, *pool]).choose(Item("i", answer, aliases, frozenset(never), frozenset()), 0)


def values(choice: Choice) -> set[str]:
    return {value for value, _ in choice.options}


OTHERS = [instance(f"Q{n}", f"Q10{n}") for n in range(1, 5)]


def test_three_of_the_others_but_no_true_value_and_none_of_the_same_timeline():
    choice = chosen(OTHERS, instance("Q9", "Q109"))
    assert len(choice.options) == 3
    assert values(choice) < {"Q101", "Q102", "Q103", "Q104"}
    # Without kinds all options count as alike.
    assert (choice.pool_size, choice.year_only, choice.alike) == (4, False, 3)
    assert values(chosen(OTHERS, instance("Q9", "Q109"), never=("Q101",))) == {"Q102", "Q103", "Q104"}
    few = chosen(OTHERS, instance("Q9", "Q109"), never=("Q101", "Q102"))
    assert (len(few.options), few.pool_size) == (2, 2)
    # Nor is a value that is named only about the same x.
    assert chosen([*OTHERS[:3], instance("Q9", "Q120")], instance("Q9", "Q109")).pool_size == 3


def test_options_do_not_share_a_label():
    labels = ["J. Smith", "ｊ  smith", "The Answer", "Also known", "one", "two"]
    twins = [instance(f"Q{n}", f"Q10{n}", label) for n, label in enumerate(labels, start=1)]
    choice = chosen(twins, instance("Q9", "Q109", "the answer"), aliases=("ALSO KNOWN",))
    assert choice.pool_size == 3
    assert sorted(normal(label) for _, label in choice.options) == ["j smith", "one", "two"]


def dates(*texts: str) -> list[Instance]:
    return [
        instance(f"Q{place}", text, text, 8 + len(text.split("-")))
        for place, text in enumerate(texts, start=1)
    ]


def test_dates_of_the_same_precision_if_there_are_enough_else_all_cut_to_the_year():
    answer = instance("Q99", "1890-01-01", "1 January 1890", 11)
    pool = dates("1900-01-01", "1901-02", "1902", "1903-01-01", "1904-05-06", "1905-07-08")
    choice = chosen(pool, answer)
    assert values(choice) < {"1900-01-01", "1903-01-01", "1904-05-06", "1905-07-08"}
    assert choice.answer == ("1890-01-01", "1 January 1890")
    choice = chosen(dates("1900-01-01", "1901-02", "1902", "1890-03", "1902-05-05"), answer)
    assert sorted(choice.options) == [("1900", "1900"), ("1901", "1901"), ("1902", "1902")]
    assert (choice.answer, choice.year_only, choice.pool_size) == (("1890", "1890"), True, 3)


FOOTBALL, BASKETBALL = frozenset(["Q2736"]), frozenset(["Q5372"])
CLUB, PLACE, UNKNOWN = frozenset(["Q476028"]), frozenset(["Q515"]), frozenset[str]()


def of_kinds(number: int, *kinds: frozenset[str], copies: int = 1) -> list[Instance]:
    return [
        instance(f"Q{number}-{copy}", f"Q{number}")._replace(kinds=tuple(kinds)) for copy in range(copies)
    ]


def test_the_first_property_that_both_have_decides():
    """The same sport; else, with no sport to compare, the same class; another sport is another kind."""
    pool = [*of_kinds(1, FOOTBALL, PLACE), *of_kinds(2, UNKNOWN, CLUB)]
    pool += [*of_kinds(3, UNKNOWN, PLACE, copies=500), *of_kinds(4, BASKETBALL, CLUB, copies=500)]
    (answer,) = of_kinds(9, FOOTBALL, CLUB)
    choice = chosen(pool, answer)
    assert {"Q1", "Q2"} < values(choice)
    assert choice.alike == 2
    (person,) = of_kinds(9, UNKNOWN, CLUB)
    assert {"Q2", "Q4"} < values(chosen(pool, person))


def test_dates_about_the_same_kind_go_before_dates_of_the_same_precision():
    """Four days on which countries were founded, one day and three years of clubs."""
    countries = [each._replace(kinds=(PLACE,)) for each in dates(*(f"190{n}-01-01" for n in range(4)))]
    clubs = [each._replace(kinds=(CLUB,)) for each in dates("1880-05-06", "1881", "1882", "1883")]
    club = instance("Q99", "1879-01-02", "2 January 1879", 11)._replace(kinds=(CLUB,))
    choice = chosen([*countries, *clubs], club)
    assert values(choice) < {"1880", "1881", "1882", "1883"}
    assert (choice.year_only, choice.alike, choice.answer) == (True, 3, ("1879", "1879"))
    few = chosen([*countries, *clubs[:2]], club)
    assert "1880-05-06" in values(few)
    assert (few.year_only, few.alike, len(few.options)) == (False, 1, 3)


@given(
    weights=st.dictionaries(st.integers(1, 40), st.integers(1, 5), min_size=3, max_size=20),
    seed=st.integers(0, 5),
)
@settings(max_examples=examples(100))
def test_draws_are_the_smallest_keys(weights, seed):
    pool = [
        instance(f"Q{value}-{copy}", f"Q{value}") for value, count in weights.items() for copy in range(count)
    ]
    answer = instance("Q0", "Q0")
    choice = Pool([answer, *pool]).choose(Item("i", answer, (), frozenset(), frozenset()), seed)

    def key(value: int) -> float:
        hashed = hashlib.sha256(f"{seed}|i|Q{value}".encode()).digest()
        return -math.log((int.from_bytes(hashed[:8], "big") + 0.5) / 2**64) / weights[value]

    assert values(choice) == {f"Q{value}" for value in sorted(weights, key=key)[:3]}


def fact(number: int, role: str) -> dict[str, Any]:
    return {
        "fact_id": f"f{number:03d}{role}",
        "s": f"Q{number}",
        "p": "P6",
        "o": f"Q{number * 2 + (role == 'old')}000",
        "s_label": f"s {number}",
        "o_label": f"holder {number} {role}",
        "role": role,
        "returning": False,
        "statement": f"The most recent head of s {number} is holder {number} {role}.",
        "question": f"Who, {number}, {role}?",
        "o_aliases": [],
        "o_kinds": [],
        "discriminates": True,
        "known_values": [f"Q{number * 2}000", f"Q{number * 2 + 1}000"],
    }


FACTS = [fact(number, role) for number in range(1, 24) for role in ("new", "old")]


def test_letters_are_balanced_and_the_context_is_that_of_the_new_fact():
    items = make_items(FACTS, [], METHOD)
    assert Counter(item["task"] for item in items) == {1: 23, 2: 23}
    for task in (1, 2):
        letters = Counter(item["answer_index"] for item in items if item["task"] == task)
        assert sorted(letters) == [0, 1, 2, 3]
        assert max(letters.values()) - min(letters.values()) <= 1
    for item in items:
        number = int(item["fact_id"][1:4])
        asked = [item[name] for name in ("s", "p", "asked_s", "asked_p")]
        assert asked == [f"Q{number}", "P6", f"Q{number}", "P6"]
        assert item["options"][item["answer_index"]] == item["answer_label"]
        assert item["context"] == f"The most recent head of s {number} is holder {number} new."
        assert len(set(item["options"])) == len(set(item["option_ids"])) == 4
        own = {f"Q{number * 2}000", f"Q{number * 2 + 1}000"}
        assert len(own & set(item["option_ids"])) == 1


def test_hard_mode_offers_other_holders_and_a_pool_of_two_is_asked_openly():
    pools = [
        {item["pool_size"] for item in make_items(FACTS, [], method_with(same_timeline=choice))}
        for choice in ("exclude", "include")
    ]
    assert pools == [{44}, {45}]
    items = make_items(FACTS[:4], [], METHOD)
    assert {(item["open_only"], item["pool_size"]) for item in items} == {(True, 2)}
    assert all(item["options"] is item["option_ids"] is item["answer_index"] is None for item in items)


def test_the_order_of_rows_does_not_matter_but_the_seed_does():
    def made(facts, method=METHOD):
        return sorted(make_items(facts, [], method), key=lambda item: item["item_id"])

    assert made(FACTS[::-1]) == made(FACTS)
    assert made(FACTS, method_with(seed=1)) != made(FACTS)


def test_options_of_another_kind_are_flagged():
    """The holders of Q1 and Q2 have a sport of their own, so that only two options can share it."""
    kinds = [{**row, "o_kinds": ["P31 Q5", f"P641 Q{1 if int(row['s'][1:]) < 3 else 2}"]} for row in FACTS]
    items = make_items(kinds, [], method_with(alike=["P641", "P31"]))
    assert {item["s"] for item in items if "other_kind" in item["flags"]} == {"Q1", "Q2"}
    by_class = make_items(kinds, [], method_with(alike=["P31"]))
    assert not any("other_kind" in item["flags"] for item in by_class)


def test_items_name_their_day_where_that_is_wanted():
    plain, dated = (make_items(FACTS, [], method_with(as_of=choice)) for choice in ("off", "on"))
    day = (datetime.date(2025, 12, 31) - datetime.date(1970, 1, 1)).days
    assert {item["as_of"] for item in (*plain, *dated)} == {day}
    one = next(item for item in dated if item["fact_id"] == "f001old")
    assert one["question"] == "As of 31 December 2025, who, 1, old?"
    assert one["context"] == "As of 31 December 2025, the most recent head of s 1 is holder 1 new."
    for item in (*plain, *dated):
        del item["question"], item["context"]
    assert plain == dated


def test_flags():
    """Of an old holder who returns, and of one whom the context names, but not of the new one."""
    changed = {"f001old": {"returning": True}, "f002old": {"o_label": "holder 2 new"}}
    items = make_items([row | changed.get(row["fact_id"], {}) for row in FACTS], [], METHOD)
    flags = {item["fact_id"]: item["flags"] for item in items if item["flags"]}
    assert flags == {"f001old": ["returning"], "f002old": ["answer_in_context"]}


def test_of_two_values_of_one_name_the_first_that_is_drawn_is_offered():
    values = {"Q1": "answer", "Q2": "one", "Q3": "two", "Q4": "Twin", "Q5": "twin"}
    given = [Instance((f"Q9{value}", "P1"), value, label, None) for value, label in values.items()]
    for seed in range(6):
        chances = {value: hashlib.sha256(f"{seed}|i|{value}".encode()).digest()[:8] for value in values}
        first = max(("Q4", "Q5"), key=lambda value: chances[value])
        choice = Pool(given).choose(Item("i", given[0], (), frozenset(), frozenset()), seed)
        assert {value for value, _ in choice.options} == {"Q2", "Q3", first}
