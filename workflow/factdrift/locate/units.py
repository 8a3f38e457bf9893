"""The units of a model that locating methods score, and their values in a forward pass. Imports torch.

Units are numbered block by block: neuron n of block l is unit `l * inner + n`, and likewise heads and modules
(attention, then MLP). A layer is a whole block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from torch import Tensor

from factdrift.models.hooks import hooked

if TYPE_CHECKING:
    from factdrift.models.families import ModelSpec
    from factdrift.models.loading import Loaded

GRANULARITIES = ("neuron", "head", "module", "layer")


def per_layer(loaded: Loaded, granularity: str) -> int:
    """The number of units of each block."""
    if granularity == "head":
        heads: int = loaded.model.config.get_text_config().num_attention_heads
        return heads
    return {"neuron": loaded.spec.inner, "module": 2, "layer": 1}[granularity]


def number_of_units(loaded: Loaded, granularity: str) -> int:
    return loaded.spec.layers * per_layer(loaded, granularity)


def seen(
    loaded: Loaded, granularity: str, see: Callable[[int, Tensor], None]
) -> AbstractContextManager[None]:
    """Calls `see(index, value)` in each forward pass, with values [rows, tokens, width] of all units.

    There is one value for each block, or two for modules, in the order of the units: the input of the down
    projection (neurons: one channel each), the input of attention's output projection (heads: equal shares
    of the channels), the outputs of attention and MLP (modules), the block's output (layers).
    """
    functions: dict[str, Callable[[Tensor, Tensor], None]] = {}
    for index, (name, side) in enumerate(_places(loaded.spec, granularity)):
        functions[name] = _seeing(see, index, side)
    return hooked(loaded.model, functions)


def _places(spec: ModelSpec, granularity: str) -> list[tuple[str, str]]:
    """Full name of a module, and whether its input or output is meant."""
    parts = {
        "neuron": [(spec.down, "input")],
        "head": [(spec.attention_out, "input")],
        "module": [(spec.attention_out, "output"), (spec.mlp, "output")],
        "layer": [("", "output")],
    }[granularity]
    return [(spec.module(layer, part), side) for layer in range(spec.layers) for part, side in parts]


def _seeing(see: Callable[[int, Tensor], None], index: int, side: str) -> Callable[[Tensor, Tensor], None]:
    return lambda taken, given: see(index, taken if side == "input" else given)


def summed(loaded: Loaded, granularity: str, values: list[Tensor]) -> Tensor:
    """Sums over the channels of each unit: of values [rows, width] of `seen`, to [rows, units]."""
    from torch import cat

    each = per_layer(loaded, granularity)
    if granularity == "neuron":
        return cat(values, 1)
    if granularity == "head":
        return cat([value.reshape(len(value), each, -1).sum(2) for value in values], 1)
    return cat([value.sum(1, keepdim=True) for value in values], 1)
