"""Questions about what held on a date, from the chains of a stream (docs/streams.md)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from factdrift.streams.chains import AS_TEXT
from factdrift.streams.changes import Dated, Span, day_number
from factdrift.streams.schemas import ASOF
from factdrift.streams.timelines import PRECISIONS, Asked, Held, Told, dates_within, held, verdict
from factdrift.tables import database, growing, sql
from factdrift.tempripple.schemas import row_id
from factdrift.words.dates import MONTHS

OPTIONS = 4
_DAY_ONE = 719_163
"""The ordinal of 1970-01-01, from which Arrow counts days."""

Row = dict[str, Any]


class Chain(NamedTuple):
    """What questions about a chain need."""

    name: str
    prompt: str
    """The cloze test of its last update."""
    labels: Mapping[int, str]
    """Item -> label, of the values that may be asked for."""
    timeline: Sequence[Held]


def write_questions(
    stream: Path,
    updates: Sequence[Sequence[Path]],
    dates: Sequence[str],
    seed: int,
    output: Path,
    memory_mb: int = 3000,
) -> int:
    """Writes the questions of all chains in the order of subject and relation; returns their number.

    `updates`: for each interval its tables of all buckets.
    """
    days = [int(date.replace("-", "")) for date in dates]
    rows = 0
    with database(memory_mb) as words, database(memory_mb) as facts, growing(output, ASOF) as add:
        pools = _pools(words, stream)
        told = _timelines(facts, stream, updates, days)
        for chain in _chains(words, stream, told):
            found = list(questions(chain, pools[chain.name.partition("-")[2]], days, seed))
            rows += len(found)
            if found:
                add(pa.RecordBatch.from_pylist(found, schema=ASOF))
    return rows


def _items(columns: str) -> str:
    """SQL: the items among a row's objects that may be asked for, unnested as `o`."""
    return f"SELECT {columns} FROM (SELECT *, unnest(objects) AS o FROM told) WHERE o.id LIKE 'Q%'"


def _pools(db: duckdb.DuckDBPyConnection, stream: Path) -> dict[str, list[tuple[int, str]]]:
    """Relation -> its objects (item, label), by item."""
    db.execute(f"CREATE TEMP VIEW told AS SELECT * FROM read_parquet({sql(stream)})")
    found = db.sql(
        f"""SELECT relation, item, min(label) FROM ({
            _items("relation.id AS relation, substr(o.id, 2)::INTEGER AS item, o.label AS label")
        }) GROUP BY ALL ORDER BY relation, item"""
    ).fetchall()
    return {
        relation: [(item, label) for _, item, label in rows]
        for relation, rows in itertools.groupby(found, key=lambda row: str(row[0]))
    }


def _chains(
    db: duckdb.DuckDBPyConnection, stream: Path, timelines: Iterator[tuple[str, list[Held]]]
) -> Iterator[Chain]:
    """The chains with items among their values, in the order of subject and relation."""
    db.execute(
        f"""SELECT chain, max_by(update_prompt, link) AS prompt,
            list(DISTINCT {{'item': substr(o.id, 2)::INTEGER, 'label': o.label, 'leaks': o.leaks}}) AS objects
        FROM ({_items("*")}) GROUP BY chain
        ORDER BY split_part(chain, '-', 1)[2:]::INTEGER, split_part(chain, '-', 2)[2:]::INTEGER"""
    )
    while batch := db.fetchmany(1000):
        for name, prompt, objects in batch:
            ours, timeline = next(timelines)
            assert ours == name, f"{ours} is not {name}"
            leaking = {each["item"] for each in objects if each["leaks"]}
            named = sorted((each["item"], each["label"]) for each in objects if each["item"] not in leaking)
            labels = dict(reversed(named))  # of several labels of an item the first
            yield Chain(name, prompt, labels, timeline)


