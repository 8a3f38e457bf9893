"""Runs a model in float32 whatever the type of its weights. Imports torch."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn


@contextmanager
def in_float32(model: nn.Module) -> Iterator[None]:
    """Runs `model` in float32 inside the `with` block: each module's own tensors are converted while it runs.

    So only the tensors of the modules that are being run take more memory, and all are restored as they were.
    """
    kept: dict[Tensor, Tensor] = {}
    handles = []

    def wider(module: nn.Module, taken: Any) -> None:
        for tensor in _half(module):
            kept[tensor] = tensor.data
            tensor.data = tensor.data.float()

    def narrower(module: nn.Module, taken: Any, given: Any) -> None:
        for tensor in _own(module):
            if tensor in kept:
                tensor.data = kept.pop(tensor)

    try:
        for module in model.modules():
            if _half(module):
                handles.append(module.register_forward_pre_hook(wider, prepend=True))
                handles.append(module.register_forward_hook(narrower, always_call=True))
        yield
    finally:
        for handle in handles:
            handle.remove()
        for tensor, data in kept.items():
            tensor.data = data


def _own(module: nn.Module) -> list[Tensor]:
    return [*module.parameters(recurse=False), *module.buffers(recurse=False)]


def _half(module: nn.Module) -> list[Tensor]:
    """A module's own tensors in half precision."""
    return [one for one in _own(module) if one.dtype in (torch.float16, torch.bfloat16)]
