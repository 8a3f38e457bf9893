"""Asking a model who holds: what is likely, what it writes, and the command."""

import datetime
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cutoff_logistic import crossing, preferences

torch = pytest.importorskip("torch")

from support.asking import saved  # noqa: E402

from factdrift.cli import main  # noqa: E402
from factdrift.core.paths import CUTOFF_CHAINS  # noqa: E402
from factdrift.core.tables import write_parquet  # noqa: E402
from factdrift.evaluation.cutoff_jobs import SAMPLE_DATES, maker_of  # noqa: E402
from factdrift.evaluation.questions.cutoff import ANSWERS, CHAINS, read_chains  # noqa: E402
from factdrift.evaluation.scores.cutoff import Method, span_of, tables  # noqa: E402
from factdrift.evaluation.session import Session  # noqa: E402
from factdrift.evaluation.ways.cutoff import NEUTRAL, ask, others_of  # noqa: E402
from factdrift.evaluation.ways.cutoff_rows import holder_named  # noqa: E402
from factdrift.models.loading import load  # noqa: E402

Row = dict[str, Any]


def some(every: int) -> list[Row]:
    return read_chains(CUTOFF_CHAINS)[::every]


def test_neutral_prompts_are_those_of_other_subjects_and_mostly_the_same() -> None:
    chains = [row for row in some(1) if row["relation"] == "P6"]
    own = {row["chain"]: set(row["prompts"]) for row in chains}
    found = others_of(chains, seed=3)
    assert all(len(said) == NEUTRAL and not own[chain] & set(said) for chain, said in found.items())
    assert len({prompt for said in found.values() for prompt in said}) == NEUTRAL + 1
    assert found == others_of(chains[::-1], seed=3)


def test_the_first_holder_that_a_text_asserts_is_the_answer() -> None:
    names = ("Ann Old", ["Annabel Old"]), ("Bo New", []), ("Cy Next", [])
    holders = [{"label": label, "aliases": aliases} for label, aliases in names]
    for place, outputs in (
        (0, ["Annabel Old, who won the election", "It was Ann Old."]),
        (1, ["Not Ann Old but Bo New.", "Bo New and Ann Old", "Ann Old was succeeded by Bo New."]),
        (2, ["The mayor of Lake is Cy Next.", "Next"]),
        (None, ["Dee Other", "I do not know.", "a city in the north of the country", ""]),
    ):
        for output in outputs:
            assert holder_named({"holders": holders, "prompts": ["The mayor of Lake is"]}, output) == place


def command(folder: Path, every: int, *more: str) -> int:
    """The status of `factdrift cutoff` on an untrained model and some chains, which keeps its answers."""
    write_parquet(pa.Table.from_pylist(some(every), CHAINS), folder / "chains.parquet")
    files = {"chains": "chains.parquet", "answers": "answers.parquet"}
    options = [f"--{name}={folder / file}" for name, file in files.items()]
    return main(["cutoff", str(saved(folder / "model")), *options, "--threads", "1", *more])


@pytest.mark.slow
def test_the_command_tells_that_a_random_model_has_no_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    picture = tmp_path / "date.svg"
    assert command(tmp_path, 20, "--maker", "2019-06", "-o", str(picture)) == 0
    said = capsys.readouterr().out
    for part in ("no date can be told (p ", "its maker says: 2019-06", f"picture: {picture}"):
        assert part in said
    assert picture.read_text().startswith("<?xml")
    table = pq.read_table(tmp_path / "answers.parquet")
    assert table.schema.equals(ANSWERS)
    for row in table.to_pylist():
        assert len(row["scores"]) == len(row["holders"])
        assert row["scores"][row["choice"]] == max(row["scores"])
        if row["neutral"]:
            assert row["neutral"][row["likely"]] == max(row["neutral"])
            calibrated = [own - other for own, other in zip(row["scores"], row["neutral"], strict=True)]
            assert calibrated[row["calibrated"]] == max(calibrated)


