"""LoRA: the changes are those that peft trains from the same initial values, alone and for a group."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from peft import PeftModel  # noqa: E402
from support.peft_models import assert_same, peft_model  # noqa: E402
from support.tiny_edits import EDITS  # noqa: E402
from support.tiny_models import FAMILIES, tiny_model, tiny_tokenizer  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.adapters import adapter_of, write_adapter  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Edit  # noqa: E402
from factdrift.evaluation.methods.lora import Batch, Drops, lora, target_names  # noqa: E402
from factdrift.evaluation.methods.targets import aligned  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402
from factdrift.models.deltas import applied  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*checkpointing.*:FutureWarning")


def hyper_of(**changes: Any) -> Hyper:
    return read_hyper("lora", "tiny", {"rank": 3, "alpha": 6, "steps": 4, "dropout": 0} | changes)


def trained_by_peft(family: str, hyper: Hyper, edits: Sequence[Edit], batch: int, seed: str) -> Any:
    """The loop of the reference, on peft's model, beginning with our random values."""
    model = peft_model(family, hyper, seed)
    rows = []
    for edit in edits:
        ids = tiny_tokenizer()(f"{edit.prompt} {edit.target}")["input_ids"]
        rows.append((ids, len(tiny_tokenizer()(edit.prompt)["input_ids"])))
    adam = torch.optim.Adam(model.parameters(), lr=hyper["lr"], weight_decay=hyper["weight_decay"])
    for _ in range(hyper["steps"]):
        for at in range(0, len(rows), batch):
            part = rows[at : at + batch]
            width = max(len(ids) for ids, _ in part)
            ids = torch.tensor([row + [0] * (width - len(row)) for row, _ in part])
            labels = [[-100] * start + row[start:] + [-100] * (width - len(row)) for row, start in part]
            adam.zero_grad()
            # transformers computes this loss in float32.
            logits = model(input_ids=ids).logits[:, :-1].flatten(0, 1)
            torch.nn.functional.cross_entropy(logits, torch.tensor(labels)[:, 1:].flatten()).backward()
            adam.step()
    return model.eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_each_edit_is_what_peft_trains(family: str) -> None:
    loaded = tiny_model(family)
    hyper = hyper_of()
    found = edited(loaded, EDITS[:3], hyper, Artefacts())
    assert not found.failed
    assert found.steps is not None
    assert found.steps.tolist() == [4, 4, 4]
    for place in (0, 2):
        edit = EDITS[place]
        assert_same(loaded, found, place, trained_by_peft(family, hyper, [edit], 1, edit.id), 1e-9)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_group_is_what_peft_trains(batch: int) -> None:
    loaded = tiny_model("llama")
    hyper = hyper_of(batch=batch, weight_decay=0.01, layers=[0, 2])
    found = edited(loaded, EDITS[:3], hyper, Artefacts(), "batch")
    seed = "\n".join(edit.id for edit in EDITS[:3])
    assert_same(loaded, found, 0, trained_by_peft("llama", hyper, EDITS[:3], batch, seed), 1e-9)
    assert found.owner == [0, 0, 0]
    assert {len(delta) for delta in found.deltas.values()} == {1}


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_the_adapter_is_peft_s_own(family: str, tmp_path: Path) -> None:
    loaded = tiny_model(family)
    hyper = hyper_of()
    found = edited(loaded, EDITS[:1], hyper, Artefacts())
    write_adapter(loaded, adapter_of(found.deltas, 0), tmp_path, {})
    ids = torch.tensor([tiny_tokenizer()(EDITS[0].prompt)["input_ids"]])
    read = PeftModel.from_pretrained(tiny_model(family).model, str(tmp_path))
    expected = trained_by_peft(family, hyper, EDITS[:1], 1, EDITS[0].id)(ids).logits
    assert (read(ids).logits - expected).abs().max() < 1e-8
    assert (loaded.model(ids).logits - expected).abs().max() > 1e-3


