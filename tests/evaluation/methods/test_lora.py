"""LoRA: the changes are those that peft trains from the same initial values, alone and for a group."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.peft_models import assert_same, trained_by_peft  # noqa: E402
from support.tiny_edits import EDITS  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts  # noqa: E402
from factdrift.evaluation.methods.lora import Batch, Drops, lora, target_names  # noqa: E402
from factdrift.evaluation.methods.targets import aligned  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*checkpointing.*:FutureWarning")


def hyper_of(**changes: Any) -> Hyper:
    return read_hyper("lora", "tiny", {"rank": 3, "alpha": 6, "steps": 4, "dropout": 0} | changes)


@pytest.mark.parametrize("family", ["gpt2", "falcon", "llama", "qwen3_5_text", "deepseek_v2"])
def test_each_edit_is_what_peft_trains(family: str) -> None:
    loaded = tiny_model(family)
    hyper = hyper_of()
    found = edited(loaded, EDITS[:3], hyper, Artefacts())
    assert not found.failed
    assert found.steps is not None
    assert found.losses is not None
    assert found.steps.tolist() == [4, 4, 4]
    for place in (0, 2):
        model, loss = trained_by_peft(family, hyper, EDITS[place : place + 1])
        assert_same(loaded, found, place, model, 1e-9)
        assert found.losses[place].item() == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_group_is_what_peft_trains(batch: int) -> None:
    loaded = tiny_model("llama")
    hyper = hyper_of(batch=batch, weight_decay=0.01, layers=[0, 2])
    found = edited(loaded, EDITS[:3], hyper, Artefacts(), "batch")
    model, _ = trained_by_peft("llama", hyper, EDITS[:3])
    assert_same(loaded, found, 0, model, 1e-9)
    assert found.owner == [0, 0, 0]
    assert {len(delta) for delta in found.deltas.values()} == {1}


def test_together_as_alone_and_in_any_order() -> None:
    loaded = tiny_model("llama")
    hyper = hyper_of(dropout=0.3)
    whole = lora(loaded, EDITS, hyper, Artefacts())
    backwards = lora(loaded, EDITS[::-1], hyper, Artefacts())
    for place, edit in enumerate(EDITS):
        alone = lora(loaded, [edit], hyper, Artefacts())
        for name, delta in alone.deltas.items():
            expected = delta.dense(0)[0]
            assert (whole.deltas[name].dense(place)[0] - expected).norm() < 1e-9 * expected.norm()
            assert (backwards.deltas[name].dense(4 - place)[0] - expected).norm() < 1e-9 * expected.norm()
    other = lora(loaded, EDITS, hyper_of(dropout=0.3, seed=1), Artefacts())
    name = next(iter(other.deltas))
    assert (other.deltas[name].dense(0)[0] - whole.deltas[name].dense(0)[0]).norm() > 1e-3


def test_numbers_drawn_at_once_are_those_of_matrix_after_matrix() -> None:
    loaded, owners, kind = tiny_model("llama"), [1, 0, 1], torch.float32
    sentences, _ = aligned(loaded, EDITS[:3])
    batch = Batch(loaded, list(sentences.values()), owners)
    noise, drawing = ([torch.Generator().manual_seed(seed) for seed in (1, 2)] for _ in range(2))
    drops = Drops(batch, 0.1, noise, 24 + 56 + 24, kind)
    most = max(map(len, batch.targets.rows))
    for width in (24, 56, 24):
        taken = torch.rand(3, most, width, dtype=kind)
        kept = torch.ones_like(taken)
        for row, owner in enumerate(owners):
            length = len(batch.targets.rows[row])
            drawn = torch.rand(length, width, generator=drawing[owner], dtype=kind)
            kept[row, :length] = (drawn >= 0.1).to(kind) / 0.9
        assert torch.equal(drops.of(taken), taken * kept)


@pytest.mark.parametrize(
    ("family", "parts"),
    [("gpt_neox", ["attention.query_key_value"]), ("olmo2", ["self_attn.q_proj", "self_attn.v_proj"])],
)
def test_the_matrices_of_queries_and_values_are_trained(family: str, parts: list[str]) -> None:
    loaded = tiny_model(family)
    every = [loaded.spec.module(layer, part) for layer in range(3) for part in parts]
    assert target_names(loaded, hyper_of()) == every
    own = hyper_of(targets=[loaded.spec.down], layers=[1])
    assert target_names(loaded, own) == [loaded.spec.module(1, loaded.spec.down)]
    for wrong in ("mlp.nothing", loaded.spec.mlp):
        with pytest.raises(InputError, match=rf"lora.targets: .* has no matrix .*{wrong}"):
            target_names(loaded, hyper_of(targets=[wrong]))
