"""What follows an answer and changes it: `No, it is X.`, `Wait, I was wrong.`, `He is the president.`"""

from __future__ import annotations

import re
from collections.abc import Sequence

from factdrift.verdict.candidates import Candidates, Mention
from factdrift.verdict.cues import Cue
from factdrift.verdict.decision import answering, decided
from factdrift.verdict.names import ACCEPTED, STALE
from factdrift.verdict.offices import asked_office, is_core
from factdrift.verdict.reading import STOPS, Reading, Role, is_also
from factdrift.verdict.roles import read_sentence
from factdrift.verdict.sentences import split
from factdrift.verdict.text import Token


def correction(
    rest: Sequence[Token], reading: Reading, candidates: Candidates, text: str, several: bool
) -> tuple[str, str] | None:
    """Verdict and rule of the first correction in the sentences behind an answer, `No, it is X.`; or None.

    It may only announce the sentence that names another: `Wait, I was wrong. It is X.`
    """
    last = reading.named()[-1].end if reading.named() else 0
    announced, instead_of_none = any(cue.start >= last for cue in reading.of("retracted")), None
    while rest and reading.named():
        part = split(rest, reading.words, candidates.within)
        whole, sentence = rest[: len(rest) - len(part.rest)], part.answer
        opening = [token.key for token in whole[: len(whole) - len(sentence)] if token.is_word]
        if any(cue.kind == "retracted" for cue in reading.words.find(opening[-1:])):
            sentence = whole  # No! It is X.
        rest = part.rest
        after = read_sentence(sentence, candidates, text)
        if after.key(0) in ("q", "question", "frage") and after.sign(1) == ":":
            break  # another question
        cue = _sign(after)
        behind = split(rest, reading.words, candidates.within).answer if rest else ()
        then = read_sentence(behind, candidates, text) if behind else None
        if reading.tokens[-1].text == "?" and (reply := _reply(reading, after)):
            goes_on = then and then.asserted() and reply[1] == _SAYS_NO
            return decided(then, several, False, candidates.of_values) if then and goes_on else reply
        if reason := _leaves_open(reading, after):
            return "unclear", reason
        accepted = any(mention.kind == ACCEPTED for mention in reading.mentions)
        if not after.mentions and not (then and then.named()) and (_is_false(after) or _is_over(after)):
            return ("denied" if accepted else "wrong"), "the sentence behind says that it is not so"
        earlier = {mention.name for mention in reading.asserted()}
        again = {name.name for name in after.mentions if after.role(name) == Role.DENIED}
        if cue is None and earlier & again and any(name.kind != ACCEPTED for name in after.asserted()):
            return "unclear", "what is asserted first is denied later"
        new = [name for name in after.asserted() if name.name not in earlier]
        too = [name for name in new if _adds(reading, after, name)]
        kinds = {name.kind for name in (*reading.asserted(), *too)}
        since = " has since " in f" {' '.join(after.keys(0))} " and not after.of("not")
        if (since and new) or (cue is None and announced and new):
            verdict, reason = decided(after, False, False, candidates.of_values)
            return verdict, f"the answer is taken back: {reason}"
        if cue is None and earlier and too and not several and ACCEPTED in kinds and len(kinds) > 1:
            return "both", f"another answer is asserted first, and {too[0].name!r}, too"
        bare = cue is not None and cue.kind == "retracted" and not after.named()
        if after.of("refused") and (bare or (announced and cue is None and not after.mentions)):
            return "refused", "the answer is taken back, and it says that it does not know"
        if cue is None:
            continue
        roles = {after.role(name) for name in after.mentions if name.name in earlier}
        gone = bool(after.of("until")) and not after.named()  # actually, he resigned
        gone |= bool(after.of("believed"))
        not_so = bool(after.of("not")) and after.has("pronoun", cue.end) and not (then and then.named())
        alone = cue.start == 0 and len(cue.span) > 2 and not rest  # I take that back.
        if bare and ("disregard" in after.keys(0) or not_so or alone):
            return "denied", "the answer is taken back"
        announced |= cue.kind == "retracted" or roles == {Role.BESIDE} or gone  # actually, X is its speaker
        words = [at for at, token in enumerate(sentence) if token.is_word]
        only_no = all(_says_no(after, at) for at in words)
        apart = cue.kind != "amended" and (after.sign(cue.end) or ".") in ",.:;!—–-"
        taken_back = apart or (cue.kind == "not" and only_no)  # I doubt it
        unknown = [name for name in after.unknown if name.start >= cue.end]
        if taken_back and not after.mentions and not unknown and then:
            after, unknown = then, list(then.unknown)
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
        if denied and ACCEPTED not in denied and accepted:
            return None
        if denied or (len(words) <= 3 and only_no):
            instead_of_none = "wrong", "the answer is taken back and no other one is named"
            if accepted:
                instead_of_none = "denied", "the accepted answer is taken back"
            if not announced:
                return instead_of_none
    return instead_of_none


def _adds(reading: Reading, after: Reading, name: Mention) -> bool:
    """Whether a sentence asserts a name beside those of the last: `Y is it, too.`"""
    current = _is_current(after, name) and reading.has("present", 0)
    says = is_also(after, name) or current or _say_the_same(after, reading)
    return says and not after.of("until", "former")


