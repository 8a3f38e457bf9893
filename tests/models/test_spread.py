"""Models that accelerate spreads over devices: its hooks on one CPU, and two GPUs where there are any."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from accelerate import dispatch_model  # noqa: E402
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper  # noqa: E402
from support.tiny_models import tiny_model, tiny_tokenizer  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402
from factdrift.models import devices  # noqa: E402
from factdrift.models.alignment import align  # noqa: E402
from factdrift.models.fork import check_logits  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402
from factdrift.models.loading import check_spread, load, places_and_type  # noqa: E402
from factdrift.models.scoring import generate, score  # noqa: E402


def dispatched(loaded: Loaded) -> Loaded:
    """The model with accelerate's hooks on its parts, as from_pretrained leaves one with a device map."""
    model = copy.deepcopy(loaded.model)
    spec = loaded.spec
    parts = [spec.embedding, spec.final_norm, spec.head]
    parts += [spec.module(layer, "") for layer in range(spec.layers)]
    inside = dict.fromkeys(parts, "cpu")
    for name, _ in [*model.named_parameters(), *model.named_buffers()]:
        if not any(name.startswith(f"{part}.") for part in parts):
            inside[name.rpartition(".")[0]] = "cpu"
    return replace(loaded, model=dispatch_model(model, inside, main_device="cpu", force_hooks=True))


def outcome(loaded: Loaded, method: str) -> dict[str, Any]:
    """What is probed after edits of a method: on the device of each number's own, as lists."""
    made = edited(loaded, EDITS, tiny_hyper(method), tiny_artefacts(loaded))
    sentences = [align(loaded.tokenizer, edit.prompt, edit.target) for edit in EDITS]
    owners = list(range(len(EDITS)))
    found = score(loaded, sentences, made.deltas, owners)
    prompts = [one.ids[: one.target] for one in sentences]
    said = generate(loaded, prompts, [5] * len(prompts), made.deltas, owners)
    return {"failed": made.failed, "logprob": found.logprob.tolist(), "said": said}


@pytest.mark.parametrize("family", ["llama", "gpt2", "qwen3_5_text"])
@pytest.mark.parametrize("method", ["rome", "memit"])
def test_edits_are_the_same_under_the_hooks_of_accelerate(family: str, method: str) -> None:
    loaded = tiny_model(family, dtype=torch.float64)
    spread = dispatched(loaded)
    hooked = [module for module in spread.model.modules() if hasattr(module, "_hf_hook")]
    assert len(hooked) > spread.spec.layers
    check_logits(spread)
    assert outcome(spread, method) == outcome(loaded, method)
    # Whoever replaced `forward` of a module for a while has put back that of accelerate.
    assert all("forward" in vars(module) for module in hooked)


def test_a_model_that_is_left_on_the_disk_is_refused() -> None:
    check_spread({"model.embed_tokens": 0, "model.layers.0": torch.device("cuda:1")}, "big", 2)
    with pytest.raises(InputError, match=r"big does not fit .* of 2 GPUs: model\.norm and 1 other"):
        check_spread({"model.embed_tokens": 0, "model.norm": "disk", "lm_head": "cpu"}, "big", 2)


def test_several_devices_are_gpus() -> None:
    places, kind = places_and_type("cuda:1, cuda:0", "auto")
    assert (places, kind) == ([torch.device("cuda:1"), torch.device("cuda:0")], torch.bfloat16)
    for given in ("cpu,cuda:0", "cuda,cuda"):
        with pytest.raises(InputError, match="several devices must be GPUs, such as cuda:0,cuda:1"):
            places_and_type(given, "auto")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
@pytest.mark.parametrize("method", ["rome", "memit"])
def test_edits_over_two_gpus_are_those_on_one(method: str, tmp_path: Path) -> None:
    tiny_model("llama", dtype=torch.float32).model.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    with devices.held("auto", 2) as both:
        spread = load(str(tmp_path), device=both, dtype="float32")
        alone = load(str(tmp_path), device=str(spread.device), dtype="float32")
        assert len({parameter.device for parameter in spread.model.parameters()}) == 2
        one, other = outcome(spread, method), outcome(alone, method)
    assert one["logprob"] == pytest.approx(other["logprob"], abs=1e-3)
    assert one["failed"] == other["failed"]
