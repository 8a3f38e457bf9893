"""Merging: LoRA adapters that were each trained on the unedited model, as one change.

A weighted sum, TIES (Yadav et al. 2023, arXiv 2306.01708, section 3) or DARE (Yu et al. 2024, arXiv
2311.03099, section 3.2): peft's functions, on whole changes B A and not on the factors.
docs/methods-beside.md tells how. Imports torch.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from factdrift.evaluation.methods import lora
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.shared import generator
from factdrift.models.deltas import Deltas, Dense, LowRank
from factdrift.models.loaded import Loaded


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """The merge of all adapters so far: `turn` edits make one, or all edits if that is 0.

    `memory`: the adapters, in the order of their training.
    """
    size = hyper["turn"] or max(len(edits), 1)
    starts = range(0, len(edits), size)
    made = [lora.together(loaded, edits[start : start + size], hyper, Artefacts()) for start in starts]
    adapters: list[Deltas] = [*(artefacts.memory or ()), *(result.deltas for result in made if result.deltas)]
    return Edited(
        merged(adapters, hyper),
        failed={
            start + index: reason
            for start, result in zip(starts, made, strict=True)
            for index, reason in result.failed.items()
        },
        steps=torch.cat([result.steps for result in made if result.steps is not None]),
        losses=torch.cat([result.losses for result in made if result.losses is not None]),
        memory=adapters,
    )


def merged(adapters: Sequence[Deltas], hyper: Hyper) -> Deltas:
    """One change of each matrix, with the weights of `weights_of`; none without adapters.

    A weighted sum has the factors of all adapters. The other combinations are full matrices.
    """
    merged_deltas: Deltas = {}
    weights = weights_of(len(adapters), hyper)
    for name in adapters[0] if adapters else ():
        parts = [part for adapter in adapters if isinstance(part := adapter[name], LowRank)]  # all are
        if hyper["combination"] == "linear":
            write = [weight * part.write for weight, part in zip(weights, parts, strict=True)]
            merged_deltas[name] = LowRank(torch.cat([part.read for part in parts], 2), torch.cat(write, 2))
        else:
            whole = _combined([part.dense(0)[0] for part in parts], weights, name, hyper)
            merged_deltas[name] = Dense(whole[None])
    return merged_deltas


def weights_of(count: int, hyper: Hyper) -> list[float]:
    """The weight of each adapter: `weight`, times `decay` for each one after it; divided by their number with
    `mean`."""
    share = hyper["weight"] / (count if hyper["mean"] and count else 1)
    return [share * hyper["decay"] ** later for later in reversed(range(count))]


def _combined(changes: Sequence[Tensor], weights: Sequence[float], name: str, hyper: Hyper) -> Tensor:
    """The combination [d_out, d_in] of the changes of one matrix.

    The entries that DARE keeps of an adapter depend on the seed, the matrix and the adapter's place only.
    """
    from peft.utils import merge_utils

    function: Any = getattr(merge_utils, hyper["combination"])
    first = changes[0]
    devices = [first.device] if first.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(generator(f"{hyper['seed']}/{name}").initial_seed())
        combined: Tensor = function(list(changes), first.new_tensor(weights), hyper["density"])
    return combined
