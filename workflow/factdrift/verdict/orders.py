"""Who came after whom, as an answer says it."""

from __future__ import annotations

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import Cue
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.reading import STOPS_BUT_PARENTHESES, Reading, Role

_WILL = frozenset(("will", "shall", "wird", "soll"))
"""Verbs of what is to come: `X, who will be succeeded by Y`."""
_AFTER = ("after", "following", "nach", "nachdem")


def read_order(reading: Reading) -> None:
    """Who came after whom: `X succeeded Y`, `X was succeeded by Y`, `the successor of X`."""
    _changes(reading)
    for cue in reading.of("took_over", "handed_on"):
        first = reading.previous(cue, stops=STOPS_BUT_PARENTHESES)
        then = reading.next(cue, stops=STOPS_BUT_PARENTHESES)
        end = then.start if then else len(reading.tokens)
        keys = [token.key for token in reading.tokens[cue.start : cue.end]]
        by_inside = any(reading.words.has("by", key) for key in keys)
        by_later = then is not None and not by_inside and reading.has("by", cue.end, end)
        handed = cue.kind == "handed_on"
        if then is None and _agent_before(reading, cue):
            continue
        office = then is not None and then.kind == UNKNOWN and then.end - then.start == 1
        if keys == ["became"] and office and first is not None and first.person:  # X became Taoiseach
            continue
        led = reading.tokens[max(cue.start - 3, first.end if first else 0) : cue.start]
        if first is not None and then is not None and any(token.key in _WILL for token in led):
            holds, comes = (first, then) if handed or by_later else (then, first)
            reading.put(holds, Role.NOW)
            reading.put(comes, Role.BESIDE)
            continue
        late = keys[0] in ("abloste", "ersetzte") or (
            keys[0] == "abgelost" and first and first.end == cue.start
        )
        if then is None and late and len(reading.named()) > 1:
            reading.put(first, Role.BEFORE)
            continue
        if keys[0] in ("folgte", "folgt") and first is not None and len(keys) == 1:
            handed = first.start > 0 and reading.tokens[first.start - 1].key == "auf"
        if by_later:
            handed = "precede" not in keys[0]
        elif keys == ["before"]:
            if then is None or not adjacent(reading, cue, then, 4):
                continue
        elif len(keys) == 1 and keys[0] in (*_AFTER, "left", "leaving"):
            if then is None or not adjacent(reading, cue, then, 3) or _named_after(reading, cue):
                continue
        elif keys[0] in ("became", "renamed", "umbenannt") or keys[-1] in ("zu", "to", "in"):
            if then is None or not adjacent(reading, cue, then, 3):
                continue
        elif not handed and not by_inside and first is not None and then is None:
            passive = [t.key for t in reading.tokens[max(cue.start - 2, 0) : cue.start]]
            if {"was", "been", "were"} & set(passive):
                reading.put(first, Role.BEFORE)
            continue
        if (
            handed
            and {"predecessor", "vorganger", "vorgangerin"} & set(keys)
            and _headed(reading, first, then)
        ):
            continue
        who = handed and first is None and cue.start > 0 and reading.tokens[cue.start - 1].key == "who"
        if who:  # the man who lost to X
            reading.put(then, Role.BESIDE)
        elif handed:
            if then is None and keys[0] in ("abgelost", "ersetzt", "umbenannt") and first is not None:
                acts = "hat" in [
                    token.key for token in reading.tokens[first.end : cue.start]
                ]  # hat ihn abgelöst
                reading.put(first, Role.NOW if acts else Role.BEFORE)
            elif (
                then is None
                and first is not None
                and len(keys) == 1
                and keys[0] in ("successor", "nachfolger", "nachfolgerin")
            ):
                if first.possessive:  # `Y, X's successor`
                    reading.put(first, Role.BEFORE)
            else:
                if first is not None and first is not then and (then is not None or len(keys) > 1):
                    reading.put(first, Role.BEFORE, (Role.ASSERTED, Role.NOW))
                reading.put(then, Role.NOW)
            if keys == ["before"] and first is None:
                later = [each for each in reading.named() if then and each.start >= then.end]
                reading.put(later[0] if later else None, Role.BEFORE)
        else:
            if reading.tokens[cue.end : cue.end + 1] and reading.tokens[cue.end].key in _HIM:
                reading.put(first, Role.NOW)
            reading.put(then if keys[-1] in _AFTER else _object(reading, first, then), Role.BEFORE)


