"""Asking: likelihoods beside lm-eval's, letters of a chat model, and the command."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

torch = pytest.importorskip("torch")

from support.tiny_models import tiny_model  # noqa: E402

from factdrift.chat.settings import Chat  # noqa: E402
from factdrift.chat.tables import ANSWERS as CHAT_ANSWERS  # noqa: E402
from factdrift.cli import main  # noqa: E402
from factdrift.core.errors import InputError  # noqa: E402
from factdrift.core.keys import read_settings  # noqa: E402
from factdrift.core.paths import CUTOFF_CHAINS  # noqa: E402
from factdrift.core.tables import write_parquet  # noqa: E402
from factdrift.evaluation.cutoff_jobs import SAMPLE_DATES, maker_of  # noqa: E402
from factdrift.evaluation.questions.cutoff import ANSWERS, CHAINS, read_chains, with_dates  # noqa: E402
from factdrift.evaluation.scores.cutoff import Method, span_of, tables  # noqa: E402
from factdrift.evaluation.ways.cutoff import NEUTRAL, ask, others_of  # noqa: E402
from factdrift.evaluation.ways.cutoff_chat import read_answers, write_requests  # noqa: E402

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


CHAT: Chat = read_settings(json.dumps({"model": "m"}), Chat, "chat", "--chat")


def written(chains: list[Row], tmp_path: Path, answer: Any) -> list[Row]:
    """Rows of ANSWERS from answers that a function gives to the text of a request."""
    requests = tmp_path / "requests.parquet"
    write_requests(chains, CHAT, 5, requests)
    rows = []
    for request in pq.read_table(requests).to_pylist():
        said = json.loads(request["body"])["messages"][0]["content"]
        row: Row = dict.fromkeys(CHAT_ANSWERS.names)
        rows.append({**row, "request": request["request"], "status": "answered", "content": answer(said)})
    answers = tmp_path / "answers.parquet"
    write_parquet(pa.Table.from_pylist(rows, CHAT_ANSWERS), answers)
    return read_answers(chains, "m", 5, answers)


def test_the_letter_of_a_holder_in_both_orders_is_the_choice(tmp_path: Path) -> None:
    chains = with_dates(some(40), 5)

    def first_name(said: str) -> str:
        options = dict(line.split(". ", 1) for line in said.splitlines() if line[1:3] == ". ")
        return min(options, key=lambda letter: options[letter])

    rows = written(chains, tmp_path, first_name)
    assert len(rows) == len(chains)
    for row in rows:
        labels = [holder["label"] for holder in row["holders"]]
        assert labels[row["choice"]] == min(labels)


@pytest.mark.parametrize(
    ("said", "reason"), [("A", "order"), ("I cannot say", "no_letter"), ("Z", "no_letter")]
)
def test_a_letter_that_depends_on_the_order_is_no_answer(tmp_path: Path, said: str, reason: str) -> None:
    rows = written(with_dates(some(80), 5), tmp_path, lambda _: said)
    assert {(row["choice"], row["reason"]) for row in rows} == {(None, reason)}


def test_answers_to_other_requests_are_refused(tmp_path: Path) -> None:
    written(with_dates(some(80), 5), tmp_path, lambda _: "A")
    with pytest.raises(InputError, match="ask again"):
        read_answers(with_dates(some(60), 5), "m", 5, tmp_path / "answers.parquet")


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
