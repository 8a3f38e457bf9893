"""Tiny tables in the sample's format, what is rendered from them, and a server with a dump."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.downloads import BODY, CONTACT, PATH
from support.server import serving

from factdrift.core.retry import RetryPolicy
from factdrift.snapshots.fetch import Client, Limits
from factdrift.snapshots.sample.account import PART_COLUMNS
from factdrift.snapshots.sample.model import entity_lines
from factdrift.snapshots.sample.tables import ENTITY_COLUMNS, FACT_COLUMNS, PROPERTY_COLUMNS, read_sample

Rows = Iterable[Mapping[str, str]]
Render = Callable[..., dict[str, dict[str, Any]]]

DATATYPES = {
    **{"P6": "wikibase-item", "P39": "wikibase-item", "P569": "time", "P1082": "quantity"},
    **{"P1448": "monolingualtext", "P1535": "wikibase-property", "P1545": "string"},
    **{"P625": "globe-coordinate", "P5137": "wikibase-lexeme"},
}
ITEMS = ("Q1", "Q2", "Q3", "Q4", "Q5")


def table(columns: str, rows: Rows) -> str:
    lines = [columns.split()]
    for row in rows:
        assert set(row) <= set(lines[0])
        lines.append([row.get(column, "test" if column == "source" else "") for column in lines[0]])
    return "".join("\t".join(line) + "\n" for line in lines)


def write_sample(folder: Path, facts: Rows = (), entities: Rows = (), properties: Rows = ()) -> Path:
    """Writes tables with the facts, the named entities and properties, and those above that are not named."""
    for part in ("entities", "facts"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    named = {row["id"] for row in (*entities, *properties)}
    plain = [{"id": item, "label": f"item {item}"} for item in ITEMS if item not in named]
    others = [
        {"id": name, "label": f"property {name}", "datatype": datatype}
        for name, datatype in DATATYPES.items()
        if name not in named
    ]
    part = {"part": "a", "complete_until": "2023-02-27", "what": "everything"}
    for name, columns, rows in (
        ("parts", PART_COLUMNS, [part]),
        ("properties", PROPERTY_COLUMNS, [*properties, *others]),
        ("entities/a", ENTITY_COLUMNS, [*entities, *plain]),
        ("facts/a", FACT_COLUMNS, facts),
    ):
        (folder / f"{name}.tsv").write_text(table(columns, rows), "utf-8")
    return folder


@pytest.fixture
def write_tables(tmp_path):
    return functools.partial(write_sample, tmp_path / "sample")


@pytest.fixture
def render(write_tables):
    """The entities of a day, by id, of such tables."""

    def rendered(day: int, facts: Rows = (), entities: Rows = (), properties: Rows = ()) -> dict[str, Any]:
        sample = read_sample(write_tables(facts, entities, properties))
        found = [json.loads(line) for line in entity_lines(sample, day)]
        return {entity["id"]: entity for entity in found}

    return rendered


@pytest.fixture
def server():
    with serving() as server:
        server.files[PATH] = BODY
        yield server


@pytest.fixture
def pauses():
    return []


@pytest.fixture
def client(pauses):
    return Client(CONTACT, RetryPolicy(tries=4), Limits(timeout=60, progress=20_000), pauses.append)
