"""RAG: the updates before a probe, against TF-IDF and pooled vectors computed by hand."""

from __future__ import annotations

import math
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.asking import ask, chance  # noqa: E402
from support.tiny_edits import EDITS  # noqa: E402
from support.tiny_models import tiny_model, tiny_tokenizer  # noqa: E402
from support.updates import edits as write_edits  # noqa: E402
from transformers import AutoConfig, AutoModel  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Edited  # noqa: E402
from factdrift.evaluation.methods.plan import Plan  # noqa: E402
from factdrift.evaluation.methods.rag import ranked  # noqa: E402
from factdrift.evaluation.questions.clozes import read_edits  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402

TEXTS = [f"{edit.prompt} {edit.target}. " for edit in EDITS]
QUERIES = (
    "The capital of Poseidonis is",
    "At the head of the United States of America stands",
    "Zoë Müller is a child of",
    "Joe Biden lives in",
    "quite other words",
)


def hyper_of(**changes: Any) -> Hyper:
    return read_hyper("rag", "tiny", changes)


def made(regime: str, **changes: Any) -> Edited:
    return edited(tiny_model("llama"), EDITS, hyper_of(**changes), Artefacts(), regime)


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
def test_the_best_updates_of_all_come_before_a_prompt(k: int) -> None:
    found = made("batch", k=k)
    prompts = [*QUERIES, *(edit.prompt for edit in EDITS)]
    contexts = found.before(0, prompts)
    assert contexts == [by_hand(prompt, k) for prompt in prompts]
    # Whichever edit a probe belongs to, the index is that of all.
    assert found.before(4, prompts) == contexts == [found.before(2, [prompt])[0] for prompt in prompts]
    assert made("sequential", k=k).before(0, prompts) == contexts
    assert len(set(contexts)) > 2 or k == 9
    if k == 1:
        assert contexts[len(QUERIES) :] == TEXTS
    assert found.deltas == {}


def test_the_earlier_of_equal_updates_is_taken_and_the_best_comes_last() -> None:
    assert ranked(np.array([[0.5, 0.9, 0.5, 0.5 + 1e-9]]), 3) == [[2, 0, 1]]
    assert ranked(np.array([[0.0, 0.0]]), 5) == [[1, 0]]
    assert made("batch", k=2).before(0, ["quite other words"]) == [TEXTS[1] + TEXTS[0]]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
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


def test_dense_vectors_are_means_over_the_tokens_of_each_text_alone(encoder: Path) -> None:
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
    assert found.before(0, prompts) == expected
    assert len(set(expected)) > 1


def test_a_missing_encoder_is_reported(tmp_path: Path) -> None:
    config = {"methods": ["rag"], "models": ["sample"], "rag": {"index": "dense"}}
    with pytest.raises(InputError, match=r"rag.encoder: none is given"):
        Plan(config)
    with pytest.raises(InputError, match=r"rag.encoder: .*nowhere cannot be loaded"):
        made("batch", index="dense", encoder=str(tmp_path / "nowhere"))


def test_probes_are_read_after_what_was_found(tmp_path: Path) -> None:
    loaded, updates = tiny_model("llama", positions=192), read_edits(write_edits(tmp_path))
    found = edited(loaded, updates.edits, hyper_of(k=2), Artefacts(), "batch")
    rows = ask(loaded, updates, tmp_path, hyper_of(k=2), regime="batch").of_way("loglik")
    asked = {each.id: each for each in updates.questions}
    own = 0
    for row in rows[:: len(rows) // 12]:
        probe = asked[row["question"]]
        (context,) = found.before(0, [probe.prompt])
        own += context.endswith(probe.context)
        wanted = chance(loaded, context + probe.prompt, probe.targets[0])
        assert row["logprobs"] == pytest.approx([wanted], abs=1e-5)
    assert 0 < own < 12  # neighbours get updates of their own
