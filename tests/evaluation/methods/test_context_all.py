"""All updates in context: which texts come before a prompt, and how many did not fit."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.asking import ask
from support.stream_updates import stream_edits
from support.tiny_edits import EDITS
from support.tiny_models import BEGIN, tiny_model
from support.updates import edits as write_edits
from tokenizers.processors import TemplateProcessing

from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.states.edited import edited
from factdrift.models.loaded import Loaded

TEXTS = [f"{edit.prompt} {edit.target}. " for edit in EDITS]
PROMPTS = ("Marta lives in", "Joe Biden, who comes from New Orleans, lives at the sea of", "A")


def hyper_of(**changes: Any) -> Hyper:
    return read_hyper("context_all", "tiny", changes)


def left_out(edited: Edited) -> int:
    """The most texts that did not fit before a prompt so far."""
    assert edited.contexts is not None
    return max(getattr(context, "left_out", 0) for context in edited.contexts)


def tokens(loaded: Loaded, text: str) -> int:
    return len(loaded.tokenizer(text)["input_ids"])


def by_hand(loaded: Loaded, prompt: str, room: int) -> int:
    """How many of the texts, the oldest, are left out: by the sum of their tokens, one text after another."""
    left = loaded.spec.positions - room - tokens(loaded, prompt)
    lengths = [len(loaded.tokenizer.tokenize(text)) for text in TEXTS]
    return next((first for first in range(len(TEXTS)) if sum(lengths[first:]) <= left), len(TEXTS))


@pytest.mark.parametrize("regime", ["batch", "sequential", "stream"])
def test_all_come_before_each_prompt_in_their_order(regime: str) -> None:
    loaded = tiny_model("llama", positions=512)
    found = edited(loaded, EDITS, hyper_of(), Artefacts(), regime)
    assert found.before(0, PROMPTS) == found.before(4, PROMPTS) == ["".join(TEXTS)] * 3
    assert (found.deltas, found.failed, left_out(found)) == ({}, {}, 0)


@pytest.mark.parametrize("method", ["context_all", "rag"])
def test_alone_it_is_the_prompt(method: str) -> None:
    loaded = tiny_model("llama", positions=512)
    found = edited(loaded, EDITS, read_hyper(method, "tiny"), Artefacts())
    plain = edited(loaded, EDITS, read_hyper("prompt", "tiny"), Artefacts())
    for place in range(len(EDITS)):
        assert found.before(place, PROMPTS) == plain.before(place, PROMPTS)


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize(("positions", "room"), [(40, 20), (64, 64), (96, 20), (141, 20)])
def test_the_oldest_are_left_out_for_lack_of_positions_and_counted(
    positions: int, room: int, begins: bool
) -> None:
    """Also of a model whose sequences begin with a token of their own."""
    loaded = tiny_model("llama", positions=positions)
    if begins:
        loaded = replace(loaded, tokenizer=deepcopy(loaded.tokenizer))
        ends = [(BEGIN, loaded.tokenizer.bos_token_id)]
        begun = TemplateProcessing(single=f"{BEGIN} $A", special_tokens=ends)
        loaded.tokenizer.backend_tokenizer.post_processor = begun
    found = edited(loaded, EDITS, hyper_of(room=room), Artefacts(), "batch")
    expected = [by_hand(loaded, prompt, room) for prompt in PROMPTS]
    assert found.before(0, PROMPTS) == ["".join(TEXTS[first:]) for first in expected]
    assert left_out(found) == max(expected)
    for prompt, context in zip(PROMPTS, found.before(0, PROMPTS), strict=True):
        assert not context or tokens(loaded, context + prompt) + room <= positions
    assert set(expected) != {0} or positions >= 128


def test_what_is_superseded_is_gone() -> None:
    loaded = tiny_model("llama", positions=512)
    first = edited(loaded, EDITS[:3], hyper_of(), Artefacts(), "stream")
    later = Edit("f", "The capital of Atlantis is", "Atlantis", "Marta", replaces=("c", "a"))
    second = edited(loaded, [later], hyper_of(), Artefacts(memory=first.memory), "stream")
    assert second.before(0, ["A"]) == [TEXTS[1] + "The capital of Atlantis is Marta. "]


def test_what_was_left_out_is_in_the_costs(tmp_path: Path) -> None:
    group = read_edits(write_edits(tmp_path))
    none = ask(
        tiny_model("llama", positions=512), group, tmp_path / "none", hyper_of(), regime="batch", group=2
    )
    assert not any("left_out" in part for part in none.costs)
    stream, loaded = read_edits(stream_edits(tmp_path / "stream.parquet")), tiny_model("llama", positions=72)
    some = ask(loaded, stream, tmp_path / "some", hyper_of(room=24), stream=True)
    assert max(part.get("left_out", 0) for part in some.costs) >= 1
