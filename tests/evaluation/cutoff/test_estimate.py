"""The estimate on answers whose date is known, and beside a slow plain one on random chains."""

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.optimize import differential_evolution

from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.cutoff import SAMPLE_DATES, read_chains
from factdrift.evaluation.scores.cutoff import (
    TABLE,
    CutoffSettings,
    cutoffs_of,
    death_choices,
    holm,
    quarters,
    span_of,
    tables,
)
from factdrift.evaluation.scores.cutoff_answers import ANSWERS
from factdrift.evaluation.scores.cutoff_fit import among_holders, chance_of_no_date, draw_subjects, estimate
from factdrift.evaluation.scores.cutoff_model import Choices, Part, Tenures, parts
from factdrift.evaluation.scores.cutoff_report import lines, message
from factdrift.tempripple.score import Cutoff

Row = dict[str, Any]
Chain = list[list[Part]]
SPAN = span_of(SAMPLE_DATES)


@cache
def chains() -> tuple[Row, ...]:
    """Every second of the bundled chains."""
    return tuple(row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None)[::2]


@cache
def tenures() -> Tenures:
    return Tenures.of([[parts(holder["tenures"]) for holder in row["holders"]] for row in chains()])


def ordinal(day: str) -> int:
    return datetime.date.fromisoformat(day).toordinal()


def choices_of(chosen: Any, neutral: Any) -> Choices:
    """Of the bundled chains: places among the holders of all."""
    subjects = {name: place for place, name in enumerate(dict.fromkeys(row["subject"] for row in chains()))}
    return Choices(tenures(), chosen, neutral, np.array([subjects[row["subject"]] for row in chains()]))


def guessed(seed: int) -> Any:
    """A holder of each chain, all alike."""
    return tenures().start + np.random.default_rng(seed).integers(0, tenures().size)


def mixed(own: Tenures, neutral: Any, date: float, tau: float, eps: float, lam: float) -> Any:
    """The chance of each holder of all chains by the model."""
    known = own.chances(np.array([date]), np.array([tau]))[:, 0].astype(float)
    otherwise = (1 - lam) * own.even
    otherwise[neutral] += lam
    return (1 - eps) * known + eps * otherwise


def drawn(own: Tenures, neutral: Any, rng: np.random.Generator, *model: float) -> Any:
    """A holder of each chain by these chances."""
    chances = np.split(mixed(own, neutral, *model), own.start[1:])
    return own.start + [rng.choice(len(each), p=each / each.sum()) for each in chances]


def simulated(date: str, tau: float, eps: float, seed: int) -> Choices:
    rng, neutral = np.random.default_rng(seed), guessed(seed + 100)
    return choices_of(drawn(tenures(), neutral, rng, ordinal(date), tau, eps, 0.3), neutral)


def answers(choices: Choices) -> list[Row]:
    """Rows of ANSWERS with scores by which the choices are the best."""
    rows = []
    for place, row in enumerate(chains()):
        choice = int(choices.chosen[place] - choices.tenures.start[place])
        scores = [-1.0 if number == choice else -3.0 - number for number in range(len(row["holders"]))]
        own = {"choice": choice, "likely": int(choices.neutral[place] - choices.tenures.start[place])}
        kept = {name: row.get(name) for name in ANSWERS.names}
        head = {"model": "m", "way": "likelihood", "popularity": None}
        rows.append({**kept, **head, "scores": scores, **own})
    return rows


def method(permutations: int = 200) -> CutoffSettings:
    return CutoffSettings(SPAN, seed=0, draws=100, permutations=permutations)


@pytest.mark.slow
def test_a_model_that_always_names_the_newest_holder_is_after_the_stream():
    newest = []
    for row in chains():
        lasts = [max(each["last"] or 99999999 for each in holder["tenures"]) for holder in row["holders"]]
        newest.append(lasts.index(max(lasts)))
    told = answers(choices_of(tenures().start + newest, guessed(3)))
    # No relation has chains enough for a date of its own.
    rows, _ = tables([{**row, "relation": row["chain"]} for row in told], method())
    assert rows[0].get("date") is None
    assert message(rows[0]) == "m answers as of a day after 2024-12-31"


