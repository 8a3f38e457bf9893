"""Scatter: the lines of one shard of a dump -> a folder of tables, already split into buckets by subject.

A shard reads its own range of the compressed file (`factdrift.wikidata.shares`) and counts its own lines;
`gather` converts their numbers into those of the dump.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import pyarrow as pa
from stringzilla import find

from factdrift.core.errors import InputError
from factdrift.core.exhausted import keep_freed, without_collector
from factdrift.core.files import identity
from factdrift.core.owned import new_folder
from factdrift.core.progress import Progress
from factdrift.core.tables import table_of
from factdrift.statements.rows import (
    OF_ENTITIES,
    OF_STATEMENTS,
    OF_TRANSLATIONS,
    SHARD_PROPERTIES,
    Oddities,
    Row,
    ShardTable,
    entity_row,
    is_whole,
    property_row,
    translations,
)
from factdrift.statements.statement_columns import StatementColumns
from factdrift.wikidata.entity import (
    NAMED_PROPERTIES,
    UNREADABLE,
    Entity,
    Outline,
    is_joined,
    last_named,
    read_entity,
    read_outline,
)
from factdrift.wikidata.ids import entity_number
from factdrift.wikidata.shares import Account, Share

SHARD_LINES = 1 << 40
"""More lines than a shard can have: shard * SHARD_LINES + line orders the lines of a dump."""

OBJECT_ROWS = 32_768
"""Statements kept as Python objects before they are converted to Arrow columns: about 40 MB."""

BUFFERED_ROWS = 262_144
"""Statements kept in either form before they are written: about 100 MB."""

BAD_LINES_NAMED = 100
"""Bad lines that a report lists with number, offset and problem; all are counted and logged."""

_COUNTED = (
    *("lines", "items", "properties", "lexemes", "other", "rejected", "statements"),
    *("bad_lines", "bad_bytes", "torn_lines", "foreign_ids"),
)

_FIRST_ID = re.compile(rb'\{"(?:type": ?"[a-z]+", ?(?:"datatype": ?"[a-z-]+", ?)?")?id": ?"([QP]\d+)"')
"""The id with which the line of an item or a property begins."""

SITE_HINTS = {"enwiki": b'enwiki"', "anywiki": b'wiki"'}
"""Bytes in the line of every item that a snapshot of this scope holds whole. `all` has no hint: every line
must be parsed. The quotation mark before the name is left out: a search that has to find one at both ends
takes half as long again."""

_ESCAPES = tuple(b"\\u00" + digit for digit in (b"3", b"5", b"6", b"7"))
"""Beginnings of the escapes with which JSON may write the letters and digits of a name; no dump known
does."""

_ITEM = re.compile(rb'\{(?:"type":"item","id":("Q\d+)"|"id":("Q\d+)","type":"item")')
_BORDER = b'},\n{"type":"item","id":'
"""The end of an item's line and the beginning of the next item's, up to its id."""

_TITLED = b'","lastrevid":'
"""What follows the title of an entity's page; in dumps without these titles, a brace is before the comma."""

_QUOTE = ord('"')
"""Ends the last field, the date of change, in dumps that have the titles of pages."""

_TAIL, _ID = 120, 20
"""Bytes at the end of a line that hold the fields of a page, and those that hold an id."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Which share of a dump is read, and what is kept of it (`factdrift statements extract --help`)."""

    shard: int = 0
    shards: int = 1
    buckets: int = 1
    scope: Literal["enwiki", "anywiki", "all"]
    names: Literal["held", "all"] = "all"
    parse_all: bool = False
    languages: Collection[str] = ()


