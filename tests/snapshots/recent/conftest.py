"""A small world behind a Query Service."""

from __future__ import annotations

import pytest
from support.recent import database_with_articles
from support.sparql import query_service
from support.worlds import Fact, World


@pytest.fixture(scope="module")
def small_database(tmp_path_factory):
    """Three items with a new head of government, two with a former head of state, January to March 2026."""
    folder = tmp_path_factory.mktemp("small")
    heads = [Fact(item, 6, 3, start=f"2026-0{month}-05") for item, month in ((30, 1), (31, 2), (33, 3))]
    states = [Fact(item, 35, 3, end="2026-02-07") for item in (32, 34)]
    World(new=sorted([*heads, *states], key=lambda fact: fact.s)).write(folder)
    tables = folder / "new"
    return database_with_articles(
        [tables / "statements.parquet"],
        [tables / "entities.parquet"],
        tables / "properties.parquet",
        (6, 35),
        folder,
    )


@pytest.fixture
def small_service(small_database):
    with query_service(small_database) as found:
        yield found
        assert found.offences == []
