"""The estimate on answers whose date is known, and beside a slow plain one on random chains."""

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.optimize import differential_evolution

from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.cutoff_jobs import SAMPLE_DATES
from factdrift.evaluation.questions.cutoff import ANSWERS, read_chains
from factdrift.evaluation.scores.cutoff import (
    TABLE,
    Method,
    _deaths,
    cutoffs_of,
    disagree,
    holm,
    quarters,
    span_of,
    tables,
)
from factdrift.evaluation.scores.cutoff_fit import among_holders, chance_of_no_date, draw_subjects, estimate
from factdrift.evaluation.scores.cutoff_model import Choices, Part, Tenures, parts
from factdrift.evaluation.scores.cutoff_text import lines, message, verdict
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


def estimated(choices: Choices) -> Any:
    subjects = int(choices.cluster.max()) + 1
    return estimate(choices, SPAN, draw_subjects(subjects, 200, np.random.default_rng(0)))


def p_of(choices: Choices) -> float:
    return chance_of_no_date(choices, SPAN, among_holders(choices), np.random.default_rng(1), 200)


@pytest.mark.parametrize(
    ("date", "tau", "eps", "within"),
    [("2014-05-20", 30, 0.0, 20), ("2018-11-03", 30, 0.6, 90), ("2021-07-01", 365, 0.3, 150)],
)
def test_the_date_of_a_simulated_model_is_found(date: str, tau: float, eps: float, within: int) -> None:
    choices = simulated(date, tau, eps, seed=5)
    found = estimated(choices)
    true = ordinal(date)
    assert found.low <= true <= found.high
    assert abs(found.date - true) <= within
    assert tau / 4 < found.tau < tau * 4
    assert abs(found.eps - eps) < 0.15
    assert p_of(choices) < 0.01


def answers(choices: Choices) -> list[Row]:
    """Rows of ANSWERS with scores by which the choices are the best."""
    rows = []
    for place, row in enumerate(chains()):
        choice = int(choices.chosen[place] - choices.tenures.start[place])
        scores = [-1.0 if number == choice else -3.0 - number for number in range(len(row["holders"]))]
        own = {"choice": choice, "likely": int(choices.neutral[place] - choices.tenures.start[place])}
        kept = {name: row.get(name) for name in ANSWERS.names}
        rows.append({**kept, "model": "m", "way": "likelihood", "scores": scores, **own})
    return rows


def method(permutations: int = 200) -> Method:
    return Method(SPAN, seed=0, draws=100, permutations=permutations)


@pytest.mark.slow
def test_a_model_that_always_names_the_newest_holder_is_after_the_stream() -> None:
    newest = []
    for row in chains():
        lasts = [max(each["last"] or 99999999 for each in holder["tenures"]) for holder in row["holders"]]
        newest.append(lasts.index(max(lasts)))
    rows, _ = tables(answers(choices_of(tenures().start + newest, guessed(3))), method())
    assert rows[0]["verdict"] == "after"
    assert rows[0].get("date") is None


@pytest.mark.parametrize("seed", range(2))
def test_a_model_that_guesses_has_neither_date_nor_subsets_nor_latest_knowledge(seed: int) -> None:
    (row,), _ = tables(answers(choices_of(guessed(seed), tenures().start)), method(400))
    assert (row["verdict"], row["latest"]) == ("none", None)
    # Nor one that prefers some names.
    assert p_of(choices_of(guessed(seed), guessed(seed))) == 1


@pytest.mark.slow
def test_half_of_the_relations_three_years_later_are_found_by_relation() -> None:
    early, late = simulated("2016-03-01", 30, 0.1, 1), simulated("2019-03-01", 30, 0.1, 2)
    second = np.array([row["relation"] in ("P6", "P35", "P286", "P169") for row in chains()])
    mixed = choices_of(np.where(second, late.chosen, early.chosen), early.neutral)
    rows, _ = tables(answers(mixed), method())
    assert rows[0]["tau"] >= 200
    found = {row["value"]: row["date"] for row in rows if row["subset"] == "relation"}
    later = {name for name, date in found.items() if date > "2018"}
    assert later == {"P6", "P286", "P169", "P35"} & found.keys()
    assert abs(np.datetime64(found["P1308"]) - np.datetime64("2016-03-01")) < np.timedelta64(60, "D")


def test_some_chains_alone_are_the_same_as_among_others() -> None:
    choices = simulated("2018-06-15", 90, 0.3, seed=4)
    some = np.arange(3, 60, 4)
    part = choices.only(some)
    point = np.array([737000.0]), np.array([90.0])
    whole = choices.tenures.chances(*point)[choices.chosen[some], 0]
    assert part.tenures.chances(*point)[part.chosen, 0] == pytest.approx(whole)
    assert part.preferred == pytest.approx(choices.preferred[some])


def holders_of(*tenures: tuple[int | None, int | None]) -> list[Row]:
    return [{"tenures": [{"first": first, "last": last, "share": 1.0}]} for first, last in tenures]


def change_row(day: int, later: bool) -> Row:
    scores = [-2.0, -1.0] if later else [-1.0, -2.0]
    holders = holders_of((None, day - 1), (day, None))
    return {"holders": holders, "scores": scores, "neutral": None, "relation": "P6"}


def test_the_calibrated_reading_tests_changes_in_which_the_neutral_prompts_prefer_the_other_holder() -> None:
    liked = [{**change_row(20200115, True), "neutral": [-2.0, -1.0]}] * 20
    known = [{**change_row(20210415, True), "neutral": [-1.0, -2.0]}] * 20
    found = [(row["period"], row["expected"], row["above"]) for row in quarters(liked + known, "calibrated")]
    assert found == [("2020-Q1", 1.0, False), ("2021-Q2", 0.0, True)]


