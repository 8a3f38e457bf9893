"""The verdict on one answer by rule: `judged(Case(...))`.

Nothing here knows of benchmarks or models: a case is a text with the names that it may hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from factdrift.verdict.candidates import Candidates, Mention
from factdrift.verdict.cues import Cue, Cues, read_cues
from factdrift.verdict.names import ACCEPTED, SHARED, STALE, UNKNOWN
from factdrift.verdict.reading import Reading, Role, side_by_side
from factdrift.verdict.records import without_records
from factdrift.verdict.roles import read_roles
from factdrift.verdict.sentences import conclusion, repeats, split, without_prompt
from factdrift.verdict.text import Token, keys_of, plain, tokens
from factdrift.words.reasoning import answer_of

VERDICTS = ("correct", "stale", "wrong", "both", "denied", "refused", "empty", "unclear")
"""In the order in which tables have them; only `correct` is right."""


class Case(NamedTuple):
    """An answer to be judged, and what it may name. `several`: the relation has several values at a time."""

    text: str
    accepted: tuple[str, ...]
    stale: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    question: str = ""
    language: str = "en"
    several: bool = False


class Judged(NamedTuple):
    """`answer`: what was judged. `named`: the candidates in it, in their order. `reason`: the rule, in words.

    `stop`: what ended the answer, the end of its sentence (`end`) or of its line (`line`).
    """

    verdict: str
    answer: str
    named: tuple[str, ...]
    stop: str
    reason: str


OPENINGS = 4
"""Sentences, at most, that are skipped since they only lead to the answer, such as `Let me think.`."""


def judged(case: Case, openings: int = OPENINGS) -> Judged:
    """The verdict on an answer. At most `openings` sentences before it say something else."""
    language = case.language.partition("-")[0].casefold()
    cues = read_cues(language)
    text = without_records(plain(answer_of(case.text)), case.question, cues)
    said = without_prompt(text, case.question)
    if openings == OPENINGS and (end := conclusion(said)):
        last = judged(case._replace(text=end), 0)
        if last.named:
            return last
    found = tokens(said)
    candidates = _candidates(case.accepted, case.stale, case.others, case.question, language)
    parts = split(found, cues, candidates.within)
    if not any(each.is_word for each in parts.answer):
        return Judged(
            "empty", "", (), "end", "there is no word" if not keys_of(text) else "only the prompt again"
        )
    answer = said[parts.answer[0].start : parts.answer[-1].end].strip()
    mentions = candidates.mentions(parts.answer, said)
    named = tuple(dict.fromkeys(each.name for each in mentions if each.kind != UNKNOWN))

    def as_(verdict: str, reason: str) -> Judged:
        return Judged(verdict, answer, named, parts.stop, reason)

    following = case._replace(text=said[parts.rest[0].start :]) if parts.rest and openings else None
    if reason := _says_nothing(parts.answer, mentions, case.question):
        later = judged(following, openings - 1) if following else None
        return later if later is not None and later.named else as_("empty", reason)
    reading = _read(parts.answer, mentions, candidates, cues)
    asks = _asks_back(parts.answer, reading)
    if following and _leads(reading, asks, case.question):
        later = judged(following, openings - 1)
        if later.named or (later.verdict == "refused" and not asks):
            return later
    if cues.only_names and any(cues.has("doubt", token.key) for token in parts.answer) and named:
        return as_("unclear", "a word that may deny it, in a language whose cue words are not known")
    taken = _retracted(parts.rest, reading, candidates, said, cues)
    return as_(*(taken or _decided(reading, case.several, asks, candidates)))


@lru_cache(maxsize=1 << 12)
def _candidates(
    accepted: tuple[str, ...], stale: tuple[str, ...], others: tuple[str, ...], question: str, language: str
) -> Candidates:
    """The candidates of a question, which has many answers."""
    return Candidates(accepted, stale, others, question, read_cues(language), language)


def _read(found: Sequence[Token], mentions: Sequence[Mention], candidates: Candidates, cues: Cues) -> Reading:
    unknown = [each for each in mentions if each.kind == UNKNOWN]
    own = [each for each in mentions if each.kind != UNKNOWN]
    reading = Reading(found, own, unknown or candidates.unknown(found, own), cues, candidates.asked)
    read_roles(reading)
    return reading


def _says_nothing(found: Sequence[Token], mentions: Sequence[Mention], question: str) -> str:
    """Why an answer says nothing; empty if it says something."""
    keys = [each.key for each in found if each.is_word]
    asked = keys_of(question)
    begins = tuple(keys) == asked[: len(keys)]
    if not mentions and set(keys) <= set(asked) and (len(keys) > 3 or (begins and found[-1].text != "?")):
        return "only the prompt again"
    begun = repeats(keys)
    if begun is not None:
        words = [place for place, each in enumerate(found) if each.is_word]
        if not any(each.start < words[begun] and each.kind != UNKNOWN for each in mentions):
            return "one phrase again and again"
    return ""


def _leads(reading: Reading, asks: bool, question: str) -> bool:
    """Whether a sentence names nothing and only leads to the next: `Let me think.`, `X is a republic.`."""
    if asks and not _asserted(reading):
        return True
    if reading.mentions:
        return False
    if reading.of("retracted", "not"):
        return False
    if reading.of("disclaimer"):
        return True
    if reading.of("refused"):
        return False
    words = [token for token in reading.tokens if token.is_word]
    answering = _answering(reading)
    begins = answering is not None and answering.end - answering.start == 1 and answering.start < 2
    if any(reading.words.has("talk", token.key) for token in words):
        return answering is None or begins
    whole = question.rstrip().endswith("?") or any(reading.words.has("verb", token.key) for token in words)
    whole |= all(token.key in reading.asked or reading.words.has("title", token.key) for token in words)
    return whole and answering is None and words[0].is_capital


def _asserted(reading: Reading) -> list[Mention]:
    return [each for each in reading.mentions if reading.role(each) in (Role.ASSERTED, Role.NOW)]


def _asks_back(found: Sequence[Token], reading: Reading) -> bool:
    """Whether an answer is itself a question, and more than a name with a question mark."""
    if found[-1].text != "?" and not any(each.text == "?" for each in found[-2:]):
        return any(
            cue.kind == "asked" and cue.end - cue.start > 1 and cue.start < 6 for cue in reading.cues
        ) and not _asserted(reading)
    words = [place for place, each in enumerate(found) if each.is_word]
    asking = any(cue.start == words[0] for cue in reading.of("asked"))
    if asking or reading.words.has("verb", found[words[0]].key):
        return True
    return not _asserted(reading)


def _retracted(
    rest: Sequence[Token], reading: Reading, candidates: Candidates, text: str, cues: Cues
) -> tuple[str, str] | None:
    """The verdict of a correction in what follows the answer; None if there is none."""
    if not rest or not reading.mentions:
        return None
    begin = 0
    while begin < len(rest):
        part = split(rest[begin:], cues, candidates.within)
        found = _with_no(rest[begin : len(rest) - len(part.rest)], part.answer, cues)
        begin = len(rest) - len(part.rest)
        mentions = candidates.mentions(found, text)
        after = _read(found, mentions, candidates, cues)
        words = [place for place, each in enumerate(found) if each.is_word]
        signs = [
            cue
            for cue in after.of("retracted", "amended")
            if words and (cue.start <= words[0] + 1 or _fills(found[: cue.start], cues))
        ]
        if not signs and not mentions and 0 < len(words) <= 3:  # X? Definitely not.
            signs = after.of("not") if all(_says_no(after, place) for place in words) else []
        if not signs:
            continue
        cue = signs[0]
        doubts = cue.kind == "not" and all(_says_no(after, place) for place in words)  # I doubt it
        hard = doubts or (cue.kind in ("retracted", "not") and _stands_apart(found, cue.end))
        following = part.rest
        unknown = [each for each in after.unknown if each.start >= cue.end]
        if hard and not after.mentions and not unknown and following:
            nearby = split(following, cues, candidates.within).answer
            after = _read(nearby, candidates.mentions(nearby, text), candidates, cues)
            unknown = list(after.unknown)
        said = [each for each in _asserted(after) if _corrects(after, cue, each)]
        denied = [each for each in after.mentions if after.role(each) == Role.DENIED]
        earlier = {each.name for each in _asserted(reading)}
        if said and not all(each.name in earlier for each in said):
            verdict, reason = _decided(after, False, False, candidates)
            return verdict, f"the answer is taken back: {reason}"
        if hard and not said:
            if unknown and not denied:
                return "wrong", "the answer is taken back for a name that is none of the candidates"
            back = [each for each in reading.mentions if each.kind == ACCEPTED]
            if denied and not any(each.kind == ACCEPTED for each in denied) and back:
                return None
            if denied or (len(words) <= 3 and all(_says_no(after, place) for place in words)):
                if back:
                    return "denied", "the accepted answer is taken back"
                return "wrong", "the answer is taken back and no other one is given"
    return None


def _with_no(found: Sequence[Token], sentence: Sequence[Token], cues: Cues) -> list[Token]:
    """A sentence with what `split` took for an opening before it, if that takes back: `No! It is X.`."""
    opening = [each.key for each in found[: len(found) - len(sentence)] if each.is_word]
    return list(found if any(cue.kind == "retracted" for cue in cues.find(opening[-1:])) else sentence)


def _says_no(after: Reading, place: int) -> bool:
    """Whether a word of a correction only takes back: not that of `No, really`."""
    inside = any(cue.start <= place < cue.end for cue in after.of("retracted", "amended", "not"))
    return inside or any(after.words.has(kind, after.tokens[place].key) for kind in ("starter", "verb"))


def _corrects(after: Reading, cue: Cue, said: Mention) -> bool:
    """Whether a name is put in the place of the answer; it is not in `In fact, he won against X`."""
    if any(other.end == said.start for other in after.of("beside")):
        return False
    following = after.tokens[said.end : said.end + 1]
    free = not following or not following[0].is_word or following[0].key in ("who", "der", "die")
    return (
        cue.kind == "retracted"
        or said.possessive
        or free
        or after.words.has("verb", following[0].key)
        or following[0].key in after.asked
        or any(other.start == said.end for other in after.cues)
    )


def _fills(found: Sequence[Token], cues: Cues) -> bool:
    """Whether words say nothing, such as `Hmm`."""
    return all(cues.has("opening", each.key) for each in found if each.is_word)


def _stands_apart(found: Sequence[Token], place: int) -> bool:
    return place >= len(found) or found[place].text in ",.:;!—–-"


def _decided(reading: Reading, several: bool, asks: bool, candidates: Candidates) -> tuple[str, str]:
    """Verdict and rule of the candidates' roles."""
    said = _asserted(reading)
    refused = bool(reading.of("refused"))
    if asks and not any(reading.role(each) == Role.NOW for each in said):
        return "refused", "it asks back"
    if not said and not refused:
        said = _of_past(reading)
    if not said:
        return _unsaid(reading, refused, candidates)
    if (clash := _contradiction(reading, said)) is not None:
        return clash
    right = [each for each in said if each.kind == ACCEPTED]
    if several and any(each.start not in reading.doubts for each in right):
        return "correct", "an accepted answer is asserted, of several that hold together"
    if right and not several:
        for other in [*said, *(each for each in reading.unknown if reading.role(each) != Role.BESIDE)]:
            if other.kind not in (ACCEPTED, SHARED) and any(
                side_by_side(reading, *sorted((one, other)))
                for one in right
                if not (_contains(reading, one, other) or (candidates.of_values and not other.value))
                if other.kind != UNKNOWN or _ends_list(reading, one, other, candidates)
            ):
                return "both", f"an accepted answer and {other.name!r} are asserted side by side"
    first = said[0]
    if first.kind == ACCEPTED and first.start in reading.doubts:
        return "unclear", f"an accepted answer {reading.doubts[first.start]}"
    if first.kind == ACCEPTED:
        return "correct", "an accepted answer is the first candidate that is asserted"
    if first.kind == STALE:
        return "stale", "a stale answer is asserted first, or alone"
    if first.kind == SHARED:
        return "unclear", "the name that is asserted belongs to an accepted and to a stale answer"
    return "wrong", "another object is asserted"


