"""The verdict that the roles of the names in a sentence make."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from factdrift.verdict.candidates import Mention
from factdrift.verdict.clauses import clauses_of, is_about
from factdrift.verdict.cues import about
from factdrift.verdict.names import ACCEPTED, OTHER, SHARED, STALE, UNKNOWN
from factdrift.verdict.offices import is_core
from factdrift.verdict.reading import Reading, Role, is_also, side_by_side

NOBODY = "no candidate is named"
UNASSERTED = "candidates are named, and none is asserted"


def decided(reading: Reading, several: bool, asks: bool, of_values: bool) -> tuple[str, str]:
    """Verdict and rule, in words.

    `several`: the relation has several values at a time. `asks`: the sentence asks back. `of_values`: dates
    or amounts are accepted.
    """
    claimed = reading.asserted()
    refused = bool(reading.of("refused"))
    if asks:
        return "refused", "it asks back"
    if not claimed and not refused:
        claimed = _of_past(reading)
    if not claimed:
        return _of_none(reading, refused)
    first = claimed[0]
    if refused and _asks_who(reading, claimed[-1]):
        return "refused", "it says that it does not know who or what is asked for"
    denied = [mention for mention in reading.mentions if reading.role(mention) == Role.DENIED]
    if any(mention.name == first.name for mention in denied):
        return "unclear", f"{first.name!r} is asserted and denied"
    right = [mention for mention in claimed if mention.kind == ACCEPTED]
    if several and any(mention.start not in reading.doubts for mention in right):
        return "correct", "an accepted answer is asserted, of several that hold together"
    also = [name for name in reading.mentions if reading.role(name) != Role.DENIED and is_also(reading, name)]
    also += [name for name in reading.mentions if reading.key(reading.lead(name)) in ("both", "sowohl")]
    colon = reading.end(0, ":")
    heading = [at for at in range(colon) if reading.sign(at).islower() or reading.key(at) in _LISTED]
    listed = any(reading.key(at) in _LISTED for at in heading)
    listed &= not any(is_core(reading, at) or reading.is_a(at, "verb") for at in heading)
    counted = any(reading.key(at) in reading.words.values["number"] for at in range(colon))
    listed &= not counted or "candidates" in reading.keys(0, colon)
    if listed and not several and len(reading.named()) > 1 and colon < first.start:
        return "unclear", "it only lists names"
    kinds = {first.kind, *(name.kind for name in also)}
    if not several and ACCEPTED in kinds and kinds & {STALE, OTHER}:
        return "both", f"{first.name!r} is asserted, and {also[0].name!r}, too"
    rival = None if several else _rival(reading, claimed, right, of_values)
    asks_which = any(
        reading.is_a(at, "who") or reading.key(at) in _WHAT
        for cue in reading.of("refused")
        for at in range(cue.end, cue.end + 5)
    )
    sides = {name.kind for name in claimed} & {ACCEPTED, STALE, OTHER}
    if asks_which and (rival is not None or len(sides) > 1):
        return "refused", "it says that it does not know which of several it is"
    if rival is not None and refused and reading.has("modal", 0):
        return "refused", "it only says which of several it might be"
    if rival is not None and reading.of("undecided"):
        return "unclear", "it leaves open which of several it is"
    if rival is not None:
        return "both", f"an accepted answer and {rival.name!r} are asserted side by side"
    sure = [mention for mention in right if mention.start not in reading.doubts]
    rivals = [mention for mention in claimed if mention.kind in (STALE, OTHER)]
    alike = [pair[0] for pair in product(rivals, sure) if _framed_alike(reading, *pair)]
    if alike and not several:
        return "both", f"an accepted answer and {alike[0].name!r} are asserted in the same words"
    if sure and first.kind in (STALE, OTHER) and not _holds_still(reading, first, sure[-1]):
        return "correct", "an accepted answer is asserted after another one, which is not said to hold still"
    other = _instead(reading, claimed) if first.kind == ACCEPTED and first.start in reading.doubts else None
    if other is not None:
        return {STALE: "stale"}.get(other.kind, "wrong"), "another clause says who has what is asked for"
    now = [name for name in claimed if reading.role(name) == Role.NOW and name.kind in (STALE, OTHER)]
    if first.kind == ACCEPTED and first.start in reading.doubts and reading.role(first) == Role.ONCE and now:
        return {STALE: "stale"}.get(now[0].kind, "wrong"), f"{now[0].name!r} holds now"
    if first.kind == ACCEPTED and first.start in reading.doubts:
        return "unclear", f"an accepted answer {reading.doubts[first.start]}"
    points = [
        name
        for name in reading.named()
        if (reading.tokens[name.start - 1].kind, reading.sign(name.end).strip()) == ("bullet", "")
    ]
    if right and first in points and len(points) > 2 and reading.role(first) == Role.ASSERTED:
        return "unclear", "an accepted answer is only one point of a list"
    if first.kind == ACCEPTED:
        return "correct", "an accepted answer is the first candidate that is asserted"
    if first.kind == STALE:
        return "stale", "a stale answer is asserted first, or alone"
    if first.kind == SHARED:
        return "unclear", "the name that is asserted belongs to an accepted and to another answer"
    return "wrong", "another object is asserted"


_LISTED = ("names", "politicians", "candidates", "figures", "players", "contenders", "nominees")
"""What a heading calls those whom it does not say to hold anything."""


def _asks_who(reading: Reading, last: Mention) -> bool:
    """Whether a refusal behind all names asks who it is: `X is a director, but I don't know who leads`."""
    for cue in reading.of("refused"):
        words = [at for at in range(cue.end, len(reading.tokens)) if reading.tokens[at].is_word]
        asks = any(reading.is_a(at, "who") or reading.key(at) in _WHAT for at in words[:2])
        core = any(is_core(reading, at) or reading.is_a(at, "tenure", "right") for at in words)
        if asks and cue.start >= last.end and core:
            return True
    return False


_WHAT = ("what", "which", "where", "when", "was", "welche", "welcher", "welches", "wo", "wann")


def _holds_still(reading: Reading, name: Mention, then: Mention) -> bool:
    """Whether a name is said to hold now, or nothing is said of it, where another one follows."""
    led = reading.is_a(reading.lead(name), "verb")  # it was Y who appointed X
    if led or (reading.role(name) == Role.NOW and reading.role(then) != Role.NOW):
        return True
    clause = next(clause for clause in clauses_of(reading) if name.start in clause)
    words = [at for at in clause if reading.sign(at).islower()]
    return (
        then.start in clause
        or len(words) < 2
        or any(reading.is_a(at, "present", "leads", "plays") for at in words)
    )


def _instead(reading: Reading, claimed: Sequence[Mention]) -> Mention | None:
    """A name of another object in a later clause that says what is asked for: `but Y holds the record`."""
    first, clauses = claimed[0], clauses_of(reading)
    own = next(clause for clause in clauses if first.start in clause)
    for name in claimed[1:]:
        clause = next(clause for clause in clauses if name.start in clause)
        says = any(is_about(reading, at) or reading.is_a(at, "tenure") for at in clause)
        holds = any(reading.is_a(at, "present", "leads", "plays", "verb") for at in clause)
        if (
            name.kind in (STALE, OTHER)
            and name.start not in reading.doubts
            and clause != own
            and says
            and holds
        ):
            return name
    return None


def _framed_alike(reading: Reading, first: Mention, then: Mention) -> bool:
    """Whether two clauses say the same of another and of an accepted name."""
    named = reading.positions()
    own, other = (
        next(clause for clause in clauses_of(reading) if name.start in clause) for name in (first, then)
    )
    frames = [
        [reading.key(at) for at in clause if at not in named and reading.tokens[at].is_word]
        for clause in (own, other)
    ]
    return own != other and frames[0] == frames[1] and len(frames[0]) > 2


def _rival(
    reading: Reading, claimed: Sequence[Mention], right: Sequence[Mention], of_values: bool
) -> Mention | None:
    """A name of another object that is joined to an accepted one."""
    unknown = [name for name in reading.unknown if reading.role(name) != Role.BESIDE]
    for other in (*claimed, *unknown):
        if other.kind in (ACCEPTED, SHARED) or (of_values and not other.value):
            continue
        for mention in right:
            joined = side_by_side(reading, *sorted((mention, other))) and not _in_company(reading, other)
            if of_values and is_core(reading, mention.end) > is_core(reading, other.end):
                continue  # ten provinces and three territories
            listed = other.kind != UNKNOWN or _ends_list(reading, mention, other, of_values)
            nearer = [name for name in reading.unknown if mention.end < name.start < other.start]
            of_it = nearer and side_by_side(reading, nearer[-1], other)
            apart = nearer and reading.is_a(reading.lead(nearer[-1]), "of", "locative", "object")
            apart = apart and "(" not in reading.keys(mention.end, other.start)
            if of_it and mention.person and (apart or reading.key(reading.lead(nearer[-1])) == "in"):
                continue  # X worked in Europe and Asia, at the wedding of Y and Z
            comma = reading.keys(mention.end, other.start) == [","]
            if joined and listed and not (comma and reading.asked[:1] in (("where",), ("wo",))):
                return other  # but Marylebone, London
    return None


def _in_company(reading: Reading, name: Mention) -> bool:
    """Whether an unknown name is joined to another that is only beside: `a venture of Y, W and Z`."""
    before = [other for other in reading.named() if other.end <= name.start]
    while before and name.kind == UNKNOWN == before[-1].kind and side_by_side(reading, before[-1], name):
        name = before.pop()
        if any(cue.end in (name.start, name.start - 2) for cue in reading.of("beside")):
            return True
    return False


def _of_past(reading: Reading) -> list[Mention]:
    """Names of a time that may be past, where nothing else is asserted: then they are the answer."""
    roles = {mention: reading.role(mention) for mention in reading.named()}
    if any(roles[name] == Role.NOW and len(name.span) > 1 for name in reading.unknown):
        return []
    once = [mention for mention in reading.mentions if roles[mention] == Role.ONCE]
    if once or Role.DENIED in roles.values() or any(not name.possessive for name in reading.unknown):
        return once
    led = {cue.end for cue in reading.of("took_over")} if len(roles) == 1 else {}
    return [  # but not the one after X, or X's successor
        mention
        for mention in reading.mentions
        if (roles[mention], mention.kind) == (Role.BEFORE, STALE)
        and not (mention.possessive or mention.start in led)
    ]


def _ends_list(reading: Reading, mention: Mention, other: Mention, of_values: bool) -> bool:
    """Whether a name that is none of the candidates is an answer beside one: `X or Y`, `X and Y.`."""
    first, second = sorted((mention, other))
    joins = [cue for cue in reading.of("or", "and") if first.end <= cue.start and cue.end <= second.start]
    after = reading.tokens[second.end : second.end + 1]
    ended = not after or not after[0].is_word or after[0].key in ("are", "were", "sind", "waren")
    full = len(other.span) > 1 or of_values or len(mention.span) == 1
    return bool(joins) and len(joins[-1].span) == 1 and full and (joins[-1].kind == "or" or ended)


def _of_none(reading: Reading, refused: bool) -> tuple[str, str]:
    """Verdict and rule where no candidate is asserted."""
    roles = {reading.role(mention) for mention in reading.mentions}
    right = {reading.role(mention) for mention in reading.mentions if mention.kind == ACCEPTED}
    unknown = answering(reading)
    if Role.TWICE in roles:
        return "unclear", "a denial is denied"
    if refused and Role.DENIED not in right:
        return "refused", "it says that it does not know"
    if Role.OPEN in roles:
        return "refused", "it leaves the answer open"
    if unknown:
        return "wrong", f"it asserts {unknown.name!r}, which is none of the candidates"
    if right & {Role.DENIED, Role.TAKEN_BACK}:
        return "denied", "an accepted answer is named only to be denied"
    if Role.BEFORE in right:
        return "denied", "an accepted answer is named only as the one before"
    if Role.BESIDE in right:
        return "wrong", "an accepted answer is named, but not as the answer"
    if reading.mentions:
        return "wrong", UNASSERTED
    if reading.of("disclaimer"):
        return "refused", "it only says what it is, or what it was trained on"
    return "wrong", NOBODY


def answering(reading: Reading) -> Mention | None:
    """A name that is none of the candidates, where the answer is expected: first, after a verb or `but`."""
    ends = {cue.end for cue in reading.of("contrast", "hedge")}
    denials = reading.of("not")
    for name in reading.unknown:
        lead = reading.lead(name)
        verb = reading.is_a(lead, "verb", "present")
        verb |= reading.is_a(lead, "by", "to") and reading.is_a(lead - 2, "present")  # it is led by Y
        noun = len(name.span) == 1 and lead < 0 and reading.sign(name.end).islower()
        noun &= reading.is_a(name.end + 1, "verb")  # French politics is
        expected = (
            (lead < 0 and not noun)
            or lead + 1 in ends
            or verb
            or (reading.key(lead) in _IT and not reading.sign(name.end).islower())
        )
        expected |= name.value or (
            _as_asked(reading, lead) and not reading.sign(name.end).istitle()
        )  # plays for Y
        acts = lead + 1 in ends and bool(reading.mentions) and reading.sign(name.end).islower()
        acts &= not reading.is_a(name.end, "verb", "holds", "present", "past", "leads", "plays", "remains")
        expected &= not acts  # X tried it, but Y blocked him
        denied = any(cue.start == name.end or cue.end in (name.start, lead + 1) for cue in denials)
        denied |= name.start == 0 and reading.sign(name.end) == ":"  # the label `Office: unknown`
        denied |= all(reading.is_a(at, "topic") for at in name.span)  # Minister for Foreign Affairs
        kinds = ("verb", "present", "past", "leads", "plays", "holds", "remains", "chosen", "gains")
        begins = reading.sign(name.end).islower() and not reading.is_a(name.end, *kinds)
        begins |= reading.key(name.end) in ("has", "have", "had")  # the Brazilian federation, the Squadra has
        led = (reading.key(at) in ("the", *reading.asked) for at in range(name.start))
        denied |= reading.key(0) == "the" and name.start > 0 and all(led) and begins and not verb
        indefinite = name.start > 0 and reading.is_a(name.start - 1, "indefinite")
        if expected and not (denied or indefinite or name.possessive or reading.is_a(name.end, "speech")):
            return name
    return None


_IT = ("it", "its")


def _as_asked(reading: Reading, lead: int) -> bool:
    """Whether a preposition and the verb before it are the question's: `plays for`, of `play for`."""
    verb = reading.key(lead - 1) if lead > 0 else ""
    if verb in about(tuple(reading.asked), reading.words) and reading.is_a(lead, "to", "by"):
        return True  # it belongs to Y
    asks = bool(verb) and any(key.startswith(verb[:4]) for key in reading.asked)
    return asks and reading.key(lead) in reading.asked and not reading.is_a(lead, "of")
