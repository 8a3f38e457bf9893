"""Contradictions of a snapshot against an oracle, in the form that Wikidata's Mismatch Finder accepts."""

import csv
import random
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.tables import written

from factdrift.cli import main
from factdrift.core.files import read_tsv
from factdrift.core.intervals import wilson
from factdrift.wikidata.tables import PROPERTIES, STATEMENTS

Row = dict[str, Any]
RULES = {
    "item_id": r"\AQ[1-9]\d*\Z",
    "statement_guid": r"(?i)^Q\d+\$[0-9A-F]{8}\-[0-9A-F]{4}\-[0-9A-F]{4}\-[0-9A-F]{4}\-[0-9A-F]{12}$",
    "property_id": r"(?i)^P\d+$",
    "wikidata_value": r"^Q\d+$",
    "meta_wikidata_value": "^$",
    "external_value": r"^.{1,1500}$",
    "external_url": "^$",
    "type": "^(statement|qualifier)$",
}
"""config/mismatches.php of wmde/wikidata-mismatch-finder for values that are items, as of November 2026; the
header of its config/imports.php has these columns."""
HEAD, CAPITAL, TEAM = 6, 36, 54


def time(year: int, month: int = 0, day: int = 0) -> Row:
    precision = 11 if day else 10 if month else 9
    first = year * 10000 + (month or 1) * 100 + (day or 1)
    last = year * 10000 + (month or 12) * 100 + (day or (28 if month == 2 else 30 if month else 31))
    own = {"year": year, "month": month or 1, "day": day or 1, "precision": precision, "julian": False}
    return own | {"written": first, "first": first, "last": last}


def statement(subject: int, number: int, value: int, **values: Any) -> Row:
    own: Row = {"subject": subject, "property": HEAD, "position": number, "rank": "normal", "snak": "value"}
    own |= {"statement": f"Q{subject}$0F0F0F0F-0000-4000-8000-{number:012X}", "object": value}
    own |= {"start_unknown": False, "end_unknown": False, "qualifiers": [580]}
    return dict.fromkeys(STATEMENTS.names) | own | values


def snapshot(folder: Path, rows: list[Row], single: tuple[int, ...] = (HEAD,)) -> Path:
    (folder / "statements").mkdir(parents=True)
    written(folder / "statements/0-of-1.parquet", STATEMENTS, rows)
    properties = [{"id": number, "single_value": number in single} for number in (HEAD, CAPITAL, TEAM)]
    written(folder / "properties.parquet", PROPERTIES, properties)
    return folder


def found(folder: Path, *options: str) -> list[Row]:
    output = folder / "out.csv"
    assert main(["mismatches", str(folder), *options, "-o", str(output)]) == 0
    text = output.read_text("utf-8")
    assert text.splitlines()[0] == ",".join(RULES)
    rows = list(csv.DictReader(text.splitlines()))
    for row in rows:
        for name, rule in RULES.items():
            assert re.search(rule, row[name]), (name, row)
        assert row["statement_guid"].startswith(f"{row['item_id']}$")
    return rows


def test_each_kind_names_the_statement_and_what_contradicts_it(tmp_path: Path) -> None:
    rows = [
        statement(1, 0, 10, start=time(2000), end=time(1999, 5, 6)),
        statement(2, 0, 10, start=time(2000)),
        statement(2, 1, 11, start=time(2010, 4)),
        statement(3, 0, 10, start=time(2000), end=time(2010, 7, 2)),
        statement(3, 1, 11, start=time(2010, 6, 30), end=time(2011)),
    ]
    names = ("item_id", "wikidata_value", "external_value")
    assert [tuple(row[name] for name in names) for row in found(snapshot(tmp_path / "s", rows))] == [
        ("Q1", "Q10", "ends 1999-05-06, before it starts (2000)"),
        ("Q2", "Q10", "no end, though Q11 holds since 2010-04"),
        ("Q3", "Q10", "ends 2010-07-02, after Q11 began (2010-06-30)"),
    ]


