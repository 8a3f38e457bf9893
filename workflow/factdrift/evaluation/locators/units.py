"""The units of a model that locating methods score, and their values in a forward pass. Imports torch.

Units are numbered block by block: neuron n of block l is unit `l * inner + n`, and likewise heads and modules
(attention, then MLP). A layer is a whole block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.locators.interface import last_logits
from factdrift.models.hooks import After, hooked

if TYPE_CHECKING:
    from factdrift.evaluation.locators.prompts import Sentence
    from factdrift.models.loaded import Loaded


def per_layer(loaded: Loaded, granularity: str) -> int:
    """The number of units of each block.

    Raises InputError if blocks differ in what has the units: neurons of experts, heads of a recurrent state.
    """
    spec = loaded.spec
    lacking = ""
    if granularity == "neuron" and not spec.uniform():
        lacking = (
            f"the blocks of the family {spec.family} do not have equally many neurons in one MLP (mixture of "
            "experts), so that neurons cannot be numbered"
        )
    if granularity == "head" and spec.recurrent:
        lacking = (
            f"some blocks of the family {spec.family} mix tokens by a recurrent state and have no attention "
            "heads"
        )
    if lacking:
        raise InputError(f"locators: {loaded.name}: {lacking}; use a locator of modules or layers")
    if granularity == "head":
        return int(loaded.model.config.get_text_config().num_attention_heads)
    return {"neuron": spec.inner, "module": 2, "layer": 1}[granularity]


@contextmanager
def seen(loaded: Loaded, granularity: str) -> Iterator[list[Tensor]]:
    """Keeps the values [rows, tokens, width] of all units in the latest forward pass, in a list.

    There is one value for each block, or two for modules, in the order of the units: the input of the down
    projection (neurons: one channel each), the input of attention's output projection (heads: equal shares
    of the channels), the outputs of attention and MLP (modules), the block's output (layers).
    """
    per_layer(loaded, granularity)  # raises if there are none
    spec = loaded.spec
    inside = granularity in ("neuron", "head")
    parts = {
        "neuron": [spec.down],
        "head": [spec.attention_out],
        "module": [spec.attention_out, spec.mlp],
        "layer": [""],
    }[granularity]

    names = [spec.module(layer, part) for layer in range(spec.layers) for part in parts]
    values = [torch.empty(0)] * len(names)

    def seeing(index: int) -> After:
        def look(taken: Tensor, given: Tensor) -> Tensor | None:
            values[index] = taken if inside else given
            # Falcon adds to the MLP's output in place, which must not change the value that was seen.
            return None if inside else given.clone()

        return look

    with hooked(loaded.model, {name: seeing(index) for index, name in enumerate(names)}):
        yield values


def values_of(loaded: Loaded, granularity: str, sentences: Sequence[Sentence]) -> list[Tensor]:
    """The values of all units in a pass of the sentences, as in `seen`."""
    with torch.no_grad(), seen(loaded, granularity) as values:
        last_logits(loaded, sentences)
    return values


def summed(loaded: Loaded, granularity: str, values: list[Tensor]) -> Tensor:
    """Sums over the channels of each unit: of values [rows, width] of `seen`, to [rows, units]."""
    if granularity == "neuron":
        return torch.cat(values, 1)
    shares = per_layer(loaded, granularity) if granularity == "head" else 1
    return torch.cat([value.reshape(len(value), shares, -1).sum(2) for value in values], 1)
