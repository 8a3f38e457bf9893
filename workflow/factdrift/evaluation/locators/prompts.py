"""Sentences as tokens, for locating methods: the text ends before the answer, whose tokens are kept apart.

Nothing that runs a model sees the answer's tokens: `ids` ends before them. `answer` serves only to choose the
token whose probability is explained.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.models.alignment import AlignmentError, align, find_subject, token_span

SENTENCES = pa.schema(
    [
        ("sentence", pa.string()),
        ("subtask", pa.string()),
        ("group", pa.string()),
        ("fact", pa.string()),
        ("text", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("answer", pa.string()),
    ]
)
"""One row for each sentence. `text` ends before the answer. `start`, `end`: characters of the subject in the
text; null without one. `answer`: null if the sentence has none (KLoB-u). `group`: sentences with the same
fact in other words have one group. `fact`: the noise of causal tracing depends on it."""

MISSING = "subject_missing"


@dataclass(frozen=True)
class Sentence:
    """A sentence that a locating method explains."""

    id: str
    text: str
    """Ends before the answer."""
    ids: tuple[int, ...]
    """The text's tokens, with the beginning-of-text token if the tokenizer adds one."""
    subject: tuple[int, int] | None
    """Indices in `ids` of the subject's first token and of the token behind it; None without subject."""
    answer: tuple[int, ...]
    """The tokens of the answer, which would follow `ids`; empty without an answer."""
    group: str = ""
    """The same for all wordings of a fact."""
    fact: str = ""
    subtask: str = ""

    @property
    def last(self) -> int:
        """The index of the last token, which predicts the answer's first one."""
        return len(self.ids) - 1


@dataclass(frozen=True)
class Unaligned:
    """A sentence that is not scored, with the reason (docs/models.md)."""

    id: str
    reason: str


def read_sentences(path: Path) -> list[dict[str, Any]]:
    """Rows of SENTENCES; raises InputError if the file is missing or is no such table."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift locate sentences`")
    try:
        rows: list[dict[str, Any]] = pq.read_table(path, schema=SENTENCES).to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: no table of sentences to locate: {error}") from None
    return rows


def tokenized(tokenizer: Any, row: dict[str, Any], positions: int) -> Sentence | Unaligned:
    """A row of SENTENCES as tokens; `positions`: the longest text of the model."""
    try:
        one = align(tokenizer, row["text"], row["answer"] or "")
        span = None
        if row["start"] is not None:
            whole = f"{row['text']} {row['answer']}" if row["answer"] else row["text"]
            span = token_span(tokenizer, whole, row["start"], row["end"])
    except AlignmentError as error:
        return Unaligned(row["sentence"], error.reason)
    ids, answer = one.ids[: one.target], one.ids[one.target :]
    if not ids:
        return Unaligned(row["sentence"], "text_missing")
    if len(ids) > positions:
        return Unaligned(row["sentence"], "too_long")
    if span is not None and not 0 <= span[0] < span[1] <= len(ids):
        return Unaligned(row["sentence"], MISSING)
    return Sentence(
        row["sentence"], row["text"], ids, span, answer, row["group"], row["fact"], row["subtask"]
    )


def subject_characters(text: str, subject: str) -> tuple[int, int] | None:
    """The characters of a subject in a text, as `find_subject` finds them; None if it does not occur.

    A subject that begins the text may have a capital there that its label has not.
    """
    first = find_subject(text, subject)
    if first < 0 and subject and text.startswith(subject[0].upper() + subject[1:]):
        first = 0
    return None if first < 0 else (first, first + len(subject))


def cut(sentences: Sequence[Sentence], budget: int) -> list[list[Sentence]]:
    """Batches of whole groups, of similar lengths, with at most `budget` tokens each, padding included.

    The batches depend on the sentences and the budget alone, so that whoever runs them gets the same bytes. A
    group that is larger than the budget is a batch of its own.
    """
    groups: dict[str, list[Sentence]] = {}
    for one in sentences:
        groups.setdefault(one.group or one.id, []).append(one)
    ordered = sorted(
        groups.values(), key=lambda group: (max(len(one.ids) for one in group), min(one.id for one in group))
    )
    batches: list[list[Sentence]] = []
    width = 0
    for group in ordered:
        group = sorted(group, key=lambda one: one.id)
        width = max(width, *(len(one.ids) for one in group))
        if batches and width * (len(batches[-1]) + len(group)) <= budget:
            batches[-1] += group
        else:
            batches.append(list(group))
            width = max(len(one.ids) for one in group)
    return batches
