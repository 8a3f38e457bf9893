"""Accuracies, intervals and tests over the answers of models, against counts made by hand."""

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from factdrift.core.errors import InputError
from factdrift.tempripple.score import (
    Answer,
    Cutoff,
    mcnemar,
    point_biserial,
    read_predictions,
    report,
    wilson,
    within_cutoff,
)


def item(number: int, task: int, hop: int, asked: str, discriminates: bool | None = True) -> dict[str, Any]:
    return {
        **{"item_id": f"i{number:02d}", "task": task, "hop": hop, "discriminates": discriminates},
        **{"s": f"Q{number % 2}", "p": f"P{number % 2}", "asked_s": asked, "asked_p": "P1"},
    }


ITEMS = [
    *(item(number, 1, 0, f"Q{number}") for number in range(8)),
    item(10, 3, 1, "Q50"),
    item(11, 3, 1, "Q50", False),
    item(12, 3, 1, "Q50", None),
    item(13, 3, 1, "Q51"),
]


def answered(path: Path, *given: tuple[str, str, bool]) -> Path:
    columns = dict(zip(("item_id", "condition", "correct"), map(list, zip(*given, strict=True)), strict=True))
    pq.write_table(pa.table(columns), path)
    return path


def all_of(condition: str, right: str) -> list[tuple[str, str, bool]]:
    """An answer to every item; `right`: those that are right."""
    return [(each["item_id"], condition, each["item_id"] in right.split()) for each in ITEMS]


@pytest.fixture
def tables(tmp_path):
    rows = all_of("without", "i00 i01 i10 i11 i12") + all_of("with", "i00 i02 i03 i04 i10 i13")
    return report(read_predictions(answered(tmp_path / "p.parquet", *rows), ITEMS), draws=200)


def row(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    (found,) = [each for each in rows if all(each[key] == value for key, value in wanted.items())]
    return found


def test_accuracy_of_all_items_and_of_those_that_discriminate(tables):
    whole = row(tables["accuracy"], items="all", hop=1, condition="without")
    assert (whole["n"], whole["right"], whole["accuracy"]) == (4, 3, 0.75)
    assert whole["wilson"] == wilson(3, 4)
    assert (whole["asked_facts"], whole["accuracy_of_asked_facts"]) == (2, 0.5)
    # The four ask for two facts, one always answered right and one never: any accuracy may be.
    assert (whole["by_asked_fact"], whole["by_timeline"]) == ((0, 1), (0.5, 1))
    some = row(tables["accuracy"], items="discriminating", hop=1, condition="without")
    assert (some["n"], some["right"], some["accuracy"]) == (2, 1, 0.5)
    assert row(tables["accuracy"], items="discriminating", hop=0, condition="with")["n"] == 8


def test_conditions_are_compared_by_item_and_hops_with_hop_0(tables):
    found = row(tables["mcnemar"], items="all", hop=0)
    assert (found["first"], found["second"]) == ("without", "with")
    assert (found["n"], found["only_first"], found["only_second"], found["p"]) == (8, 1, 3, 0.625)
    assert row(tables["mcnemar"], items="discriminating", hop=1)["n"] == 2
    found = row(tables["fisher"], items="all", hop=1, condition="with")
    assert found["p"] == pytest.approx(stats.fisher_exact([[2, 2], [4, 4]]).pvalue)
    # Of the three items that ask for Q50 the one with the smallest id counts.
    assert found["p_of_asked_facts"] == pytest.approx(stats.fisher_exact([[2, 0], [4, 4]]).pvalue)


def test_durations_need_the_facts(tmp_path):
    facts = [{"p": "P0", "duration_days": 10}, {"p": "P0", "duration_days": 30}]
    facts += [{"p": "P1", "duration_days": 400}, {"p": "P1", "duration_days": None}]
    answers = read_predictions(answered(tmp_path / "p.parquet", *all_of("with", "i00 i02 i03")), ITEMS)
    assert report(answers, draws=50)["duration"] == []
    found = row(report(answers, facts, draws=50)["duration"], items="all")
    right, days = [1, 0, 1, 1, 0, 0, 0, 0], [20, 400] * 4
    assert (found["n"], found["task"]) == (8, "new")
    assert found["r"] == pytest.approx(stats.pearsonr(right, days).statistic)
    assert found["interval"][0] <= found["r"] <= found["interval"][1]


def test_models_are_kept_apart_and_csv_is_read(tmp_path):
    path = tmp_path / "p.csv"
    lines = ["model,item_id,condition,correct", "a,i10,without,1", "b,i10,without,false"]
    path.write_text("\n".join([*lines, "a,i11,without,0\n"]))
    found = report(read_predictions(path, ITEMS), draws=10)
    accuracies = [(each["model"], each["items"], each["n"], each["accuracy"]) for each in found["accuracy"]]
    assert accuracies == [
        ("a", "all", 2, 0.5),
        ("b", "all", 1, 0.0),
        ("a", "discriminating", 1, 1.0),
        ("b", "discriminating", 1, 0.0),
    ]


HEADER = "item_id,condition,correct\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item_id,correct\ni00,true\n", ": no column condition"),
        ("", ": "),
        (HEADER, ": no answer"),
        (f"{HEADER}i99,with,1\n", ", line 2: 'i99' is no item"),
        (f"{HEADER}i00,with,1\ni00,with,1\n", ", line 3: i00 is answered twice"),
        (f"{HEADER}i00,w/ ctx,1\n", ", line 2: `condition` must be without, with"),
        *(
            (f"{HEADER}i00,with,1\ni01,with,{odd}\n", ", line 3: .*`correct` true or false, or 1 or 0")
            for odd in ("perhaps", "0.2", "nan", "")
        ),
        ([("i00", "with", True), ("i00", "with", True)], ", row 2: i00 is answered twice"),
        ([("i00", "with", None)], ", row 1: .*`correct` true or false"),
        ([], ": "),
    ],
)
def test_files_that_cannot_be_used_are_named(text, said, tmp_path):
    path = tmp_path / ("p.csv" if isinstance(text, str) else "p.parquet")
    if isinstance(text, str):
        path.write_text(text)
    elif text:
        answered(path, *text)
    with pytest.raises(InputError, match=f"{re.escape(path.name)}{said}"):
        read_predictions(path, ITEMS)


