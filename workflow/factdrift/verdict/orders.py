"""Who came after whom, as a sentence says it: `X succeeded Y`, `X was succeeded by Y`, `from X to Y`."""

from __future__ import annotations

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import Cue
from factdrift.verdict.names import UNKNOWN
from factdrift.verdict.reading import HOLDS, STOPS, STOPS_BUT_PARENTHESES, Reading, Role

_AFTER = ("after", "following", "nach", "nachdem")
_VISITS = ("times", "visit", "meet", "talks", "summit", "holiday", "conference")
"""Words of a sentence in which somebody only travels somewhere."""
_PASSIVE = frozenset(("was", "been", "were"))


def read_ranks(reading: Reading) -> None:
    """`X, followed by Y` and `1. X 2. Y`, where the first of a ranking is asked for: Y is not the answer."""
    most = asks_most(reading) and not {"second", "third"} & set(reading.keys(0, 6))
    ranks = [at for at in range(len(reading.tokens)) if reading.is_a(at, "followed")]
    second = [at for at, token in enumerate(reading.tokens) if token.text.strip(" .)(") == "2"]
    cut = min([*ranks, *second] if most else [], default=len(reading.tokens))
    for name in reading.named():
        reading.assign(name if name.start > cut else None, Role.BESIDE)
    reading.cues = [cue for cue in reading.cues if cue.start < cut or cue.start not in ranks]


def asks_most(reading: Reading) -> bool:
    """Whether the first of a ranking is asked for."""
    return any(
        reading.words.has("most", key) or (len(key) > 4 and key.endswith("est")) for key in reading.asked
    )


def read_order(reading: Reading) -> None:
    """Gives the names around a change their roles, the one before and the one now."""
    _moves(reading)
    events = set(reading.words.valued("event", reading.asked).values())
    elsewhere = bool(events & {"birth", "death", "burial"})  # he moved to X, where he was not born
    for mention in reading.mentions:
        lead = reading.lead(mention)
        if reading.key(lead) == "let" and reading.key(mention.end) == "go":
            reading.assign(mention, Role.BEFORE)
        arrival = lead - (reading.key(lead) == "for")
        joined = reading.is_a(arrival, "arrived")
        if (
            joined
            and reading.key(arrival - 1) == "who"
            and any(name.end < arrival for name in reading.unknown)
        ):
            reading.assign(mention, Role.BESIDE)  # his friend Z, who joined X
        verb = _dated_verb(reading, lead)
        founding = reading.words.values["event"].get(reading.key(verb)) in ("founding", "start")
        still = reading.has_cue("now", mention.end, len(reading.tokens))  # X, where she is since
        still &= not reading.is_a(lead, "locative")
        joined |= founding and (still or reading.has("departs", 0, verb))  # he left Y and founded X
        moved = reading.is_a(lead, "to") and not reading.is_a(lead, "locative")
        moved &= not is_visit(reading, mention)
        joined |= moved and _moved_before(reading, lead)
        near_miss = reading.has("nearly", lead - 2, lead)
        if joined and not (mention.person or elsewhere or near_miss):
            reading.assign(mention, Role.NOW)
            for other in reading.mentions:  # he went from X to Y, and in 2024 he joined Z
                reading.assign(other if other.end <= lead else None, Role.ONCE, (Role.NOW,))
    _read_predecessors(reading)
    cues = reading.of("took_over", "handed_on")
    for cue in (cue for cue in cues if not reading.is_a(cue.start, "predecessor")):
        if elsewhere and reading.is_a(cue.start, "moves"):
            continue
        first = reading.previous(cue, stops=STOPS_BUT_PARENTHESES)
        then = reading.next(cue, stops=STOPS_BUT_PARENTHESES)
        ends = first is not None and not first.value and reading.key(cue.start - 1) != "than"
        ends = ends and (reading.sign(cue.end) or ".") in ".;"
        if ends and reading.keys(cue.start, cue.end) == ["before"]:
            reading.assign(first, Role.BEFORE, HOLDS)  # X was it before
            continue
        passive = not _PASSIVE.isdisjoint(reading.keys(cue.start - 3, cue.start))
        turned = then is not None and "sino" in reading.keys(cue.end, then.start)
        if turned or (passive and then and cue.kind == "took_over" and not _by_later(reading, cue, then)):
            then = None  # Y was herself removed, and now it is X
        asked = reading.sign(cue.end)[:1].isupper() and reading.key(cue.end) in reading.asked
        if then and asked and reading.has_cue("and", cue.end, then.start):  # he left Chelsea and X followed
            then = None
            reading.assign(first if reading.is_a(cue.start, "departs") else None, Role.BEFORE)
        if then and then.value and not adjacent(reading, cue, then, 4):
            continue  # followed by a transition that ended on that day
        if _agent_before(reading, cue) if then is None else _only_planned(reading, cue, first, then):
            continue
        handed = _handed(reading, cue, first, then)
        if handed:
            _read_handed(reading, cue, first, then)
        elif handed is False:
            pronoun = reading.key(cue.end) in ("him", "her", "them")  # X succeeded him
            reading.assign(first if pronoun else None, Role.NOW)
            after = reading.key(cue.end - 1) in _AFTER
            later = [name for name in reading.named() if then is not None and name.start == then.end]
            turn = later and not (after or first)  # 2025 löste X Y ab
            reading.assign(None if pronoun else later[0] if turn else then, Role.BEFORE)


