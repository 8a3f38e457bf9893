"""Entities of a dump as rows of the tables of a shard, and the files of these.

A shard's tables have the columns of the snapshot's (`factdrift.wikidata.tables`), and two more with which
gathering all shards finishes them: `line`, the line of the dump, which decides between two lines of one
entity, and in the statements `inferred`, the datatype inferred from the value where the snak has none.

A table is one Arrow file, in which each record batch has the rows of one bucket: batch n is of the bucket n
modulo the number of buckets, so a bucket's job reads its own batches only. The last batch is empty and
carries what the table holds besides. A file a bucket would make hundreds of thousands of a large build; in
Parquet, each bucket's job would parse the descriptions of all row groups.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.ipc as ipc

from factdrift.core.owned import atomic_path
from factdrift.core.tables import table_of
from factdrift.wikidata.entity import (
    UNREADABLE,
    Empty,
    Entity,
    Outline,
    Snak,
    Statement,
    Text,
    each_once,
    snaks,
    term,
)
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS, TRANSLATIONS
from factdrift.wikidata.values import Value, canonical_json, clean_value, read_value

BUFFERED_ROWS = 65_536
"""Rows kept as Python objects before they are written."""

Row = tuple[Any, ...]
"""One row, its fields in the order of the table's schema."""

_OPTIONS = ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))
"""The files are read once and then deleted, so they are compressed a little only."""


class Kind(NamedTuple):
    """A table that each shard has: the name of its file and its columns."""

    file: str
    schema: pa.Schema


_LINE = pa.field("line", pa.int64())
SHARD_ENTITIES = ENTITIES.append(_LINE)
SHARD_PROPERTIES = PROPERTIES.append(_LINE)
SHARD_STATEMENTS = STATEMENTS.append(pa.field("inferred", pa.string())).append(_LINE)
OF_ENTITIES = Kind("entities.arrow", SHARD_ENTITIES)
OF_STATEMENTS = Kind("statements.arrow", SHARD_STATEMENTS)
OF_TRANSLATIONS = Kind("translations.arrow", TRANSLATIONS.append(_LINE))

NOT_WIKIPEDIA = frozenset(
    (
        *("commonswiki", "foundationwiki", "incubatorwiki", "labswiki", "mediawikiwiki", "metawiki"),
        *("outreachwiki", "sourceswiki", "specieswiki", "test2wiki", "testcommonswiki", "testwiki"),
        *("testwikidatawiki", "votewiki", "wikidatawiki", "wikifunctionswiki", "wikimaniawiki"),
    )
)
"""Sites whose names end in `wiki` although they are not Wikipedias."""

_SINGLE_VALUE_CONSTRAINTS = frozenset((19474404, 52060874))
"""Single-value and single-best-value constraint."""

_SYMMETRIC_CONSTRAINT = 21510862

UNREAD = Value(None, canonical_json(None), canonical_json(None), None)
"""The value of a snak of type `value` without a datavalue."""


@dataclass
class Oddities:
    """Counts of statements that needed a tie-breaking rule or could not be parsed."""

    several_starts: int = 0
    several_ends: int = 0
    several_points_in_time: int = 0
    unreadable_dates: int = 0
    """Values and qualifiers of type time without a readable date."""
    unusable_entities: int = 0
    """Entity values that are neither an item nor a property, such as lexemes."""
    raw_values: dict[str, int] = field(default_factory=dict)
    """Datatype -> values of no known form that no text names; filter 2 drops them."""


def is_whole(entity: Entity | Outline, scope: str) -> bool:
    """Whether a snapshot of this scope holds the statements of the item."""
    match scope:
        case "enwiki":
            return "enwiki" in entity.sites
        case "anywiki":
            return any(site.endswith("wiki") and site not in NOT_WIKIPEDIA for site in entity.sites)
    return True


