"""The sentences that ROME and MEMIT run for an edit: the prompt after each prefix, and the essence prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from factdrift.edit.methods.hyperparameters import Hyper
from factdrift.edit.methods.interface import Artefacts, Edit
from factdrift.models.alignment import AlignmentError, Sentence, align
from factdrift.models.loading import Loaded
from factdrift.models.memory import free_bytes, in_batches

CPU_BYTES = 1 << 30
"""Memory of a batch on the CPU in bytes; larger batches are no faster there."""
SHARE = 0.6
"""Share of the free memory that a batch may use, by estimate."""
VALUES_PER_TOKEN = 9
"""Vectors of the hidden size that a block keeps for each token for the backward pass."""

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
    """Runs `work` on batches of edits; the size is estimated from the free memory and halved if too large."""
    if not contexts:
        return []
    spec = loaded.spec
    rows = len(contexts[0].prompts) + 1
    run = max(one.width for one in contexts) * VALUES_PER_TOKEN
    kept = max(one.length for one in contexts) * 2  # keys and values
    # Logits of about two target tokens a prompt, in float32, with gradients.
    need = rows * ((run + kept) * spec.layers * spec.hidden * loaded.dtype.itemsize + spec.vocabulary * 24)
    batch = max(1, int(SHARE * free_bytes(loaded.device, CPU_BYTES) / need))
    return in_batches(contexts, batch, work)
