"""What a run says at its end."""

import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.updates import dataset, update

from factdrift.runs.summary import summary

FORGED = "Rome\n\x1b[2J\u202e"


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a pair with eight updates, two of them about the same subject."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "2021-01-04_2023-02-27"
    folder.mkdir()
    rulers = ("Atlantis", "New Orleans", "Poseidonis", "America")
    rows = [update(subject, number, is_replace=True) for number, subject in enumerate(rulers, start=1)]
    for number, row in enumerate(rows):
        row["relation"] = {"id": f"P{number}", "label": "a relation"}
    rows.append(rows[0] | {"relation": {"id": "P9", "label": "another"}, "update_prompt": "never ____ shown"})
    rows.append(update("the sea", 9, is_replace=False, scenario="Other", update_prompt="never ____ shown"))
    rows[1]["objects"] = [{"label": FORGED, "decision": "obsolete"}, {"label": "B", "decision": "new"}]
    dataset(folder / "wikifactdiff.parquet", rows)
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "wfd_repl.parquet").write_bytes((folder / "wikifactdiff.parquet").read_bytes())
    return folder


def text(
    pair: Path, *written: str, reports: Sequence[Path] = (), given: Sequence[str] = (), **options: str
) -> list[str]:
    return list(summary(pair, [Path(name) for name in written], reports, given, io.StringIO(), **options))


def test_commands_for_what_comes_next_are_of_the_same_build(pair: Path) -> None:
    found = text(pair, given=("--configfile", "my.yaml", "--config", 'dumps={"a": 1}'))
    made = [line.strip() for line in found if "snakemake" in line]
    assert len(made) == 4
    assert all("--configfile my.yaml --config 'dumps={\"a\": 1}'" in line for line in made)
    (pair.parent / "results/releases/2023-02-27").mkdir(parents=True)
    released = text(pair, "results/releases/2023-02-27", given=("--config", "stream=[]"))
    after = released[released.index("What to do next") + 1 :]
    assert "show results/releases/2023-02-27/wikifactdiff.parquet" in after[0]
    assert not any("snakemake" in line for line in after)


def test_updates_are_counted_and_put_in_words(pair: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    found = text(pair, "results/wfd_repl.parquet")
    assert "What changed between 2021-01-04 and 2023-02-27: 6 updates" in found
    assert [line.split() for line in found if "█" in line] == [
        ["ReplaceObject", "5", "█" * 28],
        ["Other", "1", "█" * 6],
    ]
    said = found[found.index("For example") + 1 :]
    assert said[:2] == ["  The head of government of Atlantis is Joe Biden (before:", "    Marta Kowalska)"]
    second = "The head of government of New Orleans is B (before: Rome [2J)"
    assert " ".join(" ".join(said[2:4]).split()) == second
    assert all(len(line) <= 60 for line in said[: said.index("")])
    assert any(line.startswith("  results/wfd_repl.parquet") and "6 rows" in line for line in found)
    assert all(line.isprintable() for line in found)
    assert "Files written" in found
    again = text(pair, "results/wfd_repl.parquet", heading="Files that are up to date")
    assert {"Files written", "Files that are up to date"} & set(again) == {"Files that are up to date"}


def test_a_run_that_made_no_dataset_says_nothing_of_it(pair: Path) -> None:
    log = pair / "table.txt"
    log.write_text("Table 6\nROME \x1b[2J 99\n")
    found = text(pair, reports=(log, pair / "missing.txt"))
    assert not any("What changed" in line or "Files written" in line for line in found)
    assert found[:3] == ["", "Table 6", "ROME  [2J 99"]
    assert any("results/report.html" in line for line in found)


def test_files_of_another_pair_under_short_names_are_named(pair: Path) -> None:
    other = Path("results/2019-01-01_2021-01-04")
    other.mkdir()
    (other / "edit_scores.parquet").write_bytes(b"scores")
    Path("results/edit_scores.parquet").write_bytes(b"scores")
    said = text(pair)
    heading = said.index("Of another pair of dates, under short names")
    assert said[heading + 1].split() == ["results/edit_scores.parquet", other.name]
    assert said[heading + 2] == ""
    mine = pair.parent / "results" / pair.name
    other.rename(mine)
    assert not any("another pair" in line for line in text(pair))


def test_who_has_scores_of_edits_is_shown_how_to_compare_methods(pair: Path) -> None:
    scores = pair.parent / "results/edit_scores.parquet"
    scores.write_bytes((pair / "wikifactdiff.parquet").read_bytes())
    assert any("compare rome ft" in line for line in text(pair, "results/edit_scores.parquet"))
    assert not any("compare" in line for line in text(pair, "results/wfd_repl.parquet"))
