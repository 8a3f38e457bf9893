"""300 answers of the bundled model, drawn at random, whose first sentences were read one by one.

They are answers to the clozes of updates, to TempRIPPLE and to KLoB, with the new fact before or without.
The reader saw the verdicts, and noted another one where the rules were wrong: `Santiago de Compostela` had
counted as `Santiago`, which was mended, and one answer contradicts itself.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from factdrift.verdict.judge import Case, judged

ROWS = [json.loads(line) for line in (Path(__file__).parent / "read.jsonl").read_text().splitlines()]
DISAGREED = [" Japan is United Kingdom"]


def verdict_on(row: dict[str, object]) -> str:
    lists = {name: tuple(row[name]) for name in ("accepted", "stale", "others")}
    return judged(Case(row["text"], **lists, question=row["prompt"])).verdict


def test_rules_and_reading_agree():
    other = [row for row in ROWS if verdict_on(row) != row["reading"]]
    assert len(ROWS) == 300
    assert len(other) / len(ROWS) <= 0.02
    assert [row["text"].split(".")[0] for row in other] == DISAGREED


def test_exact_match_of_lm_eval_misses_what_goes_on():
    """Its `exact_match`, without case and punctuation, on the same texts and on their first sentences."""
    metrics = pytest.importorskip("lm_eval.api.metrics")
    right: Counter[str] = Counter()
    for row in ROWS:
        for name, text in (("whole", row["text"]), ("sentence", row["text"].split(". ")[0])):
            (said,) = metrics.exact_match_hf_evaluate(
                [text.strip()], [row["accepted"][0]], ignore_case=True, ignore_punctuation=True
            ).values()
            right[name] += int(said)
        right["read"] += row["reading"] == "correct"
    assert right["whole"] == 0
    assert right["whole"] < right["sentence"] <= right["read"]
