"""Croissant metadata, judged by the library of its makers."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from .conftest import MANIFEST, Bench, update

ACCOUNT = {"longer": {}, "incomplete": [], "complete_until": {}, "facts": 9, "items": 5, "made_up_ids": 2}
SAMPLE = {"2021-01-04": ACCOUNT}


def metadata(folder: Path) -> Any:
    return json.loads((folder / "croissant.json").read_text("utf-8"))


def test_no_fault_is_found_and_records_are_read(published: Path) -> None:
    import mlcroissant

    described = {path.name: mlcroissant.Dataset(str(path / "croissant.json")) for path in published.iterdir()}
    for name, dataset in described.items():
        issues = dataset.metadata.ctx.issues
        assert not issues.errors, name
        assert dataset.metadata.ctx.is_v1_1(), name
        assert not any("differ" in warning for warning in issues.warnings), issues.warnings
        # Only who publishes knows the day.
        assert all("datePublished" in warning for warning in issues.warnings), issues.warnings
    rows = {row["data/subject"]["data/subject/id"]: row for row in described["wikifactdiff"].records("data")}
    assert sorted(rows) == [b"Q1", b"Q2", b"Q3"]
    row, wanted = rows[b"Q1"], update(1)
    assert row["data/update_prompt"].decode() == wanted["update_prompt"]
    assert [each["data/objects/label"] for each in row["data/objects"]] == [b"Ann", b"Bob"]
    (near,) = row["data/neighborhood"]
    assert near["data/neighborhood/subject.label"] == b"France"
    assert near["data/neighborhood/objects.object.label"] == b"Ada | Eve"
    assert near["data/neighborhood/objects.dist"] == 0.25
    assert [row["updates/new"] for row in described["wikifactdiff"].records("updates")] == [b"Bob"] * 3
    (first, *_) = described["klob"].records("data")
    assert [each["data/sentences/place"] for each in first["data/sentences"]] == [1, 2]
    assert len(list(described["tempripple"].records("data"))) == 3


def test_an_edition_says_its_period_and_address(bench: Bench, published: Path, tmp_path: Path) -> None:
    found = {path.name: metadata(path) for path in published.iterdir()}
    assert {name: each["temporalCoverage"] for name, each in found.items()} == {
        **dict.fromkeys(("wikifactdiff", "wfd_repl"), "2021-01-04/2023-02-27"),
        "klob": "2021-01-04",
        "tempripple": "2021-01-05/2022-12-31",
        "stream": "2015-01-01/2021-01-04",
        "corpus": "2019-01-01/2021-01-01",
    }
    assert found["wfd_repl"]["name"] == "wfd_repl_2021-01-04_2023-02-27"
    card = (published / "tempripple/README.md").read_text("utf-8")
    assert "what changed from 2021-01-05 to 2022-12-31" in card
    given = {"date": "2026-11-23", "url": "https://example.org/wfd"}
    bench.write(tmp_path / "dated", "wfd_repl.parquet", "ripples.parquet", **given)
    dated = metadata(tmp_path / "dated/wfd_repl")
    assert [dated["datePublished"], dated["url"]] == [*given.values()]
    text = (tmp_path / "dated/wfd_repl/README.md").read_text("utf-8")
    assert "  year = {2026},\n  date = {2026-11-23},\n  url = {https://example.org/wfd}," in text
    # The version is that of the tables, whatever is said of them.
    assert dated["version"] == found["wfd_repl"]["version"]
    bench.put("wfd_repl.parquet", [update(2)])
    bench.write(tmp_path / "other", "wfd_repl.parquet", "ripples.parquet")
    other = metadata(tmp_path / "other/wfd_repl")
    assert other["name"] == dated["name"]
    assert other["version"] != dated["version"]


def test_responsible_use_is_what_the_card_says(bench: Bench, published: Path, tmp_path: Path) -> None:
    required = {"dataCollection", "dataLimitations", "dataBiases", "dataUseCases", "dataSocialImpact"}
    required |= {"personalSensitiveInformation", "dataReleaseMaintenancePlan", "hasSyntheticData"}
    for folder in published.iterdir():
        found = metadata(folder)
        assert all(found[f"rai:{name}"] or name == "hasSyntheticData" for name in required)
        limits = found["rai:dataLimitations"]
        assert f"## How far to trust it\n\n{limits}\n" in (folder / "README.md").read_text("utf-8")
        dumps = [dump["name"] for dump in found["prov:wasDerivedFrom"]]
        assert dumps == ["Wikidata of 2021-01-04", "Wikidata of 2023-02-27"]
        assert found["rai:hasSyntheticData"] is False
    # A sample has made-up subjects.
    bench.manifest.write_text(json.dumps(MANIFEST | {"sample": SAMPLE}), encoding="utf-8")
    bench.write(tmp_path / "sample", "wfd_repl.parquet")
    assert metadata(tmp_path / "sample/wfd_repl")["rai:hasSyntheticData"] is True


def test_every_column_and_field_is_described(published: Path) -> None:
    for folder in published.iterdir():
        sets = metadata(folder)["recordSet"]
        for field in (field for record_set in sets for field in record_set["field"]):
            assert field["description"], field["@id"]
            for inner in field.get("subField", ()):
                assert inner["description"] or field["name"] in ("subject", "relation"), inner["@id"]
        shard = next((folder / "data").iterdir())
        assert [field["name"] for field in sets[0]["field"]] == pq.read_schema(shard).names
