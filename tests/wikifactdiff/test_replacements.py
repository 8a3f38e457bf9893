"""Which replacements make WFD_repl."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.wikifactdiff.replacements import select_replacements, write_replacements

from .conftest import BIDEN, GROUPS, P6, P1082, UPDATES, USA, Row, number, triple


def select(
    folder: Path, rows: list[Row], undersample: dict[int, int], seed: int = 0
) -> list[tuple[int, int]]:
    updates = written(folder / "updates.parquet", UPDATES, rows)
    output = folder / "groups.parquet"
    select_replacements([updates], output, undersample, seed)
    assert pq.read_schema(output).equals(GROUPS)
    return [(row["subject"], row["property"]) for row in pq.read_table(output).to_pylist()]


def test_scenario_and_factor(tmp_path):
    rows = [
        *(number(subject, change, "new", "1") for subject in range(1, 101) for change in ("F-", "F+")),
        *(triple(subject, P6, "F+", "new", 5) for subject in range(1, 101)),
        triple(200, P6, "F+", "new", BIDEN, scenario="AddRelation"),
        triple(201, P6, "F+", "new", BIDEN, dropped_by="unknown"),
    ]
    everything = select(tmp_path, rows, {})
    assert len(everything) == 200
    assert select(tmp_path, rows, {P1082: 1}) == everything
    chosen = select(tmp_path, rows, {P1082: 14})
    populations = [subject for subject, property in chosen if property == P1082]
    assert len(chosen) - len(populations) == 100
    assert len(populations) == 8  # 100 / 14, rounded up
    assert chosen == sorted(chosen) == select(tmp_path, rows[::-1], {P1082: 14})
    assert select(tmp_path, rows, {P1082: 14}, seed=1) != chosen


def test_choice_hardly_depends_on_the_others(tmp_path):
    rows = [number(subject, "F+", "new", "1") for subject in range(1, 141)]
    whole = select(tmp_path, rows, {P1082: 14})
    fewer = select(
        tmp_path, [row for row in rows if row["subject"] not in {s for s, _ in whole[:5]}], {P1082: 14}
    )
    assert set(whole[5:]) <= set(fewer)


def test_subjects_without_a_popularity_come_last(build, tmp_path):
    known = [{"id": 142, "popularity": 0.5, "source": "sitelinks"}]
    dataset = build(popularity=known).assemble()
    pairs = [{"subject": 142, "property": P1082}, {"subject": USA, "property": P6}]
    output = tmp_path / "wfd_repl.parquet"
    assert write_replacements(dataset, written(tmp_path / "g.parquet", GROUPS, pairs), output) == 2
    rows = pq.read_table(output).to_pylist()
    assert [row["subject"]["id"] for row in rows] == ["Q142", "Q30"]
    assert rows == [row for row in pq.read_table(dataset).to_pylist() if row["is_replace"]]
    assert pq.read_schema(output).equals(pq.read_schema(dataset))


def test_no_replacement(build, tmp_path):
    groups = written(tmp_path / "groups.parquet", GROUPS, [])
    with pytest.raises(InputError, match="no update replaces exactly one object"):
        write_replacements(build().assemble(), groups, tmp_path / "wfd_repl.parquet")
    assert not (tmp_path / "wfd_repl.parquet").exists()


@pytest.mark.parametrize("text", ['"P1082"', '{"P1082": 0}', '{"Q1": 3}'])
def test_undersampling_is_checked(text, capsys):
    assert main(["wikifactdiff", "select", "--updates", "u", "--undersample", text, "-o", "o"]) == 1
    assert "factdrift: --undersample: " in capsys.readouterr().err


@pytest.mark.parametrize(
    "given", [[], ["--dataset", "d"], ["--updates", "u", "--dataset", "d", "--groups", "g"]]
)
def test_a_selection_is_of_updates_or_of_records(given, capsys):
    assert main(["wikifactdiff", "select", *given, "-o", "o"]) == 1
    assert "give either --updates, or --dataset and --groups" in capsys.readouterr().err
