"""Settings of the jobs that ask a model: part `edit` says how it is run, part `answer` how it is asked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec

from factdrift.core.errors import CannotEdit
from factdrift.edit import settings as edit
from factdrift.edit.skipped import Skipped

Positive = Annotated[int, msgspec.Meta(ge=1)]
Scoring = Literal["letter", "loglik"]

METHODS = ("ft", "ft_l", "rome", "memit", "alphaedit", "ultraedit", "lora", "grace", "rag")
"""Methods whose edits can be in the place of the context."""
NOT_ASKED = {
    "prompt": "it writes the fact before the question, which the condition w/ ctx does",
    "mend": "its editor is trained on facts about the subjects of the items",
}
"""Methods that are never asked about, with the reason."""
OWN = "methods of your own are not asked about"

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
        Skipped(model, method, NOT_ASKED.get(method, OWN))
        for method in methods
        if method not in (*METHODS, "none")
    ]


def check_asked(method: str, regime: str) -> None:
    """Raises CannotEdit if the edits of a method in a regime are another condition."""
    if method == "rag" and regime == "independent":
        raise CannotEdit(
            "edit.regime: independent: the index of rag has one update then, which is written before the "
            "question, as the condition w/ ctx does; choose sequential or batch"
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
