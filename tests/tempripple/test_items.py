"""Four-option items: which options, on which letter, and when there are none."""

import datetime
import hashlib
import math
from collections import Counter
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.ripples import METHOD, method_with

from factdrift.tempripple.items import Choice, Instance, Item, Pool, make_items
from factdrift.tempripple.phrases import normal


def plainly(pool: list[Instance], item: Item, seed: int, number: int) -> Choice:
    """The choice by its definition: every value with its rank and key, the smallest first."""
    n_kinds = len(pool[0].kinds)
    labels = {instance.value: instance.label for instance in pool}
    weights = Counter(instance.value for instance in pool)
    weights.subtract(
        instance.value
        for instance in pool
        if instance.asked == item.answer.asked and instance.value not in item.always
    )
    refused = {normal(text) for text in (item.answer.label, *item.aliases)}
    open_ = [
        value
        for value in weights
        if weights[value] > 0
        and value not in {item.answer.value, *(item.never - item.always)}
        and normal(labels[value]) not in refused
    ]

    def rank(value: str) -> int:
        for index in range(n_kinds):
            own = frozenset().union(*(each.kinds[index] for each in pool if each.value == value))
            if own and item.answer.kinds[index]:
                return index if own & item.answer.kinds[index] else n_kinds
        return n_kinds

    def chance(value: str) -> float:
        digest = hashlib.sha256(f"{seed}|{item.item_id}|{value}".encode()).digest()
        return (int.from_bytes(digest[:8], "big") + 0.5) / 2**64

    drawn: dict[str, str] = {}
    for value in sorted(open_, key=lambda value: (rank(value), -math.log(chance(value)) / weights[value])):
        if len(drawn) < number:
            drawn.setdefault(normal(labels[value]), value)
    values = sorted(drawn.values(), key=chance)
    alike = sum(rank(value) < n_kinds or not n_kinds for value in values)
    names = {normal(labels[value]) for value in open_}
    answer = item.answer.value, item.answer.label
    return Choice([(value, labels[value]) for value in values], answer, len(names), alike)


def in_years(instance: Instance) -> Instance:
    return instance._replace(value=instance.value[:4], label=str(int(instance.value[:4])))


def wanted(pool: list[Instance], item: Item, seed: int, number: int) -> Choice:
    """Of dates those of its precision, unless years give enough of its kind, or enough where it does not."""
    precision = item.answer.precision
    alike = [instance for instance in pool if instance.precision == precision]
    choice = plainly(alike, item, seed, number)
    if precision is None or choice.alike == number:
        return choice
    never = frozenset(value[:4] for value in item.never)
    of_years = Item(item.item_id, in_years(item.answer), (), never, frozenset())
    years = plainly([in_years(each) for each in pool if each.precision], of_years, seed, number)
    enough = len(choice.options) == number and years.alike < number
    return choice if enough else years._replace(year_only=True)


LABELS = {**{f"Q{n}": f"name {n}" for n in range(12)}, "Q3": "Twin", "Q4": "ｔｗｉｎ", "Q5": "Name  6"}
DATES = ("1890-01-01", "1890-03-02", "1901-05-06", "1902-02-03", "1902-07", "1903-01", "1904", "1905", "1906")
KINDS = ("", "", "Q1", "Q2", "Q1 Q2")


def instances(dice: Random, dated: bool, size: int, properties: int) -> list[Instance]:
    kinds = {value: [frozenset(dice.choice(KINDS).split()) for _ in range(properties)]
             for value in (*LABELS, *DATES)}  # fmt: skip
    values = dice.choices(DATES if dated else tuple(LABELS), k=size)
    return [
        Instance(
            (f"Q{dice.randrange(90, 96)}", "P1"),
            value,
            LABELS.get(value, value),
            8 + len(value.split("-")) if dated else None,
            tuple(kinds[value]),
        )
        for value in values
    ]


@given(
    st.randoms(use_true_random=False), st.booleans(), st.integers(1, 40), st.integers(0, 2), st.integers(0, 3)
)
@settings(max_examples=examples(150))
def test_options_are_those_of_the_definition(dice, dated, size, properties, number):
    pool = instances(dice, dated, size, properties)
    answer, values = dice.choice(pool), DATES if dated else tuple(LABELS)
    never, always = (frozenset(dice.sample(values, dice.randrange(4))) for _ in range(2))
    aliases = dice.sample(("NAME 7", "twin", "else"), dice.randrange(3))
    item = Item(f"i{size}", answer, aliases, never, frozenset() if dated else always)
    assert Pool(pool).choose(item, size, number) == wanted(pool, item, size, number)


def fact(number: int, role: str) -> dict[str, Any]:
    values = [f"Q{number * 2}000", f"Q{number * 2 + 1}000"]
    return {
        **{"fact_id": f"f{number:03d}{role}", "role": role, "s": f"Q{number}", "s_label": f"s {number}"},
        **{"p": "P6", "o": values[role == "old"], "o_label": f"holder {number} {role}"},
        "statement": f"The most recent head of s {number} is holder {number} {role}.",
        **{"question": f"Who, {number}, {role}?", "discriminates": True, "known_values": values},
        **{"returning": False, "o_aliases": [], "o_kinds": []},
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
