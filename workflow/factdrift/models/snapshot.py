"""Restores a model after code that may change its weights, modules, hooks or attributes. Imports torch."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import GenerationConfig, PretrainedConfig

_INTEGERS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class _Kept(NamedTuple):
    """A parameter or buffer as it was."""

    name: str
    tensor: Tensor
    data: Tensor
    """Its own storage, also if another one is put in its place."""
    requires_grad: bool
    content: Tensor | None
    """A copy on the CPU; None if only the checksum is kept."""
    checksum: int


class Snapshot:
    """The state of a model: its tensors, modules, hooks, configurations and all other attributes.

    Tensors are copied to the memory of the CPU. `patterns`: of the names of the parameters that are copied;
    of the others a checksum is kept, by which `restore` notices that they have changed.
    """

    def __init__(self, model: nn.Module, patterns: Sequence[str] = ("*",)):
        self._modules = [(module, type(module), _attributes(module)) for module in model.modules()]
        configs = {
            id(value): value
            for module, _, _ in self._modules
            for value in vars(module).values()
            if isinstance(value, PretrainedConfig | GenerationConfig)
        }
        self._configs = [(config, _attributes(config)) for config in configs.values()]
        self._tensors = [
            _kept(name, tensor, any(fnmatchcase(name, pattern) for pattern in patterns))
            for name, tensor in model.named_parameters()
        ]
        self._tensors += [_kept(name, tensor, True) for name, tensor in model.named_buffers()]

    def only_weights(self) -> bool:
        """Whether nothing but values of parameters and plain attributes differs from the state that is kept.

        A model for which this holds computes each row of a batch by itself, as it did before.
        """
        for module, kind, saved in self._modules:
            now = vars(module)
            if type(module) is not kind or ("forward" in now) != ("forward" in saved):
                return False
            for key, (_, content) in saved.items():
                if key == "_modules" or "hooks" in key:
                    if not _same(now.get(key), content):
                        return False
                elif key in ("_parameters", "_buffers") and set(now.get(key, ())) != set(content):
                    return False
        return True

    @torch.no_grad()
    def restore(self) -> list[str]:
        """Restores the state bit by bit; returns the parameters that differ and were not copied."""
        for module, kind, saved in self._modules:
            module.__class__ = kind
            _restore(module, saved)
        for config, saved in self._configs:
            _restore(config, saved)
        lost = []
        for one in self._tensors:
            if not one.tensor.is_leaf:
                one.tensor.detach_()
            one.tensor.data = one.data
            one.tensor.requires_grad_(one.requires_grad)
            one.tensor.grad = None
            if one.content is None:
                if _checksum(one.data) != one.checksum:
                    lost.append(one.name)
            elif 0 not in one.data.stride():  # an expanded buffer is a view of another one
                one.data.copy_(one.content)
        return lost


def _kept(name: str, tensor: Tensor, copied: bool) -> _Kept:
    data = tensor.detach()
    content = data.to("cpu", copy=True) if copied else None
    return _Kept(name, tensor, data, tensor.requires_grad, content, 0 if copied else _checksum(data))


def _checksum(tensor: Tensor) -> int:
    """The sum of the bit patterns, as integers."""
    bits = tensor.contiguous().view(_INTEGERS[tensor.element_size()])
    return int(bits.sum(dtype=torch.int64).item())


def _attributes(thing: Any) -> dict[str, tuple[Any, Any]]:
    """Name -> value of each attribute, and a copy of its content if it is a container."""
    return {
        name: (value, copy.copy(value) if isinstance(value, dict | list | set) else None)
        for name, value in vars(thing).items()
    }


def _restore(thing: Any, saved: dict[str, tuple[Any, Any]]) -> None:
    now = vars(thing)
    now.clear()
    for name, (value, content) in saved.items():
        now[name] = value
        if isinstance(value, list):
            value[:] = content
        elif isinstance(value, dict | set):
            value.clear()
            value.update(content)


def _same(one: Any, other: Any) -> bool:
    """Whether two mappings have the same objects under the same keys, in the same order."""
    return isinstance(one, dict) and list(_identities(one)) == list(_identities(other))


def _identities(mapping: dict[Any, Any]) -> Iterator[tuple[Any, int]]:
    return ((key, id(value)) for key, value in mapping.items())
