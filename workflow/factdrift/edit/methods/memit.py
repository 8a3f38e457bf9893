"""MEMIT (Meng et al., 2023, "Mass-Editing Memory in a Transformer"): least squares over several layers.

Comments name the equations of section 4 of the paper. `memit` makes each edit on the unedited model,
`together` makes one change for all facts. Two related methods differ only in `solve`: EMMET (arXiv
2403.14236) demands equality, AlphaEdit (arXiv 2410.02355) restricts the change to the null space of C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from factdrift.edit.methods.activations import look
from factdrift.edit.methods.contexts import Contexts, contexts_of, in_batches_of
from factdrift.edit.methods.hyperparameters import Hyper
from factdrift.edit.methods.interface import Artefacts, Edit, Edited
from factdrift.edit.methods.optimise import Optimised, optimise
from factdrift.edit.methods.refusals import check
from factdrift.edit.methods.results import collected
from factdrift.models.deltas import Deltas, LowRank, applied
from factdrift.models.loading import Loaded
from factdrift.models.moments import Moments


def memit(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A rank-one change of the down projection of each layer for each edit."""
    check(loaded.spec, hyper, loaded.name)

    def work(batch: Sequence[Contexts]) -> tuple[Deltas, Optimised]:
        values, found = _values(loaded, batch, hyper)
        alone = {one.place: number for number, one in enumerate(batch)}
        return _spread(loaded, batch, hyper, artefacts, values, alone), found

    contexts, failed = contexts_of(loaded, edits, hyper, artefacts)
    results = in_batches_of(loaded, contexts, work)
    ranks = {loaded.spec.module(layer, loaded.spec.down): 1 for layer in hyper["layers"]}
    return collected(loaded, len(edits), contexts, results, failed, ranks)


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change of each layer that writes all facts: one edit in `deltas`, of rank <= facts."""
    check(loaded.spec, hyper, loaded.name)
    contexts, failed = contexts_of(loaded, edits, hyper, artefacts)
    results = in_batches_of(loaded, contexts, lambda batch: _values(loaded, batch, hyper))
    if not results:
        return Edited(failed=failed, owner=[-1] * len(edits))
    values = torch.cat([value for value, _ in results])
    finite = values.isfinite().all(1)
    kept = [one for one, fine in zip(contexts, finite.tolist(), strict=True) if fine]
    diverged = {one.place for one in contexts} - {one.place for one in kept}
    shared = {one.place: 0 for one in kept}
    deltas = _spread(loaded, kept, hyper, artefacts, values[finite], shared) if kept else {}
    failed |= dict.fromkeys(diverged, "diverged")
    owner = [-1 if place in failed else 0 for place in range(len(edits))]
    return Edited(deltas, failed=failed, owner=owner)


def _values(loaded: Loaded, contexts: Sequence[Contexts], hyper: Hyper) -> tuple[Tensor, Optimised]:
    """z [E, hidden], eq. 16: the hidden state after the last edited layer for which the target is likely."""
    last = hyper["layers"][-1]
    block = loaded.spec.module(last, "")
    start = look(loaded, contexts, block, block)[1][:, 0]
    found = optimise(loaded, contexts, hyper, last, start, at="block")
    return start + found.change, found


def _spread(
    loaded: Loaded,
    contexts: Sequence[Contexts],
    hyper: Hyper,
    artefacts: Artefacts,
    values: Tensor,
    groups: Mapping[int, int],
) -> Deltas:
    """The changes of the layers in turn (algorithm 1), each computed with the lower layers already changed.

    `groups`: index of an edit -> number of the change that it shares; 0 for all, or one number each.
    """
    spec, layers = loaded.spec, hyper["layers"]
    kind = loaded.change_dtype
    deltas: Deltas = {}
    for place, layer in enumerate(layers):
        down = spec.module(layer, spec.down)

        def work(batch: Sequence[Contexts], down: str = down) -> tuple[Tensor, Tensor]:
            owner = torch.tensor([groups[one.place] for one in batch], device=loaded.device)
            with applied(loaded.model, deltas, owner.repeat_interleave(len(batch[0].prompts))):
                return look(loaded, batch, down, spec.module(layers[-1], ""))

        # Keys of this layer, and hidden states after the last layer, with the lower layers changed.
        looked = in_batches_of(loaded, contexts, work)
        keys = torch.cat([entering for entering, _ in looked])
        state = torch.cat([leaving for _, leaving in looked])[:, 0]
        # Eq. 19: the mean over two kinds of context, the bare prompt and the prefixed ones.
        key = (keys[:, 0] + keys[:, 1:].mean(1)) / 2 if keys.shape[1] > 1 else keys[:, 0]
        # Eq. 20: the remaining difference, in equal parts over the remaining layers. Granite multiplies what
        # it adds to the residual stream, so that the matrix must give the difference divided by the factor.
        residual = (values - state) / (len(layers) - place) / spec.residual_factor
        moments = artefacts.moments[layer] if hyper["covariance"] else None
        number = max(groups.values()) + 1
        key, residual = (value.reshape(number, -1, value.shape[1]) for value in (key, residual))
        read, write = solve(key, residual, hyper, moments)
        deltas[down] = LowRank(read.transpose(1, 2).to(kind), write.transpose(1, 2).to(kind))
    return deltas


def solve(keys: Tensor, residuals: Tensor, hyper: Hyper, moments: Moments | None) -> tuple[Tensor, Tensor]:
    """Factors of the change that moves the outputs for `keys` by `residuals`; both [groups, facts, width].

    Eq. 14: Delta = R K^T (lambda C + K K^T)^-1, where K has one column for each fact. By Woodbury's identity
    (Sherman-Morrison for one fact) this is R (lambda I + K^T C^-1 K)^-1 (C^-1 K)^T, which needs one
    factorisation of C for all edits, and for each group a system of the number of its facts. EMMET is the
    case lambda = 0. AlphaEdit replaces C^-1 by the projection P on the null space of C, and lambda by its L2.
    Returns read and write, [groups, facts, width] in float64, with Delta = write^T read.
    """
    keys = keys.double()
    weight = {
        "least_squares": hyper["moment_weight"],
        "constrained": 0,
        "null_space": hyper["null_space_l2"],
    }[hyper["solve"]]
    if moments is None:
        weighed = keys
    elif hyper["solve"] == "null_space":
        values, vectors = moments.eigen
        null = vectors[:, values < hyper["null_space_below"]]
        weighed = keys @ null @ null.T
    else:
        weighed = moments.solve(keys.flatten(0, 1)).reshape(keys.shape)
    gram = keys @ weighed.transpose(1, 2)
    gram = gram + weight * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    return torch.linalg.solve(gram, weighed), residuals.double()
