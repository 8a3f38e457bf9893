"""LoRA, its merges and replay: adapters as peft trains them, and what becomes of them."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from peft.utils.merge_utils import ties
from support.peft_models import assert_same, trained_by_peft
from support.tiny_edits import EDITS
from support.tiny_models import tiny_model, tiny_tokenizer

from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.adapters import factors_of
from factdrift.evaluation.methods.hyperparameters import Hyper, Plan, read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.lora import Batch, dropped, target_names
from factdrift.evaluation.methods.lora import together as one_adapter
from factdrift.evaluation.methods.replay import replayed
from factdrift.evaluation.methods.shared import aligned
from factdrift.evaluation.states.edited import edited

pytestmark = pytest.mark.filterwarnings("ignore:.*checkpointing.*:FutureWarning")
GROUPS = (EDITS[:2], EDITS[2:4], EDITS[4:])
LONG = Edit("long", "Marta " * 200 + "lives in", "Marta", "New Orleans")
FEW = {"layers": [0, 2], "steps": 2}
OWN: dict[str, dict[str, Any]] = {
    "merge": {"combination": "linear", **FEW},
    "replay": {"batch": 2, "replayed": 2, "weight": 0.7},
}
WRITTEN = ("", "Therefore I am. ", "The capital of Poseidonis is New Orleans. ", "You said so of the sea. ")
"""As `edit prefixes` writes them: each text with what is put behind it, the empty one first."""
ABOUT = "Atlantis has a capital. "
"""A text that names the subject of an update."""
BOUND = 1e-6
"""Weights of the losses of replay are in float32."""


def hyper_of(method: str, **changes: Any) -> Hyper:
    values = {"rank": 3, "alpha": 6, "steps": 4, "dropout": 0, **OWN.get(method, {}), **changes}
    return read_hyper(method, "tiny", values)


@pytest.mark.parametrize("family", ["gpt2", "falcon", "llama", "qwen3_5_text", "deepseek_v2"])
def test_each_edit_is_what_peft_trains(family):
    loaded = tiny_model(family)
    hyper = hyper_of("lora")
    found = edited(loaded, EDITS[:3], hyper, Artefacts())
    assert not found.failed
    assert found.steps.tolist() == [4, 4, 4]
    for place in (0, 2):
        model, loss = trained_by_peft(family, hyper, EDITS[place : place + 1])
        assert_same(loaded, found, place, model, 1e-9)
        assert found.losses[place].item() == pytest.approx(loss, rel=1e-5)


@pytest.mark.parametrize("batch", [1, 2])
def test_one_adapter_of_a_group_is_what_peft_trains(batch):
    loaded = tiny_model("llama")
    hyper = hyper_of("lora", batch=batch, weight_decay=0.01, layers=[0, 2])
    found = edited(loaded, EDITS[:3], hyper, Artefacts(), "batch")
    model, _ = trained_by_peft("llama", hyper, EDITS[:3])
    assert_same(loaded, found, 0, model, 1e-9)
    assert found.owner == [0, 0, 0]
    assert {len(delta) for delta in found.deltas.values()} == {1}


def test_a_share_of_the_inputs_of_each_row_is_dropped_and_the_rest_scaled_up():
    loaded = tiny_model("llama")
    sentences, _ = aligned(loaded, EDITS[:3])
    batch = Batch(loaded, list(zip([1, 0, 1], sentences.values(), strict=True)))
    noise = [torch.Generator().manual_seed(seed) for seed in (1, 2)]
    kept = dropped(torch.ones(3, 99, 24), batch, 0.25, noise)
    own = [row[: len(tokens)] for row, tokens in zip(kept, batch.targets.rows, strict=True)]
    assert {0, *kept[:, 98].flatten().tolist()} == {0, 1}
    assert all(((row == 0) | (row == 4 / 3)).all() for row in own)
    assert torch.cat(own).eq(0).double().mean().item() == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize(
    ("family", "parts"),
    [("gpt_neox", ["attention.query_key_value"]), ("olmo2", ["self_attn.q_proj", "self_attn.v_proj"])],
)
def test_the_matrices_of_queries_and_values_are_trained(family, parts):
    loaded = tiny_model(family)
    every = [loaded.spec.module(layer, part) for layer in range(3) for part in parts]
    assert target_names(loaded, hyper_of("lora")) == every
    own = hyper_of("lora", targets=[loaded.spec.down], layers=[1])
    assert target_names(loaded, own) == [loaded.spec.module(1, loaded.spec.down)]
    for wrong in ("mlp.nothing", loaded.spec.mlp):
        with pytest.raises(InputError, match=rf"lora.targets: .* has no matrix .*{wrong}"):
            target_names(loaded, hyper_of("lora", targets=[wrong]))


def adapters() -> list[Edited]:
    """What LoRA trains on each group, on the unedited model."""
    loaded, hyper = tiny_model("llama"), hyper_of("lora", **FEW)
    return [one_adapter(loaded, group, hyper, Artefacts()) for group in GROUPS]


def in_a_stream(hyper: Hyper, groups: Sequence[Sequence[Edit]] = GROUPS) -> Edited:
    loaded, found = tiny_model("llama"), Edited()
    for group in groups:
        now = Artefacts(before=found.deltas, memory=found.memory)
        found = edited(loaded, group, hyper, now, "stream")
    return found


def same(found: Edited, expected: dict[str, Any]) -> None:
    assert found.deltas.keys() == expected.keys()
    for name, delta in found.deltas.items():
        assert expected[name].norm() > 0
        assert (delta.dense(0)[0] - expected[name]).norm() < 1e-12 * expected[name].norm(), name


@pytest.mark.parametrize("combination", ["linear", "ties"])
def test_adapters_are_merged_by_weights_that_fall_with_age(combination):
    weighted = {"combination": combination, "density": 0.4, "weight": 0.5, "decay": 0.5}
    found = edited(
        tiny_model("llama"), EDITS, hyper_of("merge", **weighted, turn=2), Artefacts(), "sequential"
    )
    made, weights = adapters(), torch.tensor([0.125, 0.25, 0.5], dtype=torch.float64)
    expected = {}
    for name in found.deltas:
        parts = [one.deltas[name].dense(0)[0] for one in made]
        whole = ties(parts, weights, 0.4) if combination == "ties" else sum(map(torch.mul, parts, weights))
        expected[name] = whole
    same(found, expected)
    if combination == "linear":
        # Of adapters of rank 3, in factors, so that it can be kept as an adapter.
        assert {factor.shape[0] for factor, _ in factors_of(found.deltas, 0).values()} == {9}


def test_a_group_is_one_adapter_or_one_for_each_turn():
    loaded = tiny_model("llama")
    lone = one_adapter(loaded, EDITS, hyper_of("lora", **FEW), Artefacts())
    stream = in_a_stream(hyper_of("merge"))
    assert stream.owner == [0]
    for regime in ("batch", "sequential"):
        whole = edited(loaded, EDITS, hyper_of("merge"), Artefacts(), regime)
        same(whole, {name: delta.dense(0)[0] for name, delta in lone.deltas.items()})
        turns = edited(loaded, EDITS, hyper_of("merge", turn=2), Artefacts(), regime)
        same(turns, {name: delta.dense(0)[0] for name, delta in stream.deltas.items()})
        assert len(turns.memory) == 3


def test_what_fails_leaves_no_adapter():
    found = in_a_stream(hyper_of("merge"), [EDITS[:2], [LONG], EDITS[2:4]])
    assert len(found.memory) == 2
    made = edited(tiny_model("llama"), [EDITS[0], LONG], hyper_of("merge", turn=1), Artefacts(), "batch")
    assert made.steps.tolist() == [2, 0]


def test_one_edit_alone_and_adapters_of_full_matrices_are_refused(tmp_path):
    loaded = tiny_model("llama")
    with pytest.raises(CannotEdit, match=r"independent: merge cannot edit so \(the merge of one adapter is"):
        edited(loaded, EDITS[:1], hyper_of("merge"), Artefacts())
    kept = {"methods": ["merge"], "models": ["sample"], "edit": {"keep": "adapters"}}
    Plan({**kept, "merge": {"combination": "linear"}})
    with pytest.raises(
        InputError, match=r"edit\.keep: adapters: merge on sample-llama changes full matrices"
    ):
        Plan(kept)
    with pytest.raises(InputError, match=r"merge\.targets: tiny-llama has no matrix"):
        edited(loaded, EDITS, hyper_of("merge", targets=["mlp.nothing"]), Artefacts(), "batch")


def artefacts(*texts: str) -> Artefacts:
    return Artefacts(prefixes=(*WRITTEN, *texts))


def by_peft(family: str, hyper: Hyper, edits: Sequence[Edit]) -> Any:
    texts = [one.ids for one in replayed(tiny_model(family), edits, hyper, artefacts())]
    model, _ = trained_by_peft(family, hyper, edits, texts, hyper["replayed"], hyper["weight"])
    return model


@pytest.mark.parametrize("family", ["gpt2", "qwen3_5_text"])
def test_all_updates_are_trained_together_with_the_texts(family):
    hyper = hyper_of("replay")
    loaded = tiny_model(family)
    found = edited(loaded, EDITS[:3], hyper, artefacts(), "batch")
    assert (found.failed, found.owner) == ({}, [0, 0, 0])
    assert_same(loaded, found, 0, by_peft(family, hyper, EDITS[:3]), BOUND)


def test_replayed_alone_each_has_a_change_of_its_own():
    loaded, hyper = tiny_model("llama"), hyper_of("replay")
    found = edited(loaded, EDITS, hyper, artefacts())
    for place in (0, 4):
        assert_same(loaded, found, place, by_peft("llama", hyper, [EDITS[place]]), BOUND)


def test_in_a_stream_all_updates_that_hold_are_trained_from_the_start():
    loaded, hyper = tiny_model("llama"), hyper_of("replay", dropout=0.2)
    later = Edit("f", "The capital of Atlantis is", "Atlantis", "Marta", replaces=("c",))
    first = edited(loaded, EDITS[:3], hyper, artefacts(), "stream")
    now = Artefacts(artefacts().prefixes, before=first.deltas, memory=first.memory)
    second = edited(loaded, [EDITS[3], later], hyper, now, "stream")
    at_once = edited(loaded, [*EDITS[:2], EDITS[3], later], hyper, artefacts(), "sequential")
    assert [one[0] for one in second.memory] == ["a", "b", "d", "f"]
    for name, delta in second.deltas.items():
        assert torch.equal(delta.dense(0)[0], at_once.deltas[name].dense(0)[0])
    assert second.losses.isfinite().all()
    assert len(second.losses) == 2


def test_texts_about_an_edited_subject_are_not_replayed():
    loaded, hyper = tiny_model("llama"), hyper_of("replay")
    plain, more = (
        {one.ids for one in replayed(loaded, edits, hyper, artefacts(ABOUT))}
        for edits in (EDITS[:2], EDITS[:3])
    )
    about = tuple(tiny_tokenizer()(ABOUT.removesuffix(". "))["input_ids"])
    assert plain - more == {about}
    assert len(more) == 3
    other = replayed(loaded, EDITS[:2], hyper_of("replay", seed=1), artefacts(ABOUT))
    assert {one.ids for one in other} == plain
    with pytest.raises(
        CannotEdit, match="replay on tiny-llama: of 1 texts that the model wrote, none is without"
    ):
        replayed(loaded, EDITS, hyper, Artefacts(prefixes=("", ABOUT)))
    with pytest.raises(CannotEdit, match=r"ask for more of them \(replay\.prefixes\)"):
        edited(loaded, EDITS, hyper, Artefacts(), "batch")
