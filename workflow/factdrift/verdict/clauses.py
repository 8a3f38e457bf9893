"""What the clause around a name says of it: another event than the one asked for, an attempt, a condition."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import Cues
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.orders import before_articles
from factdrift.verdict.reading import STOPS, Reading, Role

_BORDERS = frozenset(",;:()–—")
_JOINS = frozenset(("and", "but", "while", "whereas", "where", "und", "aber", "wahrend", "wo"))


def read_events(reading: Reading) -> None:
    """`He was born in X and died in Y`: the verb of the question chooses.

    Names in the clause of another event than the one asked for are beside the answer. Where no event is asked
    for, as of an office, so are names with an event if another one has none: `X founded it; Y runs it`.
    """
    found, asked = reading.tokens, asked_events(reading)
    if len(asked) > 1:
        return
    events = _events(reading.words, [token.key for token in found])
    taken = {place for each in reading.named() for place in range(each.start, each.end)}
    last, clauses = "", _clauses(reading)
    if not asked:
        _read_dates(reading, clauses)
    of: dict[int, str] = {}
    for clause in clauses:
        places = [at for at in clause if at not in taken and at in events]
        led = found[clause.start - 1].key if clause.start else ""
        goes_on = led in (",", "(", "and", "und") and all(
            at in taken or not found[at].is_word or _is_small(reading, found[at].key) for at in clause
        )
        places = [at for at in places if not reading.has("by", max(at - 2, 0), at)]  # by its founders
        for each in (each for each in reading.named() if each.start in clause):
            near = [at for at in places if at < each.start][-1:] or places[:1]
            of[each.start] = events[near[0]] if near else (last if asked and goes_on else "")
            if near and events[near[0]] in asked and each.kind != UNKNOWN:
                reading.put(each, Role.NOW)
        last = events[places[-1]] if places else last
    without = [each for each in reading.mentions if not of[each.start]]
    if asked or any(reading.role(each) in (Role.ASSERTED, Role.NOW) for each in without):
        for each in reading.named():
            if of[each.start] and of[each.start] not in asked:
                reading.put(each, Role.BESIDE, (Role.ASSERTED, Role.NOW, Role.ONCE))


def _clauses(reading: Reading) -> list[range]:
    """The places of the clauses of a sentence; a name is in one."""
    taken = {place for each in reading.named() for place in range(each.start, each.end)}
    begun, clauses = 0, []
    for place, token in enumerate(reading.tokens):
        if place not in taken and (token.text in _BORDERS or token.key in _JOINS):
            clauses.append(range(begun, place))
            begun = place + 1
    return [*clauses, range(begun, len(reading.tokens))]


def _read_dates(reading: Reading, clauses: Sequence[range]) -> None:
    """`It was signed on X and entered into force on Y`: the question's last words choose."""
    dates = [each for each in reading.mentions if each.value and _has_year(reading, each)]
    stems = {key[:5]: place for place, key in enumerate(reading.asked) if len(key) > 3}
    best: dict[int, int] = {}
    own: dict[int, bool] = {}
    for each in dates:
        clause = next(clause for clause in clauses if each.start in clause)
        words = [reading.tokens[at] for at in clause if at < each.start or at >= each.end]
        best[each.start] = max((stems.get(token.key[:5], -1) for token in words), default=-1)
        own[each.start] = any(token.kind == "word" and len(token.key) > 4 for token in words)
    chosen = [each for each in dates if best[each.start] == max(best.values())]
    for each in dates if len(chosen) == 1 else ():
        if each not in chosen and own[each.start]:
            reading.put(each, Role.BESIDE, (Role.ASSERTED, Role.NOW, Role.ONCE))


def _has_year(reading: Reading, mention: Mention) -> bool:
    return any(
        len(token.key) == 4 and token.key.isdigit() for token in reading.tokens[mention.start : mention.end]
    )


def _is_small(reading: Reading, key: str) -> bool:
    """Whether a word only joins a name to what stands before: `and in`, `from the`."""
    kinds = ("article", "by", "from", "to", "particle", "title")
    return (
        key.isdigit()
        or key in ("in", "on", "at", "near", "im", "am")
        or any(reading.words.has(k, key) for k in kinds)
    )


def _events(words: Cues, keys: Sequence[str]) -> dict[int, str]:
    """The place of the first word of each event in a text -> the event."""
    table = words.values["event"]
    found: dict[int, str] = {}
    for place in range(len(keys)):
        for size in (3, 1):
            if event := table.get(" ".join(keys[place : place + size])):
                found.setdefault(place, event)
    return found


def read_attempts(reading: Reading) -> None:
    """`X tried to buy it`: X has not."""
    for cue in reading.of("attempt"):
        who = reading.previous(cue, 4)
        if who is not None and reading.stopped(who.end, cue.start, kinds=("and", "contrast")):
            who = None
        reading.put(who, Role.DENIED, (Role.ASSERTED, Role.NOW))
        what = reading.next(cue, 4, STOPS | {","})
        if what is not None and not reading.stopped(cue.end, what.start, kinds=("and", "contrast")):
            reading.put(what, Role.BESIDE if who else Role.DENIED)

    for each in reading.mentions:  # X soll es werden, X should be it
        verb, *then = [token.key for token in reading.tokens[each.end :]] or [""]
        if (verb in _WISHED and "werden" in then) or (verb == "should" and then[:1] == ["be"]):
            reading.put(each, Role.DENIED, (Role.ASSERTED, Role.NOW))


