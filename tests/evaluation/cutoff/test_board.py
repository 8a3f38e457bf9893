"""The board of results: the order, both dates, wordings, and files that are no results."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import chat_serving
from support.commands import printed, refusal
from support.rows import rows

from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.evaluation.questions.cutoff import read_chains

Row = dict[str, Any]
CHAINS = {"chains": "chains-2026-06-30.parquet", "digest": "abcdef" + 58 * "0"}


def row(verdict: str, date: str | None = None, subset: str = "all", value: str = "all", **more: Any) -> Row:
    span = {"first_date": "2012-01-01", "last_date": "2026-06-30", "latest": None, "p": 0.001}
    bounds = {"low": None, "high": None}
    return {"subset": subset, "value": value, "verdict": verdict, "date": date, **span, **bounds, **more}


def result(folder: Path, model: str, *rows: Row, declared: str | None = "", way: str = "likelihood") -> None:
    """`declared`: None for a model whose maker is known to declare no date."""
    source = "" if declared == "" else f"card of {model}"
    content = {"model": model, "way": way, "declared": declared or "", "source": source}
    content |= {**CHAINS, "dates": rows}
    (folder / f"{model}.{way}.json").write_text(json.dumps(content), encoding="utf-8")


def test_results_are_listed_by_measured_date_with_what_makers_declare(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    wordings = [row("date", f"2023-0{month}-01", "wording", str(month)) for month in (1, 3, 2)]
    wordings.append(row("none", None, "wording", "4"))
    known = row("date", "2023-03-05", low="2023-02-01", high="2023-04-10", latest="2024-Q1")
    result(folder, "late", row("after"), declared="2025-01")
    result(folder, "dull", row("none"), declared="2024-01")
    result(folder, "mute", row("none"), declared=None)
    result(folder, "mid", known, *wordings, declared="2023-12")
    result(folder, "mid", row("date", "2022-01-01", low="2021-01-01"), way="letter", declared="2023-12")
    result(folder, "shy", row("before"))
    board, picture = tmp_path / "board.json", tmp_path / "board.svg"
    out = printed("cutoff", "board", str(folder), "--json", str(board), "-o", str(picture))
    table = [re.split(r"\s{2,}", line) for line in out.split("\n\n")[0].splitlines()]
    head = ["", "way", "declared", "measured", "95 % interval", "latest", "chains"]
    assert table[0] == head
    assert [line[:3] for line in table[4:8]] == [
        ["", "wording 1", "2023-01-01"],
        ["", "wording 3", "2023-03-01"],
        ["", "wording 2", "2023-02-01"],
        ["", "wording 4", "none"],
    ]
    del table[4:8]
    assert [(line[0], line[1], line[2], line[3]) for line in table[1:]] == [
        ("shy", "likelihood", "unknown", "before 2012-01-01"),
        ("mid", "letter", "2023-12", "2022-01-01"),
        ("mid", "likelihood", "2023-12", "2023-03-05"),
        ("late", "likelihood", "2025-01", "after 2026-06-30"),
        ("dull", "likelihood", "2024-01", "none"),
        ("mute", "likelihood", "none", "none"),
    ]
    assert table[2][4:] == ["[2021-01-01, after 2026-06-30]", "abcdef00"]
    interval = "[2023-02-01, 2023-04-10]"
    assert table[3][4:] == [interval, "2024-Q1", "abcdef00"]
    assert "mid declares 2023-12: card of mid" in out
    assert "mute declares no date: card of mute" in out
    assert "shy declares" not in out
    listed = json.loads(board.read_text("utf-8"))
    assert [each["model"] for each in listed] == ["shy", "mid", "mid", "late", "dull", "mute"]
    assert listed[2]["dates"] == [known, *wordings]
    drawn = picture.read_text("utf-8")
    assert "3 of 6 results have both" in drawn
    assert (drawn.count(">mid<"), drawn.count(">late<"), drawn.count(">shy<")) == (2, 1, 0)


@pytest.mark.parametrize("text", ["no JSON", "{}", '{"model": "m", "dates": []}', "[1]"])
def test_a_file_that_is_no_result_is_named(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    none = ".: holds no result (*.json); write one with `cutoff MODEL -o RESULT.json`"
    assert none in refusal("cutoff", "board", ".")
    Path("odd.json").write_text(text, encoding="utf-8")
    assert "odd.json: no result of `cutoff -o RESULT.json`" in refusal("cutoff", "board", ".")
    assert not Path("cutoff-board.svg").exists()


def test_the_command_writes_a_result_that_the_board_reads(tmp_path, monkeypatch):
    """Of a chat model that names the newest holder or always A, under a name that makers.tsv knows."""
    monkeypatch.chdir(tmp_path)
    chains = read_chains(CUTOFF_CHAINS)
    newest = {row["prompts"][0]: row["holders"][-1]["label"] for row in chains}
    lazy = {row["prompts"][0]: row["chain"] for row in chains[::20] if row["died"] is None}

    def living(body: Row) -> str:
        lines = body["messages"][0]["content"].splitlines()
        prompt = next((line.removesuffix(" ____") for line in lines if line.endswith("____")), "")
        options = dict(line.split(". ", 1) for line in lines if line[1:3] == ". ")
        named = (letter for letter, name in options.items() if name == newest.get(prompt))
        return "A" if prompt in lazy else next(named, "None")

    line = ["cutoff", "gpt-4.1", "--limit=150", "--store=store"]
    with chat_serving(answer=living) as server:
        said = printed(*line, f"--address={server.url}", "--answers=live", "-o=a.json")
    digest = hashlib.sha256(CUTOFF_CHAINS.read_bytes()).hexdigest()
    first = f"chains of 2012-01-01 to 2024-12-31: chains.parquet (digest {digest[:8]})"
    assert said.splitlines()[0] == first
    assert "\nresult: a.json" in said
    assert not list(tmp_path.glob("*.svg"))
    answers = rows(Path("live"))
    turned = {row["chain"] for row in answers if row["reason"] == "order"}
    assert turned == {*lazy.values()} & {row["chain"] for row in answers} != set()
    assert f"{len(turned)} changed with the order of the options" in said
    kept = json.loads(Path("a.json").read_text("utf-8"))
    assert (kept["declared"], kept["source"]) == ("2024-06", "OpenAI, documentation of models")
    assert (kept["chains"], kept["digest"]) == ("chains.parquet", digest)
    assert re.search(r"gpt-4\.1\s+letter\s+2024-06\s+after 2024-12-31", printed("cutoff", "board", "."))
    # Without the server, from the store alone.
    again = [*line, "--address=http://127.0.0.1:9/v1", '--chat={"mode": "replay"}']
    printed(*again, "--answers=replayed", "-o=b.json")
    for one, other in (("live", "replayed"), ("a.json", "b.json")):
        assert Path(one).read_bytes() == Path(other).read_bytes()
