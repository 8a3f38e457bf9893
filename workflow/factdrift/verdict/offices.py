"""Names that are said to hold another office than the one that is asked for, or only to own something."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby, pairwise

from factdrift.verdict.candidates import Mention
from factdrift.verdict.cues import Cues
from factdrift.verdict.names import STALE, abbreviates
from factdrift.verdict.reading import CLAIMED, HOLDS, STOPS, Reading, Role

_WORDS = 5
"""Words of an office, at most."""
_FITS = {
    "head": ("government", "premier", "state", "mayor", "chief"),
    "executive": ("executive", "chief"),
    "chief": ("chief", "executive"),
    "chair": ("chair", "state"),
    "state": ("state", "sovereign"),
    "sovereign": ("sovereign", "state"),
    "any": ("any", "party", "secretary", "chair", "executive", "chief"),
}
"""What is asked for -> the kinds of offices that may answer it, where that is not the same kind alone."""


def read_offices(reading: Reading) -> None:
    """`X is vice president and Y is president`: only Y holds what is asked for."""
    _read_appointments(reading)
    for name in reading.unknown:  # it is coached by Z, who brought X
        lead = reading.lead(name)
        agent = reading.is_a(lead, "by") and reading.is_a(lead - 2, "present")
        goes_on = reading.sign(name.end) == "," and reading.is_a(name.end + 1, "who")
        for mention in reading.mentions if agent and goes_on else ():
            reading.assign(mention if mention.start > name.end else None, Role.BESIDE, CLAIMED)
    named = reading.named()
    offices = {mention.start: _office(reading, mention) for mention in named}
    asked = any(_is_asked(reading, office) for office in offices.values())
    for mention in named:
        office, verb = offices[mention.start], reading.is_a(mention.end, "verb", "leads")
        if verb and office_fits(reading, reading.keys(mention.end, _clause_end(reading, mention))) is False:
            reading.assign(mention, Role.BESIDE, CLAIMED)
        lead = mention.start - 1  # its chair is X
        if (
            reading.is_a(lead, "verb")
            and office_fits(reading, reading.keys(_clause_start(reading, lead), lead)) is False
        ):
            reading.assign(mention, Role.BESIDE, CLAIMED)
        if mention is named[0] and not reading.of("former") and _titled(reading, mention):
            reading.doubts[mention.start] = "is said to hold another office"
        apposed = reading.sign(mention.end) == "," and reading.is_a(mention.end + 1, "present")
        if apposed and office_fits(reading, reading.keys(mention.end + 2, mention.end + 5)) is False:
            reading.assign(mention, Role.BESIDE, CLAIMED)  # the president, X, is head of government
        ranks = _behind(reading, mention.end)[:3] if verb else []
        under = any(reading.words.has("deputy", rank) and rank not in reading.asked for rank in ranks)
        other = asked and office and not _is_asked(reading, office)
        if under or (other and not office_fits(reading, office)):
            reading.assign(mention, Role.BESIDE, CLAIMED if under else (Role.ASSERTED,))


def _read_appointments(reading: Reading) -> None:
    """`Y appointed X prime minister`: X holds it now."""
    for first, then in pairwise(reading.named()):
        between = range(first.end, then.start)
        appoints = any(reading.is_a(at, "appoints") for at in between)
        passive = any(reading.is_a(at, "by", "verb") for at in between)
        if appoints and not passive and office_fits(reading, reading.keys(then.end)):
            reading.assign(first, Role.BESIDE, HOLDS)
            reading.assign(then, Role.NOW)


def _titled(reading: Reading, mention: Mention) -> bool:
    """Whether the first name has only another office beside it: `CFO X`, `X, CFO`."""
    before, after = reading.keys(0, mention.start), reading.keys(mention.end)
    verb = any(reading.has(kind, mention.end) for kind in ("verb", "holds"))
    apposed = [] if before or verb else _behind(reading, mention.end)
    titled = False in (office_fits(reading, before), office_fits(reading, apposed))
    return titled and office_fits(reading, [*before, *after]) is False


def asked_office(reading: Reading) -> bool:
    return bool(reading.words.valued("office", reading.asked))


def office_fits(reading: Reading, keys: Sequence[str]) -> bool | None:
    """Whether words name an office of the kind that is asked for; None if one of the two is not known."""
    return kinds_fit(reading.words, tuple(keys), tuple(reading.asked))


@lru_cache(maxsize=1 << 14)
def kinds_fit(cues: Cues, keys: tuple[str, ...], question: tuple[str, ...]) -> bool | None:
    """As `office_fits`, of the words of a question."""
    words = [key for key in keys if key not in ("", "-")]  # vice-president
    asked = cues.valued("office", question).values()
    fitting = {fit for kind in asked for fit in _FITS.get(kind, (kind,))}
    parts = [[*part] for joins, part in groupby(words, lambda key: cues.has("conjunction", key)) if not joins]
    kinds = [set(cues.valued("office", part).values()) for part in parts]
    if not fitting or not any(own - {"any"} or "any" in asked for own in kinds if own):
        return None
    fitting |= ({"head"} if "sovereign" not in asked else set()) | (
        {"any"} & {*asked} if len(parts) > 1 else set()
    )
    return any(own & fitting for own in kinds)  # leader of the party and of the opposition


def of_office(reading: Reading, at: int) -> bool:
    """Whether an office of the kind that is asked for is before a position."""
    return bool(office_fits(reading, reading.keys(max(at - 3, 0), at)))


def is_object(reading: Reading, at: int) -> bool:
    """Whether a noun is another's: `married to the president`, `the president's brother`."""
    possessive = reading.tokens[at].possessive
    offices = reading.words.values["office"]
    while (
        reading.is_a(at - 1, "topic")
        or reading.key(at - 1) in _SAME
        or any(" ".join(reading.keys(at - 1, end)) in offices for end in (at + 1, at + 2))
    ):
        at -= 1  # friend of the head coach
    led = reading.is_a(at - 1, "article") and (
        reading.is_a(at - 2, "object", "of") or any(cue.end == at - 1 for cue in reading.of("beside"))
    )  # who has beaten the champion
    return possessive or led


_SAME = ("current", "present", "new", "incumbent", "acting")
"""Words before an office that leave it the same."""


def is_core(reading: Reading, at: int) -> bool:
    """Whether a word names what is asked for: the question's noun, or a word of an office that fits."""
    kinds = ("article", "verb", "starter", "particle", "to", "of")
    core = reading.key(at) in reading.asked and not reading.is_a(at, *kinds)
    return core or any(
        office_fits(reading, phrase) and " ".join(phrase) in reading.words.values["office"]
        for start, end in (
            (at, at + 1),
            (at - 1, at + 1),
            (at, at + 2),
            (at - 2, at + 1),
            (at - 1, at + 2),
            (at, at + 3),
        )
        if (phrase := reading.keys(start, end)) and reading.key(at) in phrase
    )


def _clause_end(reading: Reading, mention: Mention) -> int:
    """Where what is said of a name ends: at a sign, at another name, or before what it was once."""
    ends = [at for at, token in enumerate(reading.tokens) if token.text in STOPS]
    ends += [*_starts_of_names(reading), *(cue.start for cue in reading.of("former"))]
    return min((at for at in ends if at >= mention.end), default=len(reading.tokens))


def _clause_start(reading: Reading, position: int) -> int:
    """Where the clause before a position begins: behind a sign or a name."""
    named = reading.positions()
    while (
        position > 0
        and position - 1 not in named
        and (reading.tokens[position - 1].is_word or reading.sign(position - 1) == "-")
    ):
        position -= 1
    return position


def _starts_of_names(reading: Reading) -> set[int]:
    """Where names begin; the capitals of an office, `CEO` or `Finanzminister`, make none."""
    offices = reading.words.values["office"]
    starts = (name.start for name in reading.named())
    return {at for at in starts if reading.key(at) not in offices and not reading.is_a(at, "topic")}


def _office(reading: Reading, mention: Mention) -> list[str]:
    """The words of the office that a name is said to hold; none of one that it held."""
    words = reading.words
    titles = {key for phrase in words.phrases("title") for key in phrase}
    office = _behind(reading, mention.end)
    if office and (office[-1] in titles or words.has("thing", office[-1])):
        return [] if reading.is_a(mention.end, "past") else office
    end = mention.start - 1
    if end > 0 and (reading.sign(end) == ":" or reading.is_a(end, "verb")):
        end -= 1
        while end > 0 and reading.key(end) in reading.asked and reading.key(end) not in titles:
            end -= 1
    start = end
    while reading.key(start) in titles:
        start -= 1
    return reading.keys(start + 1, end + 1)


def held_office(reading: Reading, mention: Mention) -> bool:
    """Whether a name is said to have had an office: `X was president`."""
    office = _behind(reading, mention.end) if reading.is_a(mention.end, "past") else []
    end = _clause_end(reading, mention)
    if any(reading.has(kind, mention.end, end) for kind in ("achieved", "appoints")):  # X was elected
        return False
    return bool(reading.words.valued("office", office))


def _behind(reading: Reading, position: int) -> list[str]:
    """The words of `P` in `X is P`, `X, P`, `X (P)`, where the position is behind X."""
    offices = reading.words.values["office"]
    gapped = (
        reading.key(position + reading.is_a(position, "article")) in offices
    )  # X is president, Y chancellor
    if (
        not gapped
        and reading.sign(position) not in (",", "(", "–", "—")
        and not reading.is_a(position, "verb")
    ):
        return []
    tokens, start = reading.tokens, position + (not gapped)
    skipped = {at for cue in reading.of("now", "former", "hedge") for at in cue.span}
    while start in skipped or reading.is_a(start, "article") or reading.key(start).isdigit():
        start += 1
    ends, end = _starts_of_names(reading), start
    stops = ends | {cue.start for cue in reading.cues}
    while end < len(tokens) and tokens[end].kind == "word" and end not in stops:
        if reading.is_a(end, "starter", "verb"):
            break
        end += 1
    of_next = end in ends or reading.sign(end) == ":"  # X, P Y
    return [] if of_next or end - start > _WORDS else reading.keys(start, end)


def _is_asked(reading: Reading, office: list[str]) -> bool:
    """Whether an office is the whole of what is asked for: not `president` in `vice president of`."""
    words, asked = reading.words, reading.asked
    for at in range(len(asked) - len(office) + 1) if office else ():
        around = [*asked[max(at - 1, 0) : at], *asked[at + len(office) :][:1]]
        ends = all(
            any(words.has(kind, key) for kind in ("article", "verb", "starter", "of")) for key in around
        )
        pairs = zip(office, asked[at:], strict=False)
        if ends and all(key in (other, f"{other}in") or other == f"{key}in" for key, other in pairs):
            return True  # also Kanzlerin
    return False


def other_body(reading: Reading, mention: Mention, end: int) -> str:
    """A body that the question does not name, whose office is: `X is CEO of Z`, `Z's CEO is X`; or empty.

    `end`: where the clause of the name ends.
    """
    asked = any(
        reading.tokens[at].is_capital and reading.key(at) in reading.asked
        for at in range(1, mention.start)
        if not office_fits(reading, [reading.key(at)])
    )
    apposed = reading.sign(end) == "," and office_fits(reading, reading.keys(end + 1, end + 4))
    if apposed and not reading.of("former"):
        end = len(reading.tokens)  # X, CEO of Z
    for at in range(mention.end, end):
        other = reading.is_a(at + 1, "indefinite") or reading.key(at + 1) in ("another", "other")
        if reading.is_a(at, "of") and other and of_office(reading, at):
            return "another body"
    again = any(name.kind == STALE and reading.role(name) == Role.BEFORE for name in reading.mentions)
    for body in () if again else reading.unknown:  # after Y, who held it, it is the same body
        at = body.start - 1
        while not reading.is_a(at, "of") and (
            reading.is_a(at, "article", "title") or reading.key(at) in reading.asked
        ):
            at -= 1
        later = reading.keys(body.start - 2, body.start) == ["head", "of"]  # X grew up in W and was head of Z
        later &= reading.has("past", body.start - 8, body.start)
        if asked if body.end <= mention.start else body.start >= end and not later:
            continue
        common = all(
            reading.is_a(at, "thing", "place", "suffix", "topic", "conjunction")
            or len(reading.key(at)) == 1
            or abbreviates(reading.key(at), reading.asked)
            for at in body.span
        )
        common |= reading.sign(body.end) == "-"  # the CDU-Politiker
        common |= reading.key(at - 1) == "states" and body.name == "America"
        starts = {key[:4] for key in reading.asked if len(key) > 4}
        common |= not starts.isdisjoint(reading.key(at)[:4] for at in body.span)  # the Lebanese Republic
        common &= not (reading.is_a(body.end - 1, "direction") and reading.key(body.end) in reading.asked)
        common |= reading.has("thing", body.end, body.end + 3)  # the Swiss food company
        owner = body.possessive and office_fits(reading, reading.keys(body.end, mention.start))
        agent = mention.end <= at - 1 and is_core(reading, at - 1)  # X was director of Z
        of = reading.is_a(at, "of") and (agent or (at != mention.end and of_office(reading, at)))
        of |= asked_office(reading) and at > body.start - 3 and reading.keys(at - 1, at + 1) == ["head", "of"]
        of |= asked_office(reading) and at == mention.end and reading.key(at) in ("at", "bei")
        noun = reading.is_a(body.start - 1, "article") and reading.is_a(body.start - 2, "present")
        noun &= len(body.span) > 1 and is_core(reading, body.end) and mention.end == body.start - 2
        noun &= reading.key(body.end) in ("coach", "manager", "captain")
        if not common and (owner or of or noun):  # X is the Real Madrid coach
            return body.name
    return ""


_NOUNS = ("title", "tenure", "place", "verb", "holds", "starter", "known")
"""Rows of words before `of X` that may mean X itself: `the presidency of X`."""


def belongs(reading: Reading, mention: Mention) -> bool:
    """Whether a person only says whose a thing is: `X's company`, `the X family`; `X's term` is X's own."""
    words = reading.words
    if reading.is_a(mention.end, "family"):
        return True
    led = reading.is_a(mention.start - 1, "article")
    lead, noun = reading.lead(mention), reading.lead(mention) - 1
    of = reading.is_a(lead, "of", "by") and reading.is_a(noun - 1, "article", "indefinite")
    in_cue = any(noun in cue.span for cue in reading.cues) or reading.key(noun) in reading.asked
    if mention.person and of and asked_office(reading) and not (in_cue or reading.is_a(noun, *_NOUNS)):
        return True  # the company of X
    after = mention.end + (reading.sign(mention.end) == "'")
    if not mention.person or not (mention.possessive or led) or after >= len(reading.tokens):
        return False
    token, following = reading.tokens[after], reading.keys(after + 1, after + 3)
    if any(words.has("tenure", key) for key in (token.key, *following)):
        return False
    if mention.possessive and not reading.tokens[mention.end - 1].possessive:
        return True
    noun = token.text.islower() and token.key not in reading.asked and not token.key.endswith("ing")
    noun &= not reading.is_a(after, "article", "starter", "verb", "by", "roughly", "object")
    adverb = token.key.endswith("ly") and following[:1] and following[0] in reading.asked
    return noun and not adverb and not any(words.has("article", key) for key in following)  # nor is 's a verb
