"""Updates of a dataset as a list for a terminal, the most popular first: all, or those that are searched."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.screen import styled
from factdrift.core.tables import database, sql
from factdrift.wikidata.text import printable

Record = dict[str, Any]

DATASETS = ("results/wikifactdiff.parquet", "results/wfd_repl.parquet")
"""Where a dataset is looked for if none is named; the first one has all updates."""

LIMIT = 20
"""The number of updates that a list has if no other is asked for."""


LONGEST = 120
"""Characters of the objects of an update that a list shows."""


class Wanted(NamedTuple):
    """Which updates are asked for: all that fulfil every condition which is not None."""

    search: str | None = None
    """Text in the label of the subject or of an object; case and accents do not count."""
    relation: str | None = None
    """Id of the relation, or text in its label."""
    since: datetime.date | None = None
    """An object began, ended or was measured on this day or later."""


def default_dataset() -> Path:
    """The dataset of the working directory. Raises InputError if none has been built."""
    for name in DATASETS:
        if Path(name).is_file():
            return Path(name)
    raise InputError(f"{DATASETS[0]}: no such file; build it with `snakemake --cores all`, or name another")


def search(dataset: Path, wanted: Wanted, limit: int | None) -> tuple[list[Record], int]:
    """The most popular updates that are wanted, at most `limit` (None: all), and the number of all of them.

    Raises InputError if the file does not exist or is no dataset.
    """
    with opened(dataset) as db:
        query = f"""FROM (SELECT *, row_number() OVER () AS place FROM read_parquet({sql(dataset)}))
            WHERE {" AND ".join(_conditions(wanted)) or "true"}"""
        (number,) = db.sql(f"SELECT count(*) {query}").fetchall()[0]
        rows = db.sql(
            f"""SELECT subject, relation, objects, scenario {query}
            ORDER BY place {"" if limit is None else f"LIMIT {int(limit)}"}"""
        )
        return rows.to_arrow_table().to_pylist(), int(number)


@contextlib.contextmanager
def opened(dataset: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database to query a dataset with. Raises InputError if the file is missing, or is no dataset."""
    if not dataset.is_file():
        raise InputError(f"{dataset}: no such file; build it with `snakemake --cores all {dataset}`")
    with database() as db:
        try:
            yield db
        except duckdb.Error as error:
            raise InputError(
                f"{dataset}: is no dataset; name wikifactdiff.parquet or wfd_repl.parquet"
            ) from error


def _conditions(wanted: Wanted) -> Iterator[str]:
    if wanted.search is not None:
        text = _plain(sql(wanted.search))
        yield f"""(contains({_plain("subject.label")}, {text})
            OR len(list_filter(objects, lambda x: contains({_plain("x.label")}, {text}))) > 0)"""
    if wanted.relation is not None:
        asked = sql(wanted.relation)
        yield f"(relation.id = upper({asked}) OR contains({_plain('relation.label')}, {_plain(asked)}))"
    if wanted.since is not None:
        # Dates are text whose order is that of time within years of four digits; `2021` is the whole year.
        day = wanted.since.isoformat()
        late = " OR ".join(
            f"(regexp_matches(x.{name}, '^\\d{{4}}') AND left(x.{name}, 10) >= left({sql(day)}, "
            f"length(left(x.{name}, 10))))"
            for name in ("start", "end", "point_in_time")
        )
        yield f"len(list_filter(objects, lambda x: coalesce({late}, false))) > 0"


def _plain(text: str) -> str:
    return f"lower(strip_accents({text}))"


def lines(
    records: Sequence[Record], number: int, wanted: Wanted, dataset: Path, stream: TextIO
) -> Iterator[str]:
    """Yields the lines of a list of updates, without control characters of their labels.

    `number`: of all updates that are wanted; `stream`: where the lines go, which decides on colours.
    """
    asked = "".join(
        f", {name} {value}" for name, value in zip(Wanted._fields, wanted, strict=True) if value is not None
    )
    order = "" if number <= len(records) else f"; the {len(records):,} most popular"
    yield styled(printable(f"{dataset}: {number:,} updates{asked}{order}"), "bold", stream)
    for record in records:
        subject, relation = record["subject"], record["relation"]
        what = printable(f"{subject['label']}, {relation['label']}")
        ids = printable(f"{subject['id']} {relation['id']}")
        name = styled(what, "bold", stream)
        yield f"{styled(f'{ids:14}', 'dim', stream)} {name}: {_change(record, stream)}"
    if records:
        subject, relation = records[0]["subject"]["id"], records[0]["relation"]["id"]
        yield ""
        named = "" if str(dataset) == DATASETS[0] else f"{dataset} "
        yield printable(
            f"The first one whole: factdrift show {named}--subject {subject} --relation {relation}"
        )


def _change(record: Record, stream: TextIO) -> str:
    """What became obsolete and what is new, and when: the beginning of the new, else the end of the old.

    Of more than three objects the number.
    """
    parts = {
        decision: [value for value in record["objects"] if value["decision"] == decision]
        for decision in ("obsolete", "new")
    }
    texts = []
    for (_, values), style in zip(parts.items(), ("red", "green"), strict=True):
        labels = printable(", ".join(str(value["label"]) for value in values[:3]))
        others = f" and {len(values) - 3:,} more" if len(values) > 3 else ""
        shown = labels if len(labels) <= LONGEST else f"{labels[:LONGEST]}…"
        texts.append(styled(shown, style, stream) + others if values else "")
    obsolete, new = texts
    change = f"{obsolete} → {new}" if obsolete and new else f"+ {new}" if new else f"- {obsolete}"
    dates = _written(parts["new"], "start", "point_in_time") or _written(parts["obsolete"], "end")
    return f"{change} ({min(dates)})" if dates else change


def _written(values: Sequence[Record], *names: str) -> list[str]:
    """The dates of these names that are known, as text that begins with a year."""
    return [
        value[name]
        for value in values
        for name in names
        if value[name] is not None and re.match(r"\d{4}", value[name])
    ]
