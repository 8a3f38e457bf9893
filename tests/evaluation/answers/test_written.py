"""The way `written`: prompts, what ends an answer, and its verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from support.asking import settings_with  # noqa: E402
from support.questions import items  # noqa: E402
from support.tiny_models import tiny_model  # noqa: E402

from factdrift.evaluation.questions.clozes import question_about  # noqa: E402
from factdrift.evaluation.questions.items import of_statements, read_items  # noqa: E402
from factdrift.evaluation.questions.prompts import shots_before  # noqa: E402
from factdrift.evaluation.questions.question import Question  # noqa: E402
from factdrift.evaluation.session import Session  # noqa: E402
from factdrift.evaluation.ways import written  # noqa: E402
from factdrift.evaluation.ways.asked import Asked  # noqa: E402
from factdrift.models.writing import Begun  # noqa: E402
from factdrift.tempripple.schemas import TR_ITEMS, write_rows  # noqa: E402

QUESTION = Question(
    "q",
    prompt="The spouse of Ada is",
    words="Who is the spouse of Ada?",
    accepted=("Joe",),
    stale=("Marta",),
    ways=("written",),
    relation="P26",
)


def session_that_writes(monkeypatch: pytest.MonkeyPatch, text: str, **keys: Any) -> tuple[Session, list[str]]:
    """A session whose model writes this text, and the prompts that it is given."""
    loaded, seen = tiny_model("llama", dtype=torch.float32), list[str]()
    said: list[int] = loaded.tokenizer(text, add_special_tokens=False).input_ids

    def writes(self: Session, rows: Sequence[Begun], changes: Any = None) -> list[list[int]]:
        seen.extend(loaded.tokenizer.decode(row.ids) for row in rows)
        return [said] * len(rows)

    monkeypatch.setattr(Session, "written", writes)
    return Session(loaded, settings_with(**keys)), seen


@pytest.mark.parametrize(
    ("text", "output", "stop", "verdict"),
    [
        (" Joe", " Joe", "length", "correct"),
        (" Joe\nMarta", " Joe", "line", "correct"),
        (" Joe, no, Marta", " Joe, no, Marta", "length", "stale"),
        ("", "", "length", "empty"),
    ],
)
def test_an_answer_ends_with_its_line_and_is_judged(
    text: str, output: str, stop: str, verdict: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, _ = session_that_writes(monkeypatch, text)
    (row,) = written.ask(session, [Asked(QUESTION)], {})
    assert (row["output"], row["stop"], row["verdict"]) == (output, stop, verdict)
    assert row["correct"] == (verdict == "correct")


def test_a_base_model_reads_the_cloze_or_examples_and_the_question(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    for shots in (False, True):
        session, seen = session_that_writes(monkeypatch, " Joe", written_shots=shots)
        list(written.ask(session, [Asked(QUESTION)], {}))
        read += seen
    assert read[0].strip() == "The spouse of Ada is"
    assert read[1].count("Question:") == 4
    assert read[1].endswith("Question: Who is the spouse of Ada?\nAnswer:")


def test_a_chat_model_reads_the_question_and_the_instruction(monkeypatch: pytest.MonkeyPatch) -> None:
    session, seen = session_that_writes(monkeypatch, " Joe\n\nMarta", written_instruction="Be brief.")
    template = "{% for turn in messages %}<{{ turn.content }}>{% endfor %}"
    monkeypatch.setattr(session.loaded.tokenizer, "chat_template", template)
    (row,) = written.ask(session, [Asked(QUESTION)], {})
    assert seen[0] == "<Who is the spouse of Ada? Be brief.>"
    assert row["stop"] == "length"  # a turn has several lines


def test_examples_are_of_other_relations() -> None:
    for relation in ("P50", "P30", "P38", "P26"):
        text = shots_before(Question("q", relation=relation))
        assert text.count("Answer:") == 3
    assert "Don Quixote" not in shots_before(Question("q", relation="P50"))
    assert question_about("P26", "Ada") == QUESTION.words
    assert question_about("P99999", "Ada") == ""


def test_who_held_before_is_stale(tmp_path: Path) -> None:
    """Of the items that ask for the new holder only, also where the other items are not asked."""
    rows = items()
    rows[2]["answer_aliases"] = ["Zoë", rows[0]["answer_label"]]
    path = tmp_path / "items.parquet"
    write_rows(rows, TR_ITEMS, path)
    asked = {each.id: each for each in of_statements(read_items(path, limit=1, seed=3)).questions}
    whole = {each.id: each for each in of_statements(read_items(path)).questions}
    assert {name: whole[name] for name in asked} == asked
    assert len(asked) < len(whole)
    new, old = whole["i00"], whole["i10"]
    assert (new.role, old.role) == ("1 0", "2 0")
    assert new.stale == (old.accepted[0], "Zoë")
    assert all(each.stale == () for each in whole.values() if each.role != "1 0")
