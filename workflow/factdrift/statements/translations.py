"""Labels, descriptions and aliases in other languages than English, in a table of their own."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from factdrift.core.tables import table_of
from factdrift.statements.shard_files import Kind, shard_table
from factdrift.wikidata.entity import UNREADABLE, Empty, Text, each_once, term
from factdrift.wikidata.tables import TRANSLATIONS

SHARD_TRANSLATIONS = TRANSLATIONS.append(pa.field("line", pa.int64()))
OF_TRANSLATIONS = Kind("translations.arrow", SHARD_TRANSLATIONS)

_BUFFERED_ROWS = 65_536
_ANY_LANGUAGE = "mul"


class _Terms(msgspec.Struct, gc=False):
    """The terms of an entity in all languages."""

    labels: dict[str, Text] | Empty = []
    descriptions: dict[str, Text] | Empty = []
    aliases: dict[str, list[Text] | dict[str, Text]] | Empty = []


_TERMS = msgspec.json.Decoder(_Terms)


class Translations:
    """The table of one shard; there is none without languages."""

    def __init__(self, folder: Path, buckets: int, languages: Sequence[str], files: ExitStack) -> None:
        self._languages = sorted(set(languages))
        self._rows: list[list[tuple[Any, ...]]] = [[] for _ in range(buckets)]
        self._held = 0
        if languages:
            self._table = files.enter_context(shard_table(folder, OF_TRANSLATIONS))

    def take(self, text: bytes, number: int, line: int) -> None:
        """Adds the terms of a line's entity; terms that cannot be decoded count as absent."""
        if not self._languages:
            return
        try:
            terms = _TERMS.decode(text)
        except UNREADABLE:
            return
        for language in self._languages:
            label, description = (_text(texts, language) for texts in (terms.labels, terms.descriptions))
            aliases = _aliases(terms.aliases, language)
            if label is not None or description is not None or aliases:
                row = (number, language, label, description, aliases, line)
                self._rows[abs(number) % len(self._rows)].append(row)
                self._held += 1
        if self._held >= _BUFFERED_ROWS:
            self.flush()

    def flush(self) -> None:
        """Writes the rows, a batch a bucket."""
        if self._held:
            parts = [table_of(rows, SHARD_TRANSLATIONS).to_batches() if rows else [] for rows in self._rows]
            self._table.write(parts)
            self._rows = [[] for _ in self._rows]
        self._held = 0


def _text(terms: dict[str, Text] | list[Any], language: str) -> str | None:
    """The text in the language, else the default for all languages, else None."""
    return term(terms.get(language), terms.get(_ANY_LANGUAGE)) if isinstance(terms, dict) else None


def _aliases(terms: dict[str, list[Text] | dict[str, Text]] | list[Any], language: str) -> list[str]:
    if not isinstance(terms, dict):
        return []
    return each_once(terms.get(language, []), terms.get(_ANY_LANGUAGE, []))
