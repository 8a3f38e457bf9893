"""Writes one folder for each data set that was built, all of them or none."""

import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml

from factdrift.chat.store import copy_store
from factdrift.core.errors import InputError
from factdrift.core.files import sha256, sha256_of_all, write_json
from factdrift.core.manifests import public, read_manifest
from factdrift.core.owned import atomic_path
from factdrift.core.paths import DICTIONARY
from factdrift.core.tables import write_parquet
from factdrift.publish.card import OPEN, Edition, Table, count, write_card
from factdrift.publish.croissant import write_croissant
from factdrift.publish.datasets import Config, Dataset, known
from factdrift.publish.flat import write_flat

UPDATES = Config("updates", pages=["flat_updates"], files={"full": "updates.parquet"})
"""The flat table, which is a file at the top of a folder and not in shards."""

SHARD = 50_000
"""Rows of a shard: some 20 MB of WikiFactDiff, 250 MB while it is written."""

_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_COLUMNS = ["column", "type", "unit", "meaning", "source"]
_FIELDS = ["field", "type", "meaning"]


class Inputs(NamedTuple):
    """Products, the manifest of their build, and answers of a chat model that it has used with the folder of
    their store; day and address of publication, empty if not known."""

    products: Sequence[Path]
    manifest: Path
    answers: Sequence[Path] = ()
    store: Path | None = None
    date: str = ""
    url: str = ""


def write_folders(inputs: Inputs, output: Path) -> dict[str, int]:
    """Writes OUTPUT/FOLDER for each data set whose first table is among `products`; returns folder -> rows.

    Everything is written beside `output` and renamed at the end. The bytes depend on the products, the
    manifest, the stored answers, `date` and `url` only. A data set without any row is left out, because
    nothing can load it. Raises InputError if `output` exists, nothing is left, or a product or a description
    is missing.
    """
    if output.exists() and any(output.iterdir() if output.is_dir() else [output]):
        raise InputError(f"{output}: exists; remove it, or name another folder")
    if missing := [path for path in inputs.products if not path.is_file()]:
        raise InputError(f"{missing[0]}: no such file; build it, or leave it out")
    sources = {path.name: path for path in inputs.products}
    tables = {name: path for name, path in sources.items() if path.suffix == ".parquet"}
    rows = {name: pq.read_metadata(path).num_rows for name, path in tables.items()}
    build = read_manifest(inputs.manifest)
    if lacking := sorted({"configuration", "dates", "rows", "sample", "versions"} - set(build)):
        raise InputError(f"{inputs.manifest}: has no {lacking[0]}; name the manifest.json of the build")
    for name, number in rows.items():
        listed = [size for table, size in build["rows"].items() if Path(table).name == name]
        if listed and number not in listed:
            raise InputError(
                f"{sources[name]}: has {number:,} rows, {inputs.manifest} lists {listed[0]:,}; name "
                "the manifest of its build"
            )
    asked = [dataset for dataset in known() if not sources.keys().isdisjoint(dataset.needed)]
    if not asked:
        raise InputError(
            "no data set has its first table among the files given; add results/wikifactdiff.parquet"
        )
    filled = [dataset for dataset in asked if any(rows.get(name) for name in dataset.needed)]
    if not filled:
        raise InputError(f"{', '.join(sources)}: no table has a row, so there is nothing to publish")
    with atomic_path(output) as folder:
        return {
            dataset.folder: _write(dataset, sources, build, folder / dataset.folder, inputs)
            for dataset in filled
        }


def _write(
    dataset: Dataset, sources: dict[str, Path], build: dict[str, Any], folder: Path, inputs: Inputs
) -> int:
    folder.mkdir(parents=True)
    tables = []
    for config in dataset.configs:
        counts = write_splits(config, sources, folder / config.name)
        if any(counts.values()):
            tables.append(_table(config, counts, folder, f"{config.name}/{{split}}-*.parquet"))
    if dataset.updates:
        (product,) = dataset.needed
        rows = write_flat(sources[product], folder)
        tables.append(_table(UPDATES, {"full": rows}, folder, "updates.parquet"))
        if inputs.store is not None:
            # The stored replies behind the answers of a chat model.
            answers = [pq.read_table(path, columns=["key"])["key"].to_pylist() for path in inputs.answers]
            copy_store(inputs.store, set().union(*answers), folder / "replay")
    for account in dataset.accounts:
        if account in sources:
            shutil.copyfile(sources[account], folder / account)
    written = {
        (name, split) for table in tables for name, splits in table.configurations.items() for split in splits
    }
    if tasks := [task for task in dataset.tasks_of_hub if (task["config"], task["split"]) in written]:
        header = {"name": dataset.title, "description": dataset.summary, **dataset.evaluation, "tasks": tasks}
        (folder / "eval.yaml").write_text(yaml.safe_dump(header, sort_keys=False), "utf-8")
    statistics, facts = count(dataset, folder)
    write_json(public(build), folder / "manifest.json", indent=2)
    digits = sha256_of_all(sorted(folder.rglob("*.parquet")))[:12]
    version = f"{build['versions']['factdrift']}+{digits}"
    this = Edition(dataset, folder, tables, build, statistics, facts, version, inputs.date, inputs.url)
    write_card(this)
    write_croissant(this)
    write_checksums(folder)
    return sum(tables[0].rows.values())


