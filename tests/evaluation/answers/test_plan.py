"""What is asked in which state and way: beside plain readings of the plan's rules, on drawn edits."""

import dataclasses
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.plan import grouped, planned, unedited
from factdrift.evaluation.questions.question import Benchmark, Question, ways_of
from factdrift.evaluation.questions.updates import draw

Row = dict[str, Any]
EVERY = ["loglik", "letter", "written"]


@pytest.mark.parametrize(
    ("benchmark", "scoring", "asked"),
    [
        *((name, ["letter"], EVERY) for name in ("updates", "stream", "ripples")),
        ("klob", ["letter"], ["loglik", "letter"]),
        ("klob", ["written"], ["loglik", "written"]),
        ("tempripple", ["written", "letter"], ["letter", "written"]),
        ("asof", ["loglik"], ["loglik"]),
        # Only a chat model is asked for the letters of holders.
        ("cutoff", ["letter"], ["loglik"]),
        ("cutoff", ["letter", "written"], ["loglik", "written"]),
    ],
)
def test_the_record_of_a_benchmark_says_in_which_ways_it_is_asked(benchmark, scoring, asked):
    assert ways_of(Benchmark(benchmark, ()), scoring) == asked


@given(st.lists(st.sampled_from("abc")))
def test_a_group_of_size_zero_is_a_subject(subjects):
    made = [Edit(f"e{number}", "p", subject, "t") for number, subject in enumerate(subjects)]
    asked = [Question(f"q{edit.id}", edit.id) for edit in made]
    steps = grouped(Benchmark("b", asked, made), 0, False, 7)
    assert [step.state for step in steps] == list(range(len(set(subjects))))
    for step, subject in zip(steps, dict.fromkeys(subjects), strict=True):
        assert step.edits == [edit for edit in made if edit.subject == subject]
        assert [one.edit for one in step.asked] == [edit.id for edit in step.edits]


@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from(["", "e0", "e1", "e4", "e9"]), st.booleans())
    ),
    st.integers(0, 5),
    st.integers(1, 3),
    st.booleans(),
)
def test_a_question_is_asked_once_in_the_state_of_its_edit_or_of_one_that_the_seed_draws(
    drawn, edits, size, alone
):
    questions = [
        Question(str(number), edit, prompt=prompt, unedited=last)
        for number, (prompt, edit, last) in enumerate(drawn)
    ]
    benchmark = Benchmark("b", questions, [Edit(f"e{number}", "p", "s", "t") for number in range(edits)])
    steps = unedited(benchmark, size)
    assert [len(step.asked) for step in steps[:-1]] == [size] * (len(steps) - 1)
    prompts = [one.question.prompt for step in steps for one in step.asked]
    assert prompts == sorted(question.prompt for question in questions)
    at_once = [dataclasses.replace(question, exact=number != 0) for number, question in enumerate(questions)]
    assert len(unedited(Benchmark("b", at_once), size)) == min(len(questions), 1)
    found = {
        one.question.id: (step, one.edit) for step in grouped(benchmark, size, alone, 7) for one in step.asked
    }
    assert found.keys() == {question.id for question in questions if not question.unedited and edits}
    for question in questions if edits else ():
        if not question.unedited:
            step, edit = found[question.id]
            number = draw("state", 7, question.id) % edits
            own = question.edit if question.edit in {each.id for each in benchmark.edits} else f"e{number}"
            assert edit == own
            assert edit in [each.id for each in step.edits]
            first = int(step.edits[0].id[1:])
            assert step.state == (first if alone else first // size)


OBJECTS = st.sampled_from(["x", "y", None])


@given(
    st.lists(
        st.tuples(st.sampled_from("cd"), st.integers(0, 4), st.integers(1, 4), OBJECTS, st.booleans()),
        max_size=9,
    ),
    st.integers(0, 4),
    st.integers(0, 3),
)
def test_after_an_interval_its_edits_earlier_ones_that_hold_and_superseded_ones_are_asked(
    drawn, interval, most
):
    probes = [
        {"role": role, "object": name, "place": link}
        for role, name, link in (
            *(("update", "new", 0), ("update", "obsolete", 0), ("generalization", "new", 1)),
            *(("nearest", "neighbor", 0), ("random", "neighbor", 0)),
            *(("later", "later", link) for link in range(9)),
        )
    ]
    rows = [
        {
            **{"chain": chain, "interval": at, "new": new, "link": number, "edit": str(number)},
            **{"superseded_in": at + until if ends else None, "probes": probes},
        }
        for number, (chain, at, until, new, ends) in enumerate(sorted(drawn, key=lambda row: row[1]))
    ]
    found: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, kind, number in planned(rows, interval, most, 3):
        found[kind][index].append(number)

    def made(row: Row, at: int | None) -> bool:
        """Whether an edit of the chain has been made in an interval up to this one."""
        return any(row["chain"] == other["chain"] and other["interval"] == at <= interval for other in rows)

    def first(indices: list[int]) -> set[int]:
        return set(sorted(indices, key=lambda index: draw("stream", 3, rows[index]["edit"]))[:most])

    standing = [row for row in rows if row["interval"] <= interval and not made(row, row["superseded_in"])]
    own = {index for index, row in enumerate(rows) if row["interval"] == interval}
    assert found["current"] == {index: [0, 1, 2] for index in own}
    assert found["neighbors"] == {index: [3, 4] for index in own}
    earlier = [index for index, row in enumerate(rows) if row["interval"] < interval]
    holding = [index for index in earlier if (rows[index]["superseded_in"] or 99) > interval]
    assert found["retention"] == {index: [0, 1, 2] for index in first(holding)}
    stale = []
    for index in set(earlier) - set(holding):
        row = rows[index]
        back = [other for other in standing if (other["chain"], other["new"]) == (row["chain"], row["new"])]
        if made(row, row["superseded_in"]) and row["new"] and not back:
            stale.append(index)
    assert found["staleness"].keys() == first(stale)
    for index, numbers in found["staleness"].items():
        links = [row["link"] for row in standing if row["chain"] == rows[index]["chain"]]
        assert numbers == [0, *([5 + max(links)] if links else [])]
