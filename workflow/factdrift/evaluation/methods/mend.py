"""MEND (Mitchell et al., 2022, arXiv 2110.11309): a trained network makes one gradient into an edit.

One forward and backward pass over "prompt target" runs for all edits at once. The editor networks
(`mend_editor.py`) map the factors of the gradient of each edited matrix to the factors of its change. They
are trained by `mend_training.py` or imported by `mend_published.py`. Imports torch.
"""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.mend_editor import Factors, HyperNet
from factdrift.evaluation.methods.targets import Targets, aligned
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import LowRank
from factdrift.models.fork import backbone
from factdrift.models.hooks import After, hooked
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded


def mend(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of all MLP matrices of the last blocks, made by the trained editor `artefacts.mend`."""
    net = artefacts.mend
    assert isinstance(net, HyperNet)
    sentences, failed = aligned(loaded, edits)
    edited = Edited(failed=failed)
    if not sentences:
        return edited
    losses, factors = gradients(loaded, net.matrices, list(sentences.values()))
    with torch.no_grad():
        made = net(factors)
    places = torch.tensor(list(sentences), device=loaded.device)
    fine = losses.isfinite()
    for change in made.values():
        fine &= change.read.isfinite().all((1, 2)) & change.write.isfinite().all((1, 2))
    edited.failed |= dict.fromkeys(places[~fine].tolist(), "diverged")
    edited.deltas = {
        name: LowRank(
            _spread(change.read[fine], places[fine], len(edits)),
            _spread(change.write[fine], places[fine], len(edits)),
        )
        for name, change in made.items()
    }
    edited.losses = torch.full((len(edits),), torch.nan, dtype=losses.dtype, device=loaded.device)
    edited.losses[places] = losses
    return edited


def gradients(
    loaded: Loaded, names: Iterable[str], sentences: Sequence[Sentence]
) -> tuple[Tensor, dict[str, Factors]]:
    """Losses -log p(target | prompt) [edits], and their gradients by each matrix in factors (section 3.1)."""
    kind = loaded.change_dtype
    entering: dict[str, Tensor] = {}
    zeros: dict[str, Tensor] = {}

    def keeping(name: str) -> After:
        def keep(taken: Tensor, given: Tensor) -> Tensor:
            # A zero tensor added to the output: its gradient is dL/d(output).
            zero = torch.zeros_like(given, requires_grad=True)
            entering[name], zeros[name] = taken.detach().to(kind), zero
            return given + zero

        return keep

    targets = Targets(loaded, sentences)
    with torch.enable_grad(), hooked(loaded.model, {name: keeping(name) for name in names}):
        losses = targets.losses(final_hidden(loaded, targets.rows))
        # The gradient of the sum is that of each loss, since rows are independent.
        found = torch.autograd.grad(losses.sum(), list(zeros.values()))
    leaving = dict(zip(zeros, found, strict=True))
    return losses.detach(), {name: (entering[name], leaving[name].to(kind)) for name in entering}


def final_hidden(loaded: Loaded, rows: Sequence[Sequence[int]]) -> Tensor:
    """The output of the final normalisation, [rows, longest, hidden]; padded after the end of a row."""
    hidden: Tensor = backbone(loaded)(padded(rows, loaded.device), use_cache=False)[0]
    return hidden.to(loaded.device)


def _spread(factor: Tensor, places: Tensor, edits: int) -> Tensor:
    """Factors of all `edits`, [edits, ...]: `factor` at the indices `places`, zero elsewhere."""
    return factor.new_zeros(edits, *factor.shape[1:]).index_copy(0, places, factor)
