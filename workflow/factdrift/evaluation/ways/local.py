"""Asks a loaded model: log-likelihoods of the options, and letters that it writes. Imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from factdrift.evaluation.answer_settings import Scoring, Settings
from factdrift.evaluation.methods.interface import Edited
from factdrift.evaluation.session import Job
from factdrift.evaluation.ways.prompts import filled, parsed
from factdrift.models.alignment import NOT_FINITE, AlignmentError, Sentence, align
from factdrift.models.scoring import score
from factdrift.tempripple.schemas import Row


class Asked(NamedTuple):
    """An item as one model is asked it."""

    item: Row
    condition: str
    context: str = ""
    owner: int = -1
    """Index of the edit in whose presence the item is asked; -1 for none."""


def answers(job: Job, settings: Settings, asked: Sequence[Asked], made: Edited | None = None) -> list[Row]:
    """Rows of PREDICTIONS without `run_id` and `model`, by way of scoring, in the order of `asked`."""
    ways = {"letter": _letters, "loglik": _likelihoods}
    return [row for way in settings.answer_scoring for row in ways[way](job, settings, asked, made)]


def _row(one: Asked, scoring: Scoring, **found: Any) -> Row:
    """A row with `correct` by `parsed`, unless there is a reason why the item was not answered.

    A model whose output is not finite was asked and gave no answer, which is wrong.
    """
    row: Row = {"scoring": scoring, "condition": one.condition, "item_id": one.item["item_id"], **found}
    if "reason" not in found:
        row["correct"] = found["parsed"] == one.item["answer_index"]
    elif found["reason"] == NOT_FINITE:
        row["correct"] = False
    return row


def _likelihoods(job: Job, settings: Settings, asked: Sequence[Asked], made: Edited | None) -> Iterator[Row]:
    """The option of the greatest log-likelihood after the prompt is the answer; of equal ones the first."""
    sentences: list[Sentence] = []
    owners: list[int] = []
    reasons: dict[int, str] = {}
    for place, one in enumerate(asked):
        prompt = filled(settings.answer_prompts_loglik, one.item, one.context)
        try:
            found = [align(job.loaded.tokenizer, prompt, option) for option in one.item["options"]]
        except AlignmentError as error:
            reasons[place] = error.reason
            continue
        if max(len(sentence.ids) for sentence in found) > job.loaded.spec.positions:
            reasons[place] = "too_long"
            continue
        sentences += found
        owners += [one.owner] * len(found)
    scores = score(job.loaded, sentences, made.changes if made else None, owners, job.budget)
    whole = scores.logprob if settings.answer_normalise == "mean" else scores.logprob * scores.tokens
    rows = iter(whole.reshape(-1, 4).tolist())
    for place, one in enumerate(asked):
        if place in reasons:
            yield _row(one, "loglik", reason=reasons[place])
            continue
        logprobs = next(rows)
        if np.isfinite(logprobs).all():
            yield _row(one, "loglik", parsed=int(np.argmax(logprobs)), logprobs=logprobs)
        else:
            yield _row(one, "loglik", reason=NOT_FINITE)


def _letters(job: Job, settings: Settings, asked: Sequence[Asked], made: Edited | None) -> Iterator[Row]:
    """What the model writes greedily after the prompt; the first stand-alone letter is the answer."""
    prompts: list[list[int]] = []
    owners: list[int] = []
    reasons: dict[int, str] = {}
    for place, one in enumerate(asked):
        ids = _encoded(job, settings, filled(settings.answer_prompts_letter, one.item, one.context))
        if len(ids) + settings.answer_tokens > job.loaded.spec.positions:
            reasons[place] = "too_long"
        else:
            prompts.append(ids)
            owners.append(one.owner)
    written = iter(job.continued(prompts, [settings.answer_tokens] * len(prompts), made, owners))
    for place, one in enumerate(asked):
        if place in reasons:
            yield _row(one, "letter", reason=reasons[place])
        else:
            output = job.opening(next(written), settings.answer_tokens)
            yield _row(one, "letter", output=output, parsed=parsed(output, one.item["options"]))


def _encoded(job: Job, settings: Settings, prompt: str) -> list[int]:
    """The tokens of a prompt, as the turn of a user if the tokenizer has a chat template (`auto`)."""
    tokenizer = job.loaded.tokenizer
    if settings.answer_chat_template == "auto" and tokenizer.chat_template is not None:
        turn = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        # The template has the tokens that begin a text.
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    return list(align(tokenizer, prompt).ids)