@pytest.mark.parametrize(
    "rows",
    [
        # What need not be a contradiction: the days may be the same, or the other one may have ended.
        [{"start": time(2000), "end": time(2000, 5, 6)}],
        [{"start": time(1990), "end": time(2000)}, {"start": time(2000, 3, 1)}],
        [{"start": time(1990), "end": time(2000, 3, 1)}, {"start": time(2000, 3, 1)}],
        [{"start": time(1990), "end_unknown": True}, {"start": time(2000), "end": None}],
        # The same value again; a relation with several values; a deprecated statement; several terms; a part.
        [{"start": time(1990)}, {"start": time(2000), "object": 10}],
        [{"start": time(1990), "property": TEAM}, {"start": time(2000), "property": TEAM}],
        [{"start": time(1990), "rank": "deprecated"}, {"start": time(2000)}],
        [{"start": time(1990), "end": time(1980), "ends": [time(1980), time(1995)]}],
        [{"start": time(1990), "qualifiers": [580, 5102]}, {"start": time(2000)}],
        # An item that the project made up, and an id that Wikidata's form does not have.
        [statement(900_000_001, 0, 10, start=time(2000), end=time(1990))],
        [{"start": time(2000), "end": time(1990), "statement": "q1$x"}],
    ],
)
def test_what_is_no_contradiction_is_left_out(tmp_path: Path, rows: list[Row]) -> None:
    """Of one subject and relation, with the values Q10 and Q11, but for what the rows say."""
    stated = [statement(1, number, 10 + number) | row for number, row in enumerate(rows)]
    assert found(snapshot(tmp_path / "s", stated)) == []


def test_the_configuration_says_which_qualifiers_make_a_statement_partial(tmp_path: Path) -> None:
    rows = [
        statement(1, 0, 10, start=time(1990), qualifiers=[580, 5102]),
        statement(1, 1, 11, start=time(2000), qualifiers=[580, 1534]),
    ]
    folder = snapshot(tmp_path / "s", rows)
    assert found(folder) == []
    assert found(folder, "--partial", "P518", "P1534") == []
    (row,) = found(folder, "--partial", "P518")
    assert "Q11 holds since 2000" in row["external_value"]


def test_random_timelines_have_what_an_oracle_finds(tmp_path: Path) -> None:
    chance = random.Random(7)

    def moment() -> Row | None:
        year, month = chance.randint(2000, 2004), chance.randint(1, 12)
        return chance.choice([None, time(year), time(year, month), time(year, month, chance.randint(1, 28))])

    rows = [
        statement(subject, number, chance.randint(1, 3), start=moment(), end=moment(), property=relation)
        for subject, relation in product(range(1, 80), (HEAD, CAPITAL))
        for number in range(relation * 10, relation * 10 + chance.randint(1, 4))
    ]
    due = set()
    for row in rows:
        start, end = row["start"], row["end"]
        if start and end and end["last"] < start["first"]:
            due.add((row["statement"], "before it starts"))
        group = row["subject"], row["property"]
        own = [other for other in rows if (other["subject"], other["property"]) == group and other["start"]]
        own = [other for other in own if start and start["last"] < other["start"]["first"]]
        own = [other for other in own if other["object"] != row["object"]]
        if not own:
            continue
        successor = min(own, key=lambda other: (other["start"]["first"], other["position"]))
        if end and successor["start"]["last"] < end["first"]:
            due.add((row["statement"], "after"))
        if not end and not successor["end"]:
            due.add((row["statement"], "no end"))
    words = r"before it starts|after|no end"
    rows_found = found(snapshot(tmp_path / "s", rows), "--relations", "P36")
    said = {(row["statement_guid"], re.search(words, row["external_value"])[0]) for row in rows_found}  # type: ignore[index]
    assert said == due
    assert {kind for _, kind in due} == {"before it starts", "after", "no end"}


def test_what_is_no_snapshot_is_named(tmp_path: Path, refused: Callable[..., str]) -> None:
    output = tmp_path / "out.csv"
    assert "is no snapshot with statements/" in refused("mismatches", tmp_path, "-o", output)
    line = ("mismatches", snapshot(tmp_path / "s", []), "--relations", "Q6", "-o", output)
    assert "--relations: 'Q6' is no property id" in refused(*line)


def test_the_share_that_the_page_gives() -> None:
    """What reading the rows of real data found (tests/data/README.md)."""
    read = read_tsv(Path(__file__).parents[1] / "data/mismatches-read.tsv")
    right = sum(row["judgement"] == "right" for row in read)
    low, high = wilson(right, len(read))
    page = " ".join((Path(__file__).parents[2] / "docs/audit.md").read_text("utf-8").split())
    share = f"{right} of {len(read)} ({right / len(read):.0%}, {low:.0%} to {high:.0%})"
    assert share.replace("%", " %") in page
