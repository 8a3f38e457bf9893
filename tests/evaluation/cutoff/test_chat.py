"""A chat model who holds: through a real server, the store, and the command."""

import datetime
import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.chat_server import chat_serving

from factdrift.chat.settings import Chat
from factdrift.chat.store import ANSWERS as CHAT_ANSWERS
from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.keys import default_of, read_settings
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.core.tables import write_parquet
from factdrift.evaluation.cutoff_jobs import SAMPLE_DATES
from factdrift.evaluation.questions.cutoff import ANSWERS, CHAINS, read_chains
from factdrift.evaluation.scores.cutoff import Method, span_of, tables
from factdrift.evaluation.ways.cutoff_chat import Put, read_answers, write_requests

Row = dict[str, Any]
CHAT: Chat = read_settings(json.dumps({"model": "m"}), Chat, "chat", "--chat")
LETTER = Put("letter", "", 5)
WRITTEN = Put("written", default_of("answer.prompts.written"), 5)


def some(every: int) -> list[Row]:
    return read_chains(CUTOFF_CHAINS)[::every]


def answered(chains: list[Row], put: Put, tmp_path: Path, answer: Any) -> list[Row]:
    """Rows of ANSWERS from answers that a function gives to the text of a request."""
    requests = tmp_path / "requests.parquet"
    write_requests(chains, put, CHAT, requests)
    rows = []
    for request in pq.read_table(requests).to_pylist():
        said = json.loads(request["body"])["messages"][0]["content"]
        row: Row = dict.fromkeys(CHAT_ANSWERS.names)
        rows.append({**row, "request": request["request"], "status": "answered", "content": answer(said)})
    answers = tmp_path / "answers.parquet"
    write_parquet(pa.Table.from_pylist(rows, CHAT_ANSWERS), answers)
    return read_answers(chains, put, "m", answers)


def options_of(said: str) -> dict[str, str]:
    """Letter -> option."""
    return dict(line.split(". ", 1) for line in said.splitlines() if line[1:3] == ". ")


def test_what_names_no_holder_is_counted_by_reason(tmp_path: Path) -> None:
    (chain, *others) = some(80)
    label = chain["holders"][0]["label"]
    many = {**chain, "holders": [{**chain["holders"][0], "label": f"{label} {n}"} for n in range(27)]}
    for said, reason in (
        ("A", "order"),
        ("I cannot say", "no_letter"),
        ("Z", "no_letter"),
        ("<think>A", "no_letter"),
    ):
        first, *rows = answered([many, *others], LETTER, tmp_path, lambda _, said=said: said)
        # There are more holders than letters.
        assert (first["choice"], first["reason"]) == (None, "too_many")
        assert {(row["choice"], row["reason"]) for row in rows} == {(None, reason)}


def test_a_model_that_always_gives_one_letter_names_nobody(tmp_path: Path) -> None:
    for letter in "ABC":
        for row in answered(some(5), LETTER, tmp_path, lambda _, letter=letter: letter):
            assert (row["choice"], row["reason"]) in {(None, "order"), (None, "no_letter")}


class HalfBiased:
    """Knows a share of the chains as of DAY, and answers all others with B."""

    def __init__(self, chains: list[Row], share: float, day: int):
        chance = random.Random(0)
        self.holders = {
            prompt: holder for prompt, holder in holders_of(chains, day).items() if chance.random() < share
        }

    def __call__(self, said: str) -> str:
        prompt = next((line.removesuffix(" ____") for line in said.splitlines() if line.endswith("____")), "")
        return next((key for key, name in options_of(said).items() if name == self.holders.get(prompt)), "B")


def test_a_bias_to_a_letter_hides_no_date(tmp_path: Path) -> None:
    chains = [row for row in some(1) if row["died"] is None]
    rows = answered(chains, LETTER, tmp_path, HalfBiased(chains, 0.15, 20190701))
    tabled, _ = tables(rows, Method(span_of(SAMPLE_DATES), 5))
    whole = tabled[0]
    assert {row["reason"] for row in rows} == {None, "order"}
    assert whole["low"] <= "2019-07-01" <= whole["high"]
    assert (whole["latest"], whole["eps"]) == ("2019-Q2", 0)


def test_the_holder_that_a_chat_model_writes_is_the_choice(tmp_path: Path) -> None:
    chains = some(80)
    last = {row["prompts"][0]: row["holders"][-1]["label"] for row in chains}

    def write(said: str) -> str:
        (prompt,) = [prompt for prompt in last if prompt in said]
        return f"It is {last[prompt]}."

    rows = answered(chains, WRITTEN, tmp_path, write)
    assert [row["chain"] for row in rows] == [row["chain"] for row in chains if row["died"] is None]
    for row in rows:
        assert row["choice"] == len(row["holders"]) - 1
        assert row["output"].startswith("It is ")
    unsure = answered(chains, WRITTEN, tmp_path, lambda _: "I do not know.")
    assert {(row["choice"], row["reason"]) for row in unsure} == {(None, "unnamed")}


