"""RSim and RSD: the vectors of the specification, and what is left out or degenerate."""

from fractions import Fraction

import numpy as np
import pytest
from support.klob_scores import dense, overall, row

from factdrift.core.errors import InputError
from factdrift.klob.scoring.evaluate import Choices, evaluate, paired, rsd
from factdrift.klob.scoring.inputs import of_rows
from factdrift.klob.scoring.rsim import Results, approximate, pair_overlap, similarity, total_overlap
from factdrift.klob.scoring.selection import Selection, how_many, locate

APPROX = pytest.approx


@pytest.mark.parametrize(
    ("units", "percent", "chosen"),
    [(1000, "1", 10), (150, "1", 2), (250, "1", 3), (49, "1", 1), (40, "0.1", 1), (7, "100", 7)],
)
def test_how_many_units(units, percent, chosen):
    assert how_many(units, Fraction(percent)) == chosen


def of_top(units: int, *sets: tuple[int, ...]) -> Selection:
    return Selection(len(sets[0]), units, np.zeros(len(sets)), np.array(sets))


CONSISTENT = of_rows([row(0, "eee"), row(1, "eee")], "c")
RELEVANT = of_rows([row(0, "eeec"), row(1, "eeec")], "r")
V2 = ((0, 1), (0, 1), (0, 2), (3, 4), (3, 5), (0, 3))
V3 = ((0, 1), (0, 1), (0, 2), (0, 6), (3, 4), (3, 5), (3, 4), (4, 7))
V4 = ((0, 1), (0, 1), (0, 2), (0, 3), (3, 4), (3, 5), (3, 4), (0, 3))


def test_v1_literal_and_own_excluded():
    selection = of_top(6, (1, 2), (1, 3), (4, 5))
    rows = np.arange(3)
    total = total_overlap(selection, rows, np.zeros(3, np.int64))
    assert (total / 3 / 2).tolist() == [1 / 2, 1 / 2, 1 / 3]
    own = total_overlap(selection, rows, rows)
    assert ((total - own) / 2 / 2).tolist() == [1 / 4, 1 / 4, 0]


def test_v1_paper_approximation_and_one_large_sentence():
    rows = [(0, 2, 1, 0, 0, 0), (0, 2, 0, 1, 0, 0), (0, 0, 0, 0, 2, 1)]
    example = of_rows([row(0, "e"), row(1, "e"), row(2, "e")], "c")
    each = []
    for factor in (1, 100):
        scores = dense(*rows[:2], tuple(factor * score for score in rows[2]))
        found = locate(scores, [Fraction(100, 3)])
        assert found.selections[0].chosen == 2
        given_ = Results(example, found.selections[0], np.arange(3))
        each.append(approximate(given_, scores).population.tolist())
    assert each == [[1 / 2, 1 / 2, 1 / 2], [0, 0, 1]]


@pytest.mark.parametrize(
    ("examples", "units", "population", "exclude", "candidate", "everything", "rsim"),
    [
        (CONSISTENT, V2, "all", "fact", [2 / 3, 1 / 2], [1 / 6, 1 / 6], [3 / 5, 2 / 5]),
        (CONSISTENT, V2, "all", "none", [2 / 3, 1 / 2], [17 / 36, 5 / 12], [7 / 19, 1 / 7]),
        (RELEVANT, V3, "all", "fact", [1 / 2, 1 / 3], [0, 0], [1 / 2, 1 / 3]),
        (RELEVANT, V3, "all", "none", [1 / 2, 1 / 3], [11 / 32, 5 / 16], [5 / 21, 1 / 33]),
        (RELEVANT, V4, "all", "fact", [1 / 2, 1 / 2], [1 / 4, 1 / 4], [1 / 3, 1 / 3]),
        (RELEVANT, V4, "cross", "fact", [1 / 2, 1 / 2], [1 / 2, 1 / 2], [0, 0]),
        (RELEVANT, V4, "all", "none", [1 / 2, 1 / 2], [15 / 32, 15 / 32], [1 / 17, 1 / 17]),
    ],
)
def test_v2_to_v4(examples, units, population, exclude, candidate, everything, rsim):
    found = similarity(Results(examples, of_top(10, *units), np.arange(len(units))), population, exclude)
    assert found.candidate.tolist() == APPROX(candidate)
    assert found.population.tolist() == APPROX(everything)
    assert found.rsim().tolist() == APPROX(rsim)


