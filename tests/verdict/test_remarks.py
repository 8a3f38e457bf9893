"""What answers say of a text that they have read: doubts, denials, fiction, and a future not known."""

import json
from collections import Counter
from pathlib import Path

import pytest

from factdrift.core.paths import REMARKS
from factdrift.evaluation.scores.stated import MARKS, remarks
from factdrift.verdict.cues import COLUMNS, read_cues
from factdrift.verdict.text import keys_of

ROWS = [line.split("\t") for line in (Path(__file__).parent / "remarks.tsv").read_text().splitlines()[1:]]
"""Set, language, a reader's remark, text, and that of the rules where it differs.

`before`: 120 answers that were written before any rule. `unusual` and `fresh`: 42 answers each, written with
the reader's remark after the rules for the sets before them, which got 5 and 29 of them right at first sight.
"""
READ = Path(__file__).parents[1] / "evaluation" / "cutoff" / "stated_read.jsonl"


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_answers_have_the_remarks_of_a_reader(language: str) -> None:
    wrong = []
    for _, own, remark, text, rules in ROWS:
        expected = [name for name in [rules or remark] if name not in ("", "none")]
        if own == language and (made := remarks(text, language)) != expected:
            wrong.append(f"{text!r}: {expected}, not {made}")
    assert not wrong, "\n".join(wrong)


def test_the_cases_have_been_written_before_the_rules_and_use_each_row_of_them() -> None:
    assert Counter(row[0] for row in ROWS) == {"before": 120, "unusual": 42, "fresh": 42}
    counts = Counter((row[1], row[2]) for row in ROWS if row[0] == "before")
    assert counts == {(name, mark): 6 for name in ("en", "de", "fr", "es") for mark in ("", *MARKS[1:])}
    table = [line.split("\t") for line in REMARKS.read_text().splitlines()]
    assert tuple(table[0]) == COLUMNS
    texts = [(language, text) for _, language, _, text, _ in ROWS]
    used = Counter(
        (language, cue.kind)
        for language, text in texts
        + [(row["language"], row["text"]) for row in map(json.loads, READ.read_text().splitlines())]
        for cue in read_cues(language, REMARKS).find(keys_of(text))
    )
    assert {tuple(row[:2]) for row in table[1:]} == used.keys()
    assert min(used.values()) >= 1


def test_reasoning_before_an_answer_is_no_remark() -> None:
    assert remarks("<think>This may be a fictional article.</think>It is Ann Berg.") == []
    assert remarks("It is Ann Berg. This may be a fictional article.") == ["fictional"]
