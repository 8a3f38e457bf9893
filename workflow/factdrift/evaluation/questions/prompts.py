"""Prompts for questions in words."""

import re
from collections.abc import Callable
from typing import Any

from factdrift.core.errors import InputError
from factdrift.evaluation.questions.letters import listed
from factdrift.evaluation.questions.question import Question, Turn
from factdrift.words.templates import BLANK

SHOTS = (
    ("P50", "Who is the author of Don Quixote?", "Miguel de Cervantes"),
    ("P30", "What is the continent of Kenya?", "Africa"),
    ("P38", "What is the currency of Japan?", "Japanese yen"),
    ("P170", "Who is the creator of the Mona Lisa?", "Leonardo da Vinci"),
)
"""Facts that do not change, with their relations; three of others than the question's are examples."""

Message = dict[str, Any]
"""A message of a chat: role, content, and what else servers and templates read."""
SEARCH, CALL = "search", "search001"
"""The tool that a model has called, and the call's id, which some templates want in nine characters."""
SHOT = "{context}\nQuestion: {question}\nAnswer:"
"""What a base model reads behind the solved examples."""

SLOTS = ("context", "question", "cloze", "options")

_SLOT = re.compile(r"\{context\}\s*|\{(\w+)\}")
_QUESTION = re.compile(r"(As of [^,]+, )?(\w+) (is|was) (.+)\?", re.DOTALL)


def filled(prompt: str, question: Question, context: str = "") -> str:
    """The prompt for a question. Without a context, the slot vanishes with the white space that follows it.

    Slots: `context`, `question`, `cloze` (`cloze_of`), `options` (one a line, `A. ...`). Labels may contain
    anything, even what looks like a slot.
    """

    def value(slot: re.Match[str]) -> str:
        match slot[1]:
            case None:
                return context + slot[0].removeprefix("{context}") if context else ""
            case "question":
                return question.asked
            case "cloze":
                return question.prompt or cloze_of(question.words)
            case "options":
                return listed(question.targets)
        return slot[0]

    return _SLOT.sub(value, prompt)


def cloze_of(question: str) -> str:
    """`Who was the previous mayor of X?` -> `The previous mayor of X was`; a day at the beginning is kept.

    A sentence with a blank at its end is a cloze already: `As of 2018, the mayor of X is ____`. Raises
    InputError if the question has another form than TempRIPPLE's.
    """
    if question.endswith(BLANK):
        return question.removesuffix(BLANK).rstrip()
    match = _QUESTION.fullmatch(question)
    if match is None:
        raise InputError(
            f"{question!r} is no question such as 'Who is the spouse of ...?', of which a cloze is made; "
            "give the question a `prompt`, the sentence up to its object"
        )
    day, _, verb, phrase = match.groups(default="")
    return f"{day}{phrase} {verb}" if day else f"{phrase[0].upper()}{phrase[1:]} {verb}"


def shots_before(question: Question) -> str:
    """Three solved examples of other relations, with blank lines behind them."""
    chosen = [shot for shot in SHOTS if shot[0] != question.relation][:3]
    return "".join(f"Question: {asked}\nAnswer: {answer}\n\n" for _, asked, answer in chosen)


def continued(question: Question, before: str, form: str, shots: bool = False) -> tuple[str, str]:
    """The text that a base model continues, and the text before it, which is used unchanged.

    `form`: the prompt of questions without a cloze of their own; `shots`: whether questions in words follow
    solved examples.
    """
    if shots and question.words:
        return shots_before(question) + filled(SHOT, question, before.strip()), ""
    if question.prompt:
        return question.prompt, before
    return filled(form, question, before.strip()), ""


def turn_of(question: Question, context: str, instruction: str) -> str:
    """What a user says to a chat model that is to write its answer."""
    return filled(f"{{context}}\n{{question}} {instruction}".rstrip(), question, context)


def conversation(turn: Turn, before: str, content: Callable[[str], str], query: Any) -> list[Message]:
    """The messages that ask a chat model, with the text before the question in the turn that it belongs to.

    `content`: what the user says, from the text before it. `query`: the arguments of the search whose result
    the text is, as the template or the server has them.
    """
    user = {"role": "user", "content": content("" if turn else before)}
    if not (turn and before):
        return [user]
    if turn == "system":
        return [{"role": turn, "content": before}, user]
    call = {"id": CALL, "type": "function", "function": {"name": SEARCH, "arguments": query}}
    result = {"role": turn, "tool_call_id": CALL, "name": SEARCH, "content": before}
    return [user, {"role": "assistant", "content": "", "tool_calls": [call]}, result]


def check_prompt(name: str, prompt: str) -> None:
    """Raises ValueError if a prompt has an unknown slot, or lacks a slot that it needs."""
    slots = re.findall(r"\{(\w*)\}", prompt)
    unknown = [slot for slot in slots if slot not in SLOTS]
    if unknown:
        raise ValueError(f"answer.prompts.{name}: {{{unknown[0]}}} is no slot; there are {', '.join(SLOTS)}")
    if "context" not in slots or not {"question", "cloze"} & set(slots):
        raise ValueError(f"answer.prompts.{name}: it must have {{context}}, and {{question}} or {{cloze}}")
    if name == "letter" and "options" not in slots:
        raise ValueError("answer.prompts.letter: it must have {options}, or no letter could be chosen")
