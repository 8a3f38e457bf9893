"""The likelihoods of a question's targets, and the letter of the one that a model chooses. Imports torch."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from factdrift.core.columns import Row
from factdrift.evaluation.plan import Asked
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.prompts import filled
from factdrift.evaluation.session import Session
from factdrift.evaluation.ways.asked import judged
from factdrift.evaluation.ways.written import cloze
from factdrift.models.alignment import NOT_FINITE, AlignmentError, Sentence
from factdrift.models.deltas import Changes
from factdrift.models.scoring import score
from factdrift.models.writing import Generation


def likelihoods(session: Session, asked: Sequence[Asked], changes: Changes) -> Iterator[Row]:
    """Log-probabilities of all targets after the prompt; of alternatives the likeliest one is the answer.

    Of equally likely ones it is the first. A question is not asked if one of its targets cannot be aligned,
    or does not fit into the model.
    """
    sentences: list[Sentence] = []
    owners: list[int] = []
    reasons: dict[int, str] = {}
    for place, each in enumerate(asked):
        prompt, before = cloze(session, each)
        try:
            aligned = [session.sentence(prompt, target, before) for target in each.question.targets]
        except AlignmentError as error:
            reasons[place] = error.reason
            continue
        if max(len(sentence.ids) for sentence in aligned) > session.loaded.spec.positions:
            reasons[place] = "too_long"
            continue
        sentences += aligned
        owners += [each.owner] * len(aligned)
    scores = score(session.loaded, sentences, changes, owners, session.budget)
    rows = zip(scores.logprob.tolist(), scores.tokens.tolist(), scores.exact.tolist(), strict=True)
    for place, each in enumerate(asked):
        if place in reasons:
            yield judged(each, "loglik", reason=reasons[place])
            continue
        logprobs, tokens, exact = zip(*(next(rows) for _ in each.question.targets), strict=True)
        if not all(map(math.isfinite, logprobs)):
            # Such a model gives the objects no probability, and writes none of them.
            yield judged(each, "loglik", tokens=tokens, exact=[False] * len(tokens), reason=NOT_FINITE)
            continue
        whole = np.array(logprobs)
        if session.settings.answer_normalise == "sum":
            whole = whole * tokens
        likeliest = int(whole.argmax()) if each.question.answer is not None else None
        yield judged(each, "loglik", logprobs=logprobs, tokens=tokens, exact=exact, parsed=likeliest)


def letters(session: Session, asked: Sequence[Asked], changes: Changes) -> Iterator[Row]:
    """What the model writes greedily after the prompt, and the option whose letter it chooses."""
    tokens = session.settings.answer_tokens
    begun: dict[int, Generation] = {}
    for place, each in enumerate(asked):
        prompt = filled(session.settings.answer_prompts_letter, each.question, each.before.strip())
        ids = session.turn(prompt) or session.sentence(prompt).ids
        if len(ids) + tokens <= session.loaded.spec.positions:
            begun[place] = Generation(ids, tokens, each.owner, session.ends)
    written = dict(zip(begun, session.written(list(begun.values()), changes), strict=True))
    for place, each in enumerate(asked):
        if place in written:
            output = session.text(written[place])
            yield judged(each, "letter", output=output, parsed=chosen(output, each.question.targets))
        else:
            yield judged(each, "letter", reason="too_long")
