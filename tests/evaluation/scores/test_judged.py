"""Written answers of models are judged by a chat model, too, by the three commands of the workflow."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.chat_server import chat_serving
from support.questions import write_tables
from support.tables import written

from factdrift.cli import main
from factdrift.evaluation.questions.items import read_items
from factdrift.evaluation.tables import ANSWERS

WAY = {"model": "m", "method": "none", "benchmark": "tempripple", "way": "written"}


def said(body: dict[str, Any]) -> str:
    """Right if the text is the first accepted answer; a judge without a verdict if there is none."""
    read = body["messages"][0]["content"]
    accepted = read.partition("Accepted answers: ")[2].partition("\n")[0]
    text = read.split("-----\n")[1].strip()
    return "correct" if text in accepted else "wrong" if text else "Nothing to judge."


@pytest.fixture
def answers(tmp_path) -> tuple[Path, Path]:
    """The items, and answers to three of them: right, wrong, and unclear by rule; one was not answered."""
    items, _ = write_tables(tmp_path)
    first, second, third, *_ = read_items(items)
    rows = [
        {"question": first["item_id"], "output": first["answer_label"], "verdict": "correct"},
        {"question": second["item_id"], "output": "Nobody", "verdict": "wrong"},
        {"question": second["item_id"], "output": "Nobody", "verdict": "wrong", "method": "context"},
        {"question": third["item_id"], "output": third["answer_label"], "verdict": "unclear"},
        {"question": third["item_id"], "output": None, "verdict": None, "reason": "failed"},
    ]
    return items, written(tmp_path / "answers.parquet", ANSWERS, [WAY | row for row in rows])


def judged(folder: Path, items: Path, answers: Path, which: str) -> list[dict[str, Any]]:
    with chat_serving(answer=said) as server:
        chat = json.dumps({"model": "tiny", "base_url": server.url, "answer_tokens": 8})
        requests, replies = folder / "requests.parquet", folder / "replies.parquet"
        words = ["--benchmark=tempripple", f"--questions={items}", f"--judged={answers}", f"--which={which}"]
        assert main(["answer", "requests", *words, f"--settings={chat}", f"-o={requests}"]) == 0
        words = [f"--requests={requests}", f"--store={folder / 'store'}", f"--settings={chat}"]
        assert main(["chat", "ask", *words, f"-o={replies}"]) == 0
        # The same text to the same question is judged once, whoever wrote it.
        assert sum(server.asked.values()) == pq.read_metadata(requests).num_rows
    output = [f"-o={folder / 'judged.parquet'}", f"--out-text={folder / 'judged.txt'}"]
    words = [f"--answers={answers}", f"--verdicts={replies}", f"--which={which}"]
    assert main(["answer", "judged", *words, *output]) == 0
    return list(pq.read_table(folder / "judged.parquet").to_pylist())


def test_both_verdicts_are_kept(tmp_path, answers, capsys):
    found = judged(tmp_path, *answers, "all")
    rows = [" ".join((row["method"], row["verdict"], row["judge"])) for row in found]
    assert rows == ["none correct correct", "none wrong wrong", "context wrong wrong", "none unclear correct"]
    assert pq.read_metadata(tmp_path / "requests.parquet").num_rows == 3
    text = (tmp_path / "judged.txt").read_text("utf-8")
    assert text in capsys.readouterr().out
    row = next(line for line in text.splitlines() if line.startswith("tempripple"))
    assert row.split()[:4] == ["tempripple", "4", "0", "75.0"]
    assert row.split()[-2:] == ["25.0", "50.0"]
    assert "unclear by rule, correct by the model: 1" in text


def test_only_unclear_answers_are_judged_and_what_is_missing_is_named(tmp_path, answers, capsys):
    found = judged(tmp_path, *answers, "unclear")
    assert [(row["verdict"], row["judge"]) for row in found] == [("unclear", "correct")]
    words = [f"--answers={answers[1]}", f"--verdicts={tmp_path / 'replies.parquet'}", "--which=all"]
    output = [f"-o={tmp_path / 'more.parquet'}", f"--out-text={tmp_path / 'more.txt'}"]
    assert main(["answer", "judged", *words, *output]) == 1
    assert "was not judged; ask again" in capsys.readouterr().err
    assert not (tmp_path / "more.parquet").exists()
    rows = [WAY | {"question": "other", "output": "Nobody", "verdict": "wrong"}]
    table = written(tmp_path / "other.parquet", ANSWERS, rows)
    words = ["--benchmark=tempripple", f"--questions={answers[0]}", f"--judged={table}", "--which=all"]
    words += ['--settings={"model": "tiny"}', f"-o={tmp_path / 'requests.parquet'}"]
    assert main(["answer", "requests", *words]) == 1
    assert "other is no question of tempripple" in capsys.readouterr().err
