"""Finds the tokens of subject and target in a sentence by the character offsets of the tokenizer.

Subject and target are never encoded alone: a leading space, a beginning-of-text token or a merge across a
border would give other tokens than in the sentence. Where a token crosses a border, AlignmentError is raised;
callers count it and leave the sentence out.

A chat template renders a conversation with the tokens that the model was trained on. Apart from a user's
turn, the rendered text is the same for all prompts, and found once with a placeholder.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from factdrift.core.errors import InputError
from factdrift.models.turns import QUESTION, Turns

NOT_FINITE = "not_finite"
"""A word for the tables: an aligned sentence has no probability, because the output is not finite."""


class Templated:
    """A tokenizer for whose sentences `alignment.align` uses its chat template.

    All else, also calling it, is as in the tokenizer itself, `plain`.
    """

    def __init__(self, tokenizer: Any, name: str):
        """`name`: of the model, for messages. Raises InputError if there is no chat template, or it fails."""
        self.plain = tokenizer
        if not tokenizer.chat_template:
            raise InputError(
                f"edit.template: the tokenizer of {name} has no chat template, as that of a base model; set "
                "the key to none (--template none), or name the model's instruct version"
            )
        self._turns = Turns(tokenizer, name, "edit.template", "set the key to none (--template none)")
        text = self._turns.text(QUESTION)
        if text.count(QUESTION) != 1:
            raise self._turns.error("does not repeat a user's turn once")
        self._before, _, self._after = text.partition(QUESTION)

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
        text = self._turns.text(content)
        if text != self._before + content + self._after:
            raise self._turns.error(f"changes the prompt {content!r}, so that its subject cannot be found")
        return text, len(self._before) - (len(prompt) - len(prompt.lstrip()))

    @property
    def blank(self) -> str:
        """What the template puts between the end of `turn` and an answer: mostly nothing, or a blank."""
        return self._turns.blank

    @cached_property
    def tokens(self) -> int:
        """The number of tokens that a turn has more than its prompt as a text has."""
        turn = self.plain(self.turn(QUESTION)[0], add_special_tokens=False)
        return len(turn["input_ids"]) - len(self.plain(QUESTION)["input_ids"])


def untemplated(tokenizer: Any) -> Any:
    """The tokenizer itself."""
    return tokenizer.plain if isinstance(tokenizer, Templated) else tokenizer


class AlignmentError(ValueError):
    """The tokens of a sentence do not separate subject or target; `reason` is a word for the tables."""

    def __init__(self, reason: str, message: str):
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Sentence:
    """The tokens of a text, with the beginning-of-text token if the tokenizer adds one."""

    ids: tuple[int, ...]
    subject_last: int | None
    """Index of the subject's last token in `ids`; None if no subject was given."""
    target: int
    """Index of the target's first token in `ids`: `ids[target:]` is the target. `len(ids)` without target."""


def align(
    tokenizer: Any, prompt: str, target: str = "", *, subject: str | None = None, context: str = ""
) -> Sentence:
    """The tokens of `context + prompt + " " + target`, with the indices of subject and target.

    Of a `Templated` tokenizer: the tokens of the turn `context + prompt` in its chat template, with the
    target as the beginning of the answer, which no blank precedes unless the template puts one there.

    `find_subject` says which of several occurrences is the subject. Raises AlignmentError with the reason
    `target_merged` or `subject_merged` if a token crosses the border of target or subject, `subject_missing`
    if the prompt does not contain the subject, `target_missing` if the target has no token.
    """
    before, origin, blank, options = context + prompt, 0, " ", {}
    if isinstance(tokenizer, Templated):
        before, origin = tokenizer.turn(before)
        # The template has the tokens that begin a text.
        blank, options = tokenizer.blank, {"add_special_tokens": False}
    text = before + blank + target if target else before
    encoded = tokenizer(
        text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False, **options
    )
    added = encoded["special_tokens_mask"]
    length = len(added) - next((index for index, one in enumerate(reversed(added)) if not one), len(added))
    ids, offsets = encoded["input_ids"][:length], encoded["offset_mapping"][:length]
    start = length
    if target:
        own = [index for index, (first, _) in enumerate(offsets) if first >= len(before) and not added[index]]
        start = own[0] if own else length
        if any(last > len(before) for _, last in offsets[:start]):
            raise AlignmentError("target_merged", f"a token crosses the border of {prompt!r} and {target!r}")
        if start == length:
            raise AlignmentError("target_missing", f"no token stands for {target!r} after {prompt!r}")
    if subject is None:
        return Sentence(tuple(ids), None, start)
    found = find_subject(prompt, subject)
    if found < 0:
        raise AlignmentError("subject_missing", f"{subject!r} does not occur in {prompt!r}")
    first = origin + len(context) + found
    return Sentence(tuple(ids), _last(offsets, text, first, first + len(subject)), start)


def token_span(tokenizer: Any, text: str, start: int, end: int) -> tuple[int, int]:
    """The tokens that hold the characters `text[start:end]`: the first one's index, and that behind the last.

    Raises AlignmentError as `align` does for a subject.
    """
    encoded = tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True, verbose=False)
    pairs = zip(encoded["offset_mapping"], encoded["special_tokens_mask"], strict=True)
    # A special token that the tokenizer adds holds no character.
    offsets = [(-1, -1) if added else offset for offset, added in pairs]
    last = _last(offsets, text, start, end)
    return next(index for index, (_, behind) in enumerate(offsets) if behind > start), last + 1


def find_subject(prompt: str, subject: str) -> int:
    """The index of the subject's first character in a prompt; -1 if it does not occur.

    Of several occurrences the last one counts that neither begins nor ends inside a word. If all do, as in
    scripts without spaces between words, the last one counts.
    """
    if not subject:
        return -1
    whole = -1
    for match in re.finditer(f"(?={re.escape(subject)})", prompt):
        start, end = match.start(), match.start() + len(subject)
        borders = [index for index in (start, end) if 0 < index < len(prompt)]
        if not any(prompt[index - 1 : index + 1].isalnum() for index in borders):
            whole = start
    return whole if whole >= 0 else prompt.rfind(subject)


def _last(offsets: list[tuple[int, int]], text: str, start: int, end: int) -> int:
    """The index of the token that ends with the last character of the subject `text[start:end]`."""
    holding = [index for index, (first, last) in enumerate(offsets) if first < end <= last]
    if not holding:
        raise AlignmentError("subject_missing", f"no token ends {text[start:end]!r} in {text!r}")
    first, last = offsets[holding[-1]]
    if last > end or text[first:start].strip():
        raise AlignmentError("subject_merged", f"a token crosses a border of {text[start:end]!r} in {text!r}")
    return holding[-1]
