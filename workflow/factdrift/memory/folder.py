"""A folder for any system that answers: what it reads in record order, what it is asked, and the key."""

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder
from factdrift.core.paths import CARDS
from factdrift.core.tables import check_columns, records, write_parquet
from factdrift.memory.facts import read_facts

QUESTION = ("id", "question", "asked_on")
"""What a system learns of a question, besides what it has read up to that day."""

KEY = schema_of(
    "id kind question asked_on chain: string, answers stale_answers later_answers: [string]",
    "premise_start: string, right_docs stale_docs: [string]",
)
"""What `memory score` needs: columns of CORPUS_QUESTIONS."""


class Inputs(NamedTuple):
    """CORPUS, CORPUS_QUESTIONS, and timelines with labels."""

    corpus: Path
    questions: Path
    known: Path


def events(inputs: Inputs) -> Iterator[Row]:
    """What became known, in the order of the dumps; of a day what is withdrawn, facts, then documents."""
    rows: list[Row] = []
    for fact in read_facts(inputs.known):
        about = {name: value for name, value in fact.items() if not name.startswith("known_")}
        rows.append({"event": "fact", "known_from": fact["known_from"]} | about)
        if fact["known_until"]:
            rows.append({"event": "withdrawn", "known_from": fact["known_until"]} | about)
    for doc in records(inputs.corpus, ["doc", "subject", "title", "text", "known_from"]):
        rows.append({"event": "document"} | doc)
    order = ("withdrawn", "fact", "document")
    yield from sorted(rows, key=lambda row: (row["known_from"], order.index(row["event"])))


def export(inputs: Inputs, folder: Path) -> dict[str, int]:
    """Writes a new folder; returns file -> lines. Raises InputError if it has files that are not ours."""
    key = pa.Table.from_pylist(list(records(inputs.questions, KEY.names)), KEY)
    with new_folder(folder) as made:
        shutil.copyfile(CARDS / "memory.md", made / "README.md")
        write_parquet(key, made / "key.parquet")
        asked = sorted(key.select(QUESTION).to_pylist(), key=lambda row: (row["asked_on"], row["id"]))
        return {
            "events.jsonl": write_lines(events(inputs), made / "events.jsonl"),
            "questions.jsonl": write_lines(asked, made / "questions.jsonl"),
        }


def write_lines(rows: Iterable[Row], path: Path) -> int:
    """Writes JSON Lines; returns their number."""
    with path.open("w", encoding="utf-8") as file:
        return sum(bool(file.write(json.dumps(row, ensure_ascii=False) + "\n")) for row in rows)


def read_key(folder: Path) -> list[Row]:
    """The questions of a folder with their answers; raises InputError if it is no such folder."""
    path = folder / "key.parquet"
    if not path.is_file():
        raise InputError(f"{folder}: has no key.parquet; name a folder that `factdrift memory export` wrote")
    check_columns(path, KEY.names, "; export the folder again")
    rows: list[Row] = pq.read_table(path, schema=KEY).to_pylist()
    return rows
