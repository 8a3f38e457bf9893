"""The tables that the loop writes: answers, edits and states of one model that was told one thing.

Finished batches of a job are kept on disk, so that a killed job continues and repeats less than one batch.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import schema_of
from factdrift.core.files import write_json
from factdrift.core.owned import remove_folder
from factdrift.core.tables import parquet_writer

META = schema_of(
    "model revision model_digest method hyper moments prefixes editor regime: string, group: int32",
    "template dtype torch transformers factdrift: string",
)
"""Provenance columns; digests of files that a method does not use are null."""

ANSWERS = schema_of(
    "model method benchmark question edit way: string, state interval: int32, kind role: string",
    "logprobs: [float64], tokens: [int32], exact: [bool], output stop verdict: string, named: [string]",
    "rule: string, entropy: float64, parsed: int8, correct: bool, reason: string",
)
"""One row for each question, state in which it is asked, and way (docs/tables/evaluation_answers.md)."""

EDITS = schema_of(
    *META, "source edit failed excluded: string, steps: int32, loss: float64, state: int32, trained: bool"
)
"""One row for each edit, in their order (docs/tables/evaluation_edits.md)."""

STATES = schema_of(
    "model method: string, state interval: int32, old_date new_date: string",
    "edits failed so_far entries: int32, state_bytes: int64, perplexity: float64, tasks: string",
)
"""One row for each edited model (docs/tables/evaluation_states.md)."""

OWN = ("[0-9][0-9][0-9][0-9][0-9][0-9].*",)
"""Names of a batch's files, which begin with its number."""

TABLES = {"answers": ANSWERS, "edits": EDITS, "states": STATES}


def run_id(described: Mapping[str, Any]) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of what the rows of a run depend on."""
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()[:16]


class Checkpoints:
    """The finished batches of one job, in a folder that the job removes at its end.

    A batch consists of named tables and of costs. Batches of other settings, models, inputs or code are
    removed, and nothing else that may be in the folder.
    """

    def __init__(self, folder: Path, depends: Mapping[str, Any]):
        """`depends`: all that the tables depend on, with the fingerprint of the code under `code`."""
        text = json.dumps(depends, sort_keys=True, default=str)
        self._folder = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        for other in _versions(folder):
            if other != self._folder:
                remove_folder(other, OWN)
        self._root = folder

    def has(self, number: int) -> bool:
        return self._costs(number).is_file()

    def write(self, number: int, tables: Mapping[str, pa.Table], costs: Mapping[str, float]) -> None:
        """Writes a batch; its costs are written last, so their file shows that the batch is complete."""
        for name, table in tables.items():
            with parquet_writer(self._table(number, name), table.schema) as writer:
                writer.write_table(table)
        write_json(costs, self._costs(number), indent=None)

    def table(self, name: str, schema: pa.Schema, numbers: Sequence[int]) -> pa.Table:
        """The rows of one table over the given batches, in their order."""
        tables = [pq.read_table(self._table(number, name), schema=schema) for number in numbers]
        return pa.concat_tables([schema.empty_table(), *tables]).combine_chunks()

    def costs(self, numbers: Sequence[int]) -> list[dict[str, float]]:
        return [json.loads(self._costs(number).read_text(encoding="utf-8")) for number in numbers]

    def folder(self, name: str) -> Path:
        """A folder for what batches write besides tables; it is not made here."""
        return self._folder / name

    def remove(self) -> None:
        """Removes the batches, and the folder in which they are unless it has other files."""
        for version in _versions(self._root):
            remove_folder(version, OWN)
        if self._root.is_dir() and not any(self._root.iterdir()):
            self._root.rmdir()

    def _table(self, number: int, name: str) -> Path:
        return self._folder / f"{number:06d}.{name}.parquet"

    def _costs(self, number: int) -> Path:
        return self._folder / f"{number:06d}.json"


def _versions(folder: Path) -> list[Path]:
    """The folders of batches in a folder: one for each state of all that they depend on."""
    return [path for path in folder.glob("*") if re.fullmatch("[0-9a-f]{16}", path.name) and path.is_dir()]
