"""Which editing methods cannot edit a model because of its architecture, each with the reason. No torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.record import DOWN, record_of

if TYPE_CHECKING:
    from factdrift.evaluation.methods.hyperparameters import Hyper
    from factdrift.models.families import ModelSpec


def refusal(spec: ModelSpec, method: str, layer: int) -> str | None:
    """Why a method cannot edit block `layer` of a model, and what to do instead; None if it can.

    Methods of users are not refused.
    """
    edits = record_of(method).edits
    if edits in DOWN and not spec.has_down(layer):
        return spec.lacking(layer)
    return spec.no_target(layer) if edits == "states" else None


def blocks_of(spec: ModelSpec, hyper: Hyper) -> list[int]:
    """The blocks that a method edits: as its hyper-parameters say."""
    if hyper.record.edits == "all":
        return list(range(max(spec.layers - hyper.get("blocks", 0), 0), spec.layers))
    if hyper.record.edits == "named":
        return sorted({*hyper.layers, *(layer for layers in hyper["others"].values() for layer in layers)})
    return hyper.layers


def check(spec: ModelSpec, hyper: Hyper, name: str) -> None:
    """Raises CannotEdit with the reason if a method cannot edit a block that its hyper-parameters name.

    `name`: of the model.
    """
    for layer in blocks_of(spec, hyper):
        reason = None if hyper.own else refusal(spec, hyper.method, layer)
        if hyper.record.edits == "output" and hyper["module"] and not spec.has_down(layer):
            reason = spec.lacking(layer)
        if reason is not None:
            raise CannotEdit(f"methods: {hyper.method} on {name}: {reason}")
