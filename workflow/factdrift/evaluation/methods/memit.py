"""ROME and MEMIT, which write a value for the key of a subject into down projections, and two relatives.

ROME (Meng et al., 2022, "Locating and Editing Factual Associations in GPT") changes one layer, MEMIT (Meng et
al., 2023, "Mass-Editing Memory in a Transformer") several. EMMET (arXiv 2403.14236) and AlphaEdit (arXiv
2410.02355) differ from MEMIT in the solve only. `rome` and `memit` make each edit on the unedited model, many
in a batch; `together` makes one change for all facts. Comments name the equations of section 3.1 of ROME's
paper, and of section 4 of MEMIT's.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods import optimise
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.models.deltas import LowRank, applied
from factdrift.models.loaded import Loaded
from factdrift.models.moments import Moments


def rome(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A rank-one change of the down projection of one layer for each edit."""
    layer = hyper["layer"]
    down = loaded.spec.module(layer, loaded.spec.down)
    moments = artefacts.moments[layer] if hyper["covariance"] else None

    def work(batch: Sequence[optimise.Contexts]) -> tuple[dict[str, LowRank], optimise.Optimised]:
        # Step 2, eq. 4: v* = argmin L(z), starting at the output of the MLP for the bare prompt.
        search = optimise.optimise(loaded, batch, hyper, layer, at="mlp")
        keys, outputs = search.keys, search.outputs
        assert keys is not None
        value = outputs[:, 0] + search.change

        # Step 1, eq. 3: k* is the mean key of the subject over the prefixes.
        mean_key = keys.mean(1)
        # u = C^-1 k*, of which Lambda (eq. 2) is a multiple; scaled to length one as in the reference.
        u = mean_key if moments is None else moments.solve(mean_key)
        u = u / u.norm(dim=1, keepdim=True)

        # Step 3, eq. 2: W' = W + Lambda (C^-1 k)^T, with Lambda = (v* - W k) / ((C^-1 k)^T k), so that
        # W' k = v*. The reference computes u from the mean key but takes k from the bare prompt; with
        # `keys: averaged` (r-ROME) both are the mean key.
        if hyper["keys"] == "reference":
            key, output = keys[:, 0], outputs[:, 0]
        else:
            key, output = mean_key, outputs.mean(1)
        right = (value - output) / (key * u).sum(1, keepdim=True)
        kind = search.change.dtype
        return {down: LowRank(u[:, :, None].to(kind), right[:, :, None].to(kind))}, search

    return optimise.each_alone(loaded, edits, hyper, artefacts, work)


