"""The estimate on answers whose date is known: simulated models, models without a date, subsets, quarters."""

from __future__ import annotations

import datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from cutoff_logistic import crossing, preferences

from factdrift.core.errors import InputError
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.cutoff_jobs import SAMPLE_DATES
from factdrift.evaluation.questions.cutoff import ANSWERS, read_chains
from factdrift.evaluation.scores.cutoff import (
    TABLE,
    Method,
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
SPAN = span_of(SAMPLE_DATES)
DRAWS = 200


@cache
def chains() -> tuple[Row, ...]:
    """Every second of the bundled chains."""
    return tuple(row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None)[::2]


@cache
def tenures() -> Tenures:
    return Tenures.of([[parts(holder["tenures"]) for holder in row["holders"]] for row in chains()])


def clusters() -> Any:
    subjects = {name: place for place, name in enumerate(dict.fromkeys(row["subject"] for row in chains()))}
    return np.array([subjects[row["subject"]] for row in chains()])


def drawn(chances: Any, rng: np.random.Generator) -> Any:
    """A holder of each chain by the chances of all holders."""
    own = tenures()
    return np.array(
        [
            start + rng.choice(size, p=chances[start : start + size] / chances[start : start + size].sum())
            for start, size in zip(own.start, own.size, strict=True)
        ]
    )


def simulated(date: str, tau: float, eps: float, seed: int) -> Choices:
    own, rng = tenures(), np.random.default_rng(seed)
    day = float(datetime.date.fromisoformat(date).toordinal())
    known = own.chances(np.array([day]), np.array([tau]))[:, 0].astype(float)
    neutral = own.start + rng.integers(0, own.size)
    otherwise = 0.7 * own.even
    otherwise[neutral] += 0.3
    return Choices(own, drawn((1 - eps) * known + eps * otherwise, rng), neutral, clusters())


def weights(choices: Choices) -> Any:
    return draw_subjects(int(choices.cluster.max()) + 1, DRAWS, np.random.default_rng(0))


def p_of(choices: Choices, times: int = 400) -> float:
    return chance_of_no_date(choices, SPAN, among_holders(choices), np.random.default_rng(1), times)


@pytest.mark.parametrize(
    ("date", "tau", "eps", "within"),
    [("2014-05-20", 30, 0.0, 20), ("2018-11-03", 30, 0.6, 90), ("2021-07-01", 365, 0.3, 150)],
)
def test_the_date_of_a_simulated_model_is_found(date: str, tau: float, eps: float, within: int) -> None:
    choices = simulated(date, tau, eps, seed=5)
    found = estimate(choices, SPAN, weights(choices))
    true = datetime.date.fromisoformat(date).toordinal()
    assert found.low <= true <= found.high
    assert abs(found.date - true) <= within
    assert tau / 4 < found.tau < tau * 4
    assert abs(found.eps - eps) < 0.15
    assert p_of(choices) < 0.01


@pytest.mark.slow
def test_the_intervals_of_simulated_models_cover() -> None:
    """The rates over thousands of draws are in docs/cutoff.md; here a few, so that a gross error is seen."""
    covered = 0
    dates = ("2013-03-04", "2015-08-01", "2016-02-10", "2018-06-15", "2019-10-30", "2022-01-20", "2023-05-05")
    for seed, date in enumerate(dates):
        choices = simulated(date, 90, 0.4, seed)
        found = estimate(choices, SPAN, weights(choices))
        covered += found.low <= datetime.date.fromisoformat(date).toordinal() <= found.high
    assert covered >= 6


def always(place_of: Any, likely: Any = None) -> Choices:
    """A model that always chooses the same place of a chain."""
    own = tenures()
    chosen = own.start + np.array([place_of(row) for row in chains()])
    return Choices(own, chosen, chosen if likely is None else likely, clusters())


def longest(row: Row) -> int:
    return max(range(len(row["holders"])), key=lambda place: (len(row["holders"][place]["label"]), place))


def newest(row: Row) -> int:
    lasts = [max(each["last"] or 99999999 for each in holder["tenures"]) for holder in row["holders"]]
    return lasts.index(max(lasts))


def test_a_model_that_prefers_some_names_has_no_date() -> None:
    assert p_of(always(longest)) == 1
    rng = np.random.default_rng(0)
    likely = tenures().start + rng.integers(0, tenures().size)
    assert p_of(Choices(tenures(), likely, likely, clusters())) == 1


def answers(choices: Choices) -> list[Row]:
    """Rows of ANSWERS with scores by which the choices are the best."""
    rows = []
    for place, row in enumerate(chains()):
        choice = int(choices.chosen[place] - choices.tenures.start[place])
        scores = [-1.0 if number == choice else -3.0 - number for number in range(len(row["holders"]))]
        kept = {name: row.get(name) for name in ANSWERS.names}
        rows.append(
            {**kept, "model": "m", "way": "likelihood", "choice": choice, "scores": scores}
            | {"likely": int(choices.neutral[place] - choices.tenures.start[place])}
        )
    return rows


def method(permutations: int = 200) -> Method:
    return Method(SPAN, seed=0, draws=100, permutations=permutations)


@pytest.mark.slow
def test_a_model_that_always_names_the_newest_holder_is_after_the_stream() -> None:
    rng = np.random.default_rng(3)
    choices = always(newest, tenures().start + rng.integers(0, tenures().size))
    rows, _ = tables(answers(choices), method())
    assert rows[0]["verdict"] == "after"
    assert rows[0].get("date") is None


@pytest.mark.parametrize("seed", range(2))
def test_a_model_that_guesses_has_neither_date_nor_subsets_nor_latest_knowledge(seed: int) -> None:
    own, rng = tenures(), np.random.default_rng(seed)
    guess = Choices(own, own.start + rng.integers(0, own.size), own.start, clusters())
    (row,), _ = tables(answers(guess), method(400))
    assert (row["verdict"], row["latest"]) == ("none", None)


@pytest.mark.slow
def test_half_of_the_relations_three_years_later_are_found_by_relation() -> None:
    early, late = simulated("2016-03-01", 30, 0.1, 1), simulated("2019-03-01", 30, 0.1, 2)
    second = np.array([row["relation"] in ("P6", "P35", "P286", "P169") for row in chains()])
    mixed = Choices(tenures(), np.where(second, late.chosen, early.chosen), early.neutral, clusters())
    rows, _ = tables(answers(mixed), method())
    assert rows[0]["tau"] >= 200
    found = {row["value"]: row["date"] for row in rows if row["subset"] == "relation"}
    later = {name for name, date in found.items() if date > "2018"}
    assert later == {"P6", "P286", "P169", "P35"} & found.keys()
    assert abs(np.datetime64(found["P1308"]) - np.datetime64("2016-03-01")) < np.timedelta64(60, "D")


def test_a_logistic_curve_with_free_asymptotes_agrees() -> None:
    choices = simulated("2018-06-15", 90, 0.6, seed=4)
    found = estimate(choices, SPAN, weights(choices))
    curve, low, high = crossing(preferences(answers(choices)), draws=15)
    assert low <= found.date <= high
    assert found.low <= curve.date <= found.high
    assert 0.1 < curve.lower < 0.4 < 0.6 < curve.upper < 0.9


def test_some_chains_alone_are_the_same_as_among_others() -> None:
    choices = simulated("2018-06-15", 90, 0.3, seed=4)
    some = np.arange(3, 60, 4)
    part = choices.only(some)
    point = np.array([737000.0]), np.array([90.0])
    whole = choices.tenures.chances(*point)[choices.chosen[some], 0]
    assert part.tenures.chances(*point)[part.chosen, 0] == pytest.approx(whole)
    assert part.preferred == pytest.approx(choices.preferred[some])


def test_holm_refuses_step_by_step() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == [True, False, False, True]
    assert holm([]) == []


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
    found = list(quarters(rows, "plain"))
    assert [(row["period"], row["changes"], row["later"], row["above"]) for row in found] == [
        ("2020-Q1", 20, 20, True),
        ("2020-Q2", 3, 3, False),
        ("2021-08", 40, 20, False),
    ]


def dated(**more: str | None) -> Row:
    row: Row = dict.fromkeys(TABLE.names)
    row |= {"model": "m", "reading": "plain", "subset": "all", "verdict": "date"}
    row |= {"low": "2020-11-01", "high": "2021-02-03", "first_date": "2012-01-01", "last_date": "2024-12-31"}
    return {**row, **more}


def ordinal(day: str) -> int:
    return datetime.date.fromisoformat(day).toordinal()


NEVER, EVER = datetime.date.max.isoformat(), datetime.date.min.isoformat()


@pytest.mark.parametrize(
    ("more", "known", "unknown"),
    [
        ({}, "2020-10-31", "2021-02-03"),
        ({"latest": "2020-Q4"}, "2020-10-31", "2021-02-03"),
        ({"latest": "2021-Q4"}, "2020-10-31", "2021-12-31"),
        ({"latest": "2021-02"}, "2020-10-31", "2021-02-28"),
        ({"high": None}, "2020-10-31", NEVER),
        ({"low": None}, EVER, "2021-02-03"),
        ({"verdict": "before", "low": None, "high": None}, EVER, "2012-01-01"),
        ({"verdict": "after", "low": None, "high": None}, "2024-12-30", NEVER),
    ],
)
def test_what_a_model_knows_lies_before_its_interval_and_what_is_new_after_its_latest_knowledge(
    more: dict[str, str | None], known: str, unknown: str, tmp_path: Path
) -> None:
    other = {**dated(), "model": "n", "verdict": "none"}
    calibrated = {**dated(**more), "reading": "calibrated", "latest": None}
    apart = {"verdict": "date", "low": "2021-02-04", "high": "2021-05-01"}
    unsure = [{**dated(), "model": "d"}, {**calibrated, "model": "d", **apart}]
    path = tmp_path / "cutoff.parquet"
    write_parquet(pa.Table.from_pylist([dated(**more), calibrated, other, *unsure], TABLE), path)
    days = [datetime.date.fromisoformat(day) for day in (known, unknown)]
    assert cutoffs_of(path) == {"m": Cutoff(*days)}


@pytest.mark.parametrize(
    ("other", "differ"),
    [
        ({}, False),
        ({"low": "2021-02-04", "high": "2021-05-01"}, True),
        ({"low": "2019-02-04", "high": None}, False),
        ({"verdict": "before", "low": None, "high": None}, True),
        ({"verdict": "after", "low": None, "high": None}, True),
        ({"verdict": "none", "low": None, "high": None}, False),
    ],
)
def test_readings_disagree_whose_intervals_do_not_meet(other: dict[str, str | None], differ: bool) -> None:
    assert disagree(dated(), dated(**other)) == disagree(dated(**other), dated()) == differ


def test_a_table_of_other_columns_has_no_dates(tmp_path: Path) -> None:
    write_parquet(pa.table({"x": [1]}), tmp_path / "cutoff.parquet")
    with pytest.raises(InputError, match="make it with `answer dates`"):
        cutoffs_of(tmp_path / "cutoff.parquet")


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
