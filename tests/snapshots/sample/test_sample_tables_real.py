"""The bundled sample's tables are whole in themselves and true to the real data that they were taken from.

They are read here with `csv`, so that a mistake of the package's reader cannot hide one of the tables.
That no id stands twice or without a row is what that reader checks, in test_sample_tables.py.
"""

import bz2
import csv
import gzip
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from factdrift.core.paths import SAMPLE
from factdrift.snapshots.sample.value_text import parse_snak

RESERVED_FROM, RESERVED_TO = 900_000_000, 900_500_000
REAL_DATA = os.environ.get("FACTDRIFT_REAL_DATA")
CAPTURES = (
    *("entities.json.bz2", "head-2014-12.json.bz2", "original-bytes-2021-02.json.bz2"),
    *("pair-2018-09.json.gz", "pair-2021-06.json.gz"),
)
QUALIFIER_COLUMNS = {"start": "P580", "end": "P582", "pit": "P585"}

needs_real_data = pytest.mark.skipif(
    REAL_DATA is None, reason="FACTDRIFT_REAL_DATA does not name the folder of the real data"
)

Row = dict[str, str]


def table(path: Path) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


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


# Whole in themselves


def test_there_are_enough_subjects_statements_and_properties(facts):
    assert len({row["subject"] for _, row in facts}) >= 500
    assert len(facts) >= 4_000
    assert len({row["property"] for _, row in facts}) >= 80


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


def test_nine_of_ten_subjects_have_an_id_of_wikidata(facts):
    subjects = {row["subject"] for _, row in facts}
    assert sum(number(subject) < RESERVED_FROM for subject in subjects) >= 0.9 * len(subjects)


def test_every_looked_up_id_names_its_sources(entities):
    wrong = [
        place
        for place, row in entities
        if bool(row["id_votes"]) != bool(row["id_sources"])
        or (row["id_votes"] and (number(row["id"]) >= RESERVED_FROM or int(row["id_votes"]) < 1))
    ]
    assert wrong == []


def test_every_kind_of_constraint_and_qualifier_class_occurs(properties):
    dates = set(QUALIFIER_COLUMNS.values())
    single = [set(row["separators"].split()) for row in properties.values() if "single" in row["constraints"]]
    assert {row["constraints"] for row in properties.values()} == {
        *("", "single-value", "single-best-value", "symmetric")
    }
    assert any(not separators for separators in single)
    assert any(separators & dates for separators in single)
    assert any(separators and not separators & dates for separators in single)
    types = [set(row["types"].split()) for row in properties.values()]
    restrictive, not_restrictive, account, meta = "Q61719275", "Q61719274", "Q105388954", "Q51118821"
    assert any(restrictive in own and not_restrictive not in own for own in types)
    assert any({restrictive, not_restrictive} <= own for own in types)
    assert any(account in own for own in types)
    assert any(meta in own for own in types)


# True to the real data


class Real(NamedTuple):
    """All captures together: the English labels that an item had, and the statements by upper-cased id."""

    labels: dict[str, set[str]]
    statements: dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module")
def real():
    labels: dict[str, set[str]] = defaultdict(set)
    statements: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entity in chain.from_iterable(entities_of(Path(REAL_DATA, "wikidata", name)) for name in CAPTURES):
        # Empty maps are written as [] in old dumps.
        label = dict(entity["labels"] or {}).get("en")
        if label:
            labels[entity["id"]].add(label["value"])
        for statement in chain.from_iterable(dict(entity.get("claims") or {}).values()):
            statements[statement["id"].upper()].append(statement)
    for row in table(Path(REAL_DATA, "facts", "labels.tsv")):
        labels[row["id"]].add(row["label"])
    return Real(labels, statements)


def entities_of(path: Path) -> Iterator[dict[str, Any]]:
    opened = bz2.open if path.suffix == ".bz2" else gzip.open
    with opened(path, "rt", encoding="utf-8") as lines:
        texts = (line.strip().strip(",") for line in lines)
        yield from (json.loads(text) for text in texts if text not in ("", "[", "]"))


def stated(snak: dict[str, Any]) -> tuple[Any, ...]:
    """What a snak of a dump says, without what the tables leave out: bounds, zones, precision of places."""
    if snak["snaktype"] != "value":
        return (snak["snaktype"],)
    value = snak["datavalue"]["value"]
    match snak["datavalue"]["type"]:
        case "wikibase-entityid":
            prefix = {"item": "Q", "property": "P"}[value["entity-type"]]
            return (f"{prefix}{value['numeric-id']}",)
        case "time":
            sign, year, month, day = re.match(r"([+-])0*(\d+)-(\d\d)-(\d\d)T", value["time"]).groups()
            julian = value["calendarmodel"].endswith("Q1985786")
            fields = (int(sign + year), int(month), int(day))
            return (*fields, value["precision"], julian)
        case "quantity":
            return (value["amount"], value["unit"].rpartition("/")[2])
        case "monolingualtext":
            return (value["language"], value["text"])
        case "globecoordinate":
            return (value["latitude"], value["longitude"])
    return (value,)


def written(datatype: str, text: str) -> tuple[Any, ...]:
    """The same for the text of a table."""
    snak = parse_snak(1, datatype, text)
    return stated({"snaktype": snak.kind, "datavalue": {"type": snak.type, "value": snak.value}})


@needs_real_data
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


@needs_real_data
def test_every_statement_id_stands_in_the_real_data_with_that_value(facts, properties, real):
    wrong = []
    compared = 0
    for place, row in facts:
        if not row["statement"]:
            continue
        if row["checked"] != "copied":
            # A correction of what the capture holds: it says so and names where it can be checked.
            assert "the capture" in row["source"], place
            continue
        compared += 1
        value = written(properties[row["property"]]["datatype"], row["value"])
        snaks = [statement["mainsnak"] for statement in real.statements[row["statement"].upper()]]
        if not any(snak["property"] == row["property"] and stated(snak) == value for snak in snaks):
            wrong.append((place, row["statement"], value, [stated(snak) for snak in snaks]))
    assert wrong == []
    assert compared >= 3_000


@needs_real_data
def test_dates_and_ranks_were_carried_over_as_they_were(facts, real):
    wrong = []
    for place, row in facts:
        if row["statement"] and place.startswith("facts/real.tsv"):
            texts = {name: filter(None, row[column].split("|")) for column, name in QUALIFIER_COLUMNS.items()}
            dates = {
                name: sorted(str(written("time", text)) for text in each) for name, each in texts.items()
            }
            said = [(each["rank"], dates_of(each)) for each in real.statements[row["statement"].upper()]]
            if (row["rank"] or "normal", dates) not in said:
                wrong.append((place, row["statement"], dates))
    assert wrong == []


def dates_of(statement: dict[str, Any]) -> dict[str, list[str]]:
    qualifiers = dict(statement.get("qualifiers") or {})
    return {
        property_: sorted(str(stated(snak)) for snak in qualifiers.get(property_, []))
        for property_ in QUALIFIER_COLUMNS.values()
    }
