"""Updates of a dataset as text for a terminal: a list, the most popular first, or those of one subject whole.

Names in a dataset may hold any character: one must not clear the screen or begin a line, so control
characters become blanks. Colours depend on the stream to which the lines go.
"""

import contextlib
import datetime
import difflib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import duckdb

from factdrift.core.commands import program
from factdrift.core.errors import InputError
from factdrift.core.products import former_lines, no_file, of_pair, pair_of
from factdrift.core.screen import styled
from factdrift.core.tables import database, sql
from factdrift.core.text import folded, printable
from factdrift.wikidata.ids import is_made_up, page, revision_page

Record = dict[str, Any]

DATASETS = ("results/wikifactdiff.parquet", "results/wfd_repl.parquet")
"""Where a dataset is looked for if none is named; the first one has all updates."""

LIMIT = 20
"""The number of updates that a list has if no other is asked for."""

LONGEST = 120
"""Characters of the objects of an update that a list shows."""

SIGNS = {"new": "+", "obsolete": "-", "static": "="}
"""Label -> what a line about a triple begins with."""
_STYLES = {"new": "green", "obsolete": "red", "static": ""}


class Wanted(NamedTuple):
    """Which updates are asked for: all that fulfil every condition which is not None."""

    search: str | None = None
    """Text in the label of the subject or of an object; case and accents do not count."""
    relation: str | None = None
    """Id of the relation, or text in its label."""
    since: datetime.date | None = None
    """An object began, ended or was measured on this day or later."""


def default_dataset() -> Path:
    """The dataset of the working directory, of the pair of dates that was built last.

    Raises InputError if none has been built.
    """
    built = [Path(name) for name in DATASETS if Path(name).is_file()]
    if not built:
        raise no_file(DATASETS[0])
    last = pair_of(max(built, key=lambda path: path.stat().st_mtime_ns))
    return next(path for path in built if pair_of(path) == last)


