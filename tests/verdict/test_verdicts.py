"""Verdicts by rule: hand-made answers, ten and more for each row of cue words, and what spoils them."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.core.paths import CUES, RESOURCES
from factdrift.verdict.cues import COLUMNS, read_cues
from factdrift.verdict.judge import VERDICTS, Case, judged
from factdrift.verdict.matching import contains, exact_match

HERE = Path(__file__).parent
SCENES = json.loads((HERE / "scenes.json").read_text())
ROWS = [line.split("\t") for line in (HERE / "answers.tsv").read_text().splitlines()[1:]]


def case(scene: str, text: str) -> Case:
    lists = {key: tuple(value) if isinstance(value, list) else value for key, value in SCENES[scene].items()}
    return Case(text.replace("\\n", "\n"), **lists)


@pytest.mark.parametrize(
    "kind", sorted({(row[0], row[1]) for row in ROWS}), ids=lambda kind: f"{kind[0]}-{kind[1]}"
)
def test_answers_of_a_row_of_cue_words(kind):
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
def test_an_answer_that_says_nothing_is_empty(text, verdict):
    assert judged(case("us", text)).verdict == verdict


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        # A name that stale and accepted ones share; one that is asserted and denied.
        (Case("Bush", ("George W. Bush", "Bush"), ("George H. W. Bush", "Bush")), "unclear"),
        (Case("Joe Biden is the president and it is not Joe Biden.", ("Joe Biden",)), "unclear"),
        # A surname that candidates share names none; with a middle name it is another's.
        (case("us", "Bush"), "wrong"),
        (Case("John Quincy Adams", ("John Adams",), others=("Samuel Adams",)), "wrong"),
        (Case("Barack Hussein Obama", ("Barack Obama",)), "correct"),
        # A genitive in a name is part of it.
        (Case("It is the People's Republic of China.", ("People's Republic of China",)), "correct"),
        (Case("China's Republic", ("China Republic",)), "wrong"),
        # A number that begins a name is no point of a list, and the name without it another one.
        *(
            (Case(text, ("Bundesliga",), ("2. Bundesliga",)), verdict)
            for text, verdict in (
                *(("Bundesliga", "correct"), ("1. Bundesliga\n2. Serie A", "correct")),
                *((text, "stale") for text in ("2. Bundesliga", "It is 2. Bundesliga.", "Second Bundesliga")),
            )
        ),
        # A language is known by the first part of its code; without its cue words names are read.
        *(
            (Case("Die Frau von Merkels Nachfolger", ("Merkel",), language=code), "correct")
            for code in ("de", "DE", "de-AT")
        ),
        (Case("東京です。", ("東京",), ("京都",), language="ja"), "correct"),
    ],
)
def test_names_that_mean_two_or_another(given, verdict):
    assert judged(given).verdict == verdict


@pytest.mark.parametrize(
    ("text", "accepted", "verdict"),
    [
        # Units of temperature; a degree alone may be any.
        ("5 °C", "5 °C", "correct"),
        ("It melts at 1,085 degrees Celsius.", "1085 degree Celsius", "correct"),
        ("1,085", "1085 degree Celsius", "correct"),
        ("5°", "5 °C", "correct"),
        ("5 °F", "5 °C", "wrong"),
        ("6 °C", "5 degrees Celsius", "wrong"),
        # A decade before Christ is no other.
        *((text, "1190s BC", "correct") for text in ("1190s BC", "1195 BC")),
        *((text, "1190s BC", "wrong") for text in ("1195", "The 1190s.")),
        # An amount that begins with what looks like a year.
        ("1,500 m", "1500 metre", "correct"),
        ("1980", "1980 eruption", "wrong"),
        # A name with signs in it, and with others.
        ("ZANU-PF", "ZANU–PF", "correct"),
        ("It is Chiang Wan-an.", "Chiang Wan-an", "correct"),
        ("Netflix. Streaming service", "Netflix (streaming service)", "wrong"),
        # A name that looks like a Roman number.
        ("President Xi", "Xi Jinping", "correct"),
        ("Xi", "Xi Jinping", "correct"),
        ("There are 11.", "Xi Jinping", "wrong"),
        ("Louis XI", "Xi Jinping", "wrong"),
    ],
)
def test_numbers_and_names_that_look_like_others(text, accepted, verdict):
    assert judged(Case(text, (accepted,))).verdict == verdict


@pytest.mark.slow
def test_every_label_is_found_in_itself():
    """Also `Yahoo! Inc.`, `Netflix (streaming service)`, `Cluny – La Sorbonne` and `1. FC Nürnberg`."""
    tables = [table.read_text().splitlines() for table in (RESOURCES / "sample/entities").glob("*.tsv")]
    labels = {line.split("\t")[1] for table in tables for line in table[1:]} - {""}
    assert len(labels) > 6000
    named = (Case(f"It is {label}.", (label,), ("Zanzibar Quux",)) for label in labels)
    assert not [each.text for each in named if judged(each).verdict != "correct"]


def test_a_wrong_table_of_cue_words_names_its_line(tmp_path):
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
def test_only_the_beginning_of_a_huge_text_is_read(unit):
    start = time.process_time()
    judged(case("us", unit * (1_000_000 // len(unit))))
    judged(case("date", unit * (1_000_000 // len(unit))))
    assert time.process_time() - start < 5


def test_exact_match():
    assert exact_match(" Joe biden.\n", ["Donald Trump", "Joe Biden"])
    assert not exact_match("Joe Biden, the president", ["Joe Biden"])
    assert not exact_match("", ["Joe Biden"])


def test_contains_counts_what_the_verdict_does_not():
    assert contains("It is not Joe Biden.", ["Joe Biden", "Biden"])
    assert not contains("joe biden", ["Joe Biden"])
    assert not contains("", ["Joe Biden"])


def test_exact_match_is_that_of_the_harness():
    harness = pytest.importorskip("lm_eval.api.metrics").exact_match_hf_evaluate
    given = [(text.replace("\\n", "\n"), SCENES[scene]["accepted"]) for _, _, scene, text, _ in ROWS]
    given += [(text, row["accepted"]) for row in READ for text in (row["text"], row["text"].split(". ")[0])]
    matches = 0
    for text, accepted in given:
        settings = {"ignore_case": True, "ignore_punctuation": True}
        found = [harness([text.strip()], [name], **settings)["exact_match"] for name in accepted]
        assert exact_match(text, accepted) == any(found), text
        matches += any(found)
    assert 10 < matches < len(given)


READ = [json.loads(line) for line in (HERE / "read.jsonl").read_text().splitlines()]
"""300 answers of each of two trainings of the bundled model, drawn at random and read one by one.

