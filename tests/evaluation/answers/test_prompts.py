"""Prompts for items, and letters read from what a model writes."""

from __future__ import annotations

import json

import pytest

from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings
from factdrift.evaluation.questions.prompts import cloze_of, filled, parsed
from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.settings import Settings

WORDS = "Who was the previous mayor of {options}?"
ITEM = Question("i", words=WORDS, targets=("Ann", "Bo {cloze}", "C", "D. E"))
LISTED = "A. Ann\nB. Bo {cloze}\nC. C\nD. D. E"


def test_the_default_prompts() -> None:
    settings = read_settings("{}", Settings, "edit")
    told = filled(settings.answer_prompts_letter, ITEM, "It is so.")
    end = f"{WORDS}\n{LISTED}\nAnswer with the letter A, B, C or D only.\nAnswer:"
    assert told == f"It is so.\n{end}"
    assert filled(settings.answer_prompts_letter, ITEM) == end
    assert filled(settings.answer_prompts_loglik, ITEM, "It is so.") == (
        "It is so. The previous mayor of {options} was"
    )
    assert filled(settings.answer_prompts_loglik, ITEM) == "The previous mayor of {options} was"


def test_questions_become_clozes_and_nothing_else_does() -> None:
    assert cloze_of("Who is the most recent mayor of Is It?") == "The most recent mayor of Is It is"
    day, asked = "As of 31 December 2022", "the third most recent sports team of Who, Me"
    assert cloze_of(f"{day}, what was {asked}?") == f"{day}, {asked} was"
    assert cloze_of("As of 2018, the mayor of Town is ____") == "As of 2018, the mayor of Town is"
    with pytest.raises(InputError, match="no question such as"):
        cloze_of("Name the mayor.")


@pytest.mark.parametrize(
    ("output", "option"),
    [
        (" B", 1),
        ("B. Bo", 1),
        ("(C)", 2),
        ("The answer is D.", 3),
        ("**A**", 0),
        ("Both B and C", 1),
        ("BA", None),
        ("b", None),
        ("E", None),
        ("Äpfel, DNA", None),
        ("", None),
        ("B.Paris", 1),
        ("Option B. C is too old", 1),
        ("Manchester City F.C.", None),
        ("C. S. Lewis", None),
        ("J. C. Penney", None),
        ("Texas A&M", None),
    ],
)
def test_the_first_letter_that_stands_alone_is_the_answer(output: str, option: int | None) -> None:
    assert parsed(output, ["Ann", "Bo", "Cid", "Dan"]) == option


@pytest.mark.parametrize(
    ("output", "option"),
    [
        ("Chelsea F.C.", None),
        ("The answer is Chelsea F.C.", None),
        ("C. Chelsea F.C.", 2),
        ("Chelsea F.C. (C)", 2),
        ("Washington, D.C.", None),
        ("Washington, D", None),
        ("serie A is the answer", None),
        ("Serie A, so B", 1),
        ("B. Serie A", 1),
        ("C.", 2),
        ("C. S. Bo", None),
    ],
)
def test_letters_of_the_options_own_texts_are_no_answer(output: str, option: int | None) -> None:
    options = ["Washington, D.C.", "Serie A", "Chelsea F.C.", "C. S. Bo"]
    assert parsed(output, options) == option
    for letter, text in zip("ABCD", options, strict=True):
        assert parsed(text, options) is None
        assert parsed(f"{letter}. {text}", options) == "ABCD".index(letter)
    assert parsed("C", ["B", "C", "D", "A"]) == 2


@pytest.mark.parametrize(
    ("key", "prompt", "said"),
    [
        ("letter", "{context} {question}", "must have {options}"),
        ("letter", "{question} {options}", "must have {context}"),
        ("loglik", "{context}", "{question} or {cloze}"),
        ("loglik", "{context} {cloze} {answer}", "{answer} is no slot"),
    ],
)
def test_prompts_without_what_they_need_are_refused(key: str, prompt: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("{", r"\{")):
        read_settings(json.dumps({f"answer_prompts_{key}": prompt}), Settings, "edit")
