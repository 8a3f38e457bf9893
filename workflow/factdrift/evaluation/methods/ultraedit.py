"""UltraEdit (Gu et al., 2025, arXiv 2505.14679): changes by a closed form on keys and gradients, no search.

Every target token gives, in each edited matrix, its input h and the gradient of the loss by its output. Both
are normalised by mean and deviation over all edits so far (lifelong normalisation), and the change is the
ridge regression that maps h to -lr |h^|^2 g^, where h^ and g^ are the normalised ones. Statistics are shared
by the matrices of one shape, as in the released code. Imports torch.
"""

import copy
from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.shared import Factors, Statistics, aligned, gradients, mlp_matrix
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import Deltas, LowRank
from factdrift.models.loaded import Loaded

EPSILON = torch.finfo(torch.float32).eps
"""Added to deviations, as in the released code."""
Memory = dict[tuple[int, int], tuple[Statistics, Statistics]]
"""(d_in, d_out) of matrices -> statistics of their inputs, and of the gradients by their outputs."""


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change of each matrix that writes all facts: one edit in `deltas`, of rank <= target tokens.

    The statistics in `artefacts.memory` are those of earlier edits; those with these edits are returned.
    """
    names = edited_matrices(loaded, hyper)
    sentences, failed = aligned(loaded, edits)
    indices, losses, tokens = _tokens(loaded, names, sentences, hyper["batch"])
    lost = {index for index, loss in losses.items() if not loss.isfinite()}
    for factors in tokens.values():
        for values in factors:
            lost |= {*indices[~values.isfinite().all(1)].tolist()}
    failed |= dict.fromkeys(sorted(lost), "diverged")
    if len(failed) == len(edits):
        return Edited(failed=failed)
    kept = torch.tensor([index not in lost for index in indices.tolist()], device=loaded.device)
    tokens = {name: (keys[kept], grads[kept]) for name, (keys, grads) in tokens.items()}
    # Statistics first see the tokens of all matrices; then each is normalised.
    memory: Memory = copy.deepcopy(artefacts.memory or {})
    for keys, grads in tokens.values():
        shape = (keys.shape[1], grads.shape[1])
        if shape not in memory:
            into, out = (Statistics(width, EPSILON, hyper["variance"] == "released") for width in shape)
            memory[shape] = (into.to(keys), out.to(grads))
        for statistics, values in zip(memory[shape], (keys, grads), strict=True):
            statistics.see(values)
    deltas: Deltas = {}
    finite = True
    for name, (keys, grads) in tokens.items():
        hidden, gradient = memory[keys.shape[1], grads.shape[1]]
        values = -hyper["lr"] * (hidden(keys) ** 2).sum(1, keepdim=True) * gradient(grads)
        # |H X - V|^2 + ridge |X|^2, with the rows of H the keys, is least for X = (H^T H + ridge I)^-1 H^T V
        # = H^T (H H^T + ridge I)^-1 V, a system of the number of tokens. The change is X^T = write read^T.
        inputs = keys.double()
        gram = inputs @ inputs.T
        gram = gram + hyper["ridge"] * torch.eye(len(gram), dtype=gram.dtype, device=gram.device)
        factors = torch.linalg.solve(gram, inputs), values.double()
        read, write = (factor.T[None].to(loaded.change_dtype) for factor in factors)
        finite &= bool(write.isfinite().all())
        deltas[name] = LowRank(read, write)
    if not finite:
        failed |= dict.fromkeys(range(len(edits)), "diverged")
        return Edited(failed=failed, memory=artefacts.memory)
    return Edited(deltas, failed=failed, memory=memory)


def edited_matrices(loaded: Loaded, hyper: Hyper) -> list[str]:
    """Full names of the down projections of `layers`, and of the matrices that `others` names.

    Raises InputError if there is none, or the model does not have one of them.
    """
    spec = loaded.spec
    names = [spec.module(layer, spec.down) for layer in hyper["layers"]]
    for other, layers in hyper["others"].items():
        part = mlp_matrix(loaded, f"{hyper.method}.others", other)
        for layer in layers:
            if layer >= spec.layers:
                raise InputError(
                    f"{hyper.method}.others: {loaded.name} has no block {layer}, but blocks 0 to "
                    f"{spec.layers - 1}"
                )
            names.append(spec.module(layer, part))
    if not names:
        raise InputError(f"{hyper.method}: neither `layers` nor `others` names a matrix of {loaded.name}")
    return list(dict.fromkeys(names))


def _tokens(
    loaded: Loaded, names: Sequence[str], sentences: dict[int, Sentence], batch: int
) -> tuple[Tensor, dict[int, Tensor], dict[str, Factors]]:
    """The edit of each target token [tokens], edit -> loss, and matrix -> (h, gradient), [tokens, width].

    The loss is the mean over the target tokens of `batch` edits, longest first, as in the released code. So
    all tokens of a batch weigh the same.
    """
    order = sorted(sentences, key=lambda place: -len(sentences[place].ids))
    losses: dict[int, Tensor] = {}
    indices: list[int] = []
    parts: dict[str, list[Factors]] = {name: [] for name in names}
    for start in range(0, len(order), batch):
        some = order[start : start + batch]
        rows = [sentences[place] for place in some]
        counts = [len(row.ids) - row.target for row in rows]
        found, factors = gradients(loaded, names, rows)
        losses |= dict(zip(some, found, strict=True))
        for row, (place, sentence) in enumerate(zip(some, rows, strict=True)):
            indices += [place] * counts[row]
            # Each token is predicted at the one before it.
            at = slice(sentence.target - 1, len(sentence.ids) - 1)
            weight = counts[row] / sum(counts)
            for name, (entering, leaving) in factors.items():
                parts[name].append((entering[row, at], leaving[row, at] * weight))
    tokens = {
        name: (torch.cat([keys for keys, _ in pairs]), torch.cat([grads for _, grads in pairs]))
        for name, pairs in parts.items()
        if pairs
    }
    return torch.tensor(indices, dtype=torch.long, device=loaded.device), losses, tokens
