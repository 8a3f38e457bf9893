"""Writes one folder for each data set that was built, all of them or none."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.store import export_store
from factdrift.core.errors import InputError
from factdrift.core.files import sha256, write_json
from factdrift.core.manifests import public, read_manifest
from factdrift.core.owned import atomic_path
from factdrift.core.paths import DICTIONARY
from factdrift.publish.card import Table, edition, write_card
from factdrift.publish.croissant import write_croissant
from factdrift.publish.datasets import Config, Dataset, chosen
from factdrift.publish.fields import read_page
from factdrift.publish.flat import write_flat
from factdrift.publish.shards import write_splits
from factdrift.publish.statistics import count

if TYPE_CHECKING:
    from factdrift.publish.jobs import Folders

UPDATES = Config("updates", pages=["flat_updates"], files={"full": "updates.parquet"})
"""The flat table, which is a file at the top of a folder and not in shards."""


def write_folders(job: Folders) -> dict[str, int]:
    """Writes OUTPUT/FOLDER for each data set whose first table is among `products`; returns folder -> rows.

    Everything is written beside `output` and renamed at the end. The bytes depend on the products, the
    manifest, the stored answers, `date` and `url` only. A data set without any row is left out, because
    nothing can load it. Raises InputError if `output` exists, nothing is left, a file is no product, two
    files are the same product, a product is no Parquet file, it or its description is missing, or the
    manifest is that of another build.
    """
    output = job.output
    if output.exists() and any(output.iterdir() if output.is_dir() else [output]):
        raise InputError(f"{output}: exists; remove it, or name another folder")
    sources: dict[str, Path] = {}
    rows: dict[str, int] = {}
    for path in job.products:
        if not path.is_file():
            raise InputError(f"{path}: no such file; build it, or leave it out")
        if sources.setdefault(path.name, path) != path:
            raise InputError(f"{path}: {sources[path.name]} is the same product; leave one of them out")
        if path.suffix == ".parquet":
            try:
                rows[path.name] = pq.read_metadata(path).num_rows
            except pa.ArrowInvalid as error:
                raise InputError(f"{path}: {error}; build it again") from error
    build = read_manifest(job.manifest)
    lacking = sorted({"configuration", "dates", "rows", "sample", "versions"} - set(build))
    if lacking:
        raise InputError(f"{job.manifest}: has no {lacking[0]}; name the manifest.json of the build")
    for name, number in rows.items():
        listed = [held for table, held in build["rows"].items() if Path(table).name == name]
        if listed and number not in listed:
            raise InputError(
                f"{sources[name]}: has {number:,} rows, {job.manifest} lists {listed[0]:,}; it is the "
                "manifest of another build. Name the one that was made with the file"
            )
    filled = [each for each in chosen(sources) if any(rows.get(name) for name in each.needed)]
    if not filled:
        raise InputError(f"{', '.join(sources)}: no table has a row, so there is nothing to publish")
    with atomic_path(output) as folder:
        return {
            dataset.folder: _write(dataset, sources, build, folder / dataset.folder, job)
            for dataset in filled
        }


def _write(
    dataset: Dataset, sources: dict[str, Path], build: dict[str, Any], folder: Path, job: Folders
) -> int:
    folder.mkdir(parents=True)
    tables = []
    for config in dataset.configs:
        counts = write_splits(config, sources, folder / config.name)
        if any(counts.values()):
            tables.append(_table(config, counts, folder, f"{config.name}/{{split}}-*.parquet"))
    if dataset.updates:
        (product,) = dataset.needed
        rows = write_flat(sources[product], folder, job.memory_mb)
        tables.append(_table(UPDATES, {"full": rows}, folder, "updates.parquet"))
        if job.store is not None:
            _write_replay(job.answers, job.store, folder / "replay" / "answers.parquet")
    for account in dataset.accounts:
        if account in sources:
            shutil.copyfile(sources[account], folder / account)
    statistics, facts = count(dataset, folder, job.memory_mb)
    write_json(public(build), folder / "manifest.json", indent=2)
    this = edition(dataset, facts, build, folder, job.date, job.url)
    write_card(dataset, tables, statistics, facts, build, this, folder)
    write_croissant(dataset, tables, this, folder)
    write_checksums(folder)
    return sum(tables[0].rows.values())


def _table(config: Config, rows: dict[str, int], folder: Path, pattern: str) -> Table:
    own = [read_page(name) for name in config.pages]
    inner = {column: read_page(name) for column, name in config.nested.items()}
    (schema, *_) = (pq.read_schema(path) for path in sorted(folder.glob(pattern.format(split="*"))))
    meanings: dict[str, str] = {}
    nested: dict[str, dict[str, str]] = {}
    for page in own:
        meanings |= page.meanings
        nested |= page.nested
    meanings |= {column: page.summary for column, page in inner.items()}
    nested |= {column: page.meanings for column, page in inner.items()}
    for field in schema:
        # Structs whose fields are described as columns of the same names.
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(kind) and field.name not in nested:
            nested[field.name] = {part.name: meanings[part.name] for part in kind if part.name in meanings}
    undescribed = sorted({field.name for field in schema} - meanings.keys())
    if undescribed:
        raise InputError(
            f"{DICTIONARY / config.pages[0]}.md: has no row for the column {undescribed[0]}; "
            "describe it there"
        )
    return Table(config.name, rows, pattern, schema, [*own, *inner.values()], meanings, nested)


def _write_replay(answers: Sequence[Path], store: Path, output: Path) -> None:
    """Writes the stored replies behind tables of answers of a chat model."""
    output.parent.mkdir()
    keys = {key for path in answers for key in pq.read_table(path, columns=["key"])["key"].to_pylist()}
    export_store(store, output, keys)


def write_checksums(folder: Path) -> None:
    """Writes SHA256SUMS, as `sha256sum --check` reads it: every other file, in the order of the paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