def test_quarters_are_tested_against_one_half_and_months_where_they_have_enough_changes() -> None:
    rows = [change_row(20200115, True)] * 20 + [change_row(20200510, True)] * 3
    rows += [change_row(20210802, later) for later in (True, False)] * 20
    found = [
        [row[name] for name in ("period", "changes", "later", "above")] for row in quarters(rows, "plain")
    ]
    assert holm([0.01, 0.04, 0.03, 0.005]) == [True, False, False, True]
    assert found == [["2020-Q1", 20, 20, True], ["2020-Q2", 3, 3, False], ["2021-08", 40, 20, False]]


def dated(**more: str | None) -> Row:
    row: Row = dict.fromkeys(TABLE.names)
    row |= {"model": "m", "reading": "plain", "subset": "all", "verdict": "date"}
    row |= {"low": "2020-11-01", "high": "2021-02-03", "first_date": "2012-01-01", "last_date": "2024-12-31"}
    return {**row, **more}


def test_what_a_model_knows_lies_before_its_interval_and_what_is_new_after_its_latest_knowledge(
    tmp_path: Path,
) -> None:
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
    # Of a model whose readings disagree nothing is told.
    rows += [dated(model="d"), dated(model="d", reading="calibrated", low="2021-02-04", high="2021-05-01")]
    path = tmp_path / "cutoff.parquet"
    write_parquet(pa.Table.from_pylist(rows, TABLE), path)
    assert cutoffs_of(path) == expected
    write_parquet(pa.table({"x": [1]}), path)
    with pytest.raises(InputError, match="make it with `answer dates`"):
        cutoffs_of(path)


def test_readings_disagree_whose_intervals_do_not_meet() -> None:
    open_: dict[str, str | None] = {"low": None, "high": None}
    for other in ({}, {"low": "2019-02-04", "high": None}, {"verdict": "none", **open_}):
        assert not disagree(dated(), dated(**other))
        assert not disagree(dated(**other), dated())
    later = {"low": "2021-02-04", "high": "2021-05-01"}
    for other in (later, {"verdict": "before", **open_}, {"verdict": "after", **open_}):
        assert disagree(dated(), dated(**other))
        assert disagree(dated(**other), dated())


def test_dates_between_two_changes_cannot_be_told_apart() -> None:
    """All chains change on two days; a model that knows the first and not the second is anywhere between."""
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


def test_the_screen_says_what_each_row_tells() -> None:
    whole = {**dated(), "way": "letter", "date": "2021-01-05", "chains": 9, "informative": 6, "tau": 7.2}
    whole |= {"eps": 0.1, "p": 0.001, "latest": "2021-Q1"}
    none = {"reading": "plain", "subset": "relation", "value": "P6", "informative": 3, "verdict": "none"}
    none |= {"p": 0.2}
    kept = {"relation": "P6", "relation_label": "head of government", "died": None}
    told = [{**kept, "reason": reason} for reason in (None, "order", "order", "no_letter")]
    said = list(lines([whole, none], told, maker="2020-12"))
    assert said[:3] == [
        "m (letter): 2021-01-05 [2020-11-01, 2021-02-03]",
        "  latest knowledge: 2021-Q1",
        "  its maker says: 2020-12",
    ]
    why = "2 changed with the order of the options; 1 had no letter"
    assert said[3] == f"  9 chains asked, 6 answered; {why}"
    assert said[-1].split() == ["relation", "head", "of", "government", "3", "none"]
    after = dated(verdict="after", low=None, high=None)
    told = "m answers as of a day after 2024-12-31"
    assert (verdict(after), message(after)) == ("after 2024-12-31", told)
    assert message({**whole, "verdict": "none"}) == "m: no date can be told"


def test_of_a_choice_alone_only_changes_between_the_chosen_and_another_holder_count() -> None:
    holders = holders_of((None, 20191231), (20200101, 20201231), (20210101, None))
    row = {"holders": holders, "scores": None, "neutral": None, "choice": 2}
    found = [(each["period"], each["changes"], each["later"]) for each in quarters([row], "plain")]
    assert found == [("2021-Q1", 1, 1)]


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


@pytest.mark.parametrize("tau", [4.0, 12.0, 365.0, 3652.0])
def test_chances_are_those_of_the_formula(tau: float) -> None:
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


@pytest.mark.slow
@pytest.mark.parametrize(("tau", "eps", "lam"), [(30.0, 0.2, 0.5), (200.0, 0.4, 0.2), (400.0, 0.1, 0.9)])
def test_no_point_is_likelier_than_the_estimate_nor_one_of_a_draw_than_its_date(
    tau: float, eps: float, lam: float
) -> None:
    answers = Answers(round(tau), ordinal("2018-03-09"), tau, eps, lam)
    weights = draw_subjects(150, 3, np.random.default_rng(4))
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


def test_of_a_date_of_death_the_true_one_is_chosen_by_chance_before_it_is_known() -> None:
    day, tau, eps = datetime.date(2018, 3, 9), 50.0, 0.3
    row = {"died": 20180309, "holders": [None] * 4, "subject": "Q1"}
    for choice in (0, 2):
        choices = _deaths([{**row, "choice": choice}], {"Q1": 0})
        for date in (day.toordinal() + shift for shift in (-300, -20, 0, 80)):
            known = 1 / (1 + math.exp((day.toordinal() - date) / tau))
            true = (1 - eps) * (known + (1 - known) / 4) + eps / 4
            share = choices.tenures.chances(np.array([float(date)]), np.array([tau]))[choices.chosen, 0]
            found = (1 - eps) * share + eps * choices.even
            assert found == pytest.approx([true if choice == 0 else 1 - true], rel=1e-5)
