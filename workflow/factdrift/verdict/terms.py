"""When an answer says that a name held: before, until a year, from one year to another, now."""

from __future__ import annotations

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import asked_events
from factdrift.verdict.cues import Cue
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.offices import abbreviates, held_office
from factdrift.verdict.orders import adjacent, before_articles
from factdrift.verdict.reading import STOPS, STOPS_BUT_PARENTHESES, Reading, Role, side_by_side
from factdrift.verdict.text import Token

_DASHES = frozenset(("-", "–", "—", "to", "until", "till", "through", "and", "bis", "und"))


_BEFORE = frozenset(("formerly", "previously", "used", "ehemals", "vormals", "fruher", "ad"))


def read_times(reading: Reading) -> None:
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
            office = reading.tokens[cue.end : cue.end + 1]
            named = office[0].key if office else ""
            whole = named in reading.asked and reading.words.has("title", named)
            whole |= abbreviates(named, reading.asked) or keys[0] in ("used", "ad")
            reading.put(before, Role.BEFORE if whole and keys[0] != "outgoing" else Role.ONCE)
    for cue in reading.of("until"):
        if asked_events(reading) and reading.tokens[cue.start].key in reading.words.values["event"]:
            continue  # born in X, died in Y
        keys = [token.key for token in reading.tokens[cue.start : cue.end]]
        dated = any(token.kind == "number" for token in reading.tokens[cue.end : cue.end + 4])
        if not dated and keys[-1] in _DATED:
            continue
        before = reading.previous(cue, 12, STOPS_BUT_PARENTHESES)
        between = reading.tokens[before.end : cue.start] if before is not None else ()
        apart = len(keys) < 3 and any(token.text in (",", "(") for token in between)
        then = reading.next(cue, 8)
        if then is not None and any(t.key in ("when", "als") for t in reading.tokens[cue.end : then.start]):
            apart = False  # until March 2023, when X came
        if before is not None and not (apart and then is not None):
            over = keys[-1] not in (*_UNTIL, *_DATED)
            reading.put(before, Role.BEFORE if over else Role.ONCE, (Role.ASSERTED, Role.NOW))
            _ended(reading, before)
        elif then is not None:
            reading.put(then, Role.ONCE)
    _spans(reading)
    _series(reading)


_PAST = frozenset(("was", "were", "did", "war", "waren", "wurde", "wurden"))


_LASTING = frozenset(("state", "government", "ownership", "seat", "marriage", "work", "residence"))
"""Events that last: an answer to them has a term."""


def _ended(reading: Reading, mention: Mention | None) -> None:
    """A term with an end, or told in the past, may be over: that does not answer a question of now."""
    if mention and not (mention.value or asked_events(reading) - _LASTING or _PAST & set(reading.asked)):
        reading.doubts[mention.start] = "is said to have held until a date, or in the past"


_UNTIL = frozenset(("until", "till", "til", "bis"))
_DATED = frozenset(("through", "to", "in", "zum", "ende", "anfang", "mitte", "jahr", "endete"))
"""Last words of cues that end a term only with a date behind them."""


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
        abbreviates(key, reading.asked)
        or any(key == each or (len(key) > 4 and each.endswith(key)) for each in reading.asked)
        for key in keys
    )


def _owner_now(reading: Reading, cue: Cue) -> None:
    """`X's predecessor was Y` says that X holds now."""
    owner = reading.previous(cue, 1)
    if owner is not None and owner.possessive:
        reading.put(owner, Role.NOW)


_APPOSED = frozenset((":", "–", "—"))
"""Signs between a name and its term: `X – since 2024`."""


def _is_year(token: Token) -> bool:
    return token.kind == "number" and len(token.text) == 4 and token.text.isdigit()


