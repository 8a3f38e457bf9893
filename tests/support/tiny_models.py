"""Untrained models of every supported build, for the algebra of editing."""

from copy import deepcopy
from dataclasses import replace

import torch
from accelerate.hooks import AlignDevicesHook, add_hook_to_module

from factdrift.models.bundled.train import END_TEXT as BEGIN
from factdrift.models.families import read_families
from factdrift.models.loaded import Loaded
from support.tiny_families import TEXT, tiny_model, tiny_tokenizer

__all__ = [
    "BEGIN",
    "DENSE",
    "FAMILIES",
    "LISTED",
    "MIXTURES",
    "TEXT",
    "rounding",
    "spread_over",
    "tiny_model",
    "tiny_tokenizer",
]

LISTED = tuple(read_families())
"""All of families.yaml."""
DENSE = (
    *("gpt2", "gptj", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "qwen3_5_text", "olmo", "olmo2"),
    *("granite", "stablelm", "falcon"),
)
"""One family or more of each build whose blocks all have an MLP."""
MIXTURES = ("qwen2_moe", "deepseek_v2", "llama4_text")
"""Mixtures of experts with one that every token passes: weighted, beside dense blocks, without rows."""
FAMILIES = (*DENSE, *MIXTURES)
IN_FLOAT32 = ("gptj", "gemma2", "qwen3_5_text", "llama4_text", "deepseek_v2", "deepseek_v3")
"""Families of which transformers computes a part in float32 whatever the type of the weights is."""


def spread_over(loaded: Loaded, first: torch.device, *others: torch.device) -> Loaded:
    """The model on a device, or with all blocks but the first on another, with accelerate's hooks between."""
    model, spec = deepcopy(loaded.model).to(first), loaded.spec
    for place in others:
        blocks = {spec.module(layer, ""): place for layer in range(1, spec.layers)}
        for name, device in {**blocks, spec.final_norm: first, spec.head: first}.items():
            part = model.get_submodule(name).to(device)
            add_hook_to_module(part, AlignDevicesHook(execution_device=device))
    return replace(loaded, model=model, device=first, others=tuple(each for each in others if each != first))


def rounding(family: str) -> float:
    """The relative rounding error of one operation in a float64 model of a family.

    Results in float32 depend on the processor and on the shape of the batch.
    """
    return torch.finfo(torch.float32 if family in IN_FLOAT32 else torch.float64).eps