def extract(dump: Path, choice: Choice, output: Path) -> dict[str, Any]:
    """Writes the tables of one shard of a dump into the folder `output`.

    The folder holds the tables of statements and of entities, with a record batch a bucket (the items whose
    number modulo `buckets` is the bucket's; `factdrift.statements.rows`), and with `languages` one of
    terms in them. The report is returned, and kept beside the entities with the properties. The folder
    appears complete or not at all. Lines that cannot be used are counted, reported and skipped.

    `parse_all`: lines that would be skipped by their bytes are parsed too, with the same tables as result,
    and only more bad lines in the report.

    Raises InputError for options out of range, for a dump that is damaged in this shard, and for an `output`
    that is something else. Whether the shards are the whole dump is checked when they are gathered.
    """
    if not 0 <= choice.shard < choice.shards:
        raise InputError(
            f"--shard {choice.shard}: must be from 0 to {choice.shards - 1}, below the number of shards"
        )
    if choice.buckets < 1:
        raise InputError(f"--buckets {choice.buckets}: must be 1 or more")
    keep_freed()
    with without_collector(), new_folder(output) as folder, ExitStack() as files:
        reading = _Reading(folder, choice, files)
        early = choice.names == "held" and choice.scope != "all" and not choice.parse_all
        account = _read(dump, choice, reading, NeedlessItems(choice.scope) if early else None)
        names = ("shard", "shards", "buckets", "scope", "names")
        header = {"dump": identity(dump), **{name: getattr(choice, name) for name in names}}
        header |= {"languages": sorted(choice.languages), "share": asdict(account)}
        report = reading.end(header, account.needless)
    return report


def _read(dump: Path, choice: Choice, reading: "_Reading", needless: "NeedlessItems | None") -> Account:
    """Reads the lines of a shard into `reading`; returns the account of the share."""
    shard, shards = choice.shard, choice.shards
    share = Share(dump, shard, shards)
    account = share.account
    progress = Progress(f"{dump.name}, shard {shard} of {shards}", share.size / 1e6, "MB", beside="entities")
    begins = 0 if not account.divided else shard * SHARD_LINES
    where = f", after byte {account.first} of the file" if account.divided and shard else ""
    reported = passed = 0
    for number, offset, text in share.lines(needless):
        if offset - reported >= 1 << 20:
            entities = account.needless + reading.counts["lines"] - progress.done_beside
            note = f"{reading.counts['bad_lines']} bad lines"
            progress.advance((share.passed - passed) / 1e6, note, entities)
            reported, passed = offset, share.passed
        try:
            reading.line(begins + number, text)
        except UNREADABLE as error:
            problem = str(error)[:200]
            # It begins as one entity and ends as another.
            begun, last = _FIRST_ID.match(text), last_named(text)
            is_torn = begun is not None and last is not None and begun[1] != last
            reading.bad_line(number, offset, len(text), problem, is_torn)
            message = f"{dump}, line {number} (byte {offset}{where}): skipped, {problem}"
            print(message, file=sys.stderr, flush=True)
    for fault in account.faults:
        reading.bad_line(*fault)
        position = f"line {fault.line} (byte {fault.offset}{where})"
        print(f"{dump}, {position}: {fault.problem}", file=sys.stderr)
    reading.counts["bad_lines"] += account.faulty - len(account.faults)
    reading.counts["bad_bytes"] += account.faulty_bytes - sum(fault.bytes for fault in account.faults)
    progress.done, progress.done_beside = share.size / 1e6, account.needless + reading.counts["lines"]
    progress.say(f"{account.text_bytes / 1e6:,.0f} MB of text")
    return account


