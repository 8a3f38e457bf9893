"""The bundled sample's tables are whole in themselves and true to the real data that they were taken from.

Until the sample's horizon, offices have holders, and ends have successors. Tables are read here with `csv`,
so that a mistake of the package's reader cannot hide one of them. That a value names what has a row is what
that reader checks.
"""

import csv
import datetime
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from support.dumps import lines
from support.excerpt import real as capture

from factdrift.core.paths import SAMPLE
from factdrift.snapshots.sample.account import read_parts
from factdrift.snapshots.sample.tables import read_sample
from factdrift.snapshots.sample.value_text import parse_snak, parse_time_text
from factdrift.wikidata.values import read_time, read_value

RESERVED_FROM, RESERVED_TO = 900_000_000, 900_500_000
CAPTURES = (
    *("entities.json.bz2", "head-2014-12.json.bz2", "original-bytes-2021-02.json.bz2"),
    *("pair-2018-09.json.gz", "pair-2021-06.json.gz"),
)
QUALIFIER_COLUMNS = {"start": "P580", "end": "P582", "pit": "P585"}

Row = dict[str, str]


def table(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


@cache
def tables(kind: str) -> list[tuple[str, Row]]:
    """Every row of `entities/*.tsv` or `facts/*.tsv` with a name for it, such as `facts/real.tsv:17`."""
    return [
        (f"{kind}/{path.name}:{line}", row)
        for path in sorted((SAMPLE / kind).glob("*.tsv"))
        for line, row in enumerate(table(path), 2)
    ]


@pytest.fixture(scope="module")
def entities():
    return tables("entities")


@pytest.fixture(scope="module")
def facts():
    return tables("facts")


@pytest.fixture(scope="module")
def properties():
    return {row["id"]: row for row in table(SAMPLE / "properties.tsv")}


def number(item: str) -> int:
    return int(item[1:])


def test_every_row_has_a_source_and_every_entity_a_label_or_a_note_why_not(entities, facts, properties):
    assert [place for place, row in [*entities, *facts] if not row["source"].strip()] == []
    assert [
        place
        for place, row in entities
        if not row["label"].strip() and "without an English label" not in row["note"]
    ] == []
    assert [
        key for key, row in properties.items() if not (row["source"] and row["label"] and row["description"])
    ] == []


def test_ids_are_real_or_from_the_reserved_range(entities):
    wrong = [
        place
        for place, row in entities
        if not re.fullmatch(r"Q[1-9]\d*", row["id"]) or not 0 < number(row["id"]) < RESERVED_TO
    ]
    assert wrong == []
    # Wikidata itself is far from 500 million items: nothing may lie between its range and the reserved one.
    assert [place for place, row in entities if 500_000_000 < number(row["id"]) < RESERVED_FROM] == []


def test_ids_cells_and_columns_that_need_each_other(entities, facts, properties):
    files = [*SAMPLE.glob("entities/*.tsv"), *SAMPLE.glob("facts/*.tsv")]
    assert {path.stem for path in files} == {row["part"] for row in table(SAMPLE / "parts.tsv")}
    ids = Counter(chain((row["id"] for _, row in entities), properties))
    assert [name for name, times in ids.items() if times > 1] == []
    every = [*entities, *facts, *properties.items()]
    assert [place for place, row in every if [*row.values()] != [*map(str.strip, row.values())]] == []
    most = len(table(SAMPLE / "sites.tsv")) + 1
    assert max(int(row["sitelinks"] or 0) for _, row in entities) <= most
    assert {row["rank"] for _, row in facts} <= {"", "normal", "preferred", "deprecated", "current", "latest"}
    assert [place for place, row in facts if row["end_stated"] and not row["end"]] == []
    assert [place for place, row in facts if row["rank"] == "latest" and not row["start"] + row["pit"]] == []
    whole = Counter(str({**row, "source": "", "checked": ""}) for _, row in facts)
    typed = ((row["subject"], row["value"]) for _, row in facts if row["property"] == "P31")
    classes = [(row["id"], name) for _, row in entities for name in row["classes"].split()]
    twice = Counter((*whole.elements(), *classes, *{*typed}))
    assert [fact for fact, times in twice.items() if times > 1] == []
    named = ((row["statement"], row["subject"].lower()) for _, row in facts if row["statement"])
    assert [
        name for name, subject in named if not re.fullmatch(rf"{subject}\$[0-9a-f-]{{36}}", name.lower())
    ] == []
    single = [row for row in properties.values() if "single-" in row["constraints"]]
    assert [row["id"] for row in properties.values() if row["separators"] and row not in single] == []
    languages = Counter((row["id"], row["language"]) for row in table(SAMPLE / "translations.tsv"))
    assert [key for key, times in languages.items() if times > 1 or key[1] in ("", "en")] == []


def test_no_redirect_in_a_circle_and_states_of_a_statement_one_after_another():
    sample = read_sample(SAMPLE)
    redirects = {number: entity.target for number, entity in sample.entities.items() if entity.target}
    for number in redirects:
        passed = [number]
        while passed[-1] in redirects:
            passed.append(redirects[passed[-1]])
            assert passed[-1] in sample.entities.keys() - {*passed[:-1]}
    facts = list(chain.from_iterable(sample.facts.values()))
    assert [fact for fact in facts if fact.until <= fact.since] == []
    states = sorted((fact.statement.upper(), fact.since, fact.until) for fact in facts)
    assert [new for old, new in pairwise(states) if old[0] == new[0] and old[2] > new[1]] == []


class Real(NamedTuple):
    """All captures together: the English labels that an item had, and the statements by upper-cased id."""

    labels: dict[str, set[str]]
    statements: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def real():
    labels: dict[str, set[str]] = defaultdict(set)
    statements: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for _, _, text in chain.from_iterable(lines(capture(name)) for name in CAPTURES):
        entity = msgspec.json.decode(text)
        # Empty maps are written as [] in old dumps.
        label = dict(entity["labels"] or {}).get("en")
        if label:
            labels[entity["id"]].add(label["value"])
        for statement in chain.from_iterable(dict(entity.get("claims") or {}).values()):
            statements[statement["id"].upper()].append(statement)
    for row in table(capture("../facts/labels.tsv")):
        labels[row["id"]].add(row["label"])
    return Real(labels, statements)


def stated(snak: dict[str, Any]) -> Any:
    """What a snak of a dump says, without what the tables leave out: bounds, zones, precision of places."""
    if snak["snaktype"] != "value":
        return snak["snaktype"]
    kind, value = snak["datavalue"]["type"], snak["datavalue"]["value"]
    if kind == "globecoordinate":
        return value["latitude"], value["longitude"]
    return read_time(value) if kind == "time" else read_value(kind, value).key


def written(datatype: str, text: str) -> Any:
    """The same for the text of a table."""
    snak = parse_snak(1, datatype, text)
    return stated({"snaktype": snak.kind, "datavalue": {"type": snak.type, "value": snak.value}})


def test_every_real_id_has_its_real_label(entities, real):
    wrong = [
        (place, row["id"], row["label"], sorted(real.labels[row["id"]]))
        for place, row in entities
        if number(row["id"]) < RESERVED_FROM
        and row["id"] in real.labels
        and row["label"] not in real.labels[row["id"]]
        and not row["note"].startswith("label as in ")
    ]
    assert wrong == []


def test_every_statement_id_stands_in_the_real_data_with_that_value_and_those_dates(facts, properties, real):
    wrong = []
    compared = 0
    for place, row in facts:
        if not row["statement"]:
            continue
        statements = real.statements[row["statement"].upper()]
        if row["checked"] == "copied":
            compared += 1
            value = (row["property"], written(properties[row["property"]]["datatype"], row["value"]))
            snaks = [each["mainsnak"] for each in statements]
            if value not in [(snak["property"], stated(snak)) for snak in snaks]:
                wrong.append((place, row["statement"], value))
        else:
            # A correction of what the capture holds: it says so and names where it can be checked.
            assert "the capture" in row["source"], place
        if place.startswith("facts/real.tsv"):
            texts = {name: filter(None, row[column].split("|")) for column, name in QUALIFIER_COLUMNS.items()}
            dates = {
                name: sorted(str(written("time", text)) for text in each) for name, each in texts.items()
            }
            if (row["rank"] or "normal", dates) not in [
                (each["rank"], dates_of(each)) for each in statements
            ]:
                wrong.append((place, row["statement"], dates))
    assert wrong == []
    assert compared >= 3_000


def dates_of(statement: dict[str, Any]) -> dict[str, list[str]]:
    qualifiers = dict(statement.get("qualifiers") or {})
    return {
        property_: sorted(str(stated(snak)) for snak in qualifiers.get(property_, []))
        for property_ in QUALIFIER_COLUMNS.values()
    }


HEADS = ("P6", "P35")
SINGLE_VALUED = (*HEADS, "P169", "P286", "P488", "P634", "P1037")
LONGEST_GAP = datetime.timedelta(days=60)
FIRST_DAY = datetime.date(2021, 1, 1)
REASON = "no successor"
"""A source that says so gives the reason for a missing successor: `no successor until ...`."""


class Term(NamedTuple):
    """A holder of an office: `end` is the last day of all for a term without an end."""

    start: datetime.date
    end: datetime.date
    source: str
    place: str


def day(text: str, last: bool) -> datetime.date:
    """The first or last day of a date: the last one of ends, so that only certain gaps are found."""
    _, time = parse_time_text(text)
    return datetime.date.fromisoformat(f"{time.last if last else time.first:08d}")


def offices(properties: tuple[str, ...]) -> Iterator[tuple[str, list[Term]]]:
    """The part and the holders, in the order of their starts, of every office (subject and property).

    Parts without dates of their own are left out: `edge` is made of gaps, `real` ends in June 2021.
    """
    found = defaultdict(list)
    for place, row in tables("facts"):
        part = place.removeprefix("facts/").partition(".tsv")[0]
        dated = "value" not in row["start"] + row["end"]
        if part not in ("edge", "real") and row["property"] in properties and dated:
            start = day(row["start"], False) if row["start"] else datetime.date.min
            end = day(row["end"], True) if row["end"] else datetime.date.max
            found[part, row["subject"], row["property"]].append(Term(start, end, row["source"], place))
    for (part, _, _), holders in sorted(found.items()):
        yield part, sorted(holders)


@pytest.fixture(scope="module")
def complete_until():
    return {part.name: datetime.date.fromisoformat(part.complete_until) for part in read_parts(SAMPLE)}


def test_no_country_is_without_a_head_for_long(complete_until):
    gaps = []
    for part, holders in offices(HEADS):
        before = holders[0]
        for after in holders[1:]:
            gap = after.start - before.end if before.end < after.start else datetime.timedelta(0)
            known = after.start >= FIRST_DAY and before.end <= complete_until[part]
            if gap > LONGEST_GAP and known and REASON not in before.source:
                gaps.append(f"{before.place}, {after.place}: {gap.days} days")
            before = max(before, after, key=lambda term: term.end)
    assert gaps == []


def test_every_end_before_the_horizon_has_a_successor_or_a_reason(complete_until):
    wanting = []
    for part, holders in offices(SINGLE_VALUED):
        last = max(holders, key=lambda term: term.end)
        if FIRST_DAY <= last.end < complete_until[part] and REASON not in last.source:
            wanting.append(last.place)
    assert wanting == []


def test_nobody_leaves_before_taking_office():
    terms = [term for _, holders in offices(SINGLE_VALUED) for term in holders]
    assert [term.place for term in terms if term.start > term.end] == []