def test_a_model_that_guesses_has_neither_date_nor_subsets_nor_latest_knowledge():
    (row,), _ = tables(answers(choices_of(guessed(0), tenures().start)), method(400))
    assert (row["verdict"], row["latest"]) == ("none", None)
    # Nor one that prefers some names.
    choices = choices_of(guessed(0), guessed(0))
    assert chance_of_no_date(choices, SPAN, among_holders(choices), np.random.default_rng(1), 200) == 1


@pytest.mark.slow
def test_half_of_the_relations_three_years_later_are_found_by_relation():
    early, late = simulated("2016-03-01", 30, 0.1, 1), simulated("2019-03-01", 30, 0.1, 2)
    second = np.array([row["relation"] in ("P6", "P35", "P286", "P169") for row in chains()])
    mixed = choices_of(np.where(second, late.chosen, early.chosen), early.neutral)
    told = answers(mixed)
    rows, _ = tables(told, method())
    assert rows[0]["tau"] >= 200
    said = next(line for line in lines(rows, told) if line.startswith("relation head of government "))
    row = next(row for row in rows if row["value"] == "P6")
    assert said.split()[4:6] == [str(row["informative"]), row["date"]]
    found = {row["value"]: row["date"] for row in rows if row["subset"] == "relation"}
    later = {name for name, date in found.items() if date > "2018"}
    assert later == {"P6", "P286", "P169", "P35"} & found.keys()
    assert abs(np.datetime64(found["P1308"]) - np.datetime64("2016-03-01")) < np.timedelta64(60, "D")


def holders_of(*tenures: tuple[int | None, int | None]) -> list[Row]:
    return [{"tenures": [{"first": first, "last": last, "share": 1.0}]} for first, last in tenures]


def change_row(day: int, later: bool) -> Row:
    scores = [-2.0, -1.0] if later else [-1.0, -2.0]
    holders = holders_of((None, day - 1), (day, None))
    return {"holders": holders, "scores": scores, "neutral": None, "relation": "P6"}


def test_quarters_are_tested_against_one_half_and_months_where_they_have_enough_changes():
    rows = [change_row(20200115, True)] * 20 + [change_row(20200510, True)] * 3
    rows += [change_row(20210802, later) for later in (True, False)] * 20
    found = [
        [row[name] for name in ("period", "changes", "later", "above")] for row in quarters(rows, "plain")
    ]
    assert holm([0.01, 0.04, 0.03, 0.005]) == [True, False, False, True]
    assert found == [["2020-Q1", 20, 20, True], ["2020-Q2", 3, 3, False], ["2021-08", 40, 20, False]]
    # The calibrated reading tests changes in which neutral prompts prefer the other holder.
    liked = [{**change_row(20200115, True), "neutral": [-2.0, -1.0]}] * 20
    known = [{**change_row(20210415, True), "neutral": [-1.0, -2.0]}] * 20
    calibrated = [(row["expected"], row["above"]) for row in quarters(liked + known, "calibrated")]
    assert calibrated == [(1.0, False), (0.0, True)]
    # Of a choice alone only changes between the chosen and another holder count.
    holders = holders_of((None, 20191231), (20200101, 20201231), (20210101, None))
    (only,) = quarters([{"holders": holders, "scores": None, "neutral": None, "choice": 2}], "plain")
    assert (only["period"], only["changes"], only["later"]) == ("2021-Q1", 1, 1)


def dated(**more: str | None) -> Row:
    row: Row = dict.fromkeys(TABLE.names)
    row |= {"model": "m", "reading": "plain", "subset": "all", "verdict": "date"}
    row |= {"low": "2020-11-01", "high": "2021-02-03", "first_date": "2012-01-01", "last_date": "2024-12-31"}
    return {**row, **more}


