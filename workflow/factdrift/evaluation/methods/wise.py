"""WISE (Wang et al. 2024, "WISE: Rethinking the Knowledge Memory", arXiv 2405.14768): edits in side memories.

A side memory is a copy W' of the down projection W of one late block, of which only W' - W is kept;
`models/memories.py` routes prompts through it. Each shard of edits is trained within a random subset of the
entries (section 2.3); full shards are merged by TIES, and further edits begin another memory. What the paper
leaves open is as in the released code, zjunlp/EasyEdit (docs/methods-beside.md). Imports torch.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import torch
from peft.utils.merge_utils import ties
from torch import Tensor

from factdrift.core.errors import CannotEdit
from factdrift.core.progress import watched
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.shared import Targets, aligned_texts, generator
from factdrift.models.alignment import Sentence, align
from factdrift.models.deltas import matrix
from factdrift.models.families import shape_of
from factdrift.models.fork import Fork
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded
from factdrift.models.memories import Memories, activations, spans

SETTLED = 1e-4
"""A training ends if its loss is small and changed by no more than this in a step, as in the reference."""


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
    for index, edit in enumerate(watched(edits, "side memories", "edits")):
        if alone or not sides or sides[-1].edits >= hyper["shard"]:
            empty = torch.zeros(shape, dtype=loaded.change_dtype, device=loaded.device)
            sides.append(Side(empty, torch.inf, 0))
        if index not in sentences:
            continue
        last = sides[-1]
        number = 0 if alone else sum(side.edits for side in sides[:-1]) // hyper["shard"]
        kept = mask(last.change, hyper, number)
        draw = generator(f"{hyper['seed']}/{edit.id}")
        other = others[int(torch.randint(len(others), (1,), generator=draw))]
        texts_of = sentences[index], other
        made, losses[index], steps[index] = train(loaded, name, hyper, texts_of, last.change, kept)
        if not made.change.isfinite().all():
            failed[index] = "diverged"
            continue
        sides[-1] = Side(made.change, min(last.least, made.least), last.edits + 1)
        if not alone:
            sides = merged(sides, hyper)
    groups = [[side] for side in sides] if alone else [sides]
    changes = torch.stack([torch.stack([side.change for side in group]) for group in groups])
    # That of a memory without edits is infinite.
    bounds = [[hyper["threshold"] * side.least for side in group] for group in groups]
    memories = Memories(changes, torch.tensor(bounds, dtype=loaded.change_dtype, device=loaded.device))
    memory = None if alone else sides
    return Edited(codebooks={name: memories}, failed=failed, steps=steps, losses=losses, memory=memory)


together = partial(wise, alone=False)


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
    ends = torch.tensor([*(row.target - 1 for row in rows), len(other) - 1], device=loaded.device)
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
    means = [term[term > 0].mean() for term in terms if bool((term > 0).any())]
    return torch.stack(means).sum() if means else edit.new_zeros(())


def merged(sides: Sequence[Side], hyper: Hyper) -> list[Side]:
    """The side memories, of which the last `shards` are one if all are full shards."""
    last = sides[-hyper["shards"] :]
    if len(last) < hyper["shards"] or any(side.edits != hyper["shard"] for side in last):
        return list(sides)
    changes = [side.change for side in last]
    whole = ties(changes, changes[0].new_ones(len(last)), hyper["density"]) if len(last) > 1 else changes[0]
    one = Side(whole, min(side.least for side in last), sum(side.edits for side in last))
    return [*sides[: -hyper["shards"]], one]
