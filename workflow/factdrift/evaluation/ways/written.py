"""What a model writes, until it stops by itself. Imports torch."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from nltk.probability import FreqDist, MLEProbDist
from nltk.probability import entropy as entropy_of
from nltk.tokenize import RegexpTokenizer
from nltk.util import ngrams

from factdrift.core.columns import Row
from factdrift.evaluation.plan import PlannedQuestion
from factdrift.evaluation.questions.prompts import continued, turn_of
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.session import SHOWN, Session
from factdrift.evaluation.ways.asked import answer_row, verdict
from factdrift.models.alignment import AlignmentError
from factdrift.models.deltas import Changes
from factdrift.models.writing import Generation


class _Prompt(NamedTuple):
    ids: list[int]
    text: str
    """What is asked, which a model may repeat."""
    lines: bool
    """Whether the end of a line ends the answer: in plain text."""


def ask(session: Session, asked: Sequence[PlannedQuestion], changes: Changes) -> Iterator[Row]:
    """What is written greedily up to the end of the text, turn or line, with its verdict by rule.

    Long questions have the entropy of a continuation of their cloze that goes on behind every end.
    """
    prompts = [_prompt(session, planned) for planned in asked]
    begun = []
    for planned, prompt in zip(asked, prompts, strict=True):
        ends = session.ends | session.line_ends if prompt.lines else session.ends
        begun.append(Generation(prompt.ids, session.settings.written_tokens, planned.owner, ends))
    long = _long(session, asked)
    written = session.written([*begun, *long.values()], changes)
    texts = dict(zip(long, written[len(begun) :], strict=True))
    for index, (planned, prompt) in enumerate(zip(asked, prompts, strict=True)):
        question, tokens = planned.question, written[index]
        if not tokens and len(prompt.ids) >= session.loaded.spec.positions:
            yield answer_row(question, "written", reason="too_long")
            continue
        output, stop = _read(session, tokens, prompt.lines)
        judgement = verdict(question, output, prompt.text)
        row = answer_row(question, "written", output=output, stop=stop, **judgement)
        if index in texts:
            row["entropy"] = fluency(session.text(texts[index]))
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


def _prompt(session: Session, planned: PlannedQuestion) -> _Prompt:
    """A turn of the chat template, if the tokenizer has one; else the cloze, or examples and the question."""
    question, settings, before = planned.question, session.settings, planned.before.strip()
    content = partial(turn_of, question, instruction=settings.written_instruction)
    if turn := session.turn(question, before, content):
        return _Prompt(turn, question.asked, False)
    form, shots = settings.answer_prompts_loglik, settings.written_shots
    text, context = continued(question, planned.before, form, shots)
    asked = question.words if shots and question.words else text
    return _Prompt(list(session.sentence(text, context=context).ids), asked, True)


def cloze(session: Session, planned: PlannedQuestion) -> tuple[str, str]:
    """The text that the model continues, and what stands before it as it is."""
    return continued(planned.question, planned.before, session.settings.answer_prompts_loglik)


def _long(session: Session, asked: Sequence[PlannedQuestion]) -> dict[int, Generation]:
    """The continuations whose fluency is measured, by the indices of their questions.

    Each is as long as that of the longest object about the same edit needs, in tokens.
    """
    long = {index: planned for index, planned in enumerate(asked) if planned.question.long}
    longest: dict[str, int] = {}
    for planned in asked if long else ():
        length = _longest(session, planned.question, cloze(session, planned)[0])
        about = planned.question.edit or planned.question.id
        longest[about] = max(longest.get(about, 0), length)
    continuations = {}
    for index, planned in long.items():
        text, before = cloze(session, planned)
        tokens = longest[planned.question.edit or planned.question.id] + SHOWN
        ids = session.sentence(text, context=before).ids
        continuations[index] = Generation(ids, max(session.room(text), tokens), planned.owner)
    return continuations


def _longest(session: Session, question: Question, text: str) -> int:
    """Number of tokens of the longest object that is asked about; 0 if none can be aligned."""
    lengths = [0]
    for target in question.targets or question.accepted:
        try:
            sentence = session.sentence(text, target)
        except AlignmentError:
            continue
        lengths.append(len(sentence.ids) - sentence.target)
    return max(lengths)
