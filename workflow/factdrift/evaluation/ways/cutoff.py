"""Asks a loaded model who holds: log-likelihoods of the holders, or what it writes. Imports torch."""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from factdrift.core.columns import Row
from factdrift.evaluation.plan import Asked
from factdrift.evaluation.questions.cutoff import with_dates
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.session import Session
from factdrift.evaluation.ways import written as writing
from factdrift.evaluation.ways.cutoff_rows import about, written
from factdrift.models.alignment import NOT_FINITE, AlignmentError, Sentence, align
from factdrift.models.loaded import Loaded
from factdrift.models.options import score_options
from factdrift.models.scoring import BUDGET

NEUTRAL = 8
"""Other subjects of the relation, after whose prompts a holder is scored for the calibration."""
Pair = tuple[str, str]


def others_of(chains: Sequence[Row], seed: int) -> dict[str, list[str]]:
    """Chain -> NEUTRAL prompts of other subjects of its relation, fewer where there are not as many.

    The subjects are drawn once a relation, so that most prompts are the same for all of its chains. Their
    wordings take turns. A row about a date of death, which has no calibrated reading, has none.
    """
    prompts: dict[str, dict[str, Sequence[str]]] = defaultdict(dict)
    for row in chains:
        if row["died"] is None:
            prompts[row["relation"]][row["chain"]] = row["prompts"]
    found: dict[str, list[str]] = {row["chain"]: [] for row in chains}
    for relation, own in prompts.items():
        drawn = random.Random(f"{seed}/{relation}").sample(sorted(own), min(NEUTRAL + 1, len(own)))
        said = {chain: own[chain][place % len(own[chain])] for place, chain in enumerate(drawn)}
        for chain in own:
            found[chain] = [said[other] for other in drawn if other != chain][:NEUTRAL]
    return found


def ask(loaded: Loaded, chains: Sequence[Row], seed: int, budget: int = BUDGET) -> list[Row]:
    """Rows of ANSWERS, in the order of the chains; see `with_dates` for those about dates of death."""
    rows = with_dates(chains, seed)
    others = others_of(rows, seed)
    pairs = {
        (prompt, holder["label"])
        for row in rows
        for prompt in (*row["prompts"], *others[row["chain"]])
        for holder in row["holders"]
    }
    known, reasons = _scores(loaded, sorted(pairs), budget)
    return [_answer(loaded.name, row, others[row["chain"]], known, reasons) for row in rows]


def ask_in_writing(session: Session, chains: Sequence[Row]) -> list[Row]:
    """Rows of ANSWERS in the order of the chains, by their first wording; dates of death are not asked.

    The model continues the sentence, or answers a turn.
    """
    asked = [row for row in chains if row["died"] is None]
    questions = [Asked(Question(row["chain"], prompt=row["prompts"][0])) for row in asked]
    model = session.loaded.name
    return [
        {**about(row, model, "written"), "reason": said["reason"]}
        if said.get("reason")
        else written(row, model, said["output"])
        for row, said in zip(asked, writing.ask(session, questions, {}), strict=True)
    ]


def _scores(
    loaded: Loaded, pairs: Sequence[Pair], budget: int
) -> tuple[Mapping[Pair, float], Mapping[Pair, str]]:
    """The score of each pair of prompt and name, or the reason why it has none."""
    sentences: list[Sentence] = []
    scored: list[Pair] = []
    reasons: dict[Pair, str] = {}
    for pair in pairs:
        try:
            sentence = align(loaded.tokenizer, *pair)
        except AlignmentError as error:
            reasons[pair] = error.reason
            continue
        if len(sentence.ids) > loaded.spec.positions:
            reasons[pair] = "too_long"
        else:
            sentences.append(sentence)
            scored.append(pair)
    found = score_options(loaded, sentences, budget).tolist() if sentences else []
    return dict(zip(scored, found, strict=True)), reasons


def _answer(
    model: str,
    row: Row,
    others: Sequence[str],
    known: Mapping[Pair, float],
    reasons: Mapping[Pair, str],
) -> Row:
    labels = [holder["label"] for holder in row["holders"]]

    def table(said: Sequence[str]) -> NDArray[np.float64]:
        """[wordings, holders] of the wordings in which every holder has a score."""
        whole = [prompt for prompt in said if all((prompt, label) in known for label in labels)]
        values = [[known[prompt, label] for label in labels] for prompt in whole]
        return np.array(values, np.float64).reshape(-1, len(labels))

    base = about(row, model, "likelihood")
    own, neutral = table(row["prompts"]), table(others)
    if not len(own):
        why = (reasons.get((prompt, label)) for prompt in row["prompts"] for label in labels)
        return {**base, "reason": next(filter(None, why))}
    if not np.isfinite(own).all():
        return {**base, "reason": NOT_FINITE}
    scores = own.mean(0)
    found: Row = {
        **base,
        "wordings": own.tolist(),
        "scores": scores.tolist(),
        "choice": int(scores.argmax()),
    }
    if len(neutral) and np.isfinite(neutral).all():
        means = neutral.mean(0)
        found |= {
            "neutral": means.tolist(),
            "likely": int(means.argmax()),
            "calibrated": int((scores - means).argmax()),
        }
    return found
