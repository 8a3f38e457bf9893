"""What a model writes, until it stops by itself. Imports torch."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nltk.probability import FreqDist, MLEProbDist
from nltk.probability import entropy as entropy_of
from nltk.tokenize import RegexpTokenizer
from nltk.util import ngrams

from factdrift.core.columns import Row
from factdrift.evaluation.plan import Asked
from factdrift.evaluation.questions.prompts import filled, shots_before, turn_of
from factdrift.evaluation.session import SHOWN, Session
from factdrift.evaluation.ways.asked import judged, verdict
from factdrift.models.alignment import AlignmentError
from factdrift.models.deltas import Changes
from factdrift.models.writing import Generation

SHOT = "{context}\nQuestion: {question}\nAnswer:"
"""What a base model reads behind the solved examples."""


class _Prompt(NamedTuple):
    ids: list[int]
    text: str
    """What is asked, which a model may repeat."""
    lines: bool
    """Whether the end of a line ends the answer: in plain text."""


def ask(session: Session, asked: Sequence[Asked], changes: Changes) -> Iterator[Row]:
    """What is written greedily up to the end of the text, turn or line, with its verdict by rule.

    Long questions have the entropy of a continuation of their cloze that goes on behind every end.
    """
    prompts = [_prompt(session, each) for each in asked]
    endings = [session.ends | (session.line_ends if each.lines else frozenset()) for each in prompts]
    begun = [
        Generation(prompt.ids, session.settings.written_tokens, each.owner, stops)
        for each, prompt, stops in zip(asked, prompts, endings, strict=True)
    ]
    long = _long(session, asked)
    written = session.written([*begun, *long.values()], changes)
    texts = dict(zip(long, written[len(begun) :], strict=True))
    for place, (each, prompt) in enumerate(zip(asked, prompts, strict=True)):
        tokens = written[place]
        if not tokens and len(prompt.ids) >= session.loaded.spec.positions:
            yield judged(each, "written", reason="too_long")
            continue
        output, stop = _read(session, tokens, prompt.lines)
        row = judged(each, "written", output=output, stop=stop, **verdict(each.question, output, prompt.text))
        if place in texts:
            row["entropy"] = fluency(session.text(texts[place]))
        yield row


_WORDS = RegexpTokenizer(r"\w+|[^\w\s]")
"""Words, and punctuation marks one by one."""


def fluency(text: str) -> float:
    """How varied a text is, in bits: 2/3 H2 + 4/3 H3 of its words (wikifactdiff.md section 10)."""
    words = _WORDS.tokenize(text)
    return 2 / 3 * entropy(words, 2) + 4 / 3 * entropy(words, 3)


def entropy(tokens: Sequence[str], n: int) -> float:
    """The entropy of the n-grams of a text in bits; 0 if they are all equal or there are none."""
    bits: float = entropy_of(MLEProbDist(FreqDist(ngrams(tokens, n))))
    return bits + 0.0


def _read(session: Session, tokens: Sequence[int], lines: bool) -> tuple[str, str]:
    """The text up to its end, and what ended it: `end` of the text or turn, `line`, or `length`."""
    ended = bool(tokens) and tokens[-1] in session.ends
    text = session.text(tokens[:-1] if ended else tokens)
    line, broken, _ = text.partition("\n")
    if lines and broken:
        return line, "line"
    return text, "end" if ended else "length"


def _prompt(session: Session, asked: Asked) -> _Prompt:
    """A turn of the chat template, if the tokenizer has one; else the cloze, or examples and the question."""
    question, settings = asked.question, session.settings
    if turn := session.turn(turn_of(question, asked.before.strip(), settings.written_instruction)):
        return _Prompt(turn, question.words, False)
    if settings.written_shots and question.words:
        text = shots_before(question) + filled(SHOT, question, asked.before.strip())
        return _Prompt(list(session.sentence(text).ids), question.words, True)
    text, before = cloze(session, asked)
    return _Prompt(list(session.sentence(text, context=before).ids), text, True)


def cloze(session: Session, asked: Asked) -> tuple[str, str]:
    """The text that the model continues, and what stands before it as it is."""
    question = asked.question
    if question.prompt:
        return question.prompt, asked.before
    return filled(session.settings.answer_prompts_loglik, question, asked.before.strip()), ""


def _long(session: Session, asked: Sequence[Asked]) -> dict[int, Generation]:
    """The continuations whose fluency is measured, by the places of their questions."""
    clozes = {place: cloze(session, each) for place, each in enumerate(asked) if each.question.long}
    longest: dict[str, int] = {}
    for each in asked if clozes else ():
        about = each.question.edit or each.question.id
        longest[about] = max(longest.get(about, 0), _longest(session, each, cloze(session, each)[0]))
    return {
        place: Generation(
            session.sentence(text, context=before).ids,
            max(
                session.room(text),
                longest[asked[place].question.edit or asked[place].question.id] + SHOWN,
            ),
            asked[place].owner,
        )
        for place, (text, before) in clozes.items()
    }


def _longest(session: Session, asked: Asked, text: str) -> int:
    """Number of tokens of the longest object that is asked about; 0 if none can be aligned."""
    lengths = [0]
    for target in asked.question.targets or asked.question.accepted:
        try:
            sentence = session.sentence(text, target)
        except AlignmentError:
            continue
        lengths.append(len(sentence.ids) - sentence.target)
    return max(lengths)
