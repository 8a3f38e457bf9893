"""Settings of the jobs that ask a model: part `edit` says how it is run, part `answer` how it is asked."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from factdrift.edit import settings as edit

Positive = Annotated[int, msgspec.Meta(ge=1)]
Scoring = Literal["letter", "loglik"]

METHODS = ("ft", "ft_l", "rome", "memit", "lora")
"""Methods whose edits can be in the place of the context. PROMPT and RAG are a context; MEND's editor is
trained on facts about the subjects of the items."""

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
