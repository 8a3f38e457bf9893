"""Chains up to a later day from Wikidata's servers: every answer is kept, so that a killed run goes on.

<folder>/<until>/<host>/titles/<hash>.json.gz  the item of an English article
<folder>/<until>/<host>/items/Q30.json.gz    statements of subjects; `dead/` of those who have died since
<folder>/<until>/<host>/types/P6.json.gz     relations, qualifiers, and their classes
<folder>/<until>/<host>/names/Q42.json.gz    labels and aliases of holders
<folder>/<until>/<endpoint>/                 who has died, by month
<folder>/chains-<until>.parquet, .json       the chains, and their manifest
"""

import datetime
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import kept_answer, read_tsv, sha256, write_json
from factdrift.core.keys import read_settings
from factdrift.core.owned import scratch
from factdrift.core.paths import SAMPLE
from factdrift.core.progress import Progress
from factdrift.core.tables import write_rows
from factdrift.evaluation.questions.cutoff import CHAINS, DATES_OF_FILE, DEATH, Left, dates_of, read_chains
from factdrift.evaluation.questions.refreshed import Dates, Timeline, extended, refreshed
from factdrift.evaluation.questions.tenures import Name, changes, prompts_of, read_successions
from factdrift.snapshots.api.client import Api, Json, named_entity, snaks, statements
from factdrift.snapshots.api.current import By, Kept, answer_of, fetch_current
from factdrift.snapshots.api.entities import store_of
from factdrift.snapshots.compression import dump_writer, php_json
from factdrift.snapshots.recent.search import Search, search
from factdrift.sparql.client import Client
from factdrift.streams.newest import write_newest
from factdrift.streams.timelines import day_number, read_tenure
from factdrift.updates.method import PART, UpdateSettings
from factdrift.wikidata.entity import Entity, read_entity
from factdrift.wikidata.ids import entity_id, entity_number, is_made_up
from factdrift.wikidata.time import DAY, Time, pack_date
from factdrift.wikidata.values import read_time
from factdrift.words.dates import written_date
from factdrift.words.templates import read_wordings

ENOUGH = 30
"""Changes of a quarter below which the last quarters are marked: Wikidata lags by weeks."""
_LINE = ("type", "id", "labels", "aliases", "claims", "sitelinks")
_WHOLE, _NAMES = "info|labels|aliases|claims", "info|labels|aliases"


@dataclass
class Servers:
    """Wikidata's API and the Query Service, and the folder of a day with their answers."""

    api: Api
    client: Client
    folder: Path
    redirects: dict[str, str] = field(default_factory=dict)
    """Item -> the item into which it was merged."""

    def records(
        self, kind: str, names: Iterable[str], props: str = _WHOLE, by: By = "ids"
    ) -> dict[str, Json]:
        """The present records of those entities that there are, under the names that were asked for."""
        wanted = list(dict.fromkeys(names))
        progress = Progress(f"{self.api.url}: {kind}", total=0, unit="requests")
        fetch_current(self.api, wanted, props, partial(self._path, kind), progress, by)
        records = {name: answer_of(self._path(kind, name)) for name in wanted}
        records = {name: row for name, row in records.items() if "missing" not in row}
        if by == "ids":
            self.redirects |= {name: row["id"] for name, row in records.items() if row["id"] != name}
        return records

    def _path(self, kind: str, name: str) -> Path:
        file = name if entity_number(name) else hashlib.sha256(name.encode()).hexdigest()[:16]
        return store_of(self.folder, self.api.url) / kind / f"{file}.json.gz"

    def requests(self) -> dict[str, int]:
        """How many requests gave the answers that are kept."""
        answers = store_of(self.folder, self.api.url).rglob("*.json.gz")
        asked = {msgspec.json.encode(kept_answer(path, Kept).request, order="sorted") for path in answers}
        queries = self.client.answers
        return {"api": len(asked), "query_service": len([*queries.rglob("*.json.gz")]) if queries else 0}


Asked = tuple[Row, str]
"""A row of CHAINS, and the item of its subject, empty if Wikidata has none of this name."""


def write_refreshed(
    former: Path, until: datetime.date, servers: Servers, folder: Path
) -> tuple[Path, dict[str, Any]]:
    """Writes CHAINS up to the end of a day, and the manifest beside it; returns the path and the manifest."""
    dates = _dates(former, until)
    first, end = dates_of(former)
    snapshots = {"snapshots_old": str(end), "snapshots_new": str(until)}
    method = read_settings(json.dumps(snapshots), UpdateSettings, PART, "--until")
    asked = list(_asked(read_chains(former), servers))
    records = servers.records("items", (item for _, item in asked if item), f"{_WHOLE}|sitelinks")
    living = [(row, item) for row, item in asked if row["died"] is None]
    timelines = _timelines(living, records, servers, dates.last, method)
    holders = sorted({span.value for spans in timelines.values() for span in spans if span.value})
    called = servers.records("names", map(entity_id, holders), _NAMES)
    rows, left_out, changed = _continued(living, records, timelines, called, dates)
    deaths, moved = _deaths(asked, records, {*records, *called}, servers, (first, end, until))
    more = {
        "requests": servers.requests(),
        "left_out": dict(sorted(left_out.items())),
        "changed_since": sorted([*changed, *moved]),
        "redirects": dict(sorted(servers.redirects.items())),
        "revisions": {row["id"]: row.get("lastrevid") for row in (*records.values(), *called.values())},
    }
    path = folder / f"chains-{until}.parquet"
    manifest = _write([*rows, *deaths], former, until, path, more)
    write_json(manifest, path.with_suffix(".json"))
    return path, manifest


