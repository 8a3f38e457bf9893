"""When a sentence says that a name held: before, until a year, from one year to another, now."""

from __future__ import annotations

from itertools import takewhile

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import asked_events, is_about, of_asked_event
from factdrift.verdict.cues import Cue, about
from factdrift.verdict.names import UNKNOWN, abbreviates
from factdrift.verdict.offices import asked_office, held_office, is_core, office_fits
from factdrift.verdict.orders import adjacent
from factdrift.verdict.reading import (
    CLAIMED,
    HOLDS,
    STOPS,
    STOPS_BUT_PARENTHESES,
    Reading,
    Role,
    side_by_side,
)
from factdrift.verdict.text import Token

_STOPS = STOPS - {":"}


def read_times(reading: Reading) -> None:
    """Gives names the roles that words of the past, ends of terms and years say."""
    for cue in reading.of("former"):
        if not reading.is_a(cue.start, "predecessor"):
            _read_former(reading, cue)
    for cue in reading.of("until"):
        _read_end(reading, cue)
    _read_spans(reading)


def _read_former(reading: Reading, cue: Cue) -> None:
    """`former president X`, `X was formerly president`."""
    first, then = reading.key(cue.start), reading.next(cue, 7, _STOPS)
    before = then.start - 1 if then is not None and then.kind == UNKNOWN else -1
    if then is not None and reading.key(before) in reading.asked and reading.sign(before).istitle():
        then = reading.next(cue._replace(end=then.end), 7, _STOPS)  # the former CEO of the Z Corporation is X
    late = reading.key(cue.end - 1) == "late"
    of_time = late and not (reading.sign(cue.end).istitle() or reading.is_a(cue.end, "title"))
    if of_time or (late and not asked_office(reading)):
        return  # the late summer
    if then is not None and reading.stopped(cue.end, then.start, _STOPS, ["contrast"]):
        then = None  # X used to be it, but Y took over
    brief = first in ("once", "einst", "briefly")
    if then is not None:
        if reading.stopped(cue.end, then.start, _STOPS, ["now"]):
            return
        before = any(reading.is_a(at, "formerly") for at in cue.span) or _of_the_office(reading, cue, then)
        if first == "once" and reading.key(cue.end) != "more":
            _doubt_term(reading, then)  # it was once owned by X
        if not (brief or first == "zuvor") or adjacent(reading, cue, then, 4):
            reading.assign(then, Role.BEFORE if before else Role.ONCE)
            return
    name = reading.previous(cue, 6)
    if name is None and reading.sign(cue.start - 1) == "(" and reading.sign(cue.end) == ")":
        name = reading.previous(cue, 6, STOPS_BUT_PARENTHESES)
        reading.assign(name, Role.BEFORE)  # X (former)
        return
    if name is None:
        return
    end = reading.end(cue.end)
    own = any(reading.is_a(at, "title") and reading.key(at) in reading.asked for at in range(cue.end, end))
    of_another = not (own or office_fits(reading, reading.keys(cue.end, end)))
    holds = takes_office(reading, name) or reading.has_cue("now", 0, name.start)
    holds |= reading.sign(end) == "," and reading.is_a(end + 1, "achieved")
    lead = reading.lead(name)
    apposed = reading.sign(name.end) == "," and cue.start - name.end < 3
    holds |= apposed and (reading.is_a(lead, "present") or reading.key(lead) == "its")
    joined = apposed and any(
        side_by_side(reading, *sorted((name, other))) for other in reading.mentions if other != name
    )
    if of_another and (holds or joined) and end > cue.end:
        return  # it is now led by X, who used to be a provost
    if reading.keys(cue.start, cue.end) == ["used", "to"] or brief:
        glued = cue.start - name.end < 2  # X once ran it, X was once president
        reading.assign(name if glued else None, Role.ONCE)
        if glued:
            _doubt_term(reading, name)
        return
    if first not in ("then", "past", "old", "alt"):
        behind = takewhile(lambda at: not reading.is_a(at, "of", "object", "locative"), range(cue.end, end))
        titles = (at for at in behind if reading.is_a(at, "title", "thing") and is_core(reading, at))
        at = next(titles, cue.end)  # the former head coach, the ex-CEO
        office = reading.key(at)
        whole = office in reading.asked and reading.is_a(at, "title", "thing")
        whole &= not asked_office(reading) or office_fits(reading, reading.keys(cue.end, at + 4)) is True
        whole |= abbreviates(office, reading.asked) or first in ("used", "ad")
        first_word = cue.end + (reading.sign(cue.end) == "-") + reading.is_a(cue.end, "article")  # ex-
        whole |= of_asked_event(reading, first_word)  # the ex-wife
        whole |= is_core(reading, first_word) and bool(
            office_fits(reading, reading.keys(first_word, first_word + 3))
        )
        reading.assign(name, Role.BEFORE if whole and first != "outgoing" else Role.ONCE)


