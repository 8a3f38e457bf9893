"""A question, the edits of a benchmark, and what their rows say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from factdrift.evaluation.methods.interface import Edit

Way = Literal["loglik", "letter", "written"]
"""How a question is asked: for the likelihoods of its targets, for a letter, in writing."""

OF_UPDATES = ("updates", "stream", "klob")
"""Benchmarks whose edits are updates of a dataset."""

WAYS: tuple[Way, ...] = ("loglik", "letter", "written")


OF_ITEMS = ("tempripple", "asof")
"""Benchmarks whose questions have options."""


@dataclass(frozen=True)
class Question:
    """What is asked, of whatever model."""

    id: str
    """Unique in its benchmark."""
    edit: str = ""
    """The id of the edit that it is about; empty if it is about none."""
    role: str = ""
    """What it is for: `update`, `nearest`, a task, ..."""
    prompt: str = ""
    """A cloze test up to its object, which is put as it is; or empty, and `words` go into a prompt."""
    words: str = ""
    """The question in words, for the prompts of the configuration."""
    context: str = ""
    """The new fact in words, for the state `context`."""
    targets: tuple[str, ...] = ()
    """Objects whose likelihoods are asked for: alternatives if `answer` is given."""
    answer: int | None = None
    """The index of the right target."""
    accepted: tuple[str, ...] = ()
    """What is right in writing; without any, what is written is not judged here."""
    ways: tuple[Way, ...] = ("loglik",)
    """In which it can be asked."""
    long: bool = False
    """Whether what is written goes on to the length for texts whose fluency is measured."""


def probe_id(edit: str, number: int | str) -> str:
    """The id of a question that is a probe of an edit: by its number, or `c1` for its first cloze."""
    return f"{edit}#{number}"


@dataclass(frozen=True)
class Benchmark:
    """Questions, and the edits that they are about."""

    name: str
    questions: Sequence[Question]
    edits: Sequence[Edit] = ()
    """In their order."""
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Edit -> its row of STREAM_EDITS, of the edits of a stream."""

    def without(self, edits: Collection[str]) -> Benchmark:
        """The questions and edits but these edits and what is about them."""
        return replace(
            self,
            questions=[each for each in self.questions if each.edit not in edits],
            edits=[each for each in self.edits if each.id not in edits],
        )


def ways_of(benchmark: Benchmark, scoring: Sequence[Way]) -> list[Way]:
    """In which ways a benchmark is asked; `scoring`: those of the configuration.

    Updates are asked for the likelihoods and the continuations that their scores need, whatever it is.
    """
    wanted = WAYS if benchmark.name == "updates" else scoring
    return [way for way in WAYS if way in wanted or (way == "loglik" and benchmark.name not in OF_ITEMS)]
