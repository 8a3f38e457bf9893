"""The sentences of one subtask, with the number of each one's example, fact, relation and subject."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.core.errors import InputError


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


def read_examples(path: Path, subtask: str) -> Examples:
    """Reads the table of a subtask (SUBTASK); InputError if it is missing or is that of another subtask."""
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
    # Labels are numbered from 0 in the order of their first occurrence.
    facts: dict[Any, int] = {}
    relations: dict[str, int] = {}
    subjects: dict[str, int] = {}
    per_sentence: list[tuple[int, bool, int, int, int]] = []
    sentences: list[str] = []
    texts: list[str] = []
    sources: list[str | None] = []
    names_of_relations = []
    for example, row in enumerate(rows):
        # Published files hold names only.
        subject, first, middle = (row[key] or row[name] for key, name in _NAMED)
        second = row["p2"] or row["p2_name"]
        names_of_relations.append(f"{first}>{second}" if second else first or "")
        labels = (
            facts.setdefault((subject, first, middle), len(facts)),
            relations.setdefault(names_of_relations[-1], len(relations)),
            subjects.setdefault(subject, len(subjects)),
        )
        for sentence in row["sentences"]:
            per_sentence.append((example, sentence["role"] == "chain", *labels))
            sentences.append(sentence["sentence_id"])
            texts.append(sentence["text"])
            sources.append(sentence["source_sentence_id"])
    columns = np.array(per_sentence, np.int64).reshape(-1, 5).T
    return Examples(
        subtask,
        [row["example_id"] for row in rows],
        names_of_relations,
        sentences,
        texts,
        sources,
        columns[0],
        columns[1].astype(bool),
        *columns[2:],
    )


_NAMED = (("s", "s_label"), ("p1", "p1_name"), ("o1", "o1_label"))
