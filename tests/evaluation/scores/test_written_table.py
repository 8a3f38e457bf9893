"""What was written, against plain counts; the tables and the figure of it."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.stream_updates import stream_edits
from support.tables import written
from support.updates import edits

from factdrift.core.intervals import clustered_wilson, wilson
from factdrift.evaluation.plan import plan_table
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.scores.written import (
    GENERATION_SCORES,
    WRITTEN_SCORES,
    written_scores,
    written_table,
)
from factdrift.evaluation.scores.written_lines import NO_ANSWER, NOT_COMPARED, written_lines
from factdrift.evaluation.tables import ANSWERS
from factdrift.verdict.judge import VERDICTS

Rows = list[dict[str, Any]]


def said(verdict: str | None, **more: Any) -> dict[str, Any]:
    """A row of GENERATION_SCORES about an update's own cloze."""
    row = dict.fromkeys(GENERATION_SCORES.names) | {"model": "m", "benchmark": "updates", "method": "ft"}
    row |= {"role": "update", "question": "Q1-P6#c1", "edit": "Q1-P6", "stays": False}
    return row | {"verdict": verdict, "correct": None if verdict is None else verdict == "correct"} | more


def drawn(draw: random.Random, path: Path, stream: bool) -> Rows:
    """Answers of `none` and `x` to all questions of a table of edits: verdicts and likelihoods by chance."""
    benchmark = read_edits(path)
    asked = [("none", question, None, "") for question in benchmark.questions]
    if stream:
        plan = plan_table(pq.read_table(path).to_pylist(), 5, 0).to_pylist()
        own = {question.id: question for question in benchmark.questions}
        asked += [("x", own[f"{row['edit']}#{row['number']}"], row["interval"], row["kind"]) for row in plan]
    else:
        asked += [("x", question, None, "") for question in benchmark.questions]
    rows = []
    for method, question, interval, kind in asked:
        named = {"model": "m", "benchmark": benchmark.name, "method": method, "question": question.id}
        named |= {"edit": question.edit, "role": question.role, "interval": interval, "kind": kind}
        lost = draw.choice([None, None, None, "edit_failed"]) if method == "x" else None
        for way in question.ways:
            if way == "written" and kind == "staleness" and question.role != "later":
                continue
            row = {**named, "way": way, "reason": lost}
            if lost is None and way == "loglik":
                row |= {"logprobs": [-draw.random()], "tokens": [1], "exact": [draw.random() < 0.5]}
            elif lost is None and question.accepted:
                row["verdict"] = draw.choice(VERDICTS)
                row["correct"] = row["verdict"] == "correct"
            rows.append(row)
    return rows


def by_hand(rows: Rows, edits_: Rows, plan: Rows) -> list[tuple[Any, ...]]:
    """What `written_table` should give, by looking everything up, one answer after another."""
    found = []
    again = [row for row in rows if row["method"] != "none" or not plan]
    for each in plan:
        for row in rows:
            stale = each["kind"] == "staleness" and row["way"] == "written" and row["role"] != "later"
            same = row["question"] == f"{each['edit']}#{each['number']}"
            if row["method"] == "none" and same and not stale:
                again.append(row | {"interval": each["interval"], "kind": each["kind"]})
    of = {edit["edit"]: edit for edit in edits_}
    judged = {row["question"] for row in rows if row.get("verdict")}

    def likely(row: dict[str, Any], number: int) -> dict[str, Any]:
        same = ("method", "interval", "kind", "edit")
        for other in again:
            here = other["way"] == "loglik" and other["question"] == f"{row['edit']}#{number}"
            if here and all(other[name] == row[name] for name in same):
                return other
        return {}

    for row in again:
        if row["way"] != "written" or row["question"] not in judged:
            continue
        probes = of[row["edit"]]["probes"]
        number = row["question"].partition("#")[2]
        if number.startswith("c"):
            clozes = [one for one in probes if one["role"] in ("update", "generalization")]
            prompts = list(dict.fromkeys((one["role"], one["prompt"]) for one in clozes))
            role, prompt = prompts[int(number[1:]) - 1]
        else:
            role, prompt = probes[int(number)]["role"], probes[int(number)]["prompt"]
        own = other = None
        for place, one in enumerate(probes):
            if (one["role"], one["prompt"]) == (role, prompt) and role in ("update", "generalization"):
                own = place if one["object"] == "new" else own
                other = place if one["object"] == "obsolete" else other
            if role == "later" and (one["role"], one["object"]) == ("update", "new"):
                own, other = int(number), place
        numbers = likely(row, int(number) if own is None else own)
        exact = numbers["exact"][0] if numbers.get("exact") else None
        rival = {} if other is None else likely(row, other)
        s = None
        if numbers.get("logprobs") and rival.get("logprobs"):
            s = numbers["logprobs"][0] > rival["logprobs"][0]
        same = "none", "written", row["question"]
        (before, *_) = (one for one in rows if (one["method"], one["way"], one["question"]) == same)
        named = row["method"], row["interval"], row["kind"] or None, row["role"], row["question"]
        stays, known = role in ("nearest", "random"), before["verdict"] == "correct"
        found.append((*named, row.get("verdict"), row["reason"], stays, known, exact, s))
    return sorted(found, key=str)


