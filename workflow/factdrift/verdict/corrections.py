"""Corrections in what follows an answer: `No, it is X.`, `Actually, that was wrong.`."""

from __future__ import annotations

from collections.abc import Sequence

from factdrift.verdict.candidates import Candidates, Mention
from factdrift.verdict.cues import Cue, Cues
from factdrift.verdict.decision import asserted, decided
from factdrift.verdict.names import ACCEPTED
from factdrift.verdict.reading import Reading, Role
from factdrift.verdict.roles import read_sentence
from factdrift.verdict.sentences import split
from factdrift.verdict.text import Token

Decision = tuple[str, str]
"""A verdict, and the rule in words."""


def correction(rest: Sequence[Token], reading: Reading, candidates: Candidates, text: str) -> Decision | None:
    """The verdict of the first correction in the sentences behind an answer; None if there is none."""
    while rest and reading.mentions:
        part = split(rest, reading.words, candidates.within)
        sentence = _with_no(rest[: len(rest) - len(part.rest)], part.answer, reading.words)
        rest = part.rest
        after = read_sentence(sentence, candidates, text)
        cue = _sign(after)
        if reading.tokens[-1].text == "?" and after.tokens[-1].text == "?" and after.key(0) in ("or", "oder"):
            return "refused", "it asks twice"
        if reading.tokens[-1].text == "?" and after.of("refused") and not after.mentions:
            return "refused", "it asks, and says that it does not know"
        earlier = {mention.name for mention in asserted(reading)}
        again = {name.name for name in after.mentions if after.role(name) == Role.DENIED}
        if cue is None and earlier & again and any(name.kind != ACCEPTED for name in asserted(after)):
            return "unclear", "what is asserted first is denied later"
        if cue is None:
            continue
        words = [at for at, token in enumerate(sentence) if token.is_word]
        only_no = all(_says_no(after, at) for at in words)
        apart = cue.kind != "amended" and (after.sign(cue.end) or ".") in ",.:;!—–-"
        taken_back = apart or (cue.kind == "not" and only_no)  # I doubt it
        unknown = [name for name in after.unknown if name.start >= cue.end]
        if taken_back and not after.mentions and not unknown and rest:
            after = read_sentence(split(rest, reading.words, candidates.within).answer, candidates, text)
            unknown = list(after.unknown)
        instead = [mention for mention in asserted(after) if _corrects(after, cue, mention)]
        if any(mention.name not in earlier for mention in instead):
            verdict, reason = decided(after, False, False, candidates.of_values)
            return verdict, f"the answer is taken back: {reason}"
        if not taken_back or instead:
            continue
        denied = [mention.kind for mention in after.mentions if after.role(mention) == Role.DENIED]
        if unknown and not denied:
            return "wrong", "the answer is taken back for a name that is none of the candidates"
        accepted = any(mention.kind == ACCEPTED for mention in reading.mentions)
        if denied and ACCEPTED not in denied and accepted:
            return None
        if denied or (len(words) <= 3 and only_no):
            if accepted:
                return "denied", "the accepted answer is taken back"
            return "wrong", "the answer is taken back and no other one is named"
    return None


def _sign(after: Reading) -> Cue | None:
    """The cue that begins a correction; in up to three words without a name also a denial."""
    words = [at for at, token in enumerate(after.tokens) if token.is_word]
    for cue in after.of("retracted", "amended"):
        opening = all(not after.tokens[at].is_word or after.is_a(at, "opening") for at in range(cue.start))
        if words and (cue.start <= words[0] + 1 or opening):
            return cue
    if len(words) > 3 or not all(_says_no(after, at) for at in words):
        return None
    return next(iter(after.of("not")), None)  # X? Definitely not.


def _with_no(tokens: Sequence[Token], sentence: Sequence[Token], cues: Cues) -> Sequence[Token]:
    """A sentence with what `split` took for an opening before it, if that takes back: `No! It is X.`."""
    opening = [token.key for token in tokens[: len(tokens) - len(sentence)] if token.is_word]
    return tokens if any(cue.kind == "retracted" for cue in cues.find(opening[-1:])) else sentence


def _says_no(after: Reading, position: int) -> bool:
    """Whether a word of a correction only takes back: not that of `No, really`."""
    inside = any(position in cue.span for cue in after.of("retracted", "amended", "not"))
    return inside or after.is_a(position, "starter", "verb")


def _corrects(after: Reading, cue: Cue, mention: Mention) -> bool:
    """Whether a name replaces the answer; it does not in `In fact, he won against X`."""
    following = after.key(mention.end)
    free = not any(token.is_word for token in after.tokens[mention.end : mention.end + 1])
    return (
        cue.kind == "retracted"
        or mention.possessive
        or free
        or following in (*after.asked, "who", "der", "die")
        or after.is_a(mention.end, "verb")
        or any(other.start == mention.end for other in after.cues)
    )
