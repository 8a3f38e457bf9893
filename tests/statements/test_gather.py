"""Shards gathered into the tables of a snapshot: duplicates, datatypes, classes, counts and refusals."""

import errno
import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.shards import extract, gather_bucket, gather_snapshot

from factdrift.core.errors import InputError
from factdrift.statements.gather import CLASSES
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS

from .conftest import entity, snak


def value(property_id: str, text: str, datatype: str | None = "string") -> dict[str, Any]:
    return {"mainsnak": snak(property_id, "string", text, datatype=datatype), "rank": "normal"}


def link(property_id: str, *numbers: int) -> list[dict[str, Any]]:
    return [{"mainsnak": snak(property_id, "wikibase-entityid", {"id": f"Q{number}"})} for number in numbers]


def item(number: int, *claims: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return entity(f"Q{number}", *claims, **fields)


def keys(rows: list[dict[str, Any]]) -> list[str]:
    return [row["key"] for row in rows]


@pytest.mark.parametrize("shards", [1, 2])
@pytest.mark.parametrize(
    ("revisions", "winner"),
    [((5, 9), "b"), ((9, 5), "a"), ((5, 5), "b"), ((None, None), "b"), ((None, 5), "b"), ((5, None), "a")],
)
def test_the_higher_revision_counts_then_the_later_line(write_dump, take_snapshot, shards, revisions, winner):
    twice = []
    for revision, text in zip(revisions, "ab", strict=True):
        fields = {"labels": {"en": {"value": text}}} | ({"lastrevid": revision} if revision else {})
        twice.append((item(1, value("P9", text), **fields), {"id": "P9", "type": "property", **fields}))
    filler = [item(number) for number in range(100, 200)]
    dump = write_dump(twice[0][0], twice[0][1], *filler, twice[1][0], twice[1][1])
    snapshot = take_snapshot(dump, shards=shards, buckets=2)
    assert keys(snapshot.rows(1)) == [winner]
    assert snapshot.entity(1)["label"] == winner
    assert snapshot.property(9)["label"] == winner
    summary = snapshot.summary
    assert (summary["duplicates"], summary["items"], summary["properties"]) == (2, 101, 1)
    assert summary["statements"]["total"] == 1


def test_datatype_is_the_snaks_own_then_the_propertys_then_the_values(write_dump, take_snapshot):
    dump = write_dump(
        item(
            1,
            value("P1", "own", "external-id"),
            value("P1", "property's", None),
            {"mainsnak": {"snaktype": "novalue", "property": "P1"}},
            value("P2", "value's", None),
            {"mainsnak": {"snaktype": "somevalue", "property": "P2"}},
            value("P3", "value's", None),
        ),
        {"id": "P1", "type": "property", "datatype": "url"},
        {"id": "P3", "type": "property"},
    )
    snapshot = take_snapshot(dump)
    datatypes = [row["datatype"] for row in snapshot.rows(1)]
    assert datatypes == ["external-id", "url", "url", "string", None, "string"]
    assert snapshot.summary["statements"] == {
        "total": 6,
        "rank": {"normal": 6},
        "snak": {"novalue": 1, "somevalue": 1, "value": 4},
        "datatype": {"external-id": 1, "string": 2, "unknown": 1, "url": 2},
    }


@pytest.mark.parametrize("buckets", [1, 3])
def test_classes_are_items_with_superclasses_and_items_used_as_classes(write_dump, take_snapshot, buckets):
    def named(number: int, *claims: dict[str, Any]) -> dict[str, Any]:
        return item(number, *claims, labels={"en": {"value": f"label {number}"}})

    dump = write_dump(
        named(1, *link("P31", 10)),
        named(10, *link("P279", 11, 12)),
        named(11),
        named(13, *link("P279", 10), *link("P31", 10)),
        named(14),
        named(15),
        {"id": "P9", "type": "property", "claims": {"P31": link("P31", 15)}},
    )
    snapshot = take_snapshot(dump, buckets=buckets, scope="enwiki")
    assert snapshot.classes.to_pylist() == [
        {"id": 10, "label": "label 10", "superclasses": [11, 12]},
        {"id": 11, "label": "label 11", "superclasses": []},
        {"id": 12, "label": None, "superclasses": []},
        {"id": 13, "label": "label 13", "superclasses": [10]},
        {"id": 15, "label": "label 15", "superclasses": []},
    ]
    assert snapshot.summary["classes"] == 5
    assert (snapshot.summary["items"], snapshot.summary["whole_items"]) == (6, 0)


def test_schemas_and_order(write_dump, take_snapshot):
    (example,) = link("P1855", 3)
    example["qualifiers"] = {"P7": [snak("P7", "string", "c")]}
    dump = write_dump(
        item(9, value("P3", "a"), value("P1", "b")),
        item(3, value("P2", "c")),
        entity("P7", example, type="property"),
        {"id": "P2", "type": "property"},
    )
    snapshot = take_snapshot(dump)
    schemas = {
        "statements/0": STATEMENTS,
        "entities/0": ENTITIES,
        "properties": PROPERTIES,
        "classes": CLASSES,
    }
    for name, schema in schemas.items():
        assert pq.read_schema(snapshot.folder / f"{name}.parquet").equals(schema), name
    statements = pq.read_table(snapshot.folder / "statements" / "0.parquet")
    assert keys(statements.to_pylist()) == ["c", "a", "b"]
    assert pq.read_table(snapshot.folder / "entities" / "0.parquet")["id"].to_pylist() == [3, 9]
    assert snapshot.properties["id"].to_pylist() == [2, 7]
    ((example,),) = filter(None, snapshot.properties["examples"].to_pylist())
    assert (example["subject"], json.loads(example["value"])["datavalue"]["value"]) == (3, "c")
    assert json.loads((snapshot.folder / "snapshot.json").read_text()) == snapshot.summary


@pytest.mark.parametrize(
    ("dates", "newest"),
    [
        (("2023-01-28T09:00:00Z", "2023-01-31T23:59:59Z", None), "2023-01-31T23:59:59Z"),
        (("2024-02-29T00:00:00Z", "2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z"), "2024-02-29T00:00:00Z"),
        (("yesterday", "2024-05-00T00:00:00Z", ""), None),
    ],
)
def test_the_newest_date_is_one_of_the_calendar(write_dump, take_snapshot, dates, newest):
    dump = write_dump(*(item(number, modified=date) for number, date in enumerate(dates, start=1)))
    assert take_snapshot(dump, buckets=2).summary["newest"]["modified"] == newest


@pytest.mark.parametrize(
    "entities", [(), ({"id": "P1", "type": "property"},), ({"id": "L1", "type": "lexeme"},)]
)
def test_a_dump_without_items_is_refused(write_dump, take_snapshot, entities):
    with pytest.raises(InputError, match=r"dump\.json: no item in"):
        take_snapshot(write_dump(*entities))


@pytest.fixture
def gather(tmp_path):
    def run(dump: Path, *folders: Path) -> None:
        outputs = [tmp_path / name for name in ("p.parquet", "c.parquet", "s.json")]
        gather_snapshot(folders, dump, 0.0, *outputs)

    return run


def test_shards_that_do_not_belong_together(write_dump, gather, tmp_path):
    dump, other = write_dump(item(1)), write_dump(item(2), item(3), name="other.json")
    folders = [tmp_path / str(number) for number in range(6)]
    extract(dump, 0, 2, 1, "all", folders[0])
    extract(dump, 1, 2, 1, "all", folders[1])
    extract(dump, 1, 2, 2, "all", folders[2])
    extract(other, 1, 2, 1, "all", folders[3])
    extract(dump, 1, 2, 1, "enwiki", folders[4])
    extract(dump, 1, 2, 1, "all", folders[5], languages=("de",))
    gather(dump, folders[1], folders[0])
    for chosen, problem in (
        ((0,), r"shards \[0\] given"),
        ((0, 1, 1), r"shards \[0, 1, 1\] given"),
        ((0, 2), "differ in buckets"),
        ((0, 3), "differ in dump"),
        ((0, 4), "differ in scope"),
        ((0, 5), "differ in languages"),
    ):
        with pytest.raises(InputError, match=problem):
            gather(dump, *(folders[number] for number in chosen))
    with pytest.raises(InputError, match="at least one"):
        gather(dump)
    with pytest.raises(InputError, match="no complete folder"):
        gather(dump, folders[0], tmp_path / "none")


def test_a_dump_that_changed_after_it_was_read(write_dump, gather, tmp_path):
    dump = write_dump(item(1))
    extract(dump, 0, 1, 1, "all", tmp_path / "shard")
    write_dump(item(1), item(2))
    with pytest.raises(InputError, match="run again"):
        gather(dump, tmp_path / "shard")
    dump.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        gather(dump, tmp_path / "shard")


def test_shards_on_another_disk_are_moved_together(write_dump, take_snapshot, monkeypatch):
    def rename(*arguments: Any, **options: Any) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr(os, "rename", rename)
    snapshot = take_snapshot(write_dump(item(1), item(2)), shards=2)
    assert snapshot.entities["id"].to_pylist() == [1, 2]
    assert not [*snapshot.folder.glob("?-of-2")]


def test_a_bucket_out_of_range(write_dump, take_snapshot, tmp_path):
    folder = take_snapshot(write_dump(item(1)), buckets=2).folder
    with pytest.raises(InputError, match="0 to 1"):
        gather_bucket([folder / "together"], 2, folder / "properties.parquet", tmp_path / "s", tmp_path / "e")


@pytest.mark.parametrize("shards", [1, 7])
def test_bad_lines_are_named_by_their_place_in_the_dump(write_dump, take_snapshot, shards):
    lines: list[Any] = [item(number) for number in range(1, 101)]
    lines[30], lines[77] = b'{"id":"Q31",', b'{"id":"Q78","labels":{"en":{"value":"\xff"}}}'
    dump = write_dump(*lines)
    text = dump.read_bytes()
    dump.write_bytes(b"".join(gzip.compress(text[start : start + 999]) for start in range(0, len(text), 999)))
    summary = take_snapshot(dump, shards=shards, max_bad_lines=0.5).summary
    assert (summary["lines"], summary["bad_lines"], summary["items"]) == (100, 2, 98)
    for bad, number in zip(summary["first_bad_lines"], (30, 77), strict=True):
        assert bad["line"] == number + 2
        assert text.startswith(lines[number], bad["offset"])
    problem = r"2 of 100 lines .* share 0 that `max_bad_lines` .* line 32 \(byte \d+\)"
    with pytest.raises(InputError, match=problem):
        take_snapshot(dump, shards=shards)
