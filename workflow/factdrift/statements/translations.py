"""Labels, descriptions and aliases in other languages than English, in a table of their own."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from factdrift.core.tables import parquet_writer, table_of
from factdrift.wikidata.entity import UNREADABLE, Empty, Revision, Text, each_once, term
from factdrift.wikidata.tables import TRANSLATIONS

SHARD_TRANSLATIONS = pa.schema([*TRANSLATIONS, ("revision", pa.int64()), ("line", pa.int64())])

_BUFFERED_ROWS = 65_536
_ANY_LANGUAGE = "mul"


class _Terms(msgspec.Struct, gc=False):
    """The terms of an entity in all languages."""

    labels: dict[str, Text] | Empty = []
    descriptions: dict[str, Text] | Empty = []
    aliases: dict[str, list[Text] | dict[str, Text]] | Empty = []
    lastrevid: Revision | None = None


_TERMS = msgspec.json.Decoder(_Terms)


class Translations:
    """The table of one shard, one file per bucket. Without languages the files are empty."""

    def __init__(self, folder: Path, buckets: int, languages: Sequence[str], files: ExitStack) -> None:
        self._languages = sorted(languages)
        self._rows: list[list[tuple[Any, ...]]] = [[] for _ in range(buckets)]
        self._held = 0
        self._writers = [
            files.enter_context(parquet_writer(folder / f"translations-{bucket}.parquet", SHARD_TRANSLATIONS))
            for bucket in range(buckets)
        ]

    def take(self, text: bytes, number: int, line: int) -> None:
        """Adds the terms of a line's entity; terms that cannot be decoded count as absent."""
        if not self._languages:
            return
        try:
            terms = _TERMS.decode(text)
        except UNREADABLE:
            return
        for language in self._languages:
            label, description = (_text(each, language) for each in (terms.labels, terms.descriptions))
            aliases = _aliases(terms.aliases, language)
            if label is not None or description is not None or aliases:
                row = (number, language, label, description, aliases, terms.lastrevid, line)
                self._rows[abs(number) % len(self._rows)].append(row)
                self._held += 1
        if self._held >= _BUFFERED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Writes the rows, one row group per bucket that has any."""
        for writer, rows in zip(self._writers, self._rows, strict=True):
            if rows:
                writer.write_table(table_of(rows, SHARD_TRANSLATIONS))
                rows.clear()
        self._held = 0


def _text(terms: dict[str, Text] | list[Any], language: str) -> str | None:
    """The text in the language, else the default for all languages, else None."""
    if not isinstance(terms, dict):
        return None
    text = term(terms.get(language))
    return text if text is not None else term(terms.get(_ANY_LANGUAGE))


def _aliases(terms: dict[str, list[Text] | dict[str, Text]] | list[Any], language: str) -> list[str]:
    if not isinstance(terms, dict):
        return []
    return each_once(terms.get(language, []), terms.get(_ANY_LANGUAGE, []))