class _Reading:
    """The state of reading one shard: rows that are not yet written, and counts."""

    def __init__(self, folder: Path, choice: Choice, files: ExitStack) -> None:
        self.counts: Counter[str] = Counter()
        self._oddities = Oddities()
        self._bad_lines: list[dict[str, Any]] = []
        self._foreign: str | None = None
        self._scope, self._hint = choice.scope, SITE_HINTS.get(choice.scope, b"")
        self._all_names, self._buckets = choice.names == "all", choice.buckets
        self._languages = sorted(set(choice.languages))
        kinds = (OF_STATEMENTS, OF_ENTITIES, *([OF_TRANSLATIONS] if choice.languages else []))
        # By file: to hash a schema for each row would take a twentieth of the time.
        self._tables = {kind.file: ShardTable(folder, kind, choice.buckets, files) for kind in kinds}
        self._statements = [StatementColumns(self._oddities) for _ in range(choice.buckets)]
        self._batches: list[list[pa.RecordBatch]] = [[] for _ in self._statements]
        self._objects = self._rows = 0  # statements kept as Python objects, and in either form
        self._properties: list[Row] = []

    def line(self, number: int, text: bytes) -> None:
        """Adds the rows of one line, or none of them and raises one of UNREADABLE."""
        self.counts["lines"] += 1
        if not text.isascii():
            text.decode()  # the fields that are skipped unparsed are not checked otherwise
        last = last_named(text)
        entity: Entity | Outline
        entity = read_entity(text) if find(text, self._hint) >= 0 else read_outline(text)
        item_or_property = entity_number(entity.id)
        if item_or_property and last is not None and last != entity.id.encode():
            if is_joined(text, entity.id.encode()):
                raise ValueError(
                    f"begins as {entity.id} and ends as {last.decode()}: the text between them is missing"
                )
            self.counts["foreign_ids"] += 1
            self._foreign = self._foreign or f"one of {last.decode()} in {entity.id}"
        if not item_or_property:
            if entity.type in ("item", "property", ""):
                raise ValueError(f"{entity.id!r} is no usable entity id")
            self.counts["lexemes" if entity.type == "lexeme" else "other"] += 1
            return
        if item_or_property < 0:
            self._properties.append(property_row(read_entity(text), -item_or_property, number))
            self.counts["properties"] += 1
        elif not self._item(entity, item_or_property, number, text):
            self.counts["rejected"] += 1
            return
        if self._languages:
            for row in translations(text, item_or_property, number, self._languages):
                self._tables[OF_TRANSLATIONS.file].add(abs(item_or_property) % self._buckets, row)

    def _item(self, entity: Entity | Outline, item: int, number: int, text: bytes) -> bool:
        """Adds the rows of an item; False if the snapshot does not need it."""
        whole = is_whole(entity, self._scope)
        if whole and isinstance(entity, Outline):
            entity = read_entity(text)
        if not (whole or self._all_names or any(entity.stated(name) for name in NAMED_PROPERTIES)):
            return False
        row, bucket = entity_row(entity, item, whole, number), item % self._buckets
        if whole:
            added = self._statements[bucket].add(cast(Entity, entity), item, number)
            self.counts["statements"] += added
            self._objects += added
        self._tables[OF_ENTITIES.file].add(bucket, row)
        self.counts["items"] += 1
        if self._objects >= OBJECT_ROWS:
            self._hold()
        return True

    def bad_line(self, number: int, offset: int, size: int, problem: str, is_torn: bool = False) -> None:
        """Counts a line that cannot be used, or a place between lines where `size` bytes are no text.

        `is_torn`: it is made of two entities' lines, so that those between them are missing.
        """
        self.counts["bad_lines"] += 1
        self.counts["bad_bytes"] += size
        self.counts["torn_lines"] += is_torn
        if len(self._bad_lines) < BAD_LINES_NAMED:
            self._bad_lines.append({"line": number, "offset": offset, "problem": problem})

    def _hold(self, at_end: bool = False) -> None:
        """Converts statements to Arrow columns, which take a fifth of the memory; writes them if enough."""
        for bucket, columns in enumerate(self._statements):
            if len(columns):
                self._batches[bucket].append(columns.rows())
                self._statements[bucket] = StatementColumns(self._oddities)
        self._rows += self._objects
        self._objects = 0
        if at_end or self._rows >= BUFFERED_ROWS:
            self._tables[OF_STATEMENTS.file].write(self._batches)
            self._batches = [[] for _ in self._batches]
            self._rows = 0

    def end(self, report: dict[str, Any], needless: int) -> dict[str, Any]:
        """Writes what is left, the properties and the report, to which it adds the counts and bad lines."""
        self.counts["lines"] += needless
        self.counts["rejected"] += needless
        report |= {kind: self.counts[kind] for kind in _COUNTED}
        report |= {"oddities": asdict(self._oddities), "first_bad_lines": self._bad_lines}
        report["first_foreign_id"] = self._foreign
        self._hold(at_end=True)
        properties = table_of(self._properties, SHARD_PROPERTIES).to_pylist()
        # What the table of entities carries besides.
        about = {"report": json.dumps(report), "properties": json.dumps(properties)}
        for file, table in self._tables.items():
            table.end(**about if file == OF_ENTITIES.file else {})
        return report