def test_a_model_that_names_no_holder_is_said_to_have_no_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = answered(some(80), LETTER, tmp_path, lambda _: "I cannot say.")
    write_parquet(pa.Table.from_pylist(rows, ANSWERS), tmp_path / "silent.parquet")
    files = {"answers": "silent.parquet", "output": "dates", "out-answers": "all", "figure": "dates.svg"}
    options = [f"--{name}={tmp_path / file}" for name, file in files.items()]
    assert main(["answer", "dates", "--dates", "2012-01-01", "2024-12-31", *options]) == 0
    said = f"silent.parquet: no chain was answered; {tmp_path / 'all'} has the reasons"
    assert said in capsys.readouterr().out
    assert pq.read_table(tmp_path / "dates").num_rows == 0
    # One that only dates of death are known of.
    deaths = [row for row in some(1) if row["died"] is not None][:60]
    rows = answered(
        deaths, LETTER, tmp_path, lambda said: min((name, key) for key, name in options_of(said).items())[1]
    )
    write_parquet(pa.Table.from_pylist(rows, ANSWERS), tmp_path / "silent.parquet")
    assert main(["answer", "dates", "--dates", "2012-01-01", "2024-12-31", *options]) == 0
    assert "m (letter): no chain was answered\n  by 60 dates of death: no date" in capsys.readouterr().out


def test_answers_to_other_requests_are_refused(tmp_path: Path) -> None:
    answered(some(80), LETTER, tmp_path, lambda _: "A")
    for chains, put in ((some(60), LETTER), (some(80), WRITTEN)):
        with pytest.raises(InputError, match="ask again"):
            read_answers(chains, put, "m", tmp_path / "answers.parquet")


DAY = datetime.date(2018, 6, 15)


def holders_of(chains: list[Row], day: int) -> dict[str, str]:
    """Prompt -> who held on a day."""
    return {
        row["prompts"][0]: holder["label"]
        for row in chains
        for holder in row["holders"]
        for each in holder["tenures"]
        if (each["first"] or 0) <= day <= (each["last"] or 99999999)
    }


class Living:
    """Answers as of DAY; to every twentieth chain with the first letter."""

    def __init__(self, chains: list[Row]):
        self.holder = holders_of(chains, int(DAY.strftime("%Y%m%d")))
        self.lazy = {row["prompts"][0] for row in chains[::20] if row["died"] is None}

    def __call__(self, body: Row) -> str:
        said = body["messages"][0]["content"]
        prompt = next((line.removesuffix(" ____") for line in said.splitlines() if line.endswith("____")), "")
        if prompt in self.lazy:
            return "A"
        options = options_of(said)
        return next((letter for letter, name in options.items() if name == self.holder.get(prompt)), "None")


@pytest.mark.slow
def test_the_date_of_a_chat_model_is_found_and_its_store_replayed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    chains = some(6)
    living, table = Living(chains), tmp_path / "chains.parquet"
    write_parquet(pa.Table.from_pylist(chains, CHAINS), table)
    line = ["cutoff", "loopback", f"--chains={table}", f"--store={tmp_path / 'store'}"]
    line.append(f"--output={tmp_path / 'date.svg'}")
    kept = [tmp_path / f"{name}.parquet" for name in ("live", "replayed")]
    with chat_serving(answer=living) as server:
        assert main([*line, f"--address={server.url}", f"--answers={kept[0]}"]) == 0
    said, picture = capsys.readouterr().out, (tmp_path / "date.svg").read_bytes()
    first = next(line for line in said.splitlines() if line.startswith("loopback (letter): "))
    date, low, high = re.findall(r"\d{4}-\d\d-\d\d", first)
    assert low <= DAY.isoformat() <= high
    assert abs(datetime.date.fromisoformat(date) - DAY).days <= 21
    assert "latest knowledge: 201" in said
    assert picture.count(b"<use") > 20
    rows = pq.read_table(kept[0], schema=ANSWERS).to_pylist()
    turned = {row["chain"] for row in rows if row["reason"] == "order"}
    assert turned == {row["chain"] for row in chains if row["prompts"][0] in living.lazy}
    assert f"{len(turned)} changed with the order" in said
    # Without the server, from the store alone.
    again = [*line, "--address=http://127.0.0.1:9/v1", f"--answers={kept[1]}"]
    assert main([*again, '--chat={"mode": "replay"}']) == 0
    assert kept[0].read_bytes() == kept[1].read_bytes()
    assert (tmp_path / "date.svg").read_bytes() == picture
    assert first in capsys.readouterr().out
