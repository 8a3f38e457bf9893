"""Where the answer is in what a model writes: the marks of reasoning of every vendor are data.

`resources/words/reasoning.tsv` has a row for each set of marks: what opens reasoning, what closes it or
begins the answer, and what ends the answer, such as the end of a turn or a call of a tool. Case does not
count, and a blank stands for any white space. A mark with `^` counts only at the beginning of the text and
directly before a word.
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from factdrift.core.files import read_tsv
from factdrift.core.paths import REASONING


class _Marks(NamedTuple):
    opening: re.Pattern[str]
    closing: re.Pattern[str]
    end: re.Pattern[str]
    closing_of: dict[str, str]
    """Opening mark in lower case -> the mark that closes it."""
    text: str
    """All marks of reasoning."""


def answer_of(text: str) -> str:
    """The answer in what a model has written; the text itself if it has no mark of reasoning.

    All up to the last closing mark is reasoning, also where the opening mark was part of the prompt. Empty if
    reasoning is opened and never closed: such a text, which a limit has cut, has no answer.
    """
    marks = _marks()
    start = max((closing.end() for closing in marks.closing.finditer(text)), default=0)
    if marks.opening.search(text, start):
        return ""
    end = marks.end.search(text, start)
    return text[start : end.start() if end else None]


def closing_of(prompt: str) -> str:
    """What closes the reasoning that a prompt leaves open, as templates close an empty block."""
    marks = _marks()
    start = max((closing.end() for closing in marks.closing.finditer(prompt)), default=0)
    openings = (" ".join(opening[0].split()).casefold() for opening in marks.opening.finditer(prompt, start))
    closing = "".join(reversed([marks.closing_of[opening] for opening in openings]))
    return f"\n{closing}\n\n" if closing and prompt.endswith("\n") else closing


def is_mark(token: str) -> bool:
    """Whether a token, such as a special one of a tokenizer, is a mark or a part of one."""
    return token.casefold() in _marks().text


def is_end(token: str) -> bool:
    """Whether a token of a tokenizer is a mark that ends an answer."""
    return _marks().end.fullmatch(token) is not None


@cache
def _marks() -> _Marks:
    rows = read_tsv(REASONING)
    return _Marks(
        opening=_pattern(row["opening"] for row in rows),
        closing=_pattern(row["closing"] for row in rows),
        end=_pattern(row["end"] for row in rows),
        closing_of={row["opening"].removeprefix("^").casefold(): row["closing"] for row in rows},
        text="\n".join(row["opening"] + row["closing"] for row in rows).casefold(),
    )


def _pattern(marks: Iterable[str]) -> re.Pattern[str]:
    """Any of the marks, the longest first; empty ones are none."""
    patterns = []
    for mark in sorted(filter(None, marks), key=len, reverse=True):
        literal = mark.removeprefix("^")
        pattern = r"\s+".join(map(re.escape, literal.split(" ")))
        patterns.append(pattern if literal == mark else rf"\A\s*{pattern}(?=\w)")
    return re.compile("|".join(patterns), re.IGNORECASE)