def test_what_a_model_knows_lies_before_its_interval_and_what_is_new_after_its_latest_knowledge(tmp_path):
    low, high, open_ = "2020-10-31", "2021-02-03", {"low": None, "high": None}
    never, ever = datetime.date.max.isoformat(), datetime.date.min.isoformat()
    cases: list[tuple[dict[str, str | None], str, str]] = [
        ({}, low, high),
        ({"latest": "2020-Q4"}, low, high),
        ({"latest": "2021-Q4"}, low, "2021-12-31"),
        ({"latest": "2021-02"}, low, "2021-02-28"),
        ({"high": None}, low, never),
        ({"low": None}, ever, high),
        ({"verdict": "before", **open_}, ever, "2012-01-01"),
        ({"verdict": "after", **open_}, "2024-12-30", never),
    ]
    rows, expected = [dated(model="n", verdict="none")], {}
    for number, (more, *days) in enumerate(cases):
        own = {**more, "model": f"m{number}"}
        rows += [dated(**own), dated(**own, reading="calibrated") | {"latest": None}]
        expected[f"m{number}"] = Cutoff(*map(datetime.date.fromisoformat, days))
    # Of a model whose readings disagree, as their intervals do not meet, nothing is told.
    others = ({"low": "2021-02-04", "high": "2021-05-01"}, {"verdict": "before"}, {"verdict": "after"})
    for number, more in enumerate(others):
        for readings in (("plain", "calibrated"), ("calibrated", "plain")):
            names = {"model": f"d{number} {readings[0]}"}
            rows += [dated(**names, reading=readings[0]), dated(**open_ | more, **names, reading=readings[1])]
    # One of which nothing is known says nothing else.
    rows += [dated(model="e"), dated(**open_, model="e", reading="calibrated", verdict="none")]
    expected["e"] = Cutoff(*map(datetime.date.fromisoformat, (low, high)))
    path = tmp_path / "cutoff.parquet"
    write_parquet(pa.Table.from_pylist(rows, TABLE), path)
    assert cutoffs_of(path) == expected
    write_parquet(pa.table({"x": [1]}), path)
    with pytest.raises(InputError, match="make it with `cutoff dates`"):
        cutoffs_of(path)


def test_dates_between_two_changes_cannot_be_told_apart():
    first, second = ordinal("2016-01-01"), ordinal("2016-07-01")
    own = Tenures.of(
        [[[Part(-np.inf, day, 1.0)], [Part(day, np.inf, 1.0)]] for day in (first, second) for _ in range(60)]
    )
    chosen = own.start + np.repeat([1, 0], 60)
    choices = Choices(own, chosen, np.full(120, -1), np.arange(120))
    found = estimate(choices, SPAN, draw_subjects(120, 400, np.random.default_rng(0)))
    assert first < found.low < first + 40
    assert second - 40 < found.high < second
    assert abs(found.date - (first + second) / 2) < 45


def random_chain(rng: np.random.Generator) -> Chain:
    """Tenures of two to five holders, of whom the first may come back, with days that are half of each."""
    holders: Chain = [[] for _ in range(rng.integers(2, 6))]
    order = [*range(len(holders)), *([0] if rng.random() < 0.3 else [])]
    days = np.sort(rng.choice(np.arange(SPAN.first - 300, SPAN.last + 300), len(order) - 1, replace=False))
    begin = -math.inf
    for holder, after, day in zip(order, [*order[1:], None], [*days, math.inf], strict=True):
        holders[holder].append(Part(begin, day, 1.0))
        begin = day
        if after is not None and rng.random() < 0.3:
            holders[holder].append(Part(day, day + 40, 0.5))
            holders[after].append(Part(day, day + 40, 0.5))
            begin = day + 40
    return holders


def plain(chain: Chain, date: float, tau: float) -> list[float]:
    """The share of each holder by the formula, with so many digits that no difference vanishes."""

    def known(day: float) -> Decimal:
        if math.isinf(day):
            return Decimal(int(day > 0))
        return 1 / (1 + (-(Decimal(float(day)) - Decimal(date)) / Decimal(tau)).exp())

    with localcontext(prec=40 + int(2500 / tau)):
        masses = [
            sum(Decimal(own.share) * (known(own.end) - known(own.begin)) for own in each) for each in chain
        ]
        return [float(mass / sum(masses)) for mass in masses]


