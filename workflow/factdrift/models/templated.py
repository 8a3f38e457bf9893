"""Prompts as a user's turn in the chat template of a tokenizer, and targets as the beginning of the answer.

A chat template renders a conversation with the tokens that the model was trained on. Apart from the turn, the
rendered text is the same for all prompts: the *frame*, found once with a placeholder.
"""

from functools import cached_property
from typing import Any

from factdrift.core.errors import InputError

_QUESTION, _ANSWER = "factdrift asks 0123456789", "factdrift answers 9876543210"
"""Texts that occur in no template."""

_TODAY = (
    "{% macro strftime_now(format) %}{{ format | replace('%d', '26') | replace('%m', '07') | "
    "replace('%b', 'Jul') | replace('%B', 'July') | replace('%Y', '2024') | replace('%y', '24') "
    "}}{% endmacro %}{{ '' }}"
)
"""Some templates tell the model today's date, so that results would depend on the day. For these it is always
26 July 2024, which Llama 3.1's template gives by itself.
"""


class Templated:
    """A tokenizer for whose sentences `alignment.align` uses its chat template.

    All else, also calling it, is as in the tokenizer itself, `plain`.
    """

    def __init__(self, tokenizer: Any, name: str):
        """`name`: of the model, for messages. Raises InputError if there is no chat template, or it fails."""
        self.plain, self._name = tokenizer, name
        if not tokenizer.chat_template:
            raise InputError(
                f"edit.template: the tokenizer of {name} has no chat template, as that of a base model; set "
                "the key to none (--template none), or name the model's instruct version"
            )
        source = tokenizer.get_chat_template()
        self._source = _TODAY + source if "strftime_now" in source else source
        self._frame = self._framed()

    def __getattr__(self, name: str) -> Any:
        if name == "plain":  # not yet set, as in a copy that is being made
            raise AttributeError(name)
        return getattr(self.plain, name)

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        return self.plain(*arguments, **options)

    def __len__(self) -> int:
        return len(self.plain)

    def turn(self, prompt: str) -> tuple[str, int]:
        """The conversation up to the answer to a prompt, and where the prompt's first character is in it.

        Blanks around the prompt are dropped, as most templates do; the index counts as if those before it
        were there. Raises InputError if the template changes the prompt.
        """
        content = prompt.strip()
        before, after = self._frame
        text = self._rendered(content)
        if text != before + content + after:
            raise InputError(
                f"edit.template: the chat template of {self._name} changes the prompt {content!r}, so that "
                "its subject cannot be found; set the key to none (--template none)"
            )
        return text, len(before) - (len(prompt) - len(prompt.lstrip()))

    @cached_property
    def blank(self) -> str:
        """What the template puts between the end of `turn` and an answer: mostly nothing, or a blank."""
        asked, answered = self._rendered(_QUESTION), self._rendered(_QUESTION, _ANSWER)
        rest = answered.removeprefix(asked)
        gap = rest[: len(rest) - len(rest.lstrip())]
        return gap if answered.startswith(asked) and rest.startswith(gap + _ANSWER) else ""

    @cached_property
    def tokens(self) -> int:
        """The number of tokens that a turn has more than its prompt as a text has."""
        turn = self.plain(self.turn(_QUESTION)[0], add_special_tokens=False)
        return len(turn["input_ids"]) - len(self.plain(_QUESTION)["input_ids"])

    def _framed(self) -> tuple[str, str]:
        text = self._rendered(_QUESTION)
        if text.count(_QUESTION) != 1:
            raise InputError(
                f"edit.template: the chat template of {self._name} does not repeat a user's turn once; set "
                "the key to none (--template none)"
            )
        before, _, after = text.partition(_QUESTION)
        return before, after

    def _rendered(self, content: str, answer: str | None = None) -> str:
        from jinja2 import TemplateError

        turns = [{"role": "user", "content": content}]
        if answer is not None:
            turns.append({"role": "assistant", "content": answer})
        try:
            # Where a template offers to think before the answer, the answer begins at once.
            text: str = self.plain.apply_chat_template(
                turns,
                chat_template=self._source,
                tokenize=False,
                add_generation_prompt=answer is None,
                enable_thinking=False,
            )
        except (TemplateError, TypeError) as error:
            raise InputError(
                f"edit.template: the chat template of {self._name} fails ({type(error).__name__}: {error}); "
                "set the key to none (--template none)"
            ) from None
        return text


def templated(tokenizer: Any, template: str, name: str) -> Any:
    """The tokenizer for a value of `edit.template`; raises InputError as Templated does."""
    return Templated(tokenizer, name) if template == "chat" else tokenizer


def untemplated(tokenizer: Any) -> Any:
    """The tokenizer itself."""
    return tokenizer.plain if isinstance(tokenizer, Templated) else tokenizer


def template_of(tokenizer: Any) -> str:
    """The value of `edit.template` for which a tokenizer was made."""
    return "chat" if isinstance(tokenizer, Templated) else "none"
