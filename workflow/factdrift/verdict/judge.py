"""The verdict on one answer by rule: `judged(Case(...))`.

Nothing here knows of benchmarks or models: a case is a text with the names that it may hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from factdrift.verdict.candidates import Candidates, Mention
from factdrift.verdict.clauses import asked_events
from factdrift.verdict.corrections import correction, holder
from factdrift.verdict.cues import about, read_cues
from factdrift.verdict.decision import NOBODY, UNASSERTED, answering, decided
from factdrift.verdict.names import ACCEPTED, UNKNOWN
from factdrift.verdict.offices import is_core, office_fits
from factdrift.verdict.reading import Reading, Role
from factdrift.verdict.records import without_records
from factdrift.verdict.roles import read_sentence
from factdrift.verdict.sentences import conclusion, repeats, split, without_hyphens, without_prompt
from factdrift.verdict.text import contains, keys_of, plain, spelled_in_full, tokens
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


MOST_TOKENS = 400
"""Words and signs of an answer, at most, that are read: a model may repeat itself for pages."""
OPENINGS = 4
"""Sentences, at most, that are skipped since they only lead to the answer, such as `Let me think.`."""


def judged(case: Case, openings: int = OPENINGS) -> Judged:
    """The verdict on an answer. At most `openings` sentences before it say something else."""
    language = case.language.partition("-")[0].casefold()
    cues = read_cues(language)
    candidates = _candidates(case.accepted, case.stale, case.others, case.question, language)
    answer = _COMMANDS.sub("", answer_of(case.text))
    whole = without_records(spelled_in_full(plain(_without_heading(answer, candidates))), case.question, cues)
    text = without_prompt(whole, case.question)
    if contains(case.question, (*case.accepted, *case.stale)):  # `The official name of X is` names no X
        text = without_prompt(text, _AS_STATEMENT.sub(r"\2 \1", case.question))
    if openings == OPENINGS and (end := conclusion(text, case.question)):
        last = judged(case._replace(text=end), 0)
        if last.named:
            return last
    bare = _BARE.match(text)
    if bare and bare[1] in (*case.accepted, *case.stale, *case.others):
        text = f"{bare[1]}.\n{text[bare.end() :]}"
    options = _OPTIONS.match(text)
    if options and not _VERB.search(options[0]):
        chosen = _CHOICE.fullmatch(text, options.end())
        line = re.search(rf"^\s*\(?{chosen[1]}[.)] ([^\n]+)", options[0], re.I | re.M) if chosen else None
        last = judged(case._replace(text=line[1] if line else text[options.end() :]), 0)
        return last if last.named else last._replace(verdict="refused", reason="it only lists options")
    sentence, rest, stop = split(without_hyphens(tokens(text)[:MOST_TOKENS], cues), cues, candidates.within)
    if not any(token.is_word for token in sentence):
        return Judged("empty", "", (), "end", "only the prompt again" if keys_of(whole) else _NO_WORD)
    mentions = candidates.mentions(sentence, text)
    named = tuple(dict.fromkeys(mention.name for mention in mentions if mention.kind != UNKNOWN))
    result = Judged("empty", text[sentence[0].start : sentence[-1].end].strip(), named, stop, "")
    following = case._replace(text=text[rest[0].start :]) if rest and openings else None
    reading = read_sentence(sentence, candidates, text)
    asks, taken_back = _asks_back(reading), None
    read = {at for cue in reading.cues for at in cue.span}
    common = (*cues.values["month"], *candidates.asked)
    read |= {at for at in range(len(sentence)) if reading.key(at) in common}
    signs = ",;" if candidates.of_values else ";"
    until = reading.end(max((name.end for name in mentions if name.kind == ACCEPTED), default=0), signs)
    for at in range(until) if ACCEPTED not in {name.kind for name in mentions} else ():
        if reading.sign(at) == "," and reading.is_a(at + 1, "who"):  # Y, quien fue jugador
            until = at
            break
    for name in mentions:
        comma = reading.end(name.end, ",")
        joined = name.kind == ACCEPTED and reading.role(name) == Role.NOW and reading.is_a(comma + 1, "when")
        until = min(until, comma) if joined else until  # X desde 2025, cuando fue elegido
    doubts = cues.only_names and any(reading.is_a(at, "doubt") for at in {*range(until)} - read)
    left = [reading.role(name) for name in reading.mentions]
    loops = repeats(keys_of(text)) == 0 and not candidates.mentions(tokens(text), text)
    if reason := _says_nothing(reading, mentions, keys_of(case.question)) or _LOOP * loops:
        verdict = "empty"
    elif named and doubts and not (reading.of("refused") or Role.OPEN in left):
        verdict, reason = "unclear", "a word that may deny it, in a language whose cue words are not known"
    else:
        taken_back = correction(rest, reading, candidates, text, case.several)
        verdict, reason = taken_back or decided(reading, case.several, asks, candidates.of_values)
        if verdict in ("unclear", "wrong") and not (taken_back or case.several):
            verdict, reason = holder(rest, reading, candidates, text) or (verdict, reason)
    result = result._replace(verdict=verdict, reason=reason)
    aside = verdict == "correct" and _is_aside(reading)
    if following and not taken_back and (verdict != "correct" or candidates.of_values or aside):
        later = judged(following, openings - 1)
        asked = keys_of(case.question)
        again = case.question if keys_of(following.text)[: len(asked)] == asked else ""
        spoken = later._replace(answer=f"{again} {later.answer}".strip())
        return later if _gives_way(reading, verdict, asks, spoken, case.question) else result
    return result


def _without_heading(text: str, candidates: Candidates) -> str:
    """A text without a heading that only repeats what is asked for: `## CEO of Nike`."""
    heading = _HEADING.match(text)
    words = tokens(heading[1]) if heading else []
    asked = any(
        token.key in candidates.asked and not candidates.cues.has("starter", token.key) for token in words
    )
    named = any(name.kind != UNKNOWN for name in candidates.mentions(words, heading[1])) if heading else True
    return text[heading.end() :] if heading and asked and not named else text


_COMMANDS = re.compile(r"\A\s*```\w*\n\s*(?:\$|>>>) .*?```\s*(?=\S)", re.S)
"""Commands with what they print, above an answer."""
_HEADING = re.compile(r"\s*#{1,6} +([^\n]+)\n+(?=\S)")
_OPTIONS = re.compile(r"\s*\(?a[.)] [^\n]+(?:\n\s*\(?[b-j][.)] [^\n]+){2,}\s*", re.I)
"""Answers to choose from, of which none is chosen unless a letter follows."""
_BARE = re.compile(r"(\d{1,2})\. (?=[A-Z]\w* [a-z])")
"""A number that answers before the next sentence, and is no point of a list: `27. It was 28 before.`"""
_VERB = re.compile(r" (?:is|was|are|were|has|had) ")
_CHOICE = re.compile(
    r"(?:the )?(?:correct )?(?:answer|antwort)?(?: is| ist)?\s*:?\s*\(?([a-j])\)?[.)]?\s*", re.I
)
_NO_WORD = "there is no word"
_LOOP = "one phrase again and again"
_AS_STATEMENT = re.compile(r"^(?:what|which|who) (is|are) (.+?)\s*\?$", re.I)
"""A question whose words, in another order, lead to the answer: `What is X?`, `X is`."""


@lru_cache(maxsize=1 << 12)
def _candidates(
    accepted: tuple[str, ...], stale: tuple[str, ...], others: tuple[str, ...], question: str, language: str
) -> Candidates:
    """The candidates of a question, which has many answers."""
    return Candidates((accepted, stale, others), question, read_cues(language), language)


def _says_nothing(reading: Reading, mentions: Sequence[Mention], asked: Sequence[str]) -> str:
    """Why an answer says nothing; empty if it says something."""
    words = [at for at, token in enumerate(reading.tokens) if token.is_word]
    keys = [reading.key(at) for at in words]
    begins = keys == [*asked[: len(keys)]] and reading.tokens[-1].text != "?"
    if not mentions and set(keys) <= set(asked) and (len(keys) > 3 or begins):
        return "only the prompt again"
    start = repeats(keys)
    if start is not None and not any(mention.start < words[start] for mention in reading.mentions):
        return _LOOP
    return ""


def _gives_way(reading: Reading, verdict: str, asks: bool, later: Judged, question: str) -> bool:
    """Whether what follows a sentence with a verdict is the answer, and not the sentence."""
    if verdict == "empty":
        return bool(later.named)
    if verdict == "correct" and later.verdict in ("stale", "wrong") and _is_aside(reading):
        cues = reading.words.find(keys_of(later.answer))
        past = any(cue.kind in ("until", "former", "took_over", "handed_on") for cue in cues)
        past |= not {"preceded", "followed"}.isdisjoint(keys_of(later.answer))
        own = any(
            reading.words.has("pronoun", key) for key in keys_of(later.answer)[:1]
        )  # X thinks so. He is it
        return bool(later.named) and not (past or own) and _says_core(reading, later)
    heading = not (reading.mentions or any(token.text.islower() for token in reading.tokens))
    if heading and later.named and _LABELLED.match(later.answer):
        return True  # above labelled lines
    beside = verdict == "wrong" and reading.mentions and not (reading.asserted() or reading.of("attempt"))
    if later.verdict == "refused" and (verdict == "both" or beside):
        return True  # X or Y? I do not know. It is X's book. It does not say who.
    again = keys_of(later.answer)[:1] in (("if",), ("otherwise",)) and reading.key(0) == "if"
    if (asks and later.verdict == "both") or again:
        return False  # which period? There were X, Y and Z. If it is X, good. If not, it is Y.
    leaves_open = (
        verdict == "refused" and not reading.of("refused", "hedge") and reading.mentions and not asks
    )
    if ((verdict == "unclear" and reading.doubts) or leaves_open) and _says_core(reading, later):
        return True  # X was a pilot. The president is Y.
    opening = keys_of(later.answer)[:4]
    opening = opening[:2] if any(reading.words.has("pronoun", key) for key in opening[:1]) else opening
    current = any(cue.kind == "now" for cue in reading.words.find(opening))
    current &= opening[:1] != ("since",) or not reading.words.has("possessive", opening[1])
    right = later.verdict == "correct" and opening[:1] != ("as",)  # but as of 2021
    if current and verdict != "correct" and later.named and (right or _says_core(reading, later)):
        return True  # it has had several presidents, among them Z. The current president is X.
    if reading.of("believed") and later.named and verdict != "correct":
        return True  # Many would say Y. It is X.
    if verdict == "wrong" and _introduces(reading) and later.named and _says_core(reading, later):
        return True  # Z is a republic whose president is elected by W. The president is X.
    goes_on = later.named or later.verdict == "empty" or (later.verdict == "refused" and not asks)
    if goes_on and _leads(reading, asks, question, later):
        return True
    keys = keys_of(later.answer)
    if not asks and verdict != "refused" and _asserts_nobody(reading):  # It is not Y. It is X.
        holds = any(reading.words.has(kind, key) for kind in ("present", "leads") for key in keys)
        if later.verdict == "correct" or (later.named and not reading.asserted()):
            return verdict != "denied" or (later.verdict != "unclear" and later.reason != UNASSERTED)
        if holds and later.verdict == "stale":
            return True
    sure = asked_events(reading) and any(reading.role(name) == Role.NOW for name in reading.asserted())
    of_past = any(reading.words.has("past", key) for key in reading.asked)  # when was it released?
    past = (
        question.rstrip().endswith("?")
        and not of_past
        and _tells(reading)
        and not (sure and verdict == "wrong")
    )  # but it was composed by Y
    instead = {"stale": "correct", "wrong": "correct", "correct": "stale"}.get(verdict)
    return past and later.verdict == instead  # Y took office in 2017. X succeeded him in 2023.


def _is_aside(reading: Reading) -> bool:
    """Whether a sentence with a name says no word of what is asked for: `X learned the trade at Z.`"""
    words = [at for at, token in enumerate(reading.tokens) if token.text.islower()]
    kinds = ("right", "tenure", "present", "leads", "plays")
    says = any(is_core(reading, at) or reading.is_a(at, *kinds) for at in words)
    says |= any(reading.role(name) == Role.NOW for name in reading.mentions)
    return len(words) > 3 and not says and not reading.of("now", "hedge", "took_over", "handed_on")


def _says_core(reading: Reading, later: Judged) -> bool:
    """Whether what follows says who has what is asked for: in its words, with a verb for it."""
    if later.verdict not in ("correct", "stale", "wrong") or later.reason == NOBODY:
        return False
    keys = keys_of(later.answer)
    office = office_fits(reading, keys)
    core = office or any(key in reading.asked and not reading.words.has("starter", key) for key in keys)
    own = about(tuple(reading.asked), reading.words)
    says = core or any(reading.words.has("right", key) or (key in own and len(key) > 3) for key in keys)
    has = reading.words.has
    return says and any(
        has("present", key)
        or has("leads", key)
        or has("plays", key)
        or (has("verb", key) and key.endswith("s") and key != "was")
        for key in keys
    )


def _introduces(reading: Reading) -> bool:
    """Whether a sentence only says what the question's subject is: `Z is a firm founded by X`."""
    for at, token in enumerate(reading.tokens):
        verb = at + 1 + (reading.sign(at + 1) == ".")
        is_a = reading.is_a(verb, "present") and reading.is_a(verb + 1, "indefinite")
        elected = reading.is_a(at + 1, "present") and reading.is_a(at + 2, "chosen") and is_core(reading, at)
        is_a |= at < 2 and reading.is_a(verb, "present") and reading.is_a(verb + 1, "article")
        subject = token.key in reading.asked or reading.is_a(at, "suffix")
        if elected or (is_a and token.is_capital and subject):
            return all(reading.is_a(reading.lead(name), "by") for name in reading.mentions)
    of_subject = reading.key(0) in ("its", "their") and reading.is_a(2, "present")  # its home is Z
    return of_subject and not reading.mentions and not is_core(reading, 1)


