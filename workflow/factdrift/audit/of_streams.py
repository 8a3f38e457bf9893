"""Checks of a stream against the datasets of its pairs: rows, links, dates, and what supersedes what."""

from __future__ import annotations

import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.audit.dates import days_of_text
from factdrift.audit.lines import BIRTH, Entity
from factdrift.audit.of_tables import Fault
from factdrift.audit.of_updates import Finding, outcomes
from factdrift.audit.values import birth_texts

Row = Mapping[str, Any]

LINKED = (
    *("subject", "relation", "objects", "interval", "old_date", "new_date", "chain", "link", "links", "date"),
    *("first_day", "last_day", "dated_by", "superseded_by", "changes", "relation_is_temp_func"),
    "subject_is_ph_new",
)
"""The columns that the checks of links and dates read."""


def name_of(row: Row) -> str:
    """The name of a row in an audit: `Q30-P6@3`."""
    return f"{row['chain']}@{row['interval']}"


def pairs(stream: Path, results: Path) -> Iterator[Fault]:
    """Differences between the rows of each interval and those of its pair's dataset."""
    schema = pq.read_schema(stream)
    own = [name for name in schema.names if name in _columns(stream, results)]
    of_pair: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for batch in pq.ParquetFile(stream).iter_batches(batch_size=1024):
        for row in batch.to_pylist():
            digest = _digest(row, own)
            of_pair[row["old_date"], row["new_date"]].append((name_of(row), digest))
    for (old, new), rows in sorted(of_pair.items()):
        path = results / f"{old}_{new}" / "wikifactdiff.parquet"
        if not path.is_file():
            yield Fault("", "", f"{path} is not there, so the interval {old} to {new} is not checked")
            continue
        due = [_digest(row, own) for batch in pq.ParquetFile(path).iter_batches(batch_size=1024)
               for row in batch.to_pylist()]  # fmt: skip
        wanted, given = set(due), {digest for _, digest in rows}
        for name, digest in rows:
            if digest not in wanted:
                yield Fault(
                    name, name.partition("-")[2].partition("@")[0], "the dataset of the pair has no such row"
                )
        if missing := wanted - given:
            yield Fault("", "", f"{len(missing)} rows of {old} to {new} are missing")
        elif wanted == given and [digest for _, digest in rows] != due:
            yield Fault(
                "", "", f"the rows of {old} to {new} are not in the order of the pair, or occur twice"
            )


def _columns(stream: Path, results: Path) -> set[str]:
    folder = next(iter(sorted(results.glob("*_*/wikifactdiff.parquet"))), stream)
    return set(pq.read_schema(folder).names)


def _digest(row: Row, columns: Sequence[str]) -> str:
    return hashlib.sha256(repr([row[name] for name in columns]).encode()).hexdigest()


def linked(stream: Path, most: int = 200_000) -> Iterator[list[Row]]:
    """The rows of a stream with the columns LINKED, in parts of some `most` rows; a chain is in one part."""
    parts = pq.read_metadata(stream).num_rows // most + 1
    for part in range(parts):
        yield [
            row
            for batch in pq.ParquetFile(stream).iter_batches(columns=list(LINKED), batch_size=4096)
            for row in batch.to_pylist()
            if zlib.crc32(row["chain"].encode()) % parts == part
        ]


def links(rows: Sequence[Row]) -> Iterator[Fault]:
    """Faults in the numbering of chains, and in what supersedes what."""
    chains: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        chains[row["chain"]].append(row)
    dates = sorted({(row["interval"], row["old_date"], row["new_date"]) for row in rows})
    for (_, _, end), (number, begin, _) in pairwise(dates):
        if end != begin:
            yield Fault("", "", f"interval {number} does not begin where the one before ends")
    for chain, group in chains.items():
        for place, row in enumerate(group, 1):
            name, relation = name_of(row), row["relation"]["id"]
            if chain != f"{row['subject']['id']}-{relation}":
                yield Fault(name, relation, f"the chain is called {chain}")
            if (row["link"], row["links"]) != (place, len(group)):
                yield Fault(
                    name, relation, f"link {row['link']} of {row['links']}, it is {place} of {len(group)}"
                )
            if place > 1 and group[place - 2]["interval"] >= row["interval"]:
                yield Fault(name, relation, "two links of one interval, or out of order")
            if len(row["changes"]) != len(row["objects"]):
                yield Fault(name, relation, "changes and objects are not as many")
                continue
            for value, change in zip(row["objects"], row["changes"], strict=True):
                due = _superseded(value, group[place:])
                if value["decision"] != "static" and change["superseded_by"] != due:
                    reason = f"{value['label']}: superseded by {change['superseded_by']}, by the links {due}"
                    yield Fault(name, relation, reason)
            deciding = _deciding(row)
            own = [
                change["superseded_by"]
                for value, change in zip(row["objects"], row["changes"], strict=True)
                if value["decision"] == deciding
            ]
            due = None if not own or None in own else max(own)
            if row["superseded_by"] != due:
                yield Fault(name, relation, f"superseded by {row['superseded_by']}, by its objects {due}")