def _contains(reading: Reading, one: Mention, other: Mention) -> bool:
    """Whether a place only says where the one before it is: `Marylebone, London`."""
    between = [token.text for token in reading.tokens[one.end : other.start]]
    return between == [","] and reading.asked[:1] in (("where",), ("wo",))


def _of_past(reading: Reading) -> list[Mention]:
    """Names of a time that may be past, where nothing else is asserted: then they are the answer."""
    if any(reading.role(each) == Role.NOW and each.end - each.start > 1 for each in reading.unknown):
        return []
    once = [each for each in reading.mentions if reading.role(each) == Role.ONCE]
    stale = [
        each
        for each in reading.mentions
        if reading.role(each) == Role.BEFORE and each.kind == STALE and not _describes(reading, each)
    ]
    others = [each for each in reading.unknown if not each.possessive]
    if any(reading.role(each) == Role.DENIED for each in reading.mentions):
        stale = []
    return once or ([] if others else stale)


def _describes(reading: Reading, mention: Mention) -> bool:
    """Whether a name only describes somebody who is not named: `the one after X`, `X's successor`."""
    if mention.possessive:
        return True
    return any(cue.end == mention.start for cue in reading.of("took_over")) and len(reading.named()) == 1


def _contradiction(reading: Reading, said: Sequence[Mention]) -> tuple[str, str] | None:
    denied = {each.name for each in reading.mentions if reading.role(each) == Role.DENIED}
    clash = [each.name for each in said if each.name in denied]
    if clash and said[0].name == clash[0]:
        return "unclear", f"{clash[0]!r} is asserted and denied"
    return None


