"""The store of the API's answers: one file for each entity, written when the answer arrives.

<store>/<host>/revision/<date>/Q30.json.gz   the page with its revision at the end of that day: final
<store>/<host>/current/Q42.json.gz           labels and articles of the day on which they were fetched

A file holds the request, the time of the answer, and the part of the answer about the entity. An entity with
a file is not fetched again; remove the file to fetch it again.
"""

import datetime
import gzip
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

CURRENT = "current"


def revision(date: str) -> str:
    """The kind of answer for an entity's revision at the end of a day (YYYY-MM-DD)."""
    return f"revision/{date}"


class Store:
    """The answers of the API at `url`, under `folder`."""

    def __init__(self, folder: Path, url: str) -> None:
        # Two wikis of one host differ in their paths; that of most wikis is in no name.
        address = urlsplit(url)
        name = f"{address.netloc}{address.path.removesuffix('/w/api.php')}"
        self.folder = folder / name.replace(":", "_").replace("/", "_")

    def __contains__(self, key: tuple[str, str]) -> bool:
        return self._path(*key).is_file()

    def put(self, kind: str, entity: str, request: Mapping[str, str | int], answer: Any) -> None:
        """Stores the answer about an entity; the file appears only when it is complete."""
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        text = json.dumps({"request": dict(request), "answered": now, "answer": answer}, ensure_ascii=False)
        with atomic_path(self._path(kind, entity)) as temporary:
            temporary.write_bytes(gzip.compress(text.encode("utf-8"), 6, mtime=0))

    def get(self, kind: str, entity: str) -> Any:
        """The stored answer about an entity. Raises InputError if the file is damaged."""
        path = self._path(kind, entity)
        try:
            return json.loads(gzip.decompress(path.read_bytes()))["answer"]
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(
                f"{path}: cannot be read as a stored answer ({error}); remove the file and run again"
            ) from error

    def _path(self, kind: str, entity: str) -> Path:
        return self.folder / kind / f"{entity}.json.gz"
