"""Reads and writes files in the layouts of other projects: JSON lists of records."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.core.progress import tracked
from factdrift.core.tables import check_columns, records, write_parquet
from factdrift.evaluation.layouts import rippleedits, rows
from factdrift.evaluation.layouts.record import LAYOUTS, function
from factdrift.evaluation.layouts.rows import SCHEMA, Record

Tables = Mapping[str, Mapping[tuple[str, str], Any]]
"""What belongs to the updates, of the tables that there are: `shared`, `ripples`, by (subject, relation)."""


def read_beside(shared: Path | None, ripples: Path | None) -> Tables:
    """Reads `shared_objects.parquet` and `ripples.parquet`; raises InputError if a table lacks a column."""
    tables: dict[str, dict[tuple[str, str], Any]] = {}
    if shared is not None:
        tables["shared"] = {
            (row["subject"]["id"], row["relation"]["id"]): row
            for row in _rows(shared, "subject", "relation", "neighborhood", "random_neighborhood")
        }
    if ripples is not None:
        tables["ripples"] = {}
        asked = ("asked_subject", "asked_relation", "path", "prompt", "answers", "conditions")
        for row in _rows(ripples, "subject", "relation", "criterion", *asked):
            tables["ripples"].setdefault((row["subject"], row["relation"]), []).append(row)
    return tables


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
    write, needs = function(LAYOUTS[layout].write), LAYOUTS[layout].needs
    for number, row in enumerate(tracked(records(dataset), f"export {layout}", count, "updates")):
        key = row["subject"]["id"], row["relation"]["id"]
        fields = rows.fields_of(row)
        for name, table in tables.items():
            row[name] = table.get(key, [])
        fits = all(getattr(fields, name) for name in needs)
        record = write(fields, row | {"number": number}) if fits else None
        if record is not None:
            kept.append(record)
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8") as text:
        json.dump(kept, text, ensure_ascii=False, indent=1)
        text.write("\n")
    reasons = (record.get("factdrift", {}).get("empty", {}) for record in kept)
    empty = Counter(pair for of_record in reasons for pair in of_record.items())
    return len(kept), count - len(kept), empty


def load(path: Path, layout: str, output: Path) -> tuple[int, int]:
    """Imports a file as a table with the columns of wfd_repl; returns the numbers of records kept and left.

    Raises InputError with file, record and field if the file does not have the layout.
    """

    read = function(LAYOUTS[layout].read)

    def row_of(record: Record, number: int) -> Iterator[Row]:
        fields = read(record, number)
        if fields is not None and fields.subject and fields.new:
            yield rows.row_of(fields)

    per_record = _read(path, layout, row_of, SCHEMA)
    kept = sum(map(len, per_record))
    if not kept:
        raise InputError(f"{path}: no record that can be used")
    write_parquet(pa.concat_tables(per_record).combine_chunks(), output)
    return kept, len(per_record) - kept


def load_probes(path: Path, layout: str, output: Path) -> int:
    """Writes the probes of a file with the columns of ripples.parquet, and TESTED; returns their number.

    Raises InputError as `load` does, and for a layout without such probes.
    """
    if layout != "rippleedits":
        raise InputError(f"--out-ripples: files in the layout {layout} have no probes of what follows")
    per_record = _read(path, layout, rippleedits.probes, rippleedits.TESTED)
    return write_parquet(pa.concat_tables(per_record).combine_chunks(), output)


def _read(
    path: Path, layout: str, read: Callable[[Record, int], Iterator[Row]], schema: pa.Schema
) -> list[pa.Table]:
    """The rows that `read` makes of each record of a file; raises InputError with the record's number."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{path}: not JSON ({error})") from None
    if not isinstance(given, list):
        raise InputError(f"{path}: not a JSON list of records, which files in the layout {layout} are")
    tables = []
    for number, record in enumerate(given):
        named = f"{path}, record {number}"
        try:
            tables.append(pa.Table.from_pylist(list(read(record, number)), schema))
        except InputError as error:
            raise InputError(f"{named}: {error}") from None
        except KeyError as error:
            field = error.args[0]
            raise InputError(f"{named}: no field {field!r}; it does not have the layout {layout}") from None
        except (TypeError, AttributeError, IndexError, pa.ArrowInvalid) as error:
            raise InputError(f"{named}: does not have the layout {layout} ({error})") from None
    return tables
