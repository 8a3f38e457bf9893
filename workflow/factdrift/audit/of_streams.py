"""Checks of the dates of a stream: against the objects of its rows, and against the newest dump."""

import datetime
from collections.abc import Iterator

from factdrift.audit.dates import days_of_text
from factdrift.audit.lines import Entity
from factdrift.audit.of_tables import differing
from factdrift.audit.of_updates import Dumps
from factdrift.audit.values import END, birth_texts, raw_of, spans
from factdrift.core.columns import Row


def name_of(row: Row) -> str:
    """The name of a row in an audit: `Q30-P6@3`."""
    return f"{row['chain']}@{row['interval']}"


def _deciding(row: Row) -> str:
    return "new" if any(value["decision"] == "new" for value in row["objects"]) else "obsolete"


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
    is_newest = row["new_date"] == "-".join(f"{part:02d}" for part in dumps.t_new)
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
