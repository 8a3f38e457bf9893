"""Timelines of real items, from the statements concerned and from the whole entities."""

from __future__ import annotations

import bz2
import csv
import json
import os
from collections import defaultdict
from pathlib import Path

import pytest
from support.ripples import METHOD, RELATIONS, claim, method_with, number
from support.shards import extract, gather_bucket, gather_snapshot

from factdrift.core.tables import database
from factdrift.tempripple.claims import Claim, groups
from factdrift.tempripple.immutability import Holds, Refused, immutable_value
from factdrift.tempripple.method import Method
from factdrift.tempripple.rows import make_rows
from factdrift.tempripple.table_source import TableSource
from factdrift.tempripple.timelines import Dropped, Timeline, timeline
from factdrift.tempripple.types import ids

DATA = Path(__file__).resolve().parents[1] / "data" / "timelines.tsv"
REAL_DATA = os.environ.get("FACTDRIFT_REAL_DATA")
ITEMS = (30, 36, 142, 183)
RELATIONS_ASKED = (6, 30, 35, 36, 38)

Claims = dict[tuple[int, int], list[Claim]]


def excerpt() -> Claims:
    found: Claims = defaultdict(list)
    with DATA.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            subject, relation = int(row["subject"][1:]), int(row["property"][1:])
            found[subject, relation].append(
                claim(
                    row["statement"],
                    row["object"],
                    row["start"],
                    row["end"],
                    subject=subject,
                    relation=relation,
                    preferred=row["rank"] == "preferred",
                )
            )
    return found


def from_entities(folder: Path) -> Claims:
    """The same from the entities as Wikidata served them, read as every dump is."""
    assert REAL_DATA is not None
    dump = folder / "entities.json"
    wanted = {f"Q{item}" for item in ITEMS}
    with bz2.open(Path(REAL_DATA) / "wikidata" / "entities.json.bz2", "rt", encoding="utf-8") as file:
        lines = [line.strip().rstrip(",") for line in file]
    kept = [line for line in lines if line.startswith("{") and json.loads(line)["id"] in wanted]
    dump.write_text("[\n" + ",\n".join(kept) + "\n]\n", encoding="utf-8")
    shard, tables = folder / "shard", [folder / f"{name}.parquet" for name in ("properties", "classes")]
    extract(dump, 0, 1, 1, "all", shard)
    gather_snapshot([shard], dump, 0, *tables, folder / "snapshot.json")
    statements, entities = folder / "statements.parquet", folder / "entities.parquet"
    gather_bucket([shard], 0, tables[0], statements, entities)
    rows, classes = folder / "rows.parquet", folder / "edges.parquet"
    make_rows(statements, entities, RELATIONS_ASKED, rows, classes)
    with database() as db:
        source = TableSource(db, [rows], [classes], [entities], tables[0])
        table = source.statements(ids(ITEMS), ids(RELATIONS_ASKED), ids([]))
        return {(subject, relation): found for subject, relation, found in groups(table)}


@pytest.fixture(scope="module", params=["excerpt", "entities"])
def claims(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Claims:
    if request.param == "excerpt":
        return excerpt()
    if not REAL_DATA:
        pytest.skip("FACTDRIFT_REAL_DATA names no folder with the entities")
    return from_entities(tmp_path_factory.mktemp("entities"))


def window(first: int, year: int) -> Method:
    return method_with(
        window_start=f"{first}-01-01",
        change_start=f"{year}-01-01",
        change_end=f"{year + 1}-01-01",
        snapshots_new="2022-01-01",
    )


def judged(claims: Claims, subject: int, relation: int, first: int, year: int) -> Timeline | Dropped:
    return timeline(claims[subject, relation], window(first, year))


@pytest.mark.parametrize(
    ("subject", "relation", "first", "year", "expected"),
    [
        (36, 35, 2000, 2010, [42939, 362851, 890410, 42939, 2757, 55758]),
        (183, 6, 1995, 2005, [567, 2530, 2518]),
        (183, 35, 2002, 2012, [2538, 2540, 2542, 2551]),
        (30, 6, 2007, 2017, [22686, 76, 207]),
    ],
)
def test_holders_newest_first(
    claims: Claims, subject: int, relation: int, first: int, year: int, expected: list[int]
) -> None:
    result = judged(claims, subject, relation, first, year)
    assert isinstance(result, Timeline)
    assert [holding.object for holding in result.holdings] == expected


def test_a_year_with_four_beginnings_and_a_holder_of_no_length(claims: Claims) -> None:
    result = judged(claims, 36, 35, 2000, 2010)
    assert isinstance(result, Timeline)
    assert result.changes == 4
    assert [result.returning(holding) for holding in result.holdings] == [
        True,
        False,
        False,
        True,
        False,
        False,
    ]
    assert result.holdings[2].start == result.holdings[2].end


def test_truthy_data_would_lose_the_history(claims: Claims) -> None:
    of_usa = claims[30, 6]
    assert (len(of_usa), sum(each.preferred for each in of_usa)) == (45, 1)


@pytest.mark.parametrize(
    ("subject", "relation", "first", "year", "reason"),
    [
        (142, 38, 1989, 1999, "undated"),
        (142, 36, 1930, 1940, "overlap"),
        (36, 36, 2000, 2010, "no_change"),
        (36, 36, 2015, 2025, "no_change"),
    ],
)
def test_dropped(claims: Claims, subject: int, relation: int, first: int, year: int, reason: str) -> None:
    result = judged(claims, subject, relation, first, year)
    assert isinstance(result, Dropped)
    assert result.reason == reason


def test_franc_and_euro_overlap_even_without_the_undated_statement(claims: Claims) -> None:
    rest = [each for each in claims[142, 38] if each.object != number("Q214393")]
    result = timeline(rest, window(1989, 1999))
    assert isinstance(result, Dropped)
    assert result.reason == "overlap"


def test_continents(claims: Claims) -> None:
    continent = RELATIONS.immutable[30]
    of_france = immutable_value(continent, {30: claims[142, 30]}, False, METHOD)
    assert isinstance(of_france, Holds)
    assert of_france.claim.value == "Q46"
    of_usa = immutable_value(continent, {30: claims[30, 30]}, False, METHOD)
    assert isinstance(of_usa, Refused)
    assert of_usa.reason == "several_values"
