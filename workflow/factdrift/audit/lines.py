"""The lines of some entities of a dump, as qwikidata reads them."""

import bz2
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
from qwikidata.claim import WikidataClaim
from qwikidata.entity import WikidataItem

from factdrift.audit.filters import PAPER_DATATYPES
from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.core.text import clean

_ID = re.compile(rb'"id"\s*:\s*"([QPL]\d+)"')
_BEGINNING = 400
"""Bytes of a line in which its id is looked for; a line without an id there is decoded."""

_OFTEN = 4096
"""Lines between two looks at the clock."""

BIRTH = frozenset({"P571", "P569", "P580", "P575", "P1619", "P6949", "P585", "P577"})
"""Relations whose date makes an entity a new one."""


class Entity:
    """An entity as a line describes it: `label` and `description` are English, else for all languages.

    `classes`, `superclasses`: the items of P31 and P279 that are not deprecated. `sitelinks`: their number.
    `symbols`: texts of P5061. `born`: the dates, not deprecated, of the relations that date an entity.
    `says_anything`: a statement has a value; `says_something`: one that no filter about objects drops.
    `claims`: the statements of the wanted relations, in the order of the line.
    """

    def __init__(self, line: dict[str, Any], properties: frozenset[str] | None) -> None:
        for part in ("labels", "descriptions", "aliases", "claims", "sitelinks"):
            if not isinstance(line.get(part), dict):  # old dumps write empty maps as []
                line[part] = {}
        item = WikidataItem({**line, "type": "item"})
        self.id: str = line["id"]
        self.revision: int | None = line.get("lastrevid")
        self.label, self.description = (
            clean(name_in("en")) or clean(name_in("mul")) or None
            for name_in in (item.get_label, item.get_description)
        )
        aliases = map(clean, [*item.get_aliases("en"), *item.get_aliases("mul")])
        self.aliases: list[str] = [alias for alias in aliases if alias]
        self.has_article = "enwiki" in line["sitelinks"]
        self.sitelinks = len(line["sitelinks"])
        self.classes, self.superclasses = (tuple(items_of(line, name)) for name in ("P31", "P279"))
        self.symbols = {
            clean(claim["mainsnak"]["datavalue"]["value"]["text"])
            for claim in line["claims"].get("P5061", [])
            if stated(claim) and isinstance(claim["mainsnak"].get("datavalue", {}).get("value"), dict)
        }
        self.best_classes = tuple(best_items(line, "P31")) if self.has_article else self.classes
        self.born = {
            name: [
                claim["mainsnak"]["datavalue"]["value"]
                for claim in group
                if stated(claim) and claim["mainsnak"].get("datavalue", {}).get("type") == "time"
            ]
            for name, group in line["claims"].items()
            if name in BIRTH
        }
        claims = [claim for group in line["claims"].values() for claim in group]
        self.says_something = any(map(_states_literal, claims))
        self.says_anything = any(map(stated, claims))
        self.claims: dict[str, list[WikidataClaim]] = {
            name: list(_claims(group))
            for name, group in line["claims"].items()
            if properties is None or name in properties
        }

    def of(self, relation: str) -> list[WikidataClaim]:
        """The statements of a relation that are not deprecated."""
        return [claim for claim in self.claims.get(relation, []) if claim.rank != "deprecated"]


def stated(claim: dict[str, Any]) -> bool:
    """Whether a raw statement is not deprecated and has a value."""
    return claim.get("rank") != "deprecated" and claim.get("mainsnak", {}).get("snaktype") == "value"


def item_number(value: Any) -> int | None:
    """The number of a raw value that is an item; negative for a property, None for anything else."""
    if not isinstance(value, dict) or value.get("entity-type") not in ("item", "property", None):
        return None
    name = value.get("id")
    if isinstance(name, str) and re.fullmatch(r"[QP]\d+", name):
        return int(name[1:]) * (-1 if name[0] == "P" else 1)
    number = value.get("numeric-id")
    if not isinstance(number, int) or "entity-type" not in value:
        return None
    return -number if value["entity-type"] == "property" else number


def items_of(line: dict[str, Any], relation: str) -> Iterator[int]:
    """The items that the statements of a relation state, as numbers."""
    claims = line["claims"] if isinstance(line.get("claims"), dict) else {}
    for claim in claims.get(relation, []):
        if stated(claim):
            number = item_number(claim["mainsnak"].get("datavalue", {}).get("value"))
            if number is not None and number > 0:
                yield number


def best_items(line: dict[str, Any], relation: str) -> Iterator[int]:
    """The items of the statements of best rank of a relation."""
    group = line["claims"].get(relation, []) if isinstance(line.get("claims"), dict) else []
    preferred = [claim for claim in group if claim.get("rank") == "preferred"]
    yield from items_of({"claims": {relation: preferred or group}}, relation)


