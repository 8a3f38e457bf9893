"""LoRA as peft has it, beginning with the random values of ours."""

from __future__ import annotations

import re
from typing import Any

from peft import LoraConfig, get_peft_model

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edited
from factdrift.evaluation.methods.lora import Training, target_names
from factdrift.models.families import transposed
from factdrift.models.loaded import Loaded
from support.tiny_models import rounding, tiny_model


def peft_model(family: str, hyper: Hyper, seed: str) -> Any:
    """A tiny model with an adapter at the matrices that `lora` trains."""
    loaded = tiny_model(family)
    names = target_names(loaded, hyper)
    config = LoraConfig(
        r=hyper["rank"],
        lora_alpha=hyper["alpha"],
        lora_dropout=0.0,
        target_modules="|".join(map(re.escape, names)),
        fan_in_fan_out=transposed(loaded.model.get_submodule(names[0])),
        task_type="CAUSAL_LM",
    )
    ours = Training(loaded, hyper, [seed])
    model: Any = get_peft_model(loaded.model, config)
    for name in names:
        model.base_model.model.get_submodule(name).lora_A["default"].weight.data = ours.a[name][0].detach()
    return model


def assert_same(loaded: Loaded, found: Edited, place: int, model: Any, bound: float) -> None:
    """The changes of one edit are those of the adapter, within `bound` or what the family rounds."""
    assert set(found.deltas) == {
        name for name, module in model.base_model.model.named_modules() if hasattr(module, "lora_A")
    }
    bound = max(bound, 1e4 * rounding(loaded.spec.family))
    for name, delta in found.deltas.items():
        expected = model.base_model.model.get_submodule(name).get_delta_weight("default").detach()
        expected = expected.T if transposed(loaded.model.get_submodule(name)) else expected
        assert expected.norm() > 0
        assert (delta.dense(place)[0] - expected).norm() < bound * expected.norm(), name