def _dates(former: Path, until: datetime.date) -> Dates:
    """Raises InputError if chains cannot be continued up to a day."""
    first, end = dates_of(former)
    if end >= until:
        raise InputError(f"--until {until}: the chains of {former} end on {end}; give a later day")
    return Dates(*map(pack_date, (first, end, until)))


def write_extended(former: Path, written: Path, until: datetime.date, path: Path) -> dict[str, Any]:
    """Writes the CHAINS that have later changes in a table of successions; returns their manifest."""
    dates, rows = _dates(former, until), defaultdict[tuple[str, str], list[Row]](list)
    for row in read_chains(former):
        rows[row["subject_label"], row["relation"]].append(row)
    made = list[Row]()
    for own in read_successions(written, dates.last):
        if len(chains := rows[own.subject, own.relation]) != 1:
            raise InputError(f"{written}: {len(chains)} chains are about {own.chain}; leave it out")
        made.append(extended(chains[0], own, dates))
    return _write(made, former, until, path, {"by_hand": {"file": written.name, "sha256": sha256(written)}})


def _write(
    rows: Sequence[Row], former: Path, until: datetime.date, path: Path, more: Mapping[str, Any]
) -> dict[str, Any]:
    """Writes CHAINS that continue others up to a day; returns their manifest."""
    first, end = dates_of(former)
    living = [row for row in rows if row.get("died") is None]
    quarters = Counter(_quarter(change.day) for row in living for change in changes(row))
    last_day = last_known(quarters, end, until)
    schema = CHAINS.with_metadata({DATES_OF_FILE: f"{first} {last_day}"})
    write_rows(rows, schema, path)
    return {
        **{"until": str(until), "dates": [str(first), str(last_day)]},
        **{"marked_after": str(last_day) if last_day < until else None},
        **{"chains": len(living), "deaths": len(rows) - len(living), "sha256": sha256(path)},
        "former": {"file": former.name, "until": str(end), "sha256": sha256(former)},
        "changes": dict(sorted(quarters.items())),
        **more,
    }


def _asked(rows: Sequence[Row], servers: Servers) -> Iterator[Asked]:
    """The rows with the items of their subjects: by id, or by English title where the id is not known."""
    known = [bool(entity_number(row["subject"])) and not is_made_up(row["subject"]) for row in rows]
    titles = (row["subject_label"] for row, by_id in zip(rows, known, strict=True) if not by_id)
    items = servers.records("titles", titles, "info|sitelinks", "titles")
    for row, by_id in zip(rows, known, strict=True):
        yield row, row["subject"] if by_id else items.get(row["subject_label"], {}).get("id", "")


def _timelines(
    asked: Sequence[Asked], records: Mapping[str, Json], servers: Servers, day: int, method: UpdateSettings
) -> dict[tuple[str, str], Timeline]:
    """(item, relation) -> the tenures of its values by Wikidata's present statements."""
    relations: dict[str, set[str]] = defaultdict(set)
    for row, item in asked:
        if item in records:
            relations[records[item]["id"]].add(row["relation"])
    lines: dict[str, Json] = {}
    for record in records.values():
        claims = record.get("claims") or {}
        own = {name: claims[name] for name in sorted(relations[record["id"]]) if name in claims}
        lines[record["id"]] = {**record, "claims": own}
    stated = (claim for line in lines.values() for claim in statements(line))
    used = {snak["property"] for claim in stated for snak in snaks(claim)}
    for _ in range(method.type_steps):  # the properties, their classes, and what these are subclasses of
        types = servers.records("types", sorted(used - lines.keys()))
        lines |= types
        used = _classes(types.values())
    groups = [(int(item[1:]), int(name[1:])) for item, names in relations.items() for name in names]
    timelines: dict[tuple[str, str], list[Any]] = defaultdict(list)
    with scratch() as folder:
        with dump_writer(folder / "dump.json.gz") as writer:
            for name in sorted(lines):
                # As in a dump, the page's title says that the line is whole, whoever's ids statements have.
                own = {key: lines[name][key] for key in _LINE if key in lines[name]}
                writer.write(php_json({**own, "title": name, "lastrevid": lines[name].get("lastrevid", 0)}))
        newest = write_newest(folder / "dump.json.gz", groups, day, method, folder)
        for row in pq.read_table(newest).to_pylist():
            key = entity_id(row["subject"]), f"P{row['property']}"
            timelines[key].append(read_tenure(row))
    return dict(timelines)


