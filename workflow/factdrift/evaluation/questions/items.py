"""Items of TempRIPPLE, questions with a date or about dated documents, and the edits that they are about."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.tables import records
from factdrift.evaluation.methods.interface import Edit
from factdrift.evaluation.methods.record import RETRIEVED
from factdrift.evaluation.questions.clozes import read_edits
from factdrift.evaluation.questions.question import Benchmark, Question, Tables
from factdrift.models.alignment import find_subject
from factdrift.tempripple.schemas import ASOF, TR_FACTS, TR_ITEMS, read_rows, row_id
from factdrift.words.templates import before_blank

_NEW, _OLD = (1, 0), (2, 0)
"""Task and hop of items about the new fact itself, and about those before it."""


def is_dated(path: Path) -> bool:
    """Whether a table of items has questions with a date."""
    return bool(pq.read_schema(path).names == ASOF.names)


def read_items(path: Path, limit: int = 0, seed: int = 0, open_: bool = False) -> list[Row]:
    """TempRIPPLE's items, or a stream's questions with a date, ordered by id; only rows with options.

    `limit`: how many of each task and number of hops, drawn with the seed; 0 for all. `open_`: those without
    options, too. Raises InputError if there are none.
    """
    dated = is_dated(path)
    items = read_rows(path, ASOF if dated else TR_ITEMS)
    if not dated:
        add_stale(items)
    items = items if open_ else [item for item in items if not item["open_only"]]
    if not items:
        wanted = "TempRIPPLE for a longer period or more items"
        if dated:
            wanted = "a longer stream, or one of more relations"
        raise InputError(f"{path}: no item has options; build {wanted}")
    return limited_by_kind(items, "item_id", ("task", "hop"), limit, seed)


def limited_by_kind(rows: Sequence[Row], name: str, kind: Sequence[str], limit: int, seed: int) -> list[Row]:
    """The rows by their ids in the column `name`; of every kind `limit` that the seed draws, or all for 0."""
    kinds: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row_id("limit", str(seed), row[name])):
        kinds[tuple(row[column] for column in kind)].append(row)
    chosen = [row for own in kinds.values() for row in own[: limit or None]]
    return sorted(chosen, key=lambda row: str(row[name]))


def add_stale(items: Sequence[Row]) -> None:
    """Gives items that ask for the new holder the names of those before: the answers about old facts.

    A returning holder's name stays right.
    """
    before: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for item in items:
        if (item["task"], item["hop"]) == _OLD:
            before[item["s"], item["p"]].update(dict.fromkeys(_names(item)))
    for item in items:
        if (item["task"], item["hop"]) == _NEW:
            right = set(_names(item))
            item["stale"] = tuple(name for name in before[item["s"], item["p"]] if name not in right)


def _names(item: Row) -> tuple[str, ...]:
    """The answer, then its aliases."""
    return (item["answer_label"], *(item["answer_aliases"] or ()))


def questions_of(items: Sequence[Row]) -> list[Question]:
    """The items as questions, about the facts of their timelines; without options only in writing."""
    return [
        Question(
            item["item_id"],
            f"{item['s']}-{item['p']}",
            f"{item['task']} {item['hop']}",
            words=item["question"],
            context=item["context"],
            targets=tuple(item["options"] or ()),
            answer=None if item["open_only"] else item["answer_index"],
            ways=("written",) if item["open_only"] else ("loglik", "letter", "written"),
            accepted=_names(item),
            stale=item.get("stale", ()),
            others=tuple(
                option for index, option in enumerate(item["options"] or ()) if index != item["answer_index"]
            ),
            relation=item["p"],
        )
        for item in items
    ]


def edits_of(items: Sequence[Row], facts: Path) -> list[Edit]:
    """The new facts of the timelines that are asked about, as edits; timelines in the order of their ids.

    An edit states exactly what the context of the same items does: its prompt is the context up to the
    object. Raises InputError if the facts are not those from which the items were made.
    """
    new = {(fact["s"], fact["p"]): fact for fact in read_rows(facts, TR_FACTS) if fact["role"] == "new"}
    contexts = {(item["s"], item["p"]): item["context"] for item in items}
    edits = []
    for timeline in sorted(contexts):
        name = "-".join(timeline)
        if timeline not in new:
            raise InputError(f"{facts}: no new fact of {name}, which an item asks about; make both again")
        fact, context = new[timeline], contexts[timeline]
        ending = f" {fact['o_label'].removesuffix('.')}."
        if not context.endswith(ending):
            raise InputError(f"{facts}: the new fact of {name} is not what its context says: {context!r}")
        prompt = context.removesuffix(ending)
        if find_subject(prompt, fact["s_label"]) < 0:
            raise InputError(f"{facts}: the context of {name} does not name its subject: {context!r}")
        edits.append(Edit(name, prompt, fact["s_label"], fact["o_label"]))
    return edits


def read_tempripple(tables: Tables) -> Benchmark:
    """TempRIPPLE's items; with the table of facts, the new facts of their timelines as edits."""
    items = read_items(tables.questions[0], tables.limit, tables.seed, tables.open_)
    edits = edits_of(items, tables.facts) if tables.facts else []
    return Benchmark("tempripple", questions_of(items), edits)


def read_asof(tables: Tables) -> Benchmark:
    """Questions with a date; with the edits of a stream, about the last edits of their chains.

    Questions of chains without an edit are left out then.
    """
    items = read_items(tables.questions[0], tables.limit, tables.seed, tables.open_)
    return about_last_edits("asof", questions_of(items), [item["chain"] for item in items], tables.edits)


def read_corpus(tables: Tables) -> Benchmark:
    """Questions about dated documents, with the documents of all retrievers before them, by their ids.

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
    questions = [_about_documents(row, texts[row["id"]]) for row in rows]
    chains = [row["chain"] for row in rows]
    return about_last_edits("corpus", questions, chains, tables.edits)


def _has_options(row: Row) -> bool:
    return bool(row["prompt"] and row["stale_answers"])


def _about_documents(row: Row, retrieved: dict[str, str]) -> Question:
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


def about_last_edits(
    name: str, questions: Sequence[Question], chains: Sequence[str], edits: Path | None
) -> Benchmark:
    """A benchmark of questions about these chains; with the edits of a stream, about the last of a chain."""
    if edits is None:
        return Benchmark(name, questions)
    stream = read_edits(edits)
    last = {stream.rows[edit.id]["chain"]: edit for edit in stream.edits}
    pairs = zip(chains, questions, strict=True)
    asked = [replace(question, edit=last[chain].id) for chain, question in pairs if chain in last]
    about = {question.edit for question in asked}
    return Benchmark(name, asked, [edit for edit in stream.edits if edit.id in about])
