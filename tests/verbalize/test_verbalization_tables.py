"""Answers of a chat model -> verbalizations, report, candidates: tables from tables."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.chat.store import ANSWERS
from factdrift.core.errors import InputError
from factdrift.verbalize.candidates import CANDIDATES, KeptSentence, counted
from factdrift.verbalize.jobs import Count
from factdrift.verbalize.language import Language, words_of
from factdrift.verbalize.sample import SAMPLE
from factdrift.verbalize.sentences import REPORT, STEPS, VERBALIZATIONS, write_sentences
from factdrift.verbalize.settings import Quality

Row = dict[str, Any]


def triple(number: int, subject: str, object: str, **others: Any) -> Row:
    row = {"request": f"en:P36:Q{number}", "language": "en", "property": 36, "relation_label": "capital"}
    row |= {"subject": number, "subject_label": subject, "object_label": object, "datatype": "wikibase-item"}
    return row | {"subject_types": [], "object_types": []} | others


def answered(request: str, sentences: list[str] | str | None, **others: Any) -> Row:
    content = json.dumps({"sentences": sentences}) if isinstance(sentences, list) else sentences
    plain = {"key": "k", "status": "answered", "finish_reason": "stop", "model": "m-1"}
    return {"request": request, **plain, "content": content, **others}


TRIPLES = [
    triple(1, "France", "Paris"),
    triple(2, "Germany", "Berlin"),
    triple(3, "Spain", "Madrid"),
    triple(4, "Norway", "Oslo", property=37, request="en:P37:Q4", relation_label="official"),
]
OF_FRANCE = ["The capital of France is Paris.", "the capital of FRANCE is paris"]
OF_FRANCE += ["Paris is the capital of France.", "France is governed from Paris."]
REPLIES = [
    answered("en:P36:Q1", OF_FRANCE),
    answered("en:P36:Q2", ["The capital of Germany is Berlin.", "The capital of the country is Berlin."]),
    answered("en:P36:Q3", None, refusal="No."),
    answered("en:P37:Q4", "The capital of Norway", finish_reason="length"),
]


def sentences(
    tmp_path: Path, prompts: Path, triples: list[Row], replies: list[Row]
) -> tuple[list[Row], list[Row], str]:
    outputs = [tmp_path / name for name in ("verbalizations.parquet", "report.parquet", "report.txt")]
    sample = written(tmp_path / "sample.parquet", SAMPLE, triples)
    answers = written(tmp_path / "answers.parquet", ANSWERS, replies)
    totals = write_sentences(sample, answers, prompts, 4, *outputs)
    table, report = (pq.read_table(path) for path in outputs[:2])
    assert (table.schema, report.schema) == (VERBALIZATIONS, REPORT)
    rows = table.to_pylist()
    kept = totals.pop("kept")
    assert kept == sum(row["template"] is not None for row in rows)
    assert totals.pop("asked") == 4 * len(triples) == kept + totals.total()
    return rows, report.to_pylist(), outputs[2].read_text(encoding="utf-8")


def candidates(tmp_path: Path, prompts: Path, language: str = "en") -> pa.Table:
    files = {"verbalizations": "verbalizations", "sample": "sample", "output": "candidates"}
    paths = {name: tmp_path / f"{file}.parquet" for name, file in files.items()}
    job = Count(**paths, prompts=prompts, language=language, settings=Quality())
    assert job.run().startswith(f"{pq.read_metadata(job.output).num_rows} different")
    return pq.read_table(job.output)


def test_every_sentence_with_its_triple_and_reason_and_the_report(tmp_path, prompts):
    rows, report, text = sentences(tmp_path, prompts, TRIPLES, REPLIES)
    columns = ("request", "answer", "position", "template", "dropped_by")
    assert [tuple(row[name] for name in columns) for row in rows] == [
        ("en:P36:Q1", "duplicated", 1, "The capital of {subject} is {object}", None),
        ("en:P36:Q1", "duplicated", 2, None, "duplicate"),
        ("en:P36:Q1", "duplicated", 3, None, "object_not_last"),
        ("en:P36:Q1", "duplicated", 4, "{subject} is governed from {object}", None),
        ("en:P36:Q2", "wrong_count", 1, "The capital of {subject} is {object}", None),
        ("en:P36:Q2", "wrong_count", 2, None, "no_subject"),
        ("en:P36:Q3", "refused", None, None, "refused"),
        ("en:P37:Q4", "truncated", None, None, "truncated"),
    ]
    assert rows[0]["sentence"] == "The capital of France is Paris."
    assert (rows[0]["subject_label"], rows[0]["object_label"], rows[0]["model"]) == ("France", "Paris", "m-1")
    assert rows[6]["sentence"] is None
    capital = {row["step"]: row for row in report if row["property"] == 36}
    assert tuple(capital) == STEPS
    assert capital["asked"]["triples"] == 3
    assert (capital["asked"]["dropped"], capital["asked"]["left"]) == (None, 12)
    lost = {step: row["dropped"] for step, row in capital.items() if row["dropped"]}
    assert lost == {"refused": 4, "wrong_count": 2, "duplicate": 1, "object_not_last": 1, "no_subject": 1}
    for before, after in pairwise(STEPS):
        assert capital[after]["left"] == capital[before]["left"] - capital[after]["dropped"]
    lines = text.splitlines()
    busy = {row["step"] for row in report if row["dropped"]}
    assert lines[2].split() == ["relation", *(step for step in STEPS if step == "asked" or step in busy)]
    assert lines[3].split()[:2] == ["all", "16"]
    assert lines[4].startswith("en P36 capital")
    assert lines[4].split()[-1] == "3"
    templates = ("The capital of {subject} is {object}", "{subject} is governed from {object}")
    examples = ["The capital of France is Paris.", "The capital of Germany is Berlin."]
    assert [tuple(row.values()) for row in candidates(tmp_path, prompts).to_pylist()] == [
        (36, templates[0], 1, 2, 2, examples, None),
        (36, templates[1], None, 1, 1, ["France is governed from Paris."], "narrow"),
    ]
    assert candidates(tmp_path, prompts, "de").to_pylist() == []


def test_no_triples_give_empty_tables(tmp_path, prompts):
    rows, report, text = sentences(tmp_path, prompts, [], [])
    assert rows == report == []
    assert text.splitlines()[2:] == [f"{'relation':<44}    asked", f"{'all':<44}        0"]
    found = candidates(tmp_path, prompts)
    assert (found.to_pylist(), found.schema) == ([], CANDIDATES)


@pytest.mark.parametrize(
    ("replies", "complaint"),
    [
        (REPLIES[:3], "row 4: no answer where 'en:P37:Q4' was asked"),
        ([*REPLIES, answered("en:P1:Q1", [])], "row 5: an answer to 'en:P1:Q1', which was not asked"),
        ([REPLIES[1], REPLIES[0]], "row 1: an answer to 'en:P36:Q2' where 'en:P36:Q1' was asked"),
    ],
)
def test_answers_must_be_those_to_the_sample(tmp_path, prompts, replies, complaint):
    with pytest.raises(InputError, match=r"answers\.parquet") as error:
        sentences(tmp_path, prompts, TRIPLES, replies)
    assert complaint in str(error.value)
    assert not (tmp_path / "verbalizations.parquet").exists()


def kept(
    template: str, subjects: int, said: str = "", literal: str = "", is_date: bool = False
) -> list[KeptSentence]:
    """A sentence about each of so many subjects."""
    given = (template, words_of([said]), words_of([literal]), is_date)
    return [KeptSentence(36, each, f"{template} {each}", *given) for each in "abcdefghij"[:subjects]]


def ranked(
    english: Language, *groups: list[KeptSentence], **quality: Any
) -> dict[str, tuple[int | None, str | None]]:
    every = [each for group in groups for each in group]
    rows = counted(every, {36: "capital city of 2 kinds"}, english, Quality(**quality))
    return {row["template"]: (row["rank"], row["dropped_by"]) for row in rows}


def test_the_most_frequent_first_and_ties_by_their_text(english):
    groups = [kept("Z {subject} is {object}", 5), kept("The {subject} is {object}", 10)]
    groups += [kept("B {subject} is {object}", 4), kept("Any {subject} is {object}", 4)]
    groups += [kept("C {subject} is a {object}", 10)]
    found = ranked(english, *groups)
    assert "".join(template[0] for template in found) == "ZABCT"
    assert [rank for rank, _ in found.values()] == [1, 2, 3, 4, 5]
    assert "".join(template[0] for template in ranked(english, *groups, quality="paper")) == "CTZAB"


@pytest.mark.parametrize(
    ("rule", "group"),
    [
        ("narrow", kept("Odd {subject} is {object}", 2)),
        ("describes", kept("Danish {subject} is in {object}", 3, said="Danish actress")),
        ("number", kept("In 1968, {subject} moved to {object}", 3)),
        ("object_kind", kept("{subject} was born on {object}", 3, is_date=True)),
        ("object_kind", kept("{subject} was born in the year {object}", 3, is_date=True)),
        ("object_kind", kept("{subject} in metres is {object}", 3, literal="12 metres")),
    ],
)
def test_templates_that_say_too_much(english, rule, group):
    template = group[0].template
    plain = kept("The city of {subject} is {object}", 10, said="city of all")
    assert ranked(english, plain, group)[template] == (None, rule)
    assert ranked(english, plain, group, quality="paper")[template] == (2, None)


def test_half_of_the_sentences_are_not_most(english):
    """They describe their subject, or show a literal in words."""
    plain = kept("{subject} is by {object}", 10)
    film, metres = "The film {subject} was made by {object}", "{subject} in metres is {object}"
    for template, half in ((film, {"said": "film"}), (metres, {"literal": "12 metres"})):
        group = [*kept(template, 3, **half)[:2], *kept(template, 3)[1:]]
        assert ranked(english, plain, group)[template] == (2, None)


def test_what_many_subjects_share_says_something_of_the_relation(english):
    film = "The film {subject} was made by {object}"
    few, many = kept(film, 3, said="film"), kept(film, 4, said="film")
    plain = kept("{subject} is by {object}", 10)
    assert ranked(english, plain, few)[film] == (None, "describes")
    assert ranked(english, plain, many)[film] == (2, None)
    assert ranked(english, plain, many, general_share=0.5)[film] == (None, "describes")
    assert ranked(english, plain, few, general_subjects=3)[film] == (2, None)


def test_a_relation_with_one_triple_still_gives_templates(english):
    danish, capital = "Danish {subject} is in {object}", "The capital of {subject} is {object}"
    kinds = kept("The 2 kinds of {subject} are {object}", 1)
    own = kept(capital, 1, "Danish actress in a capital")
    found = ranked(english, kept(danish, 1, "Danish actress"), own, kinds)
    assert found.pop(danish) == (None, "describes")
    assert [reason for _, reason in found.values()] == [None, None]
