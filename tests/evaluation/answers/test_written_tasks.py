"""Questions answered in writing, as tasks for the harnesses of others: documents and texts."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.questions import items, write_tables

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.questions.prompts import cloze_of
from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.tools.inspect_tasks import TASKS, write_inspect
from factdrift.evaluation.tools.written_questions import Written, written_items, written_updates

PROMPT, INSTRUCTION = "{context} {cloze}", "Be short."


@pytest.fixture
def written(tmp_path: Path) -> list[Written]:
    questions = write_tables(tmp_path)[0]
    return list(written_items("tempripple", questions, PROMPT, INSTRUCTION))


def by_id(written: list[Written], group: str, turns: bool = False) -> dict[str, dict[str, Any]]:
    tables = [each.turns if turns else each.continued for each in written if each.group == group]
    return {row["id"]: row for table in tables for row in table.to_pylist()}


def test_all_items_are_asked_open_ones_too(written: list[Written]) -> None:
    for group, told in (("tempripple_without", False), ("tempripple_with", True)):
        continued, turns = by_id(written, group), by_id(written, group, turns=True)
        assert list(map(len, (continued, turns))) == [len(items())] * 2
        for item in items():
            row, turn = continued[item["item_id"]], turns[item["item_id"]]
            context = item["context"] if told else ""
            assert row["prompt"] == f"{context} {cloze_of(item['question'])}".strip()
            assert turn["prompt"] == f"{context}\n{item['question']} {INSTRUCTION}".strip()
            assert row["question"] == cloze_of(item["question"])
            assert turn["question"] == item["question"]
            others = [name for name in item["options"] or () if name != item["answer_label"]]
            for each in (row, turn):
                assert (each["accepted"], each["others"]) == ([item["answer_label"]], others)
                assert each["target"] == item["answer_label"]


def test_updates_have_their_old_object_and_other_tables_their_options(tmp_path: Path) -> None:
    probes = [
        {"role": role, "place": place, "object": name, "prompt": prompt, "target": target}
        for role, place, prompt in (("update", 0, "X is led by"), ("generalization", 0, "The head of X is"))
        for name, target in (("new", "Y"), ("obsolete", "Z"))
    ]
    row = {"edit": "Q1-P6", "prompt": "X is led by", "target": "Y", "new": "Y", "obsolete": "Z"}
    row |= {"relation": "P6", "subject_label": "X", "probes": probes, "fluency": False, "kind": "replace"}
    edits = tmp_path / "edits.parquet"
    pq.write_table(pa.Table.from_pylist([dict.fromkeys(EDITS.names) | row], schema=EDITS), edits)
    update, reworded = written_updates(edits, PROMPT, "")
    assert (update.group, update.kind, reworded.kind) == ("wikifactdiff", "_update", "_generalization")
    (doc,) = update.continued.to_pylist()
    assert (doc["prompt"], doc["accepted"], doc["stale"]) == ("X is led by", ["Y"], ["Z"])
    assert update.turns["prompt"].to_pylist() == ["Who is the head of government of X?"]
    assert len(reworded.turns) == 0  # no second question in words
    mine = tmp_path / "mine.parquet"
    plain = {"item_id": "a", "question": "As of 2021, who was the mayor of X?", "options": ["A", "B"]}
    pq.write_table(pa.Table.from_pylist([plain | {"answer_index": 1}]), mine)
    (found,) = written_items("mine", mine, PROMPT, "")
    assert (found.group, found.kind) == ("mine", "")
    (doc,) = found.continued.to_pylist()
    assert (doc["prompt"], doc["accepted"], doc["others"]) == ("As of 2021, the mayor of X was", ["B"], ["A"])
    pq.write_table(pa.Table.from_pylist([plain | {"options": [], "answer_index": None}]), mine)
    with pytest.raises(InputError, match="'a' has no options"):
        list(written_items("mine", mine, PROMPT, ""))


def test_a_folder_for_inspect(written: list[Written], tmp_path: Path, capsys: Any) -> None:
    folder = tmp_path / "inspect"
    line = ["answer", "inspect", f"--questions=tempripple={tmp_path / 'tr_items.parquet'}", f"-o={folder}"]
    assert not main([*line, "--prompt", PROMPT, "--tokens", "16", "--instruction", INSTRUCTION])
    assert "tempripple_with_new: 3" in capsys.readouterr().out
    code = ast.parse((folder / TASKS).read_text())
    named = {each.name for each in code.body if isinstance(each, ast.FunctionDef) and each.decorator_list}
    tasks = named - {"verdict"}
    assert tasks == {path.stem for path in folder.glob("*.jsonl")}
    rows = [
        json.loads(text) for name in tasks for text in (folder / f"{name}.jsonl").read_text().splitlines()
    ]
    assert len(rows) == 2 * len(items())
    told = by_id(written, "tempripple_with", turns=True).values()
    assert {row["input"] for row in rows} >= {row["prompt"] for row in told}
    with pytest.raises(InputError, match="no question to write"):
        write_inspect([], 16, folder)


def test_inspect_runs_the_tasks(
    written: list[Written], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect_ai = pytest.importorskip("inspect_ai", reason="it is installed with `pip install inspect_ai`")
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    monkeypatch.setenv("INSPECT_LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / "inspect"
    write_inspect(written, 16, folder)
    rows = [json.loads(text) for text in (folder / "tempripple_with_new.jsonl").read_text().splitlines()]
    texts = [f"It is {rows[0]['target']}.", "I don't know.", "Nobody Else"]
    outputs = [ModelOutput.from_content("mockllm/model", text) for text in texts]
    for output in outputs:  # otherwise it fetches a tokenizer to count its tokens
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    monkeypatch.chdir(folder)
    (log,) = inspect_ai.eval(
        f"{TASKS}@tempripple_with_new",
        model=get_model("mockllm/model", custom_outputs=outputs),
        max_samples=1,
        display="none",
    )
    assert log.status == "success", log.error
    verdicts = [sample.scores["verdict"].explanation.partition(":")[0] for sample in log.samples]
    assert verdicts == ["correct", "refused", "wrong"]
    (right,) = (score for score in log.results.scores if score.name == "right")
    assert right.metrics["mean"].value == pytest.approx(1 / 3)
    assert any((tmp_path / "logs").iterdir())
