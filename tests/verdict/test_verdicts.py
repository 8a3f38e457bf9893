"""Verdicts by rule: hand-made answers, ten and more for each row of cue words, and what spoils them."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import CUES
from factdrift.verdict.cues import COLUMNS, read_cues
from factdrift.verdict.judge import VERDICTS, Case, judged

HERE = Path(__file__).parent
SCENES = json.loads((HERE / "scenes.json").read_text())
ROWS = [line.split("\t") for line in (HERE / "answers.tsv").read_text().splitlines()[1:]]


def case(scene: str, text: str) -> Case:
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in SCENES[scene].items()}
    return Case(text.replace("\\n", "\n"), **lists)


@pytest.mark.parametrize(
    "kind", sorted({(row[0], row[1]) for row in ROWS}), ids=lambda kind: f"{kind[0]}-{kind[1]}"
)
def test_answers_of_a_row_of_cue_words(kind: tuple[str, str]):
    wrong = []
    for language, name, scene, text, verdict in ROWS:
        if (language, name) == kind and (found := judged(case(scene, text))).verdict != verdict:
            wrong.append(f"{text!r} is {verdict}, not {found.verdict}: {found.reason}")
    assert not wrong, "\n".join(wrong)


def test_each_row_of_cue_words_has_ten_answers():
    cases = Counter((row[0], row[1]) for row in ROWS)
    rows = [tuple(line.split("\t")[:2]) for line in CUES.read_text().splitlines()[1:]]
    assert not [row for row in rows if cases[row] < 10]
    assert len(ROWS) >= 400
    assert {row[4] for row in ROWS} <= set(VERDICTS)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("...", "empty"),
        ("Who is the president of the United States?", "empty"),
        ("Who is the president of the", "empty"),
        ("Joe Biden Joe Biden Joe Biden Joe Biden Joe", "empty"),
        ("the the the the the the", "empty"),
        ("is the is the is the is the", "empty"),
        ("Joe Biden, Joe Biden", "correct"),
        ("Who is the president of the United States? Who is the president of the United States?", "empty"),
    ],
)
def test_an_answer_that_says_nothing_is_empty(text: str, verdict: str):
    assert judged(case("us", text)).verdict == verdict


def test_a_name_that_stale_and_accepted_share_is_unclear():
    found = judged(Case("Bush", accepted=("George W. Bush", "Bush"), stale=("George H. W. Bush", "Bush")))
    assert found.verdict == "unclear"


def test_an_answer_that_is_asserted_and_denied_is_unclear():
    found = judged(Case("Joe Biden is the president and it is not Joe Biden.", accepted=("Joe Biden",)))
    assert found.verdict == "unclear"


def test_a_surname_that_candidates_share_names_none():
    assert judged(case("us", "Bush")).verdict == "wrong"


def test_without_cue_words_of_a_language_names_are_read():
    found = judged(Case("東京です。", accepted=("東京",), stale=("京都",), language="ja"))
    assert found.verdict == "correct"


def test_a_wrong_table_of_cue_words_names_its_line(tmp_path: Path):
    table = tmp_path / "cues.tsv"
    for row, message in (
        ("en\tsmell\trose", "line 2: kind is 'smell'"),
        ("en\tnot\t|no", "line 2: an empty word"),
        ("en\tnumber\tone", "line 2: an empty word, or one without"),
        ("en\tnot\tno\nen\tnot\tnever", "line 3: not has a row already"),
    ):
        table.write_text("\t".join(COLUMNS) + "\n" + row + "\n")
        with pytest.raises(InputError, match=message):
            read_cues("en", table)


@pytest.mark.parametrize(
    "unit", ["a", "1", "1,234 ", "Joe Biden, ", "not ", "_a", "a-", "<think>", "J. ", "[a]("]
)
def test_only_the_beginning_of_a_huge_text_is_read(unit: str):
    start = time.process_time()
    judged(case("us", unit * (1_000_000 // len(unit))))
    judged(case("date", unit * (1_000_000 // len(unit))))
    assert time.process_time() - start < 5


def test_a_name_with_a_middle_name_is_another_where_the_surname_is_shared():
    names = {"accepted": ("John Adams",), "others": ("Samuel Adams",)}
    assert judged(Case("John Quincy Adams", **names)).verdict == "wrong"
    assert judged(Case("Barack Hussein Obama", accepted=("Barack Obama",))).verdict == "correct"
