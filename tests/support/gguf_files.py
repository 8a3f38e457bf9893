"""GGUF files of tiny random models, as llama.cpp's converters write them."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import MODEL_ARCH_NAMES, GGMLQuantizationType, GGUFWriter, TokenType, get_tensor_name_map, quants

from factdrift.models.loaded import Loaded
from support.tiny_models import tiny_model

ARCHITECTURES = {
    **{"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"},
    **{"gemma2": "gemma2", "gemma3_text": "gemma3", "phi3": "phi3"},
}
"""Family of transformers -> architecture of a file."""
SIZES: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 64, "head_dim": 8}
"""Blocks of quantized numbers have 32."""
UNREAD = (GGMLQuantizationType.Q8_1,)
"""Types that the package gguf does not compute; zeros are written."""
OWN: dict[str, dict[str, Any]] = {
    "mistral": {"sliding_window": None},
    "gemma2": {"sliding_window": 16, "query_pre_attn_scalar": 8},
    "gemma3_text": {"sliding_window": 16, "query_pre_attn_scalar": 8},
}


def gguf_model(family: str, **changes: Any) -> Loaded:
    """A random model in float32 whose sizes suit a GGUF file."""
    return tiny_model(family, dtype=torch.float32, **{**SIZES, **OWN.get(family, {}), **changes})


def write_gguf(
    path: Path,
    loaded: Loaded,
    kind: str = "F32",
    *,
    values: Mapping[str, Any] | None = None,
    more: Mapping[str, Sequence[float]] | None = None,
    without: Sequence[str] = (),
) -> Path:
    """Writes a model of `gguf_model` with its tokenizer.

    `kind`: type of the matrices. `values`: metadata in the place of the usual or beside it. `more`: further
    tensors. `without`: names of tensors that are left out.
    """
    config, family = loaded.model.config, loaded.model.config.model_type
    architecture = ARCHITECTURES[family]
    rope = config.rope_parameters
    metadata: dict[str, Any] = {
        f"{architecture}.{key}": value
        for key, value in {
            "block_count": config.num_hidden_layers,
            "context_length": config.max_position_embeddings,
            "embedding_length": config.hidden_size,
            "feed_forward_length": config.intermediate_size,
            "attention.head_count": config.num_attention_heads,
            "attention.head_count_kv": config.num_key_value_heads,
            "attention.key_length": config.head_dim,
            "attention.value_length": config.head_dim,
            "attention.layer_norm_rms_epsilon": config.rms_norm_eps,
            "attention.sliding_window": getattr(config, "sliding_window", None),
            "rope.dimension_count": config.head_dim,
            "rope.freq_base": rope.get("full_attention", rope)["rope_theta"] * 1.0,
            "final_logit_softcapping": getattr(config, "final_logit_softcapping", None),
            "attn_logit_softcapping": getattr(config, "attn_logit_softcapping", None),
        }.items()
        if value is not None
    }
    core = json.loads(loaded.tokenizer.backend_tokenizer.to_str())
    vocabulary = loaded.tokenizer.get_vocab()
    special = set(loaded.tokenizer.all_special_tokens)
    metadata |= {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": sorted(vocabulary, key=vocabulary.__getitem__),
        "tokenizer.ggml.token_type": [
            int(TokenType.CONTROL if token in special else TokenType.NORMAL)
            for token in sorted(vocabulary, key=vocabulary.__getitem__)
        ],
        "tokenizer.ggml.merges": [" ".join(pair) for pair in core["model"]["merges"]],
        "tokenizer.ggml.bos_token_id": 0,
        "tokenizer.ggml.eos_token_id": 0,
        "tokenizer.ggml.padding_token_id": 0,
        "tokenizer.ggml.add_bos_token": False,
    }
    metadata |= values or {}
    writer = GGUFWriter(path, str(metadata.pop("general.architecture", architecture)))
    for key, value in metadata.items():
        if isinstance(value, bool):
            writer.add_bool(key, value)
        elif isinstance(value, int):
            writer.add_uint32(key, value)
        elif isinstance(value, float):
            writer.add_float32(key, value)
        elif isinstance(value, str):
            writer.add_string(key, value)
        else:
            writer.add_array(key, value)
    for name, tensor in tensors_of(loaded).items():
        if name in without:
            continue
        if tensor.ndim == 2 and kind != "F32":
            form = GGMLQuantizationType[kind]
            size = quants.quant_shape_to_byte_shape(tensor.shape, form)
            packed = np.zeros(size, np.uint8) if form in UNREAD else quants.quantize(tensor, form)
            writer.add_tensor(name, packed, raw_dtype=form)
        else:
            writer.add_tensor(name, tensor)
    for name, numbers in (more or {}).items():
        writer.add_tensor(name, np.array(numbers, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def tensors_of(loaded: Loaded) -> dict[str, np.ndarray[Any, Any]]:
    """Name in a file -> weights as it has them: Llama's queries and keys permuted, Gemma's norms plus 1."""
    config = loaded.model.config
    architecture = ARCHITECTURES[config.model_type]
    kind = next(kind for kind, name in MODEL_ARCH_NAMES.items() if name == architecture)
    names = get_tensor_name_map(kind, config.num_hidden_layers)
    tensors = {}
    for weight, value in loaded.model.state_dict().items():
        if weight == "lm_head.weight" and config.tie_word_embeddings:
            continue
        module, _, part = weight.rpartition(".")
        own = value.numpy().copy()
        if architecture == "llama" and module.endswith(("q_proj", "k_proj")):
            own = own.reshape(-1, 2, config.head_dim // 2, own.shape[1]).swapaxes(1, 2).reshape(own.shape)
        if architecture.startswith("gemma") and "norm" in module:
            own += 1
        tensors[f"{names.get_name(module)}.{part}"] = own
    return tensors