def test_ids_and_names_of_models_are_texts_whatever_they_look_like(tmp_path):
    """A CSV file in which both could be numbers, and a Parquet file with a model that has no name."""
    items = [{**ITEMS[0], "item_id": "0012345678901234"}]
    path = tmp_path / "p.csv"
    lines = [f"{model},{items[0]['item_id']},with,1\n" for model in ("1.1", "1.10")]
    path.write_text("".join(["model,item_id,condition,correct\n", *lines]))
    assert [model for model, *_ in read_predictions(path, items)] == ["1.1", "1.10"]
    columns = {"model": ["a", None], "item_id": ["i00"] * 2, "condition": ["with"] * 2, "correct": [1, 0]}
    pq.write_table(pa.table(columns), tmp_path / "p.parquet")
    assert [model for model, *_ in read_predictions(tmp_path / "p.parquet", ITEMS)] == ["", "a"]


def test_edited_models_are_compared_with_both_conditions(tmp_path):
    rows = all_of("without", "i00") + all_of("with", "i00 i01 i02") + all_of("edited-rome", "i01 i02")
    found = report(read_predictions(answered(tmp_path / "p.parquet", *rows), ITEMS), draws=10)
    pairs = {
        (each["first"], each["second"]): (each["only_first"], each["only_second"])
        for each in found["mcnemar"]
        if (each["items"], each["hop"]) == ("all", 0)
    }
    assert pairs == {
        ("without", "with"): (0, 2),
        ("without", "edited-rome"): (1, 2),
        ("with", "edited-rome"): (1, 0),
    }
    assert {each["condition"] for each in found["fisher"]} == {"without", "with", "edited-rome"}


DAY = datetime.date(2021, 1, 4)
NUMBER = (DAY - datetime.date(1970, 1, 1)).days
"""The same day as tables have it."""


@pytest.mark.parametrize(
    ("role", "start", "counts"),
    [
        ("new", (NUMBER + 1, NUMBER + 1), True),
        ("new", (NUMBER, NUMBER), False),
        ("new", (NUMBER - 3, NUMBER + 20), False),  # a month that may begin before the cutoff
        ("new", (None, None), False),
        ("old", (NUMBER, NUMBER), True),
        ("old", (NUMBER - 3, NUMBER + 20), False),
        ("old", (None, None), True),
    ],
)
def test_facts_on_the_wrong_side_of_a_models_cutoff_do_not_count(role, start, counts):
    facts = [{"fact_id": "f", "role": role, "start_lo": start[0], "start_hi": start[1]}]
    group = [Answer({"fact_id": "f", "item_id": "i"}, True)] * 2
    answers = {("a", "with", 1, 0): group, ("b", "with", 1, 0): group}
    kept = within_cutoff(answers, facts, {"a": Cutoff(DAY, DAY)})
    assert kept["b", "with", 1, 0] == group
    assert (("a", "with", 1, 0) in kept) == counts
    with pytest.raises(InputError, match=r"the fact of item i is not among the facts; .*the same build"):
        within_cutoff(answers, [], {"a": Cutoff(DAY, DAY)})


@pytest.mark.parametrize(
    ("b", "c", "p", "statistic"),
    [
        (0, 0, 1, None),
        (1, 8, 0.0390625, None),
        (5, 5, 1, None),
        (3, 9, 0.14599609375, None),
        (8, 16, 0.1515896, None),
        (10, 15, 0.4237107, 0.64),
        (12, 13, 1, 0),
        (10, 30, 0.0026631, 9.025),
    ],
)
def test_mcnemar(b, c, p, statistic):
    found = mcnemar(b, c)
    assert found[0] == pytest.approx(p, abs=1e-7)
    assert found[1] == (None if statistic is None else pytest.approx(statistic))
    assert mcnemar(c, b) == found


def test_point_biserial():
    for right, numbers in (([1, 1], [1, 2]), ([1, 0], [3, 3]), ([1], [3])):
        assert point_biserial(np.array(right, float), np.array(numbers, float)) is None
