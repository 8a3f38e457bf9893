"""A model is restored bit by bit, whatever was done to it."""

from typing import Any

import pytest
import torch
from support.tiny_models import tiny_model, tiny_tokenizer
from torch import nn
from torch.nn.utils import parametrize

from factdrift.models import snapshot
from factdrift.models.snapshot import Snapshot

IDS = tiny_tokenizer()("Marta Kowalska lives in New Orleans", return_tensors="pt").input_ids
DOWN = "model.layers.1.mlp.down_proj"


class Louder(nn.Module):
    """A module in the place of another one."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, taken: Any) -> Any:
        return 2 * self.inner(taken)


def added(model: Any) -> None:
    with torch.no_grad():
        model.get_submodule(DOWN).weight.add_(0.1)


def in_another_type(model: Any) -> None:
    model.to(torch.float32)


def new_parameter(model: Any) -> None:
    module = model.get_submodule(DOWN)
    module.weight = nn.Parameter(torch.ones_like(module.weight))


def trained(model: Any) -> None:
    model.train().requires_grad_(True)
    model(input_ids=IDS, labels=IDS).loss.backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()


def hooked(model: Any) -> None:
    model.get_submodule(DOWN).register_forward_hook(lambda module, taken, given: given + 1)
    model.register_forward_pre_hook(lambda module, taken: None)


def replaced(model: Any) -> None:
    model.model.layers[1].mlp.down_proj = Louder(model.get_submodule(DOWN))
    model.model.layers.append(model.model.layers[0])


def patched(model: Any) -> None:
    module = model.get_submodule(DOWN)
    module.forward = lambda taken: 3 * nn.functional.linear(taken, module.weight)
    module.note = "mine"


def parametrized(model: Any) -> None:
    parametrize.register_parametrization(model.get_submodule(DOWN), "weight", Louder(nn.Identity()))


def configured(model: Any) -> None:
    model.config.use_cache = False
    model.config.mine = [1]
    del model.config.hidden_size


def buffers(model: Any) -> None:
    model.model.rotary_emb.inv_freq.mul_(2)
    model.register_buffer("more", torch.ones(2))


WEIGHTS = (added, new_parameter, trained)
OTHERS = (hooked, replaced, patched, parametrized)


def state(model: Any) -> dict[str, Any]:
    """All that can be seen of a model from outside."""
    return {
        "tensors": {name: (id(one), one.tolist()) for name, one in model.state_dict(keep_vars=True).items()},
        "buffers": {name: (one.dtype, one.tolist()) for name, one in model.named_buffers()},
        "flags": [(one.requires_grad, one.grad, one.dtype) for one in model.parameters()],
        "modules": [(name, id(one), type(one), one.training) for name, one in model.named_modules()],
        "attributes": [sorted(vars(one)) for one in model.modules()],
        "hooks": [
            (key, len(value))
            for one in model.modules()
            for key, value in vars(one).items()
            if "hooks" in key and value
        ],
        "config": model.config.to_dict(),
        "logits": model(input_ids=IDS).logits.tolist(),
    }


@pytest.mark.parametrize("change", [*WEIGHTS, *OTHERS, in_another_type, configured, buffers])
@pytest.mark.parametrize("home", ["cpu", "elsewhere"])
def test_everything_is_restored(change, home, monkeypatch):
    """Before that it is told whether more than values of weights has changed.

    Elsewhere all tensors have checksums, as those of a GPU have, and only what has changed is copied back.
    """
    monkeypatch.setattr(snapshot, "HOME", home)
    model = tiny_model("llama", dtype=torch.bfloat16).model
    before = state(model)
    kept = Snapshot(model)
    assert not any(kept.changed_code())
    if home != "cpu" and change is added:
        kept.tensors = [
            one if one.name == f"{DOWN}.weight" else one._replace(content=None) for one in kept.tensors
        ]
    for _ in range(2):
        change(model)
        assert any(kept.changed_code()) == (change in (*OTHERS, buffers))
        assert kept.restore() == []
        assert state(model) == before
    assert not any(kept.changed_code())


def test_what_has_not_changed_since_is_not_copied_again(monkeypatch):
    monkeypatch.setattr(snapshot, "HOME", "elsewhere")
    model = tiny_model("llama", dtype=torch.float32).model
    start = Snapshot(model)
    new_parameter(model)
    later = Snapshot(model, since=start)
    pairs = list(zip(later.tensors, start.tensors, strict=True))
    shared = [one.name for one, other in pairs if one.content is other.content]
    assert f"{DOWN}.weight" not in shared
    assert len(shared) == sum(one.checksum == other.checksum for one, other in pairs)
    after = state(model)
    added(model)
    assert later.restore() == []
    assert state(model) == after


def test_parameters_that_were_not_copied_are_reported_if_they_changed():
    model = tiny_model("llama").model
    kept = Snapshot(model, ["*.mlp.down_proj.weight"])
    added(model)
    assert kept.restore() == []
    model.model.layers[2].mlp.up_proj.weight.data[0, 0] += 1
    model.model.norm.weight.data += 1
    added(model)
    # So are rows and columns in another order.
    weight = model.model.layers[0].mlp.up_proj.weight
    weight.data.copy_(weight.data.flip(0))
    weight = model.model.layers[1].mlp.up_proj.weight
    weight.data.copy_(weight.data[:, torch.randperm(24)])
    others = [f"model.layers.{layer}.mlp.up_proj.weight" for layer in range(3)]
    assert kept.restore() == [*others, "model.norm.weight"]


def test_the_order_of_the_chunks_of_a_checksum_counts(monkeypatch):
    monkeypatch.setattr(snapshot, "CHUNK", 3)
    snapshot._factors.cache_clear()
    values = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    orders = [[0, 1, 2, 3, 4, 5, 6], [3, 4, 5, 0, 1, 2, 6], [1, 0, 2, 3, 4, 5, 6], [6, 1, 2, 3, 4, 5, 0]]
    assert len({snapshot._checksum(values[order]) for order in orders}) == len(orders)
    snapshot._factors.cache_clear()
