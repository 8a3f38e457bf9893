"""The verdict that the roles of the names in a sentence make."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.candidates import Mention
from factdrift.verdict.names import ACCEPTED, SHARED, STALE, UNKNOWN
from factdrift.verdict.reading import HOLDS, Reading, Role, side_by_side


def asserted(reading: Reading) -> list[Mention]:
    """The candidates that a sentence asserts, in their order."""
    return [mention for mention in reading.mentions if reading.role(mention) in HOLDS]


def decided(reading: Reading, several: bool, asks: bool, of_values: bool) -> tuple[str, str]:
    """Verdict and rule, in words.

    `several`: the relation has several values at a time. `asks`: the sentence asks back. `of_values`: dates
    or amounts are accepted.
    """
    claimed = asserted(reading)
    refused = bool(reading.of("refused"))
    if asks:
        return "refused", "it asks back"
    if not claimed and not refused:
        claimed = _of_past(reading)
    if not claimed:
        return _of_none(reading, refused)
    first = claimed[0]
    denied = [mention for mention in reading.mentions if reading.role(mention) == Role.DENIED]
    if any(mention.name == first.name for mention in denied):
        return "unclear", f"{first.name!r} is asserted and denied"
    right = [mention for mention in claimed if mention.kind == ACCEPTED]
    if several and any(mention.start not in reading.doubts for mention in right):
        return "correct", "an accepted answer is asserted, of several that hold together"
    rival = None if several else _rival(reading, claimed, right, of_values)
    if rival is not None:
        return "both", f"an accepted answer and {rival.name!r} are asserted side by side"
    if first.kind == ACCEPTED and first.start in reading.doubts:
        return "unclear", f"an accepted answer {reading.doubts[first.start]}"
    if first.kind == ACCEPTED:
        return "correct", "an accepted answer is the first candidate that is asserted"
    if first.kind == STALE:
        return "stale", "a stale answer is asserted first, or alone"
    if first.kind == SHARED:
        return "unclear", "the name that is asserted belongs to an accepted and to another answer"
    return "wrong", "another object is asserted"


def _rival(
    reading: Reading, claimed: Sequence[Mention], right: Sequence[Mention], of_values: bool
) -> Mention | None:
    """A name of another object that is joined to an accepted one."""
    unknown = [name for name in reading.unknown if reading.role(name) != Role.BESIDE]
    for other in (*claimed, *unknown):
        if other.kind in (ACCEPTED, SHARED) or (of_values and not other.value):
            continue
        for mention in right:
            joined = side_by_side(reading, *sorted((mention, other)))
            listed = other.kind != UNKNOWN or _ends_list(reading, mention, other, of_values)
            if joined and listed and not _contains(reading, mention, other):
                return other
    return None


def _contains(reading: Reading, mention: Mention, other: Mention) -> bool:
    """Whether a place only says where the one before it is: `Marylebone, London`."""
    comma = reading.keys(mention.end, other.start) == [","]
    return comma and reading.asked[:1] in (("where",), ("wo",))


def _of_past(reading: Reading) -> list[Mention]:
    """Names of a time that may be past, where nothing else is asserted: then they are the answer."""
    roles = {mention: reading.role(mention) for mention in reading.named()}
    if any(roles[name] == Role.NOW and len(name.span) > 1 for name in reading.unknown):
        return []
    once = [mention for mention in reading.mentions if roles[mention] == Role.ONCE]
    if once or Role.DENIED in roles.values() or any(not name.possessive for name in reading.unknown):
        return once
    return [
        mention
        for mention in reading.mentions
        if roles[mention] == Role.BEFORE and mention.kind == STALE and not _describes(reading, mention)
    ]


def _describes(reading: Reading, mention: Mention) -> bool:
    """Whether a name only describes somebody who is not named: `the one after X`, `X's successor`."""
    alone = len(reading.named()) == 1
    led = alone and any(cue.end == mention.start for cue in reading.of("took_over"))
    return mention.possessive or led


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
        return "wrong", "candidates are named, and none is asserted"
    if reading.of("disclaimer"):
        return "refused", "it only says what it is, or what it was trained on"
    return "wrong", "no candidate is named"


def answering(reading: Reading) -> Mention | None:
    """A name that is none of the candidates, where the answer is expected: first, after a verb or `but`."""
    ends = {cue.end for cue in reading.of("contrast", "hedge")}
    denials = reading.of("not")
    for name in reading.unknown:
        lead = reading.lead(name)
        expected = lead < 0 or lead + 1 in ends or reading.is_a(lead, "verb") or reading.key(lead) in _IT
        denied = any(cue.start == name.end or cue.end in (name.start, lead + 1) for cue in denials)
        noun = name.start > 0 and reading.is_a(name.start - 1, "indefinite")
        if expected and not (denied or noun or name.possessive):
            return name
    return None


_IT = ("it", "its")
