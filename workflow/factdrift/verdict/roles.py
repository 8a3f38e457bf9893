"""What an answer says of each candidate that it names: asserts it, denies it, or names it beside another."""

from __future__ import annotations

from itertools import pairwise

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import (
    asked_events,
    of_asked_event,
    read_attempts,
    read_conditions,
    read_events,
    read_future,
    read_gifts,
    read_subjects,
    read_verbs,
)
from factdrift.verdict.cues import Cue
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.offices import belongs, read_offices
from factdrift.verdict.orders import before_articles, read_order
from factdrift.verdict.reading import STOPS, STOPS_BUT_PARENTHESES, Reading, Role, side_by_side
from factdrift.verdict.terms import read_present, read_times


def read_roles(reading: Reading) -> None:
    """Fills the roles of a reading, the surest cues first."""
    _bounds(reading)
    _counted(reading)
    read_order(reading)
    read_gifts(reading)
    read_times(reading)
    _spread(reading)
    _denials(reading)
    read_attempts(reading)
    _beside(reading)
    read_events(reading)
    read_subjects(reading)
    read_offices(reading)
    _opinions(reading)
    _concessions(reading)
    _refusals(reading)
    _corrections(reading)
    read_present(reading)
    read_conditions(reading)
    for mention in reading.mentions:
        if reading.role(mention) == Role.NOW:
            reading.doubts.pop(mention.start, None)
    read_verbs(reading)
    read_future(reading)


_LIMITS = frozenset(("after", "before", "nach", "vor", "under", "unter"))
_RANGES = frozenset(("-", "–", "—", "to", "through", "bis"))


def _bounds(reading: Reading) -> None:
    """Values that are only limits, `before 1998`, or the ends of a range, `1990-1998`."""
    values = [each for each in reading.named() if each.value]
    for each in values:
        for cue in reading.of("bound", "took_over", "handed_on", "beside"):
            limit = cue.kind == "bound" or reading.tokens[cue.start].key in _LIMITS
            gap = reading.tokens[cue.end : each.start]
            if limit and cue.end <= each.start and all(reading.words.has("article", t.key) for t in gap):
                reading.put(each, Role.BESIDE)
    years = [each for each in values if reading.tokens[max(each.start - 1, 0)].key in ("in", "since", "seit")]
    for first, second in pairwise(each for each in values if each.kind != UNKNOWN or each not in years):
        between = [token.key for token in reading.tokens[first.end : second.start]]
        if len(between) == 1 and between[0] in _RANGES and not _changes(reading, first):
            life = asked_events(reading) if reading.tokens[max(first.start - 1, 0)].text == "(" else ()
            reading.put(None if "birth" in life else first, Role.BESIDE)  # X (born - died)
            reading.put(None if "death" in life else second, Role.BESIDE)


def _counted(reading: Reading) -> None:
    """`26,500 students and 28,000 alumni`: the noun of the question chooses between amounts."""
    values = [each for each in reading.named() if each.value and each.end < len(reading.tokens)]
    nouns = {each.start: reading.tokens[each.end] for each in values}
    if any(noun.key in reading.asked for noun in nouns.values()):
        for each in values:
            noun = nouns[each.start]
            known = any(reading.words.has(kind, noun.key) for kind in ("starter", "verb"))
            if noun.kind == "word" and not known and noun.key not in reading.asked:
                reading.put(each, Role.BESIDE)


def _changes(reading: Reading, first: Mention) -> bool:
    """Whether the values of a range are those before and after a change: `it grew from 1 to 2`."""
    earlier = [token.key for token in reading.tokens[: first.start] if token.is_word]
    led = len(earlier) > 1 and reading.words.has("from", earlier[-1])
    return led and not reading.words.has("verb", earlier[-2])


def _spread(reading: Reading) -> None:
    """`Previously X and Y` says of both that they were before."""
    for first, second in pairwise(reading.mentions):
        role = reading.role(first)
        joined = any(first.end <= cue.start < second.start for cue in reading.of("and", "or"))
        comma = any(token.text == "," for token in reading.tokens[first.end : second.start])
        led = any(cue.end <= first.start for cue in reading.of("former", "took_over"))
        if (
            role in (Role.BEFORE, Role.ONCE)
            and led
            and joined
            and not comma
            and side_by_side(reading, first, second)
        ):
            reading.put(second, role)


