"""Asks a chat model: requests for all items, and predictions from its answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.requests import build_body
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED
from factdrift.chat.tables import ANSWERS, REQUESTS
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.answer_runs import ordered, run_id
from factdrift.evaluation.answer_schemas import PREDICTIONS
from factdrift.evaluation.ways.prompts import filled, parsed
from factdrift.tempripple.schemas import Row
from factdrift.tempripple.score import CONDITIONS

SHAPING = ("model", "temperature", "answer_tokens", "limit_param", "extra")
"""Settings of the chat model on which its answers depend."""


def write_requests(items: Sequence[Row], prompt: str, chat: Chat, output: Path) -> int:
    """Writes REQUESTS for letters, without and with context; returns their number."""
    rows = []
    for condition in CONDITIONS:
        for item in items:
            said = filled(prompt, item, item["context"] if condition == "with" else "")
            body = build_body(chat, [{"role": "user", "content": said}])
            rows.append({"request": _name(condition, item), "body": body})
    return write_parquet(pa.Table.from_pylist(rows, schema=REQUESTS), output)


def _name(condition: str, item: Row) -> str:
    return f"{condition} {item['item_id']}"


def read_answers(
    items: Sequence[Row], prompt: str, chat: Chat, answers: Path, output: Path
) -> dict[str, Any]:
    """Writes PREDICTIONS from the answers to these requests; returns the description of the run.

    A refusal is an answer without a letter. A request that failed is an item that was not answered. Raises
    InputError if the answers are to other requests.
    """
    asked = {_name(condition, item): (condition, item) for condition in CONDITIONS for item in items}
    found = {row["request"]: row for row in pq.read_table(answers, schema=ANSWERS).to_pylist()}
    if asked.keys() != found.keys():
        raise InputError(f"{answers}: these are no answers to the questions about these items; ask again")
    settings = msgspec.to_builtins(chat)
    described = {key: settings[key] for key in SHAPING} | {"answer_prompts_letter": prompt}
    described["served"] = sorted({row["model"] for row in found.values() if row["model"]})
    name = run_id(described)
    rows = []
    for request, (condition, item) in asked.items():
        answer = found[request]
        row: Row = {"run_id": name, "model": chat.model, "scoring": "letter", "condition": condition}
        row["item_id"] = item["item_id"]
        if answer["status"] == ANSWERED:
            row["output"] = answer["content"] or answer["refusal"] or ""
            row["parsed"] = parsed(row["output"], item["options"])
            row["correct"] = row["parsed"] == item["answer_index"]
        else:
            row["reason"] = "failed"
        rows.append(row)
    write_parquet(ordered(pa.Table.from_pylist(rows, schema=PREDICTIONS)), output)
    return {"run_id": name, **described}
