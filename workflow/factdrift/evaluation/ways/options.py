"""The likelihoods of a question's targets, and the letter of the one that a model chooses. Imports torch."""

from collections.abc import Iterator, Sequence
from functools import partial

from factdrift.core.columns import Row
from factdrift.evaluation.plan import PlannedQuestion
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.prompts import filled
from factdrift.evaluation.session import Session
from factdrift.evaluation.ways.asked import answer_row, likelihood_row
from factdrift.evaluation.ways.written import cloze
from factdrift.models.alignment import AlignmentError, Sentence
from factdrift.models.deltas import Changes
from factdrift.models.options import score_options
from factdrift.models.scoring import score
from factdrift.models.writing import Generation


def likelihoods(session: Session, asked: Sequence[PlannedQuestion], changes: Changes) -> Iterator[Row]:
    """Log-probabilities of all targets after the prompt; of alternatives the likeliest one is the answer.

    Of equally likely ones it is the first. A question is not asked if one of its targets cannot be aligned,
    or does not fit into the model.
    """
    sentences: list[Sentence] = []
    owners: list[int] = []
    reasons: dict[int, str] = {}
    for index, planned in enumerate(asked):
        prompt, before = cloze(session, planned)
        try:
            aligned = [session.sentence(prompt, target, before) for target in planned.question.targets]
        except AlignmentError as error:
            reasons[index] = error.reason
            continue
        if max(len(sentence.ids) for sentence in aligned) > session.loaded.spec.positions:
            reasons[index] = "too_long"
            continue
        sentences += aligned
        owners += [planned.owner] * len(aligned)
    exact: Sequence[bool | None] = [None] * len(sentences)
    if changes or any(planned.question.exact for planned in asked):
        scores = score(session.loaded, sentences, changes, owners, session.budget)
        means, exact = scores.logprob, scores.exact.tolist()
    else:
        means = score_options(session.loaded, sentences, session.budget)
    tokens = [len(sentence.ids) - sentence.target for sentence in sentences]
    rows = zip(means.tolist(), tokens, exact, strict=True)
    for index, planned in enumerate(asked):
        question = planned.question
        if index in reasons:
            yield answer_row(question, "loglik", reason=reasons[index])
            continue
        logprobs, counts, completed = zip(*(next(rows) for _ in question.targets), strict=True)
        hits = None if None in completed else completed
        yield likelihood_row(question, logprobs, counts, hits, session.settings.answer_normalise)


def letters(session: Session, asked: Sequence[PlannedQuestion], changes: Changes) -> Iterator[Row]:
    """What the model writes greedily after the prompt, and the option whose letter it chooses."""
    tokens = session.settings.answer_tokens
    begun: dict[int, Generation] = {}
    for index, planned in enumerate(asked):
        question, before = planned.question, planned.before.strip()
        prompt = partial(filled, question.form or session.settings.answer_prompts_letter, question)
        ids = session.turn(question, before, prompt) or session.sentence(prompt(before)).ids
        if len(ids) + tokens <= session.loaded.spec.positions:
            begun[index] = Generation(ids, tokens, planned.owner, session.ends)
    written = dict(zip(begun, session.written(list(begun.values()), changes), strict=True))
    for index, planned in enumerate(asked):
        if index in written:
            output = session.text(written[index])
            parsed = chosen(output, planned.question.targets)
            yield answer_row(planned.question, "letter", output=output, parsed=parsed)
        else:
            yield answer_row(planned.question, "letter", reason="too_long")
