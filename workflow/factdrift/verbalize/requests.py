"""Writes the request to the chat model for each sampled triple."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.requests import REQUESTS, build_body
from factdrift.chat.settings import Form
from factdrift.core.tables import write_parquet
from factdrift.verbalize.language import Texts, read_language
from factdrift.wikidata.text import printable

ANSWER = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": {"type": "string"}}},
    "required": ["sentences"],
    "additionalProperties": False,
}
"""The JSON schema of an answer, limited to what all servers support; the prompt says how many sentences."""

_SLOT = re.compile(r"\{(\w+)\}")


def write_requests(sample: Path, prompts: Path, chat: Form, output: Path, sentences: int = 10) -> int:
    """Writes REQUESTS for `sentences` sentences, one a triple in the sample's order; returns their number."""
    rows = []
    for row in pq.read_table(sample).to_pylist():
        asked = messages(row, read_language(prompts, row["language"]).texts, sentences, chat.structured)
        rows.append({"request": row["request"], "body": build_body(chat, asked, ANSWER, "sentences")})
    return write_parquet(pa.Table.from_pylist(rows, schema=REQUESTS), output)


def messages(row: Mapping[str, Any], texts: Texts, sentences: int, structured: str) -> list[dict[str, str]]:
    """The system message with the task, and the user message with the triple and what its names mean."""
    number = {"sentences": str(sentences)}
    names = {part: row[f"{part}_label"] for part in ("subject", "relation", "object")}
    lines = [_filled(texts.fact, names)]
    lines += [
        _filled(
            texts.meaning, {"name": names[part], "description": _quotable(row[f"{part}_description"], texts)}
        )
        for part in names
        if row[f"{part}_description"]
    ]
    if row["example_subject"] is not None:
        example = {"subject": row["example_subject"], "object": row["example_object"]}
        lines.append(_filled(texts.example, {**names, **example}))
    lines.append(_filled(texts.reminder, names))
    form = texts.as_lines if structured == "none" else texts.as_json
    return [
        {"role": "system", "content": _filled(texts.task + form, number).strip()},
        {"role": "user", "content": "".join(lines).strip()},
    ]


def _quotable(description: str, texts: Texts) -> str:
    """A description to be put in quotation marks: one line, no double quotes, limited in length.

    Anybody can write a description in Wikidata, so it must not look like part of the prompt.
    """
    text = " ".join(printable(description).replace('"', "'").split())
    longest = texts.longest_description
    return text if len(text) <= longest else f"{text[:longest].rstrip()}…"


def _filled(text: str, slots: Mapping[str, str]) -> str:
    """The text with its slots filled; names may contain anything, even what looks like a slot."""

    def value(slot: re.Match[str]) -> str:
        return " ".join(printable(slots[slot[1]]).split()) if slot[1] in slots else slot[0]

    return _SLOT.sub(value, text)
