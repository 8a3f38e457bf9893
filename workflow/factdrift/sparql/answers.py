"""The store of SPARQL answers: one file for each query, written when the answer arrives.

results/fetched/sparql/<host>/<2 digits>/<SHA-256 of address and query>.json.gz

A file holds address, query, time of the answer, and rows; `rows` is null for a query that was too much for
the server and is to be divided. A query with a file is not sent again; remove the file to send it again.
"""

import datetime
import gzip
import hashlib
import zlib
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict
from urllib.parse import urlsplit

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

Bindings = list[dict[str, dict[str, str]]]
"""The rows of an answer as SPARQL's JSON has them: for each bound variable `type` and `value`, for literals
perhaps `xml:lang` or `datatype`."""

Term = TypedDict(
    "Term",
    {
        "type": Literal["uri", "literal", "typed-literal", "bnode"],
        "value": str,
        "xml:lang": NotRequired[str],
        "datatype": NotRequired[str],
    },
)


class _Kept(msgspec.Struct):
    """The content of a file."""

    url: str
    query: str
    answered: str
    rows: list[dict[str, Term]] | None


class Answers:
    """The answers of the server at `url`, under `folder`."""

    def __init__(self, folder: Path, url: str) -> None:
        self.url = url
        self.folder = folder / urlsplit(url).netloc.replace(":", "_")

    @property
    def lock(self) -> Path:
        """The lock file of this server: one process at a time asks it."""
        return self.folder / ".lock"

    def get(self, query: str) -> tuple[bool, Bindings | None]:
        """Whether the query is in the store, and its rows; None if the query is to be divided.

        Raises InputError if the file is damaged, or does not have the form of an answer.
        """
        path = self._path(query)
        try:
            rows: Any = msgspec.json.decode(gzip.decompress(path.read_bytes()), type=_Kept).rows
            return True, rows
        except FileNotFoundError:
            return False, None
        except (OSError, EOFError, zlib.error, ValueError, RecursionError) as error:
            raise InputError(
                f"{path}: cannot be read as a stored answer ({error}); remove the file and run again"
            ) from error

    def put(self, query: str, rows: Bindings | None) -> None:
        """Stores the rows of a query, or None if it is to be divided; the file appears only when complete."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        kept = {"url": self.url, "query": query, "answered": now, "rows": rows}
        with atomic_path(self._path(query)) as temporary:
            temporary.write_bytes(gzip.compress(msgspec.json.encode(kept), 6, mtime=0))

    def _path(self, query: str) -> Path:
        name = hashlib.sha256(f"{self.url}\n{query}".encode()).hexdigest()
        return self.folder / name[:2] / f"{name}.json.gz"
