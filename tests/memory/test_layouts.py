"""The forms of others: their loaders, written down plainly, read back what the tables have."""

import csv
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import corpora

from factdrift.memory.folder import Inputs
from factdrift.memory.layouts import longmemeval, write_layouts
from factdrift.memory.retrieval import Sources, ndcg, write_retrieval
from factdrift.streams.known_table import KNOWN_LABELLED

QUESTIONS = {row["id"]: row for row in corpora.questions()}


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    corpus, questions = corpora.write(folder)
    pq.write_table(pa.Table.from_pylist([], KNOWN_LABELLED), folder / "known.parquet")
    outputs = [folder / name for name in ("retrieved.parquet", "retrieval.txt", "retrieval.parquet")]
    write_retrieval(Sources(corpus, questions, {}), 0, *outputs)
    names = write_layouts(Inputs(corpus, questions, folder / "known.parquet"), outputs[0], folder / "layouts")
    assert all((folder / "layouts" / name).is_file() for name in names)
    return folder / "layouts"


def lines(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize(("split", "column"), [("test", "right_docs"), ("stale", "stale_docs")])
def test_beir(layouts, split, column):
    """As `beir.datasets.data_loader.GenericDataLoader` reads a folder."""
    corpus = {row["_id"]: row for row in lines(layouts / "beir" / "corpus.jsonl")}
    queries = {row["_id"]: row["text"] for row in lines(layouts / "beir" / "queries.jsonl")}
    with (layouts / "beir" / "qrels" / f"{split}.tsv").open(encoding="utf-8") as file:
        header, *rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_MINIMAL)
    assert header == ["query-id", "corpus-id", "score"]
    pairs = {(query, doc) for query, doc, score in rows if int(score) == 1}
    assert pairs == {(name, doc) for name, row in QUESTIONS.items() for doc in row[column]}
    assert queries == {name: row["question"] for name, row in QUESTIONS.items()}
    documents = {row["doc"]: row["text"] for row in corpora.documents()}
    assert {name: row["text"] for name, row in corpus.items()} == documents


def test_trec_files_give_the_scores_of_the_table(layouts):
    qrels, run = {}, {}
    for line in (layouts / "trec" / "qrels.txt").read_text(encoding="utf-8").splitlines():
        question, _, doc, relevance = line.split()
        assert relevance == "1"
        qrels.setdefault(question, set()).add(doc)
    for line in (layouts / "trec" / "bm25_dated.trec").read_text(encoding="utf-8").splitlines():
        question, _, doc, _, score, _ = line.split()
        run.setdefault(question, {})[doc] = float(score)
    values = [ndcg(sorted(run[name], key=run[name].get, reverse=True), docs) for name, docs in qrels.items()]
    table = pq.read_table(layouts.parent / "retrieval.parquet").to_pylist()
    (expected,) = (row["ndcg"] for row in table if (row["retriever"], row["kind"]) == ("bm25_dated", "all"))
    assert sum(values) / len(values) == pytest.approx(expected, abs=1e-9)


def test_longmemeval_has_its_fields_and_no_session_after_the_question(layouts):
    instances = json.loads((layouts / "longmemeval.json").read_text(encoding="utf-8"))
    assert {row["question_id"] for row in instances} == set(QUESTIONS)
    for row in instances:
        assert set(row) == {
            *("question_id", "question_type", "question", "answer", "question_date"),
            *("haystack_session_ids", "haystack_dates", "haystack_sessions", "answer_session_ids"),
        }
        assert row["haystack_dates"] == sorted(row["haystack_dates"])
        assert max(row["haystack_dates"]) <= row["question_date"]
        assert all(re.fullmatch(r"\d{4}/\d\d/\d\d \(\w{3}\) \d\d:\d\d", day) for day in row["haystack_dates"])
        sessions = zip(row["haystack_session_ids"], row["haystack_sessions"], strict=True)
        has_answer = [name for name, turns in sessions if any(turn.get("has_answer") for turn in turns)]
        assert has_answer == row["answer_session_ids"]
        assert set(has_answer) == set(QUESTIONS[row["question_id"]]["right_docs"])


def test_a_question_without_a_right_document_is_no_instance():
    row = QUESTIONS["0000000000000000"] | {"right_docs": []}
    assert list(longmemeval({}, [row], {row["id"]: []})) == []