def entity_row(item: Entity | Outline, number: int, whole: bool, line: int) -> Row:
    """An item as a row of SHARD_ENTITIES."""
    return (
        number,
        item.label,
        item.description,
        item.alias_texts,
        item.article,
        len(item.sites),
        item.lastrevid,
        item.modified,
        _items(item.stated("P31")),
        _items(item.stated("P279")),
        _symbol(item.stated("P5061")),
        whole,
        line,
    )


def property_row(entity: Entity, number: int, line: int) -> Row:
    """A property as a row of SHARD_PROPERTIES; `number` is positive."""
    kinds = [(_value(statement.mainsnak).object, statement) for statement in _valid(entity.stated("P2302"))]
    constraints = [statement for kind, statement in kinds if kind in _SINGLE_VALUE_CONSTRAINTS]
    separators = {
        -separator
        for constraint in constraints
        for snak in _qualifier(constraint, "P4155")
        if (separator := _value(snak).object) is not None and separator < 0
    }
    return (
        number,
        entity.label,
        entity.description,
        entity.alias_texts,
        entity.datatype,
        entity.lastrevid,
        _items(entity.stated("P31")),
        bool(constraints),
        sorted(separators),
        _examples(entity),
        _properties(entity.stated("P1696")),
        any(kind == _SYMMETRIC_CONSTRAINT for kind, _ in kinds),
        line,
    )


def _value(snak: Snak) -> Value:
    """The value of a snak; `UNREAD` if it has none."""
    if snak.snaktype != "value" or snak.datavalue is None:
        return UNREAD
    return read_value(snak.datavalue.type, snak.datavalue.value)


def _qualifier(statement: Statement, property_id: str) -> list[Snak]:
    qualifiers = statement.qualifiers
    if not isinstance(qualifiers, dict) or property_id not in qualifiers:
        return []
    return snaks(qualifiers[property_id])


def _valid(statements: list[Statement]) -> list[Statement]:
    """The statements that are not deprecated and have a value."""
    current = (statement for statement in statements if statement.rank != "deprecated")
    return [statement for statement in current if statement.mainsnak.snaktype == "value"]


def _items(statements: list[Statement]) -> list[int]:
    """The items that are values of statements that are not deprecated, each once, in the order of the
    dump."""
    current = (statement for statement in statements if statement.rank != "deprecated")
    objects = (_value(statement.mainsnak).object for statement in current)
    return list(dict.fromkeys(number for number in objects if number is not None and number > 0))


def _properties(statements: list[Statement]) -> list[int]:
    """The numbers (positive, ascending) of the properties that are values of valid statements."""
    objects = {_value(statement.mainsnak).object for statement in _valid(statements)}
    return sorted(-number for number in objects if number is not None and number < 0)


def _symbol(statements: list[Statement]) -> str | None:
    """The unit symbol in English, else for all languages, else in any; of several the preferred, then the
    first."""
    best: tuple[int, bool] | None = None
    symbol = None
    for statement in _valid(statements):
        value = clean_value(statement.mainsnak.datavalue.value if statement.mainsnak.datavalue else None)
        if not (isinstance(value, dict) and isinstance(value.get("text"), str) and value["text"]):
            continue
        merit = {"en": 0, "mul": 1}.get(str(value.get("language")), 2), statement.rank != "preferred"
        if best is None or merit < best:
            best, symbol = merit, value["text"]
    return symbol


def _examples(entity: Entity) -> list[Row]:
    """(subject, value) of each example (P1855); the value is the canonical JSON of the qualifier's snak."""
    examples: list[Row] = []
    for statement in _valid(entity.stated("P1855")):
        if (subject := _value(statement.mainsnak).object) is None:
            continue
        for snak in _qualifier(statement, entity.id):
            parts: dict[str, object] = {"property": snak.property, "snaktype": snak.snaktype}
            if snak.datatype is not None:
                parts["datatype"] = snak.datatype
            if snak.datavalue is not None:
                parts["datavalue"] = {"type": snak.datavalue.type, "value": clean_value(snak.datavalue.value)}
            examples.append((subject, canonical_json(parts)))
    return examples