def _read_end(reading: Reading, cue: Cue) -> None:
    """`X until 2021`, `X resigned`."""
    if asked_events(reading) and reading.key(cue.start) in reading.words.values["event"]:
        return  # born in X, died in Y
    if reading.key(cue.end - 1) in reading.asked and reading.key(cue.end - 1).endswith("ed"):
        return  # when was it released?
    if len(cue.span) == 1 and reading.is_a(cue.start - 1, "indefinite"):
        return  # a retired teacher
    month = reading.key(cue.end) in reading.words.values["month"]
    dated = month or reading.key(cue.end)[:1].isdigit() or reading.key(cue.end) == "version"
    if reading.keys(cue.start, cue.end) in (["through"], ["up", "to"]) and not dated:
        return  # she came through the youth ranks, he moved up to succeed him
    if reading.key(cue.start) in ("died", "passed") and "record" in reading.asked:
        return  # whose record stands
    last = cue.end - 1
    name, then = reading.previous(cue, 12, STOPS_BUT_PARENTHESES), reading.next(cue, 8)
    led = next((at for at in range(cue.start - 1, 0, -1) if reading.is_a(at, "when")), -1)
    if name is not None and name.end <= led < cue.start - 1 and not reading.is_a(led + 1, "pronoun"):
        name = None  # X reigns since his mother stepped down
    for at in range(name.end, len(reading.tokens)) if name is not None else ():
        if at >= cue.end and reading.is_a(at, "restored"):
            reading.assign(name, Role.NOW, (*HOLDS, Role.BEFORE))  # X resigned and was reappointed
            return
        if reading.is_a(at, "remains") and (
            reading.has("tenure", at + 2, at + 4) or any(is_core(reading, core) for core in range(at, at + 9))
        ):
            reading.assign(name, Role.NOW)  # X has resigned but remains in office until then
            return
    over = not reading.is_a(last, "dated")
    contract = name is not None and bool(_CONTRACT & set(reading.keys(name.start - 4, cue.start)))
    contract |= not {"runs", "lasts", "extends"}.isdisjoint(reading.keys(name.end if name else 0, cue.start))
    if name is not None and (name.value if over else contract):
        return
    apart = name is not None and len(cue.span) < 3
    apart = apart and bool({",", "("} & set(reading.keys(name.end if name else 0, cue.start)))
    if then is not None and reading.has_cue("now", cue.end, then.start):
        apart, then = False, None if name is None else then  # X, until 2022, then Y
    if name is None and then is not None and reading.has_cue("and", cue.end, then.start):
        then = None  # he stepped down in May, and X has led it since
    if then is not None and name is not None and reading.has_cue("and", cue.end, then.start):
        apart = False  # Y, now retired, led it until 2025, and X has led it since
    if then is not None and {"when", "als"} & set(reading.keys(cue.end, then.start)):
        apart = False  # until March 2023, when X came
    if then is not None and not over and (takes_office(reading, then) or reading.is_a(then.end, "gains")):
        reading.assign(then, Role.NOW)  # until X was appointed
        return
    if name is not None and not (apart and then is not None):
        reading.assign(name, Role.BEFORE if over else Role.ONCE, HOLDS)
        _doubt_term(reading, name)
    else:
        reading.assign(then, Role.BEFORE if reading.is_a(cue.end, "by") else Role.ONCE)  # fired by X


