"""The table of what was written, by verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.asking import write_table

from factdrift.evaluation.scores.written import clustered_wilson, written_lines
from factdrift.evaluation.tables import ANSWERS
from factdrift.tempripple.metrics import wilson


def answer(question: str, verdict: str | None, **more: Any) -> dict[str, Any]:
    row = {"model": "m", "method": "none", "benchmark": "tempripple", "question": question, "edit": question}
    return row | {"way": "written", "verdict": verdict, "correct": verdict == "correct"} | more


def test_shares_stand_beside_the_likelihood(tmp_path: Path) -> None:
    verdicts = ["correct", "correct", "stale", "unclear"]
    rows = [answer(f"q{number}", verdict) for number, verdict in enumerate(verdicts)]
    rows += [
        answer(f"q{number}", None, way="loglik", correct=right)
        for number, right in enumerate((True, False, True))
    ]
    rows.append(answer("open", None))
    write_table(tmp_path / "a.parquet", rows, ANSWERS)
    _, header, line, note, _ = written_lines([tmp_path / "a.parquet"])
    shown = dict(zip(header.split(), line.replace(" to ", "-").split()[-len(header.split()) :], strict=True))
    assert (shown["n"], shown["right"], shown["stale"], shown["unclear"]) == ("4", "50.0", "25.0", "25.0")
    assert (shown["likelihood"], shown["disagree"]) == ("66.7", "66.7")
    assert note.endswith("1 of 4 answers are unclear")


def test_without_verdicts_there_is_no_table(tmp_path: Path) -> None:
    write_table(tmp_path / "a.parquet", [answer("q", None)], ANSWERS)
    assert list(written_lines([tmp_path / "a.parquet"])) == []


def test_alike_answers_of_a_cluster_count_once() -> None:
    right = [True] * 6 + [False] * 4
    assert clustered_wilson(right, range(10)) == pytest.approx(wilson(6, 10), abs=0.06)
    few = [one for one in right for _ in range(5)]
    low, high = clustered_wilson(few, [place // 5 for place in range(50)])
    assert high - low == pytest.approx(wilson(6, 10)[1] - wilson(6, 10)[0], abs=0.06)
    assert clustered_wilson([True] * 10, [0] * 5 + [1] * 5)[0] == pytest.approx(wilson(2, 2)[0], abs=1e-3)