class _Terms(msgspec.Struct, gc=False):
    """The terms of an entity in all languages."""

    labels: dict[str, Text] | Empty = []
    descriptions: dict[str, Text] | Empty = []
    aliases: dict[str, list[Text] | dict[str, Text]] | Empty = []


_TERMS = msgspec.json.Decoder(_Terms)
_ANY_LANGUAGE = "mul"


def translations(text: bytes, number: int, line: int, languages: Sequence[str]) -> Iterator[Row]:
    """Yields the terms of a line's entity in each language, else the default for all languages.

    Rows of TRANSLATIONS with their line; terms that cannot be decoded count as absent.
    """
    try:
        terms = _TERMS.decode(text)
    except UNREADABLE:
        return
    for language in languages:
        label, description = (
            term(texts.get(language), texts.get(_ANY_LANGUAGE)) if isinstance(texts, dict) else None
            for texts in (terms.labels, terms.descriptions)
        )
        aliases: list[str] = []
        if isinstance(terms.aliases, dict):
            aliases = each_once(terms.aliases.get(language, []), terms.aliases.get(_ANY_LANGUAGE, []))
        if label is not None or description is not None or aliases:
            yield number, language, label, description, aliases, line


class ShardTable:
    """A table of a shard that is being written into a folder; the file gets its name when `files` ends."""

    def __init__(self, folder: Path, kind: Kind, buckets: int, files: ExitStack) -> None:
        self._schema, self._empty = kind.schema, pa.RecordBatch.from_pylist([], kind.schema)
        self._waiting: list[list[Row]] = [[] for _ in range(buckets)]
        self._rows = 0
        temporary = files.enter_context(atomic_path(folder / kind.file))
        self._writer = files.enter_context(ipc.new_file(temporary, kind.schema, options=_OPTIONS))

    def add(self, bucket: int, row: Row) -> None:
        """Adds a row, its fields in the order of the schema."""
        self._waiting[bucket].append(row)
        self._rows += 1
        if self._rows >= BUFFERED_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self.write([table_of(rows, self._schema).to_batches() if rows else [] for rows in self._waiting])
            self._waiting = [[] for _ in self._waiting]
            self._rows = 0

    def write(self, buckets: Sequence[Sequence[pa.RecordBatch]]) -> None:
        """Writes the rows of all buckets, in their order: of each some batches, or none."""
        if any(buckets):
            for batches in buckets:
                self._writer.write_batch(pa.concat_batches(batches) if batches else self._empty)

    def end(self, **about: str) -> None:
        """Writes what is left, and what the last batch carries."""
        self._flush()
        self._writer.write_batch(self._empty, custom_metadata=about)


def read_about(path: Path) -> dict[str, str]:
    """What the last batch of a table carries. Raises OSError or ValueError for what is no such file."""
    with pa.memory_map(str(path)) as source, ipc.open_file(source) as file:
        if not file.num_record_batches:
            raise ValueError("no batch")
        about = file.get_batch_with_custom_metadata(file.num_record_batches - 1)[1] or {}
        return {key.decode(): value.decode() for key, value in about.items()}


def read_bucket(
    folders: Sequence[Path], kind: Kind, bucket: int, buckets: int, columns: Sequence[str] = ()
) -> pa.RecordBatchReader:
    """The rows of a bucket in a table of all shards, in their order; of `columns` only, if any are named.

    They can be read once, and a batch is in memory at a time.
    """
    schema = kind.schema
    positions = [position for position, name in enumerate(schema.names) if not columns or name in columns]
    options = ipc.IpcReadOptions(included_fields=positions)

    def batches() -> Iterator[pa.RecordBatch]:
        for folder in folders:
            with (
                pa.memory_map(str(folder / kind.file)) as source,
                ipc.open_file(source, options=options) as file,
            ):
                for position in range(bucket, file.num_record_batches - 1, buckets):
                    yield file.get_batch(position)

    chosen = pa.schema([schema.field(position) for position in positions])
    return pa.RecordBatchReader.from_batches(chosen, batches())
