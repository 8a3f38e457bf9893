"""Digests of products, so that a change of what is published is seen, whoever made it and why.

`tests/workflow/digests.tsv` has a row a product: the SHA-256 of its bytes, and that of its content, which is
the same for equal rows however they are stored. Bytes are compared only where the version of PyArrow is the
one with which they were made, since each writes its name into its files. Every test with the mark `digests`
compares the products of one build.
"""

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.owned import file_lock

TABLE = Path(__file__).parents[1] / "workflow" / "digests.tsv"
COLUMNS = ("build", "product", "pyarrow", "bytes", "content")
RENEW = ".venv/bin/pytest -m digests --renew-digests"
"""The command that renews all digests; with `-m "digests and not slow"` those without a trained model."""

Check = Callable[..., None]
"""The type of the fixture `digests`: `digests(build, folder, products)`, see `check`."""


class Product(NamedTuple):
    """What is compared of a file.

    `columns`: of a table, only these, since the others depend on the processor. `without`: the keys of a JSON
    file that say when and where it was made.
    """

    path: str
    columns: Sequence[str] = ()
    without: Sequence[str] = ()


def check(build: str, folder: Path, products: Iterable[str | Product], renew: bool) -> None:
    """Asserts that products of a build have the digests of the table; with `renew` writes them there."""
    found = {}
    for each in products:
        product = Product(each) if isinstance(each, str) else each
        found[product.path] = digests(folder, product)
    if renew:
        with file_lock(TABLE.with_suffix(".lock")):
            rows = {key: row for key, row in read().items() if key[0] != build}
            rows |= {(build, name): row for name, row in found.items()}
            write(rows)
        TABLE.with_suffix(".lock").unlink(missing_ok=True)
        return
    known = {name: row for (of, name), row in read().items() if of == build}
    wrong = [
        said for name in {**known, **found} if (said := difference(known.get(name), found.get(name), name))
    ]
    assert not wrong, (
        f"products of the build {build!r} are not what they were: {'; '.join(wrong)}. If they ought to "
        f"change, say why in CHANGELOG.md and renew the digests: {RENEW}"
    )


Row = tuple[str, str, str]
"""The version of PyArrow, the digest of the bytes, that of the content; `-` for what is not compared."""


def difference(known: Row | None, found: Row | None, name: str) -> str:
    """What differs, as text; empty if nothing does."""
    if known is None or found is None:
        return f"{name} is {'new' if known is None else 'no longer looked at'}"
    if known[2] != found[2]:
        return f"{name} has another content"
    same_writer = known[0] == found[0]
    return f"{name} has the same content in other bytes" if same_writer and known[1] != found[1] else ""


def digests(folder: Path, product: Product) -> Row:
    path = folder / product.path
    text = path.read_bytes()
    whole = hashlib.sha256(text).hexdigest()
    if path.suffix == ".parquet":
        table = pq.read_table(path, columns=list(product.columns) or None)
        return pa.__version__, "-" if product.columns else whole, content(table)
    if product.without:
        kept: Mapping[str, Any] = json.loads(text)
        kept = {key: value for key, value in kept.items() if key not in product.without}
        return "-", "-", hashlib.sha256(json.dumps(kept).encode()).hexdigest()
    return "-", "-", whole


def content(table: pa.Table) -> str:
    """A digest of the names and types of the columns, and of all values in their order."""
    found = hashlib.sha256(f"{[(field.name, str(field.type)) for field in table.schema]}".encode())
    for batch in table.to_batches(max_chunksize=1000):
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            found.update(json.dumps(row, default=str, ensure_ascii=False).encode())
    return found.hexdigest()


def read() -> dict[tuple[str, str], Row]:
    """The table: build and product -> its row."""
    if not TABLE.exists():
        return {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
    return {(build, name): (version, whole, inner) for build, name, version, whole, inner in rows}


def write(rows: Mapping[tuple[str, str], Row]) -> None:
    lines = ["\t".join(COLUMNS), *("\t".join((*key, *row)) for key, row in sorted(rows.items()))]
    TABLE.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
