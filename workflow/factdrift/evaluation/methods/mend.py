"""MEND (Mitchell et al., 2022, arXiv 2110.11309): a trained network makes one gradient into an edit.

The gradient of a loss by a matrix W is the sum over tokens of delta u^T, where u is the input of W and delta
is dL/d(output). A small network maps (u, delta) to (u~, delta~), and the change of W is the sum of
delta~ u~^T. Equation numbers refer to the paper; statistics and learned rates follow its code.
`mend_training.py` trains the networks, or imports them. Imports torch.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.record import instead, refusal
from factdrift.evaluation.methods.shared import Factors, Statistics, aligned, changes_of_all, gradients
from factdrift.models.deltas import LowRank, matrix
from factdrift.models.loaded import Loaded
from factdrift.models.moments import write_tensors

Shape = tuple[int, int]
"""(d_in, d_out) of a matrix."""

LAYERS = 2


def mend(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of all MLP matrices of the last blocks, made by the trained editor `artefacts.editor`."""
    net = artefacts.editor
    assert isinstance(net, HyperNet)
    sentences, failed = aligned(loaded, edits)
    if not sentences:
        return Edited(failed=failed)
    indices = list(sentences)
    own_losses, factors = gradients(loaded, net.matrices, list(sentences.values()))
    with torch.no_grad():
        deltas, diverged = changes_of_all(net(factors), indices, len(edits))
    losses = torch.zeros(len(edits), dtype=own_losses.dtype, device=loaded.device)
    losses[indices] = own_losses
    diverged |= dict.fromkeys((~losses.isfinite()).nonzero()[:, 0].tolist(), "diverged")
    return Edited(deltas, failed=diverged | failed, losses=losses)


def edited_matrices(loaded: Loaded, blocks: int) -> dict[str, Shape]:
    """Full names of the MLP matrices of the last `blocks` blocks, with their shapes (section 3.1).

    In mixtures of experts they are those of the shared expert. Raises CannotEdit if a block has none.
    """
    spec = loaded.spec
    layers = range(max(spec.layers - blocks, 0), spec.layers)
    for layer in layers:
        reason = refusal(spec, "mend", layer)
        if reason is not None:
            raise CannotEdit(f"methods: mend on {loaded.name}: {reason}; {instead(spec, layer, 'mend')}")
    names = [spec.module(layer, part) for layer in layers for part in spec.mlp_matrices]
    shapes = {name: matrix(loaded.model, name).shape for name in names}
    return {name: (into, out) for name, (out, into) in shapes.items()}


class Residual(nn.Module):
    """One layer: z + max(0, s * (U V z + b) + o), with scale s and shift o of the matrix (eq. 3a, 3b)."""

    def __init__(self, width: int, rank: int, matrices: int):
        super().__init__()
        rank = min(rank, width)
        # With U = 0 the layer is the identity.
        self.u = nn.Parameter(torch.zeros(width, rank))
        self.v = nn.Parameter(torch.randn(rank, width))
        self.bias = nn.Parameter(torch.zeros(width))
        self.scale = nn.Parameter(torch.ones(matrices, width))
        self.shift = nn.Parameter(torch.zeros(matrices, width))

    def forward(self, z: Tensor, place: int) -> Tensor:
        inner = z @ self.v.T @ self.u.T + self.bias
        # Not relu: its gradient at 0, the initial value, is 0.
        return z + (self.scale[place] * inner + self.shift[place]).clamp(min=0)


class Editor(nn.Module):
    """The network of the matrices of one shape."""

    def __init__(self, shape: Shape, rank: int, matrices: int):
        super().__init__()
        self.shape = shape
        self.entering, self.leaving = (Statistics(width) for width in shape)
        self.layers = nn.ModuleList([Residual(sum(shape), rank, matrices) for _ in range(LAYERS)])

    def forward(self, u: Tensor, delta: Tensor, place: int) -> Factors:
        """(u~, delta~) for u [tokens, d_in] and delta [tokens, d_out].

        `place`: index of the matrix among those of its shape.
        """
        z = torch.cat([self.entering(u), self.leaving(delta)], 1)
        for layer in self.layers:
            z = layer(z, place)
        into, out = z[:, : self.shape[0]], z[:, self.shape[0] :]
        return into, out


class HyperNet(nn.Module):
    """The networks of all edited matrices, and a learned rate for each matrix."""

    def __init__(self, matrices: Mapping[str, Shape], rank: int, rate: float):
        super().__init__()
        self.matrices, self.rank = dict(matrices), rank
        by_shape: dict[Shape, list[str]] = defaultdict(list)
        for name, shape in matrices.items():
            by_shape[shape].append(name)
        self.place = {name: index for names in by_shape.values() for index, name in enumerate(names)}
        self.editors = nn.ModuleDict(
            {"{}x{}".format(*shape): Editor(shape, rank, len(names)) for shape, names in by_shape.items()}
        )
        self.rates = nn.Parameter(torch.full((len(matrices),), rate))

    def see(self, factors: Mapping[str, Factors]) -> None:
        """Adds the tokens of a batch to the statistics; only in training."""
        for name, (u, delta) in factors.items():
            editor, real = self._editor(name), _real(u, delta)
            editor.entering.see(u[real])
            editor.leaving.see(delta[real])

    def forward(self, factors: Mapping[str, Factors]) -> dict[str, LowRank]:
        """The change of each matrix by each edit: rate * sum over tokens of delta~ u~^T.

        Tokens without gradient contribute nothing, so the rank is at most the number of tokens with one.
        """
        changes: dict[str, LowRank] = {}
        for rate, name in zip(self.rates, self.matrices, strict=True):
            u, delta = factors[name]
            real = _real(u, delta)
            into, out = self._editor(name)(u[real], delta[real], self.place[name])
            read, write = torch.zeros_like(u), torch.zeros_like(delta)
            read = read.masked_scatter(real[:, :, None], into)
            write = write.masked_scatter(real[:, :, None], rate * out)
            changes[name] = LowRank(read.transpose(1, 2), write.transpose(1, 2))
        return changes

    def _editor(self, name: str) -> Editor:
        editor = self.editors["{}x{}".format(*self.matrices[name])]
        assert isinstance(editor, Editor)
        return editor

    def write(self, path: Path, about: Mapping[str, Any]) -> None:
        """Writes a safetensors file with `about` in its metadata."""
        # Pairs, since the keys of metadata are sorted, and learned rates are in the order of the matrices.
        description = {**about, "matrices": list(self.matrices.items()), "rank": self.rank}
        write_tensors(path, self.state_dict(), description)


def read_hypernet(tensors: Mapping[str, Tensor], about: Mapping[str, Any], loaded: Loaded) -> HyperNet:
    """The networks of a file of `HyperNet.write`, on the model's device (`editors.read_editor`)."""
    matrices = {name: (into, out) for name, (into, out) in about["matrices"]}
    net = HyperNet(matrices, about["rank"], 0.0)
    net.load_state_dict(tensors)
    return net.to(loaded.device).requires_grad_(False)


def hypernet_bytes(loaded: Loaded, hyper: Hyper) -> int:
    """Bytes of the networks of a model, by their shapes."""
    with torch.device("meta"):
        net = HyperNet(edited_matrices(loaded, hyper["blocks"]), hyper["rank"], 0.0)
    return sum(tensor.numel() * tensor.element_size() for tensor in net.state_dict().values())


def _real(u: Tensor, delta: Tensor) -> Tensor:
    """[edits, tokens]: True for tokens with a gradient."""
    return (u != 0).any(2) & (delta != 0).any(2)
