"""A question, the edits of a benchmark, and what their rows say."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.record import record_of

Way = Literal["loglik", "letter", "written"]
"""How a question is asked: for the likelihoods of its targets, for a letter, in writing."""

WAYS: tuple[Way, ...] = ("loglik", "letter", "written")


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
    stale: tuple[str, ...] = ()
    """What was right before, and is not any more."""
    others: tuple[str, ...] = ()
    """Other objects that an answer may name."""
    several: bool = False
    """Whether several values hold at a time, so that any accepted one is enough."""
    relation: str = ""
    """The property, where it is known."""
    ways: tuple[Way, ...] = ("loglik",)
    """In which it can be asked."""
    long: bool = False
    """Whether what is written goes on to the length for texts whose fluency is measured."""
    unedited: bool = False
    """Whether only a model that was told nothing is asked it."""


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


class Tables(NamedTuple):
    """Where the questions of a benchmark are read from, and which of them."""

    questions: Sequence[Path]
    edits: Path | None = None
    """A table EDITS or STREAM_EDITS that the questions are about, if it is not their own."""
    facts: Path | None = None
    limit: int = 0
    """Questions of a kind, drawn with the seed; 0 for all."""
    seed: int = 0
    open_: bool = False
    """Whether questions without options are among them."""


def ways_of(benchmark: Benchmark, scoring: Sequence[Way]) -> list[Way]:
    """In which ways a benchmark is asked; `scoring`: those of the configuration."""
    record = record_of(benchmark.name)
    wanted = WAYS if record.all_ways else scoring
    return [way for way in WAYS if way in wanted or (way == "loglik" and not record.options)]