class NeedlessItems:
    """Recognises items that a snapshot of this scope does not contain by their bytes, before JSON is parsed.

    With `--names held`, a snapshot contains an item only if it holds all of it (`is_whole`) or if the item
    has superclasses or a unit symbol. The line of such an item contains the name of a site or of one of these
    properties as a JSON string; a line without any of them is skipped. A line with one of them, even in a
    label, is parsed, and the parsed entity decides.

    A line is skipped only if it begins and ends as that of one item, and is UTF-8. It is not checked to be
    JSON: the text must come from an archive, whose checksums show that nothing is missing in it.
    """

    def __init__(self, scope: str) -> None:
        self._needles = (SITE_HINTS[scope], *(f'"{name}"'.encode() for name in NAMED_PROPERTIES))

    def others(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """The lines that may be needed; see `factdrift.wikidata.shares.Needless`."""
        # The least of all bytes, as signed numbers, is found in half the time of `isascii`.
        is_ascii = start == stop or bool(np.frombuffer(data, np.int8, stop - start, start).min() >= 0)
        plain = is_ascii and all(find(data, escape, start, stop) < 0 for escape in _ESCAPES)
        hits = [start - 1] * len(self._needles)  # the next occurrence of each needle
        passed = 0
        while start < stop:
            for position, needle in enumerate(self._needles):
                if hits[position] < start:
                    hit = find(data, needle, start, stop)
                    hits[position] = stop if hit < 0 else hit
            nearest = min(hits)
            end = data.find(b"\n", start, nearest)
            item = _ITEM.match(data, start, end) if plain and end >= 0 else None
            if item is not None:
                name = item[1] or item[2]
                # This is done for most lines of a dump: `_is_needless` would take twice as long for each.
                while end >= 0:
                    last = data.rfind(_TITLED, max(start, end - _TAIL), end)
                    if last < 0 and data[end - 3] != _QUOTE:
                        last = data.rfind(b"$", start, end)
                    following = end - 2 + len(_BORDER)
                    last = max(last, start)
                    if not (data.endswith(name, start, last) and data.startswith(_BORDER, end - 2)):
                        break
                    passed += 1
                    start = end + 1
                    name = data[following : data.find(b'"', following + 1, following + _ID)]
                    end = data.find(b"\n", start, nearest)
                if start >= stop:
                    break
            if end >= 0 and _is_needless(data, start, end, plain):
                passed += 1
                start = end + 1
                continue
            if end < 0:
                end = data.find(b"\n", start, stop)
            if end < 0:
                end = stop
                if end <= nearest and _is_needless(data, start, end, plain):
                    passed += 1
                    break
            yield passed, start, end
            passed = 0
            start = end + 1
        yield passed, stop, stop


def _is_needless(data: bytes, start: int, end: int, plain: bool) -> bool:
    """Whether a line that contains no needle, given without its newline, is that of one item.

    `plain`: it is known to be ASCII, and to disguise no letter by an escape.
    """
    item = _ITEM.match(data, start, end)
    if item is None or not data.endswith((b"},", b"}"), start, end):
        return False
    name = (item[1] or item[2])[1:]
    # Two lines joined between the title and the date of change would end without a title.
    is_dated = data.endswith((b'"},', b'"}'), start, end)
    untitled = is_dated and data.find(_TITLED, max(start, end - _TAIL), end) < 0
    if untitled or last_named(data, start, end) != name:
        return False
    if plain:
        return True
    line = data[start:end]
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return all(find(line, escape) < 0 for escape in _ESCAPES)