def is_visit(reading: Reading, mention: Mention) -> bool:
    """Whether somebody only travels somewhere: `X flew to Y several times`."""
    clause = reading.keys(mention.end, reading.end(mention.end, STOPS | {",", "and"}))
    return reading.is_a(reading.lead(mention), "to") and not {*_VISITS}.isdisjoint(clause)


def _dated_verb(reading: Reading, at: int) -> int:
    """The position before a date and a comma: that of the verb in `founded in January 2024 the X`."""
    while at > 0 and (
        reading.key(at)[:1].isdigit()
        or reading.key(at) in reading.words.values["month"]
        or reading.is_a(at, "locative", "article")
        or reading.sign(at) == ","
    ):
        at -= 1
    return at


def _moved_before(reading: Reading, to: int) -> bool:
    """Whether a verb of moving is before a preposition, with no candidate between: `moved in 2025 to X`."""
    ends = [mention.end for mention in reading.mentions if mention.end <= to]
    start = max([to - 8, *ends])
    verb = next((at for at in range(start, to) if reading.is_a(at, "moves")), to)
    thing = reading.key(verb + 1) in ("its", "his", "her", "their") or reading.is_a(verb + 1, "article")
    return verb < to and not thing and not reading.stopped(start, to)


def _read_predecessors(reading: Reading) -> None:
    """`X's predecessor was Y`, `the predecessor of X, Y`: Y was before X, who holds now if a verb says so."""
    cues = reading.of("former", "took_over", "handed_on")
    for cue in (cue for cue in cues if reading.is_a(cue.start, "predecessor")):
        earlier = [name for name in reading.named() if name.end <= cue.start]
        later = [name for name in reading.named() if name.start >= cue.end]
        if cue.kind == "handed_on":
            owner, others = next(iter(later), None), [*earlier[-1:], *later[1:2]]
        else:
            owner = earlier[-1] if earlier and earlier[-1].possessive else None
            others = [*later[:1], *earlier[:-1][-1:]] if owner else [*later[:1], *earlier[-1:]]
        other = others[0] if others else None
        ends = sorted(name.start for name in (owner, other) if name)
        member = other is not None and reading.is_a(reading.lead(other), "of")  # X's predecessor was of Z
        linked = (
            not member and any(reading.has("verb", start, ends[-1]) for start in (ends[0], cue.start))
            if other
            else 0
        )
        reading.assign(owner, Role.NOW if linked else Role.BESIDE)
        reading.assign(other, Role.BEFORE)


