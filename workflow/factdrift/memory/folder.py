"""A folder for any system that answers: what it reads in record order, what it is asked, and the key."""

import calendar
import itertools
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder
from factdrift.core.tables import check_columns, database, fetched, records, sql, write_parquet
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.time import unpack

QUESTION = ("id", "question", "asked_on")
"""What a system learns of a question, besides what it has read up to that day."""

KEY = schema_of(
    "id kind question asked_on chain: string, answers stale_answers later_answers: [string]",
    "premise_start: string, right_docs stale_docs: [string]",
)
"""What `memory score` needs: columns of CORPUS_QUESTIONS."""

README = """\
# A memory that is told what changes

`events.jsonl`: what your system reads, a JSON object a line, in the order in which it became known.
An `event` is a `document` (`doc`, `subject`, `title`, `text`), which replaces the document of its
`subject` before it; a `fact` (labels and ids, `valid_from`, `valid_to`: when it held;
`stale_after_1y`: the share of such facts that hold for less than a year), or a `withdrawn` fact,
which is no longer known in this form. `known_from` is the day on which your system learns of it. Use
documents, facts, or both.

`questions.jsonl`: what it is asked, a line a question: `id`, `question`, `asked_on`. When it answers,
it may use the events with `known_from` up to `asked_on` alone.

Write `answers.jsonl`, a line a question, in any words:

    {"id": "01a659560c845ef4", "text": "Stephen Harper."}

and have it judged, without any model:

    factdrift memory score FOLDER answers.jsonl

`key.parquet` is for that command alone: it has the answers.
"""


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
        (made / "README.md").write_text(README, encoding="utf-8")
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


# --- facts with both axes: when they were true, and in which dumps Wikidata states them -------------------

FACTS = schema_of(
    "subject subject_label relation relation_label object object_label: string",
    "valid_from valid_to known_from known_until statement: string, stale_after_1y: double",
)
"""A row is a fact as some dumps had it (docs/memory.md)."""


def date_between(first: int | None, last: int | None) -> str | None:
    """The date that covers the packed days from first to last: a year, a month, or else the first day.

    None without a first day.
    """
    if first is None:
        return None
    year, month, day = unpack(first)
    until = unpack(last) if last is not None else (year, month, day)
    if day == 1 and until[0] == year > 0 and until[2] == calendar.monthrange(*until[:2])[1]:
        if (month, until[1]) == (1, 12):
            return f"{year:04}"
        if month == until[1]:
            return f"{year:04}-{month:02}"
    return f"{year:04}-{month:02}-{day:02}"


def read_facts(known: Path) -> Iterator[Row]:
    """FACTS of a table of timelines with labels, in its order; of items with names only.

    A fact that goes on is a single row, although its certain days become more with every dump.
    """
    columns = (
        "subject, subject_label, property, relation_label, value, value_label, statement, possible_first, "
        "start_last, certain_last, possible_last, known_from, known_until, "
        "stale_after_1y"
    )
    key = "subject, property, value, statement, possible_first, start_last, known_from"
    with database() as db:
        db.execute(
            f"SELECT {columns} FROM read_parquet({sql(known)}) WHERE value_label IS NOT NULL "
            f"AND subject_label IS NOT NULL AND NOT doubted ORDER BY {key}"
        )
        names = columns.split(", ")
        rows = (_fact(dict(zip(names, row, strict=True))) for row in fetched(db))
        for _, group in itertools.groupby(rows, key=_stable):
            merged: list[Row] = []
            for row in group:
                if merged and merged[-1]["known_until"] == row["known_from"]:
                    merged[-1]["known_until"] = row["known_until"]
                else:
                    merged.append(row)
            yield from merged


def _stable(row: Row) -> tuple[Any, ...]:
    """All of a fact but when it was known."""
    return tuple(value for name, value in row.items() if not name.startswith("known_"))


def _fact(row: Row) -> Row:
    open_end = row["possible_last"] is None
    fact = row | {
        "subject": entity_id(row["subject"]),
        "relation": property_id(row["property"]),
        "object": entity_id(row["value"]),
        "object_label": row["value_label"],
        "valid_from": date_between(row["possible_first"], row["start_last"]),
        "valid_to": None if open_end else date_between(row["certain_last"], row["possible_last"]),
    }
    return {name: fact[name] for name in FACTS.names}
