"""What a sentence says of each candidate that it names: asserts it, denies it, or names it beside another."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from factdrift.verdict.candidates import Candidates, Mention
from factdrift.verdict.clauses import (
    asked_events,
    is_about,
    of_asked_event,
    read_contrasts,
    read_events,
    read_gifts,
    read_subjects,
)
from factdrift.verdict.cues import Cue
from factdrift.verdict.frames import read_frames
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.offices import belongs, is_core, read_offices
from factdrift.verdict.orders import read_order, read_ranks
from factdrift.verdict.plans import read_attempts, read_conditions, read_future
from factdrift.verdict.reading import (
    CLAIMED,
    HOLDS,
    STOPS,
    STOPS_BUT_PARENTHESES,
    Reading,
    Role,
    outside,
    side_by_side,
)
from factdrift.verdict.terms import read_present, read_series, read_times
from factdrift.verdict.text import Token


def read_sentence(sentence: Sequence[Token], candidates: Candidates, text: str) -> Reading:
    """The names in a sentence of a text with their roles, the surest cues first."""
    mentions = candidates.mentions(sentence, text)
    own = [mention for mention in mentions if mention.kind != UNKNOWN]
    unknown = [mention for mention in mentions if mention.kind == UNKNOWN]
    unknown = unknown or candidates.unknown(sentence, own)
    reading = Reading(sentence, own, unknown, candidates.cues, candidates.asked, candidates.subject)
    for step in (
        *(_read_limits, read_ranks, read_order, read_gifts, read_times, _read_former_list),
        *(_read_denials, read_attempts, _read_company, read_series, read_subjects, read_events, read_offices),
        *(_read_opinions, _read_concessions, _read_refusals, _read_corrections),
    ):
        step(reading)
    sure = {start for start, role in reading.roles.items() if role == Role.NOW}
    read_present(reading)
    read_conditions(reading)
    read_contrasts(reading)
    read_frames(reading, sure)
    read_future(reading)
    _read_claims(reading)
    return reading


_RANGES = frozenset(("-", "–", "—", "to", "through", "bis"))


def _read_limits(reading: Reading) -> None:
    """Values that are only limits, `before 1998`, or the ends of a range, `1990-1998`."""
    values = [mention for mention in reading.named() if mention.value]
    cues = [cue for cue in reading.of("took_over", "handed_on", "beside") if reading.is_a(cue.start, "limit")]
    for cue in (*reading.of("bound"), *cues):
        for mention in values:
            gap = range(cue.end, mention.start)
            if cue.end <= mention.start and all(reading.is_a(at, "article") for at in gap):
                reading.assign(mention, Role.BESIDE)
    ends = [
        mention
        for mention in values
        if mention.kind != UNKNOWN or reading.key(mention.start - 1) not in ("in", "since", "seit")
    ]
    for first, second in pairwise(ends):
        between = reading.keys(first.end, second.start)
        led = first.start > 1 and reading.is_a(first.start - 1, "from")  # it grew from 1 to 2
        changes = led and not reading.is_a(first.start - 2, "verb")
        if len(between) == 1 and between[0] in _RANGES and not changes:
            life = asked_events(reading)
            reading.assign(None if "birth" in life else first, Role.BESIDE)  # X (born - died)
            reading.assign(None if "death" in life else second, Role.BESIDE)


def _read_former_list(reading: Reading) -> None:
    """`Previously X and Y` says of both that they were before."""
    for cue in reading.of("former"):
        colon = reading.end(cue.end, ":")
        alone = reading.keys(0).count(":") == 1 and reading.count(0, cue.start) < 3
        if alone and not any(name.start < colon for name in reading.mentions):
            for name in reading.mentions:
                reading.assign(name, Role.BEFORE, HOLDS)  # Former presidents: X, Y
        if cue.start and colon - cue.end < 3 and reading.sign(cue.start - 1) == ",":
            end = reading.end(colon + 1, ":")
            commas = [at for at in range(colon, end) if reading.sign(at) == ","]
            end = commas[-1] if commas and end < len(reading.tokens) else end
            for name in reading.mentions:  # Seat: X, Former seats: Y, Z, Founder: W
                inside = colon < name.start < end and not reading.has_cue("now", colon, name.start)
                reading.assign(name if inside else None, Role.BEFORE, HOLDS)
    for first, second in pairwise(reading.named()):
        led = any(cue.end <= first.start for cue in reading.of("former", "took_over"))
        joined = any(cue.start in range(first.end, second.start) for cue in reading.of("and", "or"))
        comma = "," in reading.keys(first.end, second.start)
        past = reading.role(first) in (Role.BEFORE, Role.ONCE)
        end = reading.end(second.end + 1) + 1 if reading.sign(second.end) == "," else second.end
        acts = first.kind == UNKNOWN and reading.sign(end).islower()  # after the World Cup and Y came
        if past and led and joined and not (acts or comma) and side_by_side(reading, first, second):
            reading.assign(second, reading.role(first))


def _read_denials(reading: Reading) -> None:
    """Names behind `not`, or the subject of `X is not`; a second denial takes the first one back."""
    bounds = (cue for cue in reading.of("bound") if reading.key(cue.start) in ("not", "nicht"))
    for cue in (*reading.of("not"), *bounds):
        end = _scope(reading, cue.end + (reading.sign(cue.end) == ":"))  # Incorrect: X
        behind = ("any", "anymore", "was", "were", "been")  # when it was cancelled, he founded X
        end = cue.end if reading.key(cue.start) in behind or reading.key(cue.end - 1) == "outdated" else end
        inside = [mention for mention in reading.mentions if cue.end <= mention.start < end]
        if reading.key(cue.end) in _TAKES and (subject := reading.previous(cue, 12, STOPS)):
            reading.assign(subject, Role.DENIED, CLAIMED)  # X did not succeed Y
            continue
        if inside and reading.is_a(cue.start, "instead"):
            verbs = (at for at in range(inside[0].end, end) if reading.is_a(at, "verb"))
            end = next(verbs, end)
        alternates = reading.is_a(cue.start, "neither")
        for mention in inside:
            if mention.start < end:
                twice = reading.role(mention) == Role.DENIED and not alternates
                role = Role.TWICE if twice else Role.DENIED
                reading.assign(mention, role, (*CLAIMED, Role.BEFORE, Role.DENIED))
        claims = [
            that.end
            for that in reading.of("whether")
            if that.end <= cue.start and reading.has("claim", 0, that.start)
        ]
        if claims and not inside:  # the claim that X holds it is not correct
            for mention in reading.mentions:
                denied = claims[0] <= mention.start < cue.start
                reading.assign(mention if denied else None, Role.DENIED, (*CLAIMED, Role.BEFORE))
        unknown = [name for name in reading.unknown if cue.end <= name.start < end]
        if not inside and not any(reading.lead(name) < cue.end for name in unknown):
            subject = _subject(reading, cue)
            reading.assign(subject, Role.DENIED, CLAIMED)
            off = reading.key(cue.start) in ("was", "were", "been") and reading.stopped(
                0, cue.start, STOPS, ["contrast"]
            )
            for name in reading.mentions if off and subject is None else ():  # but it was called off
                reading.assign(name if name.end <= cue.start else None, Role.DENIED, CLAIMED)
            before = subject.start - 1 if subject else -1
            for name in reading.mentions if reading.sign(before) == "(" else ():  # X (alias) is not
                reading.assign(name if name.end == before else None, Role.DENIED, CLAIMED)


_TAKES = ("succeed", "replace", "take", "follow", "become")
"""Verbs behind `did not` of somebody who has no office by it."""


def _scope(reading: Reading, start: int) -> int:
    """Where a denial that begins at `start` ends: at a comma, unless a list with `or` goes on behind it."""
    contrasts = {cue.start for cue in reading.of("contrast", "hedge")}
    for at in range(start, len(reading.tokens)):
        sign = reading.sign(at)
        if sign in STOPS_BUT_PARENTHESES or reading.tokens[at].kind == "break" or at in contrasts:
            return at
        named = reading.is_a(at - 1, "title") and any(
            name.start == at + 1 and reading.sign(name.end) == "," for name in reading.mentions
        )
        if sign == "," and reading.key(at + 1) != "dass" and not (named or _list_goes_on(reading, at)):
            return at
    return len(reading.tokens)


def _list_goes_on(reading: Reading, comma: int) -> bool:
    """Whether the names behind a comma belong to a list that ends with `or`."""
    joins = {cue.start for cue in reading.of("or")}
    for at in range(comma + 1, min(len(reading.tokens), comma + 12)):
        if at in joins or reading.key(at) in ("nor", "noch"):
            signs = any(reading.sign(between) in STOPS for between in range(comma + 1, at))
            return not signs and not reading.has("verb", comma + 1, at)
    return False


def _subject(reading: Reading, cue: Cue) -> Mention | None:
    """The name of which something is denied: `X is not`; `X, it is said, ...` is not looked at."""
    before = [mention for mention in reading.mentions if mention.end <= cue.start]
    comma = cue.start - 1 - reading.is_a(cue.start - 1, "verb")
    if reading.sign(comma) == ",":  # X, the founder of it, is not
        before = [name for name in before if reading.sign(name.end) == "," and name.end < comma] or before
    before = before[-1:]
    if not before or before[0].possessive:
        return None
    if reading.sign(comma) == "," and comma > before[0].end:
        return before[0]
    between = outside(reading.tokens, range(before[0].end, cue.start))
    ends = reading.count(cue.end, len(reading.tokens)) == 0 and reading.sign(cue.end) != "?"
    pronoun = any(reading.is_a(at, "pronoun") for at in (cue.start - 2, cue.start - 1))
    longer = reading.key(cue.end - 1) in ("more", "longer", "anymore")
    if ends and (pronoun or longer or reading.key(cue.start).endswith(("ly", "lich"))):
        return before[0]  # X is said to be it, but he is not; X, wrongly
    turned = reading.is_a(cue.start - 1, "conjunction")  # X was it but no longer holds it
    clause = range(cue.end, reading.end(cue.end))
    if pronoun and before[0].person and any(is_about(reading, at) for at in clause):
        return before[0]  # X is his friend, but she is not his wife
    if (len(between) > 7 and not turned) or any(reading.sign(at) in (",", ";", ":", "(") for at in between):
        return None
    verb = any(reading.is_a(at, "verb") for at in (*between, cue.start))
    whole = reading.key(cue.start) in ("nicht", "nie", "niemals") or reading.key(cue.end - 1) == "longer"
    contracted = reading.key(cue.start).endswith("nt")
    verb |= reading.is_a(cue.end, "achieved")  # X won and never became it
    return before[0] if verb or contracted or whole or not between else None


def _read_company(reading: Reading) -> None:
    """Names in the company of another one, such as `X, who ran against Y`, and possessives."""
    for cue in reading.of("beside"):
        company = [mention for mention in reading.mentions if _is_company(reading, cue, mention)][:1]
        if not company or of_asked_event(reading, cue.start) or not _takes_company(reading, cue, company[0]):
            continue
        reading.assign(company[0], Role.BESIDE, (Role.ASSERTED, Role.ONCE))
        listed = [name for name in reading.named() if name.start >= company[0].start]
        for first, second in pairwise(listed):
            joined = any(cue.start >= first.end for cue in reading.of("and"))
            if reading.role(first) == Role.BESIDE and joined and side_by_side(reading, first, second):
                reading.assign(second, Role.BESIDE)
    for mention in reading.mentions:
        others = [name for name in reading.named() if name.start != mention.start and not name.possessive]
        if (mention.possessive and others) or belongs(reading, mention):
            reading.assign(mention, Role.BESIDE)


def _is_company(reading: Reading, cue: Cue, mention: Mention) -> bool:
    """Whether a name follows a cue, with one word and titles between them at most."""
    words = [at for at in range(cue.end, mention.start) if reading.tokens[at].is_word]
    near = sum(not reading.is_a(at, "title") for at in words) <= 1
    return mention.start >= cue.end and near and not reading.stopped(cue.end, mention.start)


def _takes_company(reading: Reading, cue: Cue, mention: Mention) -> bool:
    """Whether somebody else is the one that is spoken of."""
    first = reading.key(cue.start)
    if first in reading.asked and len(cue.span) == 1:  # under which licence
        return False
    if first in ("than", "with", "mit") and mention.value:  # more than 20
        return False
    if first in ("with", "mit") and not mention.person and len(cue.span) == 1:  # he landed with the Rockets
        return False
    of = mention.end + 1 if reading.is_a(mention.end, "of") else 0
    as_ = next((name.end for name in reading.unknown if name.start == of), mention.end)
    if reading.key(as_) in ("as", "als") and any(is_core(reading, at) for at in range(as_, as_ + 6)):
        return False  # it is back with X of Z as its new singer
    if reading.has("who", cue.start - 3, cue.start):
        return True  # the singer who tours with Y
    others = [name for name in reading.named() if name.start != mention.start]
    begins = reading.sign(mention.end) == "," and reading.count(0, cue.start) < 2  # Like X,
    if begins or reading.is_a(cue.start, "around") or reading.is_a(cue.start - 1, "pronoun"):
        return True
    act = reading.is_a(cue.start, "act") and not any(key[:5] == first[:5] for key in reading.asked)
    of = (
        act
        or reading.key(cue.end - 1) in ("of", "von", "to")
        or (len(cue.span) > 1 and reading.key(cue.end - 1) in ("with", "against"))
    )
    return any(name.start < cue.start for name in others) or (of and bool(others or len(cue.span) > 1))


def _read_opinions(reading: Reading) -> None:
    """`Some say X, but it is Y`; `X claims to be it, but Y is`."""
    for cue in reading.of("believed"):
        for name in (reading.next(cue), reading.previous(cue, 2, STOPS | {","})):
            turns = [
                turn.end
                for turn in reading.of("contrast", "hedge", "amended")
                if name is not None and turn.start >= max(cue.end, name.end)
            ]
            turns += [at for at, token in enumerate(reading.tokens) if token.text == ";" and at > cue.end]
            denied = turns and reading.has_cue("not", turns[0], len(reading.tokens))
            if turns and (denied or any(other.start >= turns[0] for other in reading.named())):
                reading.assign(name, Role.DENIED, CLAIMED)


def _read_concessions(reading: Reading) -> None:
    """`Although X claims otherwise, it is Y`."""
    for cue in reading.of("contrast"):
        name = reading.next(cue, 6)
        begins = cue.start == 0 or not reading.tokens[cue.start - 1].is_word
        if name is None or not reading.is_a(cue.start, "conceded"):
            continue
        if any(other.end <= cue.start for other in reading.asserted()):  # it is X, although Y wants it
            later = [other for other in reading.mentions if other.start >= name.start]
            for mention in later if len(later) < len(reading.mentions) else ():
                reading.assign(mention, Role.BESIDE, HOLDS)
        elif begins:
            comma = reading.end(name.end, ",")
            inside = [mention for mention in reading.mentions if cue.end <= mention.start < comma]
            follows = any(mention.start > comma for mention in reading.mentions)
            for mention in inside if follows else ():
                reading.assign(mention, Role.BESIDE, HOLDS)


def _read_refusals(reading: Reading) -> None:
    """`I don't know whether X is`: left open; `I'm not sure, but X is` is not."""
    refused = reading.of("refused")
    for cue in refused:
        for mention in (mention for mention in reading.mentions if mention.start >= cue.end):
            free = reading.stopped(cue.end, mention.start, STOPS | {","}, ("contrast", "hedge"))
            doubted = [word for word in reading.of("whether") if cue.end <= word.start < mention.start]
            guess = doubted and reading.stopped(doubted[-1].end, mention.start, STOPS, ("contrast", "hedge"))
            if doubted and reading.key(doubted[-1].start) in (
                "that",
                "which",
            ):  # but from the latest that I have
                guess = guess or reading.stopped(cue.end, doubted[-1].start, frozenset(), ("contrast",))
            if not free or (doubted and not guess and reading.has("verb", mention.end)):
                reading.assign(mention, Role.OPEN, (*CLAIMED, Role.DENIED))
    for cue in reading.of("whether") if refused else ():
        if cue.start == 0 and reading.is_a(cue.end, "modal", "verb"):
            continue  # That would be X, but I am not sure
        for mention in reading.mentions:
            if cue.end <= mention.start and mention.end <= refused[-1].start:
                reading.assign(mention, Role.OPEN)


def _read_claims(reading: Reading) -> None:
    """`It is a myth that X is`, `X is, but that is wrong`, `Fans hope that X is`: of the whole claim."""
    for cue in reading.of("denied", "doubted", "fictional"):
        before = cue.start > 1 and any(name.end <= cue.start for name in reading.mentions)
        if not before and cue.kind == "fictional" and (cue.start or reading.sign(cue.end) != ","):
            continue
        starts = [turn.start for turn in reading.of("contrast") if turn.start >= cue.end]
        end = min([*starts, reading.end(cue.end, (";", ":", "?", "!"))])
        ended = not any(token.is_word for token in reading.tokens[cue.end : end])
        for mention in reading.mentions:
            if mention.start in (range(cue.start) if before and ended else range(cue.end, end)):
                twice = reading.role(mention) == Role.DENIED and not before
                if cue.kind == "denied":
                    role = Role.TWICE if twice else Role.DENIED
                    reading.assign(mention, role, (*CLAIMED, Role.BEFORE, Role.DENIED))
                else:
                    reading.doubts[mention.start] = "is only what some say"


def _read_corrections(reading: Reading) -> None:
    """`X, no, Y`: X is taken back."""
    for cue in reading.of("retracted", "amended"):
        later = [name for name in reading.named() if name.start >= cue.end]
        last = cue.kind == "retracted" and not later and cue.end >= len(reading.tokens) - 1
        left = reading.is_a(cue.end + (reading.sign(cue.end) == ","), "pronoun")  # X, no, he was dismissed
        left &= any(end.start >= cue.end for end in reading.of("until", "took_over"))
        last |= left and cue.kind == "retracted"
        if _apart(reading, cue) and (last or any(reading.role(name) in HOLDS for name in later)):
            for mention in reading.mentions:
                if mention.end <= cue.start:
                    reading.assign(mention, Role.TAKEN_BACK, CLAIMED)


def _apart(reading: Reading, cue: Cue) -> bool:
    """Whether a cue is set apart, so that `no` is no part of `no doubt`, or is long enough by itself."""
    before, after = reading.sign(cue.start - 1) or ".", reading.sign(cue.end) or "."
    if len(cue.span) == 1 and reading.is_a(cue.start, "short"):
        return after in ",.:;!—–-"
    return before in ",.:;!?—–-(" or after in ",.:;!—–-" or len(cue.span) > 1
