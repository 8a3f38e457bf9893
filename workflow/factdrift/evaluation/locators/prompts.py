"""Sentences as tokens, for locating methods: the text ends before the answer, whose tokens are kept apart.

Nothing that runs a model sees the answer's tokens: `ids` ends before them. `answer` serves only to choose the
token whose probability is explained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.models.alignment import AlignmentError, align, find_subject, token_span

SENTENCES = pa.schema(
    [
        *((name, pa.string()) for name in ("sentence", "subtask", "group", "fact", "text")),
        *((name, pa.int32()) for name in ("start", "end")),
        ("answer", pa.string()),
    ]
)
"""One row for each sentence. `text` ends before the answer. `start`, `end`: characters of the subject in the
text; null without one. `answer`: null if the sentence has none (KLoB-u). `group`: sentences with the same
fact in other words have one group. `fact`: the noise of causal tracing depends on it."""


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

    @property
    def noisy(self) -> tuple[int, int]:
        """The tokens that noise corrupts, like `subject`: the subject's, or all without one."""
        return self.subject or (0, len(self.ids))


def read_sentences(path: Path) -> list[dict[str, Any]]:
    """Rows of SENTENCES; raises InputError if the file is missing or is no such table."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift locate sentences`")
    try:
        rows: list[dict[str, Any]] = pq.read_table(path, schema=SENTENCES).to_pylist()
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{path}: no table of sentences to locate: {error}") from None
    return rows


def tokenized(tokenizer: Any, row: Mapping[str, Any], positions: int) -> Sentence:
    """A row of SENTENCES as tokens; `positions`: the longest text of the model.

    Raises AlignmentError with the reason if the sentence cannot be scored (docs/models.md).
    """
    text, answer = row["text"], row["answer"] or ""
    one = align(tokenizer, text, answer)
    ids, span = one.ids[: one.target], None
    if row["start"] is not None:
        whole = f"{text} {answer}" if answer else text
        span = token_span(tokenizer, whole, row["start"], row["end"])
    if not ids:
        raise AlignmentError("text_missing", f"{text!r} has no token")
    if len(ids) > positions:
        raise AlignmentError("too_long", f"{text!r} has {len(ids)} tokens, the model {positions} positions")
    if span is not None and not 0 <= span[0] < span[1] <= len(ids):
        raise AlignmentError("subject_missing", f"no token of {text!r} is the subject's")
    return Sentence(
        row["sentence"], text, ids, span, one.ids[one.target :], row["group"], row["fact"], row["subtask"]
    )


def subject_characters(text: str, subject: str) -> tuple[int, int] | None:
    """The characters of a subject in a text, as `find_subject` finds them; None if it does not occur.

    A subject that begins the text may have a capital there that its label has not.
    """
    first = find_subject(text, subject)
    if first < 0 and subject and text.startswith(subject[0].upper() + subject[1:]):
        first = 0
    return None if first < 0 else (first, first + len(subject))


def grouped(sentences: Sequence[Sentence]) -> list[list[Sentence]]:
    """The wordings of each fact, in the order of their first ones."""
    groups: dict[str, list[Sentence]] = {}
    for one in sentences:
        groups.setdefault(one.group or one.id, []).append(one)
    return list(groups.values())


def cut(sentences: Sequence[Sentence], budget: int) -> list[list[Sentence]]:
    """Batches of whole groups, of similar lengths, with at most `budget` tokens each, padding included.

    The batches depend on the sentences and the budget alone, so that whoever runs them gets the same bytes. A
    group that is larger than the budget is a batch of its own.
    """
    groups = grouped(sorted(sentences, key=lambda one: one.id))
    # Sorted by their longest sentence, so that the last group is the widest of its batch.
    groups.sort(key=lambda group: (max(len(one.ids) for one in group), group[0].id))
    batches: list[list[Sentence]] = []
    for group in groups:
        width = max(len(one.ids) for one in group)
        if batches and width * (len(batches[-1]) + len(group)) <= budget:
            batches[-1] += group
        else:
            batches.append(group)
    return batches