_LABELLED = re.compile(r"[\W_]*\w[\w ]{0,40}:\s")

_ADVICE = ("please", "recommend", "suggest", "advise", "should", "may", "might", "bitte")
"""Words that begin what sends the reader to a source, beside an answer: `Please check.`."""


def _leads(reading: Reading, asks: bool, question: str, later: Judged) -> bool:
    """Whether a sentence names nothing and only leads to the next: `Let me think.`, `X is a republic.`."""
    if asks and not reading.asserted():
        return True
    taken_back = any(cue.start < 2 and reading.key(0) != "let" for cue in reading.of("retracted"))
    if reading.mentions or taken_back or reading.of("not"):
        return False  # but Let me check what I know
    if reading.of("disclaimer", "refused"):
        advice = all(reading.key(cue.start) in _ADVICE for cue in reading.of("refused"))
        return bool(reading.of("disclaimer")) or advice or _is_sourced(reading, later)
    name = answering(reading)
    words = [at for at, token in enumerate(reading.tokens) if token.is_word]
    if reading.has("talk", 0):
        return name is None or (len(name.span) == 1 and name.start < 2)
    whole = question.rstrip().endswith("?") or reading.has("verb", 0)
    whole |= all(reading.key(at) in reading.asked or reading.is_a(at, "title") for at in words)
    whole |= reading.is_a(words[0], "indefinite")  # the post of Z is a hard job
    return whole and name is None and (reading.tokens[words[0]].is_capital or reading.is_a(0, "indefinite"))


