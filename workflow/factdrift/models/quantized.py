"""Models whose weights are quantized: how they are described and made ready.

bitsandbytes keeps matrices in 4 or 8 bits; GPTQ, AWQ, compressed tensors and fp8 are other forms that
transformers reads. Imports torch.
"""

from collections.abc import Mapping
from typing import Any

from torch import nn

PACKED = "support_avx512bf16_for_cpu"
"""The attribute of 4-bit matrices by which bitsandbytes packs them for the CPU when they are first used."""


def is_quantized(config: Any) -> bool:
    """Whether a model with this configuration keeps its weights in a form of their own, such as 4 bits."""
    return getattr(config, "quantization_config", None) is not None


def quantization(config: Any) -> Mapping[str, Any]:
    """The part of a configuration that says how its weights are quantized; empty if they are not."""
    settings = getattr(config, "quantization_config", None) or {}
    return settings if isinstance(settings, Mapping) else dict(settings.to_dict())


def bits_of(config: Any) -> int:
    """Bits of a number of a quantized matrix, as far as the configuration says; 0 if it does not."""
    how = quantization(config)
    if how.get("load_in_4bit") or how.get("load_in_8bit"):
        return 4 if how.get("load_in_4bit") else 8
    if "fp8" in str(how.get("quant_method")):
        return 8
    given = how.get("bits") or how.get("w_bit")
    return given if isinstance(given, int) else 0


def described(config: Any) -> str:
    """How the weights are quantized, in words; empty if they are not."""
    if not (how := quantization(config)):
        return ""
    method, bits = how.get("quant_method", "in a form of its own"), bits_of(config)
    method = getattr(method, "value", method)
    told = f"{bits} bits ({method}" if bits else f"({method}"
    if method == "bitsandbytes" and bits == 4:
        scales = ", scales in 8 bits" if how.get("bnb_4bit_use_double_quant") else ""
        told += f", {how.get('bnb_4bit_quant_type', 'fp4')}{scales}, computed in "
        told += str(how.get("bnb_4bit_compute_dtype", "float32")).removeprefix("torch.")
    return f"{told})"


def prepare(model: nn.Module) -> None:
    """Keeps bitsandbytes from packing 4-bit matrices for the CPU, since no gradient passes them then."""
    for module in model.modules():
        if hasattr(module, PACKED):
            setattr(module, PACKED, False)