def _timelines(
    db: duckdb.DuckDBPyConnection, stream: Path, updates: Sequence[Sequence[Path]], days: Sequence[int]
) -> Iterator[tuple[str, list[Held]]]:
    """Each chain with items among its values, and when these held, in the order of subject and relation."""
    db.execute(AS_TEXT)
    db.execute(f"CREATE TEMP VIEW told AS SELECT * FROM read_parquet({sql(stream)})")
    triples = " UNION ALL ".join(
        f"SELECT {interval} AS interval, * FROM read_parquet({sql(list(tables))})"
        for interval, tables in enumerate(updates, start=1)
    )
    sides = ", ".join(
        f"span({which}_{name}) AS {which}_{name}" for which in ("old", "new") for name in ("start", "end")
    )
    flags = ", ".join(
        f"{which}_{name}" for which in ("old", "new") for name in ("start_unknown", "end_unknown")
    )
    db.execute(
        f"""SELECT chain, interval, object, change, old_statement, new_statement, {sides}, {flags},
            old_pit IS NOT NULL AND old_start IS NULL AS old_measured,
            new_pit IS NOT NULL AND new_start IS NULL AS new_measured, ended
        FROM (SELECT *, 'Q' || subject || '-P' || property AS chain FROM ({triples}) WHERE object > 0)
        SEMI JOIN (SELECT DISTINCT chain FROM ({_items("chain")})) USING (chain)
        LEFT JOIN (
            SELECT chain, interval, substr(o.id, 2)::INTEGER AS object, any_value({{'date': c.date,
                'first': c.first_day, 'last': c.last_day, 'by': c.dated_by}}) AS ended
            FROM (SELECT *, unnest(objects) AS o, unnest(changes) AS c FROM told)
            WHERE o.id LIKE 'Q%' AND o.decision = 'obsolete' GROUP BY ALL
        ) USING (chain, interval, object)
        ORDER BY subject, property, interval, old_position IS NULL, old_position, new_position,
            old_statement, new_statement"""
    )
    names = [column[0] for column in db.description]
    rows = (dict(zip(names, row, strict=True)) for row in _fetched(db))
    for chain, group in itertools.groupby(rows, key=lambda row: str(row["chain"])):
        yield chain, [held(told, days) for told in statements(group)]


