"""Asks a chat model: requests for letters and for objects in writing, and its answers to them."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.requests import write_texts
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED
from factdrift.chat.store import ANSWERS as WRITTEN
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED
from factdrift.evaluation.plan import Asked
from factdrift.evaluation.questions.clozes import OWN
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.prompts import filled
from factdrift.evaluation.questions.question import Benchmark, Question, Way
from factdrift.evaluation.tables import ANSWERS, run_id
from factdrift.evaluation.ways.asked import judged, verdict


def asked_of_chat(benchmark: Benchmark) -> Iterator[tuple[str, str, Question, Way]]:
    """(request, state, question, way): for a letter the questions with options, others in writing.

    A chat model gives no likelihoods. Of an update's own clozes, which ask for several objects, each is asked
    once.
    """
    for state in UNEDITED:
        for question in benchmark.questions:
            request = f"{state} {question.id}"
            if "letter" in question.ways:
                yield request, state, question, "letter"
            elif "written" in question.ways or question.role not in OWN:
                accepted = question.accepted or question.targets
                yield request, state, replace(question, accepted=accepted), "written"


def write_requests(benchmark: Benchmark, prompts: Mapping[Way, str], chat: Chat, output: Path) -> int:
    """Writes REQUESTS, without and with the new fact before the questions; returns their number.

    `prompts`: what the model reads, for a letter and to write an object.
    """
    texts = []
    for request, state, question, way in asked_of_chat(benchmark):
        context = question.context.strip() if state == CONTEXT else ""
        texts.append((request, filled(prompts[way], question, context)))
    return write_texts(texts, chat, output)


def read_answers(
    benchmark: Benchmark, prompts: Mapping[Way, str], chat: Chat, answers: Path, output: Path
) -> dict[str, Any]:
    """Writes ANSWERS from the answers to these requests; returns the description of the run.

    A refusal is an answer without a letter, or one that names no object. A request that failed is a question
    that was not answered. Raises InputError if the answers are to other requests.
    """
    asked = list(asked_of_chat(benchmark))
    written = {row["request"]: row for row in pq.read_table(answers, schema=WRITTEN).to_pylist()}
    if {request for request, *_ in asked} != written.keys():
        raise InputError(f"{answers}: these are no answers to the questions about these items; ask again")
    settings = msgspec.to_builtins(chat)
    shaping = ("model", "temperature", "answer_tokens", "limit_param", "extra")
    described = {key: settings[key] for key in shaping}
    described |= {f"answer_prompts_{name}": prompt for name, prompt in prompts.items()}
    described["served"] = sorted({row["model"] for row in written.values() if row["model"]})
    rows: list[Row] = []
    for request, state, question, way in asked:
        answer = written[request]
        found: Row = {"reason": "failed"}
        if answer["status"] == ANSWERED:
            text = answer["content"] or answer["refusal"] or ""
            found = {"output": text}
            if way == "letter":
                found["parsed"] = chosen(text, question.targets)
            else:
                found |= verdict(question, text, question.words or question.prompt)
        named = {"model": chat.model, "method": state, "benchmark": benchmark.name, "edit": question.edit}
        rows.append({**named, **judged(Asked(question), way, **found)})
    write_parquet(pa.Table.from_pylist(rows, schema=ANSWERS), output)
    return {"run_id": run_id(described), **described}
