"""An API of Wikidata on loopback, and the command that asks it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.wikidata_api import Wiki, serving

CONTACT = "tests@example.org"


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    with serving(Wiki()) as found:
        yield found


def line(wiki: Wiki, folder: Path, *ids: str) -> list[str]:
    """The arguments of a call that writes dump.json.gz and f.parquet into a folder."""
    folder.mkdir(exist_ok=True)
    (folder / "ids.txt").write_text("".join(f"{name}\n" for name in ids), encoding="utf-8")
    given = ("--ids", folder / "ids.txt", "--date", "2019-01-01", "--contact", CONTACT, "--api", wiki.url)
    paths = ("--store", folder / "api", "--fetched", folder / "f.parquet", "-o", folder / "dump.json.gz")
    return ["snapshots", "entities", *map(str, (*given, *paths))]
