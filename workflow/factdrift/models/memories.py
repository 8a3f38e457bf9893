"""Side memories: changes of one matrix that act in a row only if its prompt activates them. Imports torch.

Of many edits at a time, and kept outside of the model, as in `deltas.py`. The activation of a memory by a row
is the mean over the tokens of its prompt of the norm of what the memory adds to the output of the matrix.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from factdrift.models.hooks import After


@dataclass
class Memories:
    """Side memories of E edits for one module; those of different edits are never mixed."""

    values: Tensor
    """[E, memories, d_out, d_in]: what each adds to the weight."""
    thresholds: Tensor
    """[E, memories]: the activation above which a memory acts; infinite for one that never does."""

    def __len__(self) -> int:
        return len(self.values)


def routing(memories: Memories, owner: Tensor | int, starts: Tensor, ends: Tensor) -> After:
    """A hook for one batch and its continuations with a cache, for which the choice of the prompt holds.

    `owner`: the edit of each row [rows], -1 for none, or that of all rows. `starts`, `ends` [rows]: the
    indices of the first and last token of each row's prompt. Raises ValueError if a batch does not have
    `len(ends)` rows.
    """
    chosen: list[Tensor] = []

    def route(taken: Tensor, given: Tensor) -> Tensor:
        if len(taken) != len(ends):
            raise ValueError(f"a batch of {len(taken)} rows, of which {len(ends)} have the end of a prompt")
        if not chosen:
            chosen.append(choice(memories, owner, taken, starts, ends))
        (which,), changes = chosen, memories.values.flatten(0, 1)
        out = given
        for one in sorted({*which.tolist()} - {-1}):
            rows = (which == one).nonzero()[:, 0]
            more = torch.nn.functional.linear(taken[rows].to(changes.dtype), changes[one])
            out = out.index_copy(0, rows, (given[rows].to(changes.dtype) + more).to(given.dtype))
        return out

    return route


def choice(memories: Memories, owner: Tensor | int, taken: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    """[rows] the index in `values.flatten(0, 1)` of the memory that acts in each row, -1 for none.

    It is the one with the greatest activation of those whose activation is above their threshold.
    """
    count = memories.values.shape[1]
    which = torch.full((len(taken),), -1, dtype=torch.long, device=taken.device)
    owners = torch.full_like(which, owner) if isinstance(owner, int) else owner
    for edit in sorted({*owners.tolist()} - {-1}):
        rows = (owners == edit).nonzero()[:, 0]
        within = spans(starts[rows], ends[rows], taken.shape[1])
        acts = torch.stack([activations(taken[rows], change, within) for change in memories.values[edit]], 1)
        above = acts.masked_fill(acts <= memories.thresholds[edit], -torch.inf)
        greatest, index = above.max(1)
        which[rows] = torch.where(greatest > -torch.inf, edit * count + index, -1)
    return which


def spans(starts: Tensor, ends: Tensor, count: int) -> Tensor:
    """[rows, count] the tokens from `starts` to `ends`, both included."""
    indices = torch.arange(count, device=ends.device)
    return (indices >= starts[:, None]) & (indices <= ends[:, None])


def activations(taken: Tensor, change: Tensor, within: Tensor) -> Tensor:
    """[rows] the mean over the tokens `within` of the norm of `change` [d_out, d_in] times the input."""
    norms = torch.nn.functional.linear(taken.to(change.dtype), change).norm(dim=2)
    means: Tensor = (norms * within).sum(1) / within.sum(1)
    return means
