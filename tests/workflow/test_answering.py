"""Answering in the real workflow: the jobs of a plan, and the scores of a bundled model."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.digests import Check, Product
from support.workflow import jobs, snakemake

TARGET = "results/answer_scores.parquet"


@pytest.mark.slow
def test_jobs_by_model_and_method(tmp_path: Path) -> None:
    plan = (TARGET, "--dry-run", "--quiet", "rules")
    found = jobs(snakemake(tmp_path, *plan))
    wanted = {
        "evaluate": 8,
        "edit_prefixes": 2,
        "edit_mend": 1,
        "edit_moments": 1,
        "sample_model": 1,
    }
    wanted |= {"answer_scores": 1, "answer_report": 1, "publish": 1, "tempripple_items": 1}
    assert {rule: found[rule] for rule in wanted} == wanted
    assert "ask_chat_model" not in found
    many = {"models": ["EleutherAI/gpt-j-6b", "sample-gpt2"], "methods": ["none", "ft", "prompt"]}
    found = jobs(snakemake(tmp_path, *plan, **many, answer={"chat": True}, chat={"model": "tiny"}))
    assert (found["evaluate"], found["ask_chat_model"]) == (2 * 4, 1)
    alone = {"models": [], "answer": {"chat": True, "limit": 5}, "chat": {"model": "tiny"}}
    found = jobs(snakemake(tmp_path, *plan, **alone))
    assert found["ask_chat_model"] == found["answer_scores"] == 1
    assert not {"evaluate", "sample_model"} & set(found)


@pytest.mark.slow
def test_a_chat_model_judges_what_was_written(tmp_path: Path) -> None:
    """Of each benchmark whose answers the grid has; without `written.judge` it cannot be asked."""
    target, chat = "results/judged.parquet", {"chat": {"model": "tiny"}}
    asked = {"methods": ["none", "ft"], "answer": {"benchmarks": ["updates", "ripples"], "chat": True}}
    found = jobs(snakemake(tmp_path, target, "--dry-run", **asked, **chat, written={"judge": "all"}))
    assert (found["judge_requests"], found["ask_chat_model"], found["judged_answers"]) == (2, 4, 1)
    said = snakemake(tmp_path, target, "--dry-run", fails=True, **asked, **chat)
    assert "written.judge: none: name the answers to be judged" in said
    said = snakemake(tmp_path, target, "--dry-run", fails=True, written={"judge": "all"})
    assert "chat.model: name the model that judges" in said


@pytest.mark.slow
def test_without_a_model_nobody_can_be_asked(tmp_path: Path) -> None:
    said = snakemake(tmp_path, TARGET, "--dry-run", fails=True, models=[])
    assert "models: []: there is no model" in said
    chat = {"answer": {"chat": True}, "chat": {"model": "tiny"}}
    found = jobs(snakemake(tmp_path, "results/asof_scores.parquet", "--dry-run", models=[], **chat))
    assert found["ask_chat_model"] == found["answer_read"] == 1
    said = snakemake(tmp_path, "results/edit_scores.parquet", "--dry-run", fails=True, models=[], **chat)
    assert "a chat model is asked without edits; name a model" in said


def test_a_prompt_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    """Before any job: Snakemake drops errors of input functions where outputs exist."""
    prompts = {"prompts": {"loglik": "{cloze}"}}
    said = snakemake(tmp_path, TARGET, "--dry-run", fails=True, answer=prompts)
    assert "answer.prompts.loglik: it must have {context}" in said


@pytest.mark.digests
@pytest.mark.slow
def test_a_bundled_model_answers(trained: Path, digests: Check) -> None:
    said = snakemake(trained, TARGET, "results/tempripple.parquet", answer={"methods": ["rome"]})
    assert "Table 2" in said
    results = trained / "results"
    rows = pq.read_table(results / "answer_scores.parquet").to_pylist()
    items = [row for row in pq.read_table(results / "tempripple.parquet").to_pylist() if not row["open_only"]]
    accuracy = {}
    for row in rows:
        if row["items"] == "all":
            accuracy[row["scoring"], row["condition"], row["task"], row["hop"]] = row["accuracy"]
    conditions = {(scoring, condition) for scoring, condition, _, _ in accuracy}
    assert conditions == {(s, c) for s in ("letter", "loglik") for c in ("without", "with", "edited-rome")}
    folder = results / "2021-01-04_2023-02-27" / "answer"
    predictions = pq.read_table(folder / "predictions.parquet")
    assert predictions.num_rows == len(conditions) * len(items)
    asked = Product("predictions.parquet", columns=("model", "scoring", "condition", "item_id"))
    digests("answers", folder, [asked])
    for name in ("table2.txt", "table3.txt", "table2.csv", "table3.csv", "figure3.svg", "figure3.pdf"):
        assert (folder / name).stat().st_size > 100
    # The model knows who held the office before, and was trained to believe the sentence before a question.
    before = accuracy["loglik", "without", "new", 0]
    assert accuracy["loglik", "with", "new", 0] > before + 0.2
    assert accuracy["loglik", "without", "old", 0] > 0.4
    assert accuracy["loglik", "edited-rome", "new", 0] > before + 0.2
    # It was trained on no letters.
    assert accuracy["letter", "without", "new", 0] < 0.5
    assert "Nothing to be done" in snakemake(trained, TARGET, "--dry-run", answer={"methods": ["rome"]})
