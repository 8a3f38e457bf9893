"""What a run says at its end."""

import io
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from support.updates import dataset, update

from factdrift.core.products import former_lines, of_pair, pair_of
from factdrift.runs.summary import summary
from factdrift.wikifactdiff.show import default_dataset

FORGED = "Rome\n\x1b[2J\u202e"


@pytest.fixture
def pair(here: Path) -> Path:
    """A folder of a pair with eight updates, two of them about the same subject."""
    folder = here / "2021-01-04_2023-02-27"
    folder.mkdir()
    rulers = ("Atlantis", "New Orleans", "Poseidonis", "America")
    rows = [update(subject, number, is_replace=True) for number, subject in enumerate(rulers, start=1)]
    for number, row in enumerate(rows):
        row["relation"] = {"id": f"P{number}", "label": "a relation"}
    rows.append(rows[0] | {"relation": {"id": "P9", "label": "another"}, "update_prompt": "never ____ shown"})
    rows.append(update("the sea", 9, is_replace=False, scenario="Other", update_prompt="never ____ shown"))
    rows[1]["objects"] = [{"label": FORGED, "decision": "obsolete"}, {"label": "B", "decision": "new"}]
    dataset(folder / "wikifactdiff.parquet", rows)
    (here / "results").mkdir()
    (here / "results" / "wfd_repl.parquet").write_bytes((folder / "wikifactdiff.parquet").read_bytes())
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
    bars = [line.split() for line in found if "█" in line]
    assert bars == [["ReplaceObject", "5", "█" * 28], ["Other", "1", "█" * 6]]
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


def test_files_of_a_former_pair_are_told_apart(pair: Path) -> None:
    results, rows = pair.parent / "results", [update("America", 7, is_replace=True)]
    old, new = (results / name for name in ("2015-01-01_2019-06-01", pair.name))
    for folder, names in ((old, ("wikifactdiff", "wfd_repl")), (new, ("wikifactdiff", "wfd_repl"))):
        folder.mkdir()
        for number, name in enumerate(names):
            dataset(folder / f"{name}.parquet", [*rows * (1 + number), *([rows[0]] if folder == new else [])])
    shutil.copy(old / "wikifactdiff.parquet", results)
    shutil.copy(new / "wfd_repl.parquet", results)
    line = "Of another pair of dates, 2015-01-01 to 2019-06-01: results/wikifactdiff.parquet"
    assert line in text(pair, "results/wfd_repl.parquet")
    dataset_of = default_dataset()
    assert f"{dataset_of}{of_pair(dataset_of)}" == "results/wfd_repl.parquet of 2021-01-04 to 2023-02-27"
    assert [*former_lines(results, pair_of(dataset_of))] == [line.replace("results/", f"{results}/")]
    other = f"Of another pair of dates, 2021-01-04 to 2023-02-27: {results}/wfd_repl.parquet"
    assert [*former_lines(results, "2015-01-01_2019-06-01")] == [other]
    shutil.copy(new / "wikifactdiff.parquet", results)
    assert not any("another pair" in line for line in text(pair, "results/wfd_repl.parquet"))
    assert default_dataset() == Path("results/wikifactdiff.parquet")


@pytest.mark.parametrize(
    ("path", "pair"),
    [
        ("results/2015-01-01_2019-06-01/wfd_repl.parquet", "2015-01-01_2019-06-01"),
        ("results/2015-01-01_2019-06-01/edit/edits.parquet", "2015-01-01_2019-06-01"),
        ("results/tempripple.parquet", "2021-01-04_2023-02-27"),
        *((f"results/{name}.parquet", "") for name in ("mine", "stream", "none")),
        ("results/wfd_repl.jsonl", ""),
    ],
)
@pytest.mark.usefixtures("here")
def test_the_pair_of_a_file(path: str, pair: str) -> None:
    # Files of one size: the copy is that with the same bytes.
    contents = {
        "2015-01-01_2019-06-01/tempripple/tr_items.parquet": "a",
        "2021-01-04_2023-02-27/tempripple/tr_items.parquet": "b",
        **{f"2021-01-04_2023-02-27/{name}.parquet": "b" for name in ("stream", "mine")},
        "2021-01-04_2023-02-27/wfd_repl.jsonl": "bb",
        **dict.fromkeys(("tempripple.parquet", "mine.parquet", "wfd_repl.jsonl", "stream.parquet"), "b"),
    }
    for name, content in contents.items():
        file = Path("results", name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    assert pair_of(Path(path)) == pair


def test_who_has_scores_of_edits_is_shown_how_to_compare_methods(pair: Path) -> None:
    scores = pair.parent / "results/edit_scores.parquet"
    scores.write_bytes((pair / "wikifactdiff.parquet").read_bytes())
    assert any("compare rome ft" in line for line in text(pair, "results/edit_scores.parquet"))
    assert not any("compare" in line for line in text(pair, "results/wfd_repl.parquet"))
