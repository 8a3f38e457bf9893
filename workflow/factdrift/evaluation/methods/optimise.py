"""What ROME and MEMIT share: the sentences of an edit, and the vector that makes the model say its object.

For each edit of a batch one vector is optimised: ROME's v*, at the output of the MLP's last matrix (Meng et
al., 2022, eq. 4), or MEMIT's z*, at the output of the block (Meng et al., 2023, eq. 16). Adam works element
by element, so edits in a batch take the same steps as alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from factdrift.core.progress import Progress, watched
from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit, Edited
from factdrift.evaluation.methods.shared import aligned_texts, changes_of_all
from factdrift.models.alignment import Sentence, align
from factdrift.models.deltas import LowRank
from factdrift.models.devices import free_bytes, in_batches
from factdrift.models.fork import Fork, unembedded
from factdrift.models.hooks import hooked, lean, stopping
from factdrift.models.loaded import Loaded
from factdrift.models.padding import padded

BETAS, EPSILON = (0.9, 0.999), 1e-8
"""Parameters of Adam, the defaults of torch."""
CPU_BYTES = 1 << 30
"""Memory of a batch on the CPU in bytes; larger batches are no faster there."""
SHARE = 0.6
"""Share of the free memory that a batch may use, by estimate."""
VALUES_PER_TOKEN = 28
"""Vectors of the hidden size that a block keeps for each token for the backward pass, measured in bfloat16:
GPT-J 28, GPT-2 25, Llama 16. A batch that is estimated too large costs a run, one too small hardly anything.
"""
LOGIT_BYTES = 12
"""For each entry of the vocabulary: the logit, its probability's logarithm, and a gradient, in float32."""
PADDED = 1.25
"""The tokens that a batch runs over those that it needs are at most this many times as many."""

Result = TypeVar("Result")


@dataclass(frozen=True)
class Contexts:
    """The sentences of one edit as tokens."""

    index: int
    """Index of the edit among the given edits."""
    prompts: tuple[Sentence, ...]
    """The prompt with the target after each prefix, the bare one first."""
    essence: Sentence

    @property
    def width(self) -> int:
        """The largest number of tokens that a step runs: the subject's last one to the last but one."""
        return max(len(sentence.ids) - 1 - (sentence.subject_last or 0) for sentence in self.prompts)


def contexts_of(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts
) -> tuple[list[Contexts], dict[int, str]]:
    """The contexts of the edits, sorted by width, and the reasons of the edits that have none, by index."""

    def texts(edit: Edit) -> list[Sentence]:
        prompts = [
            align(loaded.tokenizer, edit.prompt, edit.target, subject=edit.subject, context=prefix)
            for prefix in artefacts.prefixes
        ]
        essence = hyper["essence"].format(subject=edit.subject)
        return [*prompts, align(loaded.tokenizer, essence, subject=edit.subject)]

    aligned, failed = aligned_texts(loaded, edits, texts)
    contexts = [Contexts(index, tuple(prompts), essence) for index, (*prompts, essence) in aligned.items()]
    return sorted(contexts, key=lambda context: (context.width, context.index)), failed


def in_batches_of(
    loaded: Loaded, contexts: Sequence[Contexts], work: Callable[[Sequence[Contexts]], Result]
) -> list[Result]:
    """Runs `work` on batches of edits of similar width, in their order.

    The size is estimated from the free memory, and halved if it is too large.
    """
    results: list[Result] = []

    def counted(batch: Sequence[Contexts]) -> Result:
        result = work(batch)
        progress.advance(len(batch))
        return result

    texts = [text for context in contexts for text in (*context.prompts, context.essence)]
    longest = max((len(text.ids) for text in texts), default=0)
    with Progress("edits", len(contexts), "edits") as progress, lean(loaded.model, longest):
        for alike in _alike(contexts):
            sentences = [prompt for context in alike for prompt in context.prompts]
            need = edit_bytes(
                loaded,
                len(alike[0].prompts) + 1,
                max(context.width for context in alike),
                max(len(sentence.ids) for sentence in sentences),
                max(len(sentence.ids) - sentence.target for sentence in sentences),
            )
            size = max(1, int(SHARE * free_bytes(loaded.device, CPU_BYTES) / need))
            results += in_batches(alike, size, counted)
    return results


