"""Asks a chat model: requests for questions with options, and answers from what it has written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.requests import build_body
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED
from factdrift.chat.tables import ANSWERS as WRITTEN
from factdrift.chat.tables import REQUESTS
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.methods.record import CONTEXT, UNEDITED
from factdrift.evaluation.questions.question import Benchmark
from factdrift.evaluation.tables import ANSWERS, run_id
from factdrift.evaluation.ways.asked import Asked, Row, judged
from factdrift.evaluation.ways.prompts import filled, parsed

SHAPING = ("model", "temperature", "answer_tokens", "limit_param", "extra")
"""Settings of the chat model on which its answers depend."""


def write_requests(benchmark: Benchmark, prompt: str, chat: Chat, output: Path) -> int:
    """Writes REQUESTS for letters, without and with the new fact before them; returns their number."""
    rows = []
    for state in UNEDITED:
        for question in benchmark.questions:
            text = filled(prompt, question, question.context if state == CONTEXT else "")
            body = build_body(chat, [{"role": "user", "content": text}])
            rows.append({"request": f"{state} {question.id}", "body": body})
    return write_parquet(pa.Table.from_pylist(rows, schema=REQUESTS), output)


def read_answers(
    benchmark: Benchmark, prompt: str, chat: Chat, answers: Path, output: Path
) -> dict[str, Any]:
    """Writes ANSWERS from the answers to these requests; returns the description of the run.

    A refusal is an answer without a letter. A request that failed is a question that was not answered. Raises
    InputError if the answers are to other requests.
    """
    asked = {f"{state} {each.id}": (state, each) for state in UNEDITED for each in benchmark.questions}
    written = {row["request"]: row for row in pq.read_table(answers, schema=WRITTEN).to_pylist()}
    if asked.keys() != written.keys():
        raise InputError(f"{answers}: these are no answers to the questions about these items; ask again")
    settings = msgspec.to_builtins(chat)
    described = {key: settings[key] for key in SHAPING} | {"answer_prompts_letter": prompt}
    described["served"] = sorted({row["model"] for row in written.values() if row["model"]})
    rows: list[Row] = []
    for request, (state, question) in asked.items():
        answer = written[request]
        found: Row = {"reason": "failed"}
        if answer["status"] == ANSWERED:
            text = answer["content"] or answer["refusal"] or ""
            found = {"output": text, "parsed": parsed(text, question.targets)}
        named = {"model": chat.model, "method": state, "benchmark": benchmark.name, "edit": question.edit}
        rows.append(named | judged(Asked(question), "letter", **found))
    write_parquet(pa.Table.from_pylist(rows, schema=ANSWERS), output)
    return {"run_id": run_id(described), **described}
