"""ROME (Meng et al., 2022, "Locating and Editing Factual Associations in GPT"): one rank-one change per fact.

Comments name the equations of section 3.1 of the paper. The MLP of one layer is treated as an associative
memory W k = v, where k* is the key of the subject and v* the value that makes the model say the new object.
Each edit is made on the unedited model; many edits share a batch.
"""

from collections.abc import Sequence

from factdrift.evaluation.methods.contexts import Contexts, contexts_of, in_batches_of, look
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.optimise import Optimised, collected, optimise
from factdrift.models.deltas import Deltas, LowRank
from factdrift.models.loaded import Loaded


def rome(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A rank-one change of the down projection of one layer for each edit."""
    layer = hyper["layer"]
    down = loaded.spec.module(layer, loaded.spec.down)
    moments = artefacts.moments[layer] if hyper["covariance"] else None

    def work(batch: Sequence[Contexts]) -> tuple[Deltas, Optimised]:
        keys, outputs = look(loaded, batch, down, down)

        # Step 1, eq. 3: k* is the mean key of the subject over the prefixes.
        mean_key = keys.mean(1)
        # u = C^-1 k*, of which Lambda (eq. 2) is a multiple; scaled to length one as in the reference.
        u = mean_key if moments is None else moments.solve(mean_key)
        u = u / u.norm(dim=1, keepdim=True)

        # Step 2, eq. 4: v* = argmin L(z), starting at the output of the MLP for the bare prompt.
        start = outputs[:, 0]
        found = optimise(loaded, batch, hyper, layer, start, at="mlp")
        value = start + found.change

        # Step 3, eq. 2: W' = W + Lambda (C^-1 k)^T, with Lambda = (v* - W k) / ((C^-1 k)^T k), so that
        # W' k = v*. The reference computes u from the mean key but takes k from the bare prompt; with
        # `keys: averaged` (r-ROME) both are the mean key.
        if hyper["keys"] == "reference":
            key, output = keys[:, 0], outputs[:, 0]
        else:
            key, output = mean_key, outputs.mean(1)
        right = (value - output) / (key * u).sum(1, keepdim=True)
        kind = found.change.dtype
        return {down: LowRank(u[:, :, None].to(kind), right[:, :, None].to(kind))}, found

    contexts, failed = contexts_of(loaded, edits, hyper, artefacts)
    results = in_batches_of(loaded, contexts, work)
    return collected(loaded, len(edits), contexts, results, failed, {down: 1})
