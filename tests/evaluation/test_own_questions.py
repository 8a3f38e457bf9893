"""Questions in a file of the user's own: what a line becomes, and what is said of a line that lacks some."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import RESOURCES
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.questions.own import lacking
from factdrift.evaluation.questions.question import MINE, Tables, read

FACT = {"subject": "Peru", "prompt": "The head of Peru is", "new_object": "Ann"}


def lines(folder: Path, *rows: Any, name: str = "mine.jsonl") -> Tables:
    path = folder / name
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return Tables([path])


HEAD = "The head of Peru is"
WHO, WHOM = "Who is the head of Peru?", "Whom does Peru obey?"


@pytest.mark.parametrize(
    ("line", "prompt", "words", "targets"),
    [
        ({**FACT, "question": None, "accepted": "Ann"}, HEAD, "", ("Ann",)),
        ({"prompt": "Lima is in ____", "accepted": ["X"], "stale": ["Y", "Z"]}, "Lima is in", "", ("X", "Y")),
        ({**FACT, "question": "Peru is led by ____", "accepted": "Ann"}, "Peru is led by", "", ("Ann",)),
        ({**FACT, "question": WHO, "accepted": "Ann", "stale": "Bob"}, "", WHO, ("Ann", "Bob")),
        ({"question": WHOM, "accepted": " Ann "}, f"Question: {WHOM}\nAnswer:", WHOM, ("Ann",)),
    ],
)
def test_a_line_becomes_a_question(line, prompt, words, targets, tmp_path):
    (question,) = read(MINE, lines(tmp_path, line)).questions
    assert (question.prompt, question.words, sorted(question.targets)) == (prompt, words, [*targets])
    assert question.ways == (("loglik", "letter", "written") if words == WHO else ("loglik", "written"))
    assert "stale" not in line or question.targets[question.answer] == targets[0]
    assert question.context == ("The head of Peru is Ann. " if "subject" in line else "")
    assert question.edit == ("line 1" if "subject" in line else "")


def test_a_model_that_always_says_a_is_right_by_chance_only(tmp_path):
    rows = [{"question": f"Who led {number}?", "accepted": "Ann", "stale": "Bob"} for number in range(40)]
    answers = [question.answer for question in read(MINE, lines(tmp_path, *rows)).questions]
    assert 12 < answers.count(0) < 28


def test_a_fact_of_several_lines_is_one_edit_and_lines_without_are_named(tmp_path):
    tables = lines(
        tmp_path,
        {"prompt": "Lima is in", "accepted": "Peru"},
        {**FACT, "accepted": "Ann"},
        {**FACT, "question": "Who is the head of Peru?", "accepted": "Ann", "stale": "Bob"},
        {**FACT, "new_object": "Eve", "accepted": "Eve"},
    )
    benchmark = read(MINE, tables)
    assert benchmark.edits == [
        Edit("line 2", "The head of Peru is", "Peru", "Ann"),
        Edit("line 4", "The head of Peru is", "Peru", "Eve"),
    ]
    assert [question.edit for question in benchmark.questions] == ["", "line 2", "line 2", "line 4"]
    path = tables.questions[0]
    assert lacking(benchmark, path, "loglik", False) == []
    said = "without subject, prompt and new_object: asked after the fact of another line"
    assert lacking(benchmark, path, "written", True) == [f"{path}, line 1: {said}"]
    (note,) = lacking(benchmark, path, "letter", False)
    assert note.startswith(f"{path}, line 1, line 2, line 4: not asked with --way letter, which needs `quest")


def test_empty_columns_of_a_csv_are_none(tmp_path):
    assert len(read(MINE, lines(tmp_path, "question,accepted,,", "Who?,A,,", name="mine.csv")).questions) == 1


def test_a_csv_says_the_same_as_json_lines(tmp_path):
    rows = [
        {**FACT, "accepted": ["Ann", "Ann Lee"], "kind": "told"},
        {"question": "Who, if anyone, rules?", "accepted": ["Bob"], "stale": ["Eve", "Al"]},
    ]
    cells = [
        "question,subject,prompt,new_object,accepted,stale,kind",
        ",Peru,The head of Peru is,Ann,Ann|Ann Lee,,told",
        '"Who, if anyone, rules?",,,,Bob,Eve|Al,',
    ]
    given = lines(tmp_path, *cells, name="mine.csv"), lines(tmp_path, *rows)
    table, objects = (read(MINE, each) for each in given)
    assert [question.id for question in table.questions] == ["line 2", "line 3"]  # of the file
    assert [question.id for question in objects.questions] == ["line 1", "line 2"]
    ids = {"id": "", "edit": ""}
    for ours, theirs in zip(table.questions, objects.questions, strict=True):
        assert replace(ours, **ids) == replace(theirs, **ids)
    assert [replace(edit, id="") for edit in table.edits] == [replace(edit, id="") for edit in objects.edits]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"question": "Who?"}, "line 2: has no `accepted`"),
        ({"question": "Who?", "accepted": []}, "line 2: has no `accepted`"),
        (
            {"question": "Who?", "accepted": "A", "stale": ["B", "a"]},
            "line 2: 'A' is in `accepted` and in `stale`",
        ),
        ({"question": "Who?", "accepted": 3}, "line 2: `accepted` must be a text or a list of texts"),
        ({"question": ["Who?"], "accepted": "A"}, "line 2: `question` must be a text"),
        ({"accepted": "A"}, "line 2: has neither a `question` nor a `prompt`"),
        ({"qestion": "Who?", "accepted": "A"}, "`qestion` is no column (did you mean question?)"),
        ({**FACT, "new_object": "", "accepted": "A"}, "line 2: has no `new_object`"),
        ({"question": "Who?", "subject": "Peru", "new_object": "A", "accepted": "A"}, "has no `prompt`"),
        ({**FACT, "subject": "Chile", "accepted": "A"}, "'Chile' does not occur in the prompt"),
        ("{", "line 2: no JSON"),
        ("[]", "line 2: no JSON object"),
        ("", "line 2: the line is empty"),
    ],
)
def test_what_a_line_lacks_is_said_with_its_number(line, said, tmp_path):
    with pytest.raises(InputError) as error:
        read(MINE, lines(tmp_path, {"question": "Who?", "accepted": "A"}, line, FACT))
    assert said in str(error.value)
    assert "mine.jsonl, line 2" in str(error.value)


@pytest.mark.parametrize(
    ("rows", "name", "said"),
    [
        ([], "mine.jsonl", "has no question"),
        (["question,accepted", "Who"], "mine.csv", "line 2: has not as many cells"),
        (["question,accepted,accepted", "Who,A,B"], "mine.csv", "line 1: `accepted` is there twice"),
        (["question,accepted", "Who,A,B"], "mine.csv", "line 2: has not as many cells"),
        (["question,accepted", '"Who,A'], "mine.csv", "no CSV"),
    ],
)
def test_files_that_have_no_questions(rows, name, said, tmp_path):
    with pytest.raises(InputError, match=said):
        read(MINE, lines(tmp_path, *rows, name=name))
    with pytest.raises(InputError, match="no such file"):
        read(MINE, Tables([tmp_path / "other.jsonl"]))


def test_the_example_file_is_one():
    benchmark = read(MINE, Tables([RESOURCES / "questions.jsonl"]))
    assert (len(benchmark.questions), len(benchmark.edits)) == (5, 1)