def memit(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A rank-one change of the down projection of each layer for each edit."""

    def work(batch: Sequence[optimise.Contexts]) -> tuple[dict[str, LowRank], optimise.Optimised]:
        values, found = _values(loaded, batch, hyper)
        alone = {context.index: number for number, context in enumerate(batch)}
        return _spread(loaded, batch, hyper, artefacts, values, alone)[0], found

    return optimise.each_alone(loaded, edits, hyper, artefacts, work)


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change of each layer that writes all facts: one edit in `deltas`, of rank <= facts."""
    contexts, failed = optimise.contexts_of(loaded, edits, hyper, artefacts)
    results = optimise.in_batches_of(loaded, contexts, lambda batch: _values(loaded, batch, hyper)[0])
    values = zip(contexts, (value for batch in results for value in batch), strict=True)
    kept = [(context, value) for context, value in values if value.isfinite().all()]
    shared = {context.index: 0 for context, _ in kept}
    failed |= {context.index: "diverged" for context in contexts if context.index not in shared}
    if not kept:
        return Edited(failed=failed)
    wanted = torch.stack([value for _, value in kept])
    deltas, memory = _spread(loaded, [context for context, _ in kept], hyper, artefacts, wanted, shared)
    return Edited({**deltas}, failed=failed, memory=memory)


def _values(
    loaded: Loaded, contexts: Sequence[optimise.Contexts], hyper: Hyper
) -> tuple[Tensor, optimise.Optimised]:
    """z [E, hidden], eq. 16: the hidden state after the last edited layer for which the target is likely."""
    search = optimise.optimise(loaded, contexts, hyper, hyper["layers"][-1], at="block")
    return search.outputs[:, 0] + search.change, search


def _spread(
    loaded: Loaded,
    contexts: Sequence[optimise.Contexts],
    hyper: Hyper,
    artefacts: Artefacts,
    values: Tensor,
    groups: Mapping[int, int],
) -> tuple[dict[str, LowRank], dict[int, Tensor]]:
    """The changes of the layers in turn (algorithm 1), each computed with the lower layers already changed.

    `groups`: index of an edit -> number of the change that it shares; 0 for all, or one number each.
    Returns, too, layer -> keys of these edits and of those in the memory, [edits, width].
    """
    spec, layers = loaded.spec, hyper["layers"]
    kind = loaded.change_dtype
    deltas: dict[str, LowRank] = {}
    memory: dict[int, Tensor] = {}
    for index, layer in enumerate(layers):
        down = spec.module(layer, spec.down)

        def work(batch: Sequence[optimise.Contexts], down: str = down) -> tuple[Tensor, Tensor]:
            owner = torch.tensor([groups[row.index] for row in batch], device=loaded.device)
            with applied(loaded.model, deltas, owner.repeat_interleave(len(batch[0].prompts))):
                return optimise.hidden_states(loaded, batch, down, spec.module(layers[-1], ""))

        # Keys of this layer, and hidden states after the last layer, with the lower layers changed.
        looked = optimise.in_batches_of(loaded, contexts, work)
        keys = torch.cat([entering for entering, _ in looked])
        state = torch.cat([leaving for _, leaving in looked])[:, 0]
        # Eq. 19: the mean over two kinds of context, the bare prompt and the prefixed ones.
        key = (keys[:, 0] + keys[:, 1:].mean(1)) / 2 if keys.shape[1] > 1 else keys[:, 0]
        # Eq. 20: the remaining difference, in equal parts over the remaining layers. Granite multiplies what
        # it adds to the residual stream, so that the matrix must give the difference divided by the factor.
        residual = (values - state) / (len(layers) - index) / spec.residual_factor
        moments = artefacts.moments[layer] if hyper["covariance"] else None
        earlier = artefacts.memory[layer] if artefacts.memory else key[:0]
        memory[layer] = shortened(torch.cat([earlier, key]))
        number = max(groups.values()) + 1
        key, residual = (value.reshape(number, -1, value.shape[1]) for value in (key, residual))
        read, write = solve(key, residual, hyper, moments, earlier)
        deltas[down] = LowRank(read.transpose(1, 2).to(kind), write.transpose(1, 2).to(kind))
    return deltas, memory


def shortened(keys: Tensor) -> Tensor:
    """At most `width` rows with the K^T K of keys [edits, width], which is all that a memory is used for.

    These are the rows of R, if K = Q R. So the memory of a long sequence of edits does not grow.
    """
    if len(keys) <= keys.shape[1]:
        return keys
    short: Tensor = torch.linalg.qr(keys.double(), mode="r")[1]
    return short.to(keys.dtype)


def solve(
    keys: Tensor, residuals: Tensor, hyper: Hyper, moments: Moments | None, earlier: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Factors of the change that moves the outputs for `keys` by `residuals`; both [groups, facts, width].

    Eq. 14: Delta = R K^T (lambda C + K K^T)^-1, where K has one column for each fact. By Woodbury's identity
    (Sherman-Morrison for one fact) this is R (lambda I + K^T C^-1 K)^-1 (C^-1 K)^T, which needs one
    factorisation of C for all edits, and for each group a system of the number of its facts. EMMET is the
    limit lambda -> 0, which has the pseudo-inverse: facts with one key, such as those of one subject with
    which their prompts begin, cannot all be met, and each gets the mean of what they ask for.

    AlphaEdit has the projection P on the null space of C in the place of C^-1, L2 in that of lambda, and the
    keys K_p of earlier edits, `earlier` [earlier edits, width], for which the change shall give 0:
    Delta = R K^T P (K_p K_p^T P + K K^T P + L2 I)^-1 (its eq. 14). So these are further facts whose residual
    is 0, and only the factors of the others remain. Raises CannotEdit if there is no null space.
    Returns read and write, [groups, facts, width] in float64, with Delta = write^T read.
    """
    facts, keys = keys.shape[1], keys.double()
    if earlier is not None:
        keys = torch.cat([earlier.double().expand(len(keys), -1, -1), keys], 1)
    # AlphaEdit has no switch `solve`.
    how = hyper.get("solve", "null_space")
    weight = {"least_squares": "moment_weight", "null_space": "l2"}.get(how)
    if moments is None:
        weighed = keys
    elif how == "null_space":
        # P = N N^T, with the eigenvectors of C whose eigenvalues count as zero as columns of N.
        values, vectors = moments.eigen
        null = vectors[:, : int((values < hyper["null_space_below"]).sum())]
        if not null.shape[1]:
            raise CannotEdit(
                f"{hyper.method}.null_space_below: no eigenvalue of the second moments of block "
                f"{moments.layer} is below {hyper['null_space_below']:g}, the least is "
                f"{values[0].item():.3g}; give a larger bound"
            )
        weighed = keys @ null @ null.T
    else:
        weighed = moments.solve(keys.flatten(0, 1)).reshape(keys.shape)
    gram = keys @ weighed.transpose(1, 2)
    if weight is None:
        # Keys come from a model that rounds to float32 or coarser; what differs less is one key.
        inverse = torch.linalg.pinv(gram, rtol=torch.finfo(torch.float32).eps, hermitian=True)
        return (inverse @ weighed)[:, -facts:], residuals.double()
    gram = gram + hyper[weight] * torch.eye(gram.shape[1], dtype=gram.dtype, device=gram.device)
    return torch.linalg.solve(gram, weighed)[:, -facts:], residuals.double()
