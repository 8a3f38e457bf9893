"""Models that accelerate spreads over devices: its hooks on one CPU, and two GPUs where there are any."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from support.asking import saved
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import spread_over, tiny_model
from support.writing import continued

from factdrift.core.errors import InputError
from factdrift.evaluation.states.edited import edited
from factdrift.models import devices
from factdrift.models.alignment import align
from factdrift.models.loaded import Loaded
from factdrift.models.loading import devices_and_type, load, placed
from factdrift.models.precise import check_logits
from factdrift.models.scoring import score


def outcome(loaded: Loaded, method: str) -> dict[str, Any]:
    """What is probed after edits of a method: on the device of each number's own, as lists."""
    made = edited(loaded, EDITS, tiny_hyper(method), tiny_artefacts(loaded))
    sentences = [align(loaded.tokenizer, edit.prompt, edit.target) for edit in EDITS]
    owners = list(range(len(EDITS)))
    found = score(loaded, sentences, made.deltas, owners)
    prompts = [one.ids[: one.target] for one in sentences]
    said = continued(loaded, prompts, [5] * len(prompts), made.deltas, owners)
    return {"failed": made.failed, "logprob": found.logprob.tolist(), "said": said}


@pytest.mark.parametrize(("family", "method"), [("llama", "memit"), ("qwen3_5_text", "rome")])
def test_edits_are_the_same_under_the_hooks_of_accelerate(family, method):
    loaded = tiny_model(family, dtype=torch.float64)
    spread = spread_over(loaded, loaded.device, loaded.device)
    hooked = [module for module in spread.model.modules() if hasattr(module, "_hf_hook")]
    assert len(hooked) > spread.spec.layers
    check_logits(spread)
    assert outcome(spread, method) == outcome(loaded, method)
    # Whoever replaced `forward` of a module for a while has put back that of accelerate.
    assert all("forward" in vars(module) for module in hooked)


def test_several_devices_are_gpus_and_hold_the_whole_model():
    both = [torch.device("cuda:0"), torch.device("cuda:1")]
    outside = SimpleNamespace(hf_device_map={"embed_tokens": 0, "model.norm": "disk", "lm_head": "cpu"})
    with pytest.raises(InputError, match=r"big does not fit .* of 2 GPUs: model\.norm and 1 other"):
        placed(outside, "big", both)
    places, kind = devices_and_type("cuda:1, cuda:0", "auto")
    assert (places, kind) == (both[::-1], torch.bfloat16)
    for given in ("cpu,cuda:0", "cuda,cuda"):
        with pytest.raises(InputError, match="several devices must be GPUs, such as cuda:0,cuda:1"):
            devices_and_type(given, "auto")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_edits_over_two_gpus_are_those_on_one(tmp_path):
    saved(tmp_path)
    with devices.reserved_device("auto", 2) as both:
        spread = load(str(tmp_path), device=both, dtype="float32")
        alone = load(str(tmp_path), device=str(spread.device), dtype="float32")
        assert len({parameter.device for parameter in spread.model.parameters()}) == 2
        one, other = outcome(spread, "memit"), outcome(alone, "memit")
    assert one["logprob"] == pytest.approx(other["logprob"], abs=1e-3)
    assert one["failed"] == other["failed"]