_CONTRACT = frozenset(("contract", "vertrag", "deal"))
_LASTING = frozenset(("state", "government", "ownership", "seat", "marriage", "work", "residence"))
"""Events that last: an answer to them has a term."""


def takes_office(reading: Reading, mention: Mention) -> bool:
    """Whether a name is the subject of a verb that begins a term: `X was appointed`, `X took over`."""
    end = reading.end(mention.end)
    if reading.is_a(reading.lead(mention), "from"):
        return False  # der es von Y übernahm
    verb = next((at for at in range(mention.end, end) if reading.is_a(at, "achieved")), None)
    if verb is None or any(mention.end <= name.start < verb for name in reading.named()):
        return False
    fits = office_fits(reading, reading.keys(mention.end, end))
    return bool(fits) or (fits is None and not reading.has("title", verb, end))


def _doubt_term(reading: Reading, mention: Mention) -> None:
    """A term with an end, or told in the past, may be over: that does not answer a question of now."""
    of_past = any(reading.words.has("past", key) for key in reading.asked)
    if not (mention.value or asked_events(reading) - _LASTING or of_past):
        reading.doubts[mention.start] = "is said to have held until a date, or in the past"


def _of_the_office(reading: Reading, cue: Cue, then: Mention) -> bool:
    """Whether `former` is said of what is asked for: `former president X`, not `former vice president X`."""
    keys = [
        token.key
        for at, token in enumerate(reading.tokens[cue.end : then.start], cue.end)
        if token.is_word
        and not (reading.is_a(at, "verb", "of", "article", "locative") or token.key in _ACTING)
    ]
    noun = is_about(reading, then.end) or reading.is_a(then.end, "noun", "title")
    if not keys and noun and not (then.person or asked_office(reading)):
        return True  # a former X player
    if not keys or len(cue.span) > 1 or reading.key(cue.start) == "outgoing":
        return False
    return all(
        key in reading.asked
        or abbreviates(key, reading.asked)
        or (len(key) > 4 and key in about(tuple(reading.asked), reading.words))  # the former ground
        or reading.words.values["event"].get(key) in asked_events(reading)  # the ex-wife
        or (len(key) > 4 and any(word.endswith(key) for word in reading.asked))
        for key in keys
    )


_ACTING = ("acting", "interim", "permanent", "new", "current")
"""Words before an office that leave it the same."""


def _is_year(token: Token) -> bool:
    return token.kind == "number" and len(token.text) == 4 and token.text.isdigit()


def read_series(reading: Reading) -> None:
    """`By X in 1982, by Y in 2003 and by Z in 2022`: the last one holds, unless a year is asked for."""
    listed = [mention for mention in reading.mentions if reading.role(mention) in HOLDS]
    dates = any(_is_year(reading.tokens[at]) for mention in listed for at in mention.span)
    if len(listed) < 2 or dates or any(key.isdigit() for key in reading.asked):
        return
    starts, ends = [mention.start for mention in listed], [mention.end for mention in listed]
    led = any(  # in 2012: X
        _is_year(reading.tokens[at])
        and (
            not at
            or listed[0].value
            or reading.is_a(at - 1, "locative")
            or reading.tokens[at - 1].kind == "bullet"
        )
        for at in range(starts[0])
    )
    gaps = zip([0, *ends[:-1]], starts, strict=True) if led else zip(ends, [*starts[1:], None], strict=True)
    years = [[*{token.key for token in reading.tokens[slice(*gap)] if _is_year(token)}] for gap in gaps]
    if any(len(own) != 1 for own in years) or years.count(max(years)) > 1:
        return
    for mention, own in zip(listed, years, strict=True):
        reading.assign(mention, Role.NOW if own == max(years) else Role.ONCE, HOLDS)


