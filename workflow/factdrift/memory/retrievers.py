"""Retrievers of dated documents, which rank the documents of a corpus for a question.

`bm25` (Robertson and Zaragoza 2009) reads title and text of all versions; `bm25_dated` only those known on
the day of the question, and of any subject the newest. `right`, `stale` and `both` know the answer, and
bound the others; in `bm25_shuffled` the days of a subject's versions are permuted, as a control.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.tables import records

DEPTH = 20
"""Documents that a ranking has at most."""
_DIGITS = 4
"""Scores that agree in so many decimals are equal, and the seed orders their documents."""

Numbers = NDArray[np.int64]
Rankings = Iterator[list[int]]
"""For every question the indices of documents, the best first."""


@dataclass(frozen=True)
class Collection:
    """The documents of a corpus, in the order of the table."""

    docs: Sequence[str]
    subjects: Sequence[str]
    texts: Sequence[str]
    """Title and text."""
    known_from: NDArray[np.str_]
    seed: int = 0

    @cached_property
    def number(self) -> dict[str, int]:
        """Document -> its index."""
        return {doc: index for index, doc in enumerate(self.docs)}

    @cached_property
    def order(self) -> Numbers:
        """A rank by the seed for every document, by which ties are decided."""
        return np.random.default_rng(self.seed).permutation(len(self.docs))

    @cached_property
    def index(self) -> Any:
        """The index of all texts by BM25."""
        import bm25s

        index = bm25s.BM25(backend="numpy")
        index.index(bm25s.tokenize(list(self.texts), show_progress=False), show_progress=False)
        return index

    def shown(self, dates: bool) -> list[str]:
        """The documents as a model reads them, in lines, with the days on which they became known or not."""
        days = [f"As of {day}: " if dates else "" for day in self.known_from]
        return [f"{day}{text}\n" for day, text in zip(days, self.texts, strict=True)]

    def newest(self, day: str, known_from: NDArray[np.str_]) -> Numbers:
        """Of every subject the version that is the newest of those known on a day, as ascending indices."""
        last: dict[str, int] = {}
        for index in np.argsort(known_from, kind="stable"):
            if known_from[index] <= day:
                last[self.subjects[index]] = int(index)
        return np.array(sorted(last.values()), np.int64)

    def shuffled(self) -> NDArray[np.str_]:
        """`known_from`, where the days of every subject's versions are permuted by the seed."""
        versions: dict[str, list[int]] = {}
        for index, subject in enumerate(self.subjects):
            versions.setdefault(subject, []).append(index)
        rng, shuffled = np.random.default_rng(self.seed), self.known_from.copy()
        for indices in versions.values():
            shuffled[indices] = self.known_from[rng.permutation(indices)]
        return shuffled


def read_collection(corpus: Path, seed: int) -> Collection:
    """The documents of a table CORPUS."""
    rows = list(records(corpus, ["doc", "subject", "title", "text", "known_from"]))
    return Collection(
        [row["doc"] for row in rows],
        [row["subject"] for row in rows],
        [f"{row['title']}. {row['text']}" for row in rows],
        np.array([row["known_from"] for row in rows], np.str_),
        seed,
    )


Retriever = Callable[[Collection, Sequence[Row]], Rankings]


def bm25(collection: Collection, questions: Sequence[Row]) -> Rankings:
    """By BM25 over all versions."""
    everything = np.arange(len(collection.docs))
    yield from _by_words(collection, questions, lambda _: everything)


def bm25_dated(collection: Collection, questions: Sequence[Row]) -> Rankings:
    """By BM25 over the newest version of every subject that is known when the question is asked."""
    yield from _by_days(collection, questions, collection.known_from)


def bm25_shuffled(collection: Collection, questions: Sequence[Row]) -> Rankings:
    """As `bm25_dated`, by days that are not those of the documents."""
    yield from _by_days(collection, questions, collection.shuffled())


