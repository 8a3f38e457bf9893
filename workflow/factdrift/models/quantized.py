"""Models whose weights are quantized: how they are described, made ready, and whether gradients pass them.

bitsandbytes keeps matrices in 4 or 8 bits; GPTQ, AWQ, compressed tensors and fp8 are other forms that
transformers reads. Imports torch.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from factdrift.core.errors import CannotEdit
from factdrift.models.loaded import Loaded

PACKED = "support_avx512bf16_for_cpu"
"""The attribute of 4-bit matrices by which bitsandbytes packs them for the CPU when they are first used."""
APART = 0.1
"""The largest relative difference of a product and its gradient; activations in 8 bits differ by 0.01."""
TOKENS = 4
"""The number of vectors by which a gradient is tried."""


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


def check_gradient(loaded: Loaded, method: str) -> None:
    """Tries one matrix of each kind in the blocks of a quantized model: is its gradient that of its product?

    For a matrix W and vectors v, d the gradient of v W x by x, times d, is v W d. Raises CannotEdit, naming
    the method, if there is no gradient or it is another one: kernels of some forms have none, and training
    through them would go on without a word.
    """
    spec = loaded.spec
    if not is_quantized(loaded.model.config):
        return
    kinds: dict[type, str] = {}
    for layer in range(spec.layers):
        block = spec.module(layer, "")
        for name, module in loaded.model.get_submodule(block).named_modules(prefix=block):
            if isinstance(getattr(module, "in_features", None), int) and not any(module.children()):
                kinds.setdefault(type(module), name)
    for kind, name in kinds.items():
        if not _apart(loaded.model.get_submodule(name), loaded) < APART:
            how = described(loaded.model.config)
            raise CannotEdit(
                f"methods: {method} on {loaded.name}: no right gradient passes its quantized matrices "
                f"({kind.__name__}, {how}), so nothing can be trained through them; give the model in 4 or "
                "8 bits of bitsandbytes, or without quantization"
            )


def _apart(module: Any, loaded: Loaded) -> float:
    """The relative difference between a product of a matrix and what its gradient says; inf without one."""
    device = next(iter((*module.parameters(), *module.buffers()))).device
    drawing = torch.Generator().manual_seed(0)
    shape = (1, TOKENS, module.in_features)
    x, d = (torch.randn(shape, generator=drawing).to(device, loaded.dtype) for _ in range(2))
    v = torch.randn((1, TOKENS, module.out_features), generator=drawing).to(device)
    with torch.enable_grad():
        out = module(x.requires_grad_(True))
        if not out.requires_grad:
            return float("inf")
        (slope,) = torch.autograd.grad((out * v).sum(), x)
    with torch.no_grad():
        moved = module(d) - module(torch.zeros_like(d))
    ours, own = (slope.float() * d.float()).sum((0, 2)), (moved.float() * v).sum((0, 2))
    size = moved.float().norm() * v.norm() / TOKENS
    return float((ours - own).abs().max() / size)
