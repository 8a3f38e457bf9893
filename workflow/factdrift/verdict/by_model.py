"""Verdicts of a chat model: what it is asked about an answer, and the one word that it says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pyarrow.parquet as pq

from factdrift.chat.requests import write_texts
from factdrift.chat.settings import Form
from factdrift.chat.store import ANSWERED, ANSWERS
from factdrift.core.paths import JUDGE
from factdrift.verdict.judge import VERDICTS, Case
from factdrift.verdict.text import MOST
from factdrift.words.reasoning import answer_of

WORDS = tuple(verdict for verdict in VERDICTS if verdict != "unclear")
"""What a judge may say."""

_SEVERAL = (
    "Several answers hold at a time: any accepted one is enough, and other ones beside it do no harm.\n"
)


def is_asked(verdict: str | None, which: str) -> bool:
    """Whether an answer with this verdict by rule is judged by a model, too."""
    return verdict is not None and (which == "all" or verdict == "unclear")


def prompt_of(case: Case) -> str:
    """What the judge reads: question, accepted and stale answers, and the text."""
    return JUDGE.read_text("utf-8").format(
        question=case.question or "not given",
        accepted="; ".join(case.accepted),
        stale="; ".join(case.stale) or "none",
        several=_SEVERAL if case.several else "",
        text=answer_of(case.text)[:MOST].strip(),
    )


def write_requests(cases: Mapping[str, Case], chat: Form, output: Path) -> int:
    """Writes REQUESTS about the cases, by their names; returns their number."""
    return write_texts(((name, prompt_of(case)) for name, case in cases.items()), chat, output)


def read_words(answers: Path) -> dict[str, str | None]:
    """Name of a request -> what the judge said, of WORDS; None if it failed or said anything else."""
    return {
        row["request"]: word_of(row["content"] or "") if row["status"] == ANSWERED else None
        for row in pq.read_table(answers, schema=ANSWERS).to_pylist()
    }


def word_of(text: str) -> str | None:
    """The verdict that an answer of the judge is; None if it is not one word, or none of WORDS."""
    match = re.fullmatch(r"\W*([a-z]+)\W*", answer_of(text).casefold())
    return match[1] if match and match[1] in WORDS else None
