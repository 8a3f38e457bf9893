"""Updates in context: all of them as far as they fit, or those that RAG finds, against values by hand."""

import math
import re
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.asking import ask
from support.stream_updates import stream_edits
from support.tiny_edits import EDITS
from support.tiny_models import BEGIN, tiny_model, tiny_tokenizer
from support.updates import edits as write_edits
from tokenizers.processors import TemplateProcessing
from transformers import AutoConfig, AutoModel

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import Hyper, Plan, read_hyper
from factdrift.evaluation.methods.in_context import ranked
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.states.edited import edited
from factdrift.evaluation.states.plain import EditedModel
from factdrift.models.loaded import Loaded

TEXTS = [f"{edit.prompt} {edit.target}. " for edit in EDITS]
SHORT = {"length": 8, "answer_tokens": 2}
"""Tokens of what models write."""


def all_of(**changes: Any) -> Hyper:
    return read_hyper("context_all", "tiny", changes)


def rag_of(**changes: Any) -> Hyper:
    return read_hyper("rag", "tiny", changes)


PROMPTS = ("Marta lives in", "Joe Biden, who comes from New Orleans, lives at the sea of", "A")


def left_out(edited: Edited) -> int:
    """The most texts that did not fit before a prompt so far."""
    return max(getattr(context, "left_out", 0) for context in edited.contexts)


def before(made: Edited, edit: int, prompts: Sequence[str]) -> list[str]:
    """The text that the method puts before each prompt of a probe of an edit."""
    names = [each.id for each in EDITS[: len(made.contexts)]]
    questions = [Question("", prompt=prompt) for prompt in prompts]
    return EditedModel(tiny_model("llama"), made, names).before(questions, [names[edit]] * len(prompts))


def tokens(loaded: Loaded, text: str) -> int:
    return len(loaded.tokenizer(text)["input_ids"])


def left_out_by_hand(loaded: Loaded, prompt: str, room: int) -> int:
    """How many of the texts, the oldest, are left out: by the sum of their tokens, one text after another."""
    left = loaded.spec.positions - room - tokens(loaded, prompt)
    lengths = [len(loaded.tokenizer.tokenize(text)) for text in TEXTS]
    return next((first for first in range(len(TEXTS)) if sum(lengths[first:]) <= left), len(TEXTS))


@pytest.mark.parametrize("regime", ["batch", "sequential", "stream"])
def test_all_come_before_each_prompt_in_their_order(regime):
    loaded = tiny_model("llama", positions=512)
    found = edited(loaded, EDITS, all_of(), Artefacts(), regime)
    assert before(found, 0, PROMPTS) == before(found, 4, PROMPTS) == ["".join(TEXTS)] * 3
    assert (found.deltas, found.failed, left_out(found)) == ({}, {}, 0)


@pytest.mark.parametrize("method", ["context_all", "rag"])
def test_alone_it_is_the_prompt(method):
    loaded = tiny_model("llama", positions=512)
    found = edited(loaded, EDITS, read_hyper(method, "tiny"), Artefacts())
    plain = edited(loaded, EDITS, read_hyper("prompt", "tiny"), Artefacts())
    for place in range(len(EDITS)):
        assert before(found, place, PROMPTS) == before(plain, place, PROMPTS)


@pytest.mark.parametrize("begins", [False, True])
@pytest.mark.parametrize(("positions", "room"), [(40, 20), (64, 64), (96, 20), (141, 20)])
def test_the_oldest_are_left_out_for_lack_of_positions_and_counted(positions, room, begins):
    """Also of a model whose sequences begin with a token of their own."""
    loaded = tiny_model("llama", positions=positions)
    if begins:
        loaded = replace(loaded, tokenizer=deepcopy(loaded.tokenizer))
        ends = [(BEGIN, loaded.tokenizer.bos_token_id)]
        begun = TemplateProcessing(single=f"{BEGIN} $A", special_tokens=ends)
        loaded.tokenizer.backend_tokenizer.post_processor = begun
    found = edited(loaded, EDITS, all_of(room=room), Artefacts(), "batch")
    expected = [left_out_by_hand(loaded, prompt, room) for prompt in PROMPTS]
    assert before(found, 0, PROMPTS) == ["".join(TEXTS[first:]) for first in expected]
    assert left_out(found) == max(expected)
    for prompt, context in zip(PROMPTS, before(found, 0, PROMPTS), strict=True):
        assert not context or tokens(loaded, context + prompt) + room <= positions
    assert set(expected) != {0} or positions >= 128


def test_what_is_superseded_is_gone():
    loaded = tiny_model("llama", positions=512)
    first = edited(loaded, EDITS[:3], all_of(), Artefacts(), "stream")
    later = Edit("f", "The capital of Atlantis is", "Atlantis", "Marta", replaces=("c", "a"))
    second = edited(loaded, [later], all_of(), Artefacts(memory=first.memory), "stream")
    assert before(second, 0, ["A"]) == [TEXTS[1] + "The capital of Atlantis is Marta. "]


