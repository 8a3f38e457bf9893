"""What the clause around a name says of it: another event than the one asked for, an attempt, a condition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import about
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.offices import is_core, office_fits
from factdrift.verdict.reading import CLAIMED, HOLDS, Reading, Role, side_by_side

_BORDERS = frozenset(",;:()–—")


def read_events(reading: Reading) -> None:
    """`He was born in X and died in Y`: the verb of the question chooses.

    Names in the clause of another event than the one asked for are beside the answer. Where no event is asked
    for, as of an office, so are names with an event if another one has none: `X founded it; Y runs it`.
    """
    asked, clauses = asked_events(reading), clauses_of(reading)
    acts = set(reading.words.valued("event", reading.keys(0)).values())
    if "composing" in asked and "composing" not in acts and len(reading.mentions) == 1:
        asked = asked | {"writing"}  # a symphony written by X
    events = _events_of_names(reading, clauses, asked)
    free = [mention for mention in reading.mentions if not events[mention.start]]
    own = {reading.words.values["event"].get(f"{key}s") for key in reading.asked}  # works, of work for
    resumed = max((at for at in range(len(reading.tokens)) if _resumes(reading, at, asked)), default=0)
    for mention in reading.named():
        event, lead = events[mention.start], reading.lead(mention)
        agent = reading.key(lead - 1)[-2:] in ("er", "or") and of_asked_event(reading, lead - 1)
        if agent and reading.key(lead) == "of":
            reading.assign(mention, Role.BESIDE, CLAIMED)  # Z, the owner of X
        elif event == "marriage" and mention.end < len(reading.tokens) and _of_another(reading, mention):
            reading.assign(mention, Role.BESIDE)
        elif event in asked and mention.kind != UNKNOWN:
            others = any(reading.is_a(at, "other") for at in range(mention.end, len(reading.tokens)))
            elsewhere = others and not _names_subject(reading)  # X composed the music of other films
            reading.assign(mention, Role.BESIDE if elsewhere else Role.NOW)
        elif event and event not in own and (asked or any(reading.role(name) in HOLDS for name in free)):
            there = not mention.person and mention.end in range(resumed)
            reading.assign(mention, Role.NOW if there else Role.BESIDE, CLAIMED)


def _of_another(reading: Reading, mention: Mention) -> bool:
    """Whether a sentence says that somebody is married to another: `X was married to the agent Z`."""
    if _names_subject(reading):
        return False
    if reading.key(mention.end) in ("married", "wed", "weds", "marries"):
        return any(name.start == mention.end + 1 and name.person for name in reading.named())
    if not reading.is_a(mention.end, "past", "present"):
        return False
    for name in reading.named():
        words = {*reading.keys(mention.end, name.start)}
        led = any({noun, to} <= words for noun, to in (("married", "to"), ("wife", "of"), ("husband", "of")))
        noun = reading.sign(name.end).islower() and not reading.is_a(
            name.end, "from", "conjunction", "locative"
        )
        if led and not noun and {"his", "her"}.isdisjoint(reading.keys(mention.end)):
            return True
    return False


def _resumes(reading: Reading, at: int, asked: set[str]) -> bool:
    """Whether a word goes on with the last name: `he founded X and works there`, `X, where he lives`."""
    if reading.key(at) in ("where", "wo") and reading.sign(at - 1) == ",":
        return any(of_asked_event(reading, verb) for verb in range(at, reading.end(at)))
    if reading.key(at) == "its" and "work" in asked:
        return reading.is_a(at + 1, "title")
    return reading.key(at) in ("there", "dort") and of_asked_event(reading, at - 1)


def _events_of_names(reading: Reading, clauses: Sequence[range], asked: set[str]) -> dict[int, str]:
    """Start of a name -> the event of its clause, or of the one that its clause goes on; empty: none."""
    events, named = reading.words.valued("event", reading.keys(0)), reading.positions()
    last, of = "", {}
    for number, clause in enumerate(clauses):
        then = clauses[number + 1] if number + 1 < len(clauses) else range(0)
        if named.issuperset(clause) and named.intersection(then) and reading.is_a(clause.stop, "conjunction"):
            clause = range(clause.start, then.stop)  # X and Y founded it
        goes_on = bool(asked) and reading.key(clause.start - 1) in (",", "(", "and", "und")
        goes_on &= all(
            at in named or not reading.tokens[at].is_word or reading.is_a(at, *_JOINING) for at in clause
        ) or reading.is_a(clause.start, "locative")
        own = [at for at in clause if at in events and at not in named and not reading.has("by", at - 2, at)]
        own = [at for at in own if not reading.is_a(at - 1, "tenure")]
        own = [
            at for at in own if events[at] != "direction" or events[at] in asked or not is_core(reading, at)
        ]
        own = [at for at in own if events[at] != "composing" or events[at] in asked]  # a music company
        own = [
            at
            for at in own
            if not (
                reading.is_a(at - 1, "article") and reading.is_a(at - 2, "when", "since", "limit", "locative")
            )
        ]  # since the death of Y, at the start of 2022
        own = [
            at
            for at in own
            if reading.keys(at - 2, at) != ["it", "was"]
            or reading.key(at - 3) not in ("after", "before", "when", "since")
        ]
        for mention in (mention for mention in reading.named() if mention.start in clause):
            near = [at for at in own if at < mention.start][-1:] or own[:1]
            agent = near == [mention.start - 1] and reading.key(near[0])[-2:] in ("er", "or")
            if agent and events[near[0]] not in asked:
                near = [at for at in own if at not in near][:1] or near  # its founder X owns it
            placed = reading.is_a(reading.lead(mention), "locative")
            for at in (at for at in own if near and events[at] in asked and abs(at - near[0]) == 2):
                if reading.is_a((at + near[0]) // 2, "conjunction") and (at < near[0] or not placed):
                    near = [at]  # born and raised in X; X wrote and directed it
            of[mention.start] = events[near[0]] if near else last if goes_on else ""
        last = events[own[-1]] if own else last
    return of


_JOINING = ("article", "by", "from", "to", "particle", "title", "locative")
"""Rows of words that join a name to the clause before: `and in`, `from the`."""


def read_subjects(reading: Reading) -> None:
    """`X wrote A; B is by Y`: where B is asked about, X is not the answer."""
    kind = "conjunction" if any(mention.value for mention in reading.mentions) else "conceded"
    tokens = reading.tokens
    cuts = [at for at in range(len(tokens)) if tokens[at].text in (";", "but") or reading.is_a(at, kind)]
    parts = [range(*ends) for ends in zip([0, *cuts], [*cuts, len(tokens)], strict=True)]
    _read_points(reading)
    _read_topics(reading)
    _read_neighbours(reading)
    of_subject = [
        _names_subject(reading, part) and not reading.has_cue("refused", part.start, part.stop)
        for part in parts
    ]
    for part, own in zip(parts, of_subject, strict=True):
        unknown = any(name.start in part and not name.value for name in reading.unknown)
        if any(of_subject) and unknown and not own:
            for mention in reading.mentions:
                if mention.start in part:
                    reading.assign(mention, Role.BESIDE, HOLDS)


def _names_subject(reading: Reading, part: range | None = None) -> bool:
    """Whether a part of a sentence, or all of it, names what the question is about."""
    kinds = ("article", "starter", "verb", "title", "thing", "particle")
    subject = {key for key in reading.asked if not any(reading.words.has(kind, key) for kind in kinds)}
    tokens = reading.tokens
    inside = range(len(tokens)) if part is None else part
    return any(tokens[at].is_capital and tokens[at].key in subject for at in inside)


def _read_points(reading: Reading) -> None:
    """`* X – guitar * Y – bass`: the only point that says what is asked for chooses."""
    points = [at for at, token in enumerate(reading.tokens) if token.kind == "bullet"]
    lines = [range(*pair) for pair in pairwise([*points, len(reading.tokens)])]
    ends = {name.start: name.end for name in reading.named()}
    roles = all(reading.sign(ends.get(line.start + 1, -1)) in ("–", "—", "-", ":", "(") for line in lines)
    if not roles or any(token.kind == "number" for token in reading.tokens):
        return
    for says in (is_core, is_about):
        chosen = [line for line in lines if any(says(reading, at) for at in line)]
        if chosen and len(chosen) < len(lines):
            for mention in reading.mentions if len(chosen) == 1 else ():
                reading.assign(None if mention.start in chosen[0] else mention, Role.BESIDE, HOLDS)
            return


def _read_neighbours(reading: Reading) -> None:
    """`Its neighbour Z has X`: says nothing of what is asked about."""
    first = next((at for at, token in enumerate(reading.tokens) if token.is_word), 0)
    beside = reading.key(first + 1).rstrip("s") in (
        "neighbour",
        "neighbor",
        "rival",
        "nachbar",
        "nachbarland",
    )
    if beside and any(name.start == first + 2 for name in reading.unknown):
        for mention in reading.mentions:
            reading.assign(mention, Role.BESIDE, HOLDS)


def read_contrasts(reading: Reading) -> None:
    """`X won the title, but the record belongs to Z`: X is in doubt, since another clause says what is asked.

    Clauses are divided by `but` and `;`. The other has more words of what is asked for, names nobody whom
    the sentence asserts, and comes later, or names a person who is no candidate.
    """
    turns = [cue for cue in reading.of("contrast") if not reading.is_a(cue.start, "conceded")]
    cuts = {cue.end for cue in turns} | {
        at + 1 for at, token in enumerate(reading.tokens) if token.text == ";"
    }
    if not cuts:
        return
    ends = sorted({0, *cuts, len(reading.tokens)})
    parts = [range(*pair) for pair in pairwise(ends)]
    cores = [_core_words(reading, part) for part in parts]
    asserted = reading.asserted()
    for number, part in enumerate(parts):
        named = any(name.start in part for name in asserted)
        if named or len(cores[number]) < 2 or any(reading.key(at) in _REFERS for at in part):
            continue
        unknown = any(name.start in part and not name.value for name in reading.unknown)
        for name in asserted:
            own = next(at for at, other in enumerate(parts) if name.start in other)
            less = len(cores[own]) < len(cores[number]) if own < number else not cores[own] and unknown
            if less:
                reading.doubts.setdefault(
                    name.start, "is named beside a clause that says more of what is asked"
                )


def _core_words(reading: Reading, part: range) -> set[str]:
    """The words of a part that name what is asked for, and `office` where it has an office that fits."""
    words = {reading.key(at) for at in part if is_core(reading, at) and not reading.is_a(at, "present")}
    return words | {"office"} if office_fits(reading, reading.keys(part.start, part.stop)) else words


_REFERS = ("he", "she", "they", "him", "her", "them", "who")
"""Words of a clause that go on with somebody from another clause."""


def _read_topics(reading: Reading) -> None:
    """`X is the largest city, but the capital is Y`: the clause with most words of what is asked for chooses.

    Of dates the question's last words choose: `It was signed on X and entered into force on Y`. Names give
    way if their clause says another thing, and none does if two share a clause.
    """
    clauses, stems = clauses_of(reading), {key[:5]: position for position, key in enumerate(reading.asked)}
    fits, other = dict[Mention, int](), set[Mention]()
    holders = [] if asked_events(reading) else reading.asserted()
    core = {at for at in range(len(reading.tokens)) if is_core(reading, at) or reading.is_a(at, "tenure")}
    years = {name for name in holders if name.value and any(map(is_year, reading.keys(*name[:2])))}
    for name in (name for name in holders if not years or name in years):
        clause = next(clause for clause in clauses if name.start in clause)
        if reading.key(clause.start) == "which":
            clause = range(clauses[clauses.index(clause) - 1].start, clause.stop)
        then = clauses[min(clauses.index(clause) + 1, len(clauses) - 1)] if clause in clauses else clause
        gains = reading.is_a(then.start, "holds", "past", "achieved") and not core.isdisjoint(then)
        free = not any(other.start in then for other in reading.named())
        if reading.key(clause.stop) == "and" and gains and free:
            clause = range(clause.start, then.stop)  # X left Z and became its head
        words = [at for at in clause if at not in name.span and reading.tokens[at].is_word]
        if not years and (name.value or any(rival.start in clause for rival in fits)):
            return
        phrases = {at for at in core if at - 1 in core and reading.key(at) not in reading.asked}
        last = max((stems.get(reading.key(at)[:5], -1) for at in words if at), default=-2)
        fits[name] = last if years else len({reading.key(at) for at in words if at in core - phrases})
        says = reading.is_a(name.end, "present") and any(
            token.text.islower() and token.kind == "word" and not reading.words.has("starter", token.key)
            for token in reading.tokens[name.end + 1 : clause.stop]
        )
        says |= reading.is_a(reading.lead(name), "present") and any(reading.is_a(at, "thing") for at in words)
        says |= bool(reading.words.valued("office", [reading.key(at) for at in words]))
        says |= any(unknown.start in clause for unknown in reading.unknown)
        now = reading.has_cue("now", clause.start, clause.stop)
        now &= bool(fits[name]) or any(is_about(reading, at) for at in words)
        if (says and not now) or (years and fits[name] > -2):
            other.add(name)
    if years and set(fits.values()) == {-1} and "and" in reading.keys(min(fits).end, max(fits).start):
        fits[max(fits)] = 0  # it applied on X and became a member on Y
    best = [name for name, fit in fits.items() if fit == max(fits.values())]
    for name in other.difference(best) if len(best) == 1 else ():
        if side_by_side(reading, *sorted((name, best[0]))):
            continue
        reading.assign(name, Role.BESIDE, CLAIMED if years else HOLDS)


def is_year(key: str) -> bool:
    return len(key) == 4 and key.isdigit()


def clauses_of(reading: Reading) -> list[range]:
    """The positions of the clauses of a sentence; a name is in one."""
    named, events = reading.positions(), reading.words.values["event"]
    start, clauses, asides = 0, list[range](), _asides(reading)
    for at, token in enumerate(reading.tokens):
        both = reading.key(at - 1) in events and reading.key(at + 1) in events  # born and died in X
        aside = reading.key(at + 1) in events and reading.sign(at + 2) == ")"  # X (born)
        border = token.text in _BORDERS or reading.is_a(at, "conjunction")
        if border and at not in named and not (both or aside or at in asides):
            clauses.append(range(start, at))
            start = at + 1
    return [*clauses, range(start, len(reading.tokens))]


def _asides(reading: Reading) -> set[int]:
    """The commas around what is said between a name and its verb: `X, in the centre, is the capital`."""
    asides = set[int]()
    for name in reading.mentions:
        end = reading.end(name.end + 1) if reading.sign(name.end) == "," else 0
        if reading.sign(end) == "," and end and reading.is_a(end + 1, "verb", "holds", "past", "present"):
            asides |= {name.end, end}
        apposed = reading.sign(name.start - 1) == reading.sign(name.end) == ","
        if apposed and reading.is_a(name.end + 1, "verb", "past", "present"):
            asides |= {name.start - 1, name.end}  # the president, X, is head of government
    return asides


def read_gifts(reading: Reading) -> None:
    """`X sold it to Y`: X is the one before Y, whatever is between the verb and its `to`."""
    for cue in reading.of("gives"):
        giver = reading.previous(cue, 3)
        reading.assign(giver if reading.is_a(cue.start, "lost") else None, Role.BEFORE, HOLDS)
        taker = None
        for mention in reading.named():
            lead = reading.lead(mention)
            if mention.start < cue.end or reading.stopped(cue.end, mention.start):
                continue
            if office_fits(reading, reading.keys(cue.end, lead)) is False:
                break  # he handed another post to X
            to = next((at for at in range(cue.end, mention.start) if reading.is_a(at, "to")), lead)
            noun = reading.key(to) == "to" and reading.key(to + 1) == "the"  # to the music company X
            noun = noun and all(
                reading.sign(at).islower() and not reading.is_a(at, "of", "by", "verb", "locative")
                for at in range(to + 1, lead + 1)
            )
            if lead >= cue.end and (reading.is_a(lead, "to") or noun):
                taker = mention
                break
        else:
            before = [mention for mention in reading.named() if mention.end <= cue.start]
            lead = reading.lead(before[-1]) if len(before) > 1 else -1
            if len(before) > 1 and lead >= before[-2].end and reading.is_a(lead, "to"):
                giver, taker = before[-2:]  # hat es an Y übergeben
        if taker is not None:
            for name in reading.named():  # it passed from Y's company to X
                inside = cue.end <= name.start < taker.start and reading.has("from", cue.end, name.start)
                reading.assign(name if inside else None, Role.BEFORE, HOLDS)
            reading.assign(giver, Role.BEFORE, HOLDS)
            reading.assign(taker, Role.NOW)


def asked_events(reading: Reading) -> set[str]:
    """The events that the words of the question name, such as `birth` for `When was she born?`."""
    events = set(reading.words.valued("event", reading.asked).values())
    events |= {"start"} if "founding" in events else set()
    if {"party", "partei"} & {*reading.asked}:
        events -= {"ownership"}  # welcher Partei gehört X an
    leads = {*_LEADING} & {*reading.asked} or {"music", "director"} <= {*reading.asked}
    return events - {"direction", "composing"} if leads else events


_LEADING = ("general", "artistic", "creative", "managing", "executive", "sporting", "technical")
"""What a director is called who makes no film."""


def of_asked_event(reading: Reading, position: int) -> bool:
    """Whether a word names the event that is asked for: `owned` for `Who is the owner?`."""
    return reading.words.values["event"].get(reading.key(position)) in asked_events(reading)


def is_about(reading: Reading, at: int) -> bool:
    """Whether a word is about what is asked for."""
    about_it = reading.key(at) in about(tuple(reading.asked), reading.words)
    return about_it or is_core(reading, at) or of_asked_event(reading, at)


NO_NOUNS = ("verb", "starter", "object", "of", "by", "from", "to", "locative", "holds", "chosen")


def is_drawn(reading: Reading, at: int) -> bool:
    """Whether a word is a rarer verb of what is asked for, in a sentence with a word of it or a pronoun."""
    if reading.key(at) not in about(tuple(reading.asked), reading.words, "troponym"):
        return False
    return any(
        reading.key(other) in ("it", "its", "his", "her", "themselves", "itself")
        or reading.is_a(other, "pronoun")
        or (is_about(reading, other) and not reading.is_a(other, "article", *NO_NOUNS))
        for other in range(len(reading.tokens))
        if other != at
    )
