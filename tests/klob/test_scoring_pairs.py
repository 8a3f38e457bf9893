"""RSim against a naive comparison of all pairs, and the measures against plain sums over the examples."""

import itertools
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.klob_scores import dense, row

from factdrift.klob.scoring.evaluate import ABOVE, Choices, evaluate
from factdrift.klob.scoring.inputs import Examples, of_rows
from factdrift.klob.scoring.rsim import POPULATIONS, Results, approximate, similarity, total_overlap
from factdrift.klob.scoring.selection import Selection, locate

APPROX = pytest.approx
Weights = dict[int, Fraction]


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Examples, np.ndarray, np.ndarray]:
    """Examples, the row of each of their sentences in the scores (-1: none), and few different scores."""
    subtask = draw(st.sampled_from("cr"))
    rows = []
    for example in range(draw(st.integers(1, 5))):
        kinds = "e" * draw(st.integers(1, 4)) + ("c" if subtask == "r" else "")
        labels = {"s": draw(st.sampled_from("AB")), "p1": draw(st.sampled_from("PQ"))}
        rows.append(row(example, kinds, **labels, o1=draw(st.sampled_from("XY"))))
    examples = of_rows(rows, subtask)
    number, units = len(examples.sentences), draw(st.integers(2, 7))
    numbers = st.lists(st.integers(0, 3), min_size=units, max_size=units)
    scores = draw(st.lists(numbers, min_size=number, max_size=number))
    # One sentence may be in several examples, or have no scores.
    where = draw(st.lists(st.sampled_from([*range(number), None, -1]), min_size=number, max_size=number))
    known = [index if other is None else other for index, other in enumerate(where)]
    return examples, np.array(known), np.array(scores, np.float64)


def naive_weights(scores: Iterable[float], chosen: int, ties: str) -> Weights:
    values = list(scores)
    order = sorted(range(len(values)), key=lambda unit: (-values[unit], unit))
    if ties == "index":
        return dict.fromkeys(order[:chosen], Fraction(1))
    last = values[order[chosen - 1]]
    tied = [unit for unit in order if values[unit] == last]
    above = [unit for unit in order if values[unit] > last]
    share = Fraction(chosen - len(above), len(tied))
    return dict.fromkeys(above, Fraction(1)) | dict.fromkeys(tied, share)


def mean(values: Iterable[Fraction | None]) -> Fraction | None:
    """None if there are none, or one of them is None."""
    known = list(values)
    if not known or None in known:
        return None
    return sum((value for value in known if value is not None), Fraction(0)) / len(known)


class Naive:
    """Similarities of sentences by comparing their weights one by one."""

    def __init__(self, examples: Examples, weights: list[Weights | None], chosen: int, exclude: str):
        self.examples, self.weights, self.chosen = examples, weights, chosen
        self.own = {"fact": examples.fact, "example": examples.example, "none": None}[exclude]

    def sim(self, one: Weights, other: Weights) -> Fraction:
        return sum((one[u] * other[u] for u in one.keys() & other.keys()), Fraction(0)) / self.chosen

    def candidate(self, example: int) -> Fraction | None:
        mine = np.flatnonzero(self.examples.example == example).tolist()
        return mean(
            None if left is None or right is None else self.sim(left, right)
            for one, other in itertools.combinations(mine, 2)
            if self.examples.subtask == "c" or self.examples.chain[one] != self.examples.chain[other]
            for left, right in [(self.weights[one], self.weights[other])]
        )

    def of_sentence(self, one: int, population: str) -> Fraction | None:
        """Sim_all of a sentence; None if it has no scores or there is no other result."""
        examples, weights = self.examples, self.weights[one]
        if weights is None:
            return None
        fits: dict[str, Callable[[int], bool]] = {
            "all": lambda other: True,
            "singles": lambda other: not examples.chain[other],
            "chains": lambda other: bool(examples.chain[other]),
            "same_relation": lambda other: examples.relation[one] == examples.relation[other],
            "same_subject": lambda other: examples.subject[one] == examples.subject[other],
        }
        return mean(
            self.sim(weights, other_weights)
            for other, other_weights in enumerate(self.weights)
            if other_weights is not None and fits[population](other)
            if self.own is None or self.own[other] != self.own[one]
        )

    def of_example(self, example: int, population: str) -> Fraction | None:
        mine = np.flatnonzero(self.examples.example == example).tolist()
        if population != "cross":
            return mean(self.of_sentence(one, population) for one in mine)
        chain = self.examples.chain
        singles = mean(self.of_sentence(one, "chains") for one in mine if not chain[one])
        return mean([singles, mean(self.of_sentence(one, "singles") for one in mine if chain[one])])


def same(found: np.ndarray, expected: list[Fraction | None]) -> None:
    assert found.tolist() == APPROX(
        [np.nan if value is None else float(value) for value in expected], nan_ok=True
    )


@settings(max_examples=examples(120))
@given(
    worlds(),
    st.integers(1, 100),
    st.sampled_from(["index", "fractional"]),
    st.sampled_from(["fact", "example", "none"]),
)
def test_equals_comparing_all_pairs(world, percent, ties, exclude):
    examples, rows, table = world
    scores = dense(*map(tuple, table.tolist()), sentences=examples.sentences)
    selection = locate(scores, [Fraction(percent)], ties).selections[0]
    chosen, each = selection.chosen, range(len(examples.names))
    weights = [naive_weights(table[at], chosen, ties) if at >= 0 else None for at in rows]
    naive = Naive(examples, weights, chosen, exclude)
    results = Results(examples, selection, rows)
    for population in POPULATIONS[examples.subtask]:
        if population != "permuted":
            found = similarity(results, population, exclude)
            same(found.candidate, [naive.candidate(example) for example in each])
            same(found.population, [naive.of_example(example, population) for example in each])
    # The paper's approximation: the best units of the mean over all results.
    if (rows >= 0).any():
        typical = naive_weights(table[rows[rows >= 0]].sum(axis=0).tolist(), chosen, "fractional")
        near = [None if own is None else naive.sim(own, typical) for own in weights]
        expected = [mean(near[one] for one in np.flatnonzero(examples.example == n)) for n in each]
        same(approximate(results, scores).population, expected)


