"""Shards gathered into the tables of a snapshot: duplicates, datatypes, classes, counts and refusals."""

import errno
import gzip
import os
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.shards import extract, gather_bucket, gather_snapshot

from factdrift.core.errors import InputError
from factdrift.wikidata.tables import TRANSLATIONS

from .conftest import entity, snak


def value(property_id: str, text: str, datatype: str | None = "string") -> dict[str, Any]:
    return {"mainsnak": snak(property_id, "string", text, datatype=datatype), "rank": "normal"}


def link(property_id: str, *numbers: int) -> list[dict[str, Any]]:
    return [{"mainsnak": snak(property_id, "wikibase-entityid", {"id": f"Q{number}"})} for number in numbers]


def item(number: int, *claims: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return entity(f"Q{number}", *claims, **fields)


def test_the_higher_revision_counts_then_the_later_line(write_dump, take_snapshot):
    cases = [(5, 9), (9, 5), (5, 5), (None, None), (None, 5), (5, None)]
    winners = dict(enumerate("babbba", start=1))
    lines: list[list[dict[str, Any]]] = [[], []]
    for number, revisions in enumerate(cases, start=1):
        for place, revision in enumerate(revisions):
            text = "ab"[place]
            fields = {"labels": {"en": {"value": text}}} | ({"lastrevid": revision} if revision else {})
            lines[place].append(item(number, value("P9", text), **fields))
            lines[place].append({"id": f"P{number}", "type": "property", **fields})
    filler = [item(number) for number in range(100, 200)]
    snapshot = take_snapshot(write_dump(*lines[0], *filler, *lines[1]), shards=2, buckets=2)
    for table in (snapshot.properties, snapshot.entities.slice(0, len(cases))):
        assert dict(zip(*(table[name].to_pylist() for name in ("id", "label")), strict=True)) == winners
    assert snapshot.statements["key"].to_pylist() == list(winners.values())
    summary = snapshot.summary
    assert (summary["duplicates"], summary["items"], summary["properties"]) == (12, 106, 6)
    assert summary["statements"]["total"] == 6


def test_datatype_is_the_snaks_own_then_the_propertys_then_the_values(write_dump, take_snapshot):
    dump = write_dump(
        item(
            *(1, value("P1", "own", "external-id"), value("P1", "property's", None)),
            *({"mainsnak": {"snaktype": "novalue", "property": "P1"}}, value("P2", "value's", None)),
            *({"mainsnak": {"snaktype": "somevalue", "property": "P2"}}, value("P3", "value's", None)),
        ),
        {"id": "P1", "type": "property", "datatype": "url"},
        {"id": "P3", "type": "property"},
    )
    snapshot = take_snapshot(dump)
    datatypes = snapshot.statements["datatype"].to_pylist()
    assert datatypes == ["external-id", "url", "url", "string", None, "string"]
    assert snapshot.summary["statements"] == {
        "total": 6,
        "rank": {"normal": 6},
        "snak": {"novalue": 1, "somevalue": 1, "value": 4},
        "datatype": {"external-id": 1, "string": 2, "unknown": 1, "url": 2},
    }


def test_classes_are_items_with_superclasses_and_items_used_as_classes(write_dump, take_snapshot):
    def named(number: int, *claims: dict[str, Any]) -> dict[str, Any]:
        return item(number, *claims, labels={"en": {"value": f"label {number}"}})

    dump = write_dump(
        named(1, *link("P31", 10)),
        named(10, *link("P279", 11, 12)),
        named(11),
        named(13, *link("P279", 10), *link("P31", 10)),
        named(14, {"mainsnak": snak("P31", None, "somevalue")}),
        named(15),
        {"id": "P9", "type": "property", "claims": {"P31": link("P31", 15)}},
    )
    snapshot = take_snapshot(dump, buckets=3, scope="enwiki")
    assert snapshot.classes.to_pylist() == [
        {"id": number, "label": f"label {number}" if number != 12 else None, "superclasses": above}
        for number, above in ((10, [11, 12]), (11, []), (12, []), (13, [10]), (15, []))
    ]
    assert snapshot.summary["classes"] == 5
    assert (snapshot.summary["items"], snapshot.summary["whole_items"]) == (6, 0)


@pytest.mark.parametrize(
    ("dates", "newest"),
    [
        (("2024-02-29T00:00:00Z", "2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z"), "2024-02-29T00:00:00Z"),
        (("yesterday", "2024-05-00T00:00:00Z", "", None), None),
    ],
)
def test_the_newest_date_is_one_of_the_calendar(write_dump, take_snapshot, dates, newest):
    dump = write_dump(*(item(number, modified=date) for number, date in enumerate(dates, start=1)))
    assert take_snapshot(dump, buckets=2).summary["newest"]["modified"] == newest


def test_shards_that_do_not_belong_together_or_to_the_dump(write_dump, tmp_path):
    def gather(dump: Path, *folders: Path) -> None:
        outputs = [tmp_path / name for name in ("p.parquet", "c.parquet", "s.json")]
        gather_snapshot(folders, dump, 0.0, *outputs)

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
        *(((0,), r"shards \[0\] given"), ((0, 1, 1), r"shards \[0, 1, 1\] given")),
        *(((0, 2), "differ in buckets"), ((0, 3), "differ in dump")),
        *(((0, 4), "differ in scope"), ((0, 5), "differ in languages")),
    ):
        with pytest.raises(InputError, match=problem):
            gather(dump, *(folders[number] for number in chosen))
    with pytest.raises(InputError, match="at least one"):
        gather(dump)
    with pytest.raises(InputError, match="no complete folder"):
        gather(dump, folders[0], tmp_path / "none")
    with pytest.raises(InputError, match="0 to 0"):
        gather_bucket(folders[:2], 1, tmp_path / "p.parquet", tmp_path / "s", tmp_path / "e")
    # The dump has changed after it was read.
    write_dump(item(1), item(2))
    with pytest.raises(InputError, match="build again"):
        gather(dump, folders[1], folders[0])
    dump.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        gather(dump, folders[1], folders[0])


