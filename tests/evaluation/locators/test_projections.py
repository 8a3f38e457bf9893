"""The signals of PMET: what a module that adds nothing, or all, does to the state."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.tiny_models import tiny_model  # noqa: E402
from support.tiny_sentences import context, sentences, targets  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.locators.projections import _jaccard, projections  # noqa: E402
from factdrift.models.fork import unembedded  # noqa: E402
from factdrift.models.hooks import hooked  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402

SIGNALS = ("cosine", "jaccard", "probability")


def signal(loaded: Loaded, name: str):  # type: ignore[no-untyped-def]
    of = sentences()
    return projections(loaded, of, targets(of), context(f"pmet_{name}", top=10))


@pytest.mark.parametrize("name", SIGNALS)
@pytest.mark.parametrize("family", ["gpt2", "gptj", "llama"])
def test_a_module_that_adds_nothing_changes_nothing(family: str, name: str) -> None:
    loaded = tiny_model(family)
    silent = loaded.spec.module(1, loaded.spec.attention_out)
    with hooked(loaded.model, {silent: lambda taken, given: torch.zeros_like(given)}):
        found = signal(loaded, name)
    assert found.shape == (5, 2 * loaded.spec.layers)
    assert found[:, 2].abs().max() < 1e-12
    assert (found[:, [0, 1, 3, 4, 5]].abs().max(0).values > 0).all()


@pytest.mark.parametrize("family", ["gpt2", "llama", "granite", "llama4_text"])
def test_changes_of_the_probability_add_up(family: str) -> None:
    """A module's state after is the next one's before, so the sum is the last probability minus the first."""
    loaded = tiny_model(family)
    of = sentences()
    found = signal(loaded, "probability")
    final = [loaded.model(torch.tensor([one.ids])).logits[0, -1].softmax(0)[one.answer[0]] for one in of]
    embedded = []
    for one in of:
        kept: dict[str, torch.Tensor] = {}
        first = loaded.spec.module(0, "")
        with hooked(loaded.model, {first: lambda taken, given, kept=kept: kept.update(state=taken[0, -1])}):
            loaded.model(torch.tensor([one.ids]))
        norm = loaded.model.get_submodule(loaded.spec.final_norm)
        embedded.append(unembedded(loaded, norm(kept["state"])).softmax(0)[one.answer[0]])
    assert torch.allclose(found.sum(1), torch.stack(final) - torch.stack(embedded), rtol=0, atol=1e-12)


def test_jaccard_is_that_of_sets() -> None:
    first, second = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 4]]), torch.tensor([[3, 9, 1, 8], [4, 3, 2, 1]])
    assert _jaccard(first, second).tolist() == [2 / 6, 1]


def test_families_that_normalise_the_output_are_refused() -> None:
    with pytest.raises(InputError, match=r"pmet_cosine: .*post-norm"):
        signal(tiny_model("olmo2"), "cosine")