def _denials(reading: Reading) -> None:
    for cue in reading.of("not"):
        colon = reading.tokens[cue.end : cue.end + 1]  # Incorrect: X
        end = _scope(reading, cue.end + bool(colon and colon[0].text == ":"))
        inside = [each for each in reading.mentions if cue.end <= each.start < end]
        if inside and reading.tokens[cue.start].key in _INSTEAD:
            verbs = [
                at for at in range(inside[0].end, end) if reading.words.has("verb", reading.tokens[at].key)
            ]
            inside = [each for each in inside if not verbs or each.start < verbs[0]]
        if inside:
            for each in inside:
                twice = reading.role(each) == Role.DENIED and not _alternates(reading, cue)
                reading.put(
                    each,
                    Role.TWICE if twice else Role.DENIED,
                    (Role.ASSERTED, Role.NOW, Role.ONCE, Role.BEFORE, Role.DENIED),
                )
            continue
        if any(
            cue.end <= each.start < end and before_articles(reading, each) < cue.end
            for each in reading.unknown
        ):
            continue
        before = _subject(reading, cue)
        if before is not None:
            reading.put(before, Role.DENIED, (Role.ASSERTED, Role.NOW, Role.ONCE))


_INSTEAD = frozenset(("instead", "rather", "statt", "anstatt", "anstelle"))


def _alternates(reading: Reading, cue: Cue) -> bool:
    """Whether a denial belongs to another one: `neither X nor Y`."""
    return reading.tokens[cue.start].key in ("neither", "nor", "weder", "noch")


def _scope(reading: Reading, start: int) -> int:
    """Where a denial that begins at `start` ends: at a comma, unless a list with `or` goes on behind it."""
    found = reading.tokens
    for place in range(start, len(found)):
        contrast = any(cue.start == place for cue in reading.of("contrast", "hedge"))
        if found[place].text in STOPS_BUT_PARENTHESES or found[place].kind == "break" or contrast:
            return place
        if found[place].text == ",":
            listed = _list_end(reading, place)
            clause = place + 1 < len(found) and found[place + 1].key == "dass"
            if listed == place and not clause:
                return place
    return len(found)


def _list_end(reading: Reading, comma: int) -> int:
    """Whether the names behind a comma belong to a list that ends with `or`: the place of that word."""
    for place in range(comma + 1, min(len(reading.tokens), comma + 12)):
        if any(cue.start == place for cue in reading.of("or")) or reading.tokens[place].key in (
            "nor",
            "noch",
        ):
            between = reading.tokens[comma + 1 : place]
            verbs = any(reading.words.has("verb", token.key) for token in between)
            return comma if verbs or any(t.text in STOPS for t in between) else place
    return comma


def _subject(reading: Reading, cue: Cue) -> Mention | None:
    """The name of which something is denied: `X is not`, `X, it is said, ...` is not looked at."""
    before = [each for each in reading.mentions if each.end <= cue.start]
    if not before or before[-1].possessive:
        return None
    last = before[-1]
    between = reading.tokens[last.end : cue.start]
    if any(token.text in (",", ";", ":", "(") for token in between) or len(between) > 7:
        return None
    nouns = {at + 1 for at, token in enumerate(reading.tokens) if reading.words.has("article", token.key)}
    if any(
        each.start >= last.end and each.end <= cue.start and each.start not in nouns
        for each in reading.unknown
    ):
        return None
    first = reading.tokens[cue.start].key
    contracted = first.endswith("nt") or reading.words.has("verb", first)
    verb = any(reading.words.has("verb", token.key) for token in between)
    whole = first in ("nicht", "nie", "niemals") or reading.tokens[cue.end - 1].key in ("longer", "more")
    return last if verb or contracted or whole or not between else None


_AROUND = frozenset(("near", "outside", "north", "south", "east", "west", "nahe", "ausserhalb"))
_AROUND |= {"nordlich", "sudlich", "ostlich", "westlich"}
"""Words of a place that is not the named one."""


_FOUNDED = frozenset(("founded", "appointed", "nominated", "gegrundet", "ernannt"))
"""Words of somebody else's act, unless it is asked about."""


