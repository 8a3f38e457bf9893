"""What models answer about who holds, a row a chain: from the answers to the questions of `cutoff`."""

from collections.abc import Container, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.evaluation import tables
from factdrift.evaluation.questions.cutoff import CHAINS, HOLDER, questions_of
from factdrift.evaluation.questions.question import WAYS, Question
from factdrift.evaluation.questions.tenures import names_of
from factdrift.models.alignment import NOT_FINITE
from factdrift.verdict.judge import Case, judged

ANSWERS = schema_of(
    "model way chain subject relation subject_label relation_label: string, popularity: float64",
    "died: int64",
    ("holders", pa.list_(HOLDER)),
    "wordings: [[float64]], scores neutral: [float64], choice calibrated likely: int32",
    "output reason: string",
)
"""One row a chain. Of a likelihood: mean log-probability per token of each holder, by wording (`wordings`),
over the wordings (`scores`), and after the prompts of other subjects (`neutral`). Indices of `holders`:
`choice`, `calibrated` (scores without the neutral ones), `likely` (by the neutral ones). `output`: what was
written. `reason`: why there is no choice, such as `order`, `unnamed`, or of the alignment with tokens."""

_OF_CHAIN = [name for name in CHAINS.names if name in ANSWERS.names]
_NAMED = ("correct", "both")
"""Verdicts on an answer that asserts a holder: alone or first, or beside another one."""


def read_answers(
    path: Path, chains: Sequence[Row], seed: int, only: Container[str] | None = None, state: str = ""
) -> list[list[Row]]:
    """Rows of ANSWERS of a model, in the order of the chains; a list per way in which it was asked.

    `path`: its answers to the questions about the chains, whose letters the seed ordered. `only`: the names
    of the chains that were asked, if not all were. `state`: of several, without neutral prompts;
    answers about other chains are then left out. Raises InputError if they are answers to other questions.
    """
    in_state = pc.field("method") == state if state else None
    replies = pq.read_table(path, schema=tables.ANSWERS, filters=in_state).to_pylist()
    asked = [own for own in questions_of(chains, seed) if only is None or own[0]["chain"] in only]
    if state:
        names = {row["chain"] for row, _ in asked}
        replies = [reply for reply in replies if reply["question"].partition("#")[0] in names]
        asked = [(row, [question for question in of if question.role != "neutral"]) for row, of in asked]
    answers = []
    for way in WAYS:
        own = {reply["question"]: reply for reply in replies if reply["way"] == way}
        questions = [(row, [question for question in of if way in question.ways]) for row, of in asked]
        if own and own.keys() != {question.id for _, of in questions for question in of}:
            raise InputError(f"{path}: these are no answers to the questions about these chains; ask again")
        if own:
            model = replies[0]["model"]
            rows = [_answer(model, way, row, of, own) for row, of in questions]
            answers.append([row for row in rows if way != "written" or row["died"] is None])
    return answers


def _answer(model: str, way: str, row: Row, questions: Sequence[Question], replies: Mapping[str, Row]) -> Row:
    """The row of ANSWERS of a chain, by the replies to its questions in a way."""
    pairs = [(question, replies[question.id]) for question in questions]
    match way:
        case "loglik":
            way, answer = "likelihood", _by_likelihood(pairs)
        case "letter":
            answer = _by_letter(row, pairs)
        case _:
            answer = _in_writing(row, pairs)
    chain = {name: row[name] for name in _OF_CHAIN}
    return {**dict.fromkeys(ANSWERS.names), "model": model, "way": way, **chain, **answer}


Replies = Sequence[tuple[Question, Row]]


def _by_likelihood(replies: Replies) -> Row:
    """Scores of the holders after the wordings in which each of them has one, and after neutral prompts."""
    wordings, neutral = (
        [reply for question, reply in replies if question.role == role] for role in ("wording", "neutral")
    )
    scored = [reply["logprobs"] for reply in wordings if reply["reason"] is None]
    reasons = [reply["reason"] for reply in wordings if reply["reason"] is not None]
    if NOT_FINITE in reasons:
        return {"reason": NOT_FINITE}
    if not scored:
        return {"reason": reasons[0]}
    scores = np.array(scored, np.float64).mean(0)
    answer: Row = {"wordings": scored, "scores": scores.tolist(), "choice": int(scores.argmax())}
    beside = [reply["logprobs"] for reply in neutral if reply["reason"] is None]
    if beside and NOT_FINITE not in [reply["reason"] for reply in neutral]:
        means = np.array(beside, np.float64).mean(0)
        answer |= {"neutral": means.tolist(), "likely": int(means.argmax())}
        answer["calibrated"] = int((scores - means).argmax())
    return answer


def _by_letter(row: Row, replies: Replies) -> Row:
    """The holder whose letter was chosen in both orders; a letter that changes with the order is none."""
    if not replies:
        return {"reason": "too_many"}
    for _, reply in replies:
        if reply["reason"] is not None:
            return {"reason": reply["reason"]}
    labels = [holder["label"] for holder in row["holders"]]
    if any(reply["parsed"] is None for _, reply in replies):
        return {"reason": "no_letter"}
    chosen = {labels.index(question.targets[reply["parsed"]]) for question, reply in replies}
    return {"reason": "order"} if len(chosen) > 1 else {"choice": chosen.pop()}


def _in_writing(row: Row, replies: Replies) -> Row:
    """The first holder that a text asserts, or the reason `unnamed`."""
    if not replies:
        return {}
    ((_, reply),) = replies
    if reply["reason"] is not None:
        return {"reason": reply["reason"]}
    choice = holder_named(row, reply["output"])
    return {"output": reply["output"], "choice": choice, "reason": "unnamed" if choice is None else None}


def wording_of(prompts: Sequence[str], output: str) -> str:
    """The wording of the question that a text repeats; without any the first."""
    return next((prompt for prompt in prompts if prompt in output), prompts[0])


def holder_named(row: Row, output: str) -> int | None:
    """The index of the holder that a text gives as its answer, by the rules of `verdict`; None without any.

    Each holder in turn is the accepted answer, and all others are wrong ones. Of two that are asserted side
    by side it is the one that is named first.
    """
    names = list(map(names_of, row["holders"]))
    first: dict[int, int] = {}
    for index, own in enumerate(names):
        others = tuple(name for other in names if other is not own for name in other)
        judgement = judged(Case(output, own, others=others, question=wording_of(row["prompts"], output)))
        if judgement.verdict in _NAMED:
            first[index] = min(judgement.named.index(name) for name in own if name in judgement.named)
    return min(first, key=lambda index: first[index]) if first else None
