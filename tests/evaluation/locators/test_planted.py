"""A model with one neuron that writes one answer: which methods find it, and that none sees the answer."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.tiny_models import tiny_model, tiny_tokenizer  # noqa: E402
from support.tiny_sentences import context, row, sentences, targets  # noqa: E402
from torch import Tensor  # noqa: E402

from factdrift.core.paths import LOCATORS  # noqa: E402
from factdrift.evaluation.locators.prompts import Sentence, tokenized  # noqa: E402
from factdrift.evaluation.locators.record import locator_of  # noqa: E402
from factdrift.models.families import ModelSpec  # noqa: E402
from factdrift.models.hooks import hooked  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402

LAYER, NEURON, DECOY = 1, 17, 5
"""The planted neuron, and one of the same block that is always very active and writes nothing."""

FINDING = {
    "knowledge_neurons": {},
    "knowledge_neurons_refined": {},
    "gradient_x_input": {},
    "attribution_patching": {"noise": 1.0, "samples": 4},
    "attribution_patching_modules": {"noise": 1.0, "samples": 4},
    "causal_tracing_mlp": {"noise": 1.0, "samples": 4, "window": 1},
    "pmet_probability": {},
}
NOT_FINDING: dict[str, dict[str, Any]] = {
    "activation": {},
    "causal_tracing_attention": {"noise": 1.0, "samples": 4, "window": 1},
    "attribution_patching_heads": {"noise": 1.0, "samples": 4},
    "rome_layer": {"layer": 0},
}


@pytest.fixture(scope="module")
def planted() -> tuple[Loaded, list[Sentence]]:
    """GPT-2 in which neuron NEURON of block LAYER alone knows what follows "Atlantis"."""
    tokenizer = tiny_tokenizer()
    found = tokenized(tokenizer, row("x", "x", "The capital is of Atlantis", "Atlantis", "Poseidonis"), 96)
    loaded = tiny_model("gpt2")
    with torch.no_grad():
        parameters: dict[str, Any] = dict(loaded.model.named_parameters())
        for name, value in parameters.items():
            # Attention and MLPs add nothing to speak of.
            if name.endswith(("c_proj.weight", "c_proj.bias")):
                value *= 1e-6
        mlp = loaded.model.get_submodule(loaded.spec.module(LAYER, "mlp"))
        kept: dict[str, Tensor] = {}
        norm = loaded.spec.module(LAYER, "ln_2")
        with hooked(loaded.model, {norm: lambda taken, given: kept.update(state=given[0, -1])}):
            loaded.model(torch.tensor([found.ids]))
        state = kept["state"]
        mlp.c_fc.weight[:, NEURON] = 4 * state / state.norm() ** 2
        mlp.c_fc.bias[NEURON] = -2.0  # 2 at the fact, below 0 elsewhere
        mlp.c_fc.weight[:, DECOY] = 0
        mlp.c_fc.bias[DECOY] = 50.0
        mlp.c_proj.weight[DECOY] = 0
        parameters["transformer.ln_f.weight"] *= 4  # so that one direction can outweigh the vocabulary
        answer = parameters["transformer.wte.weight"][found.answer[0]]
        mlp.c_proj.weight[NEURON] = 20 * answer / answer.norm()
    return loaded, [found]


def unit(spec: ModelSpec, count: int) -> int:
    """The planted neuron's unit in a layout of so many units."""
    each = count // spec.layers
    return LAYER * each + {spec.inner: NEURON, 2: 1, 1: 0}[each]


@pytest.mark.parametrize("name", FINDING)
def test_the_planted_neuron_is_found(planted: tuple[Loaded, list[Sentence]], name: str) -> None:
    loaded, of = planted
    logits = loaded.model(torch.tensor([of[0].ids])).logits[0, -1]
    assert logits.argmax() == of[0].answer[0]
    assert logits.softmax(0).max() > 0.9
    (scores,) = locator_of(name)(loaded, of, targets(of), context(name, **FINDING[name]))
    best = unit(loaded.spec, len(scores))
    assert scores.argmax() == best
    others = torch.cat([scores[:best], scores[best + 1 :]])
    assert scores[best] > 10 * others.abs().max()


@pytest.mark.parametrize("name", NOT_FINDING)
def test_methods_that_look_elsewhere_do_not_find_it(
    planted: tuple[Loaded, list[Sentence]], name: str
) -> None:
    loaded, of = planted
    (scores,) = locator_of(name)(loaded, of, targets(of), context(name, **NOT_FINDING[name]))
    if name == "activation":
        assert scores.argmax() == LAYER * loaded.spec.inner + DECOY
    elif name == "rome_layer":
        assert scores.tolist() == [1, 0, 0]
    else:
        assert scores.abs().max() < 1e-3


@pytest.mark.parametrize("name", sorted(path.stem for path in LOCATORS.glob("*.yaml")))
def test_no_locator_sees_the_answer(name: str) -> None:
    """The model is given the text's tokens alone, and another answer with the same target changes nothing."""
    loaded = tiny_model("llama")
    of = sentences()
    given = context(name, **({"layer": 1} if name == "rome_layer" else {}))
    rows: set[tuple[int, ...]] = set()

    def look(ids: Tensor, out: Tensor) -> None:
        rows.update(tuple(each) for each in ids.tolist())

    with hooked(loaded.model, {loaded.spec.embedding: look}):
        first = locator_of(name)(loaded, of, targets(of), given)
    texts = {one.ids for one in of}
    for each in rows:
        # Padding repeats the last token.
        ends = [end for end in range(1, len(each) + 1) if set(each[end:]) <= {each[end - 1]}]
        assert texts & {each[:end] for end in ends}
    others = [Sentence(one.id, one.text, one.ids, one.subject, (9, 9), one.group, one.fact) for one in of]
    assert torch.equal(first, locator_of(name)(loaded, others, targets(of), given))
