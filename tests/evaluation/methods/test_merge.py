"""Merged LoRA: adapters trained apart, and their combinations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from peft.utils.merge_utils import ties  # noqa: E402
from support.tiny_edits import EDITS  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.core.errors import CannotEdit, InputError  # noqa: E402
from factdrift.evaluation.adapters import adapter_of  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import Hyper, read_hyper  # noqa: E402
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited  # noqa: E402
from factdrift.evaluation.methods.lora import together as one_adapter  # noqa: E402
from factdrift.evaluation.methods.merge import weights_of  # noqa: E402
from factdrift.evaluation.methods.plan import Plan  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*checkpointing.*:FutureWarning")
TRAINED = {"rank": 3, "alpha": 6, "steps": 3, "dropout": 0, "layers": [0, 2]}
"""Of each adapter."""
GROUPS = (EDITS[:2], EDITS[2:4], EDITS[4:])


def hyper_of(**changes: Any) -> Hyper:
    return read_hyper("merge", "tiny", {**TRAINED, "combination": "linear", **changes})


def adapters() -> list[Edited]:
    """What LoRA trains on each group, on the unedited model."""
    loaded, hyper = tiny_model("llama"), read_hyper("lora", "tiny", TRAINED)
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
def test_adapters_are_merged_by_weights_that_fall_with_age(combination: str) -> None:
    weighted = {"combination": combination, "density": 0.4, "weight": 0.5, "decay": 0.5}
    found = edited(tiny_model("llama"), EDITS, hyper_of(**weighted, turn=2), Artefacts(), "sequential")
    made, weights = adapters(), torch.tensor([0.125, 0.25, 0.5], dtype=torch.float64)
    expected = {}
    for name in found.deltas:
        parts = [one.deltas[name].dense(0)[0] for one in made]
        whole = ties(parts, weights, 0.4) if combination == "ties" else sum(map(torch.mul, parts, weights))
        expected[name] = whole
    same(found, expected)
    if combination == "linear":
        # Of adapters of rank 3, in factors, so that it can be kept as an adapter.
        assert {factor.shape[0] for factor, _ in adapter_of(found.deltas, 0).factors.values()} == {9}


def test_dare_keeps_a_share_of_the_entries_scaled_up_and_always_the_same() -> None:
    hyper, made = hyper_of(combination="dare_linear", density=0.25), adapters()
    state = torch.get_rng_state()
    found, again = in_a_stream(hyper, GROUPS[:1]), in_a_stream(hyper, GROUPS[:1])
    assert torch.equal(torch.get_rng_state(), state)
    two = in_a_stream(hyper, GROUPS[:2])
    other = in_a_stream(replace(hyper, settings={**hyper, "seed": 1}), GROUPS[:1])
    masks = []
    for name, delta in found.deltas.items():
        first, second = (one.deltas[name].dense(0)[0] for one in made[:2])
        kept = delta.dense(0)[0] != 0
        assert torch.allclose(delta.dense(0)[0][kept], 4 * first[kept])
        assert kept.double().mean().item() == pytest.approx(0.25, abs=0.06)
        assert torch.equal(delta.dense(0)[0], again.deltas[name].dense(0)[0])
        masks.append(torch.equal(kept, other.deltas[name].dense(0)[0] != 0))
        # What is kept of the first adapter does not depend on those after it.
        rest = two.deltas[name].dense(0)[0] - delta.dense(0)[0]
        assert ((rest.abs() < 1e-12) | ((rest - 4 * second).abs() < 1e-9)).all()
    assert not all(masks)


def test_a_group_is_one_adapter_or_one_for_each_turn() -> None:
    loaded = tiny_model("llama")
    lone = one_adapter(loaded, EDITS, read_hyper("lora", "tiny", TRAINED), Artefacts())
    stream = in_a_stream(hyper_of())
    assert stream.owner == [0]
    for regime in ("batch", "sequential"):
        whole = edited(loaded, EDITS, hyper_of(), Artefacts(), regime)
        same(whole, {name: delta.dense(0)[0] for name, delta in lone.deltas.items()})
        turns = edited(loaded, EDITS, hyper_of(turn=2), Artefacts(), regime)
        same(turns, {name: delta.dense(0)[0] for name, delta in stream.deltas.items()})
        assert len(turns.memory) == 3


def test_what_fails_leaves_no_adapter() -> None:
    long = Edit("long", "Marta " * 200 + "lives in", "Marta", "New Orleans")
    found = in_a_stream(hyper_of(), [EDITS[:2], [long], EDITS[2:4]])
    assert len(found.memory) == 2
    made = edited(tiny_model("llama"), [EDITS[0], long], hyper_of(turn=1), Artefacts(), "batch")
    assert made.steps is not None
    assert made.steps.tolist() == [3, 0]


def test_one_edit_alone_and_adapters_of_full_matrices_are_refused(tmp_path: Path) -> None:
    loaded = tiny_model("llama")
    with pytest.raises(CannotEdit, match=r"independent: merge cannot edit so \(the merge of one adapter is"):
        edited(loaded, EDITS[:1], hyper_of(), Artefacts())
    kept = {"methods": ["merge"], "models": ["sample"], "edit": {"keep": "adapters"}}
    Plan({**kept, "merge": {"combination": "linear"}})
    with pytest.raises(
        InputError, match=r"edit\.keep: adapters: merge on sample-llama changes full matrices"
    ):
        Plan(kept)
    with pytest.raises(InputError, match=r"merge\.targets: tiny-llama has no matrix"):
        edited(loaded, EDITS, hyper_of(targets=["mlp.nothing"]), Artefacts(), "batch")


def test_weights_may_be_those_of_a_mean() -> None:
    assert weights_of(4, hyper_of(mean=True)) == [0.25] * 4
    assert weights_of(0, hyper_of(mean=True)) == []
