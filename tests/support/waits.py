"""Counts the calls that make the host wait for the device, on any device. Imports torch."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

WAITING: dict[Callable[..., Any], str] = {
    Tensor.item: "item",
    Tensor.tolist: "tolist",
    Tensor.numpy: "numpy",
    Tensor.cpu: "cpu",
    Tensor.__bool__: "bool",
    Tensor.__int__: "int",
    Tensor.__float__: "float",
    Tensor.__index__: "index",
    Tensor.nonzero: "nonzero",
    Tensor.masked_select: "masked_select",
    Tensor.unique: "unique",
    torch.nonzero: "nonzero",
    torch.masked_select: "masked_select",
}


class Waits(TorchFunctionMode):
    """Within it, `found` counts values that are read by Python, and results whose size depends on values.

    On a GPU each of these empties the queue of kernels: the host waits for the device, then the device for
    the host. On a CPU they cost nothing and are counted all the same.
    """

    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if func in WAITING:
            self.found[WAITING[func]] += 1
        elif func in (Tensor.__getitem__, Tensor.__setitem__) and _by_mask(args[1]):
            self.found["mask"] += 1
        return func(*args, **(kwargs or {}))


def _by_mask(index: Any) -> bool:
    parts = index if isinstance(index, tuple) else (index,)
    return any(isinstance(part, Tensor) and part.dtype == torch.bool for part in parts)