_WISHED = frozenset(("soll", "sollte", "will", "wollte", "konnte", "mochte", "durfte"))


def read_gifts(reading: Reading) -> None:
    """`X sold it to Y`: X is the one before Y, whatever stands between the verb and its `to`."""
    for cue in reading.of("gives"):
        first = reading.previous(cue, 3)
        if reading.tokens[cue.start].key in _LOST:
            reading.put(first, Role.BEFORE, (Role.ASSERTED, Role.NOW))
        for each in reading.named():
            if each.start < cue.end or reading.stopped(cue.end, each.start):
                continue
            place = before_articles(reading, each)
            if place >= cue.end and reading.words.has("to", reading.tokens[place].key):
                reading.put(first, Role.BEFORE, (Role.ASSERTED, Role.NOW))
                reading.put(each, Role.NOW)
                break
        else:
            before = [each for each in reading.named() if each.end <= cue.start]  # hat es an Y übergeben
            place = before_articles(reading, before[-1]) if len(before) > 1 else -1
            if place >= 0 and place >= before[-2].end and reading.words.has("to", reading.tokens[place].key):
                reading.put(before[-2], Role.BEFORE, (Role.ASSERTED, Role.NOW))
                reading.put(before[-1], Role.NOW)


_LOST = frozenset(("sold", "lost", "conceded", "relinquished", "ceded", "yielded", "verlor", "verkaufte"))
"""Verbs of what is then another's, whoever that is."""
_IF = frozenset(
    ("if", "suppose", "imagine", "assuming", "supposing", "provided", "falls", "wenn", "sofern", "angenommen")
)
_INVERTED = frozenset(("should", "had", "were", "sollte", "ware", "hatte"))
_OF_SPEAKER = frozenset(
    (
        *("i", "im", "you", "youre", "we", "my", "memory", "nothing", "this", "that", "there", "asked", "so"),
        *("not", "any", "needed", "correct", "true", "possible", "it", "no", "ich", "du", "wir", "man"),
        *("meine", "nichts", "es", "das", "nicht", "sich"),
    )
)
"""Words behind `if` that make no condition of an answer: `if I remember`, `if nothing has changed`."""
_HE = frozenset(("he", "she", "they"))
_OPEN = frozenset(("would", "will", "could", "might", "wurde", "ware", "wird", "konnte", "hatte"))


def read_conditions(reading: Reading) -> None:
    """`If X won, he is president`, `Y would be if she had won`: left open, or denied, never asserted."""
    found = reading.tokens
    words = [place for place, token in enumerate(found) if token.is_word]
    for place in words:
        subject = found[place + 1 : place + 2]
        inverted = place == words[0] and found[place].key in _INVERTED
        inverted &= bool(subject) and (subject[0].is_capital or reading.words.has("starter", subject[0].key))
        inverted |= found[place].key == "had" and bool(subject) and subject[0].key in _HE
        if not (found[place].key in _IF or inverted):
            continue
        inside = _clause(reading, place)
        named = [each for each in reading.named() if each.start in inside]
        supposed = found[place].key in ("suppose", "imagine")
        of_speaker = not subject or subject[0].key in _OF_SPEAKER or subject[0].text == "Sie"
        even = place > 0 and found[place - 1].key in ("even", "auch", "selbst", "as")
        if even or (of_speaker and not supposed) or found[-1].text == "?":
            continue
        main = [token.key for at, token in enumerate(found) if at not in inside]
        open_ = any(key in _OPEN for key in main)
        unreal = open_ and any(found[at].key in ("had", "hatte") for at in inside)  # he has not
        for each in reading.mentions:
            within = each.start in inside
            if within or open_ or named:
                role = Role.DENIED if unreal else Role.OPEN
                reading.put(each, role, (Role.ASSERTED, Role.NOW, Role.ONCE, Role.BEFORE))


def _clause(reading: Reading, start: int) -> Sequence[int]:
    """The places of the clause that begins with a conjunction: up to a comma, `then`, or the end."""
    for place in range(start + 1, len(reading.tokens)):
        token = reading.tokens[place]
        if token.text == "," or token.text in STOPS or token.key in ("then", "dann"):
            return range(start, place)
    return range(start, len(reading.tokens))


def asked_events(reading: Reading) -> set[str]:
    """The events that the words of the question name, such as `birth` for `When was she born?`."""
    return set(_events(reading.words, reading.asked).values())


def of_asked_event(reading: Reading, place: int) -> bool:
    """Whether a word names the event that is asked for: `owned` for `Who is the owner?`."""
    return reading.words.values["event"].get(reading.tokens[place].key) in asked_events(reading)
