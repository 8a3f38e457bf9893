"""Reference locators: what their scores must be."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.klob_scores import dense, overall, row

from factdrift.core.errors import InputError
from factdrift.klob.scoring.evaluate import ABOVE, Choices, evaluate, lexical
from factdrift.klob.scoring.examples import Examples, of_rows
from factdrift.klob.scoring.locator import Scores
from factdrift.klob.scoring.reference import reference
from factdrift.klob.scoring.report import high_control, summary
from factdrift.klob.scoring.selection import locate
from factdrift.klob.tools import CONTROLLED

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


def test_reference_locators(population: dict[str, Examples]) -> None:
    parts = list(population.values())
    oracle = measured(reference("oracle", parts, 400), population)
    assert oracle["c", "rsim", "all"] == oracle["r", "rsim", "all"] == 1
    constant = measured(reference("constant", parts, 400), population)
    assert constant["c", "rsim", "all"] == constant["r", "rsim", "all"] == 0
    assert constant["c", "degenerate", "all"] == 60
    random = measured(reference("random", parts, 400), population)
    assert abs(random["c", "rsim_raw", "all"]) < 0.02
    assert random["c", "sim_all", "all"] == APPROX(0.05, abs=0.005)
    assert random["c", "rsim", "all"] < 0.05
    assert abs(oracle["c", "rsim_raw", "permuted"]) < 0.05
    assert oracle[None, "rsd", None] < 0.05


def test_a_locator_that_mostly_names_one_unit_is_no_better_than_its_control() -> None:
    """RSim rewards it, also among permuted sentences; the leading measure does not."""
    examples = of_rows([row(example, "eee") for example in range(400)], "c")
    dice = np.random.default_rng(1)
    units = np.where(dice.random(1200) < 0.9, 0, dice.integers(1, 4, 1200))
    for scores in (
        dense(*map(tuple, np.eye(4)[units].tolist()), sentences=examples.sentences),
        reference("mostly_constant", [examples], 4),
    ):
        found = evaluate(scores, {"c": examples}, Choices((Fraction(1),))).measures
        rows = overall(found)
        assert rows["rsim", "all"]["value"] > 0.7
        assert rows["rsim", "permuted"]["value"] > 0.6
        leading = rows[ABOVE, "all"]
        assert leading["low"] < 0 < leading["high"]
        assert leading["n"] == 400
        both = [rows["rsim_raw", name]["value"] for name in ("all", "permuted")]
        assert leading["value"] == APPROX(both[0] - both[1])
        assert high_control(found).startswith("warning: RSim of permuted sentences is 0.")
    names = reference("mostly_constant", [examples], 4).signed(slice(None)).argmax(1)
    assert 0.85 < np.bincount(names).max() / 1200 < 0.97


def test_noise_is_not_significant_above_its_control() -> None:
    """At four units clipped RSim of noise is above 0, often far above that of its permuted sentences."""
    examples = of_rows([row(example, "eee") for example in range(96)], "c")
    outside = 0
    for seed in range(60):
        scores = reference("random", [examples], 4, seed)
        found = evaluate(scores, {"c": examples}, Choices((Fraction(1),), seed=seed), CONTROLLED).measures
        leading = overall(found)[ABOVE, "all"]
        outside += not leading["low"] < 0 < leading["high"]
        assert overall(found)["rsim", "all"]["low"] > 0
    assert outside <= 8


def test_scores_that_are_all_not_finite_have_rows_that_say_so() -> None:
    examples = {"c": of_rows([row(example, "eee") for example in range(4)], "c")}
    scores = dense(*[(float("nan"),) * 5] * 12, sentences=examples["c"].sentences)
    found = evaluate(scores, examples, Choices((Fraction(20),)))
    rows = overall(found.measures)
    assert (rows["excluded_sentences", None]["value"], rows["excluded_sentences", None]["n"]) == (12, 12)
    assert (rows["rsim", "all"]["value"], rows["rsim", "all"]["n"]) == (None, 0)
    assert (rows["left_out", "all"]["value"], rows["left_out", "all"]["n"]) == (4, 4)
    assert (rows[ABOVE, "all"]["value"], rows[ABOVE, "all"]["n"]) == (None, 0)
    text = summary(found, 20)
    assert "RSim above permuted at k = 20 % (K = 1, 20 % of the units): undefined (n = 0)" in text
    assert "12 sentences were excluded: their scores are not finite" in text


def test_equal_values_have_no_interval(population: dict[str, Examples]) -> None:
    scores = reference("constant", list(population.values()), 400)
    found = evaluate(scores, population, Choices((Fraction(5),))).measures
    mine = [row for row in found if row["measure"] in ("rsim", ABOVE) and row["population"] == "all"]
    assert mine
    assert {(row["value"], row["low"], row["high"]) for row in mine} == {(0, None, None)}


WORDINGS = (
    ("The capital of Oz is", "Oz is ruled from its capital", "In Oz, the capital is the city of"),
    ("The capital of Kansas is", "Kansas is ruled from its capital", "In Kansas, the capital is the city of"),
    ("The author of Emma is", "Emma was written by", "The writer of the book Emma is"),
)


def worded(chains: bool) -> Examples:
    rows = []
    for number, texts in enumerate(WORDINGS):
        one = row(number, "eeec" if chains else "eee")
        chain = f"The continent of {texts[0].removesuffix(' is').lower()} is"
        for sentence, text in zip(one["sentences"], (*texts, chain), strict=False):
            sentence["text"] = text
        rows.append(one)
    return of_rows(rows, "r" if chains else "c")


@pytest.mark.parametrize("chains", [False, True])
def test_lexical_floor_is_the_cosine_of_the_sentences_words(chains: bool) -> None:
    examples = worded(chains)
    words = [set(text.lower().replace(",", "").split()) for text in examples.texts]

    def sim(one: int, other: int) -> float:
        return len(words[one] & words[other]) / (len(words[one]) * len(words[other])) ** 0.5

    expected = []
    for example in range(3):
        mine = [place for place, of in enumerate(examples.example) if of == example]
        others = [place for place, of in enumerate(examples.example) if of != example]
        pairs = [
            sim(one, other)
            for one, other in itertools.combinations(mine, 2)
            if not chains or examples.chain[other]
        ]
        candidate = sum(pairs) / len(pairs)
        everything = sum(sim(one, other) for one in mine for other in others) / len(mine) / len(others)
        expected.append(max((candidate - everything) / (1 - everything), 0))
    found = overall(lexical({examples.subtask: examples}).measures)
    floor = found["rsim", "all"]
    assert floor["value"] == APPROX(sum(expected) / 3)
    assert floor["value"] > 0.1
    assert floor["k"] is None
    assert ("rsim", "same_relation") in found


def test_lexical_floor_does_not_depend_on_other_subtasks(population: dict[str, Examples]) -> None:
    """Random words once were units too, and left 1 % of the units far beyond the words of a sentence."""
    alone = lexical({"c": population["c"]}).measures
    together = [row for row in lexical(population).measures if row["subtask"] == "c"]
    assert alone == together


def test_same_seed_same_scores_and_pytorch_chooses_alike(population: dict[str, Examples]) -> None:
    torch = pytest.importorskip("torch")
    scores = reference("random", list(population.values()), 300, seed=3)
    again = reference("random", list(population.values()), 300, seed=3)
    assert (scores.signed(slice(None)) == again.signed(slice(None))).all()
    tied = scores._replace(dense=np.round(scores.signed(slice(None)), 1))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    numpy, pytorch = (locate(tied, [Fraction(10)], device=where).selections[0] for where in (None, device))
    assert (numpy.top == pytorch.top).all()
    with pytest.raises(InputError, match=r"--device nowhere: .*; leave it out"):
        locate(tied, [Fraction(10)], device="nowhere")
