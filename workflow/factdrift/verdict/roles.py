"""What an answer says of each candidate that it names: asserts it, denies it, or names it beside another."""

from __future__ import annotations

from itertools import pairwise

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import Cue
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.offices import belongs, read_offices
from factdrift.verdict.orders import adjacent, before_articles, read_order
from factdrift.verdict.reading import STOPS, STOPS_BUT_PARENTHESES, Reading, Role, side_by_side


def read_roles(reading: Reading) -> None:
    """Fills the roles of a reading, the surest cues first."""
    _bounds(reading)
    read_order(reading)
    _times(reading)
    _spread(reading)
    _denials(reading)
    _beside(reading)
    read_offices(reading)
    _opinions(reading)
    _concessions(reading)
    _refusals(reading)
    _corrections(reading)
    _present(reading)


_DASHES = frozenset(("-", "–", "—", "to", "until", "till", "through", "and", "bis", "und"))


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
    for first, second in pairwise(values):
        between = [token.key for token in reading.tokens[first.end : second.start]]
        if len(between) == 1 and between[0] in _RANGES and not _changes(reading, first):
            reading.put(first, Role.BESIDE)
            reading.put(second, Role.BESIDE)


def _changes(reading: Reading, first: Mention) -> bool:
    """Whether the values of a range are those before and after a change: `it grew from 1 to 2`."""
    earlier = [token.key for token in reading.tokens[: first.start] if token.is_word]
    led = len(earlier) > 1 and reading.words.has("from", earlier[-1])
    return led and not reading.words.has("verb", earlier[-2])


_BEFORE = frozenset(("formerly", "previously", "used", "ehemals", "vormals"))


def _times(reading: Reading) -> None:
    for cue in reading.of("former"):
        keys = [token.key for token in reading.tokens[cue.start : cue.end]]
        then = reading.next(cue, 7, STOPS - {":"})
        noun = keys[0] in ("predecessor", "vorganger", "vorgangerin")
        if then is not None and not (noun and then.possessive):
            if (noun and _heads(reading, cue, then)) or reading.stopped(
                cue.end, then.start, STOPS - {":"}, ["now"]
            ):
                continue
            role = (
                Role.BEFORE if noun or keys[0] in _BEFORE or _of_the_office(reading, cue, then) else Role.ONCE
            )
            if noun:
                _owner_now(reading, cue)
            if keys[0] not in ("once", "einst", "zuvor") or adjacent(reading, cue, then, 4):
                reading.put(then, role)
                continue
        before = reading.previous(cue, 6)
        if before is None:
            continue
        if noun and before.possessive:
            others = [each for each in reading.named() if each.end <= before.start]
            if others and not any(t.is_word for t in reading.tokens[others[-1].end : before.start]):
                reading.put(before, Role.BESIDE)  # X, Y's predecessor
                continue
            if len(reading.named()) == 1 and cue.end >= len(reading.tokens) - 1:
                reading.put(before, Role.BESIDE)  # X's predecessor
                continue
            reading.put(others[-1] if others else None, Role.BEFORE)
            _owner_now(reading, cue)
        elif keys[0] not in ("then", "past", "old", "alt", "once", "einst"):
            reading.put(before, Role.ONCE)
    for cue in reading.of("until"):
        keys = [token.key for token in reading.tokens[cue.start : cue.end]]
        dated = any(token.kind == "number" for token in reading.tokens[cue.end : cue.end + 4])
        if not dated and keys[-1] not in _ENDED:
            continue
        before = reading.previous(cue, 12, STOPS_BUT_PARENTHESES)
        between = reading.tokens[before.end : cue.start] if before is not None else ()
        apart = len(keys) < 3 and any(token.text in (",", "(") for token in between)
        then = reading.next(cue, 8)
        if then is not None and any(t.key in ("when", "als") for t in reading.tokens[cue.end : then.start]):
            apart = False  # until March 2023, when X came
        if before is not None and not (apart and then is not None):
            reading.put(before, Role.ONCE, (Role.ASSERTED, Role.NOW))
        elif then is not None:
            reading.put(then, Role.ONCE)
    _spans(reading)


_ENDED = frozenset(("until", "till", "til", "bis", "down", "office", "resigned", "ousted", "dismissed"))
_ENDED |= {"fired", "retired", "zuruck", "aus"}
"""Words that end a term, with a date or without."""


def _heads(reading: Reading, cue: Cue, then: Mention) -> bool:
    """Whether a name is itself the answer in `X's predecessor, Y`, without a verb between; then X is not."""
    owner = reading.previous(cue, 1)
    if owner is None or not owner.possessive or reading.has("verb", cue.end, then.start):
        return False
    if any(each.end <= owner.start for each in reading.named()):
        return False
    reading.put(owner, Role.BESIDE)
    return True


def _of_the_office(reading: Reading, cue: Cue, then: Mention) -> bool:
    """Whether `former` is said of what is asked for: `former president X`, not `former vice president X`."""
    keys = [token.key for token in reading.tokens[cue.end : then.start] if token.is_word]
    if not keys or cue.end - cue.start > 1 or reading.tokens[cue.start].key == "outgoing":
        return False
    return all(
        any(key == each or (len(key) > 4 and each.endswith(key)) for each in reading.asked) for key in keys
    )


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


def _owner_now(reading: Reading, cue: Cue) -> None:
    """`X's predecessor was Y` says that X holds now."""
    owner = reading.previous(cue, 1)
    if owner is not None and owner.possessive:
        reading.put(owner, Role.NOW)


