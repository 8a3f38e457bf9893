"""RSim against a naive comparison of all pairs."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.klob_scores import dense, row

from factdrift.klob.scoring.evaluate import Choices, evaluate
from factdrift.klob.scoring.inputs import Examples, of_rows
from factdrift.klob.scoring.rsim import POPULATIONS, Results, by_examples, similarity, total_overlap
from factdrift.klob.scoring.selection import locate, of_top

APPROX = pytest.approx


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Examples, np.ndarray]:
    subtask = draw(st.sampled_from("cr"))
    rows = []
    for example in range(draw(st.integers(1, 5))):
        kinds = "e" * draw(st.integers(1, 4)) + ("c" if subtask == "r" else "")
        labels = {"s": draw(st.sampled_from("AB")), "p1": draw(st.sampled_from("PQ"))}
        rows.append(row(example, kinds, **labels, o1=draw(st.sampled_from("XY"))))
    examples = of_rows(rows, subtask)
    units = draw(st.integers(2, 7))
    scores = draw(
        st.lists(
            st.lists(st.integers(0, 3), min_size=units, max_size=units),
            min_size=len(examples.sentences),
            max_size=len(examples.sentences),
        )
    )
    return examples, np.array(scores, np.float64)


def naive_weights(scores: np.ndarray, chosen: int, ties: str) -> list[dict[int, Fraction]]:
    found = []
    for each in scores.tolist():
        order = sorted(range(len(each)), key=lambda unit: (-each[unit], unit))
        if ties == "index":
            found.append(dict.fromkeys(order[:chosen], Fraction(1)))
            continue
        last = each[order[chosen - 1]]
        group = [unit for unit in order if each[unit] == last]
        above = [unit for unit in order if each[unit] > last]
        share = Fraction(chosen - len(above), len(group))
        found.append(dict.fromkeys(above, Fraction(1)) | dict.fromkeys(group, share))
    return found


def naive_sim(one: dict[int, Fraction], other: dict[int, Fraction], chosen: int) -> Fraction:
    return sum((one[unit] * other[unit] for unit in one.keys() & other.keys()), Fraction(0)) / chosen


def naive_population(
    examples: Examples,
    weights: list[dict[int, Fraction]],
    means: list[dict[int, Fraction]],
    chosen: int,
    population: str,
    exclude: str,
) -> list[Fraction | None]:
    """Sim_all of each example by comparing each of its sentences with all others.

    In the population `examples` the others are `means`, one for each example.
    """
    of_examples = zip(np.searchsorted(examples.example, np.arange(len(means))), means, strict=True)
    others = [*of_examples] if population == "examples" else [*enumerate(weights)]
    own = {"fact": examples.fact, "example": examples.example, "none": np.full(len(weights), -1)}[exclude]

    def against(one: int, wanted: str) -> Fraction | None:
        similarities = []
        for other, weight in others:
            same = exclude != "none" and own[other] == own[one]
            fits = {
                "all": True,
                "examples": True,
                "singles": not examples.chain[other],
                "chains": bool(examples.chain[other]),
                "same_relation": examples.relation[one] == examples.relation[other],
                "same_subject": examples.subject[one] == examples.subject[other],
            }[wanted]
            if fits and not same:
                similarities.append(naive_sim(weights[one], weight, chosen))
        return sum(similarities, Fraction(0)) / len(similarities) if similarities else None

    found: list[Fraction | None] = []
    for example in range(len(examples.names)):
        mine = np.flatnonzero(examples.example == example).tolist()
        if population == "cross":
            halves = [
                [against(one, "chains") for one in mine if not examples.chain[one]],
                [against(one, "singles") for one in mine if examples.chain[one]],
            ]
        else:
            halves = [[against(one, population) for one in mine]]
        if any(value is None for half in halves for value in half) or not all(halves):
            found.append(None)
        else:
            found.append(sum(sum(half) / len(half) for half in halves) / len(halves))
    return found


@settings(max_examples=examples(120))
@given(
    worlds(),
    st.integers(1, 100),
    st.sampled_from(["index", "fractional"]),
    st.sampled_from(["fact", "example", "none"]),
)
def test_equals_comparing_all_pairs(
    world: tuple[Examples, np.ndarray], percent: int, ties: str, exclude: str
) -> None:
    examples, table = world
    scores = dense(*map(tuple, table.tolist()), sentences=examples.sentences)
    selection = locate(scores, [Fraction(percent)], ties).selections[0]
    weights = naive_weights(table, selection.chosen, ties)
    given_ = Results(examples, selection, np.arange(len(table)))
    names = [name for name in POPULATIONS[examples.subtask] if name != "permuted"]
    compared = {name: similarity(given_, name, exclude) for name in names}
    if ties == "fractional":
        compared["examples"] = by_examples(given_, scores, exclude)
    vectors = [table[examples.example == place].mean(axis=0) for place in range(len(examples.names))]
    means = naive_weights(np.stack(vectors), selection.chosen, "fractional")
    for population, found in compared.items():
        expected = naive_population(examples, weights, means, selection.chosen, population, exclude)
        for example, value in enumerate(expected):
            mine = np.flatnonzero(examples.example == example).tolist()
            pairs = [
                naive_sim(weights[one], weights[other], selection.chosen)
                for one, other in itertools.combinations(mine, 2)
                if examples.subtask == "c" or examples.chain[one] != examples.chain[other]
            ]
            if pairs:
                assert found.candidate[example] == APPROX(float(sum(pairs) / len(pairs)))
            else:
                assert np.isnan(found.candidate[example])
            if value is None:
                assert np.isnan(found.population[example])
            else:
                assert found.population[example] == APPROX(float(value))


def test_noise_with_ties_scores_at_chance_for_every_population() -> None:
    """Means of few integers tie less than the integers, which must not pass for consistency."""
    for kinds, subtask in (("eee", "c"), ("eeec", "r")):
        examples = of_rows([row(number, kinds) for number in range(300)], subtask)
        table = np.random.default_rng(5).integers(0, 3, (len(examples.sentences), 50)).astype(float)
        scores = dense(*map(tuple, table.tolist()), sentences=examples.sentences)
        choices = Choices((Fraction(5),), unit="examples", sim_all="paper_approx")
        found = {
            row["population"]: row
            for row in evaluate(scores, {subtask: examples}, choices).measures
            if row["measure"] == "rsim_raw" and row["relation"] is None and row["n"]
        }
        assert {"all", "examples", "paper_approx"} <= found.keys()
        assert all(abs(row["value"]) < 0.05 for row in found.values()), found


def test_large_and_small_labels_count_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    dice = np.random.default_rng(0)
    top = np.stack([dice.choice(500, 20, replace=False) for _ in range(200)])
    selection = of_top(20, 500, top)
    rows, labels = np.arange(200), dice.integers(0, 30, 200)
    expected = [
        sum(len(set(top[one]) & set(top[other])) for other in rows if labels[one] == labels[other])
        for one in rows
    ]
    assert total_overlap(selection, rows, labels).tolist() == expected
    for entries in (1, 100, 10**9):
        monkeypatch.setattr("factdrift.klob.scoring.rsim._ENTRIES", entries)
        assert total_overlap(selection, rows, labels).tolist() == expected
    monkeypatch.undo()
    wide = of_top(20, 10**7, top)
    assert total_overlap(wide, rows, labels).tolist() == expected
