"""Merging: LoRA adapters that were each trained on the unedited model, as one change.

A weighted sum, or TIES (Yadav et al. 2023, arXiv 2306.01708, section 3) by peft's function, on whole changes
B A and not on the factors. docs/methods-beside.md tells how. Imports torch.
"""

from collections.abc import Sequence

import torch

from factdrift.evaluation.methods import lora
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
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
    """One change of each matrix; none without adapters.

    The weight of an adapter is `weight`, times `decay` for each one after it. A weighted sum has the factors
    of all adapters; TIES gives full matrices.
    """
    from peft.utils.merge_utils import ties

    merged_deltas: Deltas = {}
    weights = [hyper["weight"] * hyper["decay"] ** later for later in reversed(range(len(adapters)))]
    for name in adapters[0] if adapters else ():
        parts = [part for adapter in adapters if isinstance(part := adapter[name], LowRank)]  # all are
        if hyper["combination"] == "linear":
            write = [weight * part.write for weight, part in zip(weights, parts, strict=True)]
            merged_deltas[name] = LowRank(torch.cat([part.read for part in parts], 2), torch.cat(write, 2))
        else:
            changes = [part.dense(0)[0] for part in parts]
            merged_deltas[name] = Dense(ties(changes, changes[0].new_tensor(weights), hyper["density"])[None])
    return merged_deltas
