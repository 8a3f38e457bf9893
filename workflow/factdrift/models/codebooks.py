"""Codebooks: what a module puts out in place of its own output, if the input is near to a key. Imports torch.

Of many edits at a time, and kept outside of the model, as in `deltas.py`: a hook looks at the input of the
module at the last token of each row's prompt, finds the nearest key of that row's own edit, and puts that
key's value in place of the output if the key is near enough.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from factdrift.models.hooks import After

Tokens = Literal["last", "prompt", "all"]
"""The tokens whose outputs are replaced: the prompt's last one, those before it, or all."""

NEVER = -1.0
"""The radius of an entry that is never taken."""


@dataclass
class Codebook:
    """Entries of E edits for one module; those of different edits are never mixed."""

    keys: Tensor
    """[E, entries, d_in]"""
    values: Tensor
    """[E, entries, d_out]"""
    radii: Tensor
    """[E, entries]: the greatest distance from a key at which its value is taken, or NEVER."""
    tokens: Tokens

    def __len__(self) -> int:
        return len(self.keys)


def replacing(book: Codebook, owner: Tensor | int, ends: Tensor) -> After:
    """A hook for one batch and its continuations with a cache.

    `owner`: the edit of each row [rows], -1 for none, or that of all rows. `ends` [rows]: the index of the
    last token of each row's prompt. The first pass has to contain the prompts; those after it are taken to
    continue the rows, for which nothing is looked up anew. Raises ValueError if a batch does not have
    `len(ends)` rows.
    """
    taken_values: list[tuple[Tensor, Tensor]] = []

    def replace(taken: Tensor, given: Tensor) -> Tensor:
        if len(taken) != len(ends):
            raise ValueError(f"a batch of {len(taken)} rows, of which {len(ends)} have the end of a prompt")
        begun = not taken_values
        if begun:
            taken_values.append(looked_up(book, owner, taken[torch.arange(len(ends)), ends]))
        values, near = taken_values[0]
        at = tokens_of(book.tokens, ends, given.shape[1])
        if not begun:
            at = torch.full_like(at, book.tokens == "all")
        return put(values, at & near[:, None], given)

    return replace


def looked_up(book: Codebook, owner: Tensor | int, queries: Tensor) -> tuple[Tensor, Tensor]:
    """The value of the key nearest to each query [rows, d_in], and whether it is near enough.

    Returns [rows, d_out] and [rows]; of equally near keys the first counts. Entries with the radius NEVER
    fill codebooks of unequal length, and are not compared.
    """
    values = book.values.new_zeros(len(queries), book.values.shape[2])
    near = torch.zeros(len(queries), dtype=torch.bool, device=queries.device)
    owners = torch.full_like(near, owner, dtype=torch.long) if isinstance(owner, int) else owner
    for edit in sorted({*owners.tolist()} - {-1}):
        rows = (owners == edit).nonzero()[:, 0]
        gaps = distances(queries[rows], book.keys[edit]).masked_fill(book.radii[edit] == NEVER, torch.inf)
        least, place = gaps.min(1)
        values[rows], near[rows] = book.values[edit, place], least <= book.radii[edit, place]
    return values, near


def distances(queries: Tensor, keys: Tensor) -> Tensor:
    """Euclidean distances [rows, entries] in the type of the keys, without the rounding of a product."""
    return torch.cdist(queries.to(keys.dtype), keys, compute_mode="donot_use_mm_for_euclid_dist")


def tokens_of(which: Tokens, ends: Tensor, count: int) -> Tensor:
    """[rows, count]: the tokens that `which` means, for prompts whose last token has the index `ends`."""
    places = torch.arange(count, device=ends.device)
    if which == "all":
        return torch.ones(len(ends), count, dtype=torch.bool, device=ends.device)
    return places == ends[:, None] if which == "last" else places < ends[:, None]


def put(values: Tensor, at: Tensor, given: Tensor) -> Tensor:
    """`given` [rows, tokens, d_out] with the value of the row, [rows, d_out], at the tokens `at`."""
    return torch.where(at[:, :, None], values[:, None].to(given.dtype), given)
