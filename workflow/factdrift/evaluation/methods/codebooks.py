"""GRACE and WISE, which change no weight: what they keep beside one module acts after some prompts only.

GRACE (Hartvigsen et al., 2023, "Aging with GRACE", arXiv 2211.11031) keeps edits in a codebook of one layer,
by section 2.2 of the paper and its algorithm 1; `models/deltas.py` applies it.

WISE (Wang et al., 2024, "WISE: Rethinking the Knowledge Memory", arXiv 2405.14768) has side memories. Each is
a copy W' of the down projection W of one late block, of which W' - W is kept; `models/memories.py` routes
prompts through it. Each shard of edits is trained within a random subset of the entries (section 2.3); full
shards are merged by TIES, and further edits begin another memory.

What the papers leave open is as in the released codes, Thartvigsen/GRACE and zjunlp/EasyEdit
(docs/methods-beside.md). Imports torch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch
from peft.utils.merge_utils import ties
from torch import Tensor

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.optimise import at_end
from factdrift.evaluation.methods.shared import Targets, aligned, aligned_texts, generator, mlp_matrix
from factdrift.models.alignment import Sentence, align
from factdrift.models.deltas import NEVER, Codebook, Tokens, distances, matrix, put, tokens_of
from factdrift.models.devices import in_batches
from factdrift.models.families import shape_of
from factdrift.models.fork import Fork
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.memories import Memories, activations, spans
from factdrift.models.padding import batches
from factdrift.models.scoring import BUDGET

GAP = 1e-5
"""How much smaller than half of the distance the radius of the older key is after a split, as in the released
code, so that no input is in both balls."""
SETTLED = 1e-4
"""A training ends if its loss is small and changed by no more than this in a step, as in the reference."""

Label = tuple[int, ...]
"""The tokens of a target."""


@dataclass
class Entry:
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
    return _entered(loaded, edits, hyper, [[] for _ in edits])


def grace_together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One codebook, in which the edits are entered in their order: one edit in `codebooks`.

    The codebook of earlier edits is continued, without the entries whose facts these edits replace.
    """
    gone = {name for edit in edits for name in edit.replaces}
    begun = []
    for entry in artefacts.memory or ():
        if left := tuple(name for name in entry.names if name not in gone):
            begun.append(replace(entry, taught=[], names=left))
    return _entered(loaded, edits, hyper, [begun])


def enter(book: list[Entry], new: Entry) -> None:
    """Enters an edit into a codebook by algorithm 1 of the paper, before any value of it is trained.

    `new`: the entry that it makes where no other is near, with the radius of the paper's epsilon_init.
    """
    if not book:
        book.append(new)
        return
    gaps, places = distances(new.key[None], torch.stack([entry.key for entry in book])).min(1)
    gap, near = float(gaps), book[int(places)]
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


def _entered(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, books: Sequence[list[Entry]]) -> Edited:
    """Enters each edit into a codebook of its own, or all into one; then trains all values in parallel."""
    name = wrapped(loaded, hyper)
    sentences, failed = aligned(loaded, edits)
    seen = _looked_at(loaded, name, {place: one.ids[: one.target] for place, one in sentences.items()})
    for place, (key, output) in seen.items():
        if hyper["start"] == "random":
            draw = generator(f"{hyper['seed']}/{edits[place].id}")
            output = torch.rand(len(output), generator=draw, dtype=output.dtype).to(output.device)
        sentence = sentences[place]
        label = sentence.ids[sentence.target :]
        enter(books[place if len(books) > 1 else 0], Entry(key, output, hyper["radius"], label, [place]))
    entries = [entry for book in books for entry in book]
    steps = torch.zeros(len(edits), dtype=torch.long)
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    if not entries:
        return Edited(failed=failed, steps=steps, losses=losses)
    # No key depends on a value, so the n-th trainings of all entries are one.
    for turn in range(max(len(entry.taught) for entry in entries)):
        going = [entry for entry in entries if len(entry.taught) > turn]
        for batch in batches([len(sentences[entry.taught[turn]].ids) for entry in going], BUDGET):

            def train(some: Sequence[Entry], turn: int = turn) -> None:
                places = [entry.taught[turn] for entry in some]
                values = torch.stack([entry.value for entry in some])
                found, last = _values(loaded, name, hyper, [sentences[place] for place in places], values)
                for entry, value in zip(some, found, strict=True):
                    entry.value = value.clone()
                losses[places] = last.cpu()

            in_batches([going[row] for row in batch], len(batch), train)
    steps[list(sentences)] = hyper["steps"]
    finite = torch.stack([entry.value for entry in entries]).isfinite().all(1).tolist()
    for entry, fine in zip(entries, finite, strict=True):
        if not fine:
            entry.value, entry.radius = torch.zeros_like(entry.value), NEVER
            failed |= dict.fromkeys(entry.taught, "diverged")
    memory = [
        replace(one, taught=[], names=(*one.names, *(edits[place].id for place in one.taught)))
        for one in entries
        if one.radius != NEVER
    ]
    book = _book(books, entries[0], hyper["tokens"])
    return Edited(codebooks={name: book}, failed=failed, steps=steps, losses=losses, memory=memory)