def _deciding(row: Row) -> str:
    return "new" if any(value["decision"] == "new" for value in row["objects"]) else "obsolete"


def _same(one: Row, other: Row) -> bool:
    """Whether two objects have the same value; literals as they are shown."""
    return bool(one["id"] == other["id"] if one["id"] or other["id"] else one["label"] == other["label"])


def _superseded(value: Row, later: Sequence[Row]) -> int | None:
    """The first later link that ends a new value, or in which an obsolete one holds again."""
    for row in later:
        decisions = {each["decision"] for each in row["objects"] if _same(each, value)}
        if value["decision"] == "obsolete":
            if decisions & {"new", "static"}:
                return int(row["link"])
        elif "obsolete" in decisions or (
            not decisions and row["relation_is_temp_func"] and _deciding(row) == "new"
        ):
            return int(row["link"])
    return None


def check_row(row: Row, dump: Mapping[str, Entity]) -> Iterator[Finding]:
    """Kind `dated` of one row of a stream; `dump`: the newest lines of its subjects."""
    yield from outcomes("dated", _dates(row, dump))


def _dates(row: Row, dump: Mapping[str, Entity]) -> Iterator[str]:
    changes = list(zip(row["objects"], row["changes"], strict=False))
    for value, change in changes:
        yield from _dated(f"{value['label']}: ", value, change, row, dump)
    if row["date"] is not None:
        dates = {change["date"] for value, change in changes if value["decision"] == _deciding(row)}
        if row["date"] not in dates:
            yield f"the date {row['date']} is none of its deciding objects'"
    yield from _covered("", row)


def _dated(where: str, value: Row, change: Row, row: Row, dump: Mapping[str, Entity]) -> Iterator[str]:
    date, how = change["date"], change["dated_by"]
    own: set[str | None] = {
        "start": {value["start"]},
        "end": {value["end"]},
        "point_in_time": {value["point_in_time"]},
    }.get(how, set())
    if how in ("start", "end", "point_in_time") and date not in own:
        yield f"{where}dated {date} by its {how}, which is {next(iter(own))}"
    elif how == "value" and date is not None and date[:4] not in (value["raw"] or ""):
        yield f"{where}dated {date} by its value, which is {value['raw']}"
    elif how == "replacement" and date not in {
        other["date"] for each, other in zip(row["objects"], row["changes"], strict=True)
        if each["decision"] == "new"
    }:  # fmt: skip
        yield f"{where}dated {date} by a replacement that has another date"
    elif how == "created":
        line = dump.get(row["subject"]["id"])
        texts = birth_texts(line) if line else set()
        if texts and date not in texts:
            yield f"{where}dated {date} by the beginning of the subject, which is {', '.join(sorted(texts))}"
    if value["decision"] != "static":
        yield from _covered(where, change)


def _covered(where: str, dated: Row) -> Iterator[str]:
    if dated["date"] is not None and "/" not in dated["date"]:
        days = days_of_text(dated["date"])
        if days and (dated["first_day"], dated["last_day"]) != days:
            yield f"{where}{dated['date']} covers {days}, not {dated['first_day']} to {dated['last_day']}"
    if dated["lag_min"] is not None and dated["lag_max"] is not None and dated["lag_min"] > dated["lag_max"]:
        yield f"{where}the lag is {dated['lag_min']} to {dated['lag_max']}"


def named_entities(row: Row) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The subjects whose beginning dates a change."""
    if any(change["dated_by"] == "created" for change in row["changes"]):
        yield row["subject"]["id"], BIRTH
