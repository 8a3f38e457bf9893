"""Which editing methods cannot edit a model because of its architecture, each with the reason.

A method belongs to a kind by what it edits. Does not import torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from factdrift.core.errors import CannotEdit

if TYPE_CHECKING:
    from factdrift.edit.methods.hyperparameters import Hyper
    from factdrift.models.families import ModelSpec

ANY_MATRIX = ("ft", "ft_l")
"""Train one matrix of a block, `ModelSpec.trained`: the down projection, if there is one."""
VALUES = ("rome",)
"""Choose what the down projection of a block puts out for a key."""
STATES = ("memit", "alphaedit")
"""Choose a hidden state, and spread what is missing over the down projections of some blocks."""
ALL_MATRICES = ("mend",)
"""Change all matrices of the MLPs of some blocks."""
SOME_MATRICES = ("ultraedit",)
"""Change matrices of the MLPs that their hyper-parameters name."""
CODEBOOKS = ("grace",)
"""Replace what a module of a block puts out: the down projection or, if there is none, the whole MLP."""
DOWN = (*VALUES, *STATES, *ALL_MATRICES, *SOME_MATRICES)
"""Methods that need a down projection."""


def refusal(spec: ModelSpec, method: str, layer: int) -> str | None:
    """Why a method cannot edit block `layer` of a model, and what to do instead; None if it can.

    Methods that are not listed above are not refused.
    """
    if method in DOWN and not spec.has_down(layer):
        return spec.lacking(layer)
    return spec.no_target(layer) if method in STATES else None


def blocks_of(spec: ModelSpec, hyper: Hyper) -> list[int]:
    """The blocks that a method edits: as its hyper-parameters say."""
    if hyper.method in ALL_MATRICES:
        return list(range(max(spec.layers - hyper.get("blocks", 0), 0), spec.layers))
    if hyper.method in SOME_MATRICES:
        return sorted({*hyper.layers, *(layer for layers in hyper["others"].values() for layer in layers)})
    return hyper.layers


def check(spec: ModelSpec, hyper: Hyper, name: str) -> None:
    """Raises CannotEdit with the reason if a method cannot edit a block that its hyper-parameters name.

    `name`: of the model.
    """
    for layer in blocks_of(spec, hyper):
        reason = refusal(spec, hyper.method, layer)
        if hyper.method in CODEBOOKS and hyper["module"] and not spec.has_down(layer):
            reason = spec.lacking(layer)
        if reason is not None:
            raise CannotEdit(f"methods: {hyper.method} on {name}: {reason}")
