"""The lines of some entities of a dump, as qwikidata reads them."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
from qwikidata.claim import WikidataClaim
from qwikidata.entity import WikidataItem

from factdrift.errors import InputError
from factdrift.progress import Progress

_ID = re.compile(rb'"id"\s*:\s*"([QPL]\d+)"')
_BEGINNING = 400
"""Bytes of a line in which its id is looked for; a line without an id there is decoded."""

_OFTEN = 4096
"""Lines between two looks at the clock."""


class Entity:
    """What a line says about an entity: `label` and `description` are English, else for all languages."""

    def __init__(self, line: dict[str, Any], properties: frozenset[str] | None) -> None:
        for part in ("labels", "descriptions", "aliases", "claims", "sitelinks"):
            if not isinstance(line.get(part), dict):  # old dumps write empty maps as []
                line[part] = {}
        item = WikidataItem({**line, "type": "item"})
        self.id: str = line["id"]
        self.revision: int | None = line.get("lastrevid")
        self.label: str | None = item.get_label("en") or item.get_label("mul") or None
        self.description: str | None = item.get_description("en") or item.get_description("mul") or None
        self.aliases: list[str] = [*item.get_aliases("en"), *item.get_aliases("mul")]
        self.has_article = "enwiki" in line["sitelinks"]
        self.claims: dict[str, list[WikidataClaim]] = {
            name: list(_claims(group))
            for name, group in line["claims"].items()
            if properties is None or name in properties
        }

    def of(self, relation: str) -> list[WikidataClaim]:
        """The statements of a relation that are not deprecated."""
        return [claim for claim in self.claims.get(relation, []) if claim.rank != "deprecated"]


def _claims(group: Sequence[dict[str, Any]]) -> Iterator[WikidataClaim]:
    """The statements of a group; one that qwikidata cannot read is left out."""
    for each in group:
        try:
            yield WikidataClaim(_completed(each))
        except (KeyError, ValueError, TypeError, AttributeError):
            continue


def _completed(claim: dict[str, Any]) -> dict[str, Any]:
    """The statement with the keys that qwikidata demands and some dumps leave out."""
    claim.setdefault("type", "statement")
    claim.setdefault("id", "")
    claim.setdefault("rank", "normal")
    claim["mainsnak"].setdefault("datatype", "")
    if not isinstance(claim.get("qualifiers"), dict):
        claim["qualifiers"] = {}
    claim["qualifiers-order"] = list(claim["qualifiers"])
    for snaks in claim["qualifiers"].values():
        for snak in snaks:
            snak.setdefault("hash", "")
            snak.setdefault("datatype", "")
    for reference in claim.get("references", []):
        reference.setdefault("hash", "")
        if not isinstance(reference.get("snaks"), dict):
            reference["snaks"] = {}
        reference["snaks-order"] = list(reference["snaks"])
        for snaks in reference["snaks"].values():
            for snak in snaks:
                snak.setdefault("datatype", "")
    return claim


def read_entities(dump: Path, wanted: Mapping[str, frozenset[str] | None]) -> dict[str, Entity]:
    """The wanted entities that have a line in the dump; of several lines the one of the highest revision.

    `wanted`: id -> the relations whose statements are kept; None for all. Other lines are not decoded.
    Raises InputError if the file is damaged.
    """
    found: dict[str, Entity] = {}
    names = {name.encode() for name in wanted}
    try:
        for line in _lines(dump):
            match = _ID.search(line, 0, _BEGINNING)
            if match and match[1] not in names and b'"datavalue"' not in line[: match.start()]:
                continue
            decoded = _decoded(line)
            if decoded is None or decoded.get("id") not in wanted:
                continue
            entity = Entity(decoded, wanted[decoded["id"]])
            before = found.get(entity.id)
            if before is None or (entity.revision or 0) > (before.revision or 0):
                found[entity.id] = entity
    except (EOFError, zlib.error, OSError) as error:
        raise InputError(f"{dump}: cannot be read to its end ({error}); fetch the file again") from error
    return found


def _decoded(line: bytes) -> dict[str, Any] | None:
    """The entity of a line; None for brackets and for lines that are not JSON, which the build skips too."""
    try:
        entity = json.loads(line.strip().strip(b","))
    except ValueError:
        return None
    return entity if isinstance(entity, dict) else None


def _lines(dump: Path) -> Iterator[bytes]:
    """The lines of a plain, gzip, bzip2 or Zstandard file."""
    progress = Progress(f"audit of {dump.name}", dump.stat().st_size / 1e6, "MB", beside="lines")
    with dump.open("rb") as raw, _opened(raw, dump.suffix) as text:
        number = 0
        for number, line in enumerate(text, 1):
            yield line
            if number % _OFTEN == 0:
                progress.advance(raw.tell() / 1e6 - progress.done, beside=_OFTEN)
        progress.advance(raw.tell() / 1e6 - progress.done, beside=number % _OFTEN)
    progress.say()


def _opened(raw: IO[bytes], suffix: str) -> IO[bytes]:
    if suffix == ".gz":
        return cast("IO[bytes]", gzip.open(raw))
    if suffix == ".bz2":
        return bz2.open(raw)
    if suffix == ".zst":
        stream = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
        return io.BufferedReader(stream)
    return raw
