"""Exact match equals that of lm-evaluation-harness on the hand-made answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factdrift.verdict.matching import contains, exact_match

HERE = Path(__file__).parent


def test_exact_match() -> None:
    assert exact_match(" Joe biden.\n", ["Donald Trump", "Joe Biden"])
    assert not exact_match("Joe Biden, the president", ["Joe Biden"])
    assert not exact_match("", ["Joe Biden"])


def test_contains_counts_what_the_verdict_does_not() -> None:
    assert contains("It is not Joe Biden.", ["Joe Biden", "Biden"])
    assert not contains("joe biden", ["Joe Biden"])
    assert not contains("", ["Joe Biden"])


def test_it_is_that_of_the_harness() -> None:
    pytest.importorskip("lm_eval", reason="lm-eval is installed with `pip install lm_eval`")
    from lm_eval.api.metrics import exact_match_hf_evaluate

    rows = [line.split("\t") for line in (HERE / "answers.tsv").read_text("utf-8").splitlines()[1:]]
    scenes = json.loads((HERE / "scenes.json").read_text("utf-8"))
    matches = 0
    for _, _, scene, text, _ in rows:
        accepted, text = scenes[scene]["accepted"], text.replace("\\n", "\n").strip()
        settings = {"ignore_case": True, "ignore_punctuation": True}
        found = [exact_match_hf_evaluate([text], [name], **settings)["exact_match"] for name in accepted]
        assert exact_match(text, accepted) == any(found), text
        matches += any(found)
    assert 10 < matches < len(rows)
