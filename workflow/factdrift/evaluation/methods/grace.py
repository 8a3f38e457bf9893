"""GRACE (Hartvigsen et al., 2023, "Aging with GRACE", arXiv 2211.11031): edits in a codebook of one layer.

Nothing is written into weights. An adaptor at a module keeps a codebook of keys, values and deferral radii. A
key is the input of the module at the last token of an edit's prompt; its value, found by gradient descent, is
put in place of the module's output for every prompt whose own input is within the radius of that key, its
nearest one (the paper's eq. 1; `models/deltas.py`). Section 2.2 of the paper and its algorithm 1 keep the
codebook. Which tokens ask and which are replaced is left open there; the choices are those of the released
code, Thartvigsen/GRACE. Imports torch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.contexts import at_end
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.seeds import generator
from factdrift.evaluation.methods.targets import Targets, aligned
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import NEVER, Codebook, Tokens, distances, put, tokens_of
from factdrift.models.fork import Fork
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.memory import in_batches
from factdrift.models.padding import batches
from factdrift.models.scoring import BUDGET

GAP = 1e-5
"""How much smaller than half of the distance the radius of the older key is after a split, as in the released
code, so that no input is in both balls."""

Label = tuple[int, ...]
"""The tokens of a target."""


@dataclass
class Entry:
    """An entry of a codebook."""

    key: Tensor
    """[d_in]"""
    radius: float
    label: Label
    taught: list[int]
    """The indices of the edits on which its value is trained, in turn; the first one has made a new entry."""
    names: tuple[str, ...] = ()
    """The ids of earlier edits, of those that were made in turn, whose facts it holds."""


@dataclass
class Book:
    """A codebook between edits that are made in turn: `Edited.memory`."""

    entries: list[Entry]
    values: Tensor
    """[entries, d_out]"""

    def without(self, names: Collection[str]) -> Book:
        """The entries that hold the fact of another edit than these."""
        left = [tuple(name for name in entry.names if name not in names) for entry in self.entries]
        rows = [row for row, kept in enumerate(left) if kept]
        return Book(
            [replace(self.entries[row], taught=[], names=left[row]) for row in rows], self.values[rows]
        )


def grace(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """A codebook of one entry for each edit."""
    return _edited(loaded, edits, hyper, alone=True)


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One codebook, in which the edits are entered in their order: one edit in `codebooks`.

    The codebook of earlier edits is continued, without the entries whose facts these edits replace.
    """
    earlier: Book | None = artefacts.memory
    begun = earlier.without({name for edit in edits for name in edit.replaces}) if earlier else None
    found = _edited(loaded, edits, hyper, begun, alone=False)
    found.owner = [-1 if place in found.failed else 0 for place in range(len(edits))]
    return found


def grown(
    keys: Mapping[int, Tensor], labels: Mapping[int, Label], radius: float, begun: Sequence[Entry] = ()
) -> list[Entry]:
    """The codebook after edits in their order, by algorithm 1 of the paper; keys are [d_in].

    `radius`: that of a new entry, the paper's epsilon_init. No value plays a part, so values can be trained
    later. `begun`: the entries of earlier edits, which come first and are changed in place.
    """
    book = list(begun)
    for place, key in keys.items():
        if not book:
            book.append(Entry(key, radius, labels[place], [place]))
            continue
        gaps, places = distances(key[None], torch.stack([entry.key for entry in book])).min(1)
        gap, near = float(gaps), book[int(places)]
        if gap > near.radius + radius:
            # Add: the balls of the key and of the nearest one do not overlap.
            book.append(Entry(key, radius, labels[place], [place]))
        elif labels[place] != near.label:
            # Split: the entries are to put out different objects, so that both balls end half-way.
            near.radius = gap / 2 - GAP
            book.append(Entry(key, gap / 2, labels[place], [place]))
        else:
            # Expand: the nearest entry has the same object, so that its ball takes in the key. As in the
            # released code, its value is trained on this prompt, too.
            near.radius = max(near.radius, gap)
            near.taught.append(place)
    return book


def wrapped(loaded: Loaded, hyper: Hyper) -> str:
    """The full name of the module that has the codebook.

    Without `module` it is the down projection or, in mixtures of experts in which none is passed by every
    token, the whole MLP. Raises InputError if the MLP has no matrix of that name, and CannotEdit if every
    expert has one of its own.
    """
    spec, layer, given = loaded.spec, hyper["layer"], hyper["module"]
    if not given:
        return spec.module(layer, spec.down if spec.has_down(layer) else spec.mlp)
    parts = {part.rsplit(".", 1)[-1]: part for part in spec.mlp_matrices}
    if given not in parts:
        raise InputError(
            f"grace.module: the MLP of {loaded.name} has no {given}, but {', '.join(parts)}; leave it empty "
            "for the down projection"
        )
    return spec.module(layer, parts[given])