def _alike(contexts: Sequence[Contexts]) -> Iterator[Sequence[Contexts]]:
    """Edits in sorted order, cut where the padding to the widest would exceed PADDED."""
    start, needed = 0, 0
    for index, context in enumerate(contexts):
        if context.width * (index - start + 1) > PADDED * (needed + context.width):
            yield contexts[start:index]
            start, needed = index, 0
        needed += context.width
    if contexts:
        yield contexts[start:]


def edit_bytes(loaded: Loaded, rows: int, width: int, length: int, targets: int) -> int:
    """Bytes that the forward and backward pass of one edit takes.

    `rows`: its sentences, of `length` tokens of which the last `width` are run in each step, with `targets`
    tokens of the target.
    """
    spec = loaded.spec
    run = width * VALUES_PER_TOKEN
    kept = length * 2  # keys and values
    # Logits of each target token of a prompt, in float32, with gradients.
    logits = targets * LOGIT_BYTES * spec.vocabulary
    return rows * ((run + kept) * spec.layers * spec.hidden * loaded.dtype.itemsize + logits)


def hidden_states(
    loaded: Loaded, contexts: Sequence[Contexts], entering: str, leaving: str
) -> tuple[Tensor, Tensor]:
    """Hidden states at the subject's last token: the input of `entering` and the output of `leaving`.

    `leaving` is the same module or a later one. Both results are [E, prefixes, width], float64, for E edits
    with the same number of prefixes. Tokens after the subject are not run, since they have no effect.
    """
    sentences = [sentence for context in contexts for sentence in context.prompts]
    rows = [sentence.ids[: (sentence.subject_last or 0) + 1] for sentence in sentences]
    seen = at_end(loaded, rows, entering, leaving)
    first, second = (states.reshape(len(contexts), -1, states.shape[1]) for states in seen)
    return first, second


def at_end(
    loaded: Loaded, rows: Sequence[Sequence[int]], entering: str, leaving: str
) -> tuple[Tensor, Tensor]:
    """Hidden states at the last token of each row of tokens, as `hidden_states`: [rows, width], float64."""
    last = torch.tensor([len(row) - 1 for row in rows], device=loaded.device)
    every = torch.arange(len(rows), device=loaded.device)
    seen: dict[str, Tensor] = {}

    def see(name: str, value: Tensor) -> None:
        seen[name] = value[every, last].double()

    model = loaded.model
    with (
        torch.no_grad(),
        hooked(model, {entering: lambda taken, given: see("entering", taken)}),
        hooked(model, {leaving: lambda taken, given: see("leaving", given)}),
        stopping(model, leaving),
    ):
        model(padded(rows, loaded.device), use_cache=False)
    return seen["entering"], seen["leaving"]


@dataclass
class Optimised:
    """The result of the optimisation for E edits."""

    change: Tensor
    """[E, hidden] delta, the vector to add to the value."""
    steps: Tensor
    """[E] number of updates."""
    losses: Tensor
    """[E] the last loss that was computed."""
    keys: Tensor | None
    """[E, prefixes, inner] what the down projection takes in at the subject, float64, if delta is there."""
    outputs: Tensor
    """[E, prefixes, hidden] what delta is added to for every prefix, the bare prompt first, float64."""


