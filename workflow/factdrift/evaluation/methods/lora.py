"""LoRA (Hu et al. 2022, arXiv 2106.09685): a change of low rank of several matrices is trained on facts.

Section 4.1: h = W x + (alpha / r) B A x, with A [r, d_in] random and B [d_out, r] zero at first; A and B are
trained, W is not. The loop is that of zjunlp/EasyEdit (`easyeditor/models/lora`). Changes are trained in
parallel, each with factors of its own. Imports torch.
"""

import contextlib
import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.progress import watched
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.shared import Targets, aligned, final_hidden, generator
from factdrift.models.alignment import Sentence
from factdrift.models.deltas import Deltas, LowRank
from factdrift.models.families import shape_of
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded

SEPARATE = ("q_proj", "v_proj")
"""The matrices of queries and values, where attention has one each; all families call them so."""


Group = tuple[Sequence[Sentence], Sequence[Sentence]]
"""What one change is trained on: updates, and texts that are replayed with them, in their order."""


def lora(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of low rank, one for each edit."""
    return edit_one(loaded, edits, hyper, lambda edit: [])


def edit_one(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, texts: Callable[[Edit], list[Sentence]]
) -> Edited:
    """Changes of low rank, one for each edit; `texts`: what is replayed with one."""
    sentences, failed = aligned(loaded, edits)
    training = Training(loaded, hyper, [edit.id for edit in edits])
    groups = {index: ([one], texts(edits[index])) for index, one in sentences.items()}
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    steps = torch.zeros(len(edits), dtype=torch.long)
    for index, loss in training.run(groups).items():
        losses[index], steps[index] = loss, hyper["steps"]
    fine = losses.isfinite() & training.finite().cpu()
    failed |= {index: "diverged" for index in sentences if not fine[index]}
    return Edited(training.deltas(), failed=failed, steps=steps, losses=losses)


def together(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change for all edits: each of `steps` rounds takes them in order, `batch` at a time."""
    sentences, failed = aligned(loaded, edits)
    rounds = math.ceil(len(sentences) / hyper["batch"])
    steps = torch.full((len(edits),), hyper["steps"] * rounds, dtype=torch.long)
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    deltas: Deltas = {}
    if sentences:
        deltas, found = one_change(loaded, edits, hyper, ([*sentences.values()], []))
        losses[list(sentences)] = found.to(losses)
    if not deltas:
        failed |= dict.fromkeys(sentences, "diverged")
    return Edited(deltas, failed=failed, steps=steps, losses=losses)


def one_change(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, group: Group) -> tuple[Deltas, Tensor]:
    """The change that is trained on a group, none if it diverges, and its last losses [sentences].

    The ids of `edits` seed it.
    """
    training = Training(loaded, hyper, ["\n".join(edit.id for edit in edits)])
    losses = training.run({0: group})[0]
    lasting = training.finite().all() and losses.isfinite().all()
    return training.deltas() if lasting else {}, losses


def target_names(loaded: Loaded, hyper: Hyper) -> list[str]:
    """The full names of the matrices that are trained.

    Without `targets` these are the matrices of queries and values or, where these have no matrices of their
    own or a block has something in the place of attention, all matrices of attention but the last. Raises
    InputError if a block that is named in `layers`, or the whole model, has no such matrix.
    """
    spec = loaded.spec
    matrices = [
        name
        for name, module in loaded.model.named_modules()
        # A quantized weight makes a linear map a class of its own.
        if isinstance(module, nn.Linear | Conv1D) or isinstance(getattr(module, "in_features", None), int)
    ]
    names: list[str] = []
    lacking = ""
    for layer in hyper["layers"] or range(spec.layers):
        if not hyper["targets"]:
            attention, _, out = spec.module(layer, spec.attention_out).rpartition(".")
            inside = [name.rpartition(".")[2] for name in matrices if name.rpartition(".")[0] == attention]
            chosen = SEPARATE if set(SEPARATE) <= {*inside} else [name for name in inside if name != out]
            names += [f"{attention}.{name}" for name in chosen]
        for part in hyper["targets"]:
            with contextlib.suppress(CannotEdit):
                name = spec.module(layer, part)
                if name in matrices:
                    names.append(name)
                    continue
            lacking = lacking or f"{spec.module(layer, '')}.{part}"
    if not names or (lacking and hyper["layers"]):
        what = lacking if hyper["layers"] else ", ".join(hyper["targets"]) or "of queries and values"
        raise InputError(
            f"{hyper.method}.targets: {loaded.name} has no matrix {what}; name matrices as within a block, "
            f"such as {spec.down}"
        )
    return names


class Batch:
    """Sentences that are run together, and which change each of them trains."""

    def __init__(self, loaded: Loaded, rows: Sequence[tuple[int, Sentence]], weight: float = 1.0):
        """`rows`: numbers of changes, and sentences. `weight`: of these beside other batches of a step."""
        sentences = [sentence for _, sentence in rows]
        self.targets = Targets(loaded, sentences)
        self.numbers = [number for number, _ in rows]
        self.owner = torch.tensor(self.numbers, device=loaded.device)
        lengths = [len(sentence.ids) - sentence.target for sentence in sentences]
        counts = torch.tensor(lengths, device=loaded.device)
        # A change is trained on the mean over all target tokens of its sentences.
        whole = ((self.owner[:, None] == self.owner) * counts).sum(1)
        self.weights = weight * counts / whole


def dropped(taken: Tensor, batch: Batch, share: float, noise: Sequence[torch.Generator]) -> Tensor:
    """Inputs [rows, tokens, d_in] of a matrix, a share of each row set to zero by its change's generator."""
    if not share:
        return taken
    kept = torch.ones_like(taken)
    for row, number in enumerate(batch.numbers):
        own = kept[row, : len(batch.targets.rows[row])]
        drawn = torch.rand(own.shape, generator=noise[number], dtype=own.dtype, device=own.device)
        own.copy_((drawn >= share).to(own.dtype) / (1 - share))
    return taken * kept


class Training:
    """The factors A and B of each change, and their Adam optimiser."""

    def __init__(self, loaded: Loaded, hyper: Hyper, seeds: Sequence[str]):
        """`seeds`: one text for each change; the same text gives the same initial values, in any batch."""
        self._loaded, self._hyper = loaded, hyper
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

    def run(self, groups: Mapping[int, Group]) -> dict[int, Tensor]:
        """Trains the change of each group, by its number; returns the last losses [sentences] of its updates.

        Each of `steps` rounds takes the updates of all groups in order, `batch` of each at a time, and with
        them the next `replayed` texts. A step minimises the mean over the target tokens of the updates plus
        `weight` times the mean over the tokens of the texts.
        """
        hyper, turns = self._hyper, dict.fromkeys(groups, 0)
        most, size = max((len(updates) for updates, _ in groups.values()), default=0), hyper["batch"]
        found: dict[int, list[Tensor]] = {}
        batches: dict[int, Batch] = {}  # of updates, which are the same in each round
        for _ in watched(range(hyper["steps"]), "adapters", "steps"):
            found = {number: [] for number in groups}
            for at in range(0, most, size):
                rows = [
                    (number, update)
                    for number, (updates, _) in groups.items()
                    for update in updates[at:][:size]
                ]
                texts = []
                for number in dict.fromkeys(number for number, _ in rows):
                    _, pool = groups[number]
                    for _ in range(hyper["replayed"] if pool else 0):
                        texts.append((number, pool[turns[number] % len(pool)]))
                        turns[number] += 1
                self._adam.zero_grad()
                if at not in batches:
                    batches[at] = Batch(self._loaded, rows)
                losses = self._backward(batches[at])
                if texts:
                    self._backward(Batch(self._loaded, texts, hyper["weight"]))
                self._adam.step()
                for (number, _), loss in zip(rows, losses, strict=True):
                    found[number].append(loss)
        return {number: torch.stack(losses) for number, losses in found.items()}

    def _backward(self, batch: Batch) -> Tensor:
        """Adds the gradients of a batch; returns the losses of its sentences."""

        def add(name: str, taken: Tensor, given: Tensor) -> Tensor:
            a, b = self.a[name][batch.owner], self.b[name][batch.owner]
            inputs = taken.to(a.dtype).flatten(1, -2)
            entered = dropped(inputs, batch, self._hyper["dropout"], self._noise)
            change = entered @ a.transpose(1, 2) @ b.transpose(1, 2)
            out: Tensor = (given.to(a.dtype) + self._scale * change.view(given.shape)).to(given.dtype)
            return out

        hooks = {name: partial(add, name) for name in self.a}
        with torch.enable_grad(), hooked(self._loaded.model, hooks):
            losses = batch.targets.losses(final_hidden(self._loaded, batch.targets.rows))
            (losses * batch.weights).sum().backward()  # type: ignore[no-untyped-call]
        return losses.detach()

    @torch.no_grad()
    def finite(self) -> Tensor:
        """[changes] whether all numbers of a change are finite."""
        parts = [value.isfinite().all(2).all(1) for value in (*self.a.values(), *self.b.values())]
        return torch.stack(parts).all(0)

    @torch.no_grad()
    def deltas(self) -> Deltas:
        """The changes of each matrix."""
        return {
            name: LowRank(a.detach().transpose(1, 2).clone(), self._scale * self.b[name].detach())
            for name, a in self.a.items()
        }