_HIM = frozenset(("him", "her", "them"))


def _object(reading: Reading, first: Mention | None, then: Mention | None) -> Mention | None:
    """Who was there before. German puts the verb before both: `2025 löste X Y ab`."""
    later = [each for each in reading.named() if then is not None and each.start == then.end]
    return later[0] if first is None and later else then


_APART = 7
"""Tokens, at most, between X and `to` in `from X, in 2021, to Y`."""


def _changes(reading: Reading) -> None:
    """`From X to Y`, `from X, in Z, to Y`; `X, from Y`."""
    words, found = reading.words, reading.tokens
    named = reading.named()
    for at, first in enumerate(named):
        before, end = before_articles(reading, first), first.end
        if before < 0 or not words.has("from", found[before].key):
            continue
        for second in named[at + 1 :]:
            to = before_articles(reading, second)
            between = found[end:to] if to >= end else ()
            if len(between) > _APART or reading.stopped(end, max(to, end), STOPS_BUT_PARENTHESES):
                break
            if any(words.has("verb", token.key) for token in between):
                break
            if to >= end and words.has("to", found[to].key):
                reading.put(first, Role.BEFORE)
                reading.put(second, Role.NOW)
                break
            end = second.end
        else:
            own = [each for each in named[:at] if not each.value and reading.role(each) == Role.ASSERTED]
            by = words.has("by", found[before].key)  # the German `von` is both
            if own and not by and not first.value and not reading.stopped(own[-1].end, first.start):
                reading.put(first, Role.BEFORE)  # X, on loan from Y
    for at, each in enumerate(named):  # from X to Y, from Y to Z
        again = [later for later in named[at + 1 :] if later.name == each.name]
        if any(reading.role(later) == Role.BEFORE for later in again):
            reading.put(each, Role.BEFORE, (Role.NOW,))


def before_articles(reading: Reading, mention: Mention) -> int:
    """The place of the last word before a name that is neither article nor title; -1 if there is none."""
    place = mention.start - 1
    while place >= 0 and any(
        reading.words.has(kind, reading.tokens[place].key) for kind in ("article", "title")
    ):
        place -= 1
    return place


def _headed(reading: Reading, first: Mention | None, then: Mention | None) -> bool:
    """Whether X is not the answer: `the predecessor of X, Y`, `Y, the predecessor of X`."""
    if then is None:
        return False
    if first is not None:
        between = reading.tokens[first.end : then.start]
        apposed = between[0].text == "," and not any(
            reading.words.has("verb", token.key) for token in between
        )
        reading.put(then if apposed else None, Role.BESIDE)
        reading.put(first if apposed else None, Role.BEFORE)
        return apposed
    later = [each for each in reading.named() if each.start >= then.end]
    if not later or [token.text for token in reading.tokens[then.end : later[0].start]] != [","]:
        return False
    reading.put(then, Role.BESIDE)
    reading.put(later[0], Role.BEFORE)
    return True


def adjacent(reading: Reading, cue: Cue, then: Mention, words: int) -> bool:
    return sum(token.is_word for token in reading.tokens[cue.end : then.start]) < words


_NAMED = frozenset(
    ("named", "called", "modeled", "modelled", "titled", "looks", "look", "patterned", "benannt")
)


def _named_after(reading: Reading, cue: Cue) -> bool:
    before = reading.tokens[cue.start - 1].key if cue.start else ""
    return before in _NAMED


def _agent_before(reading: Reading, cue: Cue) -> bool:
    """German: `X wurde von Y abgelöst`, whose verb comes last."""
    named = [each for each in reading.mentions if each.end <= cue.start]
    if len(named) < 2:
        named = [each for each in reading.named() if each.end <= cue.start]
    if not named:
        return False
    first, then = named[-2] if len(named) > 1 else None, named[-1]
    if not reading.has("by", first.end if first else 0, then.start):
        return False
    reading.put(first, Role.BEFORE)
    reading.put(then, Role.NOW)
    return True
