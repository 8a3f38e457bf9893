"""Models that accelerate spreads over devices: its hooks on one CPU, and two GPUs where there are any."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from accelerate.hooks import AlignDevicesHook, add_hook_to_module  # noqa: E402
from support import tiny_edits  # noqa: E402
from support.asking import saved  # noqa: E402
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402
from support.writing import continued  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.methods.hyperparameters import read_hyper  # noqa: E402
from factdrift.evaluation.methods.mend import HyperNet, edited_matrices  # noqa: E402
from factdrift.evaluation.methods.record import records  # noqa: E402
from factdrift.evaluation.states.edited import edited  # noqa: E402
from factdrift.models import devices  # noqa: E402
from factdrift.models.alignment import align  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402
from factdrift.models.loading import load, placed, places_and_type  # noqa: E402
from factdrift.models.precise import check_logits  # noqa: E402
from factdrift.models.scoring import score  # noqa: E402

META = torch.device("meta")


def spread_over(loaded: Loaded, place: torch.device) -> Loaded:
    """The model with all blocks but the first one on `place`, with accelerate's hooks between them."""
    model, spec = copy.deepcopy(loaded.model), loaded.spec
    places = {spec.module(layer, ""): place for layer in range(1, spec.layers)}
    for name, device in {**places, spec.final_norm: loaded.device, spec.head: loaded.device}.items():
        part = model.get_submodule(name).to(device)
        add_hook_to_module(part, AlignDevicesHook(execution_device=device))
    return replace(loaded, model=model, others=(place,) if place != loaded.device else ())


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
def test_edits_are_the_same_under_the_hooks_of_accelerate(family: str, method: str) -> None:
    loaded = tiny_model(family, dtype=torch.float64)
    spread = spread_over(loaded, loaded.device)
    hooked = [module for module in spread.model.modules() if hasattr(module, "_hf_hook")]
    assert len(hooked) > spread.spec.layers
    check_logits(spread)
    assert outcome(spread, method) == outcome(loaded, method)
    # Whoever replaced `forward` of a module for a while has put back that of accelerate.
    assert all("forward" in vars(module) for module in hooked)


SETTINGS: dict[str, dict[str, Any]] = {
    **{name: given | {"steps": 2} for name, given in tiny_edits.SETTINGS.items()},
    **{"ft": {"layers": [1], "steps": 2}, "ft_l": {"layers": [0], "norm_constraint": 0.1, "steps": 2}},
    **{"lora": {"steps": 2}, "grace": {"layer": 1, "steps": 2}, "ultraedit": {"layers": [1]}},
    "mend": {"blocks": 2, "rank": 4},
    **{"merge": {"steps": 2}, "replay": {"steps": 2, "replayed": 2}},
    "wise": {"layer": 1, "steps": 2, "contexts": 1, "margins": [0.1, 0.5, 0.3], "shard": 2, "lr": 0.5},
}


class Returned(TorchDispatchMode):
    """Lets tensors of `meta` be copied to the CPU, as zeros, so that it is a second device like a GPU.

    Whatever mixes tensors of both is still an error.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = (*args[1:], *(kwargs or {}).values())
        if args and isinstance(args[0], torch.Tensor) and args[0].device == META:
            if func.name() == "aten::_local_scalar_dense":
                return 0
            if func.name().startswith(("aten::_to_copy", "aten::to.")) and torch.device("cpu") in given:
                kinds = [each for each in given if isinstance(each, torch.dtype)]
                return torch.zeros(args[0].shape, dtype=kinds[0] if kinds else args[0].dtype)
        if func is torch.ops.aten.copy_.default and given[0].device == META and args[0].device != META:
            return args[0].zero_()
        return func(*args, **(kwargs or {}))


@pytest.mark.filterwarnings("ignore:second moments")
@pytest.mark.parametrize(
    ("family", "methods"), [("llama", SETTINGS), ("gptj", ("rome",)), ("qwen3_5_text", ("rome", "grace"))]
)
def test_no_method_mixes_tensors_of_two_devices(family: str, methods: Iterable[str]) -> None:
    loaded = tiny_model(family, dtype=torch.float32)
    artefacts = replace(tiny_artefacts(loaded), mend=HyperNet(edited_matrices(loaded, 2), 4, 1e-4))
    spread = spread_over(loaded, META)
    edits = EDITS[:2]
    sentences = [align(loaded.tokenizer, edit.prompt, edit.target) for edit in edits]
    assert set(SETTINGS) == {
        name for name, record in records().items() if record.changes in ("weights", "codebook")
    }
    with Returned():
        with pytest.raises(RuntimeError, match="device"):
            _ = torch.ones(2, device=META) + torch.ones(2)
        continued(spread, [one.ids for one in sentences], [3] * len(edits))
        for method in methods:
            hyper = read_hyper(method, "tiny", SETTINGS[method])
            regime = "batch" if hyper.record.not_alone else "independent"
            made = edited(spread, edits, hyper, artefacts, regime)
            score(spread, sentences, made.changes, made.owner or list(range(len(edits))))


def test_several_devices_are_gpus_and_hold_the_whole_model() -> None:
    both = [torch.device("cuda:0"), torch.device("cuda:1")]
    outside = SimpleNamespace(hf_device_map={"embed_tokens": 0, "model.norm": "disk", "lm_head": "cpu"})
    with pytest.raises(InputError, match=r"big does not fit .* of 2 GPUs: model\.norm and 1 other"):
        placed(outside, "big", both)
    places, kind = places_and_type("cuda:1, cuda:0", "auto")
    assert (places, kind) == (both[::-1], torch.bfloat16)
    for given in ("cpu,cuda:0", "cuda,cuda"):
        with pytest.raises(InputError, match="several devices must be GPUs, such as cuda:0,cuda:1"):
            places_and_type(given, "auto")


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_edits_over_two_gpus_are_those_on_one(tmp_path: Path) -> None:
    saved(tmp_path)
    with devices.held("auto", 2) as both:
        spread = load(str(tmp_path), device=both, dtype="float32")
        alone = load(str(tmp_path), device=str(spread.device), dtype="float32")
        assert len({parameter.device for parameter in spread.model.parameters()}) == 2
        one, other = outcome(spread, "memit"), outcome(alone, "memit")
    assert one["logprob"] == pytest.approx(other["logprob"], abs=1e-3)
    assert one["failed"] == other["failed"]
