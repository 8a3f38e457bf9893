"""Asks a model behind a server: requests for letters, objects in writing and likelihoods, and its answers.

A chat model gives no likelihoods; of a base model (`chat.api: completions`) they are those of its own tokens.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow.parquet as pq

from factdrift.chat.replies import Likelihoods, likelihoods_of
from factdrift.chat.requests import build_body, likelihood_body, text_body, write_bodies
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED
from factdrift.chat.store import ANSWERS as REPLIES
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.tables import write_rows
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED
from factdrift.evaluation.questions.clozes import OWN
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.prompts import continued, conversation, filled
from factdrift.evaluation.questions.question import Benchmark, Question, Way, record_of, ways_of
from factdrift.evaluation.tables import ANSWERS, run_id
from factdrift.evaluation.ways.asked import answer_row, likelihood_row, verdict


class Form(NamedTuple):
    """How questions are asked."""

    prompts: Mapping[Way, str]
    """What the model reads, by way."""
    scoring: Sequence[Way] = ()
    """The ways of asking a base model."""
    shots: bool = False
    """Whether a base model reads solved examples before it writes."""
    normalise: str = "mean"


class ChatQuestion(NamedTuple):
    """A question as a model is asked it: in a state and a way."""

    request: str
    state: str
    question: Question
    way: Way


def asked_of_chat(benchmark: Benchmark, scoring: Sequence[Way] | None = None) -> Iterator[ChatQuestion]:
    """Of a chat model, for a letter the questions with options, others in writing.

    What asks for likelihoods of options only is left out there. Of an update's own clozes, which ask for
    several objects, each is asked once. `scoring`: the ways in which a base model is asked. Where retrievers
    have found documents, their states follow; a request that equals an earlier request costs nothing.
    """
    ways = None if scoring is None else ways_of(benchmark, scoring)
    options = record_of(benchmark.name).options
    documented = [state for question in benchmark.questions for state in question.retrieved]
    for state in dict.fromkeys([*UNEDITED, *documented]):
        for question in benchmark.questions:
            request = f"{state} {question.id}"
            if state not in (*UNEDITED, *question.retrieved):
                continue
            if options and question.unedited and state == CONTEXT:
                continue
            if ways is not None:
                own = [way for way in ways if way in question.ways]
                yield from (ChatQuestion(f"{request} {way}", state, question, way) for way in own)
            elif "letter" in question.ways:
                yield ChatQuestion(request, state, question, "letter")
            elif "written" in question.ways or not (options or question.role in OWN):
                accepted = question.accepted or question.targets
                yield ChatQuestion(request, state, replace(question, accepted=accepted), "written")


def write_requests(benchmark: Benchmark, form: Form, chat: Chat, output: Path) -> int:
    """Writes REQUESTS, with what stands before the questions in each state; returns their number."""
    asked = _asked(benchmark, form, chat)
    bodies = (body for question in asked for body in _bodies(question, form, chat).items())
    return write_bodies(bodies, output)


def _asked(benchmark: Benchmark, form: Form, chat: Chat) -> list[ChatQuestion]:
    return list(asked_of_chat(benchmark, form.scoring if chat.api == "completions" else None))


def _bodies(asked: ChatQuestion, form: Form, chat: Chat) -> dict[str, str]:
    """Names and bodies of the requests about a question.

    For likelihoods there is a request for the text before the targets, which shows where their tokens begin,
    and a request for the text with every target.
    """
    request, state, question, way = asked
    before = question.before(state)
    prompt = question.form if way == "letter" and question.form else form.prompts[way]
    if chat.api == "chat" or way == "letter":
        content = partial(filled, prompt, question)
        if chat.api == "completions":
            return {request: text_body(chat, content(before.strip()))}
        query = json.dumps({"query": question.words or question.prompt})
        return {request: build_body(chat, conversation(question.turn, before.strip(), content, query))}
    shots = form.shots and way == "written"
    text, context = continued(question, before, prompt, shots)
    if way == "written":
        return {request: text_body(chat, context + text, stop="\n")}
    texts = ["", *(f" {target}" for target in question.targets)]
    return {
        f"{request} {number}": likelihood_body(chat, context + text + target)
        for number, target in enumerate(texts)
    }


def read_answers(benchmark: Benchmark, form: Form, chat: Chat, answers: Path, output: Path) -> dict[str, Any]:
    """Writes ANSWERS from the answers to these requests; returns the description of the run.

    A refusal is an answer without a letter, or one that names no object. A request that failed is a question
    that was not answered. Raises InputError if the answers are to other requests.
    """
    asked = [(question, list(_bodies(question, form, chat))) for question in _asked(benchmark, form, chat)]
    replies = {row["request"]: row for row in pq.read_table(answers, schema=REPLIES).to_pylist()}
    if {request for _, requests in asked for request in requests} != replies.keys():
        raise InputError(f"{answers}: these are no answers to the questions about these items; ask again")
    settings = msgspec.to_builtins(chat)
    shaping = ("model", "temperature", "answer_tokens", "limit_param", "extra")
    described = {key: settings[key] for key in shaping}
    described |= {f"answer_prompts_{name}": prompt for name, prompt in form.prompts.items()}
    if chat.api == "completions":
        described |= {"api": chat.api, "answer_normalise": form.normalise, "written_shots": form.shots}
    described["served"] = sorted({row["model"] for row in replies.values() if row["model"]})
    rows: list[Row] = []
    for (_, state, question, way), requests in asked:
        own = [replies[request] for request in requests]
        text = own[0]["content"] or own[0]["refusal"] or ""
        if any(reply["status"] != ANSWERED for reply in own):
            row = answer_row(question, way, reason="failed")
        elif way == "loglik":
            row = _likelihoods(question, own, answers, form.normalise)
        elif way == "letter":
            row = answer_row(question, way, output=text, parsed=chosen(text, question.targets))
        else:
            row = answer_row(question, way, output=text, **verdict(question, text, question.asked))
        named = {"model": chat.model, "method": state, "benchmark": benchmark.name, "edit": question.edit}
        rows.append({**named, **row})
    write_rows(rows, ANSWERS, output)
    return {"run_id": run_id(described), **described}


def _likelihoods(question: Question, replies: Sequence[Row], answers: Path, normalise: str) -> Row:
    """A row of ANSWERS from the log-probabilities of a text, and of the same text with a target behind it.

    A question is not asked if the tokens of the text change when a target follows it.
    """
    before, *whole = (_read(reply, answers) for reply in replies)
    first = len(before.tokens)
    if any(text.tokens[:first] != before.tokens or len(text.tokens) == first for text in whole):
        return answer_row(question, "loglik", reason="target_merged")
    counts = [len(text.tokens) - first for text in whole]
    totals = [sum(value or 0.0 for value in text.logprobs[first:]) for text in whole]
    means = [total / count for total, count in zip(totals, counts, strict=True)]
    exact = [all(text.exact[first:]) for text in whole if text.exact is not None]
    return likelihood_row(question, means, counts, exact if len(exact) == len(whole) else None, normalise)


def _read(reply: Row, answers: Path) -> Likelihoods:
    likelihoods = likelihoods_of(reply["content"], reply["prompt_tokens"])
    if likelihoods is None:
        raise InputError(
            f"{answers}: the answer to {reply['request']!r} has no log-probabilities; ask again with a "
            "server that returns those of the prompt (docs/chat.md)"
        )
    return likelihoods