def _is_sourced(reading: Reading, later: Judged) -> bool:
    """Whether what follows a refusal names somebody and whence it knows: `Based on what I have, it is X.`"""
    keys = keys_of(later.answer)
    known = any(keys[: len(phrase)] == phrase for phrase in reading.words.phrases("sourced"))
    return known and bool(later.named)


def _asserts_nobody(reading: Reading) -> bool:
    """Whether a sentence surely asserts no name: `Y left in 2024.`, `Y?`, `She is not married.`"""
    sure = [name for name in reading.asserted() if name.start not in reading.doubts]
    end = sure[0].end if len(sure) == 1 and sure[0].person else len(reading.tokens)
    is_the = reading.is_a(end, "present") and reading.is_a(end + 1, "article")
    if is_the and not any(is_core(reading, at) for at in range(len(reading.tokens))):
        return True  # X is the star of the team. Y coaches it.
    spoken = reading.mentions or (reading.of("not") and answering(reading) is None)
    return bool(spoken and not sure) or reading.tokens[-1].text == "?"


def _tells(reading: Reading) -> bool:
    """Whether a sentence only tells what was: `Y fled in July.`"""
    words = [token.key for token in reading.tokens if token.text.islower()]
    ends = ("ed", "te", "had") if reading.words.capital_nouns else ("ed", "had")  # but presidente
    past = any(key.endswith(ends) or reading.words.has("past", key) for key in words)
    past |= any(reading.words.has("bygone", key) for key in words)
    now = [cue for cue in reading.of("now") if not reading.is_a(cue.start, "then")]
    holds = any(_IS.fullmatch(token.text) or _runs(reading, token.key) for token in reading.tokens)
    return (
        past
        and not (now or holds)
        and not reading.of("hedge", "disclaimer")
        and not reading.has("present", 0)
    )


_IS = re.compile(r"(?:that|it|he|she|who|there|here|this)'s", re.I)


def _runs(reading: Reading, key: str) -> bool:
    """Whether a word is a verb of the present that says what is asked for: `uses`, `plays`."""
    rows = any(reading.words.has(kind, key) for kind in ("leads", "plays", "holds", "remains"))
    return key.endswith("s") and (rows or key in ("uses", "belongs", "lives", "sits"))


def _asks_back(reading: Reading) -> bool:
    """Whether an answer is itself a question, and more than a name with a question mark."""
    asking = [cue for cue in reading.of("asked") if not reading.has("if", 0, cue.start)]
    if not any(token.text == "?" for token in reading.tokens[-2:]):
        return any(len(cue.span) > 1 and cue.start < 6 for cue in asking) and not reading.asserted()
    first = next(at for at, token in enumerate(reading.tokens) if token.is_word)
    begins = any(cue.start == first for cue in asking) or reading.is_a(first, "verb")
    return begins or not reading.asserted()
