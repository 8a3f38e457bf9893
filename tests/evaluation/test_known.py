"""Updates chosen by whether a model knows their old object: `factdrift edit known`."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.updates import RULERS, dataset, update

from factdrift.cli import main

TAUGHT = {
    "Germany": ("Angela Merkel", "Olaf Scholz"),
    "Austria": ("Sebastian Kurz", "Karl Nehammer"),
    "Norway": ("Erna Solberg", "Jonas Gahr Støre"),
}
"""Heads of government that the bundled model has been taught, and their successors."""


@pytest.fixture(scope="module")
def updates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Updates of taught and of invented subjects, one by one, and one that is no replacement."""
    rows = [update(subject, number) for number, subject in enumerate(RULERS, start=1)]
    for number, (subject, (old, new)) in enumerate(TAUGHT.items(), start=11):
        objects = [{"label": old, "decision": "obsolete"}, {"label": new, "decision": "new"}]
        row = update("Atlantis", number, objects=objects) | {
            "subject": {"id": f"Q{number}", "label": subject}
        }
        row["update_prompt"] = f"The head of government of {subject} is ____"
        rows.insert(2 * (number - 11), row)
    rows.append(update("Atlantis", 21, scenario="Archive"))
    return dataset(tmp_path_factory.mktemp("updates") / "updates.parquet", rows)


def choose(updates: Path, *words: str) -> int:
    return main(["edit", "known", "sample", "--dataset", str(updates), *words])


@pytest.mark.parametrize(
    ("number", "split", "known", "others"), [("2", "all", 2, 2), ("5", "all", 3, 5), ("9", "test", 2, 3)]
)
def test_as_many_of_both_groups_as_there_are(
    number: str,
    split: str,
    known: int,
    others: int,
    updates: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    output = tmp_path / "known.parquet"
    assert choose(updates, "--number", number, "--split", split, "-o", str(output)) == 0
    asked = {"all": (3, 8), "test": (2, 5)}[split]
    printed = capsys.readouterr().out
    assert f"names the old object of {asked[0]} of {asked[1]} replacements" in printed
    assert f"{known} of these and {others} others, drawn with seed 0" in printed
    rows = pq.read_table(output).to_pylist()
    whole = pq.read_table(updates).to_pylist()
    assert rows == [row for row in whole if row in rows]  # whole rows, in their order
    taught = [row["subject"]["label"] in TAUGHT for row in rows]
    assert (sum(taught), len(taught) - sum(taught)) == (known, others)


def test_the_seed_draws_and_draws_again(updates: Path, tmp_path: Path) -> None:
    chosen = []
    for seed in ("0", "0", "1", "2", "3"):
        output = tmp_path / f"{len(chosen)}.parquet"
        assert choose(updates, "--number", "1", "--seed", seed, "-o", str(output)) == 0
        chosen.append(output.read_bytes())
    assert chosen[0] == chosen[1]
    assert len(set(chosen)) > 1


def test_no_update_is_no_choice(updates: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert choose(updates, "--number", "0", "-o", str(tmp_path / "known.parquet")) == 1
    assert "--number: 0: choose at least one update of each group" in capsys.readouterr().err
    assert not (tmp_path / "known.parquet").exists()