@contextlib.contextmanager
def _opened(dataset: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database to query a dataset with. Raises InputError if the file is missing, or is no dataset."""
    if not dataset.is_file():
        raise no_file(dataset)
    with database() as db:
        try:
            yield db
        except (duckdb.BinderException, duckdb.InvalidInputException) as error:
            raise InputError(
                f"{dataset}: is no dataset; name wikifactdiff.parquet or wfd_repl.parquet"
            ) from error


def search(dataset: Path, wanted: Wanted, limit: int | None) -> tuple[list[Record], int]:
    """The most popular updates that are wanted, at most `limit` (None: all), and the number of all of them.

    Raises InputError if the file does not exist or is no dataset.
    """
    conditions = ["true"]
    if wanted.search is not None:
        text = _plain(sql(wanted.search))
        conditions.append(
            f"""(contains({_plain("subject.label")}, {text})
            OR len(list_filter(objects, lambda x: contains({_plain("x.label")}, {text}))) > 0)"""
        )
    if wanted.relation is not None:
        asked = sql(wanted.relation)
        named = f"contains({_plain('relation.label')}, {_plain(asked)})"
        conditions.append(f"(relation.id = upper({asked}) OR {named})")
    if wanted.since is not None:
        # Dates are text whose order is that of time within years of four digits; `2021` is the whole year.
        late = " OR ".join(
            f"(regexp_matches(x.{name}, '^\\d{{4}}') AND left(x.{name}, 10) >= "
            f"left({sql(wanted.since.isoformat())}, length(left(x.{name}, 10))))"
            for name in ("start", "end", "point_in_time")
        )
        conditions.append(f"len(list_filter(objects, lambda x: coalesce({late}, false))) > 0")
    with _opened(dataset) as db:
        query = f"""FROM (SELECT *, row_number() OVER () AS place FROM read_parquet({sql(dataset)}))
            WHERE {" AND ".join(conditions)}"""
        (number,) = db.sql(f"SELECT count(*) {query}").fetchall()[0]
        rows = db.sql(
            f"""SELECT subject, relation, objects, scenario {query}
            ORDER BY place {"" if limit is None else f"LIMIT {int(limit)}"}"""
        )
        return rows.to_arrow_table().to_pylist(), int(number)


def _plain(text: str) -> str:
    return f"lower(strip_accents({text}))"


def list_lines(dataset: Path, wanted: Wanted, limit: int | None, stream: TextIO) -> Iterator[str]:
    """Yields the lines of a list of the updates that `search` finds; raises as it does."""
    records, number = search(dataset, wanted, limit)
    asked = "".join(f", {name} {value}" for name, value in wanted._asdict().items() if value is not None)
    order = "" if number <= len(records) else f"; the {len(records):,} most popular"
    heading = f"{dataset}{of_pair(dataset)}: {number:,} updates{asked}{order}"
    yield styled(printable(heading), "bold", stream)
    for record in records:
        subject, relation = record["subject"], record["relation"]
        ids = styled(printable(f"{subject['id']} {relation['id']}".ljust(14)), "dim", stream)
        name = styled(printable(f"{subject['label']}, {relation['label']}"), "bold", stream)
        yield f"{ids} {name}: {_change(record, stream)}"
    if records:
        subject, relation = records[0]["subject"]["id"], records[0]["relation"]["id"]
        yield ""
        named = "" if str(dataset) == DATASETS[0] else f"{dataset} "
        whole = f"{program('factdrift')} show {named}--subject {subject} --relation {relation}"
        yield printable(f"The first one whole: {whole}")
    yield from former_lines(dataset.parent, pair_of(dataset))


def _change(record: Record, stream: TextIO) -> str:
    """What became obsolete and what is new, and when: the beginning of the new, else the end of the old.

    Of more than three objects the number.
    """
    texts: dict[str, str] = {}
    dates: list[str] = []
    for decision, names in (("new", ("start", "point_in_time")), ("obsolete", ("end",))):
        values = [value for value in record["objects"] if value["decision"] == decision]
        labels = printable(", ".join(str(value["label"]) for value in values[:3]))
        others = f" and {len(values) - 3:,} more" if len(values) > 3 else ""
        shown = labels if len(labels) <= LONGEST else f"{labels[:LONGEST]}…"
        texts[decision] = styled(shown, _STYLES[decision], stream) + others if values else ""
        known = (value[name] for value in values for name in names)
        dates = dates or [date for date in known if date is not None and re.match(r"\d{4}", date)]
    obsolete, new = texts["obsolete"], texts["new"]
    change = f"{obsolete} → {new}" if obsolete and new else f"+ {new}" if new else f"- {obsolete}"
    return f"{change} ({min(dates)})" if dates else change


def find(dataset: Path, subject: str, relation: str | None, limit: int | None) -> list[Record]:
    """The subject's updates, those with the smallest relation number first.

    `subject`, `relation`: ids or names. Raises InputError if the file does not exist or is no dataset, or has
    no such subject or relation, or several of this name.
    """
    with _opened(dataset) as db:
        subject = _id_of(db, dataset, "subject", subject)
        rows = f"FROM read_parquet({sql(dataset)}) WHERE subject.id = {sql(subject)}"
        known = [name for (name,) in db.sql(f"SELECT DISTINCT relation.id {rows} ORDER BY 1").fetchall()]
        if not known:
            raise InputError(
                f"{dataset}: no update of {subject}; `factdrift why {subject} RELATION` says why a "
                "relation has none"
            )
        relation = relation and _id_of(db, dataset, "relation", relation, f"subject.id = {sql(subject)}")
        if relation is not None and relation not in known:
            raise InputError(f"{dataset}: no update of {subject} {relation}; there are {', '.join(known)}")
        chosen = "" if relation is None else f"AND relation.id = {sql(relation)}"
        order = "substr(relation.id, 2)::INTEGER"
        if "link" in db.sql(f"SELECT * {rows} LIMIT 0").columns:  # a stream
            order += ", link"
        shortened = "" if limit is None else f"LIMIT {int(limit)}"
        records = db.sql(f"SELECT * {rows} {chosen} ORDER BY {order} {shortened}").to_arrow_table()
    return list(records.to_pylist())


def _id_of(db: duckdb.DuckDBPyConnection, dataset: Path, column: str, text: str, where: str = "true") -> str:
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
    hint = "`factdrift show --search TEXT` lists updates by name"
    if similar:
        hint = f"did you mean {' or '.join(labels[name] for name in similar)}?"
    raise InputError(f"{dataset}: no {column} of an update is called {text}; {hint}")


def lines(records: Sequence[Record], stream: TextIO) -> Iterator[str]:
    """Yields the lines of text about one subject's updates, the objects of each in the order of time."""
    for style, line in _lines(records):
        yield styled(printable(line), style, stream) if style else printable(line)


def _lines(records: Sequence[Record]) -> Iterator[tuple[str, str]]:
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
        if not is_made_up(subject["id"]):
            yield "dim", f"  {page(subject['id'], relation['id'])}"
        if "chain" in record:
            yield "dim", f"  {_linked(record)}"
        yield "", f"  {record['update_prompt']}"
        for value in sorted(record["objects"], key=_began):
            yield from _object_lines(value, subject["id"])


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
    sentence = ", announced before it began" if value["announced"] else ""
    words = {"start": "from", "end": "to", "point_in_time": "at"}
    dates = [f"{word} {value[field]}" for field, word in words.items() if value[field] is not None]
    if dates:
        sentence += f"; {' '.join(dates)}"
    yield _STYLES[value["decision"]], f"  {SIGNS[value['decision']]} {value['decision']:8} {name}"
    yield "", f"      rule {value['rule']}{sentence}"
    for side in ("old", "new"):
        if (statement := value[f"{side}_statement"]) is not None:
            # Only text where no page of Wikidata shows the statement.
            address = revision_page(subject, value[f"{side}_revision"])
            link = "statement " if address is None else f"{address}#"
            yield "dim", f"      {side} dump: {link}{statement}"


def _name(entity: Record) -> str:
    note = ", id made up" if is_made_up(entity["id"]) else ""
    return f"{entity['label']} ({entity['id']}{note})"