def _edited(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, begun: Book | None = None, *, alone: bool
) -> Edited:
    """Makes the codebooks, then trains the values of all entries in parallel; those of `begun` go on.

    `alone`: each edit has a codebook of its own.
    """
    name = wrapped(loaded, hyper)
    sentences, failed = aligned(loaded, edits)
    prompts = {place: one.ids[: one.target] for place, one in sentences.items()}
    keys, outputs = _looked_at(loaded, name, prompts)
    labels = {place: one.ids[one.target :] for place, one in sentences.items()}
    if alone:
        each = ({place: keys[place]} if place in keys else {} for place in range(len(edits)))
        books = [grown(one, labels, hyper["radius"]) for one in each]
    else:
        books = [grown(keys, labels, hyper["radius"], begun.entries if begun else ())]
    entries = [entry for book in books for entry in book]
    steps = torch.zeros(len(edits), dtype=torch.long)
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    if not entries:
        return Edited(failed=failed, steps=steps, losses=losses, memory=begun)
    earlier = begun.values if begun else torch.empty(0)
    fresh = [(edits[one.taught[0]], outputs[one.taught[0]]) for one in entries[len(earlier) :]]
    values = torch.stack([*earlier, *(_start(hyper, edit, output) for edit, output in fresh)])
    # No key depends on a value, so the n-th trainings of all entries are one.
    for turn in range(max(len(entry.taught) for entry in entries)):
        rows = [row for row, entry in enumerate(entries) if len(entry.taught) > turn]
        lengths = [len(sentences[entries[row].taught[turn]].ids) for row in rows]
        for batch in batches(lengths, BUDGET):

            def train(some: Sequence[int], rows: list[int] = rows, turn: int = turn) -> None:
                mine = [rows[one] for one in some]
                places = [entries[row].taught[turn] for row in mine]
                chosen = [sentences[place] for place in places]
                found, last = _trained(loaded, name, hyper, chosen, values[mine])
                values[mine], losses[places] = found, last.cpu()

            in_batches(batch, len(batch), train)
    steps[list(sentences)] = hyper["steps"]
    for row in (~values.isfinite().all(1)).nonzero()[:, 0].tolist():
        values[row], entries[row].radius = 0, NEVER
        failed |= dict.fromkeys(entries[row].taught, "diverged")
    book = _book(books, values, hyper["tokens"])
    lasting = [row for row, entry in enumerate(entries) if entry.radius != NEVER]
    named = [
        replace(one, taught=[], names=(*one.names, *(edits[place].id for place in one.taught)))
        for one in (entries[row] for row in lasting)
    ]
    memory = Book(named, values[lasting])
    return Edited(codebooks={name: book}, failed=failed, steps=steps, losses=losses, memory=memory)


def _looked_at(
    loaded: Loaded, name: str, prompts: Mapping[int, Sequence[int]]
) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
    """The input [d_in] and output [d_out] of a module at the last token of prompts, by their index."""
    keys: dict[int, Tensor] = {}
    outputs: dict[int, Tensor] = {}
    places = list(prompts)

    def work(some: Sequence[int]) -> None:
        chosen = [places[one] for one in some]
        for found, states in zip(
            (keys, outputs), at_end(loaded, [prompts[place] for place in chosen], name, name), strict=True
        ):
            found.update(zip(chosen, states.to(loaded.change_dtype), strict=True))

    for batch in batches([len(row) for row in prompts.values()], BUDGET):
        in_batches(batch, len(batch), work)
    return keys, outputs


def _start(hyper: Hyper, edit: Edit, output: Tensor) -> Tensor:
    """The value of an entry before its training, [d_out]."""
    if hyper["start"] == "output":
        return output
    drawn = torch.rand(len(output), generator=generator(f"{hyper['seed']}/{edit.id}"), dtype=output.dtype)
    return drawn.to(output.device)


def _trained(
    loaded: Loaded, name: str, hyper: Hyper, sentences: Sequence[Sentence], values: Tensor
) -> tuple[Tensor, Tensor]:
    """The values [rows, d_out] trained on a sentence each, and the last loss that was computed, [rows].

    The loss is the mean of -log p(token) over the target's tokens, with the value in its place.
    """
    ends = torch.tensor([one.target - 1 for one in sentences], device=loaded.device)
    starts = [one.target - 1 if hyper["tokens"] == "last" else 0 for one in sentences]
    targets = Targets(loaded, sentences, starts=starts)
    fork = Fork(loaded, targets.rows, starts, hyper["layer"])
    at = tokens_of(hyper["tokens"], ends - torch.tensor(starts, device=loaded.device), fork.hidden.shape[1])
    values = values.clone().requires_grad_(True)
    # Adam works element by element, so edits in a batch take the same steps as alone.
    adam = torch.optim.Adam([values], lr=hyper["lr"])
    with torch.enable_grad(), hooked(loaded.model, {name: lambda taken, given: put(values, at, given)}):
        for _ in range(hyper["steps"]):
            losses = targets.losses(fork.run(fork.hidden))
            adam.zero_grad()
            losses.sum().backward()  # type: ignore[no-untyped-call]
            adam.step()
    return values.detach(), losses.detach()


def _book(books: Sequence[Sequence[Entry]], values: Tensor, tokens: Tokens) -> Codebook:
    """The entries of all edits as one codebook; `values` [entries, d_out] in their order."""
    most = max(map(len, books))
    first = next(entry.key for book in books for entry in book)
    found = Codebook(
        keys=first.new_zeros(len(books), most, len(first)),
        values=values.new_zeros(len(books), most, values.shape[1]),
        radii=first.new_full((len(books), most), NEVER),
        tokens=tokens,
    )
    row = 0
    for number, book in enumerate(books):
        for place, entry in enumerate(book):
            found.keys[number, place] = entry.key
            found.values[number, place] = values[row]
            found.radii[number, place] = entry.radius
            row += 1
    return found
