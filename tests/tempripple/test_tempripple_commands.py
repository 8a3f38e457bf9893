"""The commands of the stage, on a world made by hand, and how they fail."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from support.ripples import COUNTRY, HUMAN, kinds, method_with
from support.worlds import Date, Fact, World

from factdrift.cli import main
from factdrift.core.paths import TEMPRIPPLE
from factdrift.tempripple.method import Method
from factdrift.tempripple.score import CONDITIONS

GIVEN = msgspec.to_builtins(method_with(slice=True, grammar="fitted"))
ITEM_SETTINGS = json.dumps(GIVEN)
SETTINGS = json.dumps({key: GIVEN[key] for key in GIVEN if key in Method.__struct_encode_fields__})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world in which six heads of government changed, and of them the rows."""
    directory = tmp_path_factory.mktemp("world")
    countries = [30, *range(1, 6)]
    world = World(
        new=[
            *kinds(**{f"Q{item}": (COUNTRY,) for item in countries}),
            *(Fact(item, 6, 100 + item, "2010-01-01", "2025-03-14") for item in countries),
            *(Fact(item, 6, 200 + item, "2025-03-14") for item in countries),
            *kinds(**{f"Q{200 + item}": (HUMAN,) for item in countries}),
            *(Fact(200 + item, 569, Date(f"19{item:02d}-05-01")) for item in countries),
        ],
        labels={30: "United States of America"},
        no_label=frozenset({105}),
    )
    world.write(directory)
    run(
        *("rows", "--statements", directory / "new/statements.parquet"),
        *("--entities", directory / "new/entities.parquet", "--resources", TEMPRIPPLE),
        *("--rows", directory / "rows.parquet", "--classes", directory / "edges.parquet"),
    )
    return directory


def run(verb: str, *arguments: str | Path) -> int:
    return main(["tempripple", verb, *map(str, arguments)])


def source(folder: Path) -> list[str | Path]:
    return [
        *("--rows", folder / "rows.parquet", "--classes", folder / "edges.parquet"),
        *("--entities", folder / "new/entities.parquet", "--properties", folder / "new/properties.parquet"),
        *("--resources", TEMPRIPPLE, "--settings", SETTINGS),
    ]


def test_from_rows_to_statistics(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nQ105\tsupplied name\n")
    facts, related, items = (tmp_path / f"{name}.parquet" for name in ("facts", "related", "items"))
    dropped = [tmp_path / "dropped-1.parquet", tmp_path / "dropped-2.parquet"]
    accounts = [tmp_path / "1.json", tmp_path / "2.json"]
    given = [*source(folder), "--labels", labels]
    outputs = [
        ["--dropped", path, "--account", account] for path, account in zip(dropped, accounts, strict=True)
    ]
    assert run("facts", *given, "--facts", facts, *outputs[0]) == 0
    assert run("related", *given, "--facts", facts, "--related", related, *outputs[1]) == 0
    method = ("--settings", ITEM_SETTINGS)
    assert run("items", *method, "--facts", facts, "--related", related, "--output", items) == 0
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_text('{"dump": {"file": "dump.json", "bytes": 1}, "scope": "all"}')
    capsys.readouterr()
    assert (
        run(
            *("account", *method, "--resources", TEMPRIPPLE, "--facts", facts, "--related", related),
            *("--items", items, "--dropped", *dropped, "--accounts", *accounts, "--snapshot", snapshot),
            *("--all-dropped", tmp_path / "all.parquet", "--json", tmp_path / "stats.json"),
            *("--markdown", tmp_path / "stats.md"),
        )
        == 0
    )
    said = capsys.readouterr().out
    assert "6 (s, p), 12 mutable facts, 6 related facts, 18 items." in said
    stats = json.loads((tmp_path / "stats.json").read_text())
    assert stats["table_1"]["P6"]["facts"] == 12
    assert stats["related"]["hop_1"] == {"facts": 6, "of_new": 6, "of_old": 0, "per_fact_before": 0.5}
    assert len(stats["presence"]["missing"]) > 60
    assert stats["expansion"]["hop_1"] == 6
    rows = pq.read_table(facts).to_pylist()
    assert "supplied name" in {row["o_label"] for row in rows}
    questions = {row["question"] for row in rows if row["s"] == "Q30"}
    assert "Who is the most recent head of government of the United States of America?" in questions
    assert {row["s_label"] for row in rows if row["s"] == "Q30"} == {"United States of America"}
    assert run("examples", items, "--number", "3", "--seed", "1") == 0
    shown = capsys.readouterr().out
    assert "results/tempripple.parquet --number 3 --seed 1`" in shown
    assert shown.count("### ") == 3
    assert shown.count("**") == 6
    predictions = tmp_path / "predictions.csv"
    known = pq.read_table(items).to_pylist()
    lines = [
        f"{item['item_id']},{condition},{item['task'] == 1}" for item in known for condition in CONDITIONS
    ]
    predictions.write_text("\n".join(["item_id,condition,correct", *lines]) + "\n")
    scores = tmp_path / "scores.json"
    assert run("score", items, predictions, "--facts", facts, "--draws", "20", "--json", scores) == 0
    assert "## mcnemar" in capsys.readouterr().out
    assert run("score", items, predictions, "--draws", "0") == 1
    assert "--draws 0: must be 1 or more" in capsys.readouterr().err
    accuracies = json.loads(scores.read_text())["accuracy"]
    found = {(row["items"], row["task"], row["condition"]): (row["n"], row["accuracy"]) for row in accuracies}
    assert found["all", "new", "with"] == found["discriminating", "new", "without"] == (6, 1)
    assert found["all", "new related", "with"] == (6, 0)
    assert ("discriminating", "new related", "with") not in found


def test_a_table_of_another_version_is_named(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = folder / "rows.parquet"
    line = (
        "--settings",
        ITEM_SETTINGS,
        "--facts",
        rows,
        "--related",
        rows,
        "--output",
        tmp_path / "items.parquet",
    )
    assert run("items", *line) == 1
    assert f"{rows}: its columns are not those of this version" in capsys.readouterr().err


def test_a_source_that_lacks_a_table_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = ("--facts", tmp_path / "f", "--dropped", tmp_path / "d", "--account", tmp_path / "a")
    line = ("--resources", TEMPRIPPLE, "--settings", SETTINGS, *outputs)
    assert run("facts", *line) == 1
    assert "--source tables needs --rows, --classes, --entities, --properties" in capsys.readouterr().err


def test_a_snapshot_that_knows_nothing_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = json.dumps({**json.loads(SETTINGS), "slice": False})
    outputs = ("--facts", tmp_path / "f", "--dropped", tmp_path / "d", "--account", tmp_path / "a")
    assert run("facts", *source(folder), "--settings", whole, *outputs) == 1
    assert "tempripple.slice: true" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_query_in_another_encoding_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    query = tmp_path / "query.rq"
    query.write_bytes('SELECT ?s WHERE {\n  ?s rdfs:label "Köln"@de }'.encode("latin-1"))
    assert main(["sparql", str(query)]) == 1
    assert f"{query}, line 2: byte 0xf6 is not UTF-8" in capsys.readouterr().err