def test_shards_on_another_disk_are_moved_together(write_dump, take_snapshot, monkeypatch):
    renamed = os.rename

    def rename(source: Any, target: Any, **options: Any) -> None:
        if Path(source).parent != Path(target).parent:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        renamed(source, target, **options)

    monkeypatch.setattr(os, "rename", rename)
    snapshot = take_snapshot(write_dump(item(1), item(2)), shards=2)
    assert snapshot.entities["id"].to_pylist() == [1, 2]
    assert not [*snapshot.folder.glob("?-of-2")]


def test_bad_lines_are_named_by_their_place_in_the_dump(write_dump, take_snapshot):
    lines: list[Any] = [item(number) for number in range(1, 101)]
    lines[30], lines[77] = b'{"id":"Q31",', b'{"id":"Q78","labels":{"en":{"value":"\xff"}}}'
    dump = write_dump(*lines)
    text = dump.read_bytes()
    dump.write_bytes(b"".join(gzip.compress(text[start : start + 999]) for start in range(0, len(text), 999)))
    summary = take_snapshot(dump, shards=7, max_bad_lines=0.5).summary
    assert (summary["lines"], summary["bad_lines"], summary["items"]) == (100, 2, 98)
    for bad, number in zip(summary["first_bad_lines"], (30, 77), strict=True):
        assert bad["line"] == number + 2
        assert text.startswith(lines[number], bad["offset"])
    problem = r"2 of 100 lines .* share 0 that `max_bad_lines` .* line 32 \(byte \d+\)"
    with pytest.raises(InputError, match=problem):
        take_snapshot(dump)


def terms(**texts: str) -> dict[str, dict[str, str]]:
    return {language: {"language": language, "value": text} for language, text in texts.items()}


def test_terms_of_the_configured_languages(write_dump, take_snapshot):
    one = {"value": "I"}
    dump = write_dump(
        entity(
            "Q1",
            labels=terms(en="one", de="eins", fr="un"),
            descriptions=terms(de="Zahl"),
            aliases={"de": [{"value": "1"}, one], "mul": {"0": one, "2": {"value": "i"}}},
        ),
        entity("Q2", labels=terms(en="two", mul="2"), descriptions=[], aliases=[]),
        entity("Q3", labels=terms(en="three")),
        entity("Q4", labels=[]),
        entity("Q5", labels={**terms(en="five"), "de": 5}),
        entity("P7", labels=terms(en="seven", de="sieben"), type="property"),
        # Only the higher revision counts.
        *(entity(name, labels=terms(de="alt"), lastrevid=1) for name in ("Q6", "Q8")),
        entity("P9", labels=terms(de="alt"), lastrevid=1, type="property"),
        entity("Q6", labels=terms(de="sechs"), lastrevid=2),
        entity("Q8", labels=terms(en="new"), lastrevid=2),
        entity("P9", labels=terms(en="new"), lastrevid=2, type="property"),
    )
    snapshot = take_snapshot(dump, 3, 2, languages=("fr", "de", "fr"))
    assert snapshot.translations.schema == TRANSLATIONS
    assert [tuple(row.values()) for row in snapshot.translations.to_pylist()] == [
        *((-7, "de", "sieben", None, []), (1, "de", "eins", "Zahl", ["1", "I", "i"])),
        *((1, "fr", "un", None, ["I", "i"]), (2, "de", "2", None, []), (2, "fr", "2", None, [])),
        (6, "de", "sechs", None, []),
    ]
    for bucket in range(2):
        ids = pq.read_table(snapshot.folder / "translations" / f"{bucket}.parquet")["id"].to_pylist()
        assert {abs(number) % 2 for number in ids} == {bucket}