def _spans(reading: Reading) -> None:
    """`X (2017-2021)`: a term that has ended; `X (2021-present)`: one that has not."""
    found = reading.tokens
    for place in range(1, len(found) - 1):
        first, dash, last = found[place - 1 : place + 2]
        if first.kind != "number" or len(first.key) != 4 or dash.key not in _DASHES:
            continue
        span = Cue("until", place - 1, place + 2)
        before = reading.previous(span, 4, STOPS_BUT_PARENTHESES - {":"} | {","}) or reading.next(
            span, 4, STOPS_BUT_PARENTHESES - {":"}
        )
        if last.kind == "number" and len(last.key) == 4:
            reading.put(before, Role.ONCE)
        elif last.kind != "number" and dash.text in "-–—":
            reading.put(before, Role.NOW)


def _denials(reading: Reading) -> None:
    for cue in reading.of("not"):
        end = _scope(reading, cue.end)
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
            cue.end <= each.start < end and not _place_of_office(reading, cue, each)
            for each in reading.unknown
        ):
            continue
        before = _subject(reading, cue)
        if before is not None:
            reading.put(before, Role.DENIED, (Role.ASSERTED, Role.NOW, Role.ONCE))


def _place_of_office(reading: Reading, cue: Cue, unknown: Mention) -> bool:
    """Whether a name behind a denial is only the place of an office: `X is not the president of the US`."""
    between = [token.key for token in reading.tokens[cue.end : unknown.start]]
    led = between[-1:] and (reading.words.has("article", between[-1]) or between[-1] in _PLACED)
    return bool(led) and any(reading.words.has("title", key) or key in reading.asked for key in between[:-1])


_PLACED = frozenset(("of", "in", "at", "for", "von", "vom", "bei"))


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
    if any(each.start >= last.end and each.end <= cue.start for each in reading.unknown):
        return None
    first = reading.tokens[cue.start].key
    contracted = first.endswith("nt") or reading.words.has("verb", first)
    verb = any(reading.words.has("verb", token.key) for token in between)
    return last if verb or contracted or not between else None


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
            of |= first in _FOUNDED and not any(key[:5] == first[:5] for key in reading.asked)
            others = [other for other in reading.named() if other.start != each.start]
            around = first in _AROUND
            around |= cue.start > 0 and reading.tokens[cue.start - 1].key == "who"
            if around or any(other.start < cue.start for other in others) or (of and others):
                reading.put(each, Role.BESIDE)
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


def _present(reading: Reading) -> None:
    """A name that is said to hold now makes the others those of another time."""
    for cue in reading.of("now"):
        keys = [token.key for token in reading.tokens[cue.start : cue.end]]
        following = reading.tokens[cue.end : cue.end + 3]
        dated = any(token.kind == "number" for token in following) or any(t.key == "then" for t in following)
        if keys[0] in ("since", "seit", "stand") and not dated:
            continue
        then = reading.next(cue, 12, STOPS | {"("} - {":"})
        before = reading.previous(cue, 8, STOPS_BUT_PARENTHESES - {":"} | {","})
        trailing = keys[0] in ("since", "seit")
        if keys[:1] == ["as"] or keys[0] == "stand":
            continue
        chosen = (before or then) if trailing else (then or before)
        if then is not None and before is not None and not trailing and adjacent(reading, cue, then, 3):
            chosen = then
        if chosen is not None and chosen.kind != UNKNOWN:
            reading.put(chosen, Role.NOW)
            for each in reading.mentions if keys[0] in _NEXT and chosen.start >= cue.end else ():
                if each.end <= cue.start:
                    reading.put(each, Role.ONCE, (Role.ASSERTED, Role.NOW))
    tenses = {
        each.start: _tense(reading, each) for each in reading.mentions if reading.role(each) == Role.ASSERTED
    }
    if {"past", "present"} <= set(tenses.values()):
        for each in reading.mentions:
            if tenses.get(each.start) == "past":
                reading.put(each, Role.ONCE)
    if any(role == Role.NOW for role in reading.roles.values()):
        for each in reading.mentions:
            if reading.role(each) == Role.ASSERTED and (
                _of_a_year(reading, each) or not _listed(reading, each)
            ):
                reading.put(each, Role.ONCE)


_NEXT = frozenset(
    ("then", "later", "subsequently", "now", "dann", "danach", "spater", "anschliessend", "jetzt")
)
_TENSES = {"was": "past", "were": "past", "war": "past", "is": "present", "are": "present", "ist": "present"}


def _tense(reading: Reading, mention: Mention) -> str:
    """The tense of the verb beside a name; empty if there is none."""
    after = reading.tokens[mention.end].key if mention.end < len(reading.tokens) else ""
    if after in _TENSES:
        return _TENSES[after]
    place = before_articles(reading, mention)
    return _TENSES.get(reading.tokens[place].key, "") if place >= 0 else ""


def _of_a_year(reading: Reading, mention: Mention) -> bool:
    """Whether a year in parentheses, and nothing else in them, stands behind a name: `X (2022)`."""
    behind = reading.tokens[mention.end : mention.end + 3]
    if [token.kind == "number" for token in behind] != [False, True, False]:
        return False
    return behind[0].text == "(" and len(behind[1].key) == 4 and behind[2].text == ")"


def _listed(reading: Reading, mention: Mention) -> bool:
    """Whether a name stands beside one that is said to hold now."""
    return any(
        reading.role(each) == Role.NOW and side_by_side(reading, *sorted((each, mention)))
        for each in reading.mentions
        if each is not mention
    )
