"""Input and output of an editing method. Does not import torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from factdrift.evaluation.methods.hyperparameters import Hyper

if TYPE_CHECKING:
    from torch import Tensor

    from factdrift.models.deltas import Changes, Codebook, Deltas
    from factdrift.models.loaded import Loaded
    from factdrift.models.memories import Memories
    from factdrift.models.moments import Moments


@dataclass(frozen=True)
class Edit:
    """One fact to write into a model."""

    id: str
    prompt: str
    """A prompt that contains the subject and ends before the target."""
    subject: str
    target: str
    """The new object."""
    obsolete: str = ""
    """The object that is replaced, or empty; no method uses it."""
    replaces: tuple[str, ...] = ()
    """The ids of earlier edits of a stream whose facts end with this one; empty in the other regimes."""


Context = str | Callable[[Sequence[str]], list[str]]
"""The text before every probe of an edit, or a function that gives the text before each prompt.

A function that leaves texts out for lack of positions has `left_out`, the greatest number of them so far.
"""


@dataclass
class Edited:
    """The result of a method for E edits."""

    deltas: Deltas = field(default_factory=dict)
    codebooks: Mapping[str, Codebook | Memories] = field(default_factory=dict)
    """For methods whose changes act after some prompts only: module -> what it puts out there instead."""
    contexts: Sequence[Context] | None = None
    """For methods that change no weight: what comes before the probes of each edit."""
    failed: dict[int, str] = field(default_factory=dict)
    """Index of an edit that failed -> reason; its deltas are zero."""
    owner: list[int] | None = None
    """Index into `changes` for each fact, -1 for a failed one; None if fact i has change i."""
    steps: Tensor | None = None
    """[E] number of optimiser updates."""
    losses: Tensor | None = None
    """[E] the last loss that was computed, as the method defines it."""
    memory: Any = None
    """What the method is given as `Artefacts.memory` with the next edits, where they are made in turn."""

    @property
    def changes(self) -> Changes:
        """What hooks apply while a model is probed."""
        return {**self.deltas, **self.codebooks}

    def change_of(self, edit: int) -> int:
        """The index into `changes` for an edit by its index."""
        return edit if self.owner is None else self.owner[edit]


@dataclass(frozen=True)
class Artefacts:
    """Data that is computed once for each model, and changes that are in place."""

    prefixes: tuple[str, ...] = ("",)
    """Texts to put before the prompt, the empty one first."""
    moments: Mapping[int, Moments] = field(default_factory=dict)
    """Layer -> second moments of the input of its edited matrix."""
    editor: Any = None
    """The trained editor of a method that has one (`record.TrainedEditor`)."""
    before: Deltas = field(default_factory=dict)
    """The change that earlier edits made, one edit; a hook adds it while the method runs."""
    memory: Any = None
    """`Edited.memory` of the edits before, None for the first ones.

    AlphaEdit and UltraEdit have one; in a stream PROMPT, RAG and GRACE, too.
    """


@dataclass(frozen=True)
class Prepared:
    """A method with what it needs to edit a model."""

    hyper: Hyper
    artefacts: Artefacts = field(default_factory=Artefacts)
    digests: Mapping[str, str | None] = field(default_factory=dict)
    """Of the files in `artefacts`."""

    def account(self) -> dict[str, Any]:
        """Hyper-parameters and their origin, for the account of a job."""
        texts = dict.fromkeys(moment.texts for moment in self.artefacts.moments.values())
        account = {"hyper": dict(self.hyper), "source": self.hyper.source}
        return account | {"derived": list(self.hyper.derived), "moments": ", ".join(texts) or None}


Method = Callable[["Loaded", Sequence[Edit], Hyper, Artefacts], Edited]