def test_the_target_becomes_likely() -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    found = edited(loaded, EDITS, hyper_of(steps=30, dropout=0.1, rank=8, alpha=32), Artefacts())
    assert found.losses is not None
    sentences, _ = aligned(loaded, EDITS)
    for place, one in sentences.items():
        losses = []
        for owner in (-1, place):
            with applied(loaded.model, found.deltas, torch.tensor([owner])):
                logs = loaded.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
            target = torch.tensor(one.ids[one.target :])
            losses.append(-logs[one.target - 1 : -1].gather(1, target[:, None]).mean().item())
        assert losses[1] < losses[0] / 2
        assert found.losses[place] < losses[0] / 2


@pytest.mark.parametrize("dropout", [0, 0.3])
def test_together_as_alone_and_in_any_order(dropout: float) -> None:
    loaded = tiny_model("llama")
    hyper = hyper_of(dropout=dropout)
    whole = lora(loaded, EDITS, hyper, Artefacts())
    backwards = lora(loaded, EDITS[::-1], hyper, Artefacts())
    for place, edit in enumerate(EDITS):
        alone = lora(loaded, [edit], hyper, Artefacts())
        for name, delta in alone.deltas.items():
            expected = delta.dense(0)[0]
            assert (whole.deltas[name].dense(place)[0] - expected).norm() < 1e-9 * expected.norm()
            assert (backwards.deltas[name].dense(4 - place)[0] - expected).norm() < 1e-9 * expected.norm()
    other = lora(loaded, EDITS, hyper_of(dropout=dropout, seed=1), Artefacts())
    name = next(iter(other.deltas))
    assert (other.deltas[name].dense(0)[0] - whole.deltas[name].dense(0)[0]).norm() > 1e-3


def noise() -> list[torch.Generator]:
    return [torch.Generator().manual_seed(seed) for seed in (1, 2)]


def test_dropout_keeps_the_mean_and_drops_a_share() -> None:
    loaded = tiny_model("llama")
    sentences, _ = aligned(loaded, EDITS[:2])
    batch = Batch(loaded, list(sentences.values()), [0, 1])
    drops = Drops(batch, 0.25, noise(), 8000, torch.float64)
    width = max(map(len, batch.targets.rows))
    taken = torch.ones(2, width, 4000, dtype=torch.float64)
    found = drops.of(taken)
    for row, length in zip(found, map(len, batch.targets.rows), strict=True):
        real = row[:length]
        assert set(real.unique().tolist()) == {0, 1 / 0.75}
        assert (real == 0).double().mean().item() == pytest.approx(0.25, abs=0.02)
        assert (row[length:] == 1).all()
    assert not torch.equal(drops.of(taken), found)


@pytest.mark.parametrize("owners", [[0, 1, 0], [1, 1, 0]])
@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_numbers_drawn_at_once_are_those_of_matrix_after_matrix(owners: list[int], kind: torch.dtype) -> None:
    loaded = tiny_model("llama")
    sentences, _ = aligned(loaded, EDITS[:3])
    batch = Batch(loaded, list(sentences.values()), owners)
    drops, drawing = Drops(batch, 0.1, noise(), 24 + 56 + 24, kind), noise()
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
    [
        ("gpt2", ["attn.c_attn"]),
        ("gptj", ["attn.q_proj", "attn.v_proj"]),
        ("gpt_neox", ["attention.query_key_value"]),
        ("olmo2", ["self_attn.q_proj", "self_attn.v_proj"]),
    ],
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


def test_what_fails_changes_nothing() -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    long = Edit("long", "Marta " * 200 + "lives in", "Marta", "New Orleans")
    found = edited(loaded, [EDITS[0], long], hyper_of(), Artefacts(), "batch")
    assert found.failed == {1: "too_long"}
    assert found.owner == [0, -1]
    broken = edited(loaded, EDITS[:2], hyper_of(alpha=1e300), Artefacts(), "batch")
    assert broken.failed == {0: "diverged", 1: "diverged"}
    assert not any(delta.dense(0)[0].any() for delta in broken.deltas.values())
