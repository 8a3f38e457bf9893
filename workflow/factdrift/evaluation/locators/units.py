"""The units of a model that locating methods score, and their values in a forward pass. Imports torch.

Units are numbered block by block: neuron n of block l is unit `l * inner + n`, and likewise heads and modules
(attention, then MLP). A layer is a whole block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.models.hooks import After, hooked

if TYPE_CHECKING:
    from factdrift.models.families import ModelSpec
    from factdrift.models.loaded import Loaded

GRANULARITIES = ("neuron", "head", "module", "layer")


def per_layer(loaded: Loaded, granularity: str) -> int:
    """The number of units of each block.

    Raises InputError if blocks differ in what has the units: neurons of experts, heads of a recurrent state.
    """
    spec = loaded.spec
    if granularity == "neuron" and not spec.uniform():
        raise InputError(
            f"locators: {loaded.name}: the blocks of the family {spec.family} do not have equally many "
            "neurons in one MLP (mixture of experts), so that neurons cannot be numbered; use a locator "
            "of modules or layers"
        )
    if granularity == "head" and spec.recurrent:
        raise InputError(
            f"locators: {loaded.name}: some blocks of the family {spec.family} mix tokens by a recurrent "
            "state and have no attention heads; use a locator of modules or layers"
        )
    if granularity == "head":
        heads: int = loaded.model.config.get_text_config().num_attention_heads
        return heads
    return {"neuron": spec.inner, "module": 2, "layer": 1}[granularity]


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
    per_layer(loaded, granularity)  # raises if there are none
    functions: dict[str, After] = {}
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


def _seeing(see: Callable[[int, Tensor], None], index: int, side: str) -> After:
    def look(taken: Tensor, given: Tensor) -> Tensor | None:
        see(index, taken if side == "input" else given)
        # Falcon adds to the MLP's output in place, which must not change the value that was seen.
        return given.clone() if side == "output" else None

    return look


def summed(loaded: Loaded, granularity: str, values: list[Tensor]) -> Tensor:
    """Sums over the channels of each unit: of values [rows, width] of `seen`, to [rows, units]."""
    from torch import cat

    each = per_layer(loaded, granularity)
    if granularity == "neuron":
        return cat(values, 1)
    if granularity == "head":
        return cat([value.reshape(len(value), each, -1).sum(2) for value in values], 1)
    return cat([value.sum(1, keepdim=True) for value in values], 1)
