"""Settings of the jobs that ask a model: part `edit` says how it is run, part `answer` how it is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from factdrift.core.errors import CannotEdit
from factdrift.evaluation import settings as edit
from factdrift.evaluation.methods.record import record_of, records
from factdrift.evaluation.skipped import Skipped

Positive = Annotated[int, msgspec.Meta(ge=1)]
Scoring = Literal["letter", "loglik"]

METHODS = tuple(
    name for name, record in records().items() if record.changes != "nothing" and not record.not_asked
)
"""Methods whose edits can be in the place of the context."""

SLOTS = ("context", "question", "cloze", "options")


class Settings(edit.Settings, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model is run and asked."""

    answer_scoring: tuple[Scoring, ...]
    answer_normalise: Literal["mean", "sum"]
    answer_tokens: Positive
    answer_chat_template: Literal["auto", "none"]
    answer_prompts_letter: str
    answer_prompts_loglik: str

    def __post_init__(self) -> None:
        """Raises ValueError that names the prompt and what it lacks."""
        check_prompt("letter", self.answer_prompts_letter)
        check_prompt("loglik", self.answer_prompts_loglik)


def not_asked(model: str, methods: Sequence[str]) -> list[Skipped]:
    """The reasons of the configured methods that are not asked about; `none` needs none."""
    return [
        Skipped(model, method, record_of(method).not_asked)
        for method in methods
        if record_of(method).not_asked
    ]


def check_methods(chosen: Sequence[str]) -> None:
    """Raises ValueError that says why a method of `answer.methods` is not asked about."""
    for method in chosen:
        if method not in METHODS:
            reason = record_of(method).not_asked or "it is the model without any edit, which is always asked"
            raise ValueError(f"answer.methods: {method}: {reason}; there are {', '.join(METHODS)}")


def check_asked(method: str, regime: str) -> None:
    """Raises CannotEdit if the edits of a method in a regime are another condition."""
    if record_of(method).changes == "text" and regime == "independent":
        raise CannotEdit(
            f"edit.regime: independent: the index of {method} has one update then, which is written before "
            "the question, as the condition w/ ctx does; choose sequential or batch"
        )


def check_prompt(name: Scoring, prompt: str) -> None:
    """Raises ValueError if a prompt has an unknown slot, or lacks one that it needs."""
    slots = re.findall(r"\{(\w*)\}", prompt)
    unknown = [slot for slot in slots if slot not in SLOTS]
    if unknown:
        raise ValueError(f"answer.prompts.{name}: {{{unknown[0]}}} is no slot; there are {', '.join(SLOTS)}")
    if "context" not in slots or not {"question", "cloze"} & set(slots):
        raise ValueError(f"answer.prompts.{name}: it must have {{context}}, and {{question}} or {{cloze}}")
    if name == "letter" and "options" not in slots:
        raise ValueError("answer.prompts.letter: it must have {options}, or no letter could be chosen")
