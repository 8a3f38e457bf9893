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
    tokens, asked = reading.tokens, asked_events(reading)
    if len(asked) > 1:
        return
    events = _events(reading.words, [token.key for token in tokens])
    taken = {position for mention in reading.named() for position in range(mention.start, mention.end)}
    last, clauses = "", _clauses(reading)
    if not asked:
        _read_dates(reading, clauses)
    of: dict[int, str] = {}
    for clause in clauses:
        places = [at for at in clause if at not in taken and at in events]
        led = tokens[clause.start - 1].key if clause.start else ""
        goes_on = led in (",", "(", "and", "und") and all(
            at in taken or not tokens[at].is_word or _is_small(reading, tokens[at].key) for at in clause
        )
        places = [at for at in places if not reading.has("by", max(at - 2, 0), at)]  # by its founders
        for mention in (mention for mention in reading.named() if mention.start in clause):
            near = [at for at in places if at < mention.start][-1:] or places[:1]
            of[mention.start] = events[near[0]] if near else (last if asked and goes_on else "")
            if near and events[near[0]] in asked and mention.kind != UNKNOWN:
                reading.put(mention, Role.NOW)
        last = events[places[-1]] if places else last
    without = [mention for mention in reading.mentions if not of[mention.start]]
    if asked or any(reading.role(mention) in (Role.ASSERTED, Role.NOW) for mention in without):
        for mention in reading.named():
            if of[mention.start] and of[mention.start] not in asked:
                reading.put(mention, Role.BESIDE, (Role.ASSERTED, Role.NOW, Role.ONCE))


def _clauses(reading: Reading) -> list[range]:
    """The places of the clauses of a sentence; a name is in one."""
    taken = {position for mention in reading.named() for position in range(mention.start, mention.end)}
    begun, clauses = 0, []
    for position, token in enumerate(reading.tokens):
        if position not in taken and (token.text in _BORDERS or token.key in _JOINS):
            clauses.append(range(begun, position))
            begun = position + 1
    return [*clauses, range(begun, len(reading.tokens))]


def _read_dates(reading: Reading, clauses: Sequence[range]) -> None:
    """`It was signed on X and entered into force on Y`: the question's last words choose."""
    dates = [mention for mention in reading.mentions if mention.value and _has_year(reading, mention)]
    stems = {key[:5]: position for position, key in enumerate(reading.asked) if len(key) > 3}
    best: dict[int, int] = {}
    own: dict[int, bool] = {}
    for mention in dates:
        clause = next(clause for clause in clauses if mention.start in clause)
        words = [reading.tokens[at] for at in clause if at < mention.start or at >= mention.end]
        best[mention.start] = max((stems.get(token.key[:5], -1) for token in words), default=-1)
        own[mention.start] = any(token.kind == "word" and len(token.key) > 4 for token in words)
    chosen = [mention for mention in dates if best[mention.start] == max(best.values())]
    for mention in dates if len(chosen) == 1 else ():
        if mention not in chosen and own[mention.start]:
            reading.put(mention, Role.BESIDE, (Role.ASSERTED, Role.NOW, Role.ONCE))


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
    starts: dict[int, str] = {}
    for position in range(len(keys)):
        for size in (3, 1):
            if event := table.get(" ".join(keys[position : position + size])):
                starts.setdefault(position, event)
    return starts


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

    for mention in reading.mentions:  # X soll es werden, X should be it
        verb, *then = [token.key for token in reading.tokens[mention.end :]] or [""]
        if (verb in _WISHED and "werden" in then) or (verb == "should" and then[:1] == ["be"]):
            reading.put(mention, Role.DENIED, (Role.ASSERTED, Role.NOW))


_WISHED = frozenset(("soll", "sollte", "will", "wollte", "konnte", "mochte", "durfte"))


def read_gifts(reading: Reading) -> None:
    """`X sold it to Y`: X is the one before Y, whatever stands between the verb and its `to`."""
    for cue in reading.of("gives"):
        first = reading.previous(cue, 3)
        if reading.tokens[cue.start].key in _LOST:
            reading.put(first, Role.BEFORE, (Role.ASSERTED, Role.NOW))
        for mention in reading.named():
            if mention.start < cue.end or reading.stopped(cue.end, mention.start):
                continue
            position = before_articles(reading, mention)
            if position >= cue.end and reading.words.has("to", reading.tokens[position].key):
                reading.put(first, Role.BEFORE, (Role.ASSERTED, Role.NOW))
                reading.put(mention, Role.NOW)
                break
        else:
            before = [
                mention for mention in reading.named() if mention.end <= cue.start
            ]  # hat es an Y übergeben
            position = before_articles(reading, before[-1]) if len(before) > 1 else -1
            if (
                position >= 0
                and position >= before[-2].end
                and reading.words.has("to", reading.tokens[position].key)
            ):
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
    tokens = reading.tokens
    words = [position for position, token in enumerate(tokens) if token.is_word]
    for position in words:
        subject = tokens[position + 1 : position + 2]
        inverted = position == words[0] and tokens[position].key in _INVERTED
        inverted &= bool(subject) and (subject[0].is_capital or reading.words.has("starter", subject[0].key))
        inverted |= tokens[position].key == "had" and bool(subject) and subject[0].key in _HE
        if not (tokens[position].key in _IF or inverted):
            continue
        inside = _clause(reading, position)
        named = [mention for mention in reading.named() if mention.start in inside]
        supposed = tokens[position].key in ("suppose", "imagine")
        of_speaker = not subject or subject[0].key in _OF_SPEAKER or subject[0].text == "Sie"
        even = position > 0 and tokens[position - 1].key in ("even", "auch", "selbst", "as")
        if even or (of_speaker and not supposed) or tokens[-1].text == "?":
            continue
        main = [token.key for at, token in enumerate(tokens) if at not in inside]
        open_ = any(key in _OPEN for key in main)
        unreal = open_ and any(tokens[at].key in ("had", "hatte") for at in inside)  # he has not
        for mention in reading.mentions:
            within = mention.start in inside
            if within or open_ or named:
                role = Role.DENIED if unreal else Role.OPEN
                reading.put(mention, role, (Role.ASSERTED, Role.NOW, Role.ONCE, Role.BEFORE))


def _clause(reading: Reading, start: int) -> Sequence[int]:
    """The places of the clause that begins with a conjunction: up to a comma, `then`, or the end."""
    for position in range(start + 1, len(reading.tokens)):
        token = reading.tokens[position]
        if token.text == "," or token.text in STOPS or token.key in ("then", "dann"):
            return range(start, position)
    return range(start, len(reading.tokens))


def asked_events(reading: Reading) -> set[str]:
    """The events that the words of the question name, such as `birth` for `When was she born?`."""
    return set(_events(reading.words, reading.asked).values())


def of_asked_event(reading: Reading, position: int) -> bool:
    """Whether a word names the event that is asked for: `owned` for `Who is the owner?`."""
    return reading.words.values["event"].get(reading.tokens[position].key) in asked_events(reading)
