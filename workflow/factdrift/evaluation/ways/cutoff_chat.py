"""Asks a chat model who holds: letters before the holders of each chain, in two orders."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.requests import build_body
from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERED
from factdrift.chat.tables import ANSWERS, REQUESTS
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.cutoff import ANSWERS as TABLE
from factdrift.words.templates import BLANK

Row = dict[str, Any]

ORDERS = 2
PROMPT = """Complete the sentence with one of the options.
{cloze} {blank}
{options}
Answer with the letter of the option only."""

_LETTER = re.compile(r"(?<![\w&.])([A-Z])(?![\w&'’]| [a-z])")
"""A letter alone; not the first word of a sentence ("I cannot", "A former")."""


def orders(row: Row, seed: int) -> list[list[int]]:
    """Places of the holders in the order of their letters: drawn by seed and chain, then the reverse."""
    places = list(range(len(row["holders"])))
    random.Random(f"{seed}/{row['chain']}/letters").shuffle(places)
    return [places, places[::-1]]


def write_requests(chains: Sequence[Row], chat: Chat, seed: int, output: Path) -> int:
    """Writes REQUESTS, ORDERS a chain; returns their number. See `with_dates` for dates of death."""
    rows = []
    for row in _asked(chains):
        for number, places in enumerate(orders(row, seed)):
            said = PROMPT.format(
                cloze=row["prompts"][0],
                blank=BLANK,
                options="\n".join(
                    f"{letter}. {row['holders'][place]['label']}"
                    for letter, place in zip(ascii_uppercase, places, strict=False)
                ),
            )
            body = build_body(chat, [{"role": "user", "content": said}])
            rows.append({"request": f"{row['chain']} {number}", "body": body})
    return write_parquet(pa.Table.from_pylist(rows, schema=REQUESTS), output)


def _asked(chains: Sequence[Row]) -> list[Row]:
    return [row for row in chains if len(row["holders"]) <= len(ascii_uppercase)]


def read_answers(chains: Sequence[Row], model: str, seed: int, answers: Path) -> list[Row]:
    """Rows of ANSWERS of `ways.cutoff`. An answer that changes with the order of the options is none.

    Raises InputError if the answers are to other requests.
    """
    found = {row["request"]: row for row in pq.read_table(answers, schema=ANSWERS).to_pylist()}
    asked = _asked(chains)
    if found.keys() != {f"{row['chain']} {number}" for row in asked for number in range(ORDERS)}:
        raise InputError(f"{answers}: these are no answers to the questions about these chains; ask again")
    names = (
        "chain",
        "subject",
        "relation",
        "subject_label",
        "relation_label",
        "popularity",
        "died",
        "holders",
    )
    rows = []
    for row in asked:
        chosen, reason = set(), None
        for number, places in enumerate(orders(row, seed)):
            answer = found[f"{row['chain']} {number}"]
            if answer["status"] != ANSWERED:
                reason = "failed"
            chosen.add(_choice(answer["content"] or "", places))
        told: Row = (
            dict.fromkeys(TABLE.names)
            | {"model": model, "way": "letter"}
            | {name: row[name] for name in names}
        )
        if reason or None in chosen:
            rows.append({**told, "reason": reason or "no_letter"})
        elif len(chosen) > 1:
            rows.append({**told, "reason": "order"})
        else:
            rows.append({**told, "choice": chosen.pop()})
    return rows


def _choice(said: str, places: Sequence[int]) -> int | None:
    """The place of the holder whose letter stands alone in an answer; None if there is none of them."""
    found = _LETTER.search(said)
    number = ascii_uppercase.index(found[1]) if found else len(places)
    return places[number] if number < len(places) else None
