"""Reads and writes files in the layouts of other projects: JSON lists of records."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.core.progress import tracked
from factdrift.core.tables import check_columns, records, write_parquet
from factdrift.evaluation.layouts import published, rippleedits
from factdrift.evaluation.layouts.rows import EMPTY, OURS, SCHEMA, Record, Row

LAYOUTS: dict[str, tuple[Callable[[Row, int], Record | None], Callable[[Record, int], Row | None]]] = {
    "counterfact": (published.write_counterfact, published.read_counterfact),
    "easyedit": (published.write_easyedit, published.read_easyedit),
    "rippleedits": (rippleedits.write, rippleedits.read),
    "wikibigedit": (published.write_wikibigedit, published.read_wikibigedit),
    "zsre": (published.write_zsre, published.read_zsre),
}
"""Functions from a row and its number to a record, and back; None for what is left out."""

SHARED = {"obsolete": "neighborhood", "new": "random_neighborhood"}
"""Object of an update -> the column of `shared_objects.parquet` with the facts that share it."""

Tables = Mapping[str, Mapping[tuple[str | None, ...], Any]]
"""What belongs to the updates, of the tables that are given: `shared`, `ripples` by (subject, relation),
`related` by (subject, relation, new object)."""


def read_beside(
    shared: Path | None, facts: Path | None, related: Path | None, ripples: Path | None
) -> Tables:
    """Reads `shared_objects.parquet`, TempRIPPLE's tr_facts and tr_related, and `ripples.parquet`.

    Of the related facts those of one hop are read whose answer shows that the new fact was used. Raises
    InputError if a table lacks a column, or one of TempRIPPLE's two is missing.
    """
    found: dict[str, dict[tuple[str | None, ...], Any]] = {}
    if shared is not None:
        found["shared"] = {
            (row["subject"]["id"], row["relation"]["id"]): {role: row[each] for role, each in SHARED.items()}
            for row in _rows(shared, "subject", "relation", *SHARED.values())
        }
    if facts is not None and related is not None:
        rows = _rows(facts, "fact_id", "s", "p", "o", "role")
        new = {row["fact_id"]: (row["s"], row["p"], row["o"]) for row in rows if row["role"] == "new"}
        found["related"] = {}
        columns = ("fact_id", "hop", "question", "answer_label", "answer_aliases", "discriminates")
        for row in _rows(related, *columns):
            if row["fact_id"] in new and row["hop"] == 1 and row["discriminates"]:
                found["related"].setdefault(new[row["fact_id"]], []).append(row)
    elif facts is not related:
        raise InputError("--facts and --related: give both tables of TempRIPPLE, tr_facts and tr_related")
    if ripples is not None:
        found["ripples"] = {}
        asked = ("asked_subject", "asked_relation", "path", "prompt", "answers", "conditions")
        for row in _rows(ripples, "subject", "relation", "criterion", *asked):
            found["ripples"].setdefault((row["subject"], row["relation"]), []).append(row)
    return found


def _rows(path: Path, *columns: str) -> Iterator[Row]:
    check_columns(path, columns, "; name the table that the option asks for")
    return records(path, list(columns))


def export(
    dataset: Path, layout: str, output: Path, tables: Tables
) -> tuple[int, int, Counter[tuple[str, str]]]:
    """Exports a dataset with the columns of wfd_repl, with what the tables of `read_beside` have.

    Returns how many updates were written and how many do not fit the layout, and (field, reason) -> the
    number of records whose field is empty for it. Raises InputError if the dataset lacks a column.
    """
    check_columns(dataset, SCHEMA.names, "; give a file such as wfd_repl.parquet")
    count = pq.read_metadata(dataset).num_rows
    kept = []
    for number, row in enumerate(tracked(records(dataset), f"export {layout}", count, "updates")):
        key = row["subject"]["id"], row["relation"]["id"]
        new = next((value["id"] for value in row["objects"] if value["decision"] == "new"), None)
        for name, table in tables.items():
            row[name] = table.get((*key, new) if name == "related" else key, [])
        if (record := LAYOUTS[layout][0](row, number)) is not None:
            kept.append(record)
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8") as text:
        json.dump(kept, text, ensure_ascii=False, indent=1)
        text.write("\n")
    empty = Counter(pair for record in kept for pair in record[OURS].get(EMPTY, {}).items())
    return len(kept), count - len(kept), empty


def load(path: Path, layout: str, output: Path) -> tuple[int, int]:
    """Imports a file as a table with the columns of wfd_repl; returns the numbers of records kept and left.

    Raises InputError with file, record and field if the file does not have the layout.
    """
    rows = list(_read(path, layout, LAYOUTS[layout][1]))
    found = [[] if row is None else [row] for row in rows]
    if not any(found):
        raise InputError(f"{path}: no record that can be used")
    kept = _write(path, layout, found, SCHEMA, output)
    return kept, len(rows) - kept


def load_probes(path: Path, layout: str, output: Path) -> int:
    """Writes the probes of a file with the columns of ripples.parquet, and TESTED; returns their number.

    Raises InputError as `load` does, and for a layout without such probes.
    """
    if layout != "rippleedits":
        raise InputError(f"--out-ripples: files in the layout {layout} have no probes of what follows")
    found = list(_read(path, layout, lambda record, number: list(rippleedits.probes(record, number))))
    return _write(path, layout, found, rippleedits.TESTED, output)


def _read(path: Path, layout: str, read: Callable[[Record, int], Any]) -> Iterator[Any]:
    """What `read` returns for each record of a file; raises InputError with the record's number."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    if not isinstance(records, list):
        raise InputError(f"{path}: not a JSON list of records, which files in the layout {layout} are")
    for number, record in enumerate(records):
        with _naming(path, layout, number):
            row = read(record, number)
        yield row


def _write(path: Path, layout: str, found: Sequence[list[Row]], schema: pa.Schema, output: Path) -> int:
    """Writes the rows of each record; raises InputError with the record whose values have other types."""
    try:
        table = pa.Table.from_pylist([row for rows in found for row in rows], schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        for number, rows in enumerate(found):
            with _naming(path, layout, number):
                pa.Table.from_pylist(rows, schema)
        raise
    return write_parquet(table, output)


@contextmanager
def _naming(path: Path, layout: str, number: int) -> Iterator[None]:
    """Raises InputError with file and record if the record does not have the layout."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}, record {number}: {error}") from None
    except KeyError as error:
        raise InputError(
            f"{path}, record {number}: no field {error.args[0]!r}; it does not have the layout {layout}"
        ) from None
    except (TypeError, AttributeError, IndexError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}, record {number}: does not have the layout {layout} ({error})") from None