_DASHES = frozenset(("-", "–", "—", "to", "until", "till", "through", "and", "bis", "und"))
_APPOSED = frozenset((":", "–", "—"))
"""Signs between a name and its term: `X – since 2024`."""


def _read_spans(reading: Reading) -> None:
    """`X (2017-2021)`: a term that has ended; `X (2021-present)`: one that has not."""
    for at in range(1, len(reading.tokens) - 1):
        first, dash, last = reading.tokens[at - 1 : at + 2]
        if not _is_year(first) or dash.key not in _DASHES:
            continue
        if last.key in reading.words.values["month"] and at + 2 < len(reading.tokens):
            last = reading.tokens[at + 2]  # from 2012 to January 2017
        span = Cue("until", at - 1, at + 2)
        name = reading.previous(span, 4, STOPS_BUT_PARENTHESES - _APPOSED | {","})
        for mention in reading.mentions if reading.sign(at + 2) == "," else ():
            apposed = reading.sign(mention.end) == "," and reading.end(mention.end + 1) == at + 2
            another = any(mention.end < other.start < at for other in reading.mentions)
            if apposed and not another and "already" not in reading.keys(mention.end, at):
                name = mention  # X, president of Z from 2010 to 2015, was
        name = name or reading.next(span, 4, STOPS_BUT_PARENTHESES - {":"})
        after = reading.tokens[at + 2 : at + 3]
        if name is None and reading.sign(at - 2) == "," and (not after or after[0].kind == "break"):
            name = reading.previous(span, 4, STOPS_BUT_PARENTHESES - _APPOSED)  # X: director, 2000-2024
        if (
            name is None and reading.has("from", at - 3, at - 1) and "already" not in reading.keys(0, at)
        ):  # X made history as president, from 2010 to 2015
            name = reading.previous(span, len(reading.tokens), frozenset(";"))
        if name is not None and reading.has_cue("now", 0, at) and reading.has("verb", 0, at):
            since = [
                cue for cue in reading.of("now") if cue.end <= at and reading.is_a(cue.start - 1, "article")
            ]
            if since and "," in reading.keys(since[0].end, at):
                continue  # X is the current champion, having won it from 2021 to 2024
        moved = name is not None and reading.role(name) == Role.NOW and reading.key(at - 2) == "in"
        if name is not None and _is_year(last) and not moved:  # it moved to X in 2005-2006
            reading.assign(name, Role.ONCE)
            _doubt_term(reading, name)
        elif last.kind != "number" and dash.text in "-–—":
            reading.assign(name, Role.NOW)


def read_present(reading: Reading) -> None:
    """A name that is said to hold now makes the others those of another time."""
    steps: list[Mention] = []
    for cue in reading.of("now"):
        _read_now(reading, cue, steps)
    asked = {f"{key}s" for key in reading.asked}
    for mention in reading.mentions:  # where he plays for X
        lead = reading.lead(mention)
        verb = lead - reading.is_a(lead, "locative", "by", "from", "to", "object", "of")
        led = reading.is_a(verb - 1, "pronoun") or reading.has_cue("now", verb - 1, verb)
        if led and reading.key(verb) in asked and not mention.value:
            reading.assign(mention, Role.NOW, CLAIMED)
    holders = reading.asserted()
    if len(holders) > 1 and takes_office(reading, holders[-1]):
        reading.assign(holders[-1], Role.NOW)  # Y was sacked, Z filled in, and X was appointed
    tenses = {mention.start: _tense(reading, mention) for mention in reading.asserted()}
    if not reading.of("now", "disclaimer", "hedge") and not any(map(_is_year, reading.tokens)):
        for mention in reading.mentions:
            wed = reading.lead(mention) - 1  # S was married to X
            was = reading.key(wed) == "married" and reading.is_a(wed - 1, "past")
            if held_office(reading, mention) or was:
                _doubt_term(reading, mention)
    if {"past", "present"} <= set(tenses.values()):
        for mention in reading.mentions:
            if tenses.get(mention.start) == "past":
                reading.assign(mention, Role.ONCE)
    if Role.NOW in reading.roles.values():
        for mention in reading.mentions:
            inside = takewhile(lambda token: token.text != ")", reading.tokens[mention.end :])
            of_a_year = reading.sign(mention.end) == "(" and any(map(_is_year, inside))  # X (loan, 2013)
            if of_a_year or not _listed(reading, mention):
                reading.assign(mention, Role.ONCE)


