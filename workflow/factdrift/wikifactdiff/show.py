"""The updates of one subject as text for a terminal: what changed, by which rule, and links to check it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.screen import styled
from factdrift.core.tables import sql
from factdrift.wikidata.ids import is_made_up, page, revision_page
from factdrift.wikidata.text import folded, printable
from factdrift.wikifactdiff.listing import opened

Record = dict[str, Any]

SIGNS = {"new": "+", "obsolete": "-", "static": "="}
"""Label -> what a line about a triple begins with."""
_STYLES = {"new": "green", "obsolete": "red", "static": ""}


def find(dataset: Path, subject: str, relation: str | None, limit: int | None) -> list[Record]:
    """The subject's updates, those with the smallest relation number first.

    `subject`, `relation`: ids or names. Raises InputError if the file does not exist or is no dataset, or has
    no such subject or relation, or several of this name.
    """
    with opened(dataset) as db:
        subject = _named(db, dataset, "subject", subject)
        rows = f"FROM read_parquet({sql(dataset)}) WHERE subject.id = {sql(subject)}"
        known = [name for (name,) in db.sql(f"SELECT DISTINCT relation.id {rows} ORDER BY 1").fetchall()]
        if not known:
            raise InputError(
                f"{dataset}: no update of {subject}; `factdrift why {subject} RELATION` says why a "
                "relation has none"
            )
        relation = relation and _named(db, dataset, "relation", relation, f"subject.id = {sql(subject)}")
        if relation is not None and relation not in known:
            raise InputError(f"{dataset}: no update of {subject} {relation}; there are {', '.join(known)}")
        chosen = "" if relation is None else f"AND relation.id = {sql(relation)}"
        order = "substr(relation.id, 2)::INTEGER"
        if "link" in db.sql(f"SELECT * {rows} LIMIT 0").columns:  # a stream
            order += ", link"
        shortened = "" if limit is None else f"LIMIT {int(limit)}"
        records: list[Record] = (
            db.sql(f"SELECT * {rows} {chosen} ORDER BY {order} {shortened}").to_arrow_table().to_pylist()
        )
    return records


def _named(db: duckdb.DuckDBPyConnection, dataset: Path, column: str, text: str, where: str = "true") -> str:
    """The id of a subject or relation of the dataset that is given by id or name (case and accents aside).

    Raises InputError with the most similar names if there is none, and with the ids if there are several.
    """
    if re.fullmatch("[QPqp][0-9]+", text):
        return text.upper()
    rows = db.sql(
        f"""SELECT {column}.id, any_value({column}.label), max(subject_popularity)
        FROM read_parquet({sql(dataset)}) WHERE {where} GROUP BY 1 ORDER BY 3 DESC, 1"""
    ).fetchall()
    same = [id for id, label, _ in rows if folded(label) == folded(text)]
    if len(same) == 1:
        return str(same[0])
    if same:
        raise InputError(f"{dataset}: {text} is the name of {', '.join(same)}; give the id of one")
    labels = {folded(label): f"{label} ({id})" for id, label, _ in reversed(rows)}
    similar = difflib.get_close_matches(folded(text), labels, 3)
    similar += [name for name in labels if folded(text) in name and name not in similar][: 3 - len(similar)]
    hint = (
        f"did you mean {' or '.join(labels[name] for name in similar)}?"
        if similar
        else ("`factdrift show --search TEXT` lists updates by name")
    )
    raise InputError(f"{dataset}: no {column} of an update is called {text}; {hint}")


def lines(records: list[Record], stream: TextIO) -> Iterator[str]:
    """Yields the lines of text about one subject's updates, the objects of each in the order of time.

    `stream`: where the lines go, which decides on colours. Names in a dataset may hold any character: one
    must not clear the screen or begin a line, so control characters become blanks.
    """
    for style, line in _lines(records):
        yield styled(printable(line), style, stream) if style else printable(line)


def _lines(records: list[Record]) -> Iterator[tuple[str, str]]:
    """Yields style (empty for none) and text of each line."""
    first = records[0]
    subject = first["subject"]
    yield "bold", _name(subject) + (f": {subject['description']}" if subject["description"] else "")
    source = f"({first['popularity_source']}), {first['split']} split"
    yield "", f"popularity {first['subject_popularity']} {source}"
    for record in records:
        relation = record["relation"]
        yield "", ""
        yield "bold", f"{relation['label']} ({relation['id']}): {record['scenario']}"
        if not is_made_up(record["subject"]["id"]):
            yield "dim", f"  {page(record['subject']['id'], relation['id'])}"
        if "chain" in record:
            yield "dim", f"  {_linked(record)}"
        yield "", f"  {record['update_prompt']}"
        for value in sorted(record["objects"], key=_began):
            yield from _object_lines(value, record["subject"]["id"])


def _linked(record: Record) -> str:
    """The place of a stream's update among those of the same subject and relation."""
    text = f"{record['old_date']} to {record['new_date']}, update {record['link']} of {record['links']}"
    if record["date"] is not None:
        text += f", changed {record['date']}"
    if record["reverts"]:
        text += ", comes back"
    return text + (f", superseded by {record['superseded_by']}" if record["superseded_by"] else "")


def _began(value: Record) -> str:
    """When a fact began, was measured or ended, as text in the order of time; unknown dates come first."""
    dates = (value[name] for name in ("start", "point_in_time", "end"))
    return next((text for text in dates if text is not None and text[:1].isdigit()), "")


def _object_lines(value: Record, subject: str) -> Iterator[tuple[str, str]]:
    name = value["label"] if value["id"] is None else _name(value)
    announced = ", announced before it began" if value["announced"] else ""
    yield _STYLES[value["decision"]], f"  {SIGNS[value['decision']]} {value['decision']:8} {name}"
    yield "", f"      rule {value['rule']}{announced}{_dates(value)}"
    for side in ("old", "new"):
        statement, revision = value[f"{side}_statement"], value[f"{side}_revision"]
        if statement is not None:
            yield "dim", f"      {side} dump: {_place(subject, revision)}{statement}"


def _place(subject: str, revision: int | None) -> str:
    """The address before a statement's id; only text where no page of Wikidata shows the statement."""
    address = revision_page(subject, revision)
    return "statement " if address is None else f"{address}#"


def _dates(value: Record) -> str:
    parts = [
        f"{word} {value[name]}"
        for name, word in (("start", "from"), ("end", "to"), ("point_in_time", "at"))
        if value[name] is not None
    ]
    return f"; {' '.join(parts)}" if parts else ""


def _name(entity: Record) -> str:
    note = ", id made up" if is_made_up(entity["id"]) else ""
    return f"{entity['label']} ({entity['id']}{note})"
