"""Questions, benchmarks with the edits that they are about, and what is to be known of a benchmark.

That is in config/benchmarks/NAME.yaml. Rules, plans and commands read it; no module but its own contains a
benchmark's name. No torch.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from factdrift.core.columns import Row
from factdrift.core.errors import InputError, meant
from factdrift.core.files import read_struct
from factdrift.core.functions import named_function
from factdrift.core.paths import CONFIG
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.methods.record import CONTEXT
from factdrift.words.templates import BLANK

Way = Literal["loglik", "letter", "written"]
"""How a question is asked: for the likelihoods of its targets, for a letter, in writing."""

Turn = Literal["", "system", "tool"]

MINE = "mine"
"""The benchmark of questions in a file of the user's own (`own.py`), which no rule builds."""

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
    """A cloze test up to its object, which is asked as it is; or empty, and a cloze is made of `words`."""
    words: str = ""
    """The question in words, for the prompts of the configuration. Likelihoods follow a cloze, which is made
    of words such as `Who is the spouse of ...?` only; a question in other words has a `prompt`, too."""
    context: str = ""
    """The new fact in words, for the state `context`."""
    retrieved: Mapping[str, str] = field(default_factory=dict)
    """Documents in words, by the state that has them before the question."""
    turn: Turn = ""
    """Whose turn has them in a chat: the user's, or that of the system or a tool, where a template has it."""
    targets: tuple[str, ...] = ()
    """Objects whose likelihoods are asked for: alternatives if there is an `answer`."""
    answer: int | None = None
    """The index of the right target."""
    accepted: tuple[str, ...] = ()
    """What is right in writing; without any, what is written is not judged here."""
    stale: tuple[str, ...] = ()
    """What was right before, and is not any more."""
    others: tuple[str, ...] = ()
    """Other objects that an answer may name."""
    several: bool = False
    """Whether several values hold at a time, so that any accepted value is enough."""
    relation: str = ""
    """The property, where it is known."""
    ways: tuple[Way, ...] = ("loglik",)
    """In which it can be asked."""
    long: bool = False
    """Whether what is written goes on to the length for texts whose fluency is measured."""
    unedited: bool = False
    """Whether only an unedited model is asked it, which knows no new fact."""
    form: str = ""
    """The prompt that asks for a letter, if it is not that of the configuration."""
    exact: bool = True
    """Whether it matters if a target is what the model itself would write; else a prompt runs once for all of
    its targets."""

    @property
    def asked(self) -> str:
        """The question in words, or the cloze test with its blank."""
        return self.words or f"{self.prompt} {BLANK}"

    def before(self, state: str) -> str:
        """The text before it in a state."""
        return self.context if state == CONTEXT else self.retrieved.get(state, "")


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
    rows: Mapping[str, Row] = field(default_factory=dict)
    """Edit -> its row of STREAM_EDITS, of the edits of a stream."""

    def without(self, edits: Collection[str]) -> Benchmark:
        """The questions and edits but these edits and what is about them."""
        questions = [question for question in self.questions if question.edit not in edits]
        return replace(self, questions=questions, edits=[edit for edit in self.edits if edit.id not in edits])


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


class KindRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One benchmark. Paths have the wildcards `{pair}`, or `{stream}` for the folder of the stream."""

    order: int = 1000
    """Its rank among the benchmarks in lists."""
    read: str
    """MODULE.FUNCTION of `factdrift.evaluation.questions`: Tables -> Benchmark."""
    questions: list[str]
    edits: str = ""
    """The edits that its questions are about, if they are not in its own tables."""
    facts: str = ""
    """The facts that its edits are made of."""
    options: bool = False
    """Whether its questions have options: `answer.limit`, `scoring` and prompts are about them."""
    of_updates: bool = False
    """Whether its edits are updates: those whose tokens show no borders are left out of all methods."""
    ways: tuple[Way, ...] = WAYS
    """In which ways a model that runs here may be asked; for likelihoods always, unless it has options."""
    always: tuple[Way, ...] = ()
    """In which of them it is asked whatever `answer.scoring` says, since its scores need them."""
    states: list[str] = []
    """States with documents before a question in which it is asked, too."""
    by_interval: bool = False
    """Whether its edits are made interval by interval, and it is asked after every interval."""
    target: str
    """What builds it, for advice."""

    def module(self) -> str:
        """The module that reads it, by its dotted name."""
        return f"{__package__}.{self.read.rpartition('.')[0]}"

    @property
    def of_stream(self) -> bool:
        """Whether its tables are those of a stream."""
        return "{stream}" in self.questions[0]


@cache
def records() -> dict[str, KindRecord]:
    """Name -> record of all benchmarks, in their order."""
    folder = CONFIG / "benchmarks"
    kinds = {path.stem: read_struct(path, KindRecord) for path in folder.glob("*.yaml")}
    return dict(sorted(kinds.items(), key=lambda named: named[1].order))


def record_of(benchmark: str) -> KindRecord:
    """The record of a benchmark; raises InputError if there is none of that name."""
    if benchmark == MINE:
        return KindRecord(read="own.read", questions=[], options=True, target="")
    try:
        return records()[benchmark]
    except KeyError:
        known = records()
        raise InputError(
            f"{benchmark}: no such benchmark{meant(benchmark, known)}; there are {', '.join(known)}"
        ) from None


def read(benchmark: str, tables: Tables) -> Benchmark:
    """The questions and edits of a benchmark."""
    questions: Benchmark = named_function(__package__, record_of(benchmark).read)(tables)
    return questions


def ways_of(benchmark: Benchmark, scoring: Sequence[Way]) -> list[Way]:
    """In which ways a benchmark is asked; `scoring`: those of the configuration."""
    record = record_of(benchmark.name)
    wanted = {*scoring, *record.always}
    return [way for way in record.ways if way in wanted or (way == "loglik" and not record.options)]