def optimise(loaded: Loaded, contexts: Sequence[Contexts], hyper: Hyper, layer: int, *, at: str) -> Optimised:
    """Finds delta, which is added at the subject's last token to an output of block `layer`.

    `at`: `mlp`, the output of its down projection, or `block`. Weight decay and the bound on delta are
    relative to the norm of that output for the bare prompt.
    """
    batch = _Batch(loaded, contexts, hyper, layer, at)
    kind = loaded.change_dtype
    start_norm = batch.outputs[:, 0].to(kind).norm(dim=1)
    change = torch.zeros(len(contexts), loaded.spec.hidden, dtype=kind, device=loaded.device)
    first, second = torch.zeros_like(change), torch.zeros_like(change)
    steps = torch.zeros(len(contexts), dtype=torch.long, device=loaded.device)
    losses = torch.full((len(contexts),), torch.nan, dtype=kind, device=loaded.device)
    active = torch.arange(len(contexts), device=loaded.device)

    for step in watched(range(hyper["steps"]), f"values of {len(contexts):,} edits", "steps"):
        delta = change[active].requires_grad_(True)
        loss = batch.losses(delta)
        # As in the reference: the norm of delta is not squared, that of the start is.
        loss = loss + hyper["weight_decay"] * delta.norm(dim=1) / start_norm[active] ** 2
        losses[active] = loss.detach()
        # Waits for the device, which a step keeps busy for longer than the next one takes to be launched.
        going = (~(loss < hyper["stop_loss"])).nonzero()[:, 0]
        if not len(going) or step == hyper["steps"] - 1:
            break
        (gradient,) = torch.autograd.grad(loss.sum(), delta)
        if len(going) < len(active):
            active, delta, gradient = active[going], delta[going], gradient[going]
            batch.keep(going)
        first[active] = BETAS[0] * first[active] + (1 - BETAS[0]) * gradient
        second[active] = BETAS[1] * second[active] + (1 - BETAS[1]) * gradient**2
        mean = first[active] / (1 - BETAS[0] ** (step + 1))
        scale = (second[active] / (1 - BETAS[1] ** (step + 1))).sqrt() + EPSILON
        moved = delta.detach() - hyper["lr"] * mean / scale
        bound = hyper["clamp"] * start_norm[active]
        change[active] = moved * (bound / moved.norm(dim=1)).clamp(max=1)[:, None]
        steps[active] += 1
    return Optimised(change, steps, losses, batch.keys, batch.outputs)


def each_alone(
    loaded: Loaded,
    edits: Sequence[Edit],
    hyper: Hyper,
    artefacts: Artefacts,
    work: Callable[[Sequence[Contexts]], tuple[dict[str, LowRank], Optimised]],
) -> Edited:
    """The changes of all edits, each by itself; `work`: those of a batch, in its order."""
    contexts, failed = contexts_of(loaded, edits, hyper, artefacts)
    results = in_batches_of(loaded, contexts, work)
    if not results:
        return Edited(failed=failed)
    indices = [context.index for context in contexts]
    made = {}
    for name in results[0][0]:
        parts = [changes[name] for changes, _ in results]
        read, write = torch.cat([part.read for part in parts]), torch.cat([part.write for part in parts])
        made[name] = LowRank(read, write)
    deltas, diverged = changes_of_all(made, indices, len(edits))
    steps = torch.zeros(len(edits), dtype=torch.long, device=loaded.device)
    losses = torch.full((len(edits),), torch.nan, dtype=loaded.change_dtype, device=loaded.device)
    steps[indices] = torch.cat([found.steps for _, found in results])
    losses[indices] = torch.cat([found.losses for _, found in results])
    return Edited(deltas, failed=failed | diverged, steps=steps, losses=losses)


