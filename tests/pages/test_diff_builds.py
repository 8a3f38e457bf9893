"""Two builds compared: nothing if they are the same, else every difference with its cause."""

import copy
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.audit_dumps import UPDATE

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.pages.compare import CHANGES, DIFFERENCES, cause_of, causes, differences

Row = dict[str, Any]

MANIFEST: Row = {
    "dates": {"old": "2021-01-04", "new": "2023-02-27"},
    "dumps": {"2021-01-04": {"sha1": "a"}},
    "configuration": {"variant": "paper", "grammar": "fitted", "seed": 0, "shards": 1}
    | {"method": {"start": "P580"}},
    "versions": {"duckdb": "1"},
    "rows": {"x.parquet": 3},
}


def update(subject: str, **changes: Any) -> Row:
    row = copy.deepcopy(UPDATE)
    row["subject"]["id"] = subject
    for value in row["objects"]:
        for name in ("description", "point_in_time", "old_statement"):
            value[name] = value[name] or ""
    row["subject"]["description"] = row["relation"]["description"] = ""
    fact = {"subject": {"id": "Q9"}, "dist": 0.5, "objects": [{"raw": "Q5", "prompt": "Rome is in ____"}]}
    row["neighborhood"] = row["random_neighborhood"] = [fact]
    row |= {"scenario": "ReplaceObject", "split": "test", "subject_popularity": 1.0}
    return row | changes