def _fetched(db: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := db.fetchmany(10_000):
        yield from batch


def statements(triples: Iterator[Row]) -> list[Told]:
    """The statements of one chain as the last dump that has them tells, from its triples in their order."""
    known: dict[str, Told] = {}
    gone: list[Told] = []
    for row in triples:
        interval, change = row["interval"], row["change"]
        before = known.pop(row["old_statement"], None) if change != "F+" else None
        first = before.first_dump if before else interval - (change != "F+")
        side, last = ("old", interval - 1) if change == "F-" else ("new", interval)
        told = Told(
            value=row["object"],
            start=_span(row[f"{side}_start"]),
            end=_span(row[f"{side}_end"]),
            start_unknown=bool(row[f"{side}_start_unknown"]),
            end_unknown=bool(row[f"{side}_end_unknown"]),
            measured=row[f"{side}_measured"],
            first_dump=first,
            last_dump=last,
            removed=change == "F-",
            ended=Dated(**row["ended"]) if row["ended"] else None,
        )
        if change == "F-":
            gone.append(told)
        else:
            known[row["new_statement"]] = told
    return gone + list(known.values())


def _span(value: Mapping[str, Any] | None) -> Span | None:
    return Span(**value) if value else None


def questions(chain: Chain, pool: Sequence[tuple[int, str]], days: Sequence[int], seed: int) -> Iterator[Row]:
    """The questions about one chain, by value, interval and precision.

    `pool`: the objects of its relation. A date is asked about if exactly one value certainly held then, and
    every other value of the chain that has a label certainly did not.
    """
    timeline, labels = chain.timeline, chain.labels
    newest = max((each for each in timeline if each.certain), key=_end, default=None)
    if newest is None or newest.value not in labels:
        return
    roles = _roles(timeline, days[-1])
    known = {each.value for each in timeline}
    known_labels = {labels[value] for value in known if value in labels}
    strangers = [(item, label) for item, label in pool if item not in known and label not in known_labels]
    context = _sentence(chain.prompt, _words_of_day(_end(newest)[0])).replace("____", labels[newest.value])
    for value in sorted(labels):
        longest = max(
            (each.certain for each in timeline if each.value == value and each.certain),
            key=lambda span: (day_number(span[1]) - day_number(span[0]), -span[0]),
            default=None,
        )
        for date in dates_within(longest) if longest else ():
            said = {other: verdict(timeline, other, date.first, date.last) for other in known}
            if said[value] != "correct" or any(said[other] != "wrong" for other in known - {value}):
                continue
            item_id = row_id(chain.name, f"Q{value}", date.precision, date.text)
            wrong = [
                (other, labels[other], "wrong")
                for other in sorted(labels, key=lambda other: _chance(seed, item_id, other))
                if other != value and labels[other] != labels[value] and other in known
            ]
            wrong += [
                (item, label, "never")
                for item, label in sorted(strangers, key=lambda each: _chance(seed, item_id, each[0]))
            ]
            wrong = _distinct(wrong)
            yield {
                **_asked(chain, value, date, roles[value], item_id),
                **_options((value, labels[value], "correct"), wrong, seed, item_id),
                "context": context,
                "answer_label": labels[value],
                "discriminates": value != newest.value,
            }


def _end(each: Held) -> tuple[int, int, int]:
    assert each.certain
    return each.certain[1], each.certain[0], each.value


def _roles(timeline: Sequence[Held], last: int) -> dict[int, str]:
    """Value -> `now` if it holds at the last dump, `before` for the last of the others, else `then`."""
    certain = sorted((each for each in timeline if each.certain), key=_end, reverse=True)
    values = list(dict.fromkeys(each.value for each in certain))
    roles = {
        value: "now" if verdict(timeline, value, last, last) == "correct" else "then" for value in values
    }
    before = next((value for value in values if roles[value] == "then"), None)
    return roles | ({before: "before"} if before is not None else {})


def _distinct(options: Sequence[tuple[int, str, str]]) -> list[tuple[int, str, str]]:
    """The options, of those with one label the first."""
    return list({label: (item, label, said) for item, label, said in reversed(options)}.values())[::-1]


def _asked(chain: Chain, value: int, date: Asked, role: str, item_id: str) -> Row:
    subject, _, relation = chain.name.partition("-")
    return {
        "item_id": item_id,
        "task": 1 if role == "now" else 2,
        "hop": 0,
        **{"s": subject, "p": relation, "asked_s": subject, "asked_p": relation},
        "fact_id": row_id(chain.name, f"Q{value}"),
        "as_of": day_number(date.last) - _DAY_ONE,
        "question": _sentence(chain.prompt, _words(date)),
        "answer_aliases": [],
        "flags": [],
        "chain": chain.name,
        "precision": date.precision,
        "date": date.text,
        "first_day": date.first,
        "last_day": date.last,
        "holds": role,
    }


def _options(
    answer: tuple[int, str, str], wrong: Sequence[tuple[int, str, str]], seed: int, item_id: str
) -> Row:
    if len(wrong) < OPTIONS - 1:
        return {"pool_size": len(wrong), "open_only": True}
    chosen = sorted(
        [answer, *wrong[: OPTIONS - 1]], key=lambda each: _chance(seed, f"order {item_id}", each[0])
    )
    return {
        "pool_size": len(wrong),
        "open_only": False,
        "options": [label for _, label, _ in chosen],
        "option_ids": [f"Q{item}" for item, _, _ in chosen],
        "option_verdicts": [said for _, _, said in chosen],
        "answer_index": chosen.index(answer),
    }


def _sentence(prompt: str, when: str) -> str:
    """`As of March 2018, the head of government of X is ____`."""
    first, space, rest = prompt.partition(" ")
    return f"As of {when}, {first.lower() if first in ('The', 'A', 'An') else first}{space}{rest}"


def _words(date: Asked) -> str:
    """March 5, 2018; March 2018; 2018."""
    if date.precision == PRECISIONS[0]:
        return _words_of_day(date.first)
    year, month = date.first // 10_000, date.first // 100 % 100
    return str(year) if date.precision == "year" else f"{MONTHS[month]} {year}"


def _words_of_day(packed: int) -> str:
    return f"{MONTHS[packed // 100 % 100]} {packed % 100}, {packed // 10_000}"


def _chance(seed: int, purpose: str, item: int) -> str:
    return row_id(str(seed), purpose, str(item))
