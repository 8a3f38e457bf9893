"""Many targets after one prompt: equal to running every text in full, for all supported families."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.support.tiny_models import LISTED, tiny_model

from factdrift.models import options
from factdrift.models.alignment import Sentence, align
from factdrift.models.loaded import Loaded
from factdrift.models.options import score_options
from factdrift.models.scoring import score

PROMPTS = ("The capital of France is", "The team of the player", "The mayor of the city of France is")
TARGETS = ("Paris", "the City of Paris", "London", "the team of the capital", "France")


def sentences(loaded: Loaded) -> list[Sentence]:
    return [align(loaded.tokenizer, prompt, target) for prompt in PROMPTS for target in TARGETS]


@pytest.mark.parametrize("cost", [0, 1000])
@pytest.mark.parametrize("family", LISTED)
def test_options_have_the_log_probabilities_of_full_texts(
    family: str, cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where what texts have in common runs apart."""
    monkeypatch.setattr(options, "PASS", cost)
    loaded = tiny_model(family)
    asked = sentences(loaded)
    expected = score(loaded, asked).logprob
    assert score_options(loaded, asked) == pytest.approx(expected, abs=2e-5)
    assert score_options(loaded, asked[::-1], budget=20) == pytest.approx(expected[::-1], abs=2e-5)


def test_common_beginnings_of_prompts_and_targets_run_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    head, subjects, names = (1, 2, 3), ((4, 5), (6, 7)), ((8, 9, 9), (8, 9, 8), (8, 3, 9), (7, 2), (6,))
    texts = [(*head, *subject, *name) for subject in subjects for name in names]
    monkeypatch.setattr(options, "PASS", 1)
    assert options._ends(texts, 5) == [3, 5, 6, 7]
    assert options._ends(texts[:5], 5) == [5, 6, 7]
    assert options._ends([(*head, 8)], 3) == [3]
    monkeypatch.setattr(options, "PASS", 100)
    assert options._ends(texts, 5) == [5, 7]


def test_a_model_with_modules_of_others_runs_each_text_alone() -> None:
    loaded = replace(tiny_model("llama"), alone=True)
    asked = sentences(loaded)
    assert score_options(loaded, asked) == pytest.approx(score(loaded, asked).logprob)


def test_output_that_is_not_finite_is_no_number() -> None:
    loaded = tiny_model("llama")
    loaded.model.get_submodule(loaded.spec.final_norm).weight.data[:] = float("nan")
    assert np.isnan(score_options(loaded, sentences(loaded))).all()


def test_a_target_without_tokens_is_refused() -> None:
    with pytest.raises(ValueError, match="without target"):
        score_options(tiny_model("llama"), [Sentence((1, 2), None, 2)])
