"""Reads and writes files in the layouts of other projects: JSON lists of records."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.core.progress import tracked
from factdrift.core.tables import check_columns, records, write_parquet
from factdrift.evaluation.layouts import counterfact, easyedit, rippleedits, wikibigedit, zsre
from factdrift.evaluation.layouts.beside import Beside
from factdrift.evaluation.layouts.rows import EMPTY, OURS, SCHEMA, Record, Row

LAYOUTS: dict[str, ModuleType] = {
    "counterfact": counterfact,
    "easyedit": easyedit,
    "rippleedits": rippleedits,
    "wikibigedit": wikibigedit,
    "zsre": zsre,
}
"""Modules with `write(row, number)` and `read(record, number)`, which return None for what is left out."""


NOTHING = Beside()


class Exported(NamedTuple):
    """What an export wrote."""

    kept: int
    left: int
    """Updates that do not fit the layout."""
    lacking: int
    """Updates that lack a field of `needs`."""
    empty: Counter[tuple[str, str]]
    """(field, reason) -> the number of records whose field is empty for it."""


def export(
    dataset: Path, layout: str, output: Path, beside: Beside = NOTHING, needs: Sequence[str] = ()
) -> Exported:
    """Exports a dataset with the columns of wfd_repl, with what the tables `beside` have on its updates.

    Records in which a field of `needs` is empty are left out. Raises InputError if the dataset lacks a
    column, or no record has a field of `needs`.
    """
    check_columns(dataset, SCHEMA.names, "; give a file such as wfd_repl.parquet")
    count = pq.read_metadata(dataset).num_rows
    rows = enumerate(tracked(records(dataset), f"export {layout}", count, "updates"))
    written = [LAYOUTS[layout].write(row | beside.of(row), number) for number, row in rows]
    fit = [record for record in written if record is not None]
    for name in needs:
        if fit and not any(name in record for record in fit):
            raise InputError(f"--need: {name}: no such field; {layout} has {', '.join(fit[0])}")
    kept = [record for record in fit if all(record.get(name) for name in needs)]
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8") as text:
        json.dump(kept, text, ensure_ascii=False, indent=1)
        text.write("\n")
    empty = Counter(pair for record in kept for pair in record[OURS].get(EMPTY, {}).items())
    return Exported(len(kept), count - len(fit), len(fit) - len(kept), empty)


def load(path: Path, layout: str, output: Path) -> tuple[int, int]:
    """Imports a file as a table with the columns of wfd_repl; returns the numbers of records kept and left.

    Raises InputError with file, record and field if the file does not have the layout.
    """
    rows = list(_read(path, layout, LAYOUTS[layout].read))
    found = [[] if row is None else [row] for row in rows]
    if not any(found):
        raise InputError(f"{path}: no record that can be used")
    kept = _write(path, layout, found, SCHEMA, output)
    return kept, len(rows) - kept


def load_probes(path: Path, layout: str, output: Path) -> int:
    """Writes the probes of a file with the columns of ripples.parquet, and TESTED; returns their number.

    Raises InputError as `load` does, and for a layout without such probes.
    """
    read = getattr(LAYOUTS[layout], "probes", None)
    if read is None:
        raise InputError(f"--out-ripples: files in the layout {layout} have no probes of what follows")
    found = list(_read(path, layout, lambda record, number: list(read(record, number))))
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
