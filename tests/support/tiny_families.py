"""Untrained models of every listed family, a few thousand weights each, made from configurations alone.

Nothing is fetched. Imports torch.
"""

from functools import cache
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM

from factdrift.models.bundled.train import byte_level, fast
from factdrift.models.families import spec_of
from factdrift.models.loaded import Loaded

TEXT = [
    "The head of government of the United States of America is Joe Biden.",
    "Marta Kowalska lives in New Orleans, and Marta Kowalska works there.",
    "The capital of Atlantis is Poseidonis, not New Orleans; it's by the sea.",
    "Because You said so. Therefore I am. The mother of Zoë Müller (painter) is a baker.",
]
EXPERTS: dict[str, Any] = {"moe_intermediate_size": 40, "num_experts_per_tok": 2}
LATENT: dict[str, Any] = {
    **{"q_lora_rank": 12, "kv_lora_rank": 8, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "v_head_dim": 6},
    **{"n_routed_experts": 4, "n_shared_experts": 1, "first_k_dense_replace": 1},
    **{"n_group": 2, "topk_group": 1},
}
VISION = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
SIZES: dict[str, dict[str, Any]] = {
    "gptj": {"rotary_dim": 4},
    "falcon": {"ffn_hidden_size": 56},
    "phi": {"partial_rotary_factor": 1.0, "num_key_value_heads": 4},
    "glm4": {"pad_token_id": 0},
    "cohere2": {"pad_token_id": 0},
    "lfm2": {"layer_types": ["conv", "full_attention", "conv", "full_attention"]},
    "granite": {"residual_multiplier": 0.22, "logits_scaling": 8.0, "embedding_multiplier": 12.0},
    "stablelm": {"use_parallel_residual": True},
    "phi3": {"pad_token_id": 0},
    "smollm3": {"pad_token_id": 0},
    "qwen3_5_text": {
        **{"linear_num_key_heads": 2, "linear_num_value_heads": 4},
        **{"linear_key_head_dim": 4, "linear_value_head_dim": 6},
        **{"layer_types": ["linear_attention", "full_attention", "linear_attention", "full_attention"]},
    },
    "gemma2": {"sliding_window": 16},
    "gemma3_text": {"sliding_window": 16},
    "gpt_oss": {"sliding_window": 16, "num_local_experts": 4},
    "mistral": {"sliding_window": 16},
    "qwen3_moe": EXPERTS | {"num_experts": 4, "mlp_only_layers": []},
    "mixtral": {"num_local_experts": 4, "sliding_window": None},
    "qwen2_moe": EXPERTS | {"num_experts": 4, "shared_expert_intermediate_size": 44},
    "deepseek_v2": EXPERTS | LATENT | {"topk_method": "group_limited_greedy"},
    "deepseek_v3": EXPERTS | LATENT,
    "llama4_text": {
        **{"num_local_experts": 4, "interleave_moe_layer_step": 2, "intermediate_size_mlp": 60},
        **{"attention_chunk_size": 8, "num_experts_per_tok": 1, "no_rope_layer_interval": 3},
    },
}
"""What the configuration of a family says besides the common sizes, so that its own traits occur."""


@cache
def tiny_tokenizer() -> Any:
    """Byte-level BPE as GPT-2's, trained on a few sentences."""
    return fast(byte_level(TEXT, 340))


def tiny_config(family: str, *, layers: int = 3, positions: int = 96, **changes: Any) -> Any:
    """The configuration of a small model, whose MLP has a width of its own, so that no matrix passes for its
    transpose.
    """
    common: dict[str, Any] = {"vocab_size": len(tiny_tokenizer()), "bos_token_id": 0, "eos_token_id": 0}
    common["initializer_range"] = 0.2
    if family in ("gpt2", "gptj"):
        sizes = {"n_embd": 24, "n_layer": layers, "n_head": 4, "n_inner": 56, "n_positions": positions}
    else:
        sizes = {"hidden_size": 24, "num_hidden_layers": layers, "num_attention_heads": 4}
        sizes |= {"intermediate_size": 56, "max_position_embeddings": positions}
        if family not in ("gpt_neox", "falcon"):
            sizes |= {"num_key_value_heads": 2, "head_dim": 6}
    own = dict(SIZES.get(family, {}))
    if "layer_types" in own:
        own["layer_types"] = own["layer_types"][:layers]
    if family.startswith("deepseek"):
        sizes |= {"num_key_value_heads": 4, "head_dim": 4}
    whole = common | sizes | own | changes
    if family == "gemma3":
        whole = {"text_config": whole, "vision_config": VISION | {"image_size": 28, "patch_size": 14}}
    return AutoConfig.for_model(family, **whole)


def tiny_model(
    family: str,
    *,
    layers: int = 3,
    dtype: torch.dtype = torch.float64,
    seed: int = 0,
    positions: int = 96,
    **changes: Any,
) -> Loaded:
    """A random model of a family; `changes` of its configuration."""
    config = tiny_config(family, layers=layers, positions=positions, **changes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model: Any = AutoModelForCausalLM.from_config(config, dtype=dtype)
    if dtype == torch.float64:
        # The products of all experts at once do not support it.
        model.set_experts_implementation("eager")
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
