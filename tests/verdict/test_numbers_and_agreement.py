"""German numbers in one word against a plain speller, and kappa against its definition on drawn verdicts."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from random import Random
from typing import Any

import pytest
from support.examples import examples

from factdrift.verdict.agreement import agreement
from factdrift.verdict.cues import read_cues
from factdrift.verdict.judge import Case, judged
from factdrift.verdict.numbers import in_words

UNITS = ["", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"]
UNITS += [f"{each}zehn" for each in ("drei", "vier", "fünf", "sech", "sieb", "acht", "neun")]
TENS = ["", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]


def spelled(number: int) -> str:
    """A number below a million as Germans write it, but for a last `eins`."""
    for size, name in ((1000, "tausend"), (100, "hundert")):
        if number >= size:
            return spelled(number // size) + name + spelled(number % size)
    if number < len(UNITS):
        return UNITS[number]
    unit, ten = UNITS[number % 10], TENS[number // 10]
    return f"{unit}und{ten}" if unit else ten


def test_every_german_number_is_read_and_nothing_else_is_one() -> None:
    german = read_cues("de")
    dice = Random(0)
    numbers = [*range(2, 1000), *(dice.randrange(1000, 1_000_000) for _ in range(examples(2000)))]
    for number in numbers:
        word = spelled(number)
        assert in_words(word.removesuffix("ein") + "eins" * word.endswith("ein"), german) == number, word
        assert in_words(f"{word}einhalb", german) == Decimal(number) + Decimal("0.5"), word
    small = [100, 200, 350, 1000, 2000, 21_000, 99_999]
    for first, second in itertools.product((100, 200, 1000, 2000, 21_000), small):
        if len(str(second)) >= len(str(first)):
            word = spelled(first) + spelled(second)
            # Thousands may be counted by hundreds, as in `zweihundert|tausend`.
            counted = first < 1000 <= second and word.count("tausend") == 1
            assert counted or in_words(word, german) is None, word
    for word in (
        "tausendzweitausend",
        "zehnundzwanzig",
        "zweiunddrei",
        "zweizwanzig",
        "und",
        "einundhundert",
    ):
        assert in_words(word, german) is None, word


def kappa(rows: list[tuple[str, str, Any]]) -> float | None:
    count = len(rows)
    if not count:
        return None
    equal = sum(one == other for one, other, _ in rows) / count
    verdicts = {verdict for row in rows for verdict in row[:2]}
    chance = sum(
        sum(row[0] == verdict for row in rows) * sum(row[1] == verdict for row in rows) / count**2
        for verdict in verdicts
    )
    return None if math.isclose(chance, 1) else (equal - chance) / (1 - chance)


@pytest.mark.parametrize(
    ("answer", "accepted", "stale", "verdict"),
    [
        ("about 4.99 million", "4,993,923", "4,699,755", "correct"),
        ("about 4.7 million", "4,993,923", "4,699,755", "stale"),  # 4.70
        ("some 47,000 people", "46,970", "41,000", "correct"),  # 47.0 thousand
        ("some 50,000 people", "46,970", "41,000", "wrong"),
        ("some 46,970 people", "46,973", "41,000", "correct"),
        ("12.3 thousand", "12,345", "12,349", "wrong"),  # so is the other
        ("It had 20,200 people in 2020.", "20,234", "2,020", "correct"),
        ("In 2020 it was 3,500.", "2,023", "1,950", "wrong"),  # a year rounds nothing
        ("1.05e-26", "5,000,000", "4", "wrong"),
        ("12345.00000000000000000000000001", "12,345,678", "4", "wrong"),
        ("1.23e30", f"{1234567 * 10**24:,}", "4", "correct"),
        ("9e400", "5,000,000", "4", "wrong"),
    ],
)
def test_an_amount_may_be_rounded(answer: str, accepted: str, stale: str, verdict: str) -> None:
    case = Case(answer, (accepted,), (stale,), question="What is the population of X?")
    assert judged(case).verdict == verdict


@pytest.mark.parametrize("seed", range(examples(200)))
def test_kappa_and_its_interval_are_those_of_the_definition(seed: int) -> None:
    """The jackknife leaves out one cluster at a time; there is no interval if one of them leaves no kappa."""
    dice = Random(seed)
    words = ["right", "wrong", "none"][: dice.choice([1, 2, 2, 3])]
    rows: list[tuple[str, str | None, int]] = [
        (
            dice.choice(words),
            None if dice.random() < 0.1 else dice.choice(words),
            dice.randint(1, 1 + seed % 4),
        )
        for _ in range(dice.choice([0, 1, 3, 5, 12]))
    ]
    both = [(rule, model, cluster) for rule, model, cluster in rows if model is not None]
    found = agreement(rows)
    whole = kappa(both)
    assert found.without == len(rows) - len(both)
    assert found.equal == sum(rule == model for rule, model, _ in both)
    assert found.kappa == (None if whole is None else pytest.approx(whole))
    left = [kappa([row for row in both if row[2] != cluster]) for cluster in {row[2] for row in both}]
    known = [each for each in left if each is not None]
    if whole is None or len(left) < 2 or len(known) < len(left):
        assert (found.low, found.high) == (None, None)
        return
    middle = sum(known) / len(known)
    error = math.sqrt((len(known) - 1) / len(known) * sum((each - middle) ** 2 for each in known))
    low, high = max(-1, whole - 1.96 * error), min(1, whole + 1.96 * error)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_three_clusters_of_which_one_alone_differs_have_no_interval() -> None:
    rows = [("right", "right", 1), ("right", "right", 2), ("wrong", "right", 3), ("right", "wrong", 3)]
    found = agreement(rows)
    assert found.kappa is not None
    assert (found.low, found.high) == (None, None)
