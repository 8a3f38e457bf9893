"""Questions about dated documents, with the documents of retrievers before them."""

from collections import defaultdict

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.tables import records
from factdrift.evaluation.methods.record import RETRIEVED
from factdrift.evaluation.questions.items import about_last_edits, limited_by_kind
from factdrift.evaluation.questions.question import Benchmark, Question, Tables
from factdrift.words.templates import before_blank


def read(tables: Tables) -> Benchmark:
    """The questions with the documents of all retrievers, in the order of their ids.

    Those in writing only with `open_`; with the edits of a stream, about the last edits of their chains.
    `limit`: of a kind.
    """
    able = [row for row in records(tables.questions[0]) if tables.open_ or _has_options(row)]
    if not able:
        raise InputError(f"{tables.questions[0]}: no question has options; build a longer stream")
    rows = limited_by_kind(able, "id", ("kind",), tables.limit, tables.seed)
    asked = {row["id"] for row in rows}
    texts: dict[str, dict[str, str]] = defaultdict(dict)
    for path in tables.questions[1:]:
        for row in records(path, ["retriever", "question", "text"]):
            if row["question"] in asked:
                texts[row["question"]][f"{RETRIEVED}{row['retriever']}"] = row["text"]
    questions = [question_of(row, texts[row["id"]]) for row in rows]
    chains = [row["chain"] for row in rows]
    return about_last_edits("corpus", questions, chains, tables.edits)


def _has_options(row: Row) -> bool:
    return bool(row["prompt"] and row["stale_answers"])


def question_of(row: Row, retrieved: dict[str, str]) -> Question:
    """A row of CORPUS_QUESTIONS as a question; `retrieved`: state -> what stands before it.

    Of `premise` the new value is right in writing, and the old start stale.
    """
    right, stale, later = (tuple(row[name]) for name in ("answers", "stale_answers", "later_answers"))
    options = sorted({right[0], *stale[:1], *later[:1]}) if _has_options(row) else []
    premise = row["kind"] == "premise"
    return Question(
        row["id"],
        row["chain"],
        row["kind"],
        before_blank(row["prompt"] or "") or f"Question: {row['question']}\nAnswer:",
        row["question"],
        retrieved.get(f"{RETRIEVED}right", ""),
        retrieved,
        targets=tuple(options),
        answer=options.index(right[0]) if options else None,
        accepted=right,
        stale=(row["premise_start"],) if premise else stale,
        others=() if premise else later,
        relation=row["relation"],
        ways=("loglik", "written") if options else ("written",),
    )
