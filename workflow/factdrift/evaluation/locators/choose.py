"""Chooses the sentences that locators are run on: examples of KLoB, or the updates that are edited."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.evaluation.locators.prompts import SENTENCES, subject_characters
from factdrift.klob.schemas import SUBTASK, SUBTASKS


def write_examples(examples: Path, limit: int, seed: int, folder: Path, output: Path) -> dict[str, int]:
    """Writes `limit` examples of each subtask (0: all), as tables of KLoB, and SENTENCES of all of them.

    Examples are drawn by a hash of seed and example. Of KLoB-u those are drawn whose length was copied from a
    sentence of the drawn facts and chains, if the table says so. Returns the number of sentences of each
    subtask.
    """
    chosen: dict[str, list[dict[str, Any]]] = {}
    schemas: dict[str, pa.Schema] = {}
    for name in SUBTASKS:
        path = examples / f"klob_{name}.parquet"
        if not path.is_file():
            raise InputError(f"{path} is missing; build it (snakemake klob) or import it")
        table = pq.read_table(path)
        if lacking := set(SUBTASK.names) - set(table.column_names):
            raise InputError(f"{path}: no table of KLoB examples; it lacks {', '.join(sorted(lacking))}")
        rows, schemas[name] = table.to_pylist(), table.schema
        if name == "u":
            known = {
                one["sentence_id"] for part in chosen.values() for row in part for one in row["sentences"]
            }
            sources = {one["source_sentence_id"] for row in rows for one in row["sentences"]}
            if sources - {None}:
                rows = [row for row in rows if row["sentences"][0]["source_sentence_id"] in known]
        chosen[name] = drawn(rows, "example_id", limit, seed)
        write_parquet(pa.Table.from_pylist(chosen[name], schema=schemas[name]), folder / path.name)
    found = {name: list(_sentences(rows, name)) for name, rows in chosen.items()}
    texts = {row["sentence"]: row for name in ("c", "r") for row in found[name]}
    for row, example in zip(found["u"], chosen["u"], strict=True):
        row |= _same_words(row["text"], texts.get(example["sentences"][0]["source_sentence_id"]))
    rows = [row for name in SUBTASKS for row in found[name]]
    write_parquet(pa.Table.from_pylist(rows, schema=SENTENCES), output)
    return {name: len(part) for name, part in found.items()}


def drawn(rows: Sequence[dict[str, Any]], key: str, limit: int, seed: int) -> list[dict[str, Any]]:
    """The rows drawn by a hash of seed and key, in their order; all of them if `limit` is 0."""
    if not limit or len(rows) <= limit:
        return list(rows)
    order = sorted(rows, key=lambda row: hashlib.sha256(f"{seed}|{row[key]}".encode()).digest())
    names = {row[key] for row in order[:limit]}
    return [row for row in rows if row[key] in names]


def _sentences(rows: Sequence[Mapping[str, Any]], subtask: str) -> Iterator[dict[str, Any]]:
    for example in rows:
        # Published files hold names only.
        fact = "|".join(
            str(example[key] or example[name])
            for key, name in (("s", "s_label"), ("p1", "p1_name"), ("o1", "o1_label"))
        )
        for one in example["sentences"]:
            span = subject_characters(one["text"], example["s_label"] or "") or (None, None)
            yield {
                "sentence": one["sentence_id"],
                "subtask": subtask,
                # A chain says something else than its single sentences.
                "group": f"{example['example_id']}|{one['role']}",
                "fact": one["sentence_id"] if subtask == "u" else fact,
                "text": one["text"],
                "start": span[0],
                "end": span[1],
                "answer": one["target_label"],
            }


def _same_words(text: str, source: Mapping[str, Any] | None) -> dict[str, Any]:
    """The characters of the words that are in the places of the source's subject; nulls without one."""
    if source is None or source["start"] is None:
        return {"start": None, "end": None}
    words, own = _words(source["text"]), _words(text)
    inside = [
        place
        for place, (first, behind) in enumerate(words)
        if first < source["end"] and behind > source["start"] and place < len(own)
    ]
    return {"start": own[inside[0]][0], "end": own[inside[-1]][1]} if inside else {"start": None, "end": None}


def _words(text: str) -> list[tuple[int, int]]:
    found, place = [], 0
    for word in text.split():
        first = text.index(word, place)
        place = first + len(word)
        found.append((first, place))
    return found


def write_edit_facts(edits: Path, limit: int, seed: int, out_edits: Path, output: Path) -> int:
    """Writes `limit` edits (0: all) and, as SENTENCES, their prompts with the objects to be replaced.

    Edits without an obsolete object are left out: the model cannot be asked for what it is to forget. Returns
    the number of edits.
    """
    if not edits.is_file():
        raise InputError(f"{edits}: no such file; make it with `factdrift edit dataset`")
    table = pq.read_table(edits)
    rows = drawn([row for row in table.to_pylist() if row["obsolete"]], "edit", limit, seed)
    # No long continuations: they cost most, and nothing here is about fluency.
    rows = [row | {"fluency": False} for row in rows]
    write_parquet(pa.Table.from_pylist(rows, schema=table.schema), out_edits)
    sentences = []
    for row in rows:
        span = subject_characters(row["prompt"], row["subject_label"]) or (None, None)
        sentences.append(
            {
                "sentence": row["edit"],
                "subtask": "edits",
                "group": row["edit"],
                "fact": row["edit"],
                "text": row["prompt"],
                "start": span[0],
                "end": span[1],
                "answer": row["obsolete"],
            }
        )
    write_parquet(pa.Table.from_pylist(sentences, schema=SENTENCES), output)
    return len(rows)
