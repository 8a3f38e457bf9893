"""Optimises, for each edit of a batch, one vector that makes the model say the new object; collects batches.

Shared by ROME (v*, at the output of the MLP's last matrix; Meng et al., 2022, eq. 4) and MEMIT (z*, at the
output of the block; Meng et al., 2023, eq. 16). Adam works element by element, so edits in a batch take the
same steps as alone. An edit whose loss is small enough no longer changes, and leaves the batch at the next
check.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from factdrift.evaluation.methods.contexts import Contexts
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Edited
from factdrift.models.deltas import Deltas, LowRank
from factdrift.models.families import shape_of
from factdrift.models.fork import Fork, unembedded
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded

BETAS, EPSILON = (0.9, 0.999), 1e-8
"""Parameters of Adam, the defaults of torch."""
LOOK = 5
"""Steps between checks for finished edits; each check makes the host wait for the device."""


@dataclass
class Optimised:
    """The result of the optimisation for E edits."""

    change: Tensor
    """[E, hidden] delta, the vector to add to the value."""
    steps: Tensor
    """[E] number of updates."""
    losses: Tensor
    """[E] the last loss that was computed."""


def optimise(
    loaded: Loaded, contexts: Sequence[Contexts], hyper: Hyper, layer: int, start: Tensor, *, at: str
) -> Optimised:
    """Finds delta, which is added at the subject's last token to an output of block `layer`.

    `at`: `mlp`, the output of its down projection, or `block`. `start` [E, hidden]: that output for the bare
    prompt; weight decay and the bound on delta are relative to its norm.
    """
    spec = loaded.spec
    batch = _Batch(loaded, contexts, hyper, layer + (at == "block"))
    kind = loaded.change_dtype
    start_norm = start.to(kind).norm(dim=1)
    change = torch.zeros(len(contexts), spec.hidden, dtype=kind, device=loaded.device)
    first, second = torch.zeros_like(change), torch.zeros_like(change)
    steps = torch.zeros(len(contexts), dtype=torch.long, device=loaded.device)
    losses = torch.full((len(contexts),), torch.nan, dtype=kind, device=loaded.device)
    finished = torch.zeros(len(contexts), dtype=torch.bool, device=loaded.device)
    active = torch.arange(len(contexts), device=loaded.device)

    for step in range(hyper["steps"]):
        delta = change[active].requires_grad_(True)
        loss = batch.losses(delta, spec.module(layer, spec.down) if at == "mlp" else None)
        # As in the reference: the norm of delta is not squared, that of the start is.
        loss = loss + hyper["weight_decay"] * delta.norm(dim=1) / start_norm[active] ** 2
        moving = ~finished[active]
        losses[active] = torch.where(moving, loss.detach(), losses[active])
        finished[active] |= losses[active] < hyper["stop_loss"]
        if step == hyper["steps"] - 1:
            break
        (gradient,) = torch.autograd.grad(loss.sum(), delta)
        first[active] = BETAS[0] * first[active] + (1 - BETAS[0]) * gradient
        second[active] = BETAS[1] * second[active] + (1 - BETAS[1]) * gradient**2
        mean = first[active] / (1 - BETAS[0] ** (step + 1))
        scale = (second[active] / (1 - BETAS[1] ** (step + 1))).sqrt() + EPSILON
        moved = delta.detach() - hyper["lr"] * mean / scale
        bound = hyper["clamp"] * start_norm[active]
        moved = moved * (bound / moved.norm(dim=1)).clamp(max=1)[:, None]
        moving = ~finished[active]
        change[active] = torch.where(moving[:, None], moved, change[active])
        steps[active] += moving
        if step % LOOK == LOOK - 1:
            going = moving.nonzero()[:, 0]
            if not len(going):
                break
            if len(going) < len(active):
                active = active[going]
                batch.keep(going)
    return Optimised(change, steps, losses)


def collected(
    loaded: Loaded,
    edits: int,
    contexts: Sequence[Contexts],
    results: Sequence[tuple[Deltas, Optimised]],
    failed: dict[int, str],
    ranks: Mapping[str, int],
) -> Edited:
    """The changes of all edits; zero for those that failed or whose changes are not finite.

    `edits`: their number. `contexts`: in the order of the results. `ranks`: module -> rank of its changes.
    """
    kind = loaded.change_dtype
    places = torch.tensor([one.place for one in contexts], dtype=torch.long, device=loaded.device)
    finite = torch.ones(len(contexts), dtype=torch.bool, device=loaded.device)
    deltas: Deltas = {}
    for name, rank in ranks.items():
        factors = []
        for width, side in zip(reversed(shape_of(loaded.model.get_submodule(name))), (0, 1), strict=True):
            whole = torch.zeros(edits, width, rank, dtype=kind, device=loaded.device)
            if results:
                part = torch.cat([_factor(found[name], side) for found, _ in results])
                finite &= part.isfinite().all(2).all(1)
                whole[places] = part
            factors.append(whole)
        deltas[name] = LowRank(*factors)
    steps = torch.zeros(edits, dtype=torch.long, device=loaded.device)
    losses = torch.full((edits,), torch.nan, dtype=kind, device=loaded.device)
    if results:
        steps[places] = torch.cat([found.steps for _, found in results])
        losses[places] = torch.cat([found.losses for _, found in results])
    diverged = places[~finite].tolist()
    for delta in deltas.values():
        for factor in (_factor(delta, 0), _factor(delta, 1)):
            factor[diverged] = 0
    return Edited(deltas, failed=failed | dict.fromkeys(diverged, "diverged"), steps=steps, losses=losses)


def _factor(delta: object, side: int) -> Tensor:
    assert isinstance(delta, LowRank)
    return (delta.read, delta.write)[side]


class _Batch:
    """The sentences of several edits, run from the subject's last token on, and their losses."""

    def __init__(self, loaded: Loaded, contexts: Sequence[Contexts], hyper: Hyper, layer: int):
        self.loaded, self.hyper = loaded, hyper
        rows: list[Sequence[int]] = []
        starts: list[int] = []
        owner: list[int] = []
        read: list[tuple[int, int, int, int, float]] = []  # edit, row, place, token, its weight in the loss
        essence: list[tuple[int, int]] = []  # row, place
        for edit, one in enumerate(contexts):
            for sentence in one.prompts:
                begin = sentence.subject_last or 0
                target = range(sentence.target, len(sentence.ids))
                weight = 1 / (len(target) * len(one.prompts))
                # A token is predicted at the token before it; the last token of the target is not run.
                read += [
                    (edit, len(rows), token - 1 - begin, sentence.ids[token], weight) for token in target
                ]
                rows.append(sentence.ids[:-1])
                starts.append(begin)
            begin = one.essence.subject_last or 0
            last = len(one.essence.ids) - 1 - begin
            essence.append((len(rows), last if hyper["kl_at"] == "last" else 0))
            rows.append(one.essence.ids)
            starts.append(begin)
            owner += [edit] * (len(rows) - len(owner))
        self.fork = Fork(loaded, rows, starts, layer)
        device = loaded.device
        self.owner = torch.tensor(owner, device=device)
        self.edit, self.row, self.place, self.token = (
            torch.tensor([one[column] for one in read], device=device) for column in range(4)
        )
        kind = loaded.change_dtype
        self.weight = torch.tensor([one[4] for one in read], dtype=kind, device=device)
        self.essence = torch.tensor(essence, device=device)
        self.before: Tensor | None = None

    def losses(self, delta: Tensor, down: str | None) -> Tensor:
        """[E] negative log-likelihood of the target plus weighted KL on the essence prompt.

        `delta` [E, hidden] is added to the output of the module `down` or, without it, to the input of the
        first block that runs.
        """
        added = delta[self.owner].to(self.loaded.dtype)[:, None]
        if down is None:
            hidden = self.fork.run(_plus(self.fork.hidden, added))
        else:
            with hooked(self.loaded.model, {down: lambda taken, given: _plus(given, added)}):
                hidden = self.fork.run(self.fork.hidden)
        drift_rows, drift_places = self.essence.T
        logits = unembedded(
            self.loaded,
            torch.cat([hidden[self.row, self.place], hidden[drift_rows, drift_places]]),
        )
        logs = logits.log_softmax(1)
        told, drift = logs[: len(self.row)], logs[len(self.row) :]
        if self.before is None:
            self.before = drift.detach()
        likelihood = told.gather(1, self.token[:, None])[:, 0] * self.weight
        loss: Tensor = torch.zeros(len(delta), dtype=delta.dtype, device=delta.device)
        loss = loss.index_add(0, self.edit, -likelihood)
        # KL(after || before), the direction of the paper's eq. 4 and of the reference's code.
        weight: float = self.hyper["kl"]
        return loss + weight * (drift.exp() * (drift - self.before)).sum(1)

    def keep(self, edits: Tensor) -> None:
        """Drops all edits but these (indices, ascending)."""
        assert self.before is not None
        device = edits.device
        new_edit = torch.full((len(self.essence),), -1, device=device)
        new_edit[edits] = torch.arange(len(edits), device=device)
        rows = (new_edit[self.owner] >= 0).nonzero()[:, 0]
        new_row = torch.full((len(self.owner),), -1, device=device)
        new_row[rows] = torch.arange(len(rows), device=device)
        kept = new_edit[self.edit] >= 0
        self.fork.keep(rows)
        self.owner = new_edit[self.owner[rows]]
        self.edit, self.row = new_edit[self.edit[kept]], new_row[self.row[kept]]
        self.place, self.token, self.weight = self.place[kept], self.token[kept], self.weight[kept]
        self.essence = torch.stack([new_row[self.essence[edits, 0]], self.essence[edits, 1]], 1)
        self.before = self.before[edits]


def _plus(value: Tensor, added: Tensor) -> Tensor:
    """`value` [rows, tokens, hidden] with `added` [rows, 1, hidden] at the first token."""
    return torch.cat([value[:, :1] + added, value[:, 1:]], 1)