@pytest.mark.parametrize("stream", [False, True])
def test_each_answer_stands_beside_its_likelihood(stream, tmp_path):
    path = tmp_path / "edits.parquet"
    path = stream_edits(path) if stream else edits(tmp_path)
    rows = drawn(random.Random(1), path, stream)
    given = pq.read_table(path).to_pylist()
    plan = plan_table(given, 5, 0) if stream else None
    if plan is not None:
        plan = plan.append_column("model", pa.array(["m"] * len(plan), pa.string()))
    answers = written(tmp_path / "answers.parquet", ANSWERS, rows)
    table = written_table([answers], [path], plan)
    columns = ("method", "interval", "kind", "role", "question", "verdict", "reason", "stays", "before")
    found = [tuple(row[name] for name in (*columns, "exact", "s")) for row in table.to_pylist()]
    assert sorted(found, key=str) == by_hand(rows, given, plan.to_pylist() if plan is not None else [])
    assert {row["role"] for row in table.to_pylist()} >= {"update", "generalization", "nearest", "random"}
    asked = {score["asked"] for score in written_scores(table.to_pylist())} - {"nearest", "random"}
    whens = ("new, ", "earlier, ") if stream else ("",)
    kinds = {f"{when}{wording}" for when in whens for wording in ("own wording", "other wordings")}
    assert asked == kinds | ({"superseded"} if stream else set())
    # Neighbours with the new object are left out where the variant wants it.
    left = written_table([answers], [path], plan, without_new=True).to_pylist()
    probes = {f"{edit['edit']}#{n}": (edit, one) for edit in given for n, one in enumerate(edit["probes"])}
    gone = {
        question
        for question, (edit, one) in probes.items()
        if one["role"] in ("nearest", "random") and one["target"] == edit["new"]
    }
    assert left == [row for row in table.to_pylist() if row["question"] not in gone]
    assert stream or len(left) < len(table)
    assert written_table([answers], [path], plan).equals(table)


def test_shares_against_plain_counts():
    draw = random.Random(0)
    rows = []
    for number in range(200):
        role = draw.choice(["update", "generalization", "nearest"])
        verdict = draw.choice([None, *VERDICTS])
        row = said(verdict, method=draw.choice("ab"), role=role, stays=role == "nearest")
        row |= {"edit": f"Q{draw.randrange(9)}-P{number}", "before": draw.choice([None, True, False])}
        rows.append(row | {name: draw.choice([None, True, False]) for name in ("exact", "s")})
    scores = written_scores(rows)
    assert len(scores) == 6
    wording = {"update": "own wording", "generalization": "other wordings", "nearest": "nearest"}
    for score in scores:
        kind = score["method"], score["asked"]
        mine = [row for row in rows if (row["method"], wording[row["role"]]) == kind]
        answered = [row for row in mine if row["verdict"] is not None]
        assert score["answers"] == len(answered)
        assert score["unanswered"] == len(mine) - len(answered)
        assert score["subjects"] == len({row["edit"].split("-")[0] for row in answered})
        for verdict in VERDICTS:
            assert score[verdict] == len([row for row in answered if row["verdict"] == verdict])
            assert score[f"{verdict}_low"] <= score[verdict] / len(answered) <= score[f"{verdict}_high"]
        pairs = Counter((row["before"], row["correct"]) for row in answered if row["before"] is not None)
        numbers = pairs.total(), pairs[True, True], pairs[True, False], pairs[False, True]
        counts = tuple(score.get(name) for name in ("compared", "kept", "lost", "gained"))
        assert counts == (numbers if score["stays"] else (None,) * 4)
        for name in ("exact", "s"):
            both = [row for row in answered if row[name] is not None]
            assert score[f"{name}_answers"] == len(both)
            assert score[name] == sum(row[name] for row in both) / len(both)
            assert score[f"{name}_written"] == sum(row["correct"] for row in both) / len(both)
            differ = sum(row["correct"] != row[name] for row in both)
            assert score[f"{name}_disagrees"] == differ / len(both)
    pa.Table.from_pylist(scores, WRITTEN_SCORES)
    assert {name for score in scores for name in score} <= set(WRITTEN_SCORES.names)


