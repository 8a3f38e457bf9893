"""FT and FT+L against Adam on the weights themselves, one edit at a time."""

import copy
from collections.abc import Sequence
from typing import Any

import pytest
import torch
from support.tiny_edits import EDITS as ALL
from support.tiny_models import rounding, tiny_model
from torch import Tensor, nn

from factdrift.evaluation.methods.ft import ft
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.models.alignment import align
from factdrift.models.deltas import Dense, matrix
from factdrift.models.loaded import Loaded

EDITS = ALL[:3]
VALUES = {
    **{"layers": [1], "lr": 0.005, "steps": 8, "weight_decay": 0.0, "stop_loss": 0.01, "bias": True},
    **{"loss": "prompt_last", "precision": "float32"},
}

GOAL: dict[str, Any] = {"steps": 100, "lr": 0.02, "stop_loss": 3.0, "loss": "target_new"}


def hyper(**changes: Any) -> Hyper:
    return Hyper("ft", "tiny", "test", {**VALUES, **changes})


def edited(loaded: Loaded, edits: Sequence[Edit] = EDITS, **changes: Any) -> Edited:
    return ft(loaded, edits, hyper(**changes), Artefacts())


def parts(result: Edited) -> list[Tensor]:
    """Weights and biases, [edits, ...]."""
    deltas = [delta for delta in result.deltas.values() if isinstance(delta, Dense)]
    return [part for delta in deltas for part in (delta.weight, delta.bias) if part is not None]


def reference(loaded: Loaded, edit: Edit, values: Hyper) -> tuple[list[Tensor], int]:
    """One edit as in the reference: Adam on a copy of the model; changes, [out, in], and updates made."""
    model = copy.deepcopy(loaded.model)
    modules = [model.get_submodule(loaded.spec.module(layer, loaded.spec.down)) for layer in values["layers"]]
    trained = [parameter.requires_grad_(True) for module in modules for parameter in module.parameters()]
    before = [parameter.detach().clone() for parameter in trained]
    adam = torch.optim.Adam(trained, lr=values["lr"], weight_decay=values["weight_decay"])
    sentence = align(loaded.tokenizer, edit.prompt, edit.target)
    target = torch.tensor(sentence.ids[sentence.target :])
    made = 0
    for _ in range(values["steps"]):
        if values["loss"] == "prompt_last":
            logits = model(torch.tensor([sentence.ids[: sentence.target]])).logits[0, -1:]
            loss = -logits.log_softmax(1)[0, target].mean()
        else:
            logits = model(torch.tensor([sentence.ids])).logits[0, sentence.target - 1 : -1]
            loss = nn.functional.cross_entropy(logits, target)
        if loss.item() < values["stop_loss"]:
            break
        adam.zero_grad()
        loss.backward()
        adam.step()
        made += 1
        if "norm_constraint" in values:
            bound = values["norm_constraint"]
            with torch.no_grad():
                for parameter, start in zip(trained, before, strict=True):
                    parameter.copy_(parameter.clamp(start - bound, start + bound))
    changes = [(parameter - start).detach() for parameter, start in zip(trained, before, strict=True)]
    conv = type(modules[0]).__name__ == "Conv1D"
    return [change.T if conv and change.ndim == 2 else change for change in changes], made


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("gpt2", {"loss": "target_new", "weight_decay": 0.3, "layers": [0, 2]}),
        ("gpt_neox", {"norm_constraint": 0.004}),
        ("llama", {}),
        ("llama", GOAL),
    ],
)
def test_the_changes_are_those_of_adam_on_the_weights(family, changes):
    loaded = tiny_model(family)
    result = edited(loaded, **changes)
    assert result.failed == {}
    assert changes is not GOAL or len(set(result.steps.tolist())) == 3
    for place, edit in enumerate(EDITS):
        wanted, steps = reference(loaded, edit, hyper(**changes))
        assert steps == result.steps[place]
        for found, want in zip(parts(result), wanted, strict=True):
            assert want.abs().max() > 1e-4
            # Adam moves a weight by about `lr` a step, and divides rounding errors by the size of gradients.
            farthest = hyper(**changes)["lr"] * hyper(**changes)["steps"]
            bound = max(1e-9, 100 * rounding(family))
            assert (found[place] - want).abs().max() <= bound * farthest


def test_in_half_precision_large_weights_cannot_move():
    """Spec 1.1: from 1/64 on, half a step of bfloat16 is above a bound of 5e-5; in float32 every weight
    can move.
    """
    loaded = tiny_model("llama", dtype=torch.bfloat16)
    name = loaded.spec.module(1, loaded.spec.down)
    before = matrix(loaded.model, name).float()
    large = before.abs() >= 2**-6
    (rough,) = parts(edited(loaded, norm_constraint=5e-5, precision="weights"))
    (fine,) = parts(edited(loaded, norm_constraint=5e-5))
    assert large.any()
    assert (rough[:, large] == 0).all()
    assert (rough[:, before.abs() < 2**-9] != 0).any()
    assert (fine[:, large] != 0).float().mean() > 0.9
    assert torch.equal((before + rough).bfloat16().float(), before + rough)
