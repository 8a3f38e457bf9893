"""Written answers of models are judged by a chat model, too, by the three commands of the workflow."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.chat_server import chat_serving
from support.commands import files, printed, refusal, sending
from support.questions import write_tables
from support.rows import rows
from support.tables import written

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
def items(tmp_path) -> Path:
    """The items, beside answers to three: right, wrong, and unclear by rule; one was not answered."""
    items, _ = write_tables(tmp_path)
    first, second, third, *_ = read_items(items)
    answers = [
        {"question": first["item_id"], "output": first["answer_label"], "verdict": "correct"},
        {"question": second["item_id"], "output": "Nobody", "verdict": "wrong"},
        {"question": second["item_id"], "output": "Nobody", "verdict": "wrong", "method": "context"},
        {"question": third["item_id"], "output": third["answer_label"], "verdict": "unclear"},
        {"question": third["item_id"], "output": None, "verdict": None, "reason": "failed"},
    ]
    written(tmp_path / "answers.parquet", ANSWERS, [WAY | row for row in answers])
    return items


def of(items: Path, which: str, answers: str = "answers.parquet") -> list[str]:
    """Options that name questions, and answers to them that are judged."""
    table = items.with_name(answers)
    return ["--benchmark=tempripple", f"--questions={items}", f"--judged={table}", f"--which={which}"]


def judging(folder: Path, which: str, table: str) -> list[str]:
    paths = {"answers": "answers.parquet", "verdicts": "replies.parquet", "out_text": "judged.txt"}
    return ["answer", "judged", f"--which={which}", *files(folder, output=table, **paths)]


def judged(items: Path, which: str) -> tuple[list[dict[str, Any]], str]:
    """The rows of the table, and what is printed."""
    folder = items.parent
    with chat_serving(answer=said) as server:
        printed(*sending(folder, of(items, which), model="tiny", base_url=server.url, answer_tokens=8))
        # The same text to the same question is judged once, whoever wrote it.
        assert sum(server.asked.values()) == pq.read_metadata(folder / "requests.parquet").num_rows
    text = printed(*judging(folder, which, "judged.parquet"))
    return rows(folder / "judged.parquet"), text


def test_both_verdicts_are_kept(items):
    found, shown = judged(items, "all")
    kept = [" ".join((row["method"], row["verdict"], row["judge"])) for row in found]
    assert kept == ["none correct correct", "none wrong wrong", "context wrong wrong", "none unclear correct"]
    assert pq.read_metadata(items.with_name("requests.parquet")).num_rows == 3
    text = items.with_name("judged.txt").read_text("utf-8")
    assert text in shown
    row = next(line for line in text.splitlines() if line.startswith("tempripple"))
    assert row.split()[:4] == ["tempripple", "4", "0", "75.0"]
    assert row.split()[-2:] == ["25.0", "50.0"]
    assert "unclear by rule, correct by the model: 1" in text


def test_only_unclear_answers_are_judged_and_what_is_missing_is_named(items, tmp_path):
    found, _ = judged(items, "unclear")
    assert [(row["verdict"], row["judge"]) for row in found] == [("unclear", "correct")]
    assert "was not judged; ask again" in refusal(*judging(tmp_path, "all", "more"))
    assert not (tmp_path / "more").exists()
    written(tmp_path / "other", ANSWERS, [WAY | {"question": "x", "output": "Nobody", "verdict": "wrong"}])
    line = ["answer", "requests", *of(items, "all", "other"), '--settings={"model": "tiny"}', "-o=o"]
    assert "x is no question of tempripple" in refusal(*line)
