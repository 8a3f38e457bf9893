"""A user's turn in the chat template of a tokenizer, up to the answer, for all that asks a local model."""

import datetime
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from factdrift.core.errors import InputError
from factdrift.words.reasoning import answer_of, closing_of

Messages = Sequence[dict[str, Any]]
QUESTION, ANSWER = "factdrift asks 0123456789", "factdrift answers 9876543210"
"""Texts that occur in no template."""
_DAY = datetime.datetime(2024, 7, 26)
"""The day that templates are told, so that no result depends on the clock. Llama 3.1's has it by itself."""
_CODES = [f"%{flag}{code}" for flag in ("-", "") for code in "aAbBcdDeFgGhHIjmMpPrRSTuUVwWxXyYZ"]
_CLOCK = "{{% macro strftime_now(format) %}}{{{{ format {} }}}}{{% endmacro %}}{{{{ '' }}}}".format(
    " ".join(f"| replace('{code}', '{_DAY.strftime(code)}')" for code in _CODES)
)
"""Put before a template, takes the place of the function by which it asks for the time."""

_AT_ONCE: dict[str, Any] = {
    "enable_thinking": False,
    "thinking": False,
    "reasoning": False,
    "thinking_budget": 0,
}
"""The names by which templates are asked to let the answer begin without reasoning."""
_EFFORTS = ("none", "no_think", "minimal", "low")
"""The least that templates with a degree of reasoning know, in the order in which it is tried."""


class Turns:
    """Renders turns: always of the same day, and so that the answer begins at once, without reasoning."""

    def __init__(self, tokenizer: Any, name: str, key: str, remedy: str = "set the key to none"):
        """`name`: of the model, `key`: of the configuration, `remedy`: what to do; all for messages."""
        self._tokenizer, self._name, self._key, self._remedy = tokenizer, name, key, remedy

    def text(self, content: str | Messages) -> str:
        """The conversation up to the answer. Raises InputError if the template fails, or changes a prompt.

        `content`: what the user says, or all messages.
        """
        text, turns = self._rendered(content), _messages(content)
        for prompt in (turn["content"].strip() for turn in turns if turn["role"] == "user"):
            if prompt not in text:
                raise self.error(f"changes the prompt {prompt!r}")
        return text + self._beginning

    def shows(self, messages: Messages, *words: str) -> bool:
        """Whether the template has the roles of some messages: it then writes all of these words."""
        try:
            text = self._rendered(messages)
        except InputError:
            return False
        return all(word in text for word in words)

    def error(self, fault: str) -> InputError:
        """The error that the template has a fault, such as `fails`, and what to do."""
        return InputError(f"{self._key}: the chat template of {self._name} {fault}; {self._remedy}")

    @cached_property
    def blank(self) -> str:
        """What the template puts between the end of `text` and an answer: mostly nothing, or a blank."""
        before = re.escape(self.text(QUESTION))
        match = re.match(rf"{before}(\s*){ANSWER}", self._rendered(QUESTION, ANSWER))
        return match[1] if match else ""

    @cached_property
    def _beginning(self) -> str:
        """What an answer without reasoning begins with and the template's own end of a turn does not have.

        It is what the template writes before an answer, if that has the mark, or if the template ends a turn
        without what begins an answer; else what closes the reasoning that the end of the turn has opened.
        """
        turn, answered = self._rendered(QUESTION), self._rendered(QUESTION, ANSWER)
        if answered.startswith(turn):
            between = answered[len(turn) :].partition(ANSWER)[0]
            ends = turn == self._rendered(QUESTION, begins=False)
            if between.strip() and (ends or not answer_of(between).strip()):
                return between
        return closing_of(turn.rpartition(QUESTION)[2])

    @cached_property
    def _in_parts(self) -> bool:
        """Whether the template reads a content as a list of parts only, as of some models with images."""
        try:
            text, parts = (self._applied(turns, True) for turns in (_messages(QUESTION), _parts(QUESTION)))
        except InputError:
            return False
        return QUESTION not in text and QUESTION in parts and not re.search("['\"]type['\"]", parts)

    def _rendered(self, content: str | Messages, answer: str | None = None, begins: bool = True) -> str:
        turns = [*_messages(content)]
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        return self._applied(_parts(turns) if self._in_parts else turns, begins and answer is None)

    def _applied(self, turns: Messages, answering: bool) -> str:
        """What the template makes of messages; `answering`: with what begins an answer."""
        try:
            text: str = self._tokenizer.apply_chat_template(
                turns, tokenize=False, add_generation_prompt=answering, **self._options
            )
        except Exception as error:  # a template is a program of others
            raise self.error(f"fails ({type(error).__name__}: {error})") from None
        return text

    @cached_property
    def _options(self) -> dict[str, Any]:
        source = self._tokenizer.get_chat_template()
        options: dict[str, Any] = {**_AT_ONCE, "chat_template": source}
        if "strftime_now" in source:
            options["chat_template"] = _CLOCK + source
        if "reasoning_effort" in source:
            known = re.findall(r"""["'](\w+)["']""", source)
            options["reasoning_effort"] = next((level for level in _EFFORTS if level in known), _EFFORTS[-1])
        return options


def _messages(content: str | Messages) -> Messages:
    return [{"role": "user", "content": content}] if isinstance(content, str) else content


def _parts(content: str | Messages) -> Messages:
    return [{**turn, "content": [{"type": "text", "text": turn["content"]}]} for turn in _messages(content)]
