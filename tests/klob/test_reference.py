"""Reference locators: what their scores must be."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.klob_scores import row

from factdrift.klob.scoring.evaluate import Choices, evaluate
from factdrift.klob.scoring.examples import Examples, of_rows
from factdrift.klob.scoring.locator import Scores
from factdrift.klob.scoring.reference import reference
from factdrift.klob.scoring.selection import locate

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


def test_lexical_floor(population: dict[str, Examples]) -> None:
    scores = reference("lexical", list(population.values()), 1)
    # "words 7 2": all sentences share a word, those of an example their number.
    assert scores.units == len(
        {word for part in population.values() for text in part.texts for word in text.split()}
    )
    found = measured(scores, population, ties="fractional")
    assert 0 < found["c", "rsim", "all"] < 0.7
    assert found["c", "sim_all", "all"] > 0.2


def test_same_seed_same_scores_and_pytorch_chooses_alike(population: dict[str, Examples]) -> None:
    torch = pytest.importorskip("torch")
    scores = reference("random", list(population.values()), 300, seed=3)
    again = reference("random", list(population.values()), 300, seed=3)
    assert (scores.signed(slice(None)) == again.signed(slice(None))).all()
    tied = scores._replace(dense=np.round(scores.signed(slice(None)), 1))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    numpy, pytorch = (locate(tied, [Fraction(10)], device=where).selections[0] for where in (None, device))
    assert (numpy.top == pytorch.top).all()
