"""The commands of the stage, on a world made by hand, and how they fail."""

import json
import re
from pathlib import Path

import msgspec
import pyarrow.parquet as pq
import pytest
from support.ripples import COUNTRY, HUMAN, kinds, method_with
from support.worlds import Date, Fact, Property, World

from factdrift.cli import main
from factdrift.core.paths import TEMPRIPPLE
from factdrift.tempripple.score import CONDITIONS
from factdrift.tempripple.settings import TempRippleSettings

GIVEN = msgspec.to_builtins(method_with(slice=True, grammar="fitted"))
ITEM_SETTINGS = json.dumps(GIVEN)
SETTINGS = json.dumps(
    {key: GIVEN[key] for key in GIVEN if key in TempRippleSettings.__struct_encode_fields__}
)


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
        labels={30: "United States of America", HUMAN: "human"},
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


def rest(folder: Path) -> list[str | Path]:
    """What `items` reads and writes besides its tables."""
    return [
        *("--resources", TEMPRIPPLE, "--dropped", folder / "d1.parquet", folder / "d2.parquet"),
        *("--accounts", folder / "facts.json", folder / "related.json"),
        *("--all-dropped", folder / "dropped.parquet", "--json", folder / "stats.json"),
    ]


def test_from_rows_to_scores(folder, tmp_path, capsys):
    labels = tmp_path / "labels.tsv"
    labels.write_text("id\tlabel\nQ105\tsupplied name\n")
    facts, related, items = (tmp_path / f"{name}.parquet" for name in ("facts", "related", "items"))
    given = [*source(folder), "--labels", labels, "--facts", facts]
    outputs = ("--dropped", tmp_path / "d1.parquet", "--account", tmp_path / "facts.json")
    assert run("facts", *given, *outputs) == 0
    presence = json.loads((tmp_path / "facts.json").read_text())["presence"]
    assert {"P498 ISO 4217 code", "Q3624078 sovereign state"} <= {*presence["missing"]}
    renamed = f"Q{COUNTRY}: 'country' is called 'item {COUNTRY}'"
    assert presence["renamed"] == [renamed]
    assert f"warning: {renamed}" in capsys.readouterr().err
    outputs = ("--dropped", tmp_path / "d2.parquet", "--account", tmp_path / "related.json")
    assert run("related", *given, "--related", related, *outputs) == 0
    tables = ("--facts", facts, "--related", related, "--output", items, *rest(tmp_path))
    assert run("items", "--settings", ITEM_SETTINGS, *tables) == 0
    assert json.loads((tmp_path / "stats.json").read_text())["sizes"]["items"] == len(pq.read_table(items))
    rows = pq.read_table(facts).to_pylist()
    assert "supplied name" in {row["o_label"] for row in rows}
    questions = {row["question"] for row in rows if row["s"] == "Q30"}
    assert "Who is the most recent head of government of the United States of America?" in questions
    assert {row["s_label"] for row in rows if row["s"] == "Q30"} == {"United States of America"}
    predictions = tmp_path / "predictions.csv"
    known = pq.read_table(items).to_pylist()
    lines = [
        f"{item['item_id']},{condition},{item['task'] == 1}" for item in known for condition in CONDITIONS
    ]
    predictions.write_text("\n".join(["item_id,condition,correct", *lines]) + "\n")
    scores = tmp_path / "scores.parquet"
    scoring = ["answer", "scores", str(items), f"--predictions={predictions}", f"--facts={facts}"]
    assert main([*scoring, "--draws=20", f"--output={scores}"]) == 0
    assert "(Table 2 of the TempRIPPLE paper)" in capsys.readouterr().out
    assert main([*scoring, "--draws=0"]) == 1
    assert "--draws" in capsys.readouterr().err
    accuracies = pq.read_table(scores).to_pylist()
    found = {(row["items"], row["task"], row["condition"]): (row["n"], row["accuracy"]) for row in accuracies}
    assert found["all", "new", "with"] == found["discriminating", "new", "without"] == (6, 1)
    assert found["all", "new related", "with"] == (6, 0)
    assert ("discriminating", "new related", "with") not in found


def test_what_cannot_be_read_is_named(folder, tmp_path, capsys):
    """A table of another version, no tables, a snapshot without the properties, one with other datatypes."""
    rows = folder / "rows.parquet"
    tables = ("--facts", rows, "--related", rows, "--output", tmp_path / "items.parquet", *rest(tmp_path))
    assert run("items", "--settings", ITEM_SETTINGS, *tables) == 1
    assert f"{rows}: its columns are not those of this version" in capsys.readouterr().err
    outputs = ("--facts", tmp_path / "f", "--dropped", tmp_path / "d", "--account", tmp_path / "a")
    assert run("facts", "--resources", TEMPRIPPLE, "--settings", SETTINGS, *outputs) == 1
    assert "--source tables needs --rows, --classes, --entities, --properties" in capsys.readouterr().err
    whole = json.dumps({**json.loads(SETTINGS), "slice": False})
    assert run("facts", *source(folder), "--settings", whole, *outputs) == 1
    assert re.search(r"lacks .*P498 ISO 4217 code.*tempripple\.slice: true", capsys.readouterr().err)
    World(new=[], properties=[Property(498)]).write(tmp_path / "other")
    other = tmp_path / "other/new/properties.parquet"
    assert run("facts", *source(folder), "--properties", other, *outputs) == 1
    assert "with the datatype wikibase-item, TempRIPPLE as external-id" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
