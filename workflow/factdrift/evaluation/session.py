"""One loaded model that is asked: settings, tokens of sentences, provenance, costs. Imports torch."""

import resource
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import torch

from factdrift.evaluation.ability.record import Ability
from factdrift.evaluation.questions.prompts import SEARCH, conversation
from factdrift.evaluation.questions.question import Benchmark, Question, Turn, record_of
from factdrift.evaluation.settings import Settings
from factdrift.models.alignment import AlignmentError, Sentence, Templated, align, untemplated
from factdrift.models.deltas import Changes
from factdrift.models.loaded import Loaded
from factdrift.models.scoring import budget_of
from factdrift.models.turns import ANSWER, QUESTION, Turns
from factdrift.models.writing import Generation, write
from factdrift.words.reasoning import is_end, is_mark

SHOWN = 3
"""Tokens of a long continuation beyond the length of the longest object, at least."""
_QUERY = "factdrift searches 5555555555"
_TURNS: dict[Turn, tuple[str, ...]] = {"system": (), "tool": (SEARCH, _QUERY)}
"""Turns that a template may have, and what it then writes besides question and text."""


@dataclass
class Session:
    """A loaded model with its settings and accumulated costs."""

    loaded: Loaded
    settings: Settings
    costs: dict[str, float] = field(default_factory=dict)
    ability: Ability | None = None
    """What is measured on the edited models besides questions."""
    _sentences: dict[tuple[str, str], Sentence] = field(default_factory=dict)

    @cached_property
    def budget(self) -> int:
        """Tokens of questions and continuations at a time."""
        given = self.settings.budget
        return budget_of(self.loaded) if given == "auto" else given

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Adds the seconds that the `with` block takes to `costs[what]`."""
        start = time.perf_counter()
        yield
        for device in self.loaded.devices:
            if device.type == "cuda":
                torch.cuda.synchronize(device)
        self.costs[what] = self.costs.get(what, 0.0) + time.perf_counter() - start

    def device_name(self) -> str:
        if self.loaded.device.type == "cuda":
            return " + ".join(map(torch.cuda.get_device_name, self.loaded.devices))
        return str(self.loaded.device)

    def sentence(self, prompt: str, target: str = "", context: str = "") -> Sentence:
        """The tokens of a sentence; those without a context are kept. Raises AlignmentError."""
        if context:
            return align(self.loaded.tokenizer, prompt, target, context=context)
        key = prompt, target
        if key not in self._sentences:
            self._sentences[key] = align(self.loaded.tokenizer, prompt, target)
        return self._sentences[key]

    def written(self, rows: Sequence[Generation], changes: Changes | None = None) -> list[list[int]]:
        """What the model writes after each text, with the change of its row if one is given."""
        return write(self.loaded, rows, changes, self.budget)

    @cached_property
    def ends(self) -> frozenset[int]:
        """The tokens that end a text or a turn."""
        # A user's own method may wrap the model; then the tokenizer alone names its end.
        given = getattr(getattr(self.loaded.model, "generation_config", None), "eos_token_id", None)
        listed = given if isinstance(given, list) else [given]
        added = untemplated(self.loaded.tokenizer).added_tokens_decoder.items()
        marks = (index for index, token in added if is_end(token.content))
        return frozenset({*listed, self.loaded.tokenizer.eos_token_id, *marks} - {None})

    @cached_property
    def line_ends(self) -> frozenset[int]:
        """The tokens with the end of a line in them, however vocabularies write it."""
        vocabulary: dict[str, int] = untemplated(self.loaded.tokenizer).get_vocab()
        marks = ("\n", "\u010a", "<0x0A>")
        return frozenset(index for text, index in vocabulary.items() if any(mark in text for mark in marks))

    def room(self, prompt: str) -> int:
        """Tokens of a long continuation of a cloze: what `length` leaves, without those of a template."""
        tokenizer = self.loaded.tokenizer
        own = tokenizer.tokens if isinstance(tokenizer, Templated) else 0
        return self.settings.length - (len(self.sentence(prompt).ids) - own)

    def turn(self, question: Question, before: str, content: Callable[[str], str]) -> list[int] | None:
        """The tokens of a `conversation`; None without a chat template, or if the settings do not use it.

        The text before a question is in the user's turn if the template lacks the turn that it belongs to.
        Raises InputError if the template fails.
        """
        tokenizer = untemplated(self.loaded.tokenizer)
        if self.settings.answer_chat_template == "none" or tokenizer.chat_template is None:
            return None
        turn: Turn = question.turn if question.turn in self._apart else ""
        messages = conversation(turn, before, content, {"query": question.words or question.prompt})
        # The template has the tokens that begin a text.
        return list(tokenizer(self._turns.text(messages), add_special_tokens=False)["input_ids"])

    @cached_property
    def _apart(self) -> frozenset[Turn]:
        """The turns besides those of user and model that the template has; of a tool, with the call."""
        apart = set[Turn]()
        for turn, words in _TURNS.items():
            messages = conversation(turn, ANSWER, lambda _: QUESTION, {"query": _QUERY})
            if self._turns.shows(messages, QUESTION, ANSWER, *words):
                apart.add(turn)
        return frozenset(apart)

    @cached_property
    def _turns(self) -> Turns:
        return Turns(untemplated(self.loaded.tokenizer), self.loaded.name, "answer.chat_template")

    @cached_property
    def _hidden(self) -> frozenset[int]:
        """The special tokens that a text leaves out: all but marks of reasoning, which answers follow."""
        tokens = untemplated(self.loaded.tokenizer).added_tokens_decoder.items()
        return frozenset(index for index, token in tokens if token.special and not is_mark(token.content))

    def text(self, ids: Sequence[int]) -> str:
        decoded: str = self.loaded.tokenizer.decode([token for token in ids if token not in self._hidden])
        return decoded


def peak_mb(*devices: torch.device) -> float:
    """Peak memory in MB, summed over the GPUs that the model is on; without any, of the process."""
    if devices[0].type == "cuda":
        return sum(map(torch.cuda.max_memory_allocated, devices)) / 1e6
    return process_peak_mb(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, sys.platform)


def process_peak_mb(ru_maxrss: int, platform: str) -> float:
    """The peak memory of a process in MB, from what the system reports: kB on Linux, bytes on macOS."""
    return ru_maxrss / (1e6 if platform == "darwin" else 1e3)


def excluded(loaded: Loaded, benchmark: Benchmark) -> dict[str, str]:
    """Edit -> why no method is asked about it: the tokens show no border of its subject or its object.

    Of updates only; of other edits that is a reason to fail.
    """
    reasons: dict[str, str] = {}
    if not record_of(benchmark.name).of_updates:
        return reasons
    asked: list[tuple[str, str, str, str | None]] = [
        (edit.id, edit.prompt, edit.target, edit.subject) for edit in benchmark.edits
    ]
    for question in benchmark.questions:
        if question.role == "update" and "loglik" in question.ways:
            asked += [(question.edit, question.prompt, target, None) for target in question.targets]
    for edit, prompt, target, subject in asked:
        try:
            align(loaded.tokenizer, prompt, target, subject=subject)
        except AlignmentError as error:
            reasons[edit] = error.reason
    return reasons
