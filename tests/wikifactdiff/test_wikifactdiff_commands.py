"""The commands as a user types them."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from factdrift.cli import main


def run(*arguments: object) -> None:
    assert main([str(argument) for argument in arguments]) == 0


def test_from_updates_to_the_terminal(build, tmp_path, capsys):
    inputs = build().job
    popularity, groups = tmp_path / "p.parquet", tmp_path / "groups.parquet"
    run("wikifactdiff", "popularity", "--new", *inputs.new_entities, "--old", *inputs.old_entities,
        "--pageviews", "none", "--date", "2023-02-27", "-o", popularity)  # fmt: skip
    assert pq.read_metadata(popularity).num_rows == 7
    run(
        "wikifactdiff", "select", "--updates", *inputs.updates, "--undersample", '{"P1082": 14}', "-o", groups
    )
    dataset, replacements = tmp_path / "wikifactdiff.parquet", tmp_path / "wfd_repl.parquet"
    run("wikifactdiff", "assemble", "--updates", *inputs.updates, "--old-entities", *inputs.old_entities,
        "--new-entities", *inputs.new_entities, "--old-properties", inputs.old_properties,
        "--new-properties", inputs.new_properties, "--popularity", popularity,
        "--templates", inputs.templates, "--literals", inputs.literals, "--neighbors", inputs.neighbors,
        "--random-neighbors", inputs.random_neighbors, "--funnel", "funnel.parquet",
        "--old-date", "2021-01-04", "--new-date", "2023-02-27", "-o", dataset)  # fmt: skip
    run("wikifactdiff", "replacements", "--dataset", dataset, "--groups", groups, "-o", replacements)
    assert pq.read_metadata(replacements).num_rows == 2
    run("wikifactdiff", "stats", "--dataset", dataset, "--groups", groups, "-o", tmp_path / "stats.json")
    run("wikifactdiff", "export", "--dataset", replacements, "-o", tmp_path / "wfd_repl.jsonl")
    assert len((tmp_path / "wfd_repl.jsonl").read_text().splitlines()) == 2
    run("show", dataset, "--subject", "Q30", "--relation", "P6")
    assert "Joe Biden" in capsys.readouterr().out


@pytest.mark.parametrize("text", ['"P1082"', '{"P1082": 0}', '{"Q1": 3}', '{"P1082": "x"}'])
def test_undersampling_is_checked(text, capsys):
    assert main(["wikifactdiff", "select", "--updates", "u", "--undersample", text, "-o", "o"]) == 1
    assert "factdrift: --undersample: " in capsys.readouterr().err