def _read_now(reading: Reading, cue: Cue, steps: list[Mention]) -> None:
    """`X until 2021, now Y`: `steps` are names that a later step of the sentence leaves behind."""
    first = reading.key(cue.start)
    trailing, onward = first in ("since", "seit", "depuis", "desde"), reading.is_a(cue.start, "then")
    beaten = any(cue.start - other.end in (0, 1) for other in reading.of("beside", "took_over"))
    if (reading.is_a(cue.start, "right") and beaten) or reading.key(cue.end) == "honorary":
        return  # having beaten the incumbent Y; Y, now honorary president
    led = first == "after" and reading.sign(cue.end).islower()
    if led and not reading.is_a(cue.end, "verb", "holds", "past", "gains"):
        return  # after her abdication
    following = reading.tokens[cue.end : cue.end + 5]
    dated = any(token.kind == "number" or token.key == "then" for token in following)
    if first in ("as", "stand") or (trailing and not dated) or reading.is_a(cue.start - 1, "modal"):
        return  # it might still be Y
    if reading.keys(cue.start - 2, cue.start) == ["before", "the"]:
        reading.assign(reading.next(cue, 12, STOPS - {","}), Role.BEFORE)  # before the current one, X
        return
    then = reading.next(cue, 12, (STOPS | {"("}) - {":"})
    name = reading.previous(cue, 8, STOPS_BUT_PARENTHESES - _APPOSED | {","})
    for mention in reading.mentions:  # X, where he plays now
        led = reading.sign(mention.end) == "," and reading.key(mention.end + 1) in ("where", "wo")
        inside = led and mention.end < cue.start < reading.end(mention.end + 2)
        name = mention if name is None and inside and trailing is False else name
    if name and name.end == cue.start - 1 and reading.key(cue.start - 1) == "by":
        then = None  # X by now, or still Y
    if name and then and name.end == cue.start - 1 and reading.is_a(name.end, "present"):
        then = then if adjacent(reading, cue, then, 2) else None  # X is still ahead of Y
    if name and name.end == cue.start and reading.is_a(cue.end, "verb", "holds"):
        then = None  # X still holds it, although Y
    chosen = (name or then) if trailing else (then or name)
    if chosen is None:
        return
    ahead = onward and chosen.start >= cue.end
    if chosen.kind == UNKNOWN:
        if ahead and adjacent(reading, cue, chosen, 2) and len(chosen.span) > 1:
            reading.assign(chosen, Role.NOW)  # X until 2021, now Y, who is no candidate
        return
    if first == "after" and chosen.end <= cue.start and _tense(reading, chosen) == "past":
        reading.assign(chosen, Role.ONCE)  # X was acting president after him
        return
    for step in (step for step in steps if step.end <= chosen.start):
        reading.assign(step, Role.ONCE, HOLDS)
    reading.assign(chosen, Role.NOW)
    if onward:
        steps.append(chosen)
    if ahead:
        for mention in reading.mentions:
            if mention.end <= cue.start:
                reading.assign(mention, Role.ONCE, HOLDS)


def _tense(reading: Reading, mention: Mention) -> str:
    """`past` or `present`, the tense of the verb beside a name; empty if there is none."""
    for at in (mention.end, reading.lead(mention)):
        for tense in ("past", "present"):
            if reading.is_a(at, tense):
                return tense
    return ""


def _listed(reading: Reading, mention: Mention) -> bool:
    """Whether a name is joined to one that is said to hold now."""
    return any(
        reading.role(other) == Role.NOW and side_by_side(reading, *sorted((other, mention)))
        for other in reading.mentions
        if other is not mention
    )
