"""The command line of the stage."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.cli import main
from factdrift.core.tables import write_parquet
from factdrift.wikidata.tables import ENTITIES, PROPERTIES

BUNDLED = str(Path(__file__).parents[2] / "resources" / "templates" / "templates.tsv")


def run(*arguments: str | Path) -> int:
    return main(["verbalize", *map(str, arguments)])


def test_templates_and_literals_are_written(tmp_path):
    columns = ("property", "datatype", "object", "key", "old_json", "new_json", "dropped_by")
    row = (36, "string", None, "k", None, '"a text"', None)
    write_parquet(
        pa.table([pa.array([value]) for value in row], list(columns)), updates := tmp_path / "u.parquet"
    )
    write_parquet(PROPERTIES.empty_table(), properties := tmp_path / "p.parquet")
    write_parquet(ENTITIES.empty_table(), entities := tmp_path / "e.parquet")
    output = tmp_path / "out.parquet"

    both = ("--new", properties, "--old", properties)
    run("templates", "--updates", updates, *both, "--templates", BUNDLED, "-o", output)
    assert pq.read_table(output)["source"].to_pylist() == ["bundled"] * 5

    run("literals", "--updates", updates, "--new", entities, "--old", entities, "-o", output)
    assert pq.read_table(output)["label"].to_pylist() == ["a text"]


def test_show_prints_the_sentences(capsys):
    run("show", "P6", "--subject", "France", "--object", "Élisabeth Borne", "--templates", BUNDLED)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "P6 head of government (bundled)"
    assert lines[1] == "1. The head of government of France is Élisabeth Borne."
    assert len(lines) == 6


def test_show_of_a_relation_without_templates(capsys):
    names = ("--subject", "Earth", "--object", "the Moon", "--templates", BUNDLED)
    run("show", "P99999", *names, "--relation", "natural satellite")
    assert "1. The natural satellite of Earth is the Moon." in capsys.readouterr().out
    for relation, complaint in (("P99999", "--relation"), ("capital", "capital")):
        assert run("show", relation, *names) == 1
        assert complaint in capsys.readouterr().err
