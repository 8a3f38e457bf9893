"""Names that are said to hold another office than the one that is asked for, or only to own something."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.candidates import Mention
from factdrift.verdict.reading import Reading, Role

_PAST = frozenset(("was", "were", "war", "waren"))
_UNDER = frozenset(("vice", "deputy", "vizeprasident", "vizeprasidentin", "vizekanzler", "vizekanzlerin"))
"""Words of an office that is never the one above it."""
_WORDS = 4
"""Words of an office, at most."""


def read_offices(reading: Reading) -> None:
    """`X is vice president and Y is president`: only Y holds what is asked for."""
    named = reading.named()
    held = {each.start: _office(reading, each) for each in named}
    asked = any(_is_asked(reading, office) for office in held.values())
    for each in named:
        office = held[each.start]
        verb = each.end < len(reading.tokens) and reading.words.has("verb", reading.tokens[each.end].key)
        behind = _behind(reading, each.end)[:1] if verb else []
        under = bool(behind) and behind[0] in _UNDER and behind[0] not in reading.asked
        if under or (asked and office and not _is_asked(reading, office)):
            reading.put(each, Role.BESIDE)


def _office(reading: Reading, mention: Mention) -> list[str]:
    """The words of the office that a name is said to hold; none of one that it held."""
    found, words = reading.tokens, reading.words
    titles = {key for phrase in words.phrases("title") for key in phrase}
    office = _behind(reading, mention.end) if mention.end < len(found) else []
    if office and (office[-1] in titles or words.has("thing", office[-1])):
        return [] if found[mention.end].key in _PAST else office
    place = mention.start - 1
    if place > 0 and (found[place].text == ":" or words.has("verb", found[place].key)):
        place -= 1
        while place > 0 and found[place].key in reading.asked and found[place].key not in titles:
            place -= 1
    end = place
    while place >= 0 and found[place].key in titles:
        place -= 1
    return [token.key for token in found[place + 1 : end + 1]]


def _behind(reading: Reading, place: int) -> list[str]:
    """The words of `P` in `X is P`, `X, P`, `X (P)`, where `place` is behind X."""
    found, words = reading.tokens, reading.words
    if found[place].text not in (",", "(") and not words.has("verb", found[place].key):
        return []
    skipped = {at for cue in reading.of("now", "former", "hedge") for at in range(cue.start, cue.end)}
    start = place + 1
    while start < len(found) and (
        start in skipped or found[start].kind == "number" or words.has("article", found[start].key)
    ):
        start += 1
    starts, ends, end = {each.start for each in reading.named()}, {cue.start for cue in reading.cues}, start
    while end < len(found) and found[end].kind == "word" and end not in starts | ends:
        if words.has("starter", found[end].key) or words.has("verb", found[end].key):
            break
        end += 1
    of_next = end in starts or (end < len(found) and found[end].text == ":")  # X, P Y
    return [] if of_next or end - start > _WORDS else [token.key for token in found[start:end]]


def _is_asked(reading: Reading, office: list[str]) -> bool:
    """Whether an office is the whole of what is asked for: not `president` in `vice president of`."""
    words, asked = reading.words, reading.asked
    if len(office) == 1 and abbreviates(office[0], asked):
        return True
    while len(office) > 1 and office[0] not in asked and words.has("title", office[0]):
        office = office[1:]
    for at in range(len(asked) - len(office) + 1) if office else ():
        alike = all(map(_alike, office, asked[at:]))
        ends = [*asked[max(at - 1, 0) : at], *asked[at + len(office) :][:1]]
        if alike and all(
            any(words.has(kind, key) for kind in ("article", "verb", "starter")) for key in ends
        ):
            return True
    return False


def _alike(one: str, other: str) -> bool:
    return one == other or f"{one}in" == other or one == f"{other}in"  # Kanzler, Kanzlerin


def abbreviates(key: str, asked: Sequence[str]) -> bool:
    """Whether a word has the initials of words of a question, `CEO` of `chief executive officer`."""
    size = len(key)
    runs = (asked[place : place + size] for place in range(len(asked) - size + 1))
    return size > 1 and any("".join(word[0] for word in run) == key for run in runs)


def belongs(reading: Reading, mention: Mention) -> bool:
    """Whether a person only says whose a thing is: `X's company`, `the X family`; `X's term` is X's own."""
    found, words = reading.tokens, reading.words
    led = mention.start > 0 and words.has("article", found[mention.start - 1].key)
    place = mention.end + (mention.end < len(found) and found[mention.end].text == "'")
    if not mention.person or not (mention.possessive or led) or place >= len(found):
        return False
    after, then = found[place], [token.key for token in found[place + 1 : place + 3]]
    if after.kind != "word" or any(cue.start == place for cue in reading.cues):
        return False
    if any(words.has("tenure", key) for key in (after.key, *then)):
        return False
    if mention.possessive and not found[mention.end - 1].possessive:
        return True
    noun = after.text.islower() and after.key not in reading.asked and not after.key.endswith("ing")
    noun &= not any(words.has(kind, after.key) for kind in ("article", "starter", "verb", "title", "by"))
    adverb = after.key.endswith("ly") and then[:1] and then[0] in reading.asked
    return noun and not adverb and not any(words.has("article", key) for key in then)  # nor is 's a verb
