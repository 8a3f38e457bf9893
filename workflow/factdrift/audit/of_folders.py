"""Checks of published folders: each file is known, with its checksum, its rows and schema, or its source.

What their texts say in numbers is checked by `of_cards`.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.audit import of_cards
from factdrift.audit.of_tables import Fault, until_damage
from factdrift.core.files import sha256
from factdrift.core.manifests import public, read_manifest

TABLES: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "wikifactdiff": (("data", "", "wikifactdiff.parquet"),),
    "wfd_repl": (("data", "", "wfd_repl.parquet"), ("ripples", "test", "ripples.parquet")),
    "klob": tuple(("data", part, f"klob_{part}.parquet") for part in "cru"),
    "tempripple": (("data", "", "tempripple.parquet"),),
    "stream": (("data", "", "stream.parquet"), ("asof", "", "asof.parquet")),
    "corpus": (
        ("data", "test", "corpus_questions.parquet"),
        ("documents", "test", "corpus.parquet"),
        *((name, "test", f"{name}.parquet") for name in ("known", "half_life")),
    ),
}
"""Folder -> the tables in it: their folder, their split (empty: a column says it), the product."""

SUMS = "SHA256SUMS"

_COPIES = ("wikifactdiff.stats.json", "klob_meta.json", "tempripple.stats.json")
_KNOWN = re.compile(
    rf"README\.md|{SUMS}|croissant\.json|manifest\.json|(?:audit\.json|eval\.yaml)|updates\.(?:csv|parquet)"
    rf"|figures/[\w-]+\.png|replay/answers\.sqlite|{'|'.join(map(re.escape, _COPIES))}"
)
"""Files beside the tables that a check, or resources/audit_unchecked.tsv, knows."""


def folder(path: Path, results: Path) -> Iterator[Fault]:
    """What is wrong with a published folder; `results` has the products."""
    yield from _faults(path.name, _checksums(path))
    yield from _faults(path.name, _copies(path, results))
    counts: dict[tuple[str, str], int] = {}
    for directory, split, product in TABLES.get(path.name, ()):
        table = results / product
        if table.is_file():
            yield from _faults(f"{path.name}/{directory}", _table(path / directory, split, table, counts))
        elif any((path / directory).glob(f"{split}*.parquet")):
            yield Fault(f"{path.name}/{directory}", "", f"{table} is not there, so its rows are not checked")
    for file in sorted(file for file in path.rglob("*") if file.is_file()):
        name, directory = file.relative_to(path).as_posix(), file.parent.relative_to(path).as_posix()
        splits = [split for table, split in counts if table == directory]
        if directory in {table for table, _, _ in TABLES.get(path.name, ())}:
            if splits and not any(file.name.startswith(f"{split}-") for split in splits):
                yield Fault(path.name, "", f"{name} belongs to no split")
        elif not _KNOWN.fullmatch(name):
            yield Fault(path.name, "", f"{name} is a file of which this audit knows no source")
    for check in (_card(path, counts), _croissant(path), _contents(path, results)):
        yield from _faults(path.name, check)


def _faults(name: str, reasons: Iterator[str]) -> Iterator[Fault]:
    return until_damage((Fault(name, "", reason) for reason in reasons), name)


COPIED = {
    "tempripple.parquet": "tempripple/tr_items.parquet",
    **{name: name for name in ("wikifactdiff.parquet", "wfd_repl.parquet")},
    **{name: name for name in (f"klob_{part}.parquet" for part in "cru")},
}
"""Product in results/ -> the file of the pair that it is a copy of."""


def copies(pair: Path) -> Iterator[Fault]:
    """Products in results/ that differ from the files of the pair."""
    for name, own in COPIED.items():
        copy, source = pair.parent / name, pair / own
        if copy.is_file() and source.is_file() and sha256(copy) != sha256(source):
            yield Fault(name, "", f"results/{name} is not {pair.name}/{own}")


def _checksums(path: Path) -> Iterator[str]:
    if not (path / SUMS).is_file():
        yield f"there is no {SUMS}"
        return
    listed = {}
    for line in (path / SUMS).read_text(encoding="utf-8").splitlines():
        digest, _, name = line.partition("  ")
        listed[name.lstrip("*")] = digest
    files = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()} - {SUMS}
    for name in sorted(files | listed.keys()):
        if name not in files:
            yield f"{name} is in {SUMS} and not in the folder"
        elif name not in listed:
            yield f"{name} is not in {SUMS}"
        elif sha256(path / name) != listed[name]:
            yield f"{name} has another checksum than {SUMS} says"


def _copies(path: Path, results: Path) -> Iterator[str]:
    """Files that are copied as they are."""
    for name in _COPIES:
        copy, source = path / name, results / name
        if copy.is_file() and source.is_file() and copy.read_bytes() != source.read_bytes():
            yield f"{name} is not that of the build"
    manifest, own = path / "manifest.json", results / "manifest.json"
    if manifest.is_file() and own.is_file():
        copied, due = json.loads(manifest.read_text(encoding="utf-8")), public(read_manifest(own))
        for field in sorted(copied.keys() | due):
            if copied.get(field) != due.get(field):
                yield f"manifest.json: {field} is not that of the build"


def _table(directory: Path, split: str, product: Path, counts: dict[tuple[str, str], int]) -> Iterator[str]:
    """The files of a table, split by split, have the rows, the order and the columns of the product."""
    schema = pq.read_schema(product).remove_metadata()
    column = _splits(product, schema)
    for part in [split] if split or column is None else sorted(set(column.to_pylist())):
        files = sorted(directory.glob(f"{part}-*.parquet"))
        chosen = None if split or column is None else pc.equal(column, part)
        number = pq.read_metadata(product).num_rows if chosen is None else pc.sum(chosen).as_py()
        counts[directory.name, part] = number
        other = [file.name for file in files if not pq.read_schema(file).remove_metadata().equals(schema)]
        yield from (f"{name} has other columns than {product.name}" for name in other)
        number_of_rows = sum(pq.read_metadata(file).num_rows for file in files)
        if number_of_rows != number:
            yield f"{part} has {number_of_rows} rows, the product {number}"
        elif files and not other and (name := _different(files, product, schema, chosen)):
            yield f"the rows of {part} are not those of {product.name}, in its order (column {name})"


def _splits(product: Path, schema: pa.Schema) -> pa.ChunkedArray | None:
    """The splits of the rows of a product: its own column, or `open` for questions without options."""
    if "split" in schema.names:
        return pq.read_table(product, columns=["split"])["split"]
    if "open_only" in schema.names:
        return pc.if_else(pq.read_table(product, columns=["open_only"])["open_only"], "open", "test")
    return None


def _different(
    files: list[Path], product: Path, schema: pa.Schema, chosen: pa.ChunkedArray | None
) -> str | None:
    """The first column in which the files, one after another, differ from the chosen rows of the product."""
    for name in schema.names:
        due = pq.read_table(product, columns=[name])
        due = due if chosen is None else due.filter(chosen)
        published = pa.concat_tables(pq.read_table(file, columns=[name]) for file in files)
        if not published[name].equals(due[name]):
            return str(name)
    return None


def _card(path: Path, counts: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """The rows that the card names."""
    card = path / "README.md"
    if not card.is_file():
        yield "there is no README.md"
        return
    line = re.compile(r"^\| `(\w+)`(?: \(default\))? \| `(\w+)` \| ([\d,]+)", re.MULTILINE)
    rows = line.findall(card.read_text("utf-8"))
    named = {(table, split): int(number.replace(",", "")) for table, split, number in rows}
    for key, number in counts.items():
        if named.get(key) != number:
            yield f"README.md says {named.get(key)} rows of {' '.join(key)}, the product has {number}"


def _contents(path: Path, results: Path) -> Iterator[str]:
    """What the card, Croissant and the flat copies say of the rows."""
    if not (results / "manifest.json").is_file():
        yield "there is no manifest.json of the build, so that the card and croissant.json are not checked"
        return
    manifest = read_manifest(results / "manifest.json")
    if (numbers := of_cards.numbers_of(path.name, results, manifest)) is not None:
        for account in list(manifest["sample"].values())[:1]:
            names = {
                "a table of # dated": "facts",
                "Wikidata. # of its": "made_up_ids",
                "its # items": "items",
            }
            numbers.sentences.update({words: account[name] for words, name in names.items()})
        yield from of_cards.card(path, numbers)
        yield from of_cards.croissant(path, numbers, manifest)
    if (path / "updates.parquet").is_file() and (results / f"{path.name}.parquet").is_file():
        yield from of_cards.flat(path, results / f"{path.name}.parquet")


def _croissant(path: Path) -> Iterator[str]:
    described = path / "croissant.json"
    if not described.is_file():
        yield "there is no croissant.json"
        return
    for entry in json.loads(described.read_text(encoding="utf-8")).get("distribution", []):
        name, digest = str(entry.get("contentUrl", "")), entry.get("sha256")
        if digest and (path / name).is_file() and sha256(path / name) != digest:
            yield f"croissant.json: another checksum of {name}"
        elif digest and not (path / name).is_file():
            yield f"croissant.json names {name}, which is not there"
