"""LoRA, its merges, and replay: a change of low rank of several matrices is trained on facts, as an adapter.

LoRA (Hu et al. 2022, arXiv 2106.09685, section 4.1): h = W x + (alpha / r) B A x, with A [r, d_in] random and
B [d_out, r] zero at first; A and B are trained, W is not. The loop is that of zjunlp/EasyEdit
(`easyeditor/models/lora`). Changes are trained in parallel, each with factors of its own.

Merging makes adapters that were each trained on the unedited model one change: a weighted sum, TIES (Yadav et
al. 2023, arXiv 2306.01708, section 3) or DARE (Yu et al. 2024, arXiv 2311.03099, section 3.2), by peft's
functions, on whole changes B A and not on the factors. Replay trains one adapter on all updates so far, with
texts that the model wrote itself before any edit (Huang et al. 2024, arXiv 2403.01244); those that name the
subject of an update are left out, because they may state what it replaces. docs/methods-beside.md tells how.
Imports torch.
"""

import contextlib
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.mend import final_hidden
from factdrift.evaluation.methods.shared import Targets, aligned, generator
from factdrift.models.alignment import Sentence, untemplated
from factdrift.models.deltas import Deltas, Dense, LowRank
from factdrift.models.families import shape_of
from factdrift.models.hooks import hooked
from factdrift.models.loaded import Loaded

SEPARATE = ("q_proj", "v_proj")
"""The matrices of queries and values, where attention has one each; all families call them so."""
END = ". "
"""What follows each text where it is kept (`shared.py`)."""

Group = tuple[Sequence[Sentence], Sequence[Sentence]]
"""What one change is trained on: updates, and texts that are replayed with them, in their order."""
Kept = tuple[str, str, str, str]
"""Id, prompt, subject and target of an update."""