def _classes(records: Iterable[Json]) -> set[str]:
    """The items that are classes or superclasses of entities."""
    stated = (claim["mainsnak"] for record in records for claim in statements(record))
    named = (named_entity(snak) for snak in stated if snak["property"] in ("P31", "P279"))
    return {name for name in named if name}


def _continued(
    asked: Sequence[Asked],
    records: Mapping[str, Json],
    timelines: Mapping[tuple[str, str], Timeline],
    called: Mapping[str, Json],
    dates: Dates,
) -> tuple[list[Row], Counter[str], list[str]]:
    """The chains up to the new day, the number left out by reason, and the names of changed chains."""
    rows, left_out, changed = list[Row](), Counter[str](), list[str]()
    names, merged = dict[int, Name](), dict[int, int]()
    for name, record in called.items():
        entity, value = _entity(record), int(record["id"][1:])
        names[value], merged[int(name[1:])] = Name(record["id"], entity.label, entity.alias_texts), value
    for row, item in asked:
        if item not in records:
            left_out["absent"] += 1
            continue
        stated = timelines.get((records[item]["id"], row["relation"]), ())
        spans = [span._replace(value=merged.get(span.value, span.value)) for span in stated]
        own = {span.value: names[span.value] for span in spans if span.value in names}
        made = refreshed(row, spans, own, dates)
        if isinstance(made.row, Left):
            left_out[made.row.reason] += 1
        else:
            rows.append(made.row)
            changed += [row["chain"]] * made.changed
    return rows, left_out, changed


def _deaths(
    asked: Sequence[Asked],
    records: Mapping[str, Json],
    people: set[str],
    servers: Servers,
    dates: tuple[datetime.date, datetime.date, datetime.date],
) -> tuple[list[Row], list[str]]:
    """Rows of CHAINS about former and new deaths, and the names of chains whose date changed since.

    New deaths are those of the sample's items, of subjects and of holders.
    """
    first, end, until = dates
    rows, moved = list[Row](), list[str]()
    for row, item in asked:
        if row["died"] is not None:
            day = _died(_entity(records[item])) if item in records else None
            fresh = row if day is None else _death(row, row["subject_label"], day)
            moved += [row["chain"]] * (fresh["died"] != row["died"])
            rows.append(fresh)
    tables = sorted((SAMPLE / "entities").glob("*.tsv"))
    people = people | {row["id"] for path in tables for row in read_tsv(path)}
    people |= {holder["id"] for row, _ in asked for holder in row["holders"]}
    after = datetime.timedelta(days=1)
    period = Search([int(DEATH[1:])], end + after, until + after)
    dead = {entity_id(item) for item in search(servers.client, period)}
    new = sorted((dead & people) - {row["subject"] for row in rows}, key=lambda name: int(name[1:]))
    for name, record in servers.records("dead", new).items():
        entity = _entity(record)
        day = _died(entity)
        if entity.label and day and end < _date(day) <= until:
            head = {"chain": f"{name}-{DEATH}", "subject": name, "relation": DEATH, "popularity": None}
            rows.append(_death(head, entity.label, day))
    return [row for row in rows if pack_date(first) <= row["died"] <= pack_date(until)], moved


def _death(head: Row, label: str, day: Time) -> Row:
    """The row of CHAINS of a date of death."""
    relation_label, templates = read_wordings()[DEATH]
    raw = f"+{_date(day)}T00:00:00Z"
    holder: Row = {"id": raw, "label": written_date(day), "aliases": [], "tenures": []}
    about = {"subject_label": label, "relation_label": relation_label, "holders": [holder]}
    return {**head, **about, "prompts": prompts_of(templates, label), "died": pack_date(_date(day))}


def _died(entity: Entity) -> Time | None:
    """The only day of death of the best rank; None without any, for several, and for a coarser date."""
    stated = [claim for claim in entity.stated(DEATH) if claim.rank != "deprecated"]
    best = [claim for claim in stated if claim.rank == "preferred"] or stated
    days = {read_time(claim.mainsnak.datavalue.value) for claim in best if claim.mainsnak.datavalue}
    day = days.pop() if len(days) == 1 else None
    return day if day and day.precision == DAY and day.year > 0 else None


def _date(day: Time) -> datetime.date:
    return datetime.date.fromordinal(day_number(day.first))


def _entity(record: Json) -> Entity:
    return read_entity(msgspec.json.encode(record))


def _quarter(day: int) -> str:
    return f"{day // 10_000}-Q{(day // 100 % 100 + 2) // 3}"


def last_known(changes: Mapping[str, int], former: datetime.date, until: datetime.date) -> datetime.date:
    """The last day before the last quarters with fewer than ENOUGH changes."""
    last = until
    while last > former:
        begin = datetime.date(last.year, (last.month + 2) // 3 * 3 - 2, 1)
        if changes.get(_quarter(pack_date(last)), 0) >= ENOUGH:
            return last
        last = begin - datetime.timedelta(days=1)
    return former