def test_v2_approximation_from_zeros_and_ones():
    rows = np.zeros((6, 10))
    np.put_along_axis(rows, np.array(V2), 1, axis=1)
    scores = dense(*map(tuple, rows.tolist()), sentences=CONSISTENT.sentences)
    near = approximate(
        Results(CONSISTENT, locate(scores, [Fraction(20)]).selections[0], np.arange(6)), scores
    )
    assert near.population.tolist() == APPROX([1 / 2, 2 / 3])
    assert near.raw().tolist() == APPROX([1 / 3, -1 / 2])
    assert near.rsim().tolist() == APPROX([1 / 3, 0])

    found = evaluate(scores, {"c": CONSISTENT}, Choices((Fraction(20),), sim_all="paper_approx"))
    values = {(row["measure"], row["population"], row["relation"]): row["value"] for row in found.measures}
    assert values["rsim", "all", None] == APPROX(1 / 2)
    assert values["rsim_of_means", "all", None] == APPROX(1 / 2)
    assert values["rsim", "paper_approx", None] == APPROX(1 / 6)
    assert values["rsim_raw", "paper_approx", None] == APPROX(-1 / 12)
    assert values["rsim", "all", "P1"] == values["rsim_macro", "all", None] == APPROX(1 / 2)
    assert values["rsim", "same_subject", None] is None
    assert values["left_out", "same_subject", None] == 2
    assert values["rsd", None, None] is None


def fractional(*rows: tuple[float, ...], chosen: int) -> Selection:
    scores = dense(*rows)
    found = locate(scores, [Fraction(100 * chosen, scores.units)], "fractional")
    assert found.selections[0].chosen == chosen
    return found.selections[0]


def overlap(selection: Selection, left: int, right: int) -> float:
    return float(pair_overlap(selection, np.array([left]), np.array([right]))[0]) / selection.chosen


def test_v5_ties():
    tied, untied = (5, 3, 3, 3, 1, 1), (5, 4, 3, 3, 1, 1)
    by_index = locate(dense(tied), [Fraction(100, 3)]).selections[0]
    assert by_index.part(np.array([0])).indices.tolist() == [0, 1]
    assert by_index.tie_share.tolist() == [1 / 2]
    shared = fractional(tied, untied, chosen=2)
    weights = shared.part(np.array([0])).toarray()[0]
    assert weights.tolist() == APPROX([1, 1 / 3, 1 / 3, 1 / 3, 0, 0])
    assert overlap(shared, 0, 0) == APPROX(2 / 3)
    assert overlap(shared, 0, 1) == APPROX(2 / 3)

    constant = fractional((7,) * 6, (7,) * 6, chosen=2)
    assert constant.part(np.array([1])).toarray()[0].tolist() == APPROX([1 / 3] * 6)
    assert constant.tie_share.tolist() == [1, 1]
    assert overlap(constant, 0, 1) == APPROX(1 / 3)
    index = locate(dense(*[(7.0,) * 6] * 6, sentences=CONSISTENT.sentences), [Fraction(100, 3)])
    found = similarity(Results(CONSISTENT, index.selections[0], np.arange(6)), "all")
    assert found.candidate.tolist() == found.population.tolist() == [1, 1]
    assert found.degenerate().all()
    assert found.rsim().tolist() == [0, 0]


FACTUAL = ((0, 0, 0, 4), (1, 3, 1, 3), (2, 2, 2, 6))
RANDOM = ((1, 1, 1, 1), (0, 2, 0, 2))


def spread(rows: tuple[tuple[int, ...], ...], factor: float = 1) -> np.ndarray:
    return locate(dense(*[tuple(factor * score for score in row) for row in rows]), [Fraction(25)]).sd