def _only_planned(reading: Reading, cue: Cue, first: Mention | None, then: Mention) -> bool:
    """Whether a change is still to come, `X will be succeeded by Y`."""
    if first is None or not reading.has("will", max(cue.start - 3, first.end), cue.start):
        return False
    handed = cue.kind == "handed_on" or _by_later(reading, cue, then)
    reading.assign(first if handed else then, Role.NOW)
    reading.assign(then if handed else first, Role.BESIDE)
    return True


def _by_later(reading: Reading, cue: Cue, then: Mention) -> bool:
    """Whether the agent follows with words between: `replaced in 2021 by X`."""
    after = reading.key(cue.start) in _AFTER
    return not (after or reading.has("by", cue.start, cue.end)) and reading.has("by", cue.end, then.start)


def _handed(reading: Reading, cue: Cue, first: Mention | None, then: Mention | None) -> bool | None:
    """Whether the name behind a cue is the later one; None if the cue says nothing of the names."""
    keys, handed = reading.keys(cue.start, cue.end), cue.kind == "handed_on"
    if then is not None and _by_later(reading, cue, then):
        return "precede" not in keys[0]
    if keys in (["folgte"], ["folgt"]):
        handed = reading.key(first.start - 1) == "auf" if first else reading.key(cue.start - 1) == "es"
    near = 0
    if keys == ["before"] and (reading.key(cue.end).isdigit() or reading.sign(cue.end) == "("):
        reading.assign(then, Role.BEFORE)  # before 2001, X; than the year before (X)
        return None
    if keys == ["before"]:
        moved = first is not None and reading.role(first) == Role.NOW
        event = then is not None and then.kind == UNKNOWN and reading.has("article", cue.end, then.start)
        if moved and event:
            return None  # he moved from X to Y before the World Cup
        near = 4
    elif len(keys) == 1 and (keys[0] in _AFTER or reading.is_a(cue.start, "departs")):
        comma = then is None or "," in reading.keys(cue.end, then.start)
        comma = comma or (then is not None and reading.has_cue("and", cue.end, then.start))
        onward = reading.is_a(cue.end, "to") or reading.key(cue.end) == "for"  # X left for another club
        if keys[0] not in _AFTER and first is not None and _meets(reading, first, cue) and (comma or onward):
            reading.assign(first if first.person else None, Role.BEFORE)  # X left in 2024
            reading.assign(then if onward and then and not then.person else None, Role.NOW)
            return None
        near = 3
    elif keys[0] in ("became", "renamed", "umbenannt") or keys[-1] in ("zu", "to", "in"):
        near = 3
    elif not handed and first is not None and then is None and not reading.has("by", cue.start, cue.end):
        passive = _PASSIVE & set(reading.keys(cue.start - 2, cue.start))
        earlier = [name for name in reading.mentions if name.end < first.start]
        last = reading.words.capital_nouns and first.end == cue.start and bool(earlier)  # X, der Y ablöste
        reading.assign(first if passive or last else None, Role.BEFORE)
        reading.assign(earlier[-1] if last else None, Role.NOW)
        return None
    led = keys[0] in _AFTER and reading.is_a(cue.end, "indefinite")  # after a scandal X took over
    if near and (then is None or led or not adjacent(reading, cue, then, near)):
        return None
    return handed


def _meets(reading: Reading, first: Mention, cue: Cue) -> bool:
    """Whether only auxiliaries and adverbs are between a name and a cue: `X has recently left`."""
    return all(
        reading.is_a(at, "verb", "known", "who") or reading.key(at).endswith("ly") or reading.sign(at) == ","
        for at in range(first.end, cue.start)
    )