def _ends_list(reading: Reading, one: Mention, other: Mention, candidates: Candidates) -> bool:
    """Whether a name that is none of the candidates is an answer beside one: `X or Y`, `X and Y.`."""
    first, second = sorted((one, other))
    joins = [cue for cue in reading.of("or", "and") if first.end <= cue.start and cue.end <= second.start]
    if not joins:
        return False
    after = reading.tokens[second.end : second.end + 1]
    ended = not after or not after[0].is_word or after[0].key in ("are", "were", "sind", "waren")
    full = other.end - other.start > 1 or candidates.of_values or one.end - one.start == 1
    return full and (joins[-1].kind == "or" or ended)


def _unsaid(reading: Reading, refused: bool, candidates: Candidates) -> tuple[str, str]:
    """Verdict and rule where no candidate is asserted."""
    roles = {each.start: reading.role(each) for each in reading.mentions}
    right = [each for each in reading.mentions if each.kind == ACCEPTED]
    unknown = _answering(reading)
    if any(role == Role.TWICE for role in roles.values()):
        return "unclear", "a denial is denied"
    if refused and not any(roles[each.start] == Role.DENIED for each in right):
        return "refused", "it says that it does not know"
    if any(role == Role.OPEN for role in roles.values()):
        return "refused", "it leaves the answer open"
    if unknown:
        return "wrong", f"it asserts {unknown.name!r}, which is none of the candidates"
    if any(roles[each.start] in (Role.DENIED, Role.TAKEN_BACK) for each in right):
        return "denied", "an accepted answer is named only to be denied"
    if any(roles[each.start] == Role.BEFORE for each in right):
        return "denied", "an accepted answer is named only as the one before"
    if any(roles[each.start] == Role.BESIDE for each in right):
        return "wrong", "an accepted answer is named, but not as the answer"
    if reading.mentions:
        return "wrong", "candidates are named, and none is asserted"
    if reading.of("disclaimer"):
        return "refused", "it only says what it is, or what it was trained on"
    if any(cue.kind == "asked" and cue.end - cue.start > 1 for cue in reading.cues):
        return "refused", "it asks back"
    return "wrong", "no candidate is named"


_INDEFINITE = frozenset(("a", "an", "ein", "eine", "einer", "einem", "einen"))
"""Articles of a noun rather than a name."""


def _answering(reading: Reading) -> Mention | None:
    """A name that is none of the candidates, in the place of the answer: first, or after a verb or `but`."""
    found = reading.tokens
    for each in reading.unknown:
        if each.possessive or any(cue.start == each.end for cue in reading.of("not")):
            continue
        place = reading.lead(each)
        before = found[place].key if place >= 0 else ""
        if each.start and found[each.start - 1].key in _INDEFINITE:
            continue
        contrast = any(cue.end == place + 1 for cue in reading.of("contrast", "hedge"))
        if place < 0 or contrast or reading.words.has("verb", before) or before in ("its", "it"):
            negated = any(cue.end == each.start or cue.end == place + 1 for cue in reading.of("not"))
            if not negated:
                return each
    return None
