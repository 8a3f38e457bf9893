"""The verdict that the roles of the names in a sentence make, and corrections in what follows it."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.candidates import Candidates, Mention
from factdrift.verdict.clauses import clauses_of
from factdrift.verdict.cues import Cue, about
from factdrift.verdict.names import ACCEPTED, OTHER, SHARED, STALE, UNKNOWN
from factdrift.verdict.offices import is_core
from factdrift.verdict.reading import STOPS, Reading, Role, is_also, side_by_side
from factdrift.verdict.roles import read_sentence
from factdrift.verdict.sentences import split
from factdrift.verdict.text import Token


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
    kinds = {first.kind, *(name.kind for name in also)}
    if not several and ACCEPTED in kinds and kinds & {STALE, OTHER}:
        return "both", f"{first.name!r} is asserted, and {also[0].name!r}, too"
    rival = None if several else _rival(reading, claimed, right, of_values)
    asks_which = any(
        reading.is_a(cue.end, "who") or reading.key(cue.end) in _WHAT for cue in reading.of("refused")
    )
    if rival is not None and asks_which:
        return "refused", "it says that it does not know which of several it is"
    if rival is not None:
        return "both", f"an accepted answer and {rival.name!r} are asserted side by side"
    sure = [mention for mention in right if mention.start not in reading.doubts]
    if sure and first.kind in (STALE, OTHER) and not _holds_still(reading, first, sure[-1]):
        return "correct", "an accepted answer is asserted after another one, which is not said to hold still"
    if first.kind == ACCEPTED and first.start in reading.doubts:
        return "unclear", f"an accepted answer {reading.doubts[first.start]}"
    if first.kind == ACCEPTED:
        return "correct", "an accepted answer is the first candidate that is asserted"
    if first.kind == STALE:
        return "stale", "a stale answer is asserted first, or alone"
    if first.kind == SHARED:
        return "unclear", "the name that is asserted belongs to an accepted and to another answer"
    return "wrong", "another object is asserted"


def _asks_who(reading: Reading, last: Mention) -> bool:
    """Whether a refusal behind all names asks who it is: `X is a director, but I don't know who leads`."""
    for cue in reading.of("refused"):
        words = [at for at in range(cue.end, len(reading.tokens)) if reading.tokens[at].is_word]
        asks = words[:1] and (reading.is_a(words[0], "who") or reading.key(words[0]) in _WHAT)
        if asks and cue.start >= last.end and any(is_core(reading, at) for at in words):
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
            if of_values and is_core(reading, mention.end) > is_core(reading, other.end):
                continue  # ten provinces and three territories
            listed = other.kind != UNKNOWN or _ends_list(reading, mention, other, of_values)
            comma = reading.keys(mention.end, other.start) == [","]
            if joined and listed and not (comma and reading.asked[:1] in (("where",), ("wo",))):
                return other  # but Marylebone, London
    return None


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
        verb = reading.is_a(lead, "verb", "present")
        verb |= reading.is_a(lead, "by", "to") and reading.is_a(lead - 2, "present")  # it is led by Y
        expected = lead < 0 or lead + 1 in ends or verb or reading.key(lead) in _IT
        expected |= name.value or (
            _as_asked(reading, lead) and not reading.sign(name.end).istitle()
        )  # plays for Y
        denied = any(cue.start == name.end or cue.end in (name.start, lead + 1) for cue in denials)
        noun = name.start > 0 and reading.is_a(name.start - 1, "indefinite")
        if expected and not (denied or noun or name.possessive):
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


def correction(
    rest: Sequence[Token], reading: Reading, candidates: Candidates, text: str, several: bool
) -> tuple[str, str] | None:
    """Verdict and rule of the first correction in the sentences behind an answer, `No, it is X.`; or None.

    It may only announce the sentence that names another: `Wait, I was wrong. It is X.`
    """
    last = reading.named()[-1].end if reading.named() else 0
    announced, instead_of_none = any(cue.start >= last for cue in reading.of("retracted")), None
    while rest and (reading.mentions or any(name.value for name in reading.unknown)):
        part = split(rest, reading.words, candidates.within)
        whole, sentence = rest[: len(rest) - len(part.rest)], part.answer
        opening = [token.key for token in whole[: len(whole) - len(sentence)] if token.is_word]
        if any(cue.kind == "retracted" for cue in reading.words.find(opening[-1:])):
            sentence = whole  # No! It is X.
        rest = part.rest
        after = read_sentence(sentence, candidates, text)
        cue = _sign(after)
        if reading.tokens[-1].text == "?" and after.tokens[-1].text == "?" and after.key(0) in ("or", "oder"):
            return "refused", "it asks twice"
        if reading.tokens[-1].text == "?" and after.of("refused") and not after.mentions:
            return "refused", "it asks, and says that it does not know"
        earlier = {mention.name for mention in reading.asserted()}
        again = {name.name for name in after.mentions if after.role(name) == Role.DENIED}
        if cue is None and earlier & again and any(name.kind != ACCEPTED for name in after.asserted()):
            return "unclear", "what is asserted first is denied later"
        too = [
            name
            for name in after.asserted()
            if name.name not in earlier
            and (is_also(after, name) or _is_current(after, name) or _say_the_same(after, reading))
        ]
        kinds = {name.kind for name in (*reading.asserted(), *too)}
        if cue is None and earlier and too and not several and ACCEPTED in kinds and len(kinds) > 1:
            return "both", f"another answer is asserted first, and {too[0].name!r}, too"
        if cue is None and announced and any(name.name not in earlier for name in after.asserted()):
            verdict, reason = decided(after, False, False, candidates.of_values)
            return verdict, f"the answer is taken back: {reason}"
        if cue is None:
            continue
        announced |= cue.kind == "retracted"
        words = [at for at, token in enumerate(sentence) if token.is_word]
        only_no = all(_says_no(after, at) for at in words)
        apart = cue.kind != "amended" and (after.sign(cue.end) or ".") in ",.:;!—–-"
        taken_back = apart or (cue.kind == "not" and only_no)  # I doubt it
        unknown = [name for name in after.unknown if name.start >= cue.end]
        if taken_back and not after.mentions and not unknown and rest:
            after = read_sentence(split(rest, reading.words, candidates.within).answer, candidates, text)
            unknown = list(after.unknown)
        instead = [mention for mention in after.asserted() if _corrects(after, cue, mention)]
        if any(mention.name not in earlier for mention in instead):
            verdict, reason = decided(after, False, False, candidates.of_values)
            return verdict, f"the answer is taken back: {reason}"
        if not taken_back or instead:
            continue
        denied = [mention.kind for mention in after.mentions if after.role(mention) == Role.DENIED]
        if unknown and not denied:
            instead_of_none = "wrong", "the answer is taken back for a name that is none of the candidates"
            other = answering(after)
            if other is not None and not other.value:
                return instead_of_none
            continue
        accepted = any(mention.kind == ACCEPTED for mention in reading.mentions)
        if denied and ACCEPTED not in denied and accepted:
            return None
        if denied or (len(words) <= 3 and only_no):
            instead_of_none = "wrong", "the answer is taken back and no other one is named"
            if accepted:
                instead_of_none = "denied", "the accepted answer is taken back"
            if not announced:
                return instead_of_none
    return instead_of_none


def holder(
    rest: Sequence[Token], reading: Reading, candidates: Candidates, text: str
) -> tuple[str, str] | None:
    """Verdict and rule of a sentence with a single name before `He is the president.`; or None."""
    names = {mention.name: mention.kind for mention in reading.named() if not mention.possessive}
    roles = {reading.role(mention) for mention in reading.mentions}
    if not rest or len(names) != 1 or roles & {Role.DENIED, Role.TWICE, Role.OPEN, Role.TAKEN_BACK}:
        return None
    after = read_sentence(split(rest, reading.words, candidates.within).answer, candidates, text)
    first = next((at for at, token in enumerate(after.tokens) if token.is_word), 0)
    end = after.end(first, STOPS | {",", "and", "und"})
    says = (
        after.is_a(first, "pronoun")
        and after.is_a(first + 1, "present")
        and not after.of("not", "until", "former")
    )
    if not says or any(name.start < end for name in after.named()):
        return None
    if not any(is_core(after, at) for at in range(first + 2, end)):
        return None
    ((name, kind),) = names.items()
    return {ACCEPTED: "correct", STALE: "stale"}.get(
        kind, "wrong"
    ), f"{name!r} holds it by the sentence behind"


def _is_current(reading: Reading, name: Mention) -> bool:
    """Whether a name has what is asked for as its apposition: `X, the current president of Z, was born`."""
    end = reading.end(name.end + 1)
    current = any(name.end <= cue.start < end for cue in reading.of("now"))
    return (
        current and reading.sign(name.end) == "," and any(is_core(reading, at) for at in range(name.end, end))
    )


def _say_the_same(*readings: Reading) -> bool:
    """Whether sentences have the same words around their names, three or more."""
    frames = {
        tuple(
            token.key
            for at, token in enumerate(reading.tokens)
            if token.is_word and token.kind != "bullet" and at not in reading.positions()
        )
        for reading in readings
    }
    return len(frames) == 1 and len(*frames) > 2


def _sign(after: Reading) -> Cue | None:
    """The cue that begins a correction; in up to three words without a name also a denial."""
    words = [at for at, token in enumerate(after.tokens) if token.is_word]
    first = words[0] if words else 0
    says_no = any(cue.span == range(first, first + 1) for cue in after.of("not"))
    if says_no and after.sign(first + 1) == ",":  # in Spanish, `no` is also `not`
        return Cue("retracted", first, first + 1)
    before = {at for cue in after.of("amended") for at in cue.span}
    for cue in (*after.of("retracted"), *after.of("amended")):
        opening = all(
            not after.tokens[at].is_word or at in before or after.is_a(at, "opening")
            for at in range(cue.start)
        )
        if words and (cue.start <= words[0] + 1 or opening):
            return cue
    if len(words) > 3 or not all(_says_no(after, at) for at in words):
        return None
    return next(iter(after.of("not")), None)  # X? Definitely not.


def _says_no(after: Reading, position: int) -> bool:
    """Whether a word of a correction only takes back: not that of `No, really`."""
    inside = any(position in cue.span for cue in after.of("retracted", "amended", "not"))
    return inside or after.is_a(position, "starter", "verb")


def _corrects(after: Reading, cue: Cue, mention: Mention) -> bool:
    """Whether a name replaces the answer; it does not in `In fact, he won against X`."""
    following = after.key(mention.end)
    free = not any(token.is_word for token in after.tokens[mention.end : mention.end + 1])
    free |= cue.kind == "retracted" or mention.possessive or after.is_a(mention.end, "verb")
    free |= any(other.start == mention.end for other in after.cues)
    return free or following in (*after.asked, "who", "der", "die")