def _read_handed(reading: Reading, cue: Cue, first: Mention | None, then: Mention | None) -> None:
    """`X was succeeded by Y`: X was before, Y is now."""
    keys = reading.keys(cue.start, cue.end)
    if first is None and reading.key(cue.start - 1) in ("who", "that", "which"):  # the man who lost to X
        reading.assign(then, Role.BESIDE)
    elif first is not None and then is None and keys in (["folgte"], ["folgt"]):
        earlier = [name for name in reading.mentions if name.end < first.start]
        reading.assign(first, Role.BEFORE)
        reading.assign(earlier[-1] if earlier else None, Role.NOW)  # X, der auf Y folgte
    elif first is not None and then is None and keys[0] in ("abgelost", "ersetzt", "umbenannt"):
        active = "hat" in reading.keys(first.end, cue.start)  # hat ihn abgelöst
        reading.assign(first, Role.NOW if active else Role.BEFORE)
    elif first is not None and then is None and len(keys) == 1 and reading.is_a(cue.start, "successor"):
        reading.assign(first if first.possessive else None, Role.BEFORE)  # Y, X's successor
    else:
        if first is not then and (then is not None or len(keys) > 1):
            reading.assign(first, Role.BEFORE, HOLDS)
        reading.assign(None if then and then.possessive else then, Role.NOW)  # beaten by X's party
    if keys == ["before"] and first is None and then is not None:
        later = [mention for mention in reading.named() if mention.start >= then.end]
        reading.assign(later[0] if later else None, Role.BEFORE)  # before X, Y was


def _moves(reading: Reading) -> None:
    """`From X to Y`, `from X, in Z, to Y`; `X, from Y`."""
    named = reading.named()
    for at, first in enumerate(named):
        before, end = reading.phrase_lead(first), first.end
        swapped = reading.is_a(before, "swapped")  # he swapped X for Y
        passive = first.person and reading.is_a(before, "by") and reading.is_a(before - 1, "verb")
        if passive or not (swapped or reading.is_a(before, "from")):
            continue
        for second in named[at + 1 :]:
            to = reading.phrase_lead(second)
            to -= reading.is_a(to, "roughly")
            if reading.key(second.end) in ("folgte", "folgt"):
                break  # wird von X trainiert, der auf Y folgte
            if to >= end and (reading.is_a(to, "to") or (swapped and reading.key(to) in ("for", "gegen"))):
                reading.assign(first, Role.BEFORE)
                reading.assign(second, Role.NOW)
                plans = [cue for cue in reading.of("attempt") if not reading.is_a(cue.start, "nearly")]
                if reading.is_a(before - 2, "modal") or any(cue.end <= before for cue in plans):
                    reading.doubts[second.start] = "is only planned, or spoken of"
                break
            end = second.end
        else:
            own = [name for name in named[:at] if not name.value and reading.role(name) == Role.ASSERTED]
            by = reading.is_a(before, "by") or reading.is_a(before - 1, "present")  # the German `von` is both
            takes = first.person and reading.has("gains", before - 5, before)
            if takes and not own:
                reading.assign(first, Role.BEFORE)  # its head took over the job from X
            if own and not by and not first.value and not reading.stopped(own[-1].end, first.start):
                reading.assign(first, Role.BEFORE)  # X, on loan from Y
            if not (own or by or first.value or first.person or "from" in reading.asked):
                reading.assign(None if reading.words.valued("event", reading.asked) else first, Role.BESIDE)
    for at, mention in enumerate(named):  # from X to Y, from Y to Z
        again = [later for later in named[at + 1 :] if later.name == mention.name]
        if any(reading.role(later) == Role.BEFORE for later in again):
            reading.assign(mention, Role.BEFORE, (Role.NOW,))


def adjacent(reading: Reading, cue: Cue, then: Mention, words: int) -> bool:
    """Whether fewer than so many words are between a cue and a name."""
    return reading.count(cue.end, then.start) < words


def _agent_before(reading: Reading, cue: Cue) -> bool:
    """German: `X wurde von Y abgelöst`, whose verb comes last."""
    named = [mention for mention in reading.mentions if mention.end <= cue.start]
    if len(named) < 2:
        named = [mention for mention in reading.named() if mention.end <= cue.start]
    first, then = [None, None, *named][-2:]
    if then is None or not reading.has("by", first.end if first else 0, then.start):
        return False
    reading.assign(first, Role.BEFORE)
    reading.assign(then, Role.NOW)
    return True
