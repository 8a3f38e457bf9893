"""How well retrievers find the right version of a document, by kind of question, with intervals."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.intervals import interval
from factdrift.core.score_table import HIGHER, LOWER, Column, Line, count, share, table
from factdrift.core.tables import growing, records, write_parquet
from factdrift.memory.retrievers import RETRIEVERS, read_collection, read_run

MEASURES = ("ndcg", "recall_1", "recall_5", "stale_1", "wrong_version")

RETRIEVAL = schema_of(
    "retriever kind: string, questions subjects: int32",
    *(f"{measure} {measure}_low {measure}_high: float64" for measure in MEASURES),
)
"""A row for every retriever and kind of question (docs/tables/retrieval.md)."""

RETRIEVED = schema_of("retriever question: string, docs: [string], text: string")
"""A row for every retriever and question: documents, the best first, and text (docs/tables/retrieved.md)."""

CUT = 10
"""Documents that nDCG looks at."""
ALL = "all"
"""The kind of all questions together."""
READ = 2
"""Documents, at most, that stand before a question."""
_BATCH = 10_000


def ndcg(ranked: Sequence[str], right: Iterable[str], cut: int = CUT) -> float:
    """Normalised discounted cumulative gain of binary relevance, 0 to 1 (Järvelin and Kekäläinen 2002)."""
    wanted = set(right)
    gained = (1 / math.log2(rank + 1) for rank, doc in enumerate(ranked[:cut], start=1) if doc in wanted)
    best = math.fsum(1 / math.log2(rank + 1) for rank in range(1, min(cut, len(wanted)) + 1))
    return math.fsum(gained) / best if best else 0.0


class Qrels(NamedTuple):
    """What is relevant for a question."""

    right: frozenset[str]
    stale: frozenset[str]

    def measured(self, ranked: Sequence[str], subject_of: Mapping[str, str]) -> dict[str, float]:
        """MEASURES of a ranking; `subject_of`: of all documents."""
        answering = next((doc for doc in ranked if doc in self.right or doc in self.stale), "")
        subjects = {subject_of[doc] for doc in self.right}
        first = ranked[0] if ranked else ""
        return {
            "ndcg": ndcg(ranked, self.right),
            "recall_1": float(not self.right.isdisjoint(ranked[:1])),
            "recall_5": float(not self.right.isdisjoint(ranked[:5])),
            "stale_1": float(answering in self.stale),
            "wrong_version": float(first not in self.right and subject_of.get(first) in subjects),
        }


def scored(
    name: str, questions: Sequence[Row], rankings: Sequence[Sequence[str]], subject_of: Mapping[str, str]
) -> Iterator[Row]:
    """RETRIEVAL of a retriever, in the order of the kinds, all questions last; questions without a right
    document are left out."""
    values: dict[str, list[tuple[str, dict[str, float]]]] = defaultdict(list)
    for row, ranked in zip(questions, rankings, strict=True):
        qrels = Qrels(frozenset(row["right_docs"]), frozenset(row["stale_docs"]))
        if qrels.right:
            measured = row["chain"].partition("-")[0], qrels.measured(ranked, subject_of)
            for kind in (row["kind"], ALL):
                values[kind].append(measured)
    for kind in sorted(values, key=lambda kind: (kind == ALL, kind)):
        subjects = [subject for subject, _ in values[kind]]
        scores: Row = {"retriever": name, "kind": kind}
        scores |= {"questions": len(subjects), "subjects": len(set(subjects))}
        for measure in MEASURES:
            mean = interval([numbers[measure] for _, numbers in values[kind]], subjects, top=1.0)
            assert mean
            half = 0.0 if math.isnan(mean.half) else mean.half
            ends = max(0.0, mean.mean - half), min(1.0, mean.mean + half)
            scores |= {measure: mean.mean, f"{measure}_low": ends[0], f"{measure}_high": ends[1]}
        yield scores


class Sources(NamedTuple):
    """CORPUS, CORPUS_QUESTIONS, and run files of other retrievers by their names.

    `dates`: whether days stand before documents that models read.
    """

    corpus: Path
    questions: Path
    runs: Mapping[str, Path]
    dates: bool = True


def write_retrieval(sources: Sources, seed: int, retrieved: Path, report: Path, output: Path) -> str:
    """Writes RETRIEVED, and RETRIEVAL as a table and as text, which is returned.

    Raises InputError if a run has the name of a retriever, or does not fit the tables.
    """
    if taken := sorted(sources.runs.keys() & RETRIEVERS.keys()):
        raise InputError(f"corpus.runs: {taken[0]} is a retriever of factdrift; give the run another name")
    collection = read_collection(sources.corpus, seed)
    columns = ["id", "kind", "question", "asked_on", "chain", "right_docs", "stale_docs"]
    questions = list(records(sources.questions, columns))
    subject_of = dict(zip(collection.docs, collection.subjects, strict=True))
    shown = dict(zip(collection.docs, collection.shown(sources.dates), strict=True))
    scores: list[Row] = []
    with growing(retrieved, RETRIEVED) as add:
        for name in (*RETRIEVERS, *sources.runs):
            path = sources.runs.get(name)
            run = read_run(path, collection, questions) if path else RETRIEVERS[name](collection, questions)
            rankings = [[collection.docs[index] for index in ranked] for ranked in run]
            scores += scored(name, questions, rankings, subject_of)
            for start in range(0, len(questions), _BATCH):
                ids = [row["id"] for row in questions[start : start + _BATCH]]
                docs = rankings[start : start + _BATCH]
                texts = ["".join(shown[doc] for doc in ranked[:READ]) for ranked in docs]
                values = [[name] * len(ids), ids, docs, texts]
                arrays = map(pa.array, values, RETRIEVED.types)
                add(pa.RecordBatch.from_arrays(list(arrays), schema=RETRIEVED))
    write_parquet(pa.Table.from_pylist(scores, schema=RETRIEVAL), output)
    text = retrieval_text(scores)
    write_text(text, report)
    return text


COLUMNS = (
    Column("n", count("questions")),
    Column("nDCG@10", share("ndcg", "", known="questions", ends=True), HIGHER),
    Column("Right@1", share("recall_1", "", known="questions", ends=True), HIGHER),
    Column("Right@5", share("recall_5", "", known="questions", ends=True), HIGHER),
    Column("Stale@1", share("stale_1", "", known="questions", ends=True), LOWER),
    Column("Wrong version", share("wrong_version", "", known="questions", ends=True), LOWER),
)
_BOUNDS = ("right", "stale", "both", "random", "bm25_shuffled")
"""Retrievers that bound others or are controls, so that none of their numbers is a best number."""


def retrieval_text(rows: Sequence[Row]) -> str:
    """A table for every kind of question, in percent with 95 % intervals by subject."""
    lines = []
    for kind in dict.fromkeys(row["kind"] for row in rows):
        own = [
            Line(row["retriever"], row, rival=row["retriever"] not in _BOUNDS)
            for row in rows
            if row["kind"] == kind
        ]
        lines += [*table(kind, COLUMNS, own), ""]
    return "\n".join([*lines, "_5.0_: the best of its column; bounds and controls take no part."])
