"""Continues the rows of a batch from many places at once: other tokens, other blocks, changed on the way.

A change at one token of one block has no effect on earlier tokens or lower blocks. `Whole` runs a batch once
and keeps what every block takes in, with its attention keys and values. `Branches` then runs only what lies
behind the changes, for any number of branches of each row. A branch joins the batch at its own block, so that
a sweep over all blocks takes one pass in which the batch grows. Imports torch.
"""

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from factdrift.models.fork import Past, Tail, run_block, run_whole, unembedded
from factdrift.models.loaded import Loaded

Joining = Callable[[int, slice, Tensor], Tensor]
"""(block, its new branches, what they take in [branches, tokens, hidden]) -> what they take in instead. The
block's number is that of all blocks for branches that join behind the last one."""
Running = Callable[[int, int], contextlib.AbstractContextManager[Any]]
"""(block, number of branches that run through it) -> a context in which the block runs, such as hooks."""


class Whole:
    """A batch that has been run in full, without gradients.

    Hooks that are set during construction act on it.
    """

    def __init__(self, loaded: Loaded, rows: Sequence[Sequence[int]]):
        model, spec = loaded.model, loaded.spec
        self.loaded = loaded
        self.norm = model.get_submodule(spec.final_norm)
        self.blocks = [model.get_submodule(spec.module(number, "")) for number in range(spec.layers)]
        self.lengths = torch.tensor([len(row) for row in rows], device=loaded.device)
        self.calls, self.mixed, cached = run_whole(loaded, rows, [*self.blocks, self.norm])
        self.inputs: list[Tensor] = [call.input for call in self.calls]
        """[rows, tokens, hidden]: the input of each block, then that of the final normalisation."""
        self.past = [
            None if number in spec.recurrent else Past(one.keys, one.values)
            for number, one in enumerate(cached[: spec.layers])
        ]

    def last(self) -> Tensor:
        """[rows, hidden]: the input of the final normalisation at the last token."""
        each = torch.arange(len(self.lengths), device=self.lengths.device)
        return self.inputs[-1][each, self.lengths - 1]

    def logits(self, hidden: Tensor) -> Tensor:
        """[rows, vocabulary] from inputs of the final normalisation [rows, hidden]; float32 or float64."""
        return unembedded(self.loaded, self.norm(hidden))


class Branches:
    """Continuations of the rows of a Whole: branch b repeats `row[b]` from token `start[b]` on.

    It joins at block `enter[b]` with what the row had there; the branches must be sorted by `enter`. Indices
    of tokens are those of a `Tail`.
    """

    def __init__(self, whole: Whole, row: Tensor, start: Tensor, enter: Tensor):
        self.whole = whole
        lengths = whole.lengths[row]
        self.last = lengths - 1 - start
        """[branches]: the index of each one's last token."""
        self.tail = Tail(lengths, start, whole.inputs[0].dtype, row)
        numbers = torch.arange(len(whole.blocks) + 1, device=enter.device)
        self.counts: list[int] = torch.searchsorted(enter, numbers, right=True).tolist()
        """For each block, and for the end, the number of branches that have joined."""

    def run(self, joining: Joining | None = None, running: Running | None = None) -> Tensor:
        """[branches, hidden]: the input of the final normalisation at each branch's last token."""
        whole, tail = self.whole, self.tail
        assert tail.row is not None
        hidden = whole.inputs[0].new_empty(0, tail.places.shape[1], whole.inputs[0].shape[2])
        joined = 0
        for number, count in enumerate(self.counts):
            if count > joined:
                new = slice(joined, count)
                fresh = whole.inputs[number][tail.row[new, None], tail.places[new]]
                if joining is not None:
                    fresh = joining(number, new, fresh)
                hidden = torch.cat([hidden, fresh])
                joined = count
            if not joined or number == len(whole.blocks):
                continue
            past = whole.past[number]
            if past is not None:
                row, before = tail.row[:count], tail.before
                past = Past(past.keys[row, :, :before], past.values[row, :, :before])
            block = whole.blocks[number]
            others = whole.calls[number].at(tail, count)
            with running(number, count) if running is not None else contextlib.nullcontext():
                hidden = run_block(block, hidden, others, tail, past, whole.mixed.get(block))
        return hidden[torch.arange(len(hidden), device=hidden.device), self.last]
