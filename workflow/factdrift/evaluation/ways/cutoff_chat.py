"""Asks a chat model who holds: letters before the holders of each chain, in two orders, or in writing."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from factdrift.chat.requests import write_texts
from factdrift.chat.settings import Form
from factdrift.chat.store import ANSWERED, ANSWERS
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.evaluation.questions.cutoff import with_dates
from factdrift.evaluation.questions.letters import LETTERS, chosen, listed, orders
from factdrift.evaluation.questions.prompts import filled
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.ways.cutoff_rows import about, written
from factdrift.words.templates import BLANK

PROMPT = """Complete the sentence with one of the options.
{cloze} {blank}
{options}
Answer with the letter of the option only."""


class Put(NamedTuple):
    """How chains are put to a chat model: `letter` or `written`, with the prompt of the latter."""

    way: str
    prompt: str
    seed: int

    def rows(self, chains: Sequence[Row]) -> list[Row]:
        """The chains, by letter with dates of death to choose from, in writing without these."""
        if self.way == "letter":
            return with_dates(chains, self.seed)
        return [row for row in chains if row["died"] is None]

    def texts(self, row: Row) -> Iterator[tuple[str, str]]:
        """The name and the text of each request about a chain; none if it has more holders than letters."""
        if self.way == "written":
            yield row["chain"], filled(self.prompt, Question(row["chain"], prompt=row["prompts"][0]))
        elif len(row["holders"]) <= len(LETTERS):
            for number, places in enumerate(self.orders(row)):
                options = listed([row["holders"][place]["label"] for place in places])
                text = PROMPT.format(cloze=row["prompts"][0], blank=BLANK, options=options)
                yield f"{row['chain']} {number}", text

    def orders(self, row: Row) -> list[list[int]]:
        """Places of the holders of a chain in each order of their letters."""
        return orders(len(row["holders"]), f"{self.seed}/{row['chain']}/letters")


def write_requests(chains: Sequence[Row], put: Put, chat: Form, output: Path) -> int:
    """Writes REQUESTS, two a chain by letter, one in writing; returns their number."""
    return write_texts((each for row in put.rows(chains) for each in put.texts(row)), chat, output)


def read_answers(chains: Sequence[Row], put: Put, model: str, answers: Path) -> list[Row]:
    """Rows of ANSWERS of `questions.cutoff`. A letter that changes with the order of the options is none.

    Raises InputError if the answers are to other requests.
    """
    found = {row["request"]: row for row in pq.read_table(answers, schema=ANSWERS).to_pylist()}
    rows = put.rows(chains)
    asked = [[name for name, _ in put.texts(row)] for row in rows]
    if found.keys() != {name for names in asked for name in names}:
        raise InputError(f"{answers}: these are no answers to the questions about these chains; ask again")
    return [
        _read(row, put, model, [found[name] for name in names])
        for row, names in zip(rows, asked, strict=True)
    ]


def _read(row: Row, put: Put, model: str, answers: Sequence[Row]) -> Row:
    base = about(row, model, put.way)
    if not answers:
        return {**base, "reason": "too_many"}
    if any(answer["status"] != ANSWERED for answer in answers):
        return {**base, "reason": "failed"}
    said: list[str] = [answer["content"] or answer["refusal"] or "" for answer in answers]
    if put.way == "written":
        return written(row, model, said[0])
    choices: set[int | None] = set()
    for text, places in zip(said, put.orders(row), strict=True):
        letter = chosen(text, [row["holders"][place]["label"] for place in places])
        choices.add(None if letter is None else places[letter])
    if None in choices:
        return {**base, "reason": "no_letter"}
    return {**base, "reason": "order"} if len(choices) > 1 else {**base, "choice": choices.pop()}
