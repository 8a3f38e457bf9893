"""Editing methods at a chosen block: hyper-parameters and names. Does not import torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import Hyper, SizesOf, read_hyper
from factdrift.evaluation.methods.record import record_of, records


def named(method: str, layer: int) -> str:
    """The name of a method at one block, in the column `method`."""
    return f"{method}@{layer}"


def hyper_at(
    method: str, model: str, values: Mapping[str, Any], layer: int, sizes: SizesOf | None = None
) -> Hyper:
    """The hyper-parameters with which a method edits one block; raises InputError for other methods."""
    key = record_of(method).block
    if not key:
        able = ", ".join(name for name, record in records().items() if record.block)
        raise InputError(
            f"locate.edit_methods: {method} edits no block that could be chosen; there are {able}"
        )
    return read_hyper(method, model, {**values, key: layer if key == "layer" else [layer]}, sizes=sizes)
