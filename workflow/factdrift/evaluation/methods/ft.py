"""FT and FT+L: the down projection of a block is trained on one fact (Zhu et al., 2020, arXiv 2012.00363).

In a mixture of experts that no one matrix serves, attention's output projection is trained in its place.

As in kmeng01/rome, `baselines/ft`, which the papers used: Adam on the weight, and on the bias where there is
one, until the loss is small or the steps are used up. FT+L also keeps every weight within `norm_constraint`
of its original value. Each edit has its own change of the weights, kept beside the model. Blocks below the
edited one are computed once.
"""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.targets import Targets, aligned
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import Deltas, Dense, matrix
from factdrift.models.fork import Fork
from factdrift.models.hooks import After, hooked
from factdrift.models.loaded import Loaded


def ft(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of the matrices `ModelSpec.trained` of `layers`; FT+L if `hyper` has a `norm_constraint`."""
    kind = loaded.change_dtype
    sentences, failed = aligned(loaded, edits)
    names = [loaded.spec.trained(layer) for layer in hyper["layers"]]
    _tell(loaded, hyper)
    edited = Edited(
        deltas={name: _zeros(loaded, name, len(edits), kind, hyper["bias"]) for name in names},
        failed=failed,
        steps=torch.zeros(len(edits), dtype=torch.long),
        losses=torch.full((len(edits),), torch.nan, dtype=kind),
    )
    if sentences:
        _train(loaded, sentences, hyper, edited, artefacts.before)
    for delta in edited.deltas.values():
        assert isinstance(delta, Dense)
        for part in (delta.weight, delta.bias):
            if part is not None:
                part[list(edited.failed)] = 0
    return edited


def _tell(loaded: Loaded, hyper: Hyper) -> None:
    """Warns of blocks of which another matrix than a down projection is trained."""
    spec = loaded.spec
    for layer in hyper["layers"]:
        if not spec.has_down(layer):
            warnings.warn(
                f"{hyper.method} on {loaded.name}: block {layer} is a mixture of experts without a down "
                f"projection that every token passes; {spec.trained(layer)} is trained instead",
                stacklevel=3,
            )


def _zeros(loaded: Loaded, name: str, edits: int, kind: torch.dtype, bias: bool) -> Dense:
    module = loaded.model.get_submodule(name)
    out, into = matrix(loaded.model, name).shape
    has_bias = bias and module.bias is not None
    return Dense(
        torch.zeros(edits, out, into, dtype=kind, device=loaded.device),
        torch.zeros(edits, out, dtype=kind, device=loaded.device) if has_bias else None,
    )


def _train(
    loaded: Loaded, sentences: dict[int, Sentence], hyper: Hyper, edited: Edited, before: Deltas
) -> None:
    """Trains the changes in `edited` in place, all edits in parallel, with the loop of the reference.

    `before`: the changes of earlier edits, which are part of the weights that are trained. As in the
    reference, the loss is computed before each step, so the loss after the last step is unknown. An edit
    whose loss is below `stop_loss` is finished and leaves the batch.
    """
    assert edited.steps is not None
    assert edited.losses is not None
    going = list(sentences)
    batch = _Batch(loaded, list(sentences.values()), hyper)
    trained = {place: _Trained(loaded, place, edited, hyper, before) for place in going}
    for _ in range(hyper["steps"]):
        losses, gradients = batch.gradients([trained[place] for place in going])
        edited.losses[going] = losses.to(edited.losses.device)
        # Waits for the device, which a step keeps busy for longer than the next one takes to be launched.
        known = losses.tolist()
        edited.failed |= {going[row]: "diverged" for row, loss in enumerate(known) if not math.isfinite(loss)}
        moving = [row for row, loss in enumerate(known) if hyper["stop_loss"] <= loss < math.inf]
        for row in moving:
            trained[going[row]].step({name: gradient[row] for name, gradient in gradients.items()})
            edited.steps[going[row]] += 1
        if len(moving) < len(going):
            batch.keep(torch.tensor(moving, dtype=torch.long, device=loaded.device))
            for place in set(going) - {going[row] for row in moving}:
                del trained[place]  # frees Adam's moments, two numbers a weight
            going = [going[row] for row in moving]
        if not going:
            break


@dataclass
class _Gradient:
    """dL/dW of one edit in factored form: dL/dW = given^T taken."""

    taken: Tensor
    """[tokens, d_in]: the input of the matrix."""
    given: Tensor
    """[tokens, d_out]: dL/d(output)."""


class _Trained:
    """The trained matrices of one edit, with their Adam optimiser.

    `precision: float32` trains the changes in float32, which equals training the weights except for rounding.
    `precision: weights` trains the weights and keeps Adam's moments in the type of the weights, as in the
    reference. In bfloat16, a weight then cannot move if its spacing is above twice `norm_constraint`.
    """

    def __init__(self, loaded: Loaded, place: int, edited: Edited, hyper: Hyper, before: Deltas):
        self.hyper = hyper
        rough = hyper["precision"] == "weights"
        self.changes: dict[str, list[Tensor]] = {}
        self.starts: dict[str, list[Tensor]] = {}
        self.values: dict[str, list[Tensor]] = {}
        for name, delta in edited.deltas.items():
            assert isinstance(delta, Dense)
            starts = [matrix(loaded.model, name).to(delta.weight.device)]
            earlier = before[name].dense(0) if name in before else ()
            changes = [delta.weight[place]]
            if delta.bias is not None:
                bias = loaded.model.get_submodule(name).bias
                starts.append(bias.detach().to(delta.bias.device))
                changes.append(delta.bias[place])
            for part, more in enumerate(earlier[: len(starts)]):
                if more is not None:
                    start = starts[part].to(more.dtype) + more
                    starts[part] = start.to(starts[part].dtype) if rough else start
            self.starts[name], self.changes[name] = starts, changes
            self.values[name] = [start.clone() for start in starts] if rough else changes
        parameters = [value for values in self.values.values() for value in values]
        # Adam works element by element, so edits in a batch take the same steps as alone.
        self.adam = torch.optim.Adam(parameters, lr=hyper["lr"], fused=hyper["precision"] == "float32")

    def change(self, name: str, taken: Tensor) -> Tensor:
        """Output [tokens, d_out] of the change of a matrix for its input `taken` [tokens, d_in]."""
        weight, *bias = self.changes[name]
        out = taken @ weight.T
        return out + bias[0] if bias else out

    @torch.no_grad()
    def step(self, gradients: dict[str, _Gradient]) -> None:
        for name, gradient in gradients.items():
            by_value = [gradient.given.T @ gradient.taken, gradient.given.sum(0)]
            for start, change, value, slope in zip(
                self.starts[name], self.changes[name], self.values[name], by_value, strict=False
            ):
                if self.hyper["weight_decay"]:
                    slope += self.hyper["weight_decay"] * (start.to(change.dtype) + change)
                value.grad = slope.to(value.dtype)
        self.adam.step()
        self.adam.zero_grad()
        bound = self.hyper.get("norm_constraint")
        for name, values in self.values.items():
            for start, change, value in zip(self.starts[name], self.changes[name], values, strict=True):
                if value is change:
                    if bound is not None:
                        value.clamp_(-bound, bound)
                    continue
                if bound is not None:
                    value.clamp_(start - bound, start + bound)
                change.copy_(value.to(change.dtype) - start.to(change.dtype))


class _Batch:
    """The sentences of several edits, run from the lowest edited block upwards."""

    def __init__(self, loaded: Loaded, sentences: Sequence[Sentence], hyper: Hyper):
        self.loaded = loaded
        # `prompt_last`: the last prompt token predicts all tokens of the target, as in the reference.
        self.targets = Targets(loaded, sentences, at_prompt_end=hyper["loss"] == "prompt_last")
        self.fork = Fork(loaded, self.targets.rows, [0] * len(sentences), min(hyper["layers"]))

    def gradients(self, trained: Sequence[_Trained]) -> tuple[Tensor, dict[str, list[_Gradient]]]:
        """The losses [edits], and for each matrix the gradient of each edit."""
        taken: dict[str, Tensor] = {}
        zeros: dict[str, Tensor] = {}

        def adding(name: str) -> After:
            def add(into: Tensor, given: Tensor) -> Tensor:
                kind = trained[0].changes[name][0].dtype
                entered = into.to(kind)
                change = torch.stack(
                    [one.change(name, row) for one, row in zip(trained, entered, strict=True)]
                )
                # A zero tensor added to the output: its gradient is dL/d(output).
                zero = torch.zeros_like(change, requires_grad=True)
                taken[name], zeros[name] = entered.detach(), zero
                return (given.to(kind) + change + zero).to(given.dtype)

            return add

        with hooked(self.loaded.model, {name: adding(name) for name in trained[0].changes}):
            losses = self.targets.losses(self.fork.run(self.fork.hidden))
        found = torch.autograd.grad(losses.sum(), list(zeros.values()))
        given = dict(zip(zeros, found, strict=True))
        return losses.detach(), {
            name: [_Gradient(*pair) for pair in zip(taken[name], given[name], strict=True)] for name in taken
        }

    def keep(self, rows: Tensor) -> None:
        if len(rows):
            self.targets.keep(rows)
            self.fork.keep(rows)