def lora(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """Changes of low rank, one for each edit; by replay, if the method has a key `replayed`."""
    sentences, failed = aligned(loaded, edits)
    training = Training(loaded, hyper, [edit.id for edit in edits])
    groups: dict[int, Group] = {}
    for place, sentence in sentences.items():
        texts = replayed(loaded, [edits[place]], hyper, artefacts) if "replayed" in hyper else []
        groups[place] = [sentence], texts
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    steps = torch.zeros(len(edits), dtype=torch.long)
    for place, loss in training.run(groups).items():
        losses[place], steps[place] = loss, hyper["steps"]
    fine = losses.isfinite() & training.finite().cpu()
    failed |= {place: "diverged" for place in sentences if not fine[place]}
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


def replay(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """One change for all edits so far, without those that these replace, trained from the unedited model.

    `memory`: the updates so far (`Kept`). If the training diverges, all stays as it was.
    """
    sentences, failed = aligned(loaded, edits)
    gone = {name for edit in edits for name in edit.replaces}
    earlier: list[Kept] = list(artefacts.memory or ())
    kept = [one for one in earlier if one[0] not in gone]
    fresh = [edits[place] for place in sentences]
    kept += [(edit.id, edit.prompt, edit.subject, edit.target) for edit in fresh]
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype)
    made = Edited(artefacts.before, failed=failed, losses=losses, memory=earlier)
    if sentences:
        so_far = [Edit(*one) for one in kept]
        group = [*aligned(loaded, so_far)[0].values()], replayed(loaded, so_far, hyper, artefacts)
        deltas, found = one_change(loaded, so_far, hyper, group)
        losses[list(sentences)] = found[-len(sentences) :].to(losses)
        if deltas:
            made.deltas, made.memory = deltas, kept
        else:
            failed |= dict.fromkeys(sentences, "diverged")
    return made


def replayed(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> list[Sentence]:
    """The texts that name no subject of these edits, in an order that depends on the seed and the edits' ids.

    All tokens but the first are targets. Raises CannotEdit if there is no such text.
    """
    tokenizer = untemplated(loaded.tokenizer)
    subjects = {edit.subject for edit in edits}
    texts = [text.removesuffix(END) for text in artefacts.prefixes if text]
    left = [text for text in texts if not any(subject in text for subject in subjects)]
    rows = [tuple(tokenizer(text)["input_ids"][: loaded.spec.positions]) for text in left]
    rows = [row for row in rows if len(row) > 1]
    if not rows:
        raise CannotEdit(
            f"{hyper.method} on {loaded.name}: of {len(texts)} texts that the model wrote, none is without "
            f"the subjects of {len(edits)} updates; ask for more of them ({hyper.method}.prefixes)"
        )
    draw = generator(f"{hyper['seed']}/replay " + "\n".join(edit.id for edit in edits))
    return [Sentence(rows[place], None, 1) for place in torch.randperm(len(rows), generator=draw).tolist()]


def merge(loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts) -> Edited:
    """The merge of all adapters so far: `turn` edits make one, or all edits if that is 0.

    `memory`: the adapters, in the order of their training.
    """
    size = hyper["turn"] or max(len(edits), 1)
    starts = range(0, len(edits), size)
    made = [together(loaded, edits[start : start + size], hyper, Artefacts()) for start in starts]
    adapters: list[Deltas] = [*(artefacts.memory or ()), *(one.deltas for one in made if one.deltas)]
    return Edited(
        _merged(adapters, hyper),
        failed={
            start + place: reason
            for start, one in zip(starts, made, strict=True)
            for place, reason in one.failed.items()
        },
        steps=torch.cat([one.steps for one in made if one.steps is not None]),
        losses=torch.cat([one.losses for one in made if one.losses is not None]),
        memory=adapters,
    )


def _merged(adapters: Sequence[Deltas], hyper: Hyper) -> Deltas:
    """One change of each matrix, with the weights of `weights_of`; none without adapters.

    A weighted sum has the factors of all adapters. The other combinations are full matrices.
    """
    found: Deltas = {}
    weights = weights_of(len(adapters), hyper)
    for name in adapters[0] if adapters else ():
        parts = [part for adapter in adapters if isinstance(part := adapter[name], LowRank)]  # all are
        if hyper["combination"] == "linear":
            write = [weight * part.write for weight, part in zip(weights, parts, strict=True)]
            found[name] = LowRank(torch.cat([part.read for part in parts], 2), torch.cat(write, 2))
        else:
            found[name] = Dense(_combined([part.dense(0)[0] for part in parts], weights, name, hyper)[None])
    return found


def weights_of(count: int, hyper: Hyper) -> list[float]:
    """The weight of each adapter: `weight`, times `decay` for each one after it; divided by their number with
    `mean`."""
    share = hyper["weight"] / (count if hyper["mean"] and count else 1)
    return [share * hyper["decay"] ** later for later in reversed(range(count))]


def _combined(changes: Sequence[Tensor], weights: Sequence[float], name: str, hyper: Hyper) -> Tensor:
    """The combination [d_out, d_in] of the changes of one matrix.

    The entries that DARE keeps of an adapter depend on the seed, the matrix and the adapter's place only.
    """
    from peft.utils import merge_utils

    function: Any = getattr(merge_utils, hyper["combination"])
    first = changes[0]
    devices = [first.device] if first.device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(generator(f"{hyper['seed']}/{name}").initial_seed())
        found: Tensor = function(list(changes), first.new_tensor(weights), hyper["density"])
    return found


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


class Drops:
    """Which inputs of A are set to zero in one step; drawn at once for each change, by its generator.

    A change has `width` numbers for each token of its sentences: matrix after matrix in the order in which
    they run, in each sentence after sentence.
    """

    def __init__(
        self,
        targets: Targets,
        owner: Tensor,
        share: float,
        noise: Sequence[torch.Generator],
        width: int,
        kind: torch.dtype,
    ):
        """`owner` [sentences]: the change of each. `share`: of the inputs. `kind`: of the random numbers."""
        self._share, self._done = share, 0
        self._length = torch.tensor([len(row) for row in targets.rows], device=owner.device)
        own = (owner[:, None] == owner) * self._length
        # Of each sentence: the tokens of its change, those before its own, and where its change begins.
        self._tokens, self._before = own.sum(1), own.tril(-1).sum(1)
        self._begin = width * ((owner[:, None] > owner) * self._length).sum(1)
        tokens = dict(sorted(zip(owner.tolist(), self._tokens.tolist(), strict=True)))
        drawn = [
            torch.rand(width * count, generator=noise[number], dtype=kind, device=owner.device)
            for number, count in tokens.items()
        ]
        self._kept = torch.cat(drawn) >= share

    def of(self, taken: Tensor) -> Tensor:
        """Inputs [rows, tokens, d_in] of the next matrix, a share of them set to zero."""
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
        for _ in range(hyper["steps"]):
            found = {number: [] for number in groups}
            for at in range(0, most, size):
                rows = [
                    (number, one) for number, (updates, _) in groups.items() for one in updates[at:][:size]
                ]
                texts = []
                for number in dict.fromkeys(number for number, _ in rows):
                    _, pool = groups[number]
                    for _ in range(hyper["replayed"] if pool else 0):
                        texts.append((number, pool[turns[number] % len(pool)]))
                        turns[number] += 1
                self._adam.zero_grad()
                losses = self._backward(rows, 1.0)
                if texts:
                    self._backward(texts, hyper["weight"])
                self._adam.step()
                for (number, _), loss in zip(rows, losses, strict=True):
                    found[number].append(loss)
        return {number: torch.stack(losses) for number, losses in found.items()}

    def _backward(self, rows: Sequence[tuple[int, Sentence]], weight: float) -> Tensor:
        """Adds the gradients of sentences, each with the number of its change; returns their losses."""
        loaded, share = self._loaded, self._hyper["dropout"]
        sentences = [one for _, one in rows]
        targets = Targets(loaded, sentences)
        owner = torch.tensor([number for number, _ in rows], device=loaded.device)
        counts = torch.tensor([len(one.ids) - one.target for one in sentences], device=loaded.device)
        # A change is trained on the mean over all target tokens of its sentences.
        weights = weight * counts / ((owner[:, None] == owner) * counts).sum(1)
        width = sum(a.shape[2] for a in self.a.values())
        drops = Drops(targets, owner, share, self._noise, width, loaded.change_dtype) if share else None

        def add(name: str, taken: Tensor, given: Tensor) -> Tensor:
            a, b = self.a[name][owner], self.b[name][owner]
            entered = taken.to(a.dtype).flatten(1, -2)
            entered = drops.of(entered) if drops else entered
            change = entered @ a.transpose(1, 2) @ b.transpose(1, 2)
            out: Tensor = (given.to(a.dtype) + self._scale * change.view(given.shape)).to(given.dtype)
            return out

        hooks = {name: partial(add, name) for name in self.a}
        with torch.enable_grad(), hooked(loaded.model, hooks):
            losses = targets.losses(final_hidden(loaded, targets.rows))
            (losses * weights).sum().backward()  # type: ignore[no-untyped-call]
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