@pytest.mark.parametrize("tau", [4.0, 365.0, 3652.0])
def test_chances_are_those_of_the_formula(tau):
    rng = np.random.default_rng(round(tau))
    chains = [random_chain(rng) for _ in range(6)]
    dates = np.array([SPAN.first, SPAN.last, *rng.uniform(SPAN.first, SPAN.last, 3)], np.float64)
    found = Tenures.of(chains).chances(dates, np.full(len(dates), tau))
    for column, date in enumerate(dates):
        expected = [share for chain in chains for share in plain(chain, float(date), tau)]
        assert found[:, column] == pytest.approx(expected, rel=1e-5, abs=1e-30)


class Answers:
    """Answers drawn from the model, and the logarithm of their likelihood."""

    def __init__(self, seed: int, *model: float) -> None:
        rng = np.random.default_rng(seed)
        self.tenures = Tenures.of([random_chain(rng) for _ in range(150)])
        self.neutral = self.tenures.start + rng.integers(0, self.tenures.size)
        self.chosen = drawn(self.tenures, self.neutral, rng, *model)

    def fit(self, values: Sequence[float], weights: NDArray[np.float32]) -> float:
        """`values`: the date, the logarithm of tau, eps and lam; `weights`: how often each chain counts."""
        date, spread, eps, lam = values
        chances = mixed(self.tenures, self.neutral, date, math.exp(spread), eps, lam)[self.chosen]
        return float(weights @ np.log(np.maximum(chances, 1e-30)))

    def best(self, weights: NDArray[np.float32], dates: tuple[float, float]) -> float:
        """The greatest likelihood with a date between two days."""
        bounds = [dates, (math.log(14), math.log(3652)), (0, 1), (0, 1)]
        done = differential_evolution(
            lambda values: -self.fit(values, weights), bounds, seed=1, popsize=8, maxiter=40, tol=1e-5
        )
        return -float(done.fun)


def test_no_date_is_as_likely_as_permutations_that_fit_the_grid_as_well():
    """Over dates, spreads and mixtures one by one; the answers stay, and each takes other tenures."""
    rng = np.random.default_rng(8)
    answers = Answers(8, ordinal("2018-03-09"), 200.0, 0.3, 0.6)
    choices = Choices(answers.tenures, answers.chosen, answers.neutral, np.arange(150))
    start, size = answers.tenures.start, answers.tenures.size
    labels = np.tile(answers.chosen, (81, 1))
    for label in labels[1:]:
        places = rng.choice(150, 2, replace=False)
        label[places] = start[places] + rng.integers(0, size[places])
    even, liked = 1 / size, (answers.neutral == answers.chosen).astype(float)
    nothing = [
        np.log(np.maximum((1 - lam) * even + lam * liked, 1e-4)).sum() for lam in np.linspace(0, 1, 101)
    ]
    preference = float(np.linspace(0, 1, 101)[int(np.argmax(nothing))])
    best = np.full(len(labels), -math.inf)
    for date, tau in product(np.linspace(SPAN.first, SPAN.last, 60), (30.0, 180.0, 900.0)):
        known = answers.tenures.chances(np.array([date]), np.array([tau]))[:, 0].astype(float)[labels]
        for eps, step in product((0.05, 0.3, 0.6, 0.85, 0.95), (-0.2, 0, 0.2)):
            lam = min(max(preference + step, 0), 1)
            rest = eps * ((1 - lam) * even + lam * liked)
            best = np.maximum(best, np.log(np.maximum((1 - eps) * known + rest, 1e-4)).sum(axis=1))
    own, *others = np.maximum(best - max(nothing), 0).tolist()
    above = sum(value >= own - 1e-3 for value in others)
    assert 10 < above < 70
    orders = iter(labels[1:])
    assert chance_of_no_date(choices, SPAN, lambda _: next(orders), rng, 80) == (1 + above) / 81