def _looked_at(
    loaded: Loaded, name: str, prompts: Mapping[int, Sequence[int]]
) -> dict[int, tuple[Tensor, Tensor]]:
    """The input [d_in] and output [d_out] of a module at the last token of prompts, by their index."""
    found: dict[int, tuple[Tensor, Tensor]] = {}

    def look(places: Sequence[int]) -> None:
        keys, outputs = at_end(loaded, [prompts[place] for place in places], name, name)
        pairs = zip(keys.to(loaded.change_dtype), outputs.to(loaded.change_dtype), strict=True)
        found.update(zip(places, pairs, strict=True))

    places = list(prompts)
    for batch in batches([len(row) for row in prompts.values()], BUDGET):
        in_batches([places[row] for row in batch], len(batch), look)
    return found


def _values(
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


def _book(books: Sequence[Sequence[Entry]], like: Entry, tokens: Tokens) -> Codebook:
    """The entries of all edits as one codebook, padded by entries that are never taken."""
    most = max(map(len, books))
    found = Codebook(
        keys=like.key.new_zeros(len(books), most, len(like.key)),
        values=like.value.new_zeros(len(books), most, len(like.value)),
        radii=like.key.new_full((len(books), most), NEVER),
        tokens=tokens,
    )
    for number, book in enumerate(books):
        for place, entry in enumerate(book):
            found.keys[number, place], found.values[number, place] = entry.key, entry.value
            found.radii[number, place] = entry.radius
    return found


@dataclass
class Side:
    """A side memory, or a shard of one that is not merged yet."""

    change: Tensor
    """W' - W, [d_out, d_in]."""
    least: float
    """The least activation of an edit at the end of its training."""
    edits: int
    """The number of edits in it."""


def wise(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts, *, alone: bool = True
) -> Edited:
    """A side memory for each edit or, if they are not `alone`, those of all edits so far, trained in turn.

    `memory`: the side memories, the one that is trained last.
    """
    name = loaded.spec.module(hyper["layer"], loaded.spec.down)
    shape = shape_of(loaded.model.get_submodule(name))
    others = texts(loaded, hyper, artefacts)
    before = artefacts.prefixes[: hyper["contexts"] + 1]
    sentences, failed = aligned_texts(
        loaded,
        edits,
        lambda edit: [align(loaded.tokenizer, edit.prompt, edit.target, context=text) for text in before],
    )
    sides: list[Side] = [] if alone else list(artefacts.memory or ())
    steps = torch.zeros(len(edits), dtype=torch.long)
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    for place, edit in enumerate(edits):
        if alone or not sides or sides[-1].edits >= hyper["shard"]:
            empty = torch.zeros(shape, dtype=loaded.change_dtype, device=loaded.device)
            sides.append(Side(empty, torch.inf, 0))
        if place not in sentences:
            continue
        last = sides[-1]
        number = 0 if alone else sum(side.edits for side in sides[:-1]) // hyper["shard"]
        kept = mask(last.change, hyper, number)
        draw = generator(f"{hyper['seed']}/{edit.id}")
        other = others[int(torch.randint(len(others), (1,), generator=draw))]
        made, losses[place], steps[place] = train(
            loaded, name, hyper, (sentences[place], other), last.change, kept
        )
        if not made.change.isfinite().all():
            failed[place] = "diverged"
            continue
        sides[-1] = Side(made.change, min(last.least, made.least), last.edits + 1)
        if not alone:
            sides = merged(sides, hyper)
    groups = [[side] for side in sides] if alone else [sides]
    memories = Memories(
        torch.stack([torch.stack([side.change for side in group]) for group in groups]),
        torch.tensor(
            [[hyper["threshold"] * side.least for side in group] for group in groups],
            dtype=loaded.change_dtype,
            device=loaded.device,
        ),  # that of a memory without edits is infinite
    )
    memory = None if alone else sides
    return Edited(codebooks={name: memories}, failed=failed, steps=steps, losses=losses, memory=memory)


wise_together = partial(wise, alone=False)


def texts(loaded: Loaded, hyper: Hyper, artefacts: Artefacts) -> list[tuple[int, ...]]:
    """The tokens of the texts behind the first `contexts`; raises CannotEdit if there is none."""
    found = artefacts.prefixes[hyper["contexts"] + 1 :]
    rows = [align(loaded.tokenizer, text).ids[: loaded.spec.positions] for text in found]
    if not rows:
        raise CannotEdit(
            f"{hyper.method}.prefixes: of {len(artefacts.prefixes) - 1} texts the first {hyper['contexts']} "
            "(`contexts`) come before prompts, so that there is no text that is not to activate a memory"
        )
    return rows


def mask(change: Tensor, hyper: Hyper, number: int) -> Tensor:
    """The entries that shard `number` trains, each with the probability `ratio`; [d_out, d_in] of 0 and 1."""
    draw = generator(f"{hyper['seed']}/shard {number}")
    drawn = torch.rand(change.shape, generator=draw)
    return (drawn < float(hyper["ratio"])).to(change)


def train(
    loaded: Loaded,
    name: str,
    hyper: Hyper,
    sentences: tuple[Sequence[Sentence], Sequence[int]],
    change: Tensor,
    kept: Tensor,
) -> tuple[Side, float, int]:
    """Trains W' - W [d_out, d_in] on the prompts of an edit, beside a text that is not to activate it.

    Gradient descent on the mean loss of the targets and on the margins (eq. 7), on the entries `kept`; after
    each step every entry is kept within `norm_constraint`. Returns the loss and the number of steps, too.
    """
    rows, other = sentences
    targets = Targets(loaded, rows)
    every = [*targets.rows, tuple(other)]
    ends = torch.tensor([*(one.target - 1 for one in rows), len(other) - 1], device=loaded.device)
    fork = Fork(loaded, every, [0] * len(every), hyper["layer"])
    within = spans(torch.zeros_like(ends), ends, fork.hidden.shape[1])
    change = change.clone().requires_grad_(True)
    acts: list[Tensor] = []

    def add(taken: Tensor, given: Tensor) -> Tensor:
        acts[:] = [activations(taken, change, within)]
        more = torch.nn.functional.linear(taken.to(change.dtype), change)
        return (given.to(change.dtype) + more).to(given.dtype)

    before, loss = 0.0, torch.inf
    for step in range(hyper["steps"]):
        with torch.enable_grad(), hooked(loaded.model, {name: add}):
            written = targets.losses(fork.run(fork.hidden)[: len(rows)]).mean()
            whole = written + margins(acts[0][:-1], acts[0][-1], hyper)
            (slope,) = torch.autograd.grad(whole, change)
        settled = abs(loss - before) <= SETTLED and loss <= hyper["stop_loss"]
        before, loss = loss, whole.item()
        steps, activation = step, acts[0][:-1].mean().item()
        if settled:
            break
        with torch.no_grad():
            slope *= kept
            if hyper["weight_decay"]:
                slope += hyper["weight_decay"] * (matrix(loaded.model, name).to(change) + change)
            change -= hyper["lr"] * slope
            change.clamp_(-hyper["norm_constraint"], hyper["norm_constraint"])
        steps = step + 1
    return Side(change.detach(), activation, 1), loss, steps


def margins(edit: Tensor, other: Tensor, hyper: Hyper) -> Tensor:
    """The loss of eq. 5 on activations: [rows] of an edit's prompts, and that of another text.

    Each of its three terms is the mean over the rows where it is above 0.
    """
    alpha, beta, gamma = hyper["margins"]
    terms = [gamma - (edit - other), other[None] - alpha, beta - edit]
    found = [term[term > 0].mean() for term in terms if bool((term > 0).any())]
    return torch.stack(found).sum() if found else edit.new_zeros(())


def merged(sides: Sequence[Side], hyper: Hyper) -> list[Side]:
    """The side memories, of which the last `shards` are one if all are full shards."""
    last = sides[-hyper["shards"] :]
    if len(last) < hyper["shards"] or any(side.edits != hyper["shard"] for side in last):
        return list(sides)
    changes = [side.change for side in last]
    whole = ties(changes, changes[0].new_ones(len(last)), hyper["density"]) if len(last) > 1 else changes[0]
    one = Side(whole, min(side.least for side in last), sum(side.edits for side in last))
    return [*sides[: -hyper["shards"]], one]
