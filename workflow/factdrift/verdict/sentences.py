"""The answer in a text: what comes before its first sentence end, without the prompt that it repeats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.text import Token, keys_of, name_tokens, tokens

_ENDS = frozenset(".!?…。！？؟।")
_INSIDE = re.compile(r"[.!?…。！？؟।] ")
_LABEL = re.compile(r"(?:question|answer|frage|antwort|q|a|f)\s*:\s*", re.I)
_CONCLUSION = re.compile(
    r"(?:(?<=\n)|(?<=[.!?] ))(?:(?:so|therefore|thus|hence|also|daher|somit),? (?:the|die|my) (?:final )?"
    r"(?:answer|antwort)|(?:the |my )?final answer|(?:die )?endgültige antwort|(?:answer|antwort)(?=\s*:)"
    r"|the answer(?= is ))"
    r"(?:\s+(?:is|ist|lautet))?\s*:?",
    re.I,
)
_SO = re.compile(
    r"(?:(?<=[.!?;] )(?:so|therefore|thus|hence),? (?P<subject>(?:[\w']+ ){1,8}?)(?:is|was|must be) "
    r"|(?:(?<=[.!?;] )|(?<=\n))(?P<plain>(?:[\w']+ ){1,8}?)(?:is|was) (?:so|therefore|thus|hence) )",
    re.I,
)
_NEXT = re.compile(r"^\s*(?:question|frage|q|f)\s*:", re.I | re.M)
LOOP = 3
"""A text repeats itself if a phrase of two words or more ends it so often, as Holtzman et al. (2020,
arXiv 1904.09751) count repetition in greedy continuations."""
LOOP_OF_WORDS = 4
"""The same for a single word: `no, no, no` is still an answer."""


class SentenceParts(NamedTuple):
    """A text in two: `answer` ends with its first sentence, `rest` follows. `stop`: what ended the answer."""

    answer: Sequence[Token]
    rest: Sequence[Token]
    stop: str


def without_prompt(text: str, question: str) -> str:
    """The text without labels such as `Answer:` and the question with which it begins, however often."""
    asked = keys_of(question)
    while True:
        label = _LABEL.match(text)
        if label:
            text = text[label.end() :]
        words = [token for token in tokens(text) if token.is_word or token.text == "&"]
        if asked and tuple(word.key for word in words[: len(asked)]) == asked:
            text = re.sub(r"^[\s?!.:…\"')_]+", "", text[words[len(asked) - 1].end :])
        elif not label:
            return text


def without_hyphens(words: Sequence[Token], cues: Cues) -> list[Token]:
    """The tokens without the hyphens inside of an office: `editor-in-chief` is `editor in chief`."""
    offices, left = cues.values["office"], list[Token]()
    for at, token in enumerate(words):
        joins = token.text == "-" and 0 < at < len(words) - 1
        joins = joins and words[at - 1].end == token.start and token.end == words[at + 1].start
        keys = [word.key for word in words[max(at - 3, 0) : at + 4] if word.is_word] if joins else []
        pairs = {" ".join(keys[start : start + size]) for size in (2, 3) for start in range(len(keys))}
        if pairs.isdisjoint(offices) or not any(
            words[at - 1].key in pair.split() for pair in pairs & {*offices} if " " in pair
        ):
            left.append(token)
    return left


def conclusion(text: str, question: str) -> str:
    """What follows `So the answer is` or `Final answer:` in a text that reasons first; empty without one.

    The question's own words may stand for `the answer`. A text that goes on with other questions has none.
    """
    ends = [match.end() for match in _CONCLUSION.finditer(text) if match.start()]
    stems = {key[:4] for key in (*keys_of(question), "the", "current")}
    own = [
        match.end()
        for match in _SO.finditer(text)
        if {key[:4] for key in keys_of(match["subject"] or match["plain"])} <= stems
    ]
    ends = ends or own
    return text[ends[-1] :] if ends and not _NEXT.search(text) else ""


Pairs = frozenset[tuple[str, str]]
"""Keys of the words before and behind the end of a sentence that is within a name."""


def within_names(names: Iterable[str]) -> Pairs:
    """Where a sign ends no sentence since a name has it there: `Guðni Th. Jóhannesson`, `Yahoo! Inc.`."""
    return frozenset(
        (before.key, after.key)
        for name in names
        if _INSIDE.search(name) and (words := name_tokens(name))
        for before, sign, after in zip(words, words[1:], words[2:], strict=False)
        if sign.text in _ENDS and before.is_word and after.is_word
    )


def split(text: Sequence[Token], cues: Cues, within: Pairs) -> SentenceParts:
    """The first sentence that says more than `Sure!`, and what follows it.

    A line ends a sentence, unless it ends with a colon, comma or verb or the next one goes on in small
    letters; the points of a list are one sentence. `within`: points of names (`within_names`).
    """
    while text:
        end, stop = _end(text, cues, within)
        words = [token.key for token in text[:end] if token.is_word]
        if not _fills(words, cues) or not any(token.is_word for token in text[end:]):
            return SentenceParts(text[:end], text[end:], stop)
        text = text[end:]
    return SentenceParts([], [], "end")


def _fills(keys: Sequence[str], cues: Cues) -> bool:
    """Whether the words of a sentence say nothing, such as `Great question`."""
    while keys:
        sizes = range(min(len(keys), 8), 0, -1)
        size = next((size for size in sizes if tuple(keys[:size]) in cues.phrases("opening")), 0)
        if not size:
            return False
        keys = keys[size:]
    return True


def _end(text: Sequence[Token], cues: Cues, within: Pairs) -> tuple[int, str]:
    """The position behind the first sentence, and what ended it: `line` or `end`."""
    words = 0
    for position, token in enumerate(text):
        words += token.is_word
        following = text[position + 1] if position + 1 < len(text) else None
        if token.kind == "break":
            if words and _line_ends(text, position, cues):
                return position, "line"
        elif token.kind == "initials" and token.text.endswith("."):
            if words > 1 and following and _starts(following, cues):
                return position + 1, "end"
        elif token.text in _ENDS and words and not _goes_on(text, position, cues):
            if following and (text[position - 1].key, following.key) in within:
                continue
            end = position + 1
            while end < len(text) and text[end].text in ('"', "'", ")", "”", "!", "?", "."):
                end += 1
            return end, "line" if end < len(text) and text[end].kind == "break" else "end"
    return len(text), "end"


def _line_ends(text: Sequence[Token], position: int, cues: Cues) -> bool:
    """Whether the end of a line ends the sentence; behind it is a word, since a text ends with none."""
    after = next((token for token in text[position + 1 :] if token.kind != "break"), None)
    if after is None:
        return True
    before = next(token for token in reversed(text[:position]) if token.kind != "break")
    if before.text in (":", ",") or cues.has("verb", before.key):
        return False
    if after.kind == "bullet" and any(token.kind == "bullet" for token in text[:position]):
        return False
    blank = text[position + 1].kind == "break"
    return blank or not (after.kind == "word" and after.text[:1].islower())


def _starts(token: Token, cues: Cues) -> bool:
    return token.is_capital and cues.has("starter", token.key)


def _goes_on(text: Sequence[Token], position: int, cues: Cues) -> bool:
    """Whether a point belongs to an abbreviation, an ordinal or a name."""
    before, point = text[position - 1 : position + 1]
    following = text[position + 1] if position + 1 < len(text) else None
    if following is None:
        return False
    glued = following.start == point.end
    if point.text != ".":
        return (glued and following.is_word) or following.text == ","
    if before.end != point.start:
        return False
    if glued:  # "example.com", ".)" and "..." end with what follows
        shortened = following.text == ")" and cues.has("abbreviation", before.key)  # (ret.)
        return shortened or following.is_word or following.text in (",", ";", ".", "-")
    short = len(before.key) <= 4 and before.key not in _WHOLE_TITLES
    if cues.has("title", before.key) and short and before.kind == "word":
        return following.kind != "break" and not before.text.isupper()  # he is no longer CEO. Y is
    if cues.has("abbreviation", before.key):
        return following.kind != "break" and not _starts(following, cues)
    ordinal = before.kind == "number" and before.text.isdigit() and len(before.text) <= 2
    small = following.kind == "word" and following.text[:1].islower()
    return ordinal and (small or following.key in cues.values["month"])


_WHOLE_TITLES = frozenset(
    (
        *("king", "pope", "sir", "dame", "lord", "lady", "miss", "city", "boss"),
        *("roi", "pape", "chef", "rey", "papa", "jefe"),
    )
)
"""Titles as short as abbreviations, behind which a point ends a sentence: also surnames."""


def repeats(keys: Sequence[str]) -> int | None:
    """The position at which a phrase begins that is repeated up to the end of the words; None if none is.

    The last word may be cut short, as by the limit of tokens.
    """
    for whole in (keys, keys[:-1]):
        for size in range(1, len(whole) // LOOP + 1):
            if whole is not keys and not whole[-size].startswith(keys[-1]):
                continue
            start, times = len(whole), 0
            while start >= size and whole[start - size : start] == whole[-size:]:
                start, times = start - size, times + 1
            if times >= (LOOP if size > 1 else LOOP_OF_WORDS):
                while start and whole[start - 1] == whole[start - 1 + size]:  # it may begin within the phrase
                    start -= 1
                return start
    return None
