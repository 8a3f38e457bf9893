"""Rankings of dated documents and their scores."""

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score
from support import corpora

from factdrift.core.errors import InputError
from factdrift.memory.retrieval import Qrels, Sources, ndcg, write_retrieval
from factdrift.memory.retrievers import RETRIEVERS, read_collection, read_run, run_lines

NAMES = [f"d{number}" for number in range(30)]


@given(st.permutations(NAMES), st.sets(st.sampled_from(NAMES), min_size=1))
def test_ndcg_is_that_of_scikit_learn(ranked, right):
    relevance = [[doc in right for doc in ranked]]
    scores = [[len(ranked) - rank for rank in range(len(ranked))]]
    assert ndcg(ranked, right) == pytest.approx(ndcg_score(relevance, scores, k=10), abs=1e-9)


@pytest.mark.parametrize(
    ("ranked", "recall_1", "recall_5", "stale_1", "wrong_version"),
    [
        *(("R S O", 1, 1, 0, 0), ("S R O", 0, 1, 1, 1), ("O S R", 0, 1, 1, 0), ("O R S", 0, 1, 0, 0)),
        *(("V O P Q U R", 0, 0, 0, 1), ("O P", 0, 0, 0, 0), ("", 0, 0, 0, 0)),
    ],
)
def test_measures_of_a_ranking(ranked, recall_1, recall_5, stale_1, wrong_version):
    """R is right, S stale, V another version; O, P, Q and U are of other subjects."""
    subject_of = {"R": "Q1", "S": "Q1", "V": "Q1"} | dict.fromkeys("OPQU", "Q2")
    measured = Qrels(frozenset("R"), frozenset("S")).measured(ranked.split(), subject_of)
    expected = {"recall_1": recall_1, "recall_5": recall_5, "stale_1": stale_1}
    assert measured | expected | {"wrong_version": wrong_version} == measured


def rankings(tmp_path, name):
    """Question -> documents of a retriever."""
    corpus, _ = corpora.write(tmp_path)
    collection, asked = read_collection(corpus, 0), corpora.questions()
    ranked = RETRIEVERS[name](collection, asked)
    return asked, [[collection.docs[index] for index in docs] for docs in ranked]


def test_dated_bm25_sees_of_each_subject_the_newest_version_that_is_known(tmp_path):
    for row, docs in zip(*rankings(tmp_path, "bm25_dated"), strict=True):
        newest = {}
        for doc in corpora.documents():
            if doc["known_from"] <= row["asked_on"]:
                newest[doc["subject"]] = doc["doc"]
        assert sorted(docs) == sorted(newest.values())
        assert docs[0] == newest[row["chain"].partition("-")[0]]


def test_bm25_ranks_by_its_formula(tmp_path):
    """Of a word that is in one document only, that document is the only one with a score."""
    corpus, _ = corpora.write(tmp_path)
    collection = read_collection(corpus, 0)
    asked = [corpora.question(1, "Atland", 2, question=text) for text in ("Arden", "Zebra", "the of")]
    ranked = list(RETRIEVERS["bm25"](collection, asked))
    assert [[collection.docs[index] for index in docs] for docs in ranked] == [["Q1@2019-01-01"], [], []]


def test_bounds_hold_what_is_right_and_what_is_stale(tmp_path):
    for row, docs in zip(*rankings(tmp_path, "both"), strict=True):
        assert sorted(docs) == sorted([*row["right_docs"], *row["stale_docs"]])
    for name in ("right", "stale"):
        for row, docs in zip(*rankings(tmp_path, name), strict=True):
            assert sorted(docs) == sorted(row[f"{name}_docs"])


def test_shuffled_days_cost_what_dates_gain_and_nothing_else(tmp_path):
    """A subject is found as often, but no longer in the version that is right."""
    corpus, questions = corpora.write(tmp_path)
    outputs = [tmp_path / name for name in ("retrieved.parquet", "retrieval.txt", "retrieval.parquet")]
    write_retrieval(Sources(corpus, questions, {}), 3, *outputs)
    rows = {(row["retriever"], row["kind"]): row for row in pq.read_table(outputs[2]).to_pylist()}
    dated, shuffled = rows["bm25_dated", "all"], rows["bm25_shuffled", "all"]
    assert dated["recall_1"] == 1
    assert shuffled["recall_1"] < 1
    assert shuffled["recall_1"] + shuffled["wrong_version"] == pytest.approx(1)
    assert (rows["right", "all"]["ndcg"], rows["stale", "all"]["ndcg"]) == (1, 0)
    stale = [bool(row["stale_docs"]) for row in corpora.questions()]
    assert rows["stale", "all"]["stale_1"] == pytest.approx(sum(stale) / len(stale))
    assert {row["questions"] for row in rows.values() if row["kind"] == "now"} == {9}
    assert {row["subjects"] for row in rows.values() if row["kind"] == "now"} == {3}


def test_a_run_file_is_ranked_as_trec_eval_ranks_it(tmp_path):
    corpus, _ = corpora.write(tmp_path)
    collection, asked = read_collection(corpus, 0), corpora.questions()[:2]
    first, second = (row["id"] for row in asked)
    run = tmp_path / "run.trec"
    lines = [f"{first} Q0 Q1@2019-01-01 1 1 x", f"{first} Q0 Q2@2019-01-01 2 1 x"]
    lines += [f"{first} Q0 Q3@2019-01-01 3 2.5 x", *run_lines("x", second, ["Q2@2020-01-01"])]
    run.write_text("\n".join(lines))
    ranked = [[collection.docs[index] for index in docs] for docs in read_run(run, collection, asked)]
    assert ranked == [["Q3@2019-01-01", "Q2@2019-01-01", "Q1@2019-01-01"], ["Q2@2020-01-01"]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0000000000000000 Q0 Q1@2019-01-01 1 x", "line 2: not of the form"),
        ("0000000000000000 Q0 Q1@2019-01-01 1 high x", "line 2: not of the form"),
        ("nobody Q0 Q1@2019-01-01 1 1.0 x", "line 2: nobody is in none"),
        ("0000000000000000 Q0 Q9@2019-01-01 1 1.0 x", "line 2: Q9@2019-01-01 is in none"),
    ],
)
def test_a_wrong_run_file_names_the_line(tmp_path, line, message):
    corpus, _ = corpora.write(tmp_path)
    run = tmp_path / "run.trec"
    run.write_text(f"0000000000000000 Q0 Q1@2019-01-01 1 1.0 x\n{line}\n")
    with pytest.raises(InputError, match=message):
        read_run(run, read_collection(corpus, 0), corpora.questions())