The first training never stopped, so only first sentences were read. Its answers are to the clozes of updates,
to TempRIPPLE and to KLoB, with the new fact before or without; those of the second to updates, ripples and
TempRIPPLE in all states. The reader saw the verdicts, and noted another one where the rules were wrong.
"""
DISAGREED = [
    " Japan is United Kingdom",  # it contradicts itself
    " ViacomCBS Inc",  # "Inc.K.", which is no name
    " federal state of Denmark is Rivlin",
]


def verdict_on(row: dict[str, object]) -> str:
    lists = {name: tuple(row[name]) for name in ("accepted", "stale", "others")}
    several = row.get("several", False)
    return judged(Case(row["text"], **lists, question=row["prompt"], several=several)).verdict


def test_rules_and_reading_agree():
    other = [row for row in READ if verdict_on(row) != row["reading"]]
    assert len(READ) == 2 * 300
    assert len(other) / 300 <= 0.02
    assert [row["text"].split(".")[0] for row in other] == DISAGREED


def test_exact_match_misses_what_goes_on():
    """That of lm-eval, as the test above says: on the same texts and on their first sentences."""
    names = [(row["text"], row["accepted"][:1]) for row in READ[:300]]
    whole = sum(exact_match(text, accepted) for text, accepted in names)
    sentences = sum(exact_match(text.split(". ")[0], accepted) for text, accepted in names)
    assert whole == 0 < sentences <= sum(row["reading"] == "correct" for row in READ[:300])
