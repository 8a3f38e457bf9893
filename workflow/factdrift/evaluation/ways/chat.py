"""Asks a chat model: requests for letters and for objects in writing, and its answers to them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.requests import write_texts
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED
from factdrift.chat.store import ANSWERS as REPLIES
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED
from factdrift.evaluation.questions.clozes import OWN
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.prompts import conversation, filled
from factdrift.evaluation.questions.question import Benchmark, Question, Way, record_of
from factdrift.evaluation.tables import ANSWERS, run_id
from factdrift.evaluation.ways.asked import answer_row, verdict


class ChatQuestion(NamedTuple):
    """A question as a chat model is asked it: in a state, for a letter or in writing."""

    request: str
    state: str
    question: Question
    way: Way


def asked_of_chat(benchmark: Benchmark) -> Iterator[ChatQuestion]:
    """For a letter the questions with options, others in writing.

    A chat model gives no likelihoods: what asks for those of options only is left out. Of an update's own
    clozes, which ask for several objects, each is asked once. Where retrievers have found documents, their
    states follow; a request that equals an earlier request costs nothing.
    """
    options = record_of(benchmark.name).options
    documented = [state for question in benchmark.questions for state in question.retrieved]
    for state in dict.fromkeys([*UNEDITED, *documented]):
        for question in benchmark.questions:
            request = f"{state} {question.id}"
            if state not in (*UNEDITED, *question.retrieved):
                continue
            if options and question.unedited and state == CONTEXT:
                continue
            if "letter" in question.ways:
                yield ChatQuestion(request, state, question, "letter")
            elif "written" in question.ways or not (options or question.role in OWN):
                accepted = question.accepted or question.targets
                yield ChatQuestion(request, state, replace(question, accepted=accepted), "written")


def write_requests(benchmark: Benchmark, prompts: Mapping[Way, str], chat: Chat, output: Path) -> int:
    """Writes REQUESTS, with what stands before the questions in each state; returns their number.

    `prompts`: what the model reads, for a letter and to write an object.
    """
    texts = []
    for request, state, question, way in asked_of_chat(benchmark):
        form = question.form if way == "letter" and question.form else prompts[way]
        query = json.dumps({"query": question.words or question.prompt})
        before = question.before(state).strip()
        texts.append((request, conversation(question.turn, before, partial(filled, form, question), query)))
    return write_texts(texts, chat, output)


def read_answers(
    benchmark: Benchmark, prompts: Mapping[Way, str], chat: Chat, answers: Path, output: Path
) -> dict[str, Any]:
    """Writes ANSWERS from the answers to these requests; returns the description of the run.

    A refusal is an answer without a letter, or one that names no object. A request that failed is a question
    that was not answered. Raises InputError if the answers are to other requests.
    """
    asked = list(asked_of_chat(benchmark))
    replies = {row["request"]: row for row in pq.read_table(answers, schema=REPLIES).to_pylist()}
    if {request for request, *_ in asked} != replies.keys():
        raise InputError(f"{answers}: these are no answers to the questions about these items; ask again")
    settings = msgspec.to_builtins(chat)
    shaping = ("model", "temperature", "answer_tokens", "limit_param", "extra")
    described = {key: settings[key] for key in shaping}
    described |= {f"answer_prompts_{name}": prompt for name, prompt in prompts.items()}
    described["served"] = sorted({row["model"] for row in replies.values() if row["model"]})
    rows: list[Row] = []
    for request, state, question, way in asked:
        reply = replies[request]
        answer: Row = {"reason": "failed"}
        if reply["status"] == ANSWERED:
            text = reply["content"] or reply["refusal"] or ""
            answer = {"output": text}
            if way == "letter":
                answer["parsed"] = chosen(text, question.targets)
            else:
                answer |= verdict(question, text, question.asked)
        named = {"model": chat.model, "method": state, "benchmark": benchmark.name, "edit": question.edit}
        rows.append({**named, **answer_row(question, way, **answer)})
    write_parquet(pa.Table.from_pylist(rows, schema=ANSWERS), output)
    return {"run_id": run_id(described), **described}
