"""Untrained models of every supported build, for the algebra of editing."""

from __future__ import annotations

from factdrift.models.families import read_families
from factdrift.models.tiny import BEGIN, TEXT, rounding, tiny_model, tiny_tokenizer

__all__ = [
    "BEGIN",
    "DENSE",
    "FAMILIES",
    "LISTED",
    "MIXTURES",
    "TEXT",
    "rounding",
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