def cells(lines: Sequence[str], asked: str, state: str) -> dict[str, str]:
    """The cells of one line of the first table about a kind of question."""
    (place, *_) = (number for number, line in enumerate(lines) if line.startswith(f"{asked} "))
    (line, *_) = (line for line in lines[place + 1 :] if line.startswith(f"{state} "))
    header = lines[place].removeprefix(asked).replace("with S", "with-S").split()
    unmarked = line.removeprefix(state).replace("_", "").replace("!", "")
    shown = unmarked.replace(", ", ",").replace(" [", "[").replace(NO_ANSWER, "no-answer")
    return dict(zip(header, shown.replace(NOT_COMPARED, "not-compared").split(), strict=True))


def test_cells_say_what_is_not_there():
    near = {"role": "nearest", "stays": True, "question": "Q1-P6#7"}
    rows = [said("correct", **near), said(None, method="rome", reason="edit_failed", **near)]
    rows += [said(None, method="rome", reason="edit_failed"), said("refused"), said("refused", method="lora")]
    lines = list(written_lines(rows, {"ft": "FT*"}))
    assert cells(lines, "nearest", "FT*")["Kept"] == "not-compared"
    assert cells(lines, "nearest", "ROME")["Right"] == "no-answer"
    assert cells(lines, "own wording", "ROME")["Right"] == "no-answer"
    assert cells(lines, "own wording", "LoRA")["Refused"] == "100.0"
    assert cells(lines, "own wording", "LoRA")["Right"].startswith("0.0[0.0,")
    assert "ROME, own wording: 1 questions have no answer" in lines
    assert list(written_lines([])) == []
    assert not [line for line in lines if "teacher forcing" in line]
    # What is unclear is named above two percent.
    rows = [said("correct")] * 98 + [said("unclear")] * 2
    assert not [line for line in written_lines(rows) if "unclear" in line]
    rows.append(said("unclear"))
    assert "FT, own wording: 3 of 101 answers are unclear" in list(written_lines(rows))


def test_other_benchmarks_have_the_option_beside_what_is_written(tmp_path):
    rows = []
    for number, (verdict, right) in enumerate([("correct", True), ("stale", True), ("wrong", None)]):
        named = {"model": "m", "method": "none", "benchmark": "tempripple", "question": f"q{number}"}
        named |= {"edit": "Q1-P6", "role": "2 0"}
        rows.append(named | {"way": "written", "verdict": verdict})
        if right is not None:
            rows.append(named | {"way": "loglik", "exact": [False] * 4, "correct": right})
    (score,) = written_scores(written_table([written(tmp_path / "a.parquet", ANSWERS, rows)]).to_pylist())
    assert (score["asked"], score["stays"], score["answers"]) == ("old, hop 0", True, 3)
    assert (score["kept"], score["lost"], score["compared"]) == (1, 0, 3)
    assert (score["exact_answers"], score["exact"], score["exact_disagrees"]) == (2, 1.0, 0.5)
    assert {verdict for verdict in VERDICTS if score[verdict]} == {"correct", "stale", "wrong"}


def test_alike_answers_of_a_cluster_count_once():
    right = [True] * 6 + [False] * 4
    assert clustered_wilson(right, range(10)) == pytest.approx(wilson(6, 10), abs=0.06)
    few = [one for one in right for _ in range(5)]
    low, high = clustered_wilson(few, [place // 5 for place in range(50)])
    assert high - low == pytest.approx(wilson(6, 10)[1] - wilson(6, 10)[0], abs=0.06)
    assert clustered_wilson([True] * 10, [0] * 5 + [1] * 5)[0] == pytest.approx(wilson(2, 2)[0], abs=1e-3)
