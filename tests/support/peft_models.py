"""LoRA as peft has it, beginning with the random values of ours."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edit, Edited
from factdrift.evaluation.methods.lora import Training, target_names
from factdrift.models.alignment import align
from factdrift.models.families import transposed
from factdrift.models.loaded import Loaded
from support.tiny_models import rounding, tiny_model, tiny_tokenizer


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


def trained_by_peft(
    family: str,
    hyper: Hyper,
    edits: Sequence[Edit],
    texts: Sequence[Sequence[int]] = (),
    replayed: int = 0,
    weight: float = 0.0,
) -> tuple[Any, float]:
    """The model after a plain loop, sentence by sentence without padding; and its last loss of an edit.

    Each batch of edits is trained together with `replayed` of the `texts` (tokens), which weigh `weight`.
    """
    model = peft_model(family, hyper, "\n".join(edit.id for edit in edits))
    adam = torch.optim.Adam(model.parameters(), lr=hyper["lr"], weight_decay=hyper["weight_decay"])

    def losses(ids: Sequence[int], start: int) -> Any:
        logs = model(input_ids=torch.tensor([list(ids)])).logits[0].log_softmax(-1)
        return -logs[start - 1 : -1].gather(1, torch.tensor(ids[start:])[:, None])

    taken = 0
    for _ in range(hyper["steps"]):
        for at in range(0, len(edits), hyper["batch"]):
            rows = [
                align(tiny_tokenizer(), one.prompt, one.target) for one in edits[at : at + hyper["batch"]]
            ]
            own = torch.cat([losses(row.ids, row.target) for row in rows]).mean()
            others = [losses(texts[(taken + place) % len(texts)], 1) for place in range(replayed)]
            taken += replayed
            adam.zero_grad()
            (own + weight * torch.cat(others).mean() if others else own).backward()
            adam.step()
    return model.eval(), own.item()


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


def write_adapted(folder: Path, base: str) -> None:
    """Writes an adapter of a tiny model in the folder `base`, and the model with it in its weights: `edited`.

    The model has no tokenizer, as editing programs leave it.
    """
    torch.manual_seed(1)
    there = {"target_modules": ["down_proj"], "layers_to_transform": [1], "init_lora_weights": False}
    config = LoraConfig(r=2, lora_alpha=3, task_type="CAUSAL_LM", **there)
    adapted = get_peft_model(tiny_model("llama", dtype=torch.float32, positions=192).model, config)
    adapted.peft_config["default"].base_model_name_or_path = base
    adapted.save_pretrained(folder / "adapter")
    adapted.merge_and_unload().save_pretrained(folder / "edited")
