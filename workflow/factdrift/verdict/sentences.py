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
    r"(?:answer|antwort)|(?:the |my )?final answer|(?:die )?endgültige antwort|(?:answer|antwort)(?=\s*:))"
    r"(?:\s+(?:is|ist|lautet))?\s*:?",
    re.I,
)
_NEXT = re.compile(r"^\s*(?:question|frage|q|f)\s*:", re.I | re.M)
LOOP = 3
"""So many times a phrase of two words or more ends a text that repeats itself, as Holtzman et al. (2020,
arXiv 1904.09751) count repetition in greedy continuations."""
LOOP_OF_WORDS = 4
"""So many times one word does: `no, no, no` is still an answer."""


class Parts(NamedTuple):
    """A text in two: `answer` ends with its first sentence, `rest` follows. `stop`: what ended the answer."""

    answer: list[Token]
    rest: list[Token]
    stop: str


def without_prompt(text: str, question: str) -> str:
    """The text without labels such as `Answer:` and the question with which it begins, however often."""
    asked = keys_of(question)
    while True:
        label = _LABEL.match(text)
        if label:
            text = text[label.end() :]
        found = tokens(text)
        words = [each for each in found if each.is_word or each.text == "&"]
        if asked and tuple(each.key for each in words[: len(asked)]) == asked:
            text = re.sub(r"^[\s?!.:…\"')_]+", "", text[words[len(asked) - 1].end :])
        elif not label:
            return text


def conclusion(text: str) -> str:
    """What follows `So the answer is` or `Final answer:` in a text that reasons first; empty without one.

    A text that goes on with other questions has none.
    """
    ends = [match.end() for match in _CONCLUSION.finditer(text) if match.start()]
    return text[ends[-1] :] if ends and not _NEXT.search(text) else ""


Pairs = frozenset[tuple[str, str]]
"""Keys of the words before and behind the end of a sentence that is within a name."""


def within_names(names: Iterable[str]) -> Pairs:
    """Where a sign ends no sentence since a name has it there: `Guðni Th. Jóhannesson`, `Yahoo! Inc.`."""
    return frozenset(
        (before.key, after.key)
        for name in names
        if _INSIDE.search(name) and (found := name_tokens(name))
        for before, sign, after in zip(found, found[1:], found[2:], strict=False)
        if sign.text in _ENDS and before.is_word and after.is_word
    )


def split(found: Sequence[Token], cues: Cues, within: Pairs) -> Parts:
    """The first sentence that says more than `Sure!`, and what follows it.

    A line ends a sentence, unless it ends with a colon, comma or verb or the next one goes on in small
    letters; the points of a list are one sentence. `within`: points of names (`within_names`).
    """
    start = 0
    while start < len(found):
        end, stop = _end(found, start, cues, within)
        said = [each for each in found[start:end] if each.is_word]
        rest = [each for each in found[end:] if each.is_word]
        if rest and (not said or _fills(said, cues)):
            start = end
            continue
        return Parts(list(found[start:end]), list(found[end:]), stop)
    return Parts([], [], "end")


def _fills(said: Sequence[Token], cues: Cues) -> bool:
    """Whether a sentence consists of words that say nothing, such as `Great question`."""
    keys = tuple(each.key for each in said)
    while keys:
        for size in range(min(len(keys), 8), 0, -1):
            if keys[:size] in cues.phrases("opening"):
                keys = keys[size:]
                break
        else:
            return False
    return True


def _end(found: Sequence[Token], start: int, cues: Cues, within: Pairs) -> tuple[int, str]:
    """The place behind the sentence that begins at `start`, and what ended it: `line` or `end`."""
    words = 0
    for place in range(start, len(found)):
        token = found[place]
        if token.is_word:
            words += 1
        following = found[place + 1] if place + 1 < len(found) else None
        if token.kind == "break":
            if words and _line_ends(found, start, place, cues):
                return place, "line"
        elif token.kind == "initials" and token.text.endswith("."):
            if words > 1 and following and _starts(following, cues):
                return place + 1, "end"
        elif token.text in _ENDS and words and not _goes_on(found, place, cues):
            if following and (found[place - 1].key, following.key) in within:
                continue
            end = place + 1
            while end < len(found) and found[end].text in ('"', "'", ")", "”", "!", "?", "."):
                end += 1
            return end, "line" if end < len(found) and found[end].kind == "break" else "end"
    return len(found), "end"


def _line_ends(found: Sequence[Token], start: int, place: int, cues: Cues) -> bool:
    after = [each for each in found[place + 1 :] if each.kind != "break"]  # a text ends with none
    before = next(each for each in reversed(found[start:place]) if each.kind != "break")
    if before.text in (":", ",") or cues.has("verb", before.key):
        return False
    bullets = [each for each in found[start:place] if each.kind == "bullet"]
    if after[0].kind == "bullet" and bullets:
        return False
    blank = found[place + 1].kind == "break"
    return blank or not (after[0].kind == "word" and after[0].text[:1].islower())


def _starts(token: Token, cues: Cues) -> bool:
    return token.is_capital and cues.has("starter", token.key)


def _goes_on(found: Sequence[Token], place: int, cues: Cues) -> bool:
    """Whether a point belongs to an abbreviation, an ordinal or a name."""
    before = found[place - 1]
    following = found[place + 1] if place + 1 < len(found) else None
    if found[place].text != ".":
        glued = following is not None and following.start == found[place].end and following.is_word
        return glued or (following is not None and following.kind == "point" and following.text == ",")
    if following is None or before.end != found[place].start:
        return False
    if following.start == found[place].end:  # "example.com", ".)" and "..." end with what follows
        return following.is_word or following.text in (",", ";", ".", "-")
    if cues.has("title", before.key) and len(before.key) <= 4 and before.kind == "word":
        return following.kind != "break"
    if cues.has("abbreviation", before.key):
        return following.kind != "break" and not _starts(following, cues)
    if before.kind == "number" and before.text.isdigit() and len(before.text) <= 2:
        return following.key in cues.values["month"] or (
            following.kind == "word" and following.text[:1].islower()
        )
    return False


def repeats(keys: Sequence[str]) -> int | None:
    """The place at which a phrase begins that is repeated up to the end of the words; None if none is.

    The last word may be cut short, as by the limit of tokens.
    """
    for whole in (keys, keys[:-1]):
        for size in range(1, len(whole) // LOOP + 1):
            if whole is not keys and not whole[-size].startswith(keys[-1]):
                continue
            phrase = list(whole[-size:])
            place, times = len(whole), 0
            while place >= size and list(whole[place - size : place]) == phrase:
                place, times = place - size, times + 1
            if times >= (LOOP if size > 1 else LOOP_OF_WORDS):
                while place and whole[place - 1] == whole[place - 1 + size]:  # it may begin within the phrase
                    place -= 1
                return place
    return None