def test_noise_with_ties_scores_at_chance_for_every_population():
    """A mean of few integers ties less than the integers, which must not pass for consistency."""
    for kinds, subtask in (("eee", "c"), ("eeec", "r")):
        examples = of_rows([row(number, kinds) for number in range(300)], subtask)
        table = np.random.default_rng(5).integers(0, 3, (len(examples.sentences), 50)).astype(float)
        scores = dense(*map(tuple, table.tolist()), sentences=examples.sentences)
        found = {
            row["population"]: row
            for row in evaluate(
                scores, {subtask: examples}, Choices((Fraction(5),), sim_all="paper_approx")
            ).measures
            if row["measure"] == "rsim_raw" and row["relation"] is None and row["n"]
        }
        assert {"all", "paper_approx"} <= found.keys()
        assert all(abs(row["value"]) < 0.05 for row in found.values()), found


def test_large_and_small_labels_count_alike(monkeypatch):
    dice = np.random.default_rng(0)
    top = np.stack([dice.choice(500, 20, replace=False) for _ in range(200)])
    rows, labels = np.arange(200), dice.integers(0, 30, 200)
    among = dice.random(200) < 0.7
    expected = [
        sum(len(set(top[one]) & set(top[other])) for other in rows[among] if labels[one] == labels[other])
        for one in rows
    ]
    for entries in (1, 100, 4_000_000, 10**9):
        monkeypatch.setattr("factdrift.klob.scoring.rsim._ENTRIES", entries)
        for units in (500, 2000, 10**7):
            selection = Selection(20, units, np.zeros(200), top)
            assert total_overlap(selection, rows, labels, among).tolist() == expected


@pytest.mark.parametrize(("subtask", "kinds"), [("c", "eee"), ("r", "eeec")])
def test_measures_are_sums_over_the_examples(subtask, kinds):
    """Most facts have two examples; one is alone in its relation, and without usable scores."""
    rows = [row(n, kinds, s=f"Q{n // 2}", p1=f"P{n // 2 % 3}" if n else "P9") for n in range(12)]
    examples = of_rows(rows, subtask)
    table = np.random.default_rng(3).random((len(examples.sentences), 30))
    table[0, 4] = np.inf
    scores = dense(*map(tuple, table.tolist()), sentences=examples.sentences)
    found = evaluate(scores, {subtask: examples}, Choices((Fraction(10), Fraction(20)), seed=4)).measures
    for percent, chosen in ((Fraction(10), 3), (Fraction(20), 6)):
        mine = [row for row in found if row["k"] == float(percent)]
        assert {(row["chosen"], row["effective_k"]) for row in mine} == {(chosen, 100 * chosen / 30)}
        usable = np.arange(len(table))
        usable[0] = -1
        results = Results(examples, locate(scores, [percent]).selections[0], usable)
        raws = {}
        for population in POPULATIONS[subtask]:
            similar = similarity(results, population, seed=4)
            raw = raws[population] = similar.raw()
            known = ~np.isnan(raw)
            values = {
                (row["measure"], row["relation"]): (row["value"], row["n"])
                for row in mine
                if row["population"] == population and row["measure"] != ABOVE
            }
            number = int(known.sum())
            both = [part[known].mean() if number else None for part in similar]
            clipped = np.maximum(raw, 0)
            assert values["left_out", None] == (12 - number, 12)
            assert values["degenerate", None] == (0, number)
            if not number:
                assert values["rsim", None] == values["rsim_of_means", None] == (None, 0)
                continue
            assert values["rsim", None] == (APPROX(clipped[known].mean()), number)
            assert values["rsim_raw", None] == (APPROX(raw[known].mean()), number)
            assert values["sim_cand", None] == (APPROX(both[0]), number)
            assert values["sim_all", None] == (APPROX(both[1]), number)
            assert values["rsim_of_means", None] == (APPROX((both[0] - both[1]) / (1 - both[1])), number)
            means = []
            for relation in set(examples.relations):
                own = known & (np.array(examples.relations) == relation)
                means += [clipped[own].mean()] if own.any() else []
                assert values["rsim", relation] == (
                    APPROX(clipped[own].mean()) if own.any() else None,
                    own.sum(),
                )
            assert values["rsim_macro", None] == (APPROX(np.mean(means)), len(means))
        gain = raws["all"] - raws["permuted"]
        (above,) = (row for row in mine if row["measure"] == ABOVE)
        assert (above["value"], above["n"]) == (APPROX(np.nanmean(gain)), (~np.isnan(gain)).sum())
        # Examples of one fact are one draw: the variance is that of the sums over the facts, with n - 1.
        facts = examples.fact[np.searchsorted(examples.example, np.arange(12))]
        sums = [np.nansum((gain - np.nanmean(gain))[facts == fact]) for fact in set(facts.tolist())]
        n, groups = above["n"], len({f for f, value in zip(facts, gain, strict=True) if value == value})
        half = 1.96 * (sum(value**2 for value in sums) * groups / (groups - 1)) ** 0.5 / n
        assert (above["low"], above["high"]) == (
            APPROX(np.nanmean(gain) - half),
            APPROX(np.nanmean(gain) + half),
        )
