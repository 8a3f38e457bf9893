"""Asking a model who holds: likelihoods beside lm-eval's, what it writes, and the command."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from support.tiny_models import tiny_model  # noqa: E402

from factdrift.cli import main  # noqa: E402
from factdrift.core.keys import read_settings  # noqa: E402
from factdrift.core.paths import CUTOFF_CHAINS  # noqa: E402
from factdrift.core.tables import write_parquet  # noqa: E402
from factdrift.evaluation.cutoff_jobs import SAMPLE_DATES, maker_of  # noqa: E402
from factdrift.evaluation.questions.cutoff import ANSWERS, CHAINS, read_chains  # noqa: E402
from factdrift.evaluation.scores.cutoff import Method, span_of, tables  # noqa: E402
from factdrift.evaluation.session import Session  # noqa: E402
from factdrift.evaluation.settings import Settings  # noqa: E402
from factdrift.evaluation.ways import cutoff_written  # noqa: E402
from factdrift.evaluation.ways.cutoff import NEUTRAL, ask, others_of  # noqa: E402
from factdrift.evaluation.ways.cutoff_rows import holder_named  # noqa: E402

Row = dict[str, Any]


def some(every: int) -> list[Row]:
    return read_chains(CUTOFF_CHAINS)[::every]


@pytest.fixture(scope="module")
def asked() -> list[Row]:
    return ask(tiny_model("llama"), some(40), seed=0)


def test_rows_have_the_columns_and_the_best_holder(asked: list[Row]) -> None:
    pa.Table.from_pylist(asked, ANSWERS)
    for row in asked:
        assert set(row) == set(ANSWERS.names)
        assert len(row["scores"]) == len(row["holders"])
        assert row["scores"][row["choice"]] == max(row["scores"])
        assert len(row["wordings"]) <= 5
        if row["neutral"]:
            assert row["neutral"][row["likely"]] == max(row["neutral"])
            calibrated = [own - other for own, other in zip(row["scores"], row["neutral"], strict=True)]
            assert calibrated[row["calibrated"]] == max(calibrated)


def test_the_likelihoods_are_those_of_lm_eval(asked: list[Row]) -> None:
    pytest.importorskip("lm_eval")
    from lm_eval.api.instance import Instance
    from lm_eval.models.huggingface import HFLM

    loaded = tiny_model("llama")
    harness = HFLM(pretrained=loaded.model, tokenizer=loaded.tokenizer, batch_size=16, device="cpu")
    prompts = {row["chain"]: row["prompts"] for row in some(40)}
    pairs = [
        (row, number, place, (prompt, f" {holder['label']}"))
        for row in asked
        if len(row["wordings"]) == len(prompts[row["chain"]])
        for number, prompt in enumerate(prompts[row["chain"]])
        for place, holder in enumerate(row["holders"])
    ]
    requests = [Instance("loglikelihood", {}, pair, 0) for *_, pair in pairs]
    found = harness.loglikelihood(requests, disable_tqdm=True)
    assert len(pairs) > 200
    for (row, number, place, (_, target)), (log, _) in zip(pairs, found, strict=True):
        tokens = len(loaded.tokenizer(target, add_special_tokens=False)["input_ids"])
        assert log / tokens == pytest.approx(row["wordings"][number][place], abs=1e-4)


def test_neutral_prompts_are_those_of_other_subjects_and_mostly_the_same() -> None:
    chains = [row for row in some(1) if row["relation"] == "P6"]
    own = {row["chain"]: set(row["prompts"]) for row in chains}
    found = others_of(chains, seed=3)
    assert all(len(said) == NEUTRAL and not own[chain] & set(said) for chain, said in found.items())
    assert len({prompt for said in found.values() for prompt in said}) == NEUTRAL + 1
    assert found == others_of(chains[::-1], seed=3)


def holders(*names: tuple[str, ...]) -> Row:
    named = [{"label": label, "aliases": list(aliases)} for label, *aliases in names]
    return {"holders": named, "prompts": ["The mayor of Lake is"]}


LAKE = holders(("Ann Old", "Annabel Old"), ("Bo New",), ("Cy Next",))


@pytest.mark.parametrize(
    ("output", "place"),
    [
        (" Bo New.", 1),
        ("Annabel Old, who won the election", 0),
        ("The mayor of Lake is Cy Next.", 2),
        ("Not Ann Old but Bo New.", 1),
        ("Bo New, who succeeded Ann Old", 1),
        ("Ann Old was succeeded by Bo New.", 1),
        ("Bo New and Ann Old", 1),
        ("It was Ann Old.", 0),
        ("Next", 2),
        ("Dee Other", None),
        ("I do not know.", None),
        ("a city in the north of the country", None),
        ("", None),
    ],
)
def test_the_first_holder_that_a_text_asserts_is_the_answer(output: str, place: int | None) -> None:
    assert holder_named(LAKE, output) == place


def test_what_a_model_writes_is_the_answer_of_each_chain_but_dates_of_death(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chains = some(40)
    told = {row["prompts"][0]: row["holders"][-1]["label"] for row in chains}
    loaded = tiny_model("llama")

    def write(self: Session, rows: list[Any], changes: Any) -> list[list[int]]:
        said = [self.loaded.tokenizer.decode(row.ids, skip_special_tokens=True) for row in rows]
        names = [next(name for prompt, name in told.items() if prompt in text) for text in said]
        return [loaded.tokenizer(f" {name}.", add_special_tokens=False)["input_ids"] for name in names]

    monkeypatch.setattr(Session, "written", write)
    settings: Settings = read_settings("{}", Settings, "edit")
    rows = cutoff_written.ask(Session(loaded, settings), chains)
    pa.Table.from_pylist(rows, ANSWERS)
    asked = [row for row in chains if row["died"] is None]
    assert [row["chain"] for row in rows] == [row["chain"] for row in asked]
    assert {(row["way"], row["reason"]) for row in rows} == {("written", None)}
    assert [row["choice"] for row in rows] == [len(row["holders"]) - 1 for row in asked]


@pytest.mark.slow
def test_the_command_tells_that_a_random_model_has_no_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, chains, picture = tmp_path / "model", tmp_path / "chains.parquet", tmp_path / "date.svg"
    loaded = tiny_model("llama")
    loaded.model.save_pretrained(model)
    loaded.tokenizer.save_pretrained(model)
    write_parquet(pa.Table.from_pylist(some(6), CHAINS), chains)
    options = ["--chains", str(chains), "--threads", "1", "--maker", "2019-06", "-o", str(picture)]
    assert main(["cutoff", str(model), *options, "--answers", str(tmp_path / "answers.parquet")]) == 0
    said = capsys.readouterr().out
    assert "no date can be told (p " in said
    assert "its maker says: 2019-06" in said
    assert f"picture: {picture}" in said
    assert picture.read_text().startswith("<?xml")
    assert pq.read_schema(tmp_path / "answers.parquet").names == ANSWERS.names


@pytest.mark.slow
def test_the_command_lets_a_model_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, chains, kept = tmp_path / "model", tmp_path / "chains.parquet", tmp_path / "answers.parquet"
    loaded = tiny_model("llama")
    loaded.model.save_pretrained(model)
    loaded.tokenizer.save_pretrained(model)
    write_parquet(pa.Table.from_pylist(some(60), CHAINS), chains)
    options = ["--chains", str(chains), "--threads", "1", "--way", "written", "--answers", str(kept)]
    assert main(["cutoff", str(model), *options]) == 1
    assert "no chain was answered" in capsys.readouterr().err
    rows = pq.read_table(kept, schema=ANSWERS).to_pylist()
    assert {(row["reason"], row["died"]) for row in rows} == {("unnamed", None)}
    assert any(row["output"] for row in rows)


def test_a_local_model_chooses_no_letters(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cutoff", "sample", "--way", "letter"]) == 1
    assert "only a chat model behind an address" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_model_of_random_weights_has_no_date(seed: int) -> None:
    loaded = tiny_model("llama")
    torch.manual_seed(seed)
    for name, weights in loaded.model.named_parameters():
        if "norm" not in name:
            torch.nn.init.normal_(weights, std=0.5)
    rows = [row for row in ask(loaded, some(9), seed) if row["died"] is None]
    found, _ = tables(rows, Method(span_of(SAMPLE_DATES), seed, draws=10, permutations=200))
    assert [row["verdict"] for row in found] == ["none", "none"]


def test_a_table_of_other_columns_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_parquet(pa.table({"x": [1]}), tmp_path / "chains.parquet")
    assert main(["cutoff", "sample", "--chains", str(tmp_path / "chains.parquet")]) == 1
    assert "make it with `answer chains`" in capsys.readouterr().err


def test_the_makers_date_is_that_of_the_longest_beginning_of_the_name() -> None:
    assert maker_of("meta-llama/Meta-Llama-3-8B-Instruct") == "2023-03"
    assert maker_of("meta-llama/Meta-Llama-3.1-8B") == "2023-12"
    assert maker_of("someone/unknown") == ""


def test_the_table_of_makers_is_sorted_and_names_sources() -> None:
    table = (CUTOFF_CHAINS.parent / "makers.tsv").read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in table[1:]]
    assert all(before[0] < after[0] for before, after in pairwise(rows))
    assert all(source for *_, source in rows)
