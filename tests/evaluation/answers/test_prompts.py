"""Prompts for items, and letters read from what a model writes."""

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


def test_the_first_letter_that_stands_alone_is_the_answer() -> None:
    plain = {"A": ["**A**"], "C": ["(C)"], "D": ["The answer is D."]}
    plain["B"] = [" B", "B. Bo", "Both B and C", "B.Paris", "Option B. C is too old"]
    plain[""] = ["BA", "b", "E", "Äpfel, DNA", "", "Manchester City F.C."]
    plain[""] += ["C. S. Lewis", "J. C. Penney", "Texas A&M"]
    # Letters of the options' own texts are no answer.
    cities = {"B": ["Serie A, so B"], "C": ["Chelsea F.C. (C)", "C."]}
    cities[""] = ["Washington, D", "The answer is Chelsea F.C.", "serie A is the answer"]
    for options, said in (
        (["Ann", "Bo", "Cid", "Dan"], plain),
        (["Washington, D.C.", "Serie A", "Chelsea F.C.", "C. S. Bo"], cities),
    ):
        named = [(letter, f"{letter}. {text}") for letter, text in zip("ABCD", options, strict=True)]
        named += [(letter, text) for letter, texts in said.items() for text in texts]
        for letter, output in [*named, *(("", text) for text in options)]:
            assert parsed(output, options) == ("ABCD".index(letter) if letter else None), output
    assert parsed("C", ["B", "C", "D", "A"]) == 2


def test_prompts_without_what_they_need_are_refused() -> None:
    for key, prompt, said in (
        ("letter", "{context} {question}", "must have {options}"),
        ("letter", "{question} {options}", "must have {context}"),
        ("loglik", "{context}", "{question} or {cloze}"),
        ("loglik", "{context} {cloze} {answer}", "{answer} is no slot"),
    ):
        with pytest.raises(InputError, match=said.replace("{", r"\{")):
            read_settings(json.dumps({f"answer_prompts_{key}": prompt}), Settings, "edit")
