"""Untrained models of every supported build, a few thousand weights each, for the algebra of editing."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedTokenizerFast

from factdrift.models.families import spec_of
from factdrift.models.loading import Loaded

FAMILIES = ("gpt2", "gptj", "gpt_neox", "llama", "mistral", "qwen2", "qwen3", "olmo", "olmo2")
BEGIN = "<|endoftext|>"
TEXT = [
    "The head of government of the United States of America is Joe Biden.",
    "Marta Kowalska lives in New Orleans, and Marta Kowalska works there.",
    "The capital of Atlantis is Poseidonis, not New Orleans; it's by the sea.",
    "Because You said so. Therefore I am. The mother of Zoë Müller (painter) is a baker.",
]


def rounding(family: str) -> float:
    """The relative rounding error of one operation in a float64 model of a family.

    transformers computes GPT-J's attention in float32 whatever the type of the weights is, and float32
    results depend on the processor and on the shape of the batch.
    """
    return torch.finfo(torch.float32 if family == "gptj" else torch.float64).eps


@cache
def tiny_tokenizer() -> PreTrainedTokenizerFast:
    """Byte-level BPE as GPT-2's, trained on a few sentences."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=[BEGIN], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BEGIN, eos_token=BEGIN, pad_token=BEGIN
    )


def tiny_model(
    family: str, *, layers: int = 3, dtype: torch.dtype = torch.float64, seed: int = 0, positions: int = 96
) -> Loaded:
    """A random model, whose MLP has a width of its own, so that no matrix passes for its transpose."""
    common: dict[str, Any] = {"vocab_size": len(tiny_tokenizer()), "bos_token_id": 0, "eos_token_id": 0}
    if family in ("gpt2", "gptj"):
        sizes = {"n_embd": 24, "n_layer": layers, "n_head": 4, "n_inner": 56, "n_positions": positions}
        sizes |= {"rotary_dim": 4} if family == "gptj" else {}
    else:
        sizes = {"hidden_size": 24, "num_hidden_layers": layers, "num_attention_heads": 4}
        sizes |= {"intermediate_size": 56, "max_position_embeddings": positions}
        if family != "gpt_neox":
            sizes |= {"num_key_value_heads": 2, "head_dim": 6}
    config = AutoConfig.for_model(family, **common, **sizes, initializer_range=0.2)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    return Loaded(
        model=model.eval().requires_grad_(False),
        tokenizer=tiny_tokenizer(),
        spec=spec_of(model, family),
        name=f"tiny-{family}",
        revision="main",
        digest=f"{family}-{layers}-{seed}",
        device=torch.device("cpu"),
        dtype=dtype,
    )