def test_v6_rsd():
    factual, random = spread(FACTUAL), spread(RANDOM)
    assert factual.tolist() == APPROX([3**0.5, 1, 3**0.5])
    assert random.tolist() == [0, 1]
    found = rsd({"c": factual}, random)
    assert found.factual == APPROX(1.4880338717, abs=1e-10)
    assert found.nonfactual == 0.5
    assert found.value == APPROX(0.6639861434, abs=1e-10)
    assert rsd({"c": factual}, spread(RANDOM, 2)).value == APPROX(0.3279722868, abs=1e-10)
    shifted = tuple(tuple(score + 10 * place for score in row) for place, row in enumerate(FACTUAL))
    assert spread(shifted).tolist() == APPROX(factual.tolist())
    pooled = rsd({"c": factual[:2], "r": factual[2:]}, random, "subtasks")
    assert pooled.factual == APPROX(1.5490381057, abs=1e-10)


def test_the_interval_of_rsd_is_that_of_a_ratio_of_means():
    """Variances of the means are 1 / 3 and 1 / 4, the ratio is 1 / 2 and the divisor 2."""
    found = rsd({"c": np.array([1.0, 2.0, 3.0])}, np.array([0.5, 1.5]))
    half = 1.96 * (1 / 4 / 2**2 + 1 / 3 * (1 / 2) ** 2 / 2**2) ** 0.5
    assert (found.unclipped, found.low, found.high) == (0.5, APPROX(0.5 - half), APPROX(0.5 + half))


def test_v6_by_the_tables_with_the_cv_version():
    c = of_rows([row(0, "eee")], "c")
    u = of_rows([row(0, "uu")], "u")
    scores = dense(*FACTUAL, *RANDOM, sentences=[*c.sentences, *u.sentences])
    found = evaluate(scores, {"c": c, "u": u}, Choices((Fraction(25),)))
    values = {row["measure"]: row for row in found.measures if row["subtask"] is None}
    assert values["rsd"]["value"] == APPROX(0.6639861434, abs=1e-10)
    assert values["rsd_cv"]["value"] == APPROX(0.4660783708, abs=1e-10)
    # Each random sentence copied one of the first two: 1 - 0 / sqrt 3 and 1 - 1 / 1.
    assert values["rsd_paired"]["value"] == APPROX(1 / 2)
    assert values["rsd_paired_p_value"]["value"] == 1
    assert values["rsd_unclipped"]["low"] < 0.664 < values["rsd_unclipped"]["high"]
    concentrated = [np.log(4) - np.log(1), np.log(4) - np.log(2), np.log(4) - np.log(1)]
    assert values["rsd_entropy_factual"]["value"] == APPROX(np.mean(concentrated))


def test_degenerate_spreads():
    assert rsd({"c": np.zeros(3)}, np.ones(2)).value is None
    assert rsd({}, np.ones(2)).value is None
    assert rsd({"c": np.ones(2)}, np.empty(0)).value is None
    assert rsd({"c": np.ones(2)}, np.full(2, 3.0)).value == 0
    assert paired(np.ones(2), np.zeros(2)).value is None
    assert paired(np.array([1.0, 1]), np.array([2.0, 0])).pairs == 1


def test_infinite_scores_exclude_the_sentence_and_its_example():
    rows = [[float(place), 1.0, 2.0, 5.0] for place in range(6)]
    rows[1][2] = float("nan")
    scores = dense(*map(tuple, rows), sentences=CONSISTENT.sentences)
    found = evaluate(scores, {"c": CONSISTENT}, Choices((Fraction(25),)))
    values = overall(found.measures)
    assert values["excluded_sentences", None]["value"] == 1
    assert values["rsim", "all"]["n"] == 1
    assert values["left_out", "all"]["value"] == 1
    assert values["tie_share", None]["n"] == 5
    # Of the last sentence two units tie for the one place.
    assert (values["tied_sentences", None]["value"], values["tied_sentences", None]["n"]) == (1, 5)


def test_an_empty_subtask_and_one_without_scores():
    empty = of_rows([], "c")
    scores = dense((1.0, 2.0), sentences=["other"])
    found = evaluate(scores, {"c": empty, "r": RELEVANT}, Choices((Fraction(50),)))
    assert not any(row["measure"] == "rsim" for row in found.measures)
    assert all(row["value"] is None for row in found.measures if row["measure"] == "rsd")
    with pytest.raises(InputError, match=r"5 of 6 sentences of KLoB-c have no scores, the first is c0\.1"):
        evaluate(scores._replace(sentences=["c0.0"]), {"c": CONSISTENT}, Choices((Fraction(50),)))