def test_what_was_left_out_is_in_the_costs(tmp_path):
    group, loaded = read_edits(write_edits(tmp_path)), tiny_model("llama", positions=512)
    none = ask(loaded, group, tmp_path / "none", all_of(), regime="batch", group=2, **SHORT)
    assert not any("left_out" in part for part in none.costs)
    stream, loaded = read_edits(stream_edits(tmp_path / "stream.parquet")), tiny_model("llama", positions=72)
    some = ask(loaded, stream, tmp_path / "some", all_of(room=24), stream=True, **SHORT)
    assert max(part.get("left_out", 0) for part in some.costs) >= 1


QUERIES = (
    "The capital of Poseidonis is",
    "At the head of the United States of America stands",
    "Zoë Müller is a child of",
    "Joe Biden lives in",
    "quite other words",
)


def made(regime: str, **changes: Any) -> Edited:
    return edited(tiny_model("llama"), EDITS, rag_of(**changes), Artefacts(), regime)


def by_hand(query: str, k: int) -> str:
    """The context for a query: every weight from its definition."""
    words = [re.findall(r"\w+", text.lower()) for text in TEXTS]
    holding = Counter(word for text in words for word in set(text))

    def vector(text: list[str]) -> dict[str, float]:
        known = Counter(word for word in text if word in holding)
        weights = {
            word: n * (math.log((1 + len(words)) / (1 + holding[word])) + 1) for word, n in known.items()
        }
        length = math.sqrt(sum(weight**2 for weight in weights.values())) or 1
        return {word: weight / length for word, weight in weights.items()}

    asked = vector(re.findall(r"\w+", query.lower()))
    scores = [sum(asked.get(word, 0) * weight for word, weight in vector(text).items()) for text in words]
    best = sorted(range(len(TEXTS)), key=lambda place: (-round(scores[place], 6), place))[:k]
    return "".join(TEXTS[place] for place in reversed(best))


@pytest.mark.parametrize("k", [1, 2, 9])
def test_the_best_updates_of_all_come_before_a_prompt(k):
    found = made("batch", k=k)
    prompts = [*QUERIES, *(edit.prompt for edit in EDITS)]
    contexts = before(found, 0, prompts)
    assert contexts == [by_hand(prompt, k) for prompt in prompts]
    # Whichever edit a probe belongs to, the index is that of all.
    assert before(found, 4, prompts) == contexts == [before(found, 2, [prompt])[0] for prompt in prompts]
    assert before(made("sequential", k=k), 0, prompts) == contexts
    assert len(set(contexts)) > 2 or k == 9
    if k == 1:
        assert contexts[len(QUERIES) :] == TEXTS
    assert found.deltas == {}


def test_the_earlier_of_equal_updates_is_taken_and_the_best_comes_last():
    assert ranked(np.array([[0.5, 0.9, 0.5, 0.5 + 1e-9]]), 3) == [[2, 0, 1]]
    assert ranked(np.array([[0.0, 0.0]]), 5) == [[1, 0]]
    assert before(made("batch", k=2), 0, ["quite other words"]) == [TEXTS[1] + TEXTS[0]]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory) -> Path:
    """A random encoder whose attention reads in both directions."""
    folder = tmp_path_factory.mktemp("encoder")
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    sizes |= {"vocab_size": len(tiny_tokenizer()), "max_position_embeddings": 40, "pad_token_id": 0}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = AutoModel.from_config(AutoConfig.for_model("bert", initializer_range=0.5, **sizes))
    model.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def test_dense_vectors_are_means_over_the_tokens_of_each_text_alone(encoder):
    model = AutoModel.from_pretrained(encoder).eval()

    def vector(text: str) -> Any:
        ids = torch.tensor([tiny_tokenizer()(text)["input_ids"][:40]])
        return model(ids).last_hidden_state[0].double().mean(0)

    prompts = [*QUERIES, "on and on " * 30]
    index = [vector(text) for text in TEXTS]
    expected = []
    for prompt in prompts:
        scores = [torch.cosine_similarity(vector(prompt), one, 0).item() for one in index]
        best = sorted(range(len(TEXTS)), key=lambda place: -scores[place])[:2]
        expected.append(TEXTS[best[1]] + TEXTS[best[0]])
    found = made("batch", index="dense", encoder=str(encoder), k=2)
    assert before(found, 0, prompts) == expected
    assert len(set(expected)) > 1


def test_a_missing_encoder_is_reported(tmp_path):
    config = {"methods": ["rag"], "models": ["sample"], "rag": {"index": "dense"}}
    with pytest.raises(InputError, match=r"rag.encoder: none is given"):
        Plan(config)
    with pytest.raises(InputError, match=r"rag.encoder: .*nowhere at revision main is no folder"):
        made("batch", index="dense", encoder=str(tmp_path / "nowhere"))
