"""The sentences of one subtask, with the number of each one's example, fact, relation and subject."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.core.errors import InputError
from factdrift.klob.schemas import SUBTASKS


class Examples(NamedTuple):
    """The examples of a subtask with their sentences.

    `names` (example ids) and `relations` (as text, in r the pair) have an entry an example, the other fields
    an entry a sentence. `example`: the example's place in `names`. `fact`, `relation`, `subject`: numbers,
    equal for sentences with the same first fact (s, p1, o1), relation (in r pair) or subject. `chain`: it is
    a chain's own sentence. `sources`: in u the id of the sentence whose length was copied.
    """

    subtask: str
    names: list[str]
    relations: list[str]
    sentences: list[str]
    texts: list[str]
    sources: list[str | None]
    example: NDArray[np.int64]
    chain: NDArray[np.bool_]
    fact: NDArray[np.int64]
    relation: NDArray[np.int64]
    subject: NDArray[np.int64]


def read_examples(folder: Path) -> dict[str, Examples]:
    """The examples of each subtask; InputError if a table (SUBTASK) is missing or of another subtask."""
    return {subtask: _read(folder / f"klob_{subtask}.parquet", subtask) for subtask in SUBTASKS}


def _read(path: Path, subtask: str) -> Examples:
    if not path.is_file():
        raise InputError(
            f"{path} is missing; build it (snakemake results/klob_{subtask}.parquet) or import it"
        )
    columns = ["example_id", "subtask", "s", "p1", "o1", "p2", "s_label", "p1_name", "o1_label", "p2_name"]
    try:
        rows = pq.read_table(path, columns=[*columns, "sentences"]).to_pylist()
    except (KeyError, OSError, ValueError) as error:
        raise InputError(f"{path}: no table of KLoB examples: {error}") from None
    if any(row["subtask"] != subtask for row in rows):
        raise InputError(
            f"{path}: not all examples are of KLoB-{subtask}; give the folder that a build wrote"
        )
    return of_rows(rows, subtask)


def of_rows(rows: Sequence[Mapping[str, Any]], subtask: str) -> Examples:
    """The examples of a subtask from rows of SUBTASK."""
    # Published files hold names only.
    facts = [tuple(row[key] or row[name] for key, name in _NAMED) for row in rows]
    seconds = [row["p2"] or row["p2_name"] for row in rows]
    relations = [
        f"{first}>{second}" if second else first or ""
        for (_, first, _), second in zip(facts, seconds, strict=True)
    ]
    sentences = [(place, each) for place, row in enumerate(rows) for each in row["sentences"]]
    example = np.array([place for place, _ in sentences], np.int64)
    return Examples(
        subtask,
        [row["example_id"] for row in rows],
        relations,
        [sentence["sentence_id"] for _, sentence in sentences],
        [sentence["text"] for _, sentence in sentences],
        [sentence["source_sentence_id"] for _, sentence in sentences],
        example,
        np.array([sentence["role"] == "chain" for _, sentence in sentences], bool),
        *(_numbers(labels)[example] for labels in (facts, relations, [fact[0] for fact in facts])),
    )


def _numbers(labels: Sequence[Hashable]) -> NDArray[np.int64]:
    """The number of each label, from 0 in the order of their first occurrence."""
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(label, len(known)) for label in labels], np.int64)


_NAMED = (("s", "s_label"), ("p1", "p1_name"), ("o1", "o1_label"))
