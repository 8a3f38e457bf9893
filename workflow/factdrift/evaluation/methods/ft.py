"""FT and FT+L: the down projection of a block is trained on one fact (Zhu et al., 2020, arXiv 2012.00363).

As in kmeng01/rome, `baselines/ft`, which the papers used; docs/methods-weights.md tells how. Each edit has
its own change of the weights, kept beside the model. Blocks below the edited one are computed once.
"""

import math
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from factdrift.core.progress import watched
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.shared import Factors, Targets, aligned, factors_of
from factdrift.models.deltas import Deltas, Dense, matrix
from factdrift.models.fork import Fork
from factdrift.models.hooks import lean
from factdrift.models.loaded import Loaded


def ft(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of the matrices `ModelSpec.trained` of `layers`; FT+L if `hyper` has a `norm_constraint`.

    All edits are trained in parallel, with the loop of the reference: the loss is computed before each step,
    so the loss after the last step is unknown. An edit whose loss is below `stop_loss` leaves the batch.
    """
    kind, spec = loaded.change_dtype, loaded.spec
    sentences, failed = aligned(loaded, edits)
    deltas: dict[str, Dense] = {}
    for layer in hyper["layers"]:
        name = spec.trained(layer)
        if not spec.has_down(layer):
            warnings.warn(
                f"{hyper.method} on {loaded.name}: block {layer} is a mixture of experts without a down "
                f"projection that every token passes; {name} is trained instead",
                stacklevel=2,
            )
        out, into = matrix(loaded.model, name).shape
        biased = hyper["bias"] and loaded.model.get_submodule(name).bias is not None
        deltas[name] = Dense(
            torch.zeros(len(edits), out, into, dtype=kind, device=loaded.device),
            torch.zeros(len(edits), out, dtype=kind, device=loaded.device) if biased else None,
        )
    steps = torch.zeros(len(edits), dtype=torch.long)
    losses = torch.full((len(edits),), torch.nan, dtype=kind)
    edited = Edited({**deltas}, failed=failed, steps=steps, losses=losses)
    if not sentences:
        return edited
    going = list(sentences)
    training = [_Training(loaded, index, deltas, hyper, artefacts.before) for index in going]
    # `prompt_last`: the last prompt token predicts all tokens of the target, as in the reference.
    texts = list(sentences.values())
    # No other token is read after the last block, so there a change has no effect on it.
    last = min(hyper["layers"]) == spec.layers - 1
    starts = [sentence.target - 1 if last else 0 for sentence in texts]
    targets = Targets(loaded, texts, at_prompt_end=hyper["loss"] == "prompt_last", starts=starts)
    with lean(loaded.model, max(map(len, targets.rows))):
        fork = Fork(loaded, targets.rows, starts, min(hyper["layers"]))

        def changed(name: str, taken: Tensor) -> Tensor:
            return torch.stack([one.output(name, row) for one, row in zip(training, taken, strict=True)])

        for _ in watched(range(hyper["steps"]), f"training of {len(going):,} edits", "steps"):
            found, gradients = factors_of(
                loaded, deltas, lambda: targets.losses(fork.run(fork.hidden)), changed
            )
            losses[going] = found.to(losses.device)
            # Waits for the device, which a step keeps busy for longer than the next one takes to be launched.
            known = found.tolist()
            failed |= {going[row]: "diverged" for row, loss in enumerate(known) if not math.isfinite(loss)}
            moving = [row for row, loss in enumerate(known) if hyper["stop_loss"] <= loss < math.inf]
            for row in moving:
                own = {name: (taken[row], given[row]) for name, (taken, given) in gradients.items()}
                training[row].step(own)
                steps[going[row]] += 1
            if not moving:
                break
            if len(moving) < len(going):
                going = [going[row] for row in moving]
                training = [training[row] for row in moving]  # frees Adam's moments, two numbers a weight
                rows = torch.tensor(moving, device=loaded.device)
                targets.keep(rows)
                fork.keep(rows)
    for index, one in zip(going, training, strict=True):  # the loss after the last step is unknown
        changes = (change for parts in one.parts.values() for _, change, _ in parts)
        if not all(change.isfinite().all() for change in changes):
            failed[index] = "diverged"
    return edited


class _Training:
    """The trained matrices of one edit, with their Adam optimiser.

    `precision: float32` trains the changes in float32, which equals training the weights except for rounding.
    `precision: weights` trains the weights and keeps Adam's moments in the type of the weights, as in the
    reference. In bfloat16, a weight then cannot move if its spacing is above twice `norm_constraint`.
    """

    def __init__(self, loaded: Loaded, place: int, deltas: dict[str, Dense], hyper: Hyper, before: Deltas):
        """`before`: the changes of earlier edits, which are part of the weights that are trained."""
        self.hyper = hyper
        rough = hyper["precision"] == "weights"
        self.parts: dict[str, list[tuple[Tensor, Tensor, Tensor]]] = {}
        """Matrix -> the value at the start, its change, and what is trained, of the weight and the bias."""
        for name, delta in deltas.items():
            starts, changes = [matrix(loaded.model, name)], [delta.weight[place]]
            if delta.bias is not None:
                starts.append(loaded.model.get_submodule(name).bias.detach())
                changes.append(delta.bias[place])
            earlier = before[name].dense(0) if name in before else (None, None)
            self.parts[name] = []
            for start, change, more in zip(starts, changes, earlier, strict=False):
                start = start.to(change.device)
                if more is not None:
                    start = (start.to(more.dtype) + more).to(start.dtype if rough else more.dtype)
                self.parts[name].append((start, change, start.clone() if rough else change))
        parameters = [value for parts in self.parts.values() for _, _, value in parts]
        # Adam works element by element, so edits in a batch take the same steps as alone.
        self.adam = torch.optim.Adam(parameters, lr=hyper["lr"], fused=not rough)

    def output(self, name: str, taken: Tensor) -> Tensor:
        """Output [tokens, d_out] of the change of a matrix for its input `taken` [tokens, d_in]."""
        (_, weight, _), *bias = self.parts[name]
        out = taken @ weight.T
        return out + bias[0][1] if bias else out

    @torch.no_grad()
    def step(self, gradients: dict[str, Factors]) -> None:
        for name, (taken, given) in gradients.items():
            slopes = given.T @ taken, given.sum(0)
            for (start, change, value), slope in zip(self.parts[name], slopes, strict=False):
                if self.hyper["weight_decay"]:
                    slope += self.hyper["weight_decay"] * (start.to(change.dtype) + change)
                value.grad = slope.to(value.dtype)
        self.adam.step()
        self.adam.zero_grad()
        bound = self.hyper.get("norm_constraint")
        for start, change, value in (part for parts in self.parts.values() for part in parts):
            if bound is not None:
                middle = 0 if value is change else start
                value.clamp_(middle - bound, middle + bound)
            if value is not change:
                change.copy_(value.to(change.dtype) - start.to(change.dtype))