def _leaves_open(reading: Reading, after: Reading) -> str:
    """Why a sentence leaves open whether the last still holds; empty if it does not."""
    if after.of("refused") and after.key(0) in ("whether", "ob") and not after.mentions:
        return "it does not know whether that still holds"
    body = any(not name.person for name in reading.asserted())
    if after.is_a(0, "pronoun") and after.keys(1, 3) == ["left", "for"] and body:
        return "it says who left since"
    return ""


_FALSE = re.compile(
    r"(?:(?:actually|wait|no|but|however|sorry|hmm|though|yet) )*"
    r"(?:(?:this|that|it|these|the above)(?: (?:statement|claim|answer|information))?) (?:is|was|are) "
    r"(?:(?:now|actually|only|just|in fact|however|of course|completely|simply) )*"
    r"(?:(?:no longer|not) (?:true|the case|correct|right|accurate|so|valid|current)"
    r"|wrong|incorrect|false|untrue|outdated|out of date|a (?:rumou?r|joke|myth|lie|hoax)"
    r"|(?:true|so|the case|correct) (?:only )?until .*)"
)
"""A sentence that takes back the sentence before it."""
_OVER = re.compile(
    r"(?:(?:however|but|though) )?(?:(?:he|she|they) (?:has |have )?(?:since )?"
    r"(?:(?:is|are|was) no longer|resigned|stepped down|left|quit|(?:was|were) (?:sacked|fired|dismissed))"
    r"|(?:this|that|it) (?:has )?(?:since )?changed)"
    r"(?: (?:from )?(?:the|this|that|his|her|their) (?:post|office|position|job|role)"
    r"| in office| in charge| office)?"
    r"(?: (?:in|on|at|last|this|since|when|earlier|the|end|of|then|recently|year|month|week|someone|somebody"
    r"|else|took|over|january|february|march|april|may|june|july|august|september|october|november|december"
    r"|\d+))*"
)
"""A sentence that says of its holder, or of the state of things, that it ended."""


def _is_false(after: Reading) -> bool:
    return bool(_FALSE.fullmatch(" ".join(key for key in after.keys(0) if key.isalnum())))


def _is_over(after: Reading) -> bool:
    return bool(_OVER.fullmatch(" ".join(key for key in after.keys(0) if key.isalnum())))


_SAYS_NO = "it asks, and says no"


def _reply(reading: Reading, after: Reading) -> tuple[str, str] | None:
    """Verdict and rule of what follows `X?`, if it leaves the answer open or says no; or None."""
    if after.tokens[-1].text == "?" and after.key(0) in ("or", "oder"):
        return "refused", "it asks twice"
    if after.mentions:
        return None
    if after.of("refused"):
        return "refused", "it asks, and says that it does not know"
    last = [token.key for token in after.tokens if token.is_word][-1:]
    sign = _sign(after)
    no = last in (["no"], ["nein"]) or after.of("believed") or (sign and sign.kind != "amended")
    if reading.asserted() and no:
        accepted = any(name.kind == ACCEPTED for name in reading.asserted())
        return "denied" if accepted else "wrong", _SAYS_NO
    if reading.asserted() and after.is_a(0, "pronoun") and after.is_a(1, "leads") and after.unknown:
        return "unclear", "it asks, and says that somebody led something else"
    return None


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
    verb = first + 1 + any(cue.span == range(first + 1, first + 2) for cue in after.of("now"))
    leads = after.is_a(verb, "leads") and verb > first + 1 and asked_office(after)  # he still leads it
    if not after.is_a(first, "pronoun") or after.of("not", "until", "former"):
        return None
    if not (after.is_a(verb, "present") or leads) or any(name.start < end for name in after.mentions):
        return None
    if _meets_somebody(reading):
        return None
    if not leads and (
        any(name.start < end for name in after.unknown)
        or not any(is_core(after, at) for at in range(verb + 1, end))
    ):
        return None
    ((name, kind),) = names.items()
    return {ACCEPTED: "correct", STALE: "stale"}.get(
        kind, "wrong"
    ), f"{name!r} holds it by the sentence behind"


def _meets_somebody(reading: Reading) -> bool:
    """Whether a sentence tells of somebody without a name, who may be meant behind it: `X met the winner.`"""
    for at, token in enumerate(reading.tokens[:-1]):
        led = reading.is_a(at, "indefinite", "article", "possessive") and not reading.is_a(at - 1, "verb")
        noun = reading.is_a(at + 1, "kin", "successor", "predecessor", "somebody")
        if led and noun and at and token.is_word:
            return True
    return False


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
        frozenset(
            token.key
            for at, token in enumerate(reading.tokens)
            if token.is_word
            and not (token.kind == "bullet" or at in reading.positions() or reading.is_a(at, "article", "of"))
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
    starts = {name.start for name in after.mentions}
    for cue in after.of("retracted"):
        if len(cue.span) > 1 and cue.end in starts:
            return cue  # he came in 2024, make that X
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
    says = range(cue.end, after.lead(mention))  # so the answer is X
    free |= after.is_a(says.stop, "present") and any(after.is_a(at, "right") for at in says)
    return free or following in (*after.asked, "who", "der", "die")