def test_a_subset_has_the_date_of_its_rows_alone(monkeypatch):
    monkeypatch.setattr("factdrift.evaluation.scores.cutoff.LEAST", 20)
    few = CutoffSettings(SPAN, seed=0, draws=10, permutations=120)
    rows = answers(simulated("2018-03-01", 60, 0.1, 4))[:72]
    for place, row in enumerate(rows):
        row["calibrated"] = row["choice"] if place % 3 else None
        others = [row["scores"], row["scores"][::-1], row["scores"]]
        row |= {"relation": f"P{place % 3}", "wordings": others[: 1 + place % 3]}
    dates, _ = tables(rows, few)
    of_reading = {name: [row for row in dates if row["reading"] == name] for name in ("plain", "calibrated")}
    subsets = {name: {row["subset"] for row in found} for name, found in of_reading.items()}
    assert subsets["plain"] == subsets["calibrated"] | {"wording"}
    assert {"all", "relation"} <= subsets["calibrated"]
    for row in (row for row in dates if row["value"] in ("P1", "2")):
        mine = [own for own in rows if row["subset"] != "relation" or own["relation"] == row["value"]]
        if row["subset"] == "wording":
            number = int(row["value"])
            mine = [
                {**own, "choice": int(np.argmax(own["wordings"][number - 1])), "likely": None}
                for own in mine
                if len(own["wordings"]) >= number
            ]
        alone = next(own for own in tables(mine, few)[0] if own["reading"] == row["reading"])
        for name in ("informative", "date", "tau", "eps", "verdict"):
            assert row.get(name) == alone.get(name), (row["subset"], row["value"], name)


@pytest.mark.slow
@pytest.mark.parametrize(("tau", "eps", "lam"), [(30.0, 0.2, 0.5), (400.0, 0.1, 0.9)])
def test_no_point_is_likelier_than_the_estimate_nor_one_of_a_draw_than_its_date(tau, eps, lam):
    answers = Answers(round(tau), ordinal("2018-03-09"), tau, eps, lam)
    weights = draw_subjects(150, 2, np.random.default_rng(4))
    choices = Choices(answers.tenures, answers.chosen, answers.neutral, np.arange(150))
    found = estimate(choices, SPAN, weights)
    every, whole = np.ones(150, np.float32), (float(SPAN.first), float(SPAN.last))
    gain = answers.fit((found.date, math.log(found.tau), found.eps, found.lam), every)
    # Spreads are in steps of two, and the date is in the middle of a plateau; an interval's end is 1.9 below.
    assert gain >= answers.best(every, whole) - 0.9
    nothing = max(answers.fit((found.date, 1.0, 1.0, lam), every) for lam in np.linspace(0, 1, 101))
    assert found.gain == pytest.approx(gain - nothing, abs=0.6)
    for draw, date in zip(weights, found.draws.tolist(), strict=True):
        assert answers.best(draw, (date - 0.5, date + 0.5)) >= answers.best(draw, whole) - 0.9


def test_of_a_date_of_death_the_true_one_is_chosen_by_chance_before_it_is_known():
    day, tau, eps = datetime.date(2018, 3, 9), 50.0, 0.3
    row = {"died": 20180309, "holders": [None] * 4, "subject": "Q1"}
    for choice in (0, 2):
        choices = death_choices([{**row, "choice": choice}], {"Q1": 0})
        for date in (day.toordinal() + shift for shift in (-300, -20, 0, 80)):
            known = 1 / (1 + math.exp((day.toordinal() - date) / tau))
            true = (1 - eps) * (known + (1 - known) / 4) + eps / 4
            share = choices.tenures.chances(np.array([float(date)]), np.array([tau]))[choices.chosen, 0]
            found = (1 - eps) * share + eps * choices.even
            assert found == pytest.approx([true if choice == 0 else 1 - true], rel=1e-5)