def _states_literal(claim: dict[str, Any]) -> bool:
    """Whether a raw statement has a value that is no entity, of a datatype that filters do not drop."""
    kind = claim.get("mainsnak", {}).get("datatype") or ""
    return stated(claim) and kind not in ("", *PAPER_DATATYPES) and not kind.startswith("wikibase")


def _claims(group: Sequence[dict[str, Any]]) -> Iterator[WikidataClaim]:
    """The statements of a group; one that qwikidata cannot read is left out."""
    for claim in group:
        try:
            yield WikidataClaim(_completed(claim))
        except (KeyError, ValueError, TypeError, AttributeError):
            continue


def _completed(claim: dict[str, Any]) -> dict[str, Any]:
    """The statement with the keys that qwikidata demands and some dumps leave out."""
    claim.setdefault("type", "statement")
    claim.setdefault("id", "")
    claim.setdefault("rank", "normal")
    claim["mainsnak"].setdefault("datatype", "")
    references = ((reference, "snaks") for reference in claim.get("references", []))
    for holder, part in ((claim, "qualifiers"), *references):
        holder.setdefault("hash", "")
        if not isinstance(holder.get(part), dict):
            holder[part] = {}
        holder[f"{part}-order"] = list(holder[part])
        for snak in chain.from_iterable(holder[part].values()):
            snak.setdefault("hash", "")
            snak.setdefault("datatype", "")
    return claim


def read_entities(dump: Path, wanted: Mapping[str, frozenset[str] | None]) -> dict[str, Entity]:
    """The wanted entities that have a line in the dump; of several lines the one of the highest revision.

    `wanted`: id -> the relations whose statements are kept; None for all. Other lines are not decoded.
    Raises InputError if the file is damaged.
    """
    entities: dict[str, Entity] = {}
    names = {name.encode() for name in wanted}
    for line in lines_of(dump):
        name = id_at_the_beginning(line)
        if name and name not in names:
            continue
        decoded = decoded_line(line)
        if decoded is None or decoded.get("id") not in wanted:
            continue
        entity = Entity(decoded, wanted[decoded["id"]])
        before = entities.get(entity.id)
        if before is None or (entity.revision or 0) > (before.revision or 0):
            entities[entity.id] = entity
    return entities


def articles(dump: Path, also: Set[str] = frozenset()) -> Iterator[tuple[Entity, dict[str, Any]]]:
    """The items of a dump that have an English article, or are in `also`, without their statements, each with
    its line."""
    for line in lines_of(dump):
        name = id_at_the_beginning(line) if also else None
        if b'"enwiki"' not in line and (not also or (name is not None and name.decode() not in also)):
            continue
        decoded = decoded_line(line)
        if decoded is not None and str(decoded.get("id"))[:1] == "Q":
            entity = Entity(decoded, frozenset())
            if entity.has_article or entity.id in also:
                yield entity, decoded


def id_at_the_beginning(line: bytes) -> bytes | None:
    """The id of an entity's line; None if the line has to be decoded to know it."""
    match = _ID.search(line, 0, _BEGINNING)
    return match[1] if match and b'"datavalue"' not in line[: match.start()] else None


def decoded_line(line: bytes) -> dict[str, Any] | None:
    """The entity of a line; None for brackets and for lines that are not JSON, which the build skips too."""
    try:
        entity = json.loads(line.strip().strip(b","))
    except ValueError:
        return None
    return entity if isinstance(entity, dict) else None


def lines_of(dump: Path) -> Iterator[bytes]:
    """The lines of a plain, gzip, bzip2 or Zstandard file. Raises InputError if the file is damaged."""
    progress = Progress(f"audit of {dump.name}", dump.stat().st_size / 1e6, "MB", beside="lines")
    try:
        with dump.open("rb") as raw, _opened(raw) as text:
            number = 0
            for number, line in enumerate(text, 1):
                yield line
                if number % _OFTEN == 0:
                    progress.advance(raw.tell() / 1e6 - progress.done, beside=_OFTEN)
            progress.advance(raw.tell() / 1e6 - progress.done, beside=number % _OFTEN)
    except (EOFError, zlib.error, OSError) as error:
        raise InputError(f"{dump}: cannot be read to its end ({error}); fetch the file again") from error
    progress.say()


def _opened(raw: IO[bytes]) -> IO[bytes]:
    """The text of a file, whose first bytes say how it is packed, whatever its name is."""
    magic = raw.read(4)
    raw.seek(0)
    if magic.startswith(b"\x1f\x8b"):
        return cast("IO[bytes]", gzip.open(raw))
    if magic.startswith(b"BZh"):
        return bz2.open(raw)
    if magic == b"\x28\xb5\x2f\xfd" or magic[1:] == b"\x2a\x4d\x18":
        stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
        return io.BufferedReader(stream)
    return raw
