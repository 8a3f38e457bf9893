"""Terms in other languages: kept where they are asked for, whatever the shards and buckets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.shards import extract, gather_bucket, gather_snapshot

from factdrift.core.errors import InputError
from factdrift.wikidata.tables import TRANSLATIONS


def terms(**texts: str) -> dict[str, dict[str, str]]:
    return {language: {"language": language, "value": text} for language, text in texts.items()}


def entity(name: str, labels: Any, **others: Any) -> dict[str, Any]:
    kind = {"type": "item"} if name[0] == "Q" else {"type": "property", "datatype": "string"}
    return {**kind, "id": name, "labels": labels, "claims": {}, **others}


ENTITIES = [
    entity(
        "Q1",
        terms(en="one", de="eins", fr="un"),
        descriptions=terms(de="Zahl"),
        aliases={"de": [{"value": "1"}, {"value": "I"}], "mul": {"0": {"value": "I"}, "2": {"value": "i"}}},
    ),
    entity("Q2", terms(en="two", mul="2"), descriptions=[], aliases=[]),
    entity("Q3", terms(en="three")),
    entity("Q4", []),
    entity("Q5", {**terms(en="five"), "de": 5}),
    entity("Q6", terms(de="alt"), lastrevid=1),
    entity("P7", terms(en="seven", de="sieben")),
    entity("Q6", terms(de="sechs"), lastrevid=2),
]


def translations(
    dump: Path, folder: Path, shards: int, buckets: int, *languages: str
) -> list[dict[str, Any]]:
    shard_dirs = [folder / f"shard{shard}" for shard in range(shards)]
    for shard, shard_dir in enumerate(shard_dirs):
        extract(dump, shard, shards, buckets, "all", shard_dir, languages=languages)
    properties = folder / "properties.parquet"
    gather_snapshot(shard_dirs, dump, 0.0, properties, folder / "classes.parquet", folder / "snapshot.json")
    tables = []
    for bucket in range(buckets):
        outputs = [folder / f"{name}{bucket}.parquet" for name in ("statements", "entities", "translations")]
        gather_bucket(shard_dirs, bucket, properties, outputs[0], outputs[1], translations=outputs[2])
        tables.append(pq.read_table(outputs[2]))
        assert tables[-1].schema == TRANSLATIONS
        assert all(abs(number) % buckets == bucket for number in tables[-1]["id"].to_pylist())
    rows: list[dict[str, Any]] = pa.concat_tables(tables).to_pylist()
    return sorted(rows, key=lambda row: (row["id"], row["language"]))


@pytest.mark.parametrize(("shards", "buckets"), [(1, 1), (3, 2)])
def test_terms_of_the_configured_languages(write_dump, tmp_path, shards, buckets):
    rows = translations(write_dump(*ENTITIES), tmp_path, shards, buckets, "de", "fr")
    found = [(row["id"], row["language"], row["label"], row["description"], row["aliases"]) for row in rows]
    assert found == [
        (-7, "de", "sieben", None, []),
        (1, "de", "eins", "Zahl", ["1", "I", "i"]),
        (1, "fr", "un", None, ["I", "i"]),
        (2, "de", "2", None, []),
        (2, "fr", "2", None, []),
        (6, "de", "sechs", None, []),
    ]


def test_without_languages_there_is_nothing(write_dump, tmp_path):
    assert translations(write_dump(*ENTITIES), tmp_path, 2, 2) == []


def test_shards_of_different_languages_do_not_belong_together(write_dump, tmp_path):
    dump = write_dump(*ENTITIES)
    for shard, languages in enumerate((["de"], [])):
        extract(dump, shard, 2, 1, "all", tmp_path / str(shard), languages=languages)
    folders = [tmp_path / "0", tmp_path / "1"]
    with pytest.raises(InputError, match="languages"):
        gather_bucket(folders, 0, tmp_path / "p", tmp_path / "s", tmp_path / "e")
