"""Verdicts of a chat model: its prompt, its word, the store behind it, and agreement with the rules."""

import hashlib
import json
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score
from support.chat_server import ChatServer, chat_serving

from factdrift.cli import main
from factdrift.core.paths import JUDGE
from factdrift.verdict.agreement import agreement, cohen
from factdrift.verdict.by_model import WORDS, prompt_of, word_of
from factdrift.verdict.judge import VERDICTS, Case

ROWS = [
    {"question": "Who is it?", "text": "Joe Biden.", "accepted": ["Joe Biden"], "stale": ["Donald Trump"]},
    {"question": "Who is it?", "text": "Donald Trump.", "accepted": ["Joe Biden"], "stale": ["Donald Trump"]},
    {"question": "Where?", "text": "I do not know {it}.", "accepted": ["Paris"]},
    {"question": "What?", "text": "A sort of fog.", "accepted": ["a cloud"], "several": True},
]
SAID = {"Joe Biden.": "correct", "Donald Trump.": "**Stale.**", "I do not know {it}.": "refused"}


def text_in(body: dict[str, Any]) -> str:
    """The answer that a judge is shown."""
    return str(body["messages"][0]["content"].split("-----\n")[1].strip())


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with chat_serving(answer=lambda body: SAID.get(text_in(body), "It is about fog, so wrong.")) as serving:
        yield serving


def judge(folder: Path, url: str, *more: str, chat: dict[str, Any] | None = None) -> int:
    (folder / "answers.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS), "utf-8")
    keys = {"backoff": 0.01, "tries": 2, "answer_tokens": 8, **(chat or {})}
    given = [f"--address={url}", f"--chat={json.dumps(keys)}", f"--store={folder / 'store'}"]
    output = f"--output={folder / 'out.jsonl'}"
    return main(["judge", str(folder / "answers.jsonl"), "--judge=tiny", *given, output, *more])


def rows_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]


def test_the_prompt_is_pinned():
    """Another prompt is another judge: published agreement holds for this one only."""
    found = hashlib.sha256(JUDGE.read_bytes()).hexdigest()
    assert found == "1448b846f8759e4e7622f0b402981812c96df385ced25138ea285e42a0ca40ce"


def test_what_the_judge_reads():
    read = prompt_of(
        Case("<think>Trump?</think>Biden {x}", ("Joe Biden", "Biden"), ("Trump",), question="Who?")
    )
    assert "Question: Who?\nAccepted answers: Joe Biden; Biden\n" in read
    assert "hold any more: Trump\n" in read
    assert "-----\nBiden {x}\n-----" in read
    assert "Several answers hold" not in read
    assert all(f"\n{word}: " in read for word in WORDS)
    several = prompt_of(Case("x" * 9000, ("a",), several=True))
    assert "Several answers hold at a time" in several
    assert "x" * 8192 in several
    assert "x" * 8193 not in several


def test_the_word_of_the_judge():
    thought = "<think>It is stale, or wrong.</think>\nboth"
    words = {"correct": "correct", " **Wrong**.\n": "wrong", thought: "both"}
    words |= dict.fromkeys(("unclear", "correct, since he is", "right", ""))
    assert {text: word_of(text) for text in words} == words


def test_kappa_is_that_of_scikit_learn():
    draw = random.Random(1)
    for size in (2, 5, 40, 400):
        rule = draw.choices(VERDICTS[:3], k=size)
        model = [one if draw.random() < 0.7 else draw.choice(WORDS) for one in rule]
        found = cohen(Counter(zip(rule, model, strict=True)))
        wanted = cohen_kappa_score(rule, model)
        assert wanted != wanted if found is None else found == pytest.approx(wanted)


def test_the_interval_holds_kappa_in_most_draws():
    """Clusters of four answers with one verdict by rule; kappa of the whole is known from many draws."""
    draw = random.Random(2)

    def rows(clusters: int) -> list[tuple[str, str | None, int]]:
        found: list[tuple[str, str | None, int]] = []
        for cluster in range(clusters):
            rule, skill = draw.choice(("correct", "wrong", "stale")), draw.choice((0.5, 1.0))
            for _ in range(4):
                model = rule if draw.random() < skill else draw.choice(("correct", "wrong", "stale"))
                found.append((rule, model, cluster))
        return found

    whole = agreement(rows(5000)).kappa
    found = [agreement(rows(40)) for _ in range(200)]
    covered = sum(each.low <= whole <= each.high for each in found if each.low is not None and each.high)
    assert 180 <= covered <= 199


def test_agreement_without_a_word_or_without_variety():
    found = agreement([("correct", None, 1), ("correct", "correct", 2), ("correct", "correct", 3)])
    assert found == (2, 1, 2, None, None, None)
    assert agreement([("correct", None, 1)])[:3] == (0, 1, 0)


def test_a_file_of_answers_is_judged_twice(tmp_path, server, capsys):
    assert judge(tmp_path, server.url) == 0
    found = rows_in(tmp_path)
    assert [row["verdict"] for row in found] == ["correct", "stale", "refused", "wrong"]
    # What is more than one word is no verdict.
    assert [row["judge"] for row in found] == ["correct", "stale", "refused", None]
    said = capsys.readouterr().out
    assert re.search(r"^answers.jsonl +3 +1 +100.0 +1.00 +33.3 +33.3$", said, re.MULTILINE)
    # Nothing is asked twice, and the store alone is enough.
    asked = sum(server.asked.values())
    assert asked == 4
    assert judge(tmp_path, "http://localhost:9", chat={"mode": "replay"}) == 0
    assert rows_in(tmp_path) == found
    assert sum(server.asked.values()) == asked
    # Of these answers the rules leave none open.
    assert judge(tmp_path, server.url, "--which=unclear") == 0
    assert [row["judge"] for row in rows_in(tmp_path)] == [None] * 4
    assert sum(server.asked.values()) == asked
    assert "no answer was judged by a model" in capsys.readouterr().out
    # One whose request fails has no verdict.
    server.fault = lambda path, body, attempt: "500" if "Joe Biden." in text_in(body) else None
    (tmp_path / "other").mkdir()
    assert judge(tmp_path / "other", server.url) == 0
    assert [row["judge"] for row in rows_in(tmp_path / "other")] == [None, "stale", "refused", None]
    assert "1 of 4 requests to tiny failed" in capsys.readouterr().out


def test_what_the_judge_may_cost(tmp_path, server, capsys):
    assert judge(tmp_path, server.url, "--judge=gpt-4o-mini", chat={"max_usd": 1e-9}) == 1
    assert "max_usd" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()
    assert not server.asked
    assert main(["judge", str(tmp_path / "answers.jsonl"), "--judge=tiny"]) == 1
    assert "name a file for the rows with --output" in capsys.readouterr().err
