"""GRACE (Hartvigsen et al., 2023, "Aging with GRACE", arXiv 2211.11031): edits in a codebook of one layer.

Section 2.2 of the paper and its algorithm 1 keep the codebook, which `models/deltas.py` applies; what is left
open there is as in the released code, Thartvigsen/GRACE (docs/methods-beside.md). Imports torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from factdrift.core.progress import watched
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.optimise import at_end
from factdrift.evaluation.methods.shared import Targets, aligned, generator, mlp_matrix
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import NEVER, Codebook, Tokens, distances, put, tokens_of
from factdrift.models.devices import in_batches
from factdrift.models.fork import Fork
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.padding import batches
from factdrift.models.scoring import BUDGET

GAP = 1e-5
"""How much smaller than half of the distance the radius of the older key is after a split, as in the released
code, so that no input is in both balls."""

Label = tuple[int, ...]
"""The tokens of a target."""


@dataclass
class CodebookEntry:
    """An entry of a codebook; those of edits that are made in turn are `Edited.memory`."""

    key: Tensor
    """[d_in]"""
    value: Tensor
    """[d_out]"""
    radius: float
    label: Label
    taught: list[int]
    """The indices of the edits on which its value is trained, in turn; the first one has made a new entry."""
    names: tuple[str, ...] = ()
    """The ids of earlier edits, of those that were made in turn, whose facts it holds."""


def grace(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A codebook of one entry for each edit."""
    return _edited(loaded, edits, hyper, [[] for _ in edits])


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One codebook, in which the edits are entered in their order: one edit in `codebooks`.

    The codebook of earlier edits is continued, without the entries whose facts these edits replace.
    """
    gone = {name for edit in edits for name in edit.replaces}
    begun = []
    for entry in artefacts.memory or ():
        if left := tuple(name for name in entry.names if name not in gone):
            begun.append(replace(entry, taught=[], names=left))
    return _edited(loaded, edits, hyper, [begun])


def enter(book: list[CodebookEntry], new: CodebookEntry) -> None:
    """Enters an edit into a codebook by algorithm 1 of the paper, before any value of it is trained.

    `new`: the entry that it makes where no other is near, with the radius of the paper's epsilon_init.
    """
    if not book:
        book.append(new)
        return
    gaps, indices = distances(new.key[None], torch.stack([entry.key for entry in book])).min(1)
    gap, near = float(gaps), book[int(indices)]
    if gap > near.radius + new.radius:
        # Add: the balls of the key and of the nearest one do not overlap.
        book.append(new)
    elif new.label != near.label:
        # Split: the entries are to put out different objects, so that both balls end half-way.
        near.radius = gap / 2 - GAP
        book.append(replace(new, radius=gap / 2))
    else:
        # Expand: the nearest entry has the same object, so that its ball takes in the key. As in the released
        # code, its value is trained on this prompt, too.
        near.radius = max(near.radius, gap)
        near.taught += new.taught


def wrapped(loaded: Loaded, hyper: Hyper) -> str:
    """The full name of the module that has the codebook.

    Without `module` it is the down projection or, in mixtures of experts in which none is passed by every
    token, the whole MLP. Raises InputError if the MLP has no matrix of that name, and CannotEdit if every
    expert has one of its own.
    """
    spec, layer = loaded.spec, hyper["layer"]
    if not hyper["module"]:
        return spec.module(layer, spec.down if spec.has_down(layer) else spec.mlp)
    return spec.module(layer, mlp_matrix(loaded, "grace.module", hyper["module"]))


def _edited(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, books: Sequence[list[CodebookEntry]]
) -> Edited:
    """Enters each edit into a codebook of its own, or all into one; then trains all values in parallel."""
    name = wrapped(loaded, hyper)
    sentences, failed = aligned(loaded, edits)
    seen = _looked_at(loaded, name, {index: one.ids[: one.target] for index, one in sentences.items()})
    for index, (key, output) in seen.items():
        if hyper["start"] == "random":
            draw = generator(f"{hyper['seed']}/{edits[index].id}")
            output = torch.rand(len(output), generator=draw, dtype=output.dtype).to(output.device)
        sentence = sentences[index]
        label = sentence.ids[sentence.target :]
        entry = CodebookEntry(key, output, hyper["radius"], label, [index])
        enter(books[index if len(books) > 1 else 0], entry)
    entries = [entry for book in books for entry in book]
    steps = torch.zeros(len(edits), dtype=torch.long)
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    if not entries:
        return Edited(failed=failed, steps=steps, losses=losses)
    # No key depends on a value, so the n-th trainings of all entries are one.
    for turn in range(max(len(entry.taught) for entry in entries)):
        going = [entry for entry in entries if len(entry.taught) > turn]
        for batch in batches([len(sentences[entry.taught[turn]].ids) for entry in going], BUDGET):

            def train(some: Sequence[CodebookEntry], turn: int = turn) -> None:
                indices = [entry.taught[turn] for entry in some]
                values = torch.stack([entry.value for entry in some])
                found, last = _trained(loaded, name, hyper, [sentences[index] for index in indices], values)
                for entry, value in zip(some, found, strict=True):
                    entry.value = value.clone()
                losses[indices] = last.cpu()

            in_batches([going[row] for row in batch], len(batch), train)
    steps[list(sentences)] = hyper["steps"]
    finite = torch.stack([entry.value for entry in entries]).isfinite().all(1).tolist()
    for entry, fine in zip(entries, finite, strict=True):
        if not fine:
            entry.value, entry.radius = torch.zeros_like(entry.value), NEVER
            failed |= dict.fromkeys(entry.taught, "diverged")
    memory = [
        replace(entry, taught=[], names=(*entry.names, *(edits[index].id for index in entry.taught)))
        for entry in entries
        if entry.radius != NEVER
    ]
    book = _book(books, entries[0], hyper["tokens"])
    return Edited(codebooks={name: book}, failed=failed, steps=steps, losses=losses, memory=memory)


def _looked_at(
    loaded: Loaded, name: str, prompts: Mapping[int, Sequence[int]]
) -> dict[int, tuple[Tensor, Tensor]]:
    """The input [d_in] and output [d_out] of a module at the last token of prompts, by their index."""
    states: dict[int, tuple[Tensor, Tensor]] = {}

    def hidden_states(places: Sequence[int]) -> None:
        keys, outputs = at_end(loaded, [prompts[index] for index in places], name, name)
        pairs = zip(keys.to(loaded.change_dtype), outputs.to(loaded.change_dtype), strict=True)
        states.update(zip(places, pairs, strict=True))

    places = list(prompts)
    for batch in batches([len(row) for row in prompts.values()], BUDGET):
        in_batches([places[row] for row in batch], len(batch), hidden_states)
    return states


def _trained(
    loaded: Loaded, name: str, hyper: Hyper, sentences: Sequence[Sentence], values: Tensor
) -> tuple[Tensor, Tensor]:
    """The values [rows, d_out] trained on a sentence each, and the last loss that was computed, [rows].

    The loss is the mean of -log p(token) over the target's tokens, with the value in its place.
    """
    ends = torch.tensor([sentence.target - 1 for sentence in sentences], device=loaded.device)
    starts = [sentence.target - 1 if hyper["tokens"] == "last" else 0 for sentence in sentences]
    targets = Targets(loaded, sentences, starts=starts)
    fork = Fork(loaded, targets.rows, starts, hyper["layer"])
    at = tokens_of(hyper["tokens"], ends - torch.tensor(starts, device=loaded.device), fork.hidden.shape[1])
    values = values.clone().requires_grad_(True)
    # Adam works element by element, so edits in a batch take the same steps as alone.
    adam = torch.optim.Adam([values], lr=hyper["lr"])
    with torch.enable_grad(), hooked(loaded.model, {name: lambda taken, given: put(values, at, given)}):
        for _ in watched(range(hyper["steps"]), "values", "steps"):
            losses = targets.losses(fork.run(fork.hidden))
            adam.zero_grad()
            losses.sum().backward()  # type: ignore[no-untyped-call]
            adam.step()
    return values.detach(), losses.detach()


def _book(books: Sequence[Sequence[CodebookEntry]], like: CodebookEntry, tokens: Tokens) -> Codebook:
    """The entries of all edits as one codebook, padded by entries that are never taken."""
    most = max(map(len, books))
    found = Codebook(
        keys=like.key.new_zeros(len(books), most, len(like.key)),
        values=like.value.new_zeros(len(books), most, len(like.value)),
        radii=like.key.new_full((len(books), most), NEVER),
        tokens=tokens,
    )
    for number, book in enumerate(books):
        for index, entry in enumerate(book):
            found.keys[number, index], found.values[number, index] = entry.key, entry.value
            found.radii[number, index] = entry.radius
    return found