class _Batch:
    """The sentences of several edits, run from the subject's last token on, and their losses."""

    def __init__(self, loaded: Loaded, contexts: Sequence[Contexts], hyper: Hyper, layer: int, at: str):
        self.loaded, self.hyper = loaded, hyper
        rows: list[Sequence[int]] = []
        starts: list[int] = []
        for context in contexts:
            # The last token of the target is not run, nor what follows the divergence.
            subject = context.essence.subject_last or 0
            end = None if hyper["kl_at"] == "last" else subject + 1
            rows += [*(sentence.ids[:-1] for sentence in context.prompts), context.essence.ids[:end]]
            starts += [*(sentence.subject_last or 0 for sentence in context.prompts), subject]
        self.keys: Tensor | None = None
        spec = loaded.spec
        down = spec.module(layer, spec.down) if at == "mlp" else None
        # What is added behind the down projection is added behind the block, where nothing lies between.
        self.within = down if spec.no_target(layer) is not None else None
        self.factor = spec.residual_factor if down != self.within else 1.0

        def of_prompts(states: Tensor) -> Tensor:
            """[E, prefixes, width] from those of all rows at the start."""
            return states.reshape(len(contexts), -1, states.shape[1])[:, :-1].double()

        def record(keys: Tensor, outputs: Tensor) -> None:
            start = list(range(len(starts))), starts
            self.keys, self.outputs = of_prompts(keys[start]), of_prompts(outputs[start])

        with hooked(loaded.model, {} if down is None else {down: record}):
            self.fork = Fork(loaded, rows, starts, layer if self.within else layer + 1)
        if down is None:
            self.outputs = of_prompts(self.fork.hidden[:, 0])
        self.before: Tensor | None = None
        self._read(contexts)

    def _read(self, contexts: Sequence[Contexts]) -> None:
        """Sets where the losses of these edits are read in the rows that are run."""
        self.contexts = contexts
        owner: list[int] = []
        read: list[tuple[int, int, int, int, float]] = []  # edit, row, place, token, its weight in the loss
        essence: list[tuple[int, int]] = []  # row, place, behind those of the targets
        for edit, context in enumerate(contexts):
            for sentence in context.prompts:
                target = range(sentence.target, len(sentence.ids))
                # A token is predicted at the token before it.
                begin = (sentence.subject_last or 0) + 1
                weight = 1 / (len(target) * len(context.prompts))
                read += [(edit, len(owner), token - begin, sentence.ids[token], weight) for token in target]
                owner.append(edit)
            last = len(context.essence.ids) - 1 - (context.essence.subject_last or 0)
            essence.append((len(owner), last if self.hyper["kl_at"] == "last" else 0))
            owner.append(edit)
        device, kind = self.loaded.device, self.loaded.change_dtype
        self.owner = torch.tensor(owner, device=device)
        edits, rows, places, tokens, weights = zip(*read, strict=True)
        self.edit, self.token = torch.tensor(edits, device=device), torch.tensor(tokens, device=device)
        self.row, self.index = torch.tensor([*zip(rows, places, strict=True), *essence], device=device).T
        self.weight = torch.tensor(weights, dtype=kind, device=device)

    def losses(self, delta: Tensor) -> Tensor:
        """[E] negative log-likelihood of the target plus weighted KL on the essence prompt."""
        added = self.factor * delta

        def plus(value: Tensor) -> Tensor:
            """`value` [rows, tokens, hidden] with the vector of each row's edit at the first token."""
            first = value[:, :1] + added[self.owner].to(self.loaded.dtype)[:, None]
            return torch.cat([first, value[:, 1:]], 1)

        if self.within is None:
            hidden = self.fork.run(plus(self.fork.hidden))
        else:
            with hooked(self.loaded.model, {self.within: lambda _, output: plus(output)}):
                hidden = self.fork.run(self.fork.hidden)
        logs = unembedded(self.loaded, hidden[self.row, self.index]).log_softmax(1)
        target, drift = logs[: len(self.token)], logs[len(self.token) :]
        if self.before is None:
            self.before = drift.detach()
        likelihood = target.gather(1, self.token[:, None])[:, 0] * self.weight
        loss: Tensor = torch.zeros(len(delta), dtype=delta.dtype, device=delta.device)
        loss = loss.index_add(0, self.edit, -likelihood)
        # KL(after || before), the direction of the paper's eq. 4 and of the reference's code.
        weight: float = self.hyper["kl"]
        return loss + weight * (drift.exp() * (drift - self.before)).sum(1)

    def keep(self, edits: Tensor) -> None:
        """Drops all edits but these (indices, ascending)."""
        assert self.before is not None
        self.before = self.before[edits]
        self.fork.keep(torch.isin(self.owner, edits).nonzero()[:, 0])
        self._read([self.contexts[edit] for edit in edits.tolist()])