def write_splits(
    config: Config, sources: dict[str, Path], folder: Path, shard: int = SHARD
) -> dict[str, int]:
    """Writes `FOLDER/SPLIT-00000-of-00001.parquet` and so on, rows in their order; returns split -> rows.

    `sources`: product -> file; splits whose product is not among them are left out. A split without rows
    has no shard: `datasets` cannot load one that is empty. Raises InputError if a row has another split.
    """
    counts: dict[str, int] = {}
    schema: pa.Schema | None = None
    for split, product in config.files.items():
        if (source := sources.get(product)) is None:
            continue
        with pq.ParquetFile(source) as file:
            if schema is not None and not file.schema_arrow.equals(schema):
                raise InputError(f"{source}: has other columns than the other splits; build them together")
            schema, whole = file.schema_arrow, file.metadata.num_rows
            rows = {split: whole}
            if split == "*":
                by_split = Counter(_splits(file.read([config.open or "split"]), config).to_pylist())
                rows = {name: by_split[name] for name in config.splits}
            if sum(rows.values()) != whole:
                raise InputError(
                    f"{source}: has splits other than {', '.join(config.splits)}; build it again"
                )
            for name, number in rows.items():
                batches = file.iter_batches(8192)
                if split == "*":
                    batches = (batch.filter(pc.equal(_splits(batch, config), name)) for batch in batches)
                _write_shards(batches, schema, number, folder / name, shard)
        counts |= rows
    return counts


def _splits(rows: pa.Table | pa.RecordBatch, config: Config) -> pa.Array | pa.ChunkedArray:
    """The splits of the rows."""
    return pc.if_else(rows[config.open], OPEN, "test") if config.open else rows["split"]


def _write_shards(
    batches: Iterator[pa.RecordBatch], schema: pa.Schema, rows: int, path: Path, shard: int
) -> None:
    """Writes batches that have so many rows together as `PATH-00000-of-00001.parquet` and so on."""
    waiting = schema.empty_table()
    number = -(-rows // shard)
    for index in range(number):
        size = min(shard, rows - index * shard)
        while waiting.num_rows < size:
            waiting = pa.concat_tables([waiting, pa.Table.from_batches([next(batches)])])
        # One chunk per column, so that the bytes do not depend on how the product's rows are grouped.
        part = waiting.slice(0, size).combine_chunks()
        write_parquet(part, path.with_name(f"{path.name}-{index:05}-of-{number:05}.parquet"))
        waiting = waiting.slice(size)


def _table(config: Config, rows: dict[str, int], folder: Path, pattern: str) -> Table:
    """A table with its description.

    Raises InputError if a page or the description of a column is missing.
    """
    schema = pq.read_schema(min(folder.glob(pattern.format(split="*"))))
    pages: dict[str, str] = {}
    meanings: dict[str, str] = {}
    nested: dict[str, dict[str, str]] = {}
    for name in config.pages:
        page = read_page(name)
        pages[name] = page.tables
        meanings |= page.meanings
        nested |= page.nested
    for column, name in config.nested.items():
        page = read_page(name)
        pages[name] = page.tables
        meanings[column], nested[column] = page.summary, page.meanings
    for field in schema:
        # Structs whose fields are described as columns of the same names.
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(kind) and field.name not in nested:
            nested[field.name] = {part.name: meanings[part.name] for part in kind if part.name in meanings}
    if undescribed := sorted({field.name for field in schema} - meanings.keys()):
        raise InputError(
            f"{DICTIONARY / config.pages[0]}.md: has no row for the column {undescribed[0]}; "
            "describe it there"
        )
    return Table(config.name, rows, pattern, schema, pages, meanings, nested)


class Page(NamedTuple):
    """A page of the data dictionary, where alone columns are described."""

    summary: str
    """Its first sentence."""
    tables: str
    """Markdown from the first table to the end, without links."""
    meanings: dict[str, str]
    """Column -> meaning."""
    nested: dict[str, dict[str, str]]
    """Column -> field of the structs in it -> meaning."""


def read_page(name: str) -> Page:
    """The page `name`; InputError if it is missing or has no table of columns."""
    path = DICTIONARY / f"{name}.md"
    if not path.is_file():
        raise InputError(f"{path}: no such page; it describes the columns of a table that is published")
    lines = _LINK.sub(r"\1", _COMMENT.sub("", path.read_text(encoding="utf-8"))).splitlines()
    first = next((index for index, line in enumerate(lines) if _cells(line) == _COLUMNS), None)
    if first is None:
        raise InputError(f"{path}: has no table with the header {' | '.join(_COLUMNS)}")
    summary = re.sub(r"\s+", " ", " ".join(lines[1:first])).strip().partition(". ")[0].rstrip(".") + "."
    page = Page(summary, "\n".join(lines[first:]).strip() + "\n", {}, {})
    header: list[str] = []
    parents: list[str] = []
    for line in lines[first:]:
        if not line.startswith("|"):
            header = []
            if line.endswith(":"):
                parents = _names(line)
            continue
        cells = _cells(line)
        if not header:
            header = cells
        elif header == _COLUMNS:
            unit = f" ({cells[2]})" if cells[2] else ""
            page.meanings.update(dict.fromkeys(_names(cells[0]), cells[3] + unit))
        elif header == _FIELDS:
            for parent in parents:
                page.nested.setdefault(parent, {}).update(dict.fromkeys(_names(cells[0]), cells[2]))
    return page


def _cells(line: str) -> list[str]:
    if not line.startswith("|"):
        return []
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


def _names(text: str) -> list[str]:
    return re.findall(r"`(\w+)`", text)


def write_checksums(folder: Path) -> None:
    """Writes SHA256SUMS, as `sha256sum --check` reads it: every other file, in the order of the paths."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    lines = [f"{sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")