def _beside(reading: Reading) -> None:
    """Names in the company of another one, such as `X, who ran against Y`, and possessives."""
    for cue in reading.of("beside"):
        for each in reading.mentions:
            between = reading.tokens[cue.end : each.start]
            if (
                each.start < cue.end
                or sum(t.is_word and not reading.words.has("title", t.key) for t in between) > 1
            ):
                continue
            if reading.stopped(cue.end, each.start):
                continue
            first = reading.tokens[cue.start].key
            of = reading.tokens[cue.end - 1].key in ("of", "von", "to")
            asked = of_asked_event(reading, cue.start)
            of |= first in _FOUNDED and not asked and not any(key[:5] == first[:5] for key in reading.asked)
            others = [other for other in reading.named() if other.start != each.start]
            around = first in _AROUND
            around |= cue.start > 0 and reading.tokens[cue.start - 1].key == "who"
            if asked:
                break
            if (
                around
                or any(other.start < cue.start for other in others)
                or (of and (others or cue.end - cue.start > 1))
            ):
                reading.put(each, Role.BESIDE)
                for one, other in pairwise(m for m in reading.mentions if m.start >= each.start):
                    joined = reading.has_cue("and", one.end, other.start)
                    if reading.role(one) == Role.BESIDE and joined and side_by_side(reading, one, other):
                        reading.put(other, Role.BESIDE)
            break
    for each in reading.mentions:
        others = [other for other in reading.named() if other.start != each.start and not other.possessive]
        if (each.possessive and others) or belongs(reading, each):
            reading.put(each, Role.BESIDE)


def _opinions(reading: Reading) -> None:
    """`Some say X, but it is Y`; `X claims to be it, but Y is`."""
    for cue in reading.of("believed"):
        contrast = [each for each in reading.of("contrast", "hedge", "amended") if each.start >= cue.end]
        for then in (reading.next(cue), reading.previous(cue, 2, STOPS | {","})):
            later = [each for each in contrast if then and each.start >= then.end]
            if later and any(each.start >= later[0].end for each in reading.named()):
                reading.put(then, Role.DENIED)


_CONCEDED = frozenset(("although", "though", "while", "whereas", "obwohl", "wahrend", "obgleich"))


def _concessions(reading: Reading) -> None:
    """`Although X claims otherwise, it is Y`."""
    for cue in reading.of("contrast"):
        then = reading.next(cue, 6)
        if reading.tokens[cue.start].key not in _CONCEDED or then is None:
            continue
        if cue.start and reading.tokens[cue.start - 1].is_word:
            continue
        commas = [at for at in range(then.end, len(reading.tokens)) if reading.tokens[at].text == ","]
        if commas and any(each.start > commas[0] for each in reading.mentions):
            reading.put(then, Role.BESIDE)


def _refusals(reading: Reading) -> None:
    refused = reading.of("refused")
    for cue in refused:
        for each in reading.mentions:
            if each.start < cue.end:
                continue
            free = reading.stopped(cue.end, each.start, STOPS | {","}, ("contrast", "hedge"))
            doubted = [one for one in reading.of("whether") if cue.end <= one.start < each.start]
            guess = doubted and reading.stopped(doubted[-1].end, each.start, STOPS, ("contrast", "hedge"))
            if (doubted and not guess and reading.has("verb", each.end, len(reading.tokens))) or not free:
                reading.put(each, Role.OPEN, (Role.ASSERTED, Role.NOW, Role.ONCE, Role.DENIED))
    if refused:
        for cue in reading.of("whether"):
            for each in reading.mentions:
                if cue.end <= each.start and each.end <= refused[-1].start:
                    reading.put(each, Role.OPEN)


def _corrections(reading: Reading) -> None:
    for cue in reading.of("retracted", "amended"):
        earlier = [each for each in reading.mentions if each.end <= cue.start]
        if not earlier or not _apart(reading, cue):
            continue
        later = [each for each in reading.named() if each.start >= cue.end]
        said = [each for each in later if reading.role(each) in (Role.ASSERTED, Role.NOW)]
        if said or (cue.kind == "retracted" and not later and cue.end >= len(reading.tokens) - 1):
            for each in earlier:
                reading.put(each, Role.TAKEN_BACK, (Role.ASSERTED, Role.NOW, Role.ONCE))


_SHORT = frozenset(("no", "rather", "wait", "nein", "falsch", "halt"))


def _apart(reading: Reading, cue: Cue) -> bool:
    """Whether a cue stands apart, so that `no` is no part of `no doubt`, or is long enough by itself."""
    after = reading.tokens[cue.end].text if cue.end < len(reading.tokens) else "."
    before = reading.tokens[cue.start - 1].text if cue.start else "."
    short = cue.end - cue.start == 1 and reading.tokens[cue.start].key in _SHORT
    return (
        after in ",.:;!—–-"
        if short
        else before in ",.:;!?—–-(" or after in ",.:;!—–-" or cue.end - cue.start > 1
    )
