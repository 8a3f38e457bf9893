"""Terms in other languages: kept where they are asked for, whatever the shards and buckets."""

from typing import Any

import pyarrow.parquet as pq
import pytest

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
    *(entity(name, terms(de="alt"), lastrevid=1) for name in ("Q8", "P9")),
    *(entity(name, terms(en="new"), lastrevid=2) for name in ("Q8", "P9")),
]


@pytest.mark.parametrize(("shards", "buckets"), [(1, 1), (3, 2)])
def test_terms_of_the_configured_languages(write_dump, take_snapshot, shards, buckets):
    snapshot = take_snapshot(write_dump(*ENTITIES), shards, buckets, languages=("fr", "de", "fr"))
    assert snapshot.translations.schema == TRANSLATIONS
    assert [tuple(row.values()) for row in snapshot.translations.to_pylist()] == [
        (-7, "de", "sieben", None, []),
        (1, "de", "eins", "Zahl", ["1", "I", "i"]),
        (1, "fr", "un", None, ["I", "i"]),
        (2, "de", "2", None, []),
        (2, "fr", "2", None, []),
        (6, "de", "sechs", None, []),
    ]
    for bucket in range(buckets):
        ids = pq.read_table(snapshot.folder / "translations" / f"{bucket}.parquet")["id"].to_pylist()
        assert {abs(number) % buckets for number in ids} == {bucket}


def test_without_languages_there_is_nothing(write_dump, take_snapshot):
    assert take_snapshot(write_dump(*ENTITIES), 2, 2).translations.num_rows == 0
