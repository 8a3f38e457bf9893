"""LoRA (Hu et al. 2022, arXiv 2106.09685): a change of low rank of several matrices is trained on one fact.

Section 4.1: h = W x + (alpha / r) B A x, with A [r, d_in] random and B [d_out, r] zero at first, so that the
change begins at zero; A and B are trained, W is not. The loop is that of zjunlp/EasyEdit
(`easyeditor/models/lora`): a fixed number of steps of Adam on the mean loss of the target's tokens. All edits
are trained in parallel, each with factors of its own. Imports torch.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.mend import final_hidden
from factdrift.evaluation.methods.seeds import generator
from factdrift.evaluation.methods.targets import Targets, aligned
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import Deltas, LowRank
from factdrift.models.families import shape_of
from factdrift.models.hooks import After, hooked
from factdrift.models.loaded import Loaded

SEPARATE = ("q_proj", "v_proj")
"""The matrices of queries and values, where attention has one each; all families call them so."""


def lora(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of low rank, one for each edit."""
    sentences, failed = aligned(loaded, edits)
    training = Training(loaded, hyper, [edit.id for edit in edits])
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    places = list(sentences)
    if places:
        batch = Batch(loaded, [sentences[place] for place in places], places)
        for _ in range(hyper["steps"]):
            losses[places] = training.step(batch).cpu()
    fine = losses.isfinite() & training.finite().cpu()
    failed |= {place: "diverged" for place in places if not fine[place]}
    steps = torch.zeros(len(edits), dtype=torch.long)
    steps[places] = hyper["steps"]
    return Edited(training.deltas(without=failed), failed=failed, steps=steps, losses=losses)


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change for all edits: each of `steps` rounds takes them in order, `batch` at a time."""
    sentences, failed = aligned(loaded, edits)
    training = Training(loaded, hyper, ["\n".join(edit.id for edit in edits)])
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    places, size = list(sentences), hyper["batch"]
    batches = [
        (part, Batch(loaded, [sentences[place] for place in part], [0] * len(part)))
        for part in (places[at : at + size] for at in range(0, len(places), size))
    ]
    for _ in range(hyper["steps"]):
        for part, batch in batches:
            losses[part] = training.step(batch).cpu()
    if not (bool(training.finite()) and losses[places].isfinite().all()):
        failed |= dict.fromkeys(places, "diverged")
    owner = [-1 if place in failed else 0 for place in range(len(edits))]
    steps = torch.full((len(edits),), hyper["steps"] * len(batches), dtype=torch.long)
    lasting = places and not failed.keys() >= set(places)
    deltas = training.deltas() if lasting else {}
    return Edited(deltas, failed=failed, owner=owner, steps=steps, losses=losses)


def target_names(loaded: Loaded, hyper: Hyper) -> list[str]:
    """The full names of the matrices that are trained.

    Without `targets` these are the matrices of queries and values or, where these have no matrices of their
    own or a block has something in the place of attention, all matrices of attention but the last. Raises
    InputError if a block that is named in `layers`, or the whole model, has no such matrix.
    """
    spec = loaded.spec
    names: list[str] = []
    for layer in hyper["layers"] or range(spec.layers):
        for part in hyper["targets"] or _attention(loaded, layer):
            name = _matrix(loaded, layer, part)
            if name is not None:
                names.append(name)
            elif hyper["layers"]:
                raise _lacking(loaded, hyper, spec.module(layer, "") + "." + part)
    if not names:
        raise _lacking(loaded, hyper, ", ".join(hyper["targets"]) or "of queries and values")
    return names


def _attention(loaded: Loaded, layer: int) -> list[str]:
    """The matrices of attention that are trained by default, as named within a block."""
    spec = loaded.spec
    whole, _, out = spec.module(layer, spec.attention_out).rpartition(".")
    within = whole.removeprefix(spec.module(layer, "") + ".")
    module = loaded.model.get_submodule(whole)
    matrices = [name for name, one in module.named_children() if _is_matrix(one)]
    chosen = SEPARATE if set(SEPARATE) <= set(matrices) else [name for name in matrices if name != out]
    return [f"{within}.{name}" for name in chosen]


def _matrix(loaded: Loaded, layer: int, part: str) -> str | None:
    """The full name of a matrix of a block, None if the block has no such matrix."""
    try:
        name = loaded.spec.module(layer, part)
        found = loaded.model.get_submodule(name)
    except (AttributeError, CannotEdit):
        return None
    return name if _is_matrix(found) else None


def _is_matrix(module: nn.Module) -> bool:
    """Whether a module is a linear map, also one whose quantized weight makes it a class of its own."""
    return isinstance(module, nn.Linear | Conv1D) or isinstance(getattr(module, "in_features", None), int)


def _lacking(loaded: Loaded, hyper: Hyper, what: str) -> InputError:
    return InputError(
        f"{hyper.method}.targets: {loaded.name} has no matrix {what}; name matrices as within a block, such "
        f"as {loaded.spec.down}"
    )


class Batch:
    """Sentences that are run together, and which change each of them trains."""

    def __init__(
        self, loaded: Loaded, sentences: Sequence[Sentence], owners: Sequence[int], weight: float = 1.0
    ):
        """`weight`: of these sentences beside other batches of a step."""
        self.targets = Targets(loaded, sentences)
        self.owners = list(owners)
        self.owner = torch.tensor(self.owners, device=loaded.device)
        counts = torch.tensor([len(one.ids) - one.target for one in sentences], device=loaded.device)
        whole = torch.zeros(max(owners) + 1, dtype=torch.long, device=loaded.device)
        # A change is trained on the mean over all target tokens of its sentences.
        self.weights = weight * counts / whole.index_add(0, self.owner, counts)[self.owner]


class Drops:
    """Which inputs of A are set to zero in one step; drawn at once for each change, by its generator.

    A change has `width` numbers for each token of its sentences: matrix after matrix in the order in which
    they run, in each sentence after sentence.
    """

    def __init__(
        self, batch: Batch, share: float, noise: Sequence[torch.Generator], width: int, kind: torch.dtype
    ):
        """`share`: of the inputs, set to zero. `kind`: the type in which random numbers are drawn."""
        self._share, self._done = share, 0
        if not share:
            return
        lengths = [len(row) for row in batch.targets.rows]
        tokens = dict.fromkeys(sorted(batch.owners), 0)
        before = []
        for owner, length in zip(batch.owners, lengths, strict=True):
            before.append(tokens[owner])
            tokens[owner] += length
        device = batch.owner.device
        drawn = [
            torch.rand(width * count, generator=noise[owner], dtype=kind, device=device) >= share
            for owner, count in tokens.items()
        ]
        begins = dict(zip(tokens, accumulate((len(part) for part in drawn), initial=0), strict=False))
        self._kept = torch.cat(drawn)
        each = zip(batch.owners, lengths, strict=True)
        rows = [(begins[owner], tokens[owner], length) for owner, length in each]
        self._begin, self._tokens, self._length = torch.tensor(rows, device=device).T
        self._before = torch.tensor(before, device=device)

    def of(self, taken: Tensor) -> Tensor:
        """Inputs [rows, tokens, d_in] of the next matrix, a share of them set to zero."""
        if not self._share:
            return taken
        _, most, width = taken.shape
        start = self._begin + self._tokens * self._done + self._before * width
        self._done += width
        place = torch.arange(most * width, device=taken.device).view(most, width)
        real = (torch.arange(most, device=taken.device) < self._length[:, None])[:, :, None]
        kept = self._kept.take(torch.where(real, start[:, None, None] + place, 0))
        return taken * torch.where(real, kept.to(taken.dtype) / (1 - self._share), 1)


class Training:
    """The factors A and B of each change, and their Adam optimiser."""

    def __init__(self, loaded: Loaded, hyper: Hyper, seeds: Sequence[str]):
        """`seeds`: one text for each change; the same text gives the same initial values, in any batch."""
        self._loaded, self._dropout = loaded, hyper["dropout"]
        self._scale = hyper["alpha"] / hyper["rank"]
        drawing = [generator(f"{hyper['seed']}/{seed}") for seed in seeds]
        self._noise = [generator(f"{hyper['seed']}/{seed}", loaded.device) for seed in seeds]
        kind, rank = loaded.change_dtype, hyper["rank"]
        self.a: dict[str, Tensor] = {}
        """Matrix -> [changes, rank, d_in]"""
        self.b: dict[str, Tensor] = {}
        """Matrix -> [changes, d_out, rank]"""
        for name in target_names(loaded, hyper):
            out, into = shape_of(loaded.model.get_submodule(name))
            # Kaiming's uniform distribution with a = sqrt(5), as in peft.
            drawn = [torch.rand(rank, into, generator=draw, dtype=kind) for draw in drawing]
            a = (2 * torch.stack(drawn) - 1) / math.sqrt(into)
            self.a[name] = a.to(loaded.device).requires_grad_(True)
            b = torch.zeros(len(seeds), out, rank, dtype=kind, device=loaded.device)
            self.b[name] = b.requires_grad_(True)
        parameters = [*self.a.values(), *self.b.values()]
        # Adam works element by element, so edits in a batch take the same steps as alone.
        self._adam = torch.optim.Adam(parameters, lr=hyper["lr"], weight_decay=hyper["weight_decay"])

    def step(self, *batches: Batch) -> Tensor:
        """One step of Adam on all sentences; returns the losses [sentences] of the first batch before it."""
        width = sum(a.shape[2] for a in self.a.values())
        self._adam.zero_grad()
        found = []
        for batch in batches:
            drops = Drops(batch, self._dropout, self._noise, width, self._loaded.change_dtype)
            with torch.enable_grad(), hooked(self._loaded.model, self._hooks(batch, drops)):
                losses = batch.targets.losses(final_hidden(self._loaded, batch.targets.rows))
                (losses * batch.weights).sum().backward()  # type: ignore[no-untyped-call]
            found.append(losses.detach())
        self._adam.step()
        return found[0]

    def _hooks(self, batch: Batch, drops: Drops) -> dict[str, After]:
        def adding(name: str) -> After:
            def add(taken: Tensor, given: Tensor) -> Tensor:
                a, b = self.a[name][batch.owner], self.b[name][batch.owner]
                entered = drops.of(taken.to(a.dtype).flatten(1, -2))
                change = entered @ a.transpose(1, 2) @ b.transpose(1, 2)
                out: Tensor = (given.to(a.dtype) + self._scale * change.view(given.shape)).to(given.dtype)
                return out

            return add

        return {name: adding(name) for name in self.a}

    @torch.no_grad()
    def finite(self) -> Tensor:
        """[changes] whether all numbers of a change are finite."""
        parts = [value.isfinite().all(2).all(1) for value in (*self.a.values(), *self.b.values())]
        return torch.stack(parts).all(0)

    @torch.no_grad()
    def deltas(self, without: Sequence[int] | dict[int, str] = ()) -> Deltas:
        """The changes; zero for those whose index is in `without`."""
        found: Deltas = {}
        for name, a in self.a.items():
            read, write = a.detach().transpose(1, 2).clone(), self._scale * self.b[name].detach()
            for factor in (read, write):
                factor[list(without)] = 0
            found[name] = LowRank(read, write)
        return found
