"""A small world behind a Query Service."""

from pathlib import Path

import pytest
from support.recent import database_with_articles
from support.sparql import query_service
from support.worlds import Fact, World


def database_of(folder: Path, relations: tuple[int, ...]) -> Path:
    """The database of the newer tables that a world has written into a folder."""
    files = [folder / "new" / f"{name}.parquet" for name in ("statements", "entities", "properties")]
    return database_with_articles([files[0]], [files[1]], files[2], relations, folder)


@pytest.fixture(scope="module")
def small_database(tmp_path_factory):
    """Three items with a new head of government, two with a former head of state, January to March 2026."""
    folder = tmp_path_factory.mktemp("small")
    heads = [Fact(item, 6, 3, start=f"2026-0{month}-05") for item, month in ((30, 1), (31, 2), (33, 3))]
    states = [Fact(item, 35, 3, end="2026-02-07") for item in (32, 34)]
    World(new=sorted([*heads, *states], key=lambda fact: fact.s)).write(folder)
    return database_of(folder, (6, 35))


@pytest.fixture
def small_service(small_database):
    with query_service(small_database) as found:
        yield found
        assert found.offences == []
