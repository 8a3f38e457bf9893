"""Checks of a stream against the datasets of its pairs: rows, links, dates, and what supersedes what."""

import datetime
import hashlib
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow.parquet as pq

from factdrift.audit.dates import date_id, days_of_text
from factdrift.audit.lines import Entity
from factdrift.audit.of_tables import Fault, differing, records
from factdrift.audit.of_updates import Dumps
from factdrift.audit.values import END, birth_texts, raw_of, spans
from factdrift.core.columns import Row

LINKED = (
    *("subject", "relation", "objects", "interval", "old_date", "new_date", "chain", "link", "links", "date"),
    *("first_day", "last_day", "dated_by", "superseded_by", "changes", "relation_is_temp_func"),
    *("subject_is_ph_new", "reverts"),
)
"""The columns that the checks of links and dates read."""


def name_of(row: Row) -> str:
    """The name of a row in an audit: `Q30-P6@3`."""
    return f"{row['chain']}@{row['interval']}"


def pairs(stream: Path, results: Path) -> Iterator[Fault]:
    """Differences between the rows of each interval and those of its pair's dataset."""
    of_a_pair = next(iter(sorted(results.glob("*_*/wikifactdiff.parquet"))), stream)
    columns = set(pq.read_schema(of_a_pair).names)
    own = [name for name in pq.read_schema(stream).names if name in columns]
    of_pair: dict[tuple[str, str], list[tuple[Row, str]]] = defaultdict(list)
    for row in records(stream):
        named = {name: row[name] for name in ("chain", "interval", "relation")}
        of_pair[row["old_date"], row["new_date"]].append((named, _digest(row, own)))
    for (old, new), rows in sorted(of_pair.items()):
        path = results / f"{old}_{new}" / "wikifactdiff.parquet"
        if not path.is_file():
            yield Fault("", "", f"{path} is not there, so the interval {old} to {new} is not checked")
            continue
        due = [_digest(row, own) for row in records(path)]
        wanted, digests = set(due), {digest for _, digest in rows}
        for row, digest in rows:
            if digest not in wanted:
                yield Fault(name_of(row), row["relation"]["id"], "the dataset of the pair has no such row")
        if missing := wanted - digests:
            yield Fault("", "", f"{len(missing)} rows of {old} to {new} are missing")
        elif wanted == digests and [digest for _, digest in rows] != due:
            yield Fault(
                "", "", f"the rows of {old} to {new} are not in the order of the pair, or occur twice"
            )


def _digest(row: Row, columns: Sequence[str]) -> str:
    return hashlib.sha256(repr([row[name] for name in columns]).encode()).hexdigest()


def linked(stream: Path, most: int = 200_000) -> Iterator[list[Row]]:
    """The rows of a stream with the columns LINKED, in parts of some `most` rows; a chain is in one part."""
    parts = pq.read_metadata(stream).num_rows // most + 1
    for part in range(parts):
        rows = records(stream, list(LINKED))
        yield [row for row in rows if zlib.crc32(row["chain"].encode()) % parts == part]


def links(rows: Sequence[Row]) -> Iterator[Fault]:
    """Faults in the numbering of chains, and in what supersedes what."""
    chains: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        chains[row["chain"]].append(row)
    intervals = sorted({(row["interval"], row["old_date"], row["new_date"]) for row in rows})
    for (_, _, end), (number, begin, _) in pairwise(intervals):
        if end != begin:
            yield Fault("", "", f"interval {number} does not begin where the one before ends")
    for group in chains.values():
        for index, row in enumerate(group):
            reasons = _link(row, group[:index], group[index + 1 :])
            yield from (Fault(name_of(row), row["relation"]["id"], reason) for reason in reasons)


def _link(row: Row, earlier: Sequence[Row], later: Sequence[Row]) -> Iterator[str]:
    """What is wrong with one link of a chain, beside the earlier and the later ones."""
    number = len(earlier) + 1
    due: Row = {"chain": f"{row['subject']['id']}-{row['relation']['id']}"}
    due |= {"link": number, "links": number + len(later)}
    yield from differing(row, due, "chain's rows")
    if earlier and earlier[-1]["interval"] >= row["interval"]:
        yield "two links of one interval, or out of order"
    if len(row["changes"]) != len(row["objects"]):
        yield "changes and objects are not as many"
        return
    changes = list(zip(row["objects"], row["changes"], strict=True))
    for value, change in changes:
        due = {"reverts": value["decision"] == "new" and _ended_before(value, earlier)}
        if value["decision"] != "static":
            due["superseded_by"] = _superseded(value, later)
        yield from (f"{value['label']}: {reason}" for reason in differing(change, due, "links"))
    own = [change["superseded_by"] for value, change in changes if value["decision"] == _deciding(row)]
    due = {"reverts": any(change["reverts"] for _, change in changes)}
    due["superseded_by"] = None if not own or None in own else max(own)
    yield from differing(row, due, "objects")


def _deciding(row: Row) -> str:
    return "new" if any(value["decision"] == "new" for value in row["objects"]) else "obsolete"


def _same(one: Row, other: Row) -> bool:
    """Whether two objects have the same value; literals as they are shown."""
    return bool(one["id"] == other["id"] if one["id"] or other["id"] else one["label"] == other["label"])


