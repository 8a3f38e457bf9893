"""Answering in the real workflow: the scores of a bundled model."""

from collections import Counter
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.workflow import snakemake

TARGET = "results/answer_scores.parquet"
LIMIT = 50
ASKED: dict[str, Any] = {"answer": {"methods": ["rome"], "limit": LIMIT}, "moments": {"tokens": 20_000}}


@pytest.mark.digests
@pytest.mark.slow
def test_a_bundled_model_answers(trained, digests):
    said = snakemake(trained, TARGET, "results/tempripple.parquet", **ASKED)
    assert "Table 2" in said
    results = trained / "results"
    rows = pq.read_table(results / "answer_scores.parquet").to_pylist()
    items = pq.read_table(results / "tempripple.parquet").to_pylist()
    kinds = Counter((item["task"], item["hop"]) for item in items if not item["open_only"])
    accuracy = {}
    for row in rows:
        if row["items"] == "all":
            accuracy[row["scoring"], row["condition"], row["task"], row["hop"]] = row["accuracy"]
    conditions = {(scoring, condition) for scoring, condition, _, _ in accuracy}
    assert conditions == {(s, c) for s in ("letter", "loglik") for c in ("without", "with", "edited-rome")}
    folder = results / "2021-01-04_2023-02-27" / "answer"
    predictions = pq.read_table(folder / "predictions.parquet")
    assert predictions.num_rows == len(conditions) * sum(min(number, LIMIT) for number in kinds.values())
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
    assert "Nothing to be done" in snakemake(trained, TARGET, "--dry-run", **ASKED)