def drawn(collection: Collection, questions: Sequence[Row]) -> Rankings:
    """Any documents in any order."""
    for row in questions:
        size = min(DEPTH, len(collection.docs))
        yield _generator(collection, row).choice(len(collection.docs), size, replace=False).tolist()


def bound(*columns: str) -> Retriever:
    """The retriever that knows the documents in columns of the questions; they are in any order."""

    def ranked(collection: Collection, questions: Sequence[Row]) -> Rankings:
        for row in questions:
            docs = [collection.number[doc] for column in columns for doc in row[column]]
            yield _generator(collection, row).permutation(docs).astype(int).tolist()[:DEPTH]

    return ranked


RETRIEVERS: Mapping[str, Retriever] = {
    "bm25": bm25,
    "bm25_dated": bm25_dated,
    "bm25_shuffled": bm25_shuffled,
    "random": drawn,
    "right": bound("right_docs"),
    "stale": bound("stale_docs"),
    "both": bound("right_docs", "stale_docs"),
}


def _by_days(collection: Collection, questions: Sequence[Row], known_from: NDArray[np.str_]) -> Rankings:
    days = {row["asked_on"] for row in questions}
    newest = {day: collection.newest(day, known_from) for day in days}
    yield from _by_words(collection, questions, newest.__getitem__)


def _by_words(collection: Collection, questions: Sequence[Row], among: Callable[[str], Numbers]) -> Rankings:
    """The documents with the highest BM25 of those that may be asked on a day; none without a common word."""
    import bm25s

    index = collection.index
    words = bm25s.tokenize(
        [row["question"] for row in questions], return_ids=False, show_progress=False, allow_empty=True
    )
    for row, tokens in zip(questions, words, strict=True):
        candidates = among(row["asked_on"])
        known = [token for token in tokens if token in index.vocab_dict]
        if not known or not len(candidates):
            yield []
            continue
        scores = index.get_scores(known)[candidates].round(_DIGITS)
        least = np.partition(scores, -DEPTH)[-DEPTH] if len(scores) > DEPTH else 0
        top = np.flatnonzero((scores >= least) & (scores > 0))
        ranked = np.lexsort((collection.order[candidates[top]], -scores[top]))
        yield candidates[top[ranked][:DEPTH]].tolist()


def _generator(collection: Collection, row: Row) -> np.random.Generator:
    return np.random.default_rng([collection.seed, int(row["id"], 16)])


def read_run(path: Path, collection: Collection, questions: Sequence[Row]) -> list[list[int]]:
    """The rankings of a TREC run file: `QUESTION Q0 DOC RANK SCORE NAME` a line, by score, as trec_eval does.

    Of equal scores the later name of a document comes first. Raises InputError that names the line of another
    form, or of a question or document that does not exist.
    """
    try:
        lines = utf8_lines(path)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}; name a run file with corpus.runs") from None
    scored: dict[str, dict[str, float]] = {row["id"]: {} for row in questions}
    for number, line in enumerate(lines, start=1):
        try:
            question, _, doc, _, score, _ = line.split()
            value = float(score)
        except ValueError:
            raise InputError(
                f"{path}, line {number}: not of the form `QUESTION Q0 DOC RANK SCORE NAME`"
            ) from None
        for name, known in ((question, scored), (doc, collection.number)):
            if name not in known:
                raise InputError(
                    f"{path}, line {number}: {name} is in none of the tables; rank the documents of "
                    "corpus.parquet for the questions of corpus_questions.parquet of this build"
                )
        scored[question][doc] = value
    return [
        [
            collection.number[doc]
            for doc, _ in sorted(docs.items(), key=lambda pair: (pair[1], pair[0]), reverse=True)[:DEPTH]
        ]
        for docs in scored.values()
    ]


def run_lines(name: str, question: str, docs: Sequence[str]) -> Iterator[str]:
    """Lines of a TREC run file; the scores fall with the ranks, so that no reader reorders ties."""
    for rank, doc in enumerate(docs, start=1):
        yield f"{question} Q0 {doc} {rank} {DEPTH + 1 - rank} {name}"
