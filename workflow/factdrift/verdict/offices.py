"""Names that are said to hold another office than the one that is asked for, or only to own something."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.candidates import Mention
from factdrift.verdict.reading import STOPS, Reading, Role

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
        clause = [token.key for token in reading.tokens[each.end : _clause_end(reading, each)]]
        if verb and other_office(reading, clause):
            reading.put(each, Role.BESIDE, (Role.ASSERTED, Role.NOW, Role.ONCE))
        doubt = _other_body(reading, each) if verb else ""
        if each is named[0] and not doubt and not reading.of("former"):
            doubt = _titled(reading, each)
        if doubt:
            reading.doubts[each.start] = f"is said to hold {doubt}"
        under = bool(behind) and behind[0] in _UNDER and behind[0] not in reading.asked
        if under or (
            asked and office and not _is_asked(reading, office) and not office_fits(reading, office)
        ):
            reading.put(each, Role.BESIDE)


def _titled(reading: Reading, mention: Mention) -> str:
    """`another office` if the first name has only such a one beside it: `CFO X`, `X, CFO`; else empty."""
    led, behind = reading.tokens[: mention.start], reading.tokens[mention.end :]
    before, after = [token.key for token in led], [token.key for token in behind]
    said = any(reading.has(kind, mention.end, len(reading.tokens)) for kind in ("verb", "holds"))
    apposed = _behind(reading, mention.end) if behind and not (led or said) else []
    titled = other_office(reading, before) or other_office(reading, apposed)
    return "another office" if titled and other_office(reading, [*before, *after]) else ""


_FITS = {"head": ("government", "premier", "state"), "chair": ("chair", "state")}
"""What is asked for -> the kinds of offices that may answer it, where that is not the same kind alone."""


def asked_office(reading: Reading) -> bool:
    return bool(reading.words.valued("office", reading.asked))


def office_fits(reading: Reading, keys: Sequence[str]) -> bool | None:
    """Whether words name an office of the kind that is asked for; None if one of the two is not known."""
    held = set(reading.words.valued("office", keys).values()) - {"any"}
    asked = reading.words.valued("office", reading.asked).values()
    fitting = {kind for each in asked for kind in _FITS.get(each, (each,))}
    return bool(held & {*fitting, "head"}) if held and fitting else None


def other_office(reading: Reading, keys: Sequence[str]) -> bool:
    """Whether words name offices, and none of the kind that is asked for."""
    return office_fits(reading, keys) is False


_OF = frozenset(("of", "at", "des", "der", "von", "bei"))


def _other_body(reading: Reading, mention: Mention) -> str:
    """`an office of Z` where a name is said to hold one, `X is president of Z`, and the question has no Z."""
    for each in reading.unknown:
        said = [token for token in reading.tokens[mention.end : each.start] if token.is_word]
        while (
            said
            and said[-1].key not in _OF
            and (
                said[-1].key in reading.asked
                or any(reading.words.has(kind, said[-1].key) for kind in ("article", "title"))
            )
        ):
            said.pop()
        keys = [token.key for token in said]
        if not 3 <= len(keys) <= _WORDS + 3 or keys[-1] not in _OF or any(key in _OF for key in keys[:-1]):
            continue
        office = reading.words.valued("office", keys)
        if not office or reading.stopped(mention.end, each.start) or not asked_office(reading):
            continue
        body = reading.tokens[each.start : each.end]
        common = all(
            any(reading.words.has(kind, t.key) for kind in ("thing", "place", "suffix")) for t in body
        )
        common |= all(token.text.isupper() for token in body)
        party = any(token.key in ("party", "partei") for token in reading.tokens[mention.end : each.end])
        if party or not common:
            return f"an office of {each.name}"
    return ""


def _clause_end(reading: Reading, mention: Mention) -> int:
    """Where what is said of a name ends: at a sign, at another name, or before what it was once."""
    ends = [at for at in range(mention.end, len(reading.tokens)) if reading.tokens[at].text in STOPS]
    ends += [
        at for at in (*_names(reading), *(cue.start for cue in reading.of("former"))) if at >= mention.end
    ]
    return min(ends, default=len(reading.tokens))


def _names(reading: Reading) -> set[int]:
    """Where names begin; the capitals of an office, `CEO` or `Finanzminister`, make none."""
    offices = reading.words.values["office"]
    return {each.start for each in reading.named() if reading.tokens[each.start].key not in offices}


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


def held_office(reading: Reading, mention: Mention) -> bool:
    """Whether a name is said to have held an office: `X was president`."""
    past = reading.tokens[mention.end : mention.end + 1]
    office = _behind(reading, mention.end) if past and past[0].key in _PAST else []
    return bool(office) and bool(reading.words.valued("office", office))


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
    starts, ends, end = _names(reading), {cue.start for cue in reading.cues}, start
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
