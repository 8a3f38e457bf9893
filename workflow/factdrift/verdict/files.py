"""Answers in a file, JSON Lines or Parquet, and the same rows with their verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.ask import ask
from factdrift.chat.settings import Chat
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.owned import atomic_path, scratch
from factdrift.core.paths import PRICES
from factdrift.core.tables import write_parquet
from factdrift.verdict import agreement
from factdrift.verdict.agreement import Verdicts
from factdrift.verdict.by_model import is_asked, read_words, write_requests
from factdrift.verdict.judge import VERDICTS, Case, Judged, judged
from factdrift.verdict.matching import contains, exact_match
from factdrift.words.reasoning import answer_of

LISTS = ("accepted", "stale", "others")
ADDED = ("verdict", "answer", "named", "stop", "reason", "exact_match", "contains")


class Asked(NamedTuple):
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
        return [_checked(row, f"{path}, row {place}") for place, row in enumerate(table.to_pylist(), start=1)]
    if path.suffix not in (".jsonl", ".json", ".ndjson"):
        raise InputError(f"{path}: answers are JSON Lines (.jsonl) or Parquet (.parquet)")
    rows = []
    for place, line in enumerate(utf8_lines(path), start=1):
        where = f"{path}, line {place}"
        if not line.strip():
            raise InputError(f"{where}: the line is empty; write one JSON object a line")
        try:
            row = json.loads(line, object_pairs_hook=_once, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{where}: no JSON: {error}") from None
        if not isinstance(row, dict):
            raise InputError(f'{where}: no JSON object such as {{"text": "...", "accepted": ["..."]}}')
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError(
                f"{where}: half of a surrogate pair, which is no character; write it as UTF-8"
            ) from None
        rows.append(_checked(row, where))
    return rows


def _once(pairs: list[tuple[str, Any]]) -> Row:
    """The object of these pairs. Raises ValueError if a key is there twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"a key is there twice: {next(name for name in names if names.count(name) > 1)!r}")
    return found


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _checked(row: Row, where: str) -> Row:
    if not isinstance(row.get("text"), str):
        raise InputError(f"{where}: `text` must be what the model has written, as a text")
    for name in ("question", "language"):
        if row.get(name) is not None and not isinstance(row[name], str):
            raise InputError(f"{where}: `{name}` must be a text")
    for name in LISTS:
        listed = row.get(name)
        if listed is None and name != "accepted":
            continue
        if not isinstance(listed, list) or not all(isinstance(each, str) and each.strip() for each in listed):
            raise InputError(f"{where}: `{name}` must be a list of names, none of them empty")
    if not row["accepted"]:
        raise InputError(f"{where}: `accepted` is empty; name at least one accepted answer")
    if row.get("several") is not None and not isinstance(row["several"], bool):
        raise InputError(f"{where}: `several` must be true or false")
    return row


def case_of(row: Row) -> Case:
    """The case of a row that has been checked."""
    lists = {name: tuple(row.get(name) or ()) for name in LISTS}
    language = row.get("language") or "en"
    return Case(
        row["text"],
        **lists,
        question=row.get("question") or "",
        language=language,
        several=bool(row.get("several")),
    )


def judge_file(answers: Path, output: Path | None, asked: Asked | None = None) -> Iterator[str]:
    """Writes the rows with verdicts, as JSON Lines or Parquet by the name of `output`; yields their shares.

    Without `output` it yields the rows as JSON Lines instead. Nothing is written if a row is wrong. With a
    model that judges, too, rows have its verdict as `judge` (null: it said none, or was not asked), and the
    agreement of both follows, rows with one question being a cluster.
    """
    if output is not None and output.suffix not in (".jsonl", ".json", ".ndjson", ".parquet"):
        raise InputError(f"--output: {output}: name a file that ends with .jsonl or .parquet")
    rows = read(answers)
    found = [judged(case_of(row)) for row in rows]
    judgements = [_with(row, each) for row, each in zip(rows, found, strict=True)]
    judges: list[Verdicts] = []
    if asked is not None:
        places = [place for place, each in enumerate(found) if is_asked(each.verdict, asked.which)]
        words = _words({str(place): case_of(rows[place]) for place in places}, asked)
        judgements = [{**row, "judge": words.get(str(place))} for place, row in enumerate(judgements)]
        judges = [
            (found[place].verdict, words[str(place)], rows[place].get("question") or place)
            for place in places
        ]
    if output is None:
        yield from (json.dumps(row, ensure_ascii=False, default=str) for row in judgements)
        return
    if output.suffix == ".parquet":
        write_parquet(_table(judgements), output)
    else:
        with atomic_path(output) as temporary:
            lines = (json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in judgements)
            temporary.write_text("".join(lines), encoding="utf-8")
    for verdict in VERDICTS:
        if number := sum(each.verdict == verdict for each in found):
            yield f"{verdict}: {number:,} of {len(found):,} ({number / len(found):.1%})"
    if asked is not None:
        yield from agreement.lines([(answers.name, judges)])


def _words(cases: Mapping[str, Case], asked: Asked) -> dict[str, str | None]:
    """What the chat model says of each case."""
    with scratch() as folder:
        requests, answers = folder / "requests.parquet", folder / "answers.parquet"
        write_requests(cases, asked.chat, requests)
        ask(requests, asked.store, asked.chat, answers, PRICES)
        return read_words(answers)


def _with(row: Row, found: Judged) -> Row:
    answer = answer_of(row["text"])
    matches = {match.__name__: match(answer, row["accepted"]) for match in (exact_match, contains)}
    added: Row = found._asdict() | {"named": list(found.named)} | matches
    if isinstance(row.get("stop"), str):  # why the model stopped, which only it knows
        added["stop"] = row["stop"]
    return {**row, **added}


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
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise InputError(f"column {name!r} has values of several types: {error}") from None
    return pa.table(columns)