def _ended_before(value: Row, earlier: Sequence[Row]) -> bool:
    """Whether the last earlier link that decided about a value says that it ended."""
    ended = known = False
    for row in earlier:
        decisions = {object_["decision"] for object_ in row["objects"] if _same(object_, value)}
        known = known or bool(decisions)
        if decisions:
            ended = "obsolete" in decisions
        elif known and row["relation_is_temp_func"] and _deciding(row) == "new":
            ended = True
    return ended


def _superseded(value: Row, later: Sequence[Row]) -> int | None:
    """The first later link that ends a new value, or in which an obsolete one holds again."""
    for row in later:
        decisions = {object_["decision"] for object_ in row["objects"] if _same(object_, value)}
        if value["decision"] == "obsolete":
            if decisions & {"new", "static"}:
                return int(row["link"])
        elif "obsolete" in decisions or (
            not decisions and row["relation_is_temp_func"] and _deciding(row) == "new"
        ):
            return int(row["link"])
    return None


OF_A_CHANGE = ("date", "first_day", "last_day", "dated_by", "lag_min", "lag_max")


def dates(row: Row, dumps: Dumps) -> Iterator[str]:
    """What is wrong with the dates of one row of a stream."""
    changes = list(zip(row["objects"], row["changes"], strict=False))
    for value, change in changes:
        where = f"{value['label']}: "
        if value["decision"] == "static":
            reasons = differing(change, dict.fromkeys(OF_A_CHANGE), "decision static")
            yield from (f"{where}{reason}" for reason in reasons)
        else:
            yield from _dated(where, value, change, row, dumps)
            yield from _covered(where, change, row)
    deciding = min(
        (change for value, change in changes if value["decision"] == _deciding(row)),
        key=lambda change: (change["date"] is None, change["first_day"], change["last_day"]),
        default=row,
    )
    due = {name: deciding[name] for name in OF_A_CHANGE}
    yield from differing(row, due, "first deciding object")


def _dated(where: str, value: Row, change: Row, row: Row, dumps: Dumps) -> Iterator[str]:
    date, how = change["date"], change["dated_by"]
    allowed = {"new": {"value", "start", "point_in_time", "created"}, "obsolete": {"end", "replacement"}}
    if how not in {"interval", *allowed.get(value["decision"], ())} or (date is None) != (how == "interval"):
        yield f"{where}{date} is dated by {how}"
        return
    line = dumps.new.get(row["subject"]["id"])
    is_newest = row["new_date"] == date_id(dumps.t_new, 11)
    if how in ("start", "end", "point_in_time"):
        texts = {value[how]} - {None}
        if how == "end":
            texts |= _ends(line, value, row["relation"]["id"])
        if date not in texts and (texts or is_newest):
            yield f"{where}dated {date} by its {how}, which is {' or '.join(sorted(texts)) or None}"
    elif how == "value" and not str(value["raw"]).lstrip("+").startswith(date.partition(" ")[0]):
        yield f"{where}dated {date} by its value, which is {value['raw']}"
    elif how == "replacement" and date not in {
        other["date"] for object_, other in zip(row["objects"], row["changes"], strict=True)
        if object_["decision"] == "new"
    }:  # fmt: skip
        yield f"{where}dated {date} by a replacement that has another date"
    elif how == "created":
        born = birth_texts(line) if line else set()
        if born and date not in born:
            yield f"{where}dated {date} by the beginning of the subject, which is {', '.join(sorted(born))}"
    elif how == "interval":
        for name in ("start", "point_in_time") if value["decision"] == "new" else ("end",):
            days = days_of_text(value[name]) if value[name] else None
            if days and _packed(row["old_date"]) < days[0] and days[1] <= _packed(row["new_date"]):
                yield f"{where}without a date, and its {name} is {value[name]}"
        if value["rule"] == "new_subject" and line and birth_texts(line):
            yield f"{where}without a date, and its subject began {min(birth_texts(line))}"


def _ends(line: Entity | None, value: Row, relation: str) -> set[str]:
    """The ends that a dump gives with an object, its statement or others of its value."""
    name = (value["new_statement"] or value["old_statement"] or "").upper()
    claims = line.of(relation) if line else []
    own = (c for c in claims if c.claim_id.upper() == name or raw_of(c.mainsnak) == value["raw"])
    return {date.text for claim in own for date in spans(claim, END)}


def _packed(date: str) -> int:
    return int(date.replace("-", ""))


def _covered(where: str, dated: Row, row: Row) -> Iterator[str]:
    own = dated["first_day"], dated["last_day"]
    if dated["date"] is None:
        first = datetime.date.fromisoformat(row["old_date"]) + datetime.timedelta(days=1)
        if own != (_packed(first.isoformat()), _packed(row["new_date"])):
            yield f"{where}without a date, it may have been from {own[0]} to {own[1]}"
    elif "/" not in dated["date"]:
        days = days_of_text(dated["date"])
        if days and own != days:
            yield f"{where}{dated['date']} covers {days}, not {own[0]} to {own[1]}"
    if dated["lag_min"] is not None and dated["lag_max"] is not None and dated["lag_min"] > dated["lag_max"]:
        yield f"{where}the lag is {dated['lag_min']} to {dated['lag_max']}"
