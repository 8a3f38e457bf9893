"""The corpus and its questions in the forms of others: BEIR, TREC, LongMemEval, and facts with both axes."""

import datetime
import itertools
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from factdrift.core.columns import Row
from factdrift.core.owned import new_folder
from factdrift.core.tables import records, write_parquet
from factdrift.memory.folder import FACTS, Inputs, read_facts, write_lines
from factdrift.memory.retrievers import run_lines

HAYSTACK = "bm25"
"""The retriever whose documents are beside right and stale documents in the sessions of LongMemEval."""

_TYPES = {"at": "temporal-reasoning", "next": "temporal-reasoning"}
"""Kind of question -> LongMemEval's type; any other kind is a `knowledge-update`."""


def write_layouts(inputs: Inputs, retrieved: Path, folder: Path) -> list[str]:
    """Writes a new folder with all forms; returns the names of its files.

    `retrieved`: a table RETRIEVED. Raises InputError if the folder has files that are not ours.
    """
    docs = {row["doc"]: row for row in records(inputs.corpus, ["doc", "title", "text", "known_from"])}
    questions = list(records(inputs.questions))
    # Question -> the documents of HAYSTACK.
    beside = {row["question"]: row["docs"] for row in records(retrieved) if row["retriever"] == HAYSTACK}
    with new_folder(folder) as made:
        _write_beir(docs, questions, made / "beir")
        _write_trec(questions, retrieved, made / "trec")
        with (made / "longmemeval.json").open("w", encoding="utf-8") as file:
            for number, instance in enumerate(longmemeval(docs, questions, beside)):
                file.write(("," if number else "[") + "\n" + json.dumps(instance, ensure_ascii=False))
            file.write("\n]\n")
        facts = list(read_facts(inputs.known))
        write_lines(facts, made / "facts.jsonl")
        write_parquet(pa.Table.from_pylist(facts, schema=FACTS), made / "facts.parquet")
        return sorted(path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file())


def _write_beir(docs: Mapping[str, Row], questions: list[Row], folder: Path) -> None:
    """corpus.jsonl, queries.jsonl, qrels of right versions (test.tsv) and of stale versions (stale.tsv)."""
    (folder / "qrels").mkdir(parents=True)
    asked = [row for row in questions if row["right_docs"]]
    corpus = (
        {"_id": doc, "title": row["title"], "text": row["text"]}
        | {"metadata": {"known_from": row["known_from"]}}
        for doc, row in docs.items()
    )
    queries = (
        {"_id": row["id"], "text": row["question"]}
        | {"metadata": {"kind": row["kind"], "asked_on": row["asked_on"]}}
        for row in asked
    )
    write_lines(corpus, folder / "corpus.jsonl")
    write_lines(queries, folder / "queries.jsonl")
    for name, column in (("test", "right_docs"), ("stale", "stale_docs")):
        lines = (f"{row['id']}\t{doc}\t1\n" for row in asked for doc in row[column])
        text = "".join(["query-id\tcorpus-id\tscore\n", *lines])
        (folder / "qrels" / f"{name}.tsv").write_text(text, encoding="utf-8")


def _write_trec(questions: list[Row], retrieved: Path, folder: Path) -> None:
    """qrels.txt, qrels.stale.txt, and a run file for every retriever."""
    folder.mkdir()
    for name, column in (("qrels", "right_docs"), ("qrels.stale", "stale_docs")):
        lines = (f"{row['id']} 0 {doc} 1\n" for row in questions for doc in row[column])
        (folder / f"{name}.txt").write_text("".join(lines), encoding="utf-8")
    for name, rows in itertools.groupby(records(retrieved), key=lambda row: row["retriever"]):
        with (folder / f"{name}.trec").open("w", encoding="utf-8") as file:
            for row in rows:
                file.writelines(f"{line}\n" for line in run_lines(name, row["question"], row["docs"]))


def longmemeval(
    docs: Mapping[str, Row], questions: list[Row], beside: Mapping[str, list[str]]
) -> Iterator[Row]:
    """Questions with a right document as instances of LongMemEval (Wu et al. 2024, arXiv 2410.10813).

    A session is a version of a document, in the order in which they became known; none is later than the
    question. `beside`: question -> others that are in the haystack.
    """
    for row in questions:
        if not row["right_docs"]:
            continue
        names = {*row["right_docs"], *row["stale_docs"], *beside[row["id"]]}
        known = [name for name in names if docs[name]["known_from"] <= row["asked_on"]]
        sessions = sorted(known, key=lambda name: (docs[name]["known_from"], name))
        right = {*row["right_docs"]}
        yield {
            "question_id": row["id"],
            "question_type": _TYPES.get(row["kind"], "knowledge-update"),
            "question": row["question"],
            "answer": row["answers"][0],
            "question_date": _minute(row["asked_on"]),
            "haystack_session_ids": sessions,
            "haystack_dates": [_minute(docs[name]["known_from"]) for name in sessions],
            "haystack_sessions": [_turns(docs[name], name in right) for name in sessions],
            "answer_session_ids": [name for name in sessions if name in right],
        }


def _turns(doc: Row, has_answer: bool) -> list[Row]:
    return [
        {"role": "user", "content": f"{doc['title']}: {doc['text']}", "has_answer": has_answer},
        {"role": "assistant", "content": "Noted."},
    ]


def _minute(day: str) -> str:
    """`2021-01-04` -> `2021/01/04 (Mon) 00:00`, as LongMemEval has dates."""
    date = datetime.date.fromisoformat(day)
    weekday = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")[date.weekday()]
    return f"{date:%Y/%m/%d} ({weekday}) 00:00"
