"""Questions about dated documents, and the states in which documents stand before them."""

import pyarrow.parquet as pq
import pytest
from support import corpora

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.record import is_unedited
from factdrift.evaluation.questions.items import read_corpus
from factdrift.evaluation.questions.question import Tables, record_of
from factdrift.evaluation.states.plain import EditedModel
from factdrift.memory.retrievers import RETRIEVERS


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return Tables(corpora.retrieved(tmp_path_factory.mktemp("corpus"), dates=True), open_=True)


def test_a_question_has_what_is_right_and_what_is_stale(tables):
    rows = {row["id"]: row for row in corpora.questions()}
    benchmark = read_corpus(tables)
    assert {question.id for question in benchmark.questions} == set(rows)
    for question in benchmark.questions:
        row = rows[question.id]
        assert question.accepted == tuple(row["answers"])
        assert question.role == row["kind"]
        if row["kind"] == "premise":
            assert (question.stale, question.ways) == (("2011",), ("written",))
            continue
        assert question.stale == tuple(row["stale_answers"])
        assert question.ways == (("loglik", "written") if row["stale_answers"] else ("written",))
        if question.targets:
            assert question.targets[question.answer] == row["answers"][0]
            assert set(question.targets) == {row["answers"][0], row["stale_answers"][0]}


def test_documents_stand_before_a_question_in_the_states_of_retrievers(tables):
    texts = {row["doc"]: row for row in corpora.documents()}
    rows = {row["id"]: row for row in corpora.questions()}
    questions = read_corpus(tables).questions
    for state in record_of("corpus").states:
        assert is_unedited(state)
        assert state.removeprefix("retrieved-") in RETRIEVERS
    for name in ("right", "stale"):
        edited = EditedModel(None, state=f"retrieved-{name}")
        for question, before in zip(questions, edited.before(questions, [""] * len(questions)), strict=True):
            docs = rows[question.id][f"{name}_docs"]
            lines = [f"As of {texts[doc]['known_from']}: {texts[doc]['title']}. " for doc in docs]
            assert before.count("\n") == min(2, len(docs))
            assert all(line.startswith(tuple(lines)) for line in before.splitlines())
    none = EditedModel(None, state="none").before(questions, [""] * len(questions))
    assert set(none) == {""}


def test_without_dates_no_day_is_read(tmp_path):
    texts = pq.read_table(corpora.retrieved(tmp_path)[1])["text"].to_pylist()
    assert any(texts)
    assert not any("20" in text for text in texts)


def test_questions_are_limited_by_kind_and_likelihoods_need_options(tables):
    few = read_corpus(tables._replace(limit=2)).questions
    assert sorted(question.role for question in few) == ["now", "now", "premise", "premise"]
    assert all(question.targets for question in read_corpus(tables._replace(open_=False)).questions)


def test_without_any_option_there_is_nothing_to_ask(tables, tmp_path):
    asked = [row for row in corpora.questions() if not row["stale_answers"]]
    _, questions = corpora.write(tmp_path, asked)
    with pytest.raises(InputError, match="no question has options"):
        read_corpus(Tables([questions, tables.questions[1]]))
