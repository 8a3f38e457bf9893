"""Answers in a file, JSON Lines or Parquet, and the same rows with their verdicts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.ask import ask
from factdrift.chat.settings import Chat
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import json_lines
from factdrift.core.owned import atomic_path, scratch
from factdrift.core.paths import PRICES
from factdrift.core.progress import watched
from factdrift.core.tables import write_parquet
from factdrift.verdict import agreement
from factdrift.verdict.agreement import Verdicts
from factdrift.verdict.by_model import is_asked, read_words, write_requests
from factdrift.verdict.judge import VERDICTS, Case, Judged, judged
from factdrift.verdict.text import contains, exact_match
from factdrift.words.reasoning import answer_of

LISTS = ("accepted", "stale", "others")
ADDED = ("verdict", "answer", "named", "stop", "reason", "exact_match", "contains")


class ModelJudge(NamedTuple):
    """A chat model that judges, too, with the folder of the store of its answers, and what it judges."""

    chat: Chat
    store: Path
    which: str
    """`unclear` or `all`."""


def read(path: Path) -> list[Row]:
    """The rows of a file of answers. Raises InputError that names the line, or the row, which is wrong."""
    if path.suffix == ".parquet":
        try:
            table = pq.read_table(path)
        except pa.ArrowInvalid as error:
            raise InputError(f"{path}: no Parquet file: {error}") from None
        rows = enumerate(table.to_pylist(), 1)
        lines: Iterator[tuple[str, Row]] = ((f"{path}, row {number}", row) for number, row in rows)
    elif path.suffix in (".jsonl", ".json", ".ndjson"):
        lines = json_lines(path, '{"text": "...", "accepted": ["..."]}')
    else:
        raise InputError(f"{path}: answers are JSON Lines (.jsonl) or Parquet (.parquet)")
    if checked := [_checked(row, where) for where, row in lines]:
        return checked
    raise InputError(f"{path}: no answer is in it; name the file that has them")


def _checked(row: Row, where: str) -> Row:
    if not isinstance(row.get("text"), str):
        raise InputError(f"{where}: `text` must be what the model has written, as a text")
    for name in ("question", "language"):
        if row.get(name) is not None and not isinstance(row[name], str):
            raise InputError(f"{where}: `{name}` must be a text")
    for key in LISTS:
        names = row.get(key)
        if names is None and key != "accepted":
            continue
        if not isinstance(names, list) or not all(isinstance(name, str) and name.strip() for name in names):
            raise InputError(f"{where}: `{key}` must be a list of names, none of them empty")
    if not row["accepted"]:
        raise InputError(f"{where}: `accepted` is empty; name at least one accepted answer")
    if row.get("several") is not None and not isinstance(row["several"], bool):
        raise InputError(f"{where}: `several` must be true or false")
    return row


def case_of(row: Row) -> Case:
    """The case of a row that has been checked."""
    accepted, stale, others = (tuple(row.get(name) or ()) for name in LISTS)
    question, language = row.get("question") or "", row.get("language") or "en"
    return Case(row["text"], accepted, stale, others, question, language, bool(row.get("several")))


def judge_file(answers: Path, output: Path | None, judge: ModelJudge | None = None) -> Iterator[str]:
    """Writes the rows with verdicts, as JSON Lines or Parquet by the name of `output`; yields their shares.

    Without `output` it yields the rows as JSON Lines instead. Nothing is written if a row is wrong. With a
    model that judges, too, rows have its verdict as `judge` (null: it named none, or was not asked), and the
    agreement of both follows, rows with one question being a cluster.
    """
    if output is not None and output.suffix not in (".jsonl", ".json", ".ndjson", ".parquet"):
        raise InputError(f"--output: {output}: name a file that ends with .jsonl or .parquet")
    rows = read(answers)
    by_rule = [judged(case_of(row)) for row in watched(rows, f"judging {answers.name}", "rows")]
    judgements = [_with_verdict(row, result) for row, result in zip(rows, by_rule, strict=True)]
    pairs: list[Verdicts] = []
    if judge is not None:
        numbers = [at for at, result in enumerate(by_rule) if is_asked(result.verdict, judge.which)]
        words = _words({str(at): case_of(rows[at]) for at in numbers}, judge)
        judgements = [{**row, "judge": words.get(str(at))} for at, row in enumerate(judgements)]
        pairs = [(by_rule[at].verdict, words[str(at)], rows[at].get("question") or at) for at in numbers]
    texts = (json.dumps(row, ensure_ascii=False, default=str) for row in judgements)
    # JSON has no NaN, which a table may have.
    lines = (
        json.dumps(json.loads(text, parse_constant=lambda _: None), ensure_ascii=False) for text in texts
    )
    if output is None:
        yield from lines
        return
    if output.suffix == ".parquet":
        write_parquet(_table(judgements), output)
    else:
        with atomic_path(output) as temporary:
            temporary.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    counts = Counter(result.verdict for result in by_rule)
    for verdict in VERDICTS:
        if number := counts[verdict]:
            yield f"{verdict}: {number:,} of {len(rows):,} ({number / len(rows):.1%})"
    if judge is not None:
        yield from agreement.lines([(answers.name, pairs)])


def _words(cases: Mapping[str, Case], judge: ModelJudge) -> dict[str, str | None]:
    """The verdict of the chat model on each case."""
    with scratch() as folder:
        requests, answers = folder / "requests.parquet", folder / "answers.parquet"
        write_requests(cases, judge.chat, requests)
        ask(requests, judge.store, judge.chat, answers, PRICES)
        return read_words(answers)


def _with_verdict(row: Row, result: Judged) -> Row:
    answer = answer_of(row["text"])
    matches = {match.__name__: match(answer, row["accepted"]) for match in (exact_match, contains)}
    stop = row.get("stop")  # why the model stopped, which only it knows
    added = result._asdict() | {"named": list(result.named)} | matches
    return {**row, **added, **({"stop": stop} if isinstance(stop, str) else {})}


def _table(rows: list[Row]) -> pa.Table:
    """Rows as a table; lists and the added columns have their types even where all are empty."""
    names = dict.fromkeys(name for row in rows for name in row) or dict.fromkeys(ADDED)
    types = dict.fromkeys((*ADDED, "judge", "text", "question", "language"), pa.string())
    types |= dict.fromkeys((*LISTS, "named"), pa.list_(pa.string()))
    types |= dict.fromkeys(("exact_match", "contains"), pa.bool_())
    columns = {}
    for name in names:
        try:
            columns[name] = pa.array([row.get(name) for row in rows], type=types.get(name))
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
            raise InputError(f"column {name!r} has values of several types, or too large: {error}") from None
    return pa.table(columns)
