"""Reference locators: what their scores must be."""

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.klob_scores import dense, overall, row

from factdrift.klob.scoring.evaluate import ABOVE, Choices, evaluate, lexical, references
from factdrift.klob.scoring.inputs import REFERENCES, Examples, Scores, of_rows, reference
from factdrift.klob.scoring.report import Group, lines
from factdrift.klob.scoring.rsim import POPULATIONS, pair_overlap
from factdrift.klob.scoring.selection import word_sets

APPROX = pytest.approx


@pytest.fixture(scope="module")
def population() -> dict[str, Examples]:
    consistent = [row(example, "eee") for example in range(60)]
    relevant = [row(example, "eeec") for example in range(60)]
    return {
        "c": of_rows(consistent, "c"),
        "r": of_rows(relevant, "r"),
        "u": of_rows([row(example, "u") for example in range(30)], "u"),
    }


def measured(scores: Scores, population: dict[str, Examples], **choices: Any) -> dict[Any, float]:
    found = evaluate(scores, population, Choices((Fraction(5),), **choices))
    return {
        (row["subtask"], row["measure"], row["population"]): row["value"]
        for row in found.measures
        if row["relation"] is None
    }


def test_reference_locators(population):
    parts = list(population.values())
    oracle = measured(reference("oracle", parts, 400), population)
    assert oracle["c", "rsim", "all"] == oracle["r", "rsim", "all"] == 1
    constant = evaluate(reference("constant", parts, 400), population, Choices((Fraction(5),))).measures
    mine = [row for row in constant if row["measure"] in ("rsim", ABOVE) and row["population"] == "all"]
    # Values that are all equal have no interval.
    assert {(row["value"], row["low"], row["high"]) for row in mine} == {(0, None, None)}
    assert overall(constant)["degenerate", "all"]["value"] == 60
    assert overall(constant)["rsim_of_means", "all"]["value"] is None
    random = measured(reference("random", parts, 400), population)
    assert abs(random["c", "rsim_raw", "all"]) < 0.02
    assert random["c", "sim_all", "all"] == APPROX(0.05, abs=0.005)
    assert random["c", "rsim", "all"] < 0.05
    assert abs(oracle["c", "rsim_raw", "permuted"]) < 0.05
    assert oracle[None, "rsd", None] < 0.05
    # The words of random sentences are no units of the lexical one.
    choices = Choices((Fraction(5),))
    alone = lexical({"c": population["c"]}, choices).measures
    assert alone == [row for row in lexical(population, choices).measures if row["subtask"] == "c"]


def test_a_locator_that_mostly_names_one_unit_is_no_better_than_its_control():
    """RSim rewards it, also among permuted sentences; the leading measure does not."""
    examples = of_rows([row(example, "eee") for example in range(400)], "c")
    dice = np.random.default_rng(1)
    units = np.where(dice.random(1200) < 0.9, 0, dice.integers(1, 4, 1200))
    for scores in (
        dense(*map(tuple, np.eye(4)[units].tolist()), sentences=examples.sentences),
        reference("mostly_constant", [examples], 4),
    ):
        found = evaluate(scores, {"c": examples}, Choices((Fraction(1),)))
        rows = overall(found.measures)
        assert rows["rsim", "all"]["value"] > 0.7
        assert rows["rsim", "permuted"]["value"] > 0.6
        leading = rows[ABOVE, "all"]
        assert leading["low"] < 0 < leading["high"]
        assert leading["n"] == 400
        both = [rows["rsim_raw", name]["value"] for name in ("all", "permuted")]
        assert leading["value"] == APPROX(both[0] - both[1])
        said = [*lines([Group("", [found], [])], "c", 1)]
        assert said[-1].startswith("RSim of permuted sentences is above 0.1, so read RSim above")
    names = reference("mostly_constant", [examples], 4).signed(slice(None)).argmax(1)
    assert 0.85 < np.bincount(names).max() / 1200 < 0.97


def test_scores_that_are_all_not_finite_leave_the_measures_undefined():
    examples = {"c": of_rows([row(example, "eee") for example in range(4)], "c")}
    scores = dense(*[(float("nan"),) * 5] * 12, sentences=examples["c"].sentences)
    text = [*lines([Group("", [evaluate(scores, examples, Choices((Fraction(20),)))], [])], "c", 20)]
    assert text[-2].split() == ["tried", "1", *["-"] * 10, "0", "4", "0"]
    assert text[-1].startswith("tried: 12 of 12 sentences left out: they could not be scored, or a score is")


def test_lexical_floor_is_the_cosine_of_the_sentences_words():
    one = row(0, "eee")
    texts = ("The capital of Oz is", "Oz is ruled from its capital", "In Oz, the capital is the city of")
    for sentence, text in zip(one["sentences"], texts, strict=True):
        sentence["text"] = text
    examples = of_rows([one, row(1, "eee")], "c")
    words = [set(text.lower().replace(",", "").split()) for text in examples.texts]
    pairs = [*itertools.combinations(range(6), 2)]
    cosines = [len(words[a] & words[b]) / (len(words[a]) * len(words[b])) ** 0.5 for a, b in pairs]
    assert pair_overlap(word_sets(examples.texts), *np.array(pairs).T).tolist() == APPROX(cosines)
    found = overall(lexical({"c": examples}, Choices(())).measures)
    of_one_fact = [cosine for (a, b), cosine in zip(pairs, cosines, strict=True) if a // 3 == b // 3]
    assert found["sim_cand", "all"]["value"] == APPROX(np.mean(of_one_fact))
    assert found["rsim", "all"]["k"] is None
    assert ("rsim", "same_relation") in found


def test_same_seed_same_scores(population):
    one, other, third = (reference("random", list(population.values()), 300, seed) for seed in (3, 3, 4))
    assert (one.signed(slice(None)) == other.signed(slice(None))).all()
    assert (one.signed(slice(None)) != third.signed(slice(None))).any()
    few = references(population, Choices((Fraction(5),), ties="fractional", sim_all="paper_approx"), 40)
    assert [found.locator for found in few] == list(REFERENCES)
    assert {row["population"] for row in few[0].measures} == {None, *POPULATIONS["r"]}
    assert {row["chosen"] for found in few for row in found.measures} == {None, 2}
    # By index, so that all results of a constant locator are alike.
    assert overall(few[0].measures)["degenerate", "all"]["value"] == 60
