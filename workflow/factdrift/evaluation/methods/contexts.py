"""The sentences that ROME and MEMIT run for an edit, and hidden states at one token of each text.

The sentences are the prompt after each prefix, and the essence prompt.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from factdrift.evaluation.methods.hyperparameters import Hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.models.alignment import AlignmentError, Sentence, align
from factdrift.models.hooks import hooked, stopping
from factdrift.models.loaded import Loaded
from factdrift.models.memory import free_bytes, in_batches
from factdrift.models.padding import padded

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

    place: int
    """Index of the edit among the given edits."""
    prompts: tuple[Sentence, ...]
    """The prompt with the target after each prefix, the bare one first."""
    essence: Sentence

    @property
    def width(self) -> int:
        """The largest number of tokens from the subject's last token on; these are run in each step."""
        return max(len(sentence.ids) - (sentence.subject_last or 0) for sentence in self.prompts)

    @property
    def length(self) -> int:
        """The largest number of tokens of a sentence."""
        return max(len(sentence.ids) for sentence in self.prompts)


def contexts_of(
    loaded: Loaded, edits: Sequence[Edit], hyper: Hyper, artefacts: Artefacts
) -> tuple[list[Contexts], dict[int, str]]:
    """The contexts of the edits, sorted by width, and the reasons of the edits that have none, by index."""
    found: list[Contexts] = []
    failed: dict[int, str] = {}
    for place, edit in enumerate(edits):
        try:
            prompts = tuple(
                align(loaded.tokenizer, edit.prompt, edit.target, subject=edit.subject, context=prefix)
                for prefix in artefacts.prefixes
            )
            text = hyper["essence"].format(subject=edit.subject)
            essence = align(loaded.tokenizer, text, subject=edit.subject)
        except AlignmentError as error:
            failed[place] = error.reason
            continue
        if max(len(sentence.ids) for sentence in (*prompts, essence)) > loaded.spec.positions:
            failed[place] = "too_long"
            continue
        found.append(Contexts(place, prompts, essence))
    return sorted(found, key=lambda one: (one.width, one.place)), failed


def in_batches_of(
    loaded: Loaded, contexts: Sequence[Contexts], work: Callable[[Sequence[Contexts]], Result]
) -> list[Result]:
    """Runs `work` on batches of edits of similar width, in their order.

    The size is estimated from the free memory, and halved if it is too large.
    """
    results: list[Result] = []
    for alike in _alike(contexts):
        results += in_batches(alike, _size(loaded, alike), work)
    return results


def _alike(contexts: Sequence[Contexts]) -> Iterator[Sequence[Contexts]]:
    """Edits in sorted order, cut where the padding to the widest would exceed PADDED."""
    start, needed = 0, 0
    for place, one in enumerate(contexts):
        if one.width * (place - start + 1) > PADDED * (needed + one.width):
            yield contexts[start:place]
            start, needed = place, 0
        needed += one.width
    if contexts:
        yield contexts[start:]


def _size(loaded: Loaded, contexts: Sequence[Contexts]) -> int:
    """The number of edits whose forward and backward pass fits into the free memory, by estimate."""
    rows = len(contexts[0].prompts) + 1
    width, length = max(one.width for one in contexts), max(one.length for one in contexts)
    targets = max(len(one.ids) - one.target for each in contexts for one in each.prompts)
    need = edit_bytes(loaded, rows, width, length, targets)
    return max(1, int(SHARE * free_bytes(loaded.device, CPU_BYTES) / need))


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


def look(loaded: Loaded, contexts: Sequence[Contexts], entering: str, leaving: str) -> tuple[Tensor, Tensor]:
    """Hidden states at the subject's last token: the input of `entering` and the output of `leaving`.

    `leaving` is the same module or a later one. Both results are [E, prefixes, width], float64, for E edits
    with the same number of prefixes. Tokens after the subject are not run, since they have no effect.
    """
    sentences = [sentence for one in contexts for sentence in one.prompts]
    rows = [sentence.ids[: (sentence.subject_last or 0) + 1] for sentence in sentences]
    seen = at_end(loaded, rows, entering, leaving)
    first, second = (states.reshape(len(contexts), -1, states.shape[1]) for states in seen)
    return first, second


def at_end(
    loaded: Loaded, rows: Sequence[Sequence[int]], entering: str, leaving: str
) -> tuple[Tensor, Tensor]:
    """Hidden states at the last token of each row of tokens, as `look`; both are [rows, width], float64."""
    last = torch.tensor([len(row) - 1 for row in rows], device=loaded.device)
    each = torch.arange(len(rows), device=loaded.device)
    seen: dict[str, Tensor] = {}

    def see(name: str, value: Tensor) -> None:
        seen[name] = value[each, last].double()

    model = loaded.model
    with (
        torch.no_grad(),
        hooked(model, {entering: lambda taken, given: see("entering", taken)}),
        hooked(model, {leaving: lambda taken, given: see("leaving", given)}),
        stopping(model, leaving),
    ):
        model(padded(rows, loaded.device), use_cache=False)
    return seen["entering"], seen["leaving"]