def _series(reading: Reading) -> None:
    """`By X in 1982, by Y in 2003 and by Z in 2022`: the last one holds, unless a year is asked for."""
    listed = [each for each in reading.mentions if reading.role(each) in (Role.ASSERTED, Role.NOW)]
    dates = any(_is_year(token) for each in listed for token in reading.tokens[each.start : each.end])
    if len(listed) < 2 or dates or any(key.isdigit() for key in reading.asked):
        return
    starts, ends = [each.start for each in listed], [each.end for each in listed]
    behind = zip(ends, [*starts[1:], len(reading.tokens)], strict=True)
    before = zip([0, *ends[:-1]], starts, strict=True)
    led = listed[0].value and any(_is_year(token) for token in reading.tokens[: starts[0]])  # in 2012: X
    years = [
        [token.key for token in reading.tokens[start:end] if _is_year(token)]
        for start, end in (before if led else behind)
    ]
    joined = listed[0].value and reading.has_cue("and", listed[0].end, listed[-1].start)
    if joined or any(len(own) != 1 for own in years):
        return
    last = max(own[0] for own in years)
    if years.count([last]) > 1:
        return
    for each, own in zip(listed, years, strict=True):
        reading.put(each, Role.NOW if own[0] == last else Role.ONCE, (Role.ASSERTED, Role.NOW))


def _spans(reading: Reading) -> None:
    """`X (2017-2021)`: a term that has ended; `X (2021-present)`: one that has not."""
    found = reading.tokens
    for place in range(1, len(found) - 1):
        first, dash, last = found[place - 1 : place + 2]
        if not _is_year(first) or dash.key not in _DASHES:
            continue
        span = Cue("until", place - 1, place + 2)
        before = reading.previous(span, 4, STOPS_BUT_PARENTHESES - _APPOSED | {","}) or reading.next(
            span, 4, STOPS_BUT_PARENTHESES - {":"}
        )
        if _is_year(last):
            reading.put(before, Role.ONCE)
            _ended(reading, before)
        elif last.kind != "number" and dash.text in "-–—":
            reading.put(before, Role.NOW)


def read_present(reading: Reading) -> None:
    """A name that is said to hold now makes the others those of another time."""
    then_only: list[Mention] = []
    for cue in reading.of("now"):
        keys = [token.key for token in reading.tokens[cue.start : cue.end]]
        following = reading.tokens[cue.end : cue.end + 3]
        dated = any(token.kind == "number" for token in following) or any(t.key == "then" for t in following)
        if keys[0] in ("since", "seit", "stand") and not dated:
            continue
        then = reading.next(cue, 12, STOPS | {"("} - {":"})
        before = reading.previous(cue, 8, STOPS_BUT_PARENTHESES - _APPOSED | {","})
        trailing = keys[0] in ("since", "seit")
        if keys[:1] == ["as"] or keys[0] == "stand":
            continue
        chosen = (before or then) if trailing else (then or before)
        if then is not None and before is not None and not trailing and adjacent(reading, cue, then, 3):
            chosen = then
        if chosen is not None and chosen.kind == UNKNOWN:
            if keys[0] in _NEXT and chosen is then and adjacent(reading, cue, then, 2):
                full = chosen.end - chosen.start > 1
                reading.put(chosen if full else None, Role.NOW)  # X until 2021, now Y, who is no candidate
        elif chosen is not None:
            for each in then_only if chosen.start > cue.start else ():
                reading.put(each, Role.ONCE, (Role.ASSERTED, Role.NOW))
            reading.put(chosen, Role.NOW)
            then_only = [*then_only, chosen] if keys[0] in _NEXT and chosen.start >= cue.end else then_only
            for each in reading.mentions if keys[0] in _NEXT and chosen.start >= cue.end else ():
                if each.end <= cue.start:
                    reading.put(each, Role.ONCE, (Role.ASSERTED, Role.NOW))
    tenses = {
        each.start: _tense(reading, each)
        for each in reading.mentions
        if reading.role(each) in (Role.ASSERTED, Role.NOW)
    }
    if not reading.of("now", "disclaimer", "hedge") and not any(map(_is_year, reading.tokens)):
        for each in reading.mentions:
            _ended(reading, each if held_office(reading, each) else None)
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
    (
        "then",
        "later",
        "subsequently",
        "finally",
        "now",
        "today",
        "heute",
        "dann",
        "danach",
        "spater",
        "anschliessend",
        "jetzt",
    )
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
