"""Where the answer is in what a model writes: marks of every vendor, and all that read answers."""

import json
import re

import pytest

from factdrift.core.files import read_tsv
from factdrift.core.paths import PACKAGE, PROMPTS, REASONING
from factdrift.evaluation.questions.letters import chosen
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.scores.cutoff_answers import holder_named
from factdrift.evaluation.ways.asked import verdict
from factdrift.verbalize.language import read_language
from factdrift.verbalize.sentences import parse
from factdrift.verdict.by_model import word_of
from factdrift.verdict.judge import Case, judged
from factdrift.words.reasoning import answer_of, closing_of

CHANNEL, SAID = "<|channel|>", "<|message|>"
WHY = "Maybe A, or Rome? That would be wrong."
ROWS = read_tsv(REASONING)


def opened(row: dict[str, str]) -> str:
    """Reasoning with its opening mark."""
    letters = row["opening"].startswith("^")
    return row["opening"].removeprefix("^") + ("" if letters else "\n") + WHY


def closed(row: dict[str, str]) -> list[str]:
    """Reasoning up to an answer: with its opening mark, if there is one, and without, as after a prompt."""
    end = row["closing"] + ("" if row["closing"].isalpha() else "\n\n")
    return [before + end for before in ([opened(row)] if row["opening"] else []) + [WHY] if row["closing"]]


BEFORE = [pytest.param(text, row["end"], id=text) for row in ROWS for text in closed(row)]
CUT = [pytest.param(opened(row), id=row["opening"]) for row in ROWS if row["opening"]]


@pytest.mark.parametrize(("before", "end"), BEFORE)
def test_an_answer_follows_the_last_closing_mark(before: str, end: str) -> None:
    assert answer_of(f"{before}Paris{end}").strip() == "Paris"
    assert answer_of(f"{before}Rome\n{before}Paris").strip() == "Paris"
    assert answer_of(before).strip() == ""


@pytest.mark.parametrize("text", CUT)
def test_reasoning_that_is_cut_has_no_answer(text: str) -> None:
    again = f"Well.</think>\n{text.removeprefix('analysis') and '<think>' + text}"
    assert answer_of(text) == answer_of(again) == ""
    assert chosen(f"{text} A", ("Paris", "Rome")) is None
    assert judged(Case(text, ("Rome",))).verdict == "empty"
    assert word_of("<think>correct") is None


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (f"{CHANNEL}analysis{SAID}Rome?<|end|><|start|>assistant{CHANNEL}final{SAID}Paris", "Paris"),
        ("analysisThe user asks. Rome?assistantfinalParis", "Paris"),
        ("<THINK>Rome?</THINK>Paris", "Paris"),
        ("Here is my thought\nprocess: Rome? Here is my response: Paris", "Paris"),
        ("<think></think><answer>Paris</answer> as I said", "Paris"),
        ("<think>Rome?</think>Paris <think>or", ""),
        ("Paris<|im_end|>\n<|im_start|>user\nAnd Italy? Rome", "Paris"),
        ("<think>Rome?</think>Paris<｜end▁of▁sentence｜>", "Paris"),
        ('Paris <tool_call>{"name": "search"}</tool_call> Rome', "Paris"),
        ("[TOOL_CALLS]search{}", ""),
        *((text, text) for text in ("Analysis of it: Paris", "analysis: Paris", "Paris [1] <b>x</b>", "")),
    ],
)
def test_forms_of_their_own(text: str, answer: str) -> None:
    assert answer_of(text).strip() == answer


@pytest.mark.parametrize(("before", "end"), BEFORE)
def test_all_that_read_answers_read_the_same(before: str, end: str) -> None:
    assert chosen(f"{before}B{end}", ("Rome", "Paris")) == 1
    assert word_of(f"{before}correct{end}") == "correct"
    assert judged(Case(f"{before}It is Paris.{end}", ("Paris",), ("Rome",))).verdict == "correct"
    judgement = verdict(Question("q", accepted=("Paris",)), f"{before}Paris.{end}", "The capital is")
    assert judgement["exact"] == [True, True]
    holders = [{"label": label, "aliases": ()} for label in ("Rome", "Paris")]
    assert holder_named({"prompts": ["The capital is"], "holders": holders}, f"{before}Paris{end}") == 1
    row = {"status": "answered", "refusal": None, "finish_reason": "stop"}
    row["content"] = f"{before}{json.dumps(['The capital is Paris'])}{end}"
    assert parse(row, ["Paris"], 1, read_language(PROMPTS, "en")) == ("ok", ["The capital is Paris"])


@pytest.mark.parametrize(
    ("prompt", "closing"),
    [
        ("<|im_start|>assistant\n<think>\n", "\n</think>\n\n"),
        ("<|im_start|>assistant\n<think>", "</think>"),
        ("<seed:think><seed:cot_budget_reflect>", "</seed:cot_budget_reflect></seed:think>"),
        ("Here are my\nreasoning steps:\n", "\n[BEGIN FINAL RESPONSE]\n\n"),
        ("analysisOf", "assistantfinal"),
        *(("<think>\n\n</think>\n\n", ""), ("<|im_start|>assistant\n", "")),
    ],
)
def test_a_prompt_that_opens_reasoning_is_closed(prompt: str, closing: str) -> None:
    assert closing_of(prompt) == closing
    assert closing_of(prompt + closing) == ""


def test_no_second_place_renders_a_turn_or_knows_a_mark_or_reads_a_response() -> None:
    own = {
        r"apply_chat_template\(": "models/turns.py",
        r"(?i)</?(?:think|reason|thought|scratchpad)|\[/?THINK|<\|channel": None,
        r"completion\.choices|\[\"choices\"\]\[": "chat/replies.py",
        r"finish_reason\"\] (?:[!=]=|in|not in) ": None,
    }
    for pattern, module in own.items():
        found = [path for path in PACKAGE.rglob("*.py") if re.search(pattern, path.read_text("utf-8"))]
        assert found == ([PACKAGE / module] if module else []), pattern
