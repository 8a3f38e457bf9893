"""Collects the results of the batches of a method, in the order of the edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from factdrift.edit.methods.contexts import Contexts
from factdrift.edit.methods.interface import Edited
from factdrift.edit.methods.optimise import Optimised
from factdrift.models.deltas import Deltas, LowRank
from factdrift.models.families import shape_of
from factdrift.models.loading import Loaded


def collected(
    loaded: Loaded,
    edits: int,
    contexts: Sequence[Contexts],
    results: Sequence[tuple[Deltas, Optimised]],
    failed: dict[int, str],
    ranks: Mapping[str, int],
) -> Edited:
    """The changes of all edits; zero for those that failed or whose changes are not finite.

    `edits`: their number. `contexts`: in the order of the results. `ranks`: module -> rank of its changes.
    """
    kind = loaded.change_dtype
    places = torch.tensor([one.place for one in contexts], dtype=torch.long, device=loaded.device)
    finite = torch.ones(len(contexts), dtype=torch.bool, device=loaded.device)
    deltas: Deltas = {}
    for name, rank in ranks.items():
        factors = []
        for width, side in zip(reversed(shape_of(loaded.model.get_submodule(name))), (0, 1), strict=True):
            whole = torch.zeros(edits, width, rank, dtype=kind, device=loaded.device)
            if results:
                part = torch.cat([_factor(found[name], side) for found, _ in results])
                finite &= part.isfinite().all(2).all(1)
                whole[places] = part
            factors.append(whole)
        deltas[name] = LowRank(*factors)
    steps = torch.zeros(edits, dtype=torch.long, device=loaded.device)
    losses = torch.full((edits,), torch.nan, dtype=kind, device=loaded.device)
    if results:
        steps[places] = torch.cat([found.steps for _, found in results])
        losses[places] = torch.cat([found.losses for _, found in results])
    diverged = places[~finite].tolist()
    for delta in deltas.values():
        for factor in (_factor(delta, 0), _factor(delta, 1)):
            factor[diverged] = 0
    return Edited(deltas, failed=failed | dict.fromkeys(diverged, "diverged"), steps=steps, losses=losses)


def _factor(delta: object, side: int) -> torch.Tensor:
    assert isinstance(delta, LowRank)
    return (delta.read, delta.write)[side]