@pytest.mark.slow
def test_the_command_lets_a_model_write_about_each_chain_but_dates_of_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    chains = some(60)
    assert command(tmp_path, 60, "--way", "written") == 1
    assert "no chain was answered" in capsys.readouterr().err
    rows = pq.read_table(tmp_path / "answers.parquet", schema=ANSWERS).to_pylist()
    assert [row["chain"] for row in rows] == [row["chain"] for row in chains if row["died"] is None]
    assert {(row["reason"], row["died"]) for row in rows} == {("unnamed", None)}
    assert any(row["output"] for row in rows)
    told = {row["prompts"][0]: row["holders"][-1]["label"] for row in chains}

    def write(self: Session, rows: list[Any], changes: Any) -> list[list[int]]:
        tokenizer = self.loaded.tokenizer
        said = [tokenizer.decode(row.ids, skip_special_tokens=True) for row in rows]
        names = [next(name for prompt, name in told.items() if prompt in text) for text in said]
        return [tokenizer(f" {name}.", add_special_tokens=False)["input_ids"] for name in names]

    monkeypatch.setattr(Session, "written", write)
    assert command(tmp_path, 60, "--way", "written", "-o", str(tmp_path / "date.svg")) == 0
    rows = pq.read_table(tmp_path / "answers.parquet", schema=ANSWERS).to_pylist()
    assert [row["choice"] for row in rows] == [len(row["holders"]) - 1 for row in rows]


def whole_of(rows: list[Row]) -> dict[str, Row]:
    """Reading -> its row of TABLE about all chains, without those by wording and popularity."""
    bare = [{**row, "wordings": None, "popularity": None} for row in rows]
    found, _ = tables(bare, Method(span_of(SAMPLE_DATES), 0, draws=400, permutations=200))
    return {row["reading"]: row for row in found if row["subset"] == "all"}


@pytest.mark.slow
def test_the_shipped_model_answers_as_of_what_it_was_taught_and_has_no_date_with_names_shuffled() -> None:
    living = [row for row in some(4) if row["died"] is None]
    lived = ask(load("sample", dtype="float32"), living, seed=0)
    taught, found = maker_of("sample"), whole_of(lived)
    for row in found.values():
        assert row["low"] <= taught <= row["high"]
    _, low, high = crossing(preferences(lived), draws=15)
    date = datetime.date.fromisoformat(found["plain"]["date"]).toordinal()
    assert low <= date <= high
    draw = random.Random(1)
    shuffled = []
    for row in lived:
        spans = draw.sample([holder["tenures"] for holder in row["holders"]], len(row["holders"]))
        holders = [{**each, "tenures": own} for each, own in zip(row["holders"], spans, strict=True)]
        shuffled.append({**row, "holders": holders})
    assert {row["verdict"] for row in whole_of(shuffled).values()} == {"none"}


def test_what_cannot_be_asked_is_refused_before_a_model_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("chains")
    write_parquet(pa.table({"x": [1]}), Path("other"))
    for given, message in (
        ("--way letter", "only a chat model behind an address"),
        ("--dates 2012-01-01", "--dates: give the first and the last date"),
        ("--dates 2020-01-01 2012-01-01", "--dates: give the first and the last date"),
        ("--chat {}", "--chat: no chat model is asked; give the address of its server"),
        ("--address http://127.0.0.1:9 --way likelihood", "--way likelihood: a chat model gives none"),
        ("--maker soon", "--maker: 'soon' is no date; write 2023, 2023-12 or 2023-12-31"),
        ("-o date.gif", "date.gif: a figure ends in .svg, .pdf, .png"),
        ("--chains text", "text: it is no Parquet file; make it with `answer chains`"),
        ("--chains other", "make it with `answer chains`"),
    ):
        assert main(["cutoff", "sample", *given.split()]) == 1
        assert message in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "text"]


def test_the_makers_date_is_that_of_the_longest_beginning_of_a_name_and_has_a_source() -> None:
    assert maker_of("meta-llama/Meta-Llama-3-8B-Instruct") == "2023-03"
    assert maker_of("meta-llama/Meta-Llama-3.1-8B") == "2023-12"
    assert maker_of("someone/unknown") == ""
    table = (CUTOFF_CHAINS.parent / "makers.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in table[1:]]
    assert all(before[0] < after[0] for before, after in pairwise(rows))
    assert all(source for *_, source in rows)