def build(folder: Path, rows: list[Row], manifest: Row | None = MANIFEST) -> Path:
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "wikifactdiff.parquet")
    if manifest is not None:
        (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return folder


def compared(before: Path, after: Path) -> list[Row]:
    why = causes(before / "manifest.json", after / "manifest.json")
    tables = (folder / "wikifactdiff.parquet" for folder in (before, after))
    found = differences(*tables, lambda change: cause_of(change, why))
    assert found.schema == DIFFERENCES
    rows: list[Row] = found.to_pylist()
    return rows


def test_the_same_build_gives_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [update("Q1"), update("Q2")]
    first, second = build(tmp_path / "a", rows), build(tmp_path / "b", rows[::-1])
    assert main(["diff-builds", str(first), str(second), "-o", str(tmp_path / "out")]) == 0
    assert "no difference" in capsys.readouterr().out
    assert pq.read_metadata(tmp_path / "out/differences.parquet").num_rows == 0


def test_equal_values_of_a_group_are_compared_in_their_order(tmp_path: Path) -> None:
    twice, once = update("Q1"), update("Q1")
    again = copy.deepcopy(twice["objects"][0]) | {"rule": "another"}
    twice["objects"].append(again)
    (row,) = compared(build(tmp_path / "a", [twice]), build(tmp_path / "b", [once]))
    assert (row["change"], row["rule_before"]) == ("object removed", "another")


def test_every_kind_of_change(tmp_path: Path) -> None:
    flipped = update("Q2", scenario="Other")
    flipped["objects"][0].update(decision="static", rule="still_holds")
    fewer = update("Q3")
    del fewer["objects"][1]
    renamed = update("Q4", update_prompt="Who heads Atlantis? ____", split="train", subject_popularity=2.0)
    renamed["objects"][0]["label"] = "Marta K."
    renamed["neighborhood"][0]["objects"][0]["raw"] = "Q6"
    renamed["subject"]["label"] = "Atlantis (island)"
    before = [update("Q1"), update("Q2"), update("Q3"), update("Q4")]
    after = [flipped, fewer, renamed, update("Q5")]
    for row in after:
        row["extra"] = 1
    found = compared(build(tmp_path / "a", before), build(tmp_path / "b", after))
    counts = Counter((row["change"], row["subject"], row["field"]) for row in found)
    expected = {
        "Q1": [("removed", "ReplaceObject")],
        "Q2": [("label", "decision"), ("object", "rule"), ("field", "scenario")],
        "Q3": [("object removed", None)],
        "Q4": [("sentence", "update_prompt"), ("popularity", "subject_popularity"), ("object", "label")]
        + [("neighbours", name) for name in ("neighborhood", "random_neighborhood")]
        + [("split", "split"), ("field", "subject")],
        "Q5": [("added", "ReplaceObject")],
        None: [("column", "extra")],
    }
    assert counts == Counter((change, of, field) for of, rows in expected.items() for change, field in rows)
    (flip,) = [row for row in found if row["change"] == "label"]
    values = [flip[name] for name in ("object", "before", "after", "rule_before", "rule_after")]
    assert values == ["Q11", "obsolete", "static", "ended_inside", "still_holds"]
    back = compared(tmp_path / "b", tmp_path / "a")
    turned = {"removed": "added", "added": "removed", "object removed": "object added"}
    changes = Counter(turned.get(row["change"], row["change"]) for row in found)
    assert changes == Counter(row["change"] for row in back)


def test_neighbour_facts_in_other_words_are_sentences(tmp_path: Path) -> None:
    """So that another grammar is no cause of other neighbours, and both sides are in the table."""
    reworded, farther = update("Q1"), update("Q2")
    for row in (reworded, farther):
        row["random_neighborhood"] = copy.deepcopy(row["random_neighborhood"])
    reworded["neighborhood"][0]["objects"][0]["prompt"] = "Rome belongs to ____"
    farther["random_neighborhood"][0]["dist"] = 0.75
    other = copy.deepcopy(MANIFEST)
    other["configuration"] |= {"grammar": "plain"}
    before = build(tmp_path / "a", [update("Q1"), update("Q2")])
    found = compared(before, build(tmp_path / "b", [reworded, farther], other))
    keys = ("change", "subject", "field", "before", "after", "cause")
    others, words = "none of the keys that differ", ("Q9 Q5 Rome is in ____", "Q9 Q5 Rome belongs to ____")
    assert [tuple(row[key] for key in keys) for row in found] == [
        ("neighbours", "Q2", "random_neighborhood", "Q9 Q5 0.5", "Q9 Q5 0.75", others),
        ("sentence", "Q1", "neighborhood", *words, "configuration.grammar"),
    ]


def test_causes(tmp_path: Path) -> None:
    other = copy.deepcopy(MANIFEST)
    other["configuration"] |= {"grammar": "plain", "shards": 64, "method": {"start": "P571"}, "seed": 1}
    other["rows"] = {}
    paths = []
    for name, manifest in (("a", MANIFEST), ("b", other)):
        paths.append(tmp_path / f"{name}.json")
        paths[-1].write_text(json.dumps(manifest), "utf-8")
    found = causes(*paths)
    assert found is not None
    assert [(each.key, each.before, each.after) for each in found] == [
        ("configuration.grammar", "fitted", "plain"),
        ("configuration.method.start", "P580", "P571"),
        ("configuration.seed", "0", "1"),
    ]
    assert cause_of("label", found) == "configuration.method.start"
    assert cause_of("sentence", found) == "configuration.grammar, configuration.method.start"
    assert cause_of("split", found) == "configuration.method.start, configuration.seed"
    assert cause_of("label", []) == "the manifests agree"
    assert causes(tmp_path / "none.json", paths[0]) is None
    assert cause_of("label", None) == "no manifest"


def test_the_table_of_causes_names_kinds_and_keys_that_exist() -> None:
    from factdrift.core.files import read_yaml
    from factdrift.core.paths import RESOURCES, SCHEMA

    lines = (RESOURCES / "causes.tsv").read_text("utf-8").splitlines()[1:]
    known = read_yaml(SCHEMA)["properties"]
    for line in lines:
        key, changes = line.split("\t")
        assert set(changes.split()) <= {"all", *CHANGES}
        part, _, name = key.partition(".")
        assert name in known if part == "configuration" else part in MANIFEST


def test_the_command_counts_kinds_and_names_causes(tmp_path, capsys):
    flipped = update("Q1", update_prompt="Another ____")
    flipped["objects"][0].update(decision="static", rule="still_holds")
    first = build(tmp_path / "a", [update("Q1")])
    second = build(tmp_path / "b", [flipped], {**MANIFEST, "versions": {"duckdb": "2"}})
    out = tmp_path / "out"
    for _ in range(2):
        assert main(["diff-builds", str(first), str(second), "-o", str(out)]) == 0
    assert capsys.readouterr().out.splitlines()[-6:] == [
        f"{second}/wikifactdiff.parquet: 1 updates",
        "  label                   1  versions.duckdb",
        "    obsolete (ended_inside) -> static (still_holds): 1",
        "  object                  1  versions.duckdb",
        "  sentence                1  versions.duckdb",
        "manifests: versions.duckdb: 1 -> 2",
    ]
    assert pq.read_metadata(out / "differences.parquet").num_rows == 3


def test_faults(tmp_path: Path, refused: Callable[..., str]) -> None:
    first = build(tmp_path / "a", [update("Q1")], None)
    assert "wikifactdiff.parquet: no such file; name a folder" in refused("diff-builds", first, tmp_path)
    second = build(tmp_path / "b", [update("Q1")])
    (first / "manifest.json").write_text("{", "utf-8")
    assert f"{first}/manifest.json: is no JSON" in refused("diff-builds", first, second)
    (first / "manifest.json").unlink()
    (second / "wikifactdiff.parquet").write_text("rows")
    assert f"{second}/wikifactdiff.parquet: " in refused("diff-builds", first, second)
    pq.write_table(pa.table({"a": [1]}), tmp_path / "other.parquet")
    with pytest.raises(InputError, match="no column objects, relation"):
        differences(first / "wikifactdiff.parquet", tmp_path / "other.parquet", str)
