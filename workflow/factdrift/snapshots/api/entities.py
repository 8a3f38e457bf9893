"""A small dump of entities as of the end of a day, from Wikidata's API.

docs/small-real-builds.md says which entities are fetched with those of a list, as of when, and which of their
parts are kept, and why. A reduced line has no `lastrevid`, because no revision has this content.

The answers are kept, a file for each entity:

<store>/<host>/revision/<date>/Q30.json.gz   the page with its revision at the end of that day: final
<store>/<host>/current/Q42.json.gz           labels and articles of the day on which they were fetched

A file holds the request, the time of the answer, and the part of the answer about the entity. An entity with
a file is not fetched again; remove the file to fetch it again.
"""

import datetime
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.files import keep_answer
from factdrift.core.progress import Progress
from factdrift.core.tables import table_of, write_parquet
from factdrift.snapshots.api.client import (
    Api,
    Json,
    Page,
    named_entity,
    named_unit,
    read_current,
    read_page,
    snaks,
    statements,
)
from factdrift.snapshots.api.current import answer_of, fetch_current
from factdrift.snapshots.compression import dump_writer, php_json
from factdrift.snapshots.derive import CREATION
from factdrift.wikidata.entity import NAMED_PROPERTIES
from factdrift.wikidata.ids import entity_number

CURRENT = "current"
_OBJECT_CLAIMS = ("P31", *NAMED_PROPERTIES, *CREATION)

FETCHED = schema_of("id: int32, role as_of: string, revision: int64, modified note: string")
"""One row per entity that was requested; properties have negative ids. `role`: why it was requested; `as_of`:
the day, or `current`; `note`: why it is left out."""


@dataclass(slots=True)
class Fetched:
    """Numbers of entities that were written and left out, and of requests that were sent."""

    written: int
    skipped: int
    requests: int


def store_of(folder: Path, url: str) -> Path:
    """The folder with the answers of the API at an address."""
    # Two wikis of one host differ in their paths; that of most wikis is in no name.
    address = urlsplit(url)
    name = f"{address.netloc}{address.path.removesuffix('/w/api.php')}"
    return folder / name.replace(":", "_").replace("/", "_")


def fetch_entities(
    ids: Sequence[str], date: str, api: Api, store: Path, with_objects: bool, dump: Path, table: Path
) -> Fetched:
    """Writes the snapshot of a day (YYYY-MM-DD) as the file `dump`, sorted by id, and FETCHED as `table`.

    `store`: the folder that keeps the answers, so that a second run requests only what is missing. Raises
    InputError if the day is not over, if the API does not answer, or if none of the entities existed on that
    day.
    """
    if date >= datetime.datetime.now(datetime.UTC).date().isoformat():
        raise InputError(f"--date {date}: the day is not over (UTC); its revisions can still change")
    pages = _Fetching(date, api, store_of(store, api.url)).closure(ids, with_objects)
    requested = {name: page for name, page in pages.items() if page.role == "requested"}
    absent = [name for name, page in requested.items() if page.entity is None]
    for name in absent:
        print(f"{name}: left out: {requested[name].note}", file=sys.stderr, flush=True)
    if len(absent) == len(requested):
        raise InputError(
            f"none of the {len(requested)} entities existed on {date}; name others or a later date"
        )
    existed = {name: page.entity for name, page in pages.items() if page.entity is not None}
    datatypes = {name: entity["datatype"] for name, entity in existed.items() if "datatype" in entity}
    fetched = Fetched(len(existed), len(pages) - len(existed), api.client.requests)
    rows = []
    with dump_writer(dump) as writer:
        for name in sorted(pages, key=lambda name: (name[0], int(name[1:]))):
            page = pages[name]
            where = page.revision, page.timestamp, page.note or None
            rows.append((entity_number(name), page.role, page.as_of, *where))
            if page.entity is not None:
                writer.write(php_json(_line(name, page, datatypes)))
    write_parquet(table_of(rows, FETCHED), table)
    return fetched


class _Fetching:
    """Fetches entities of one day, or takes them from the store."""

    def __init__(self, date: str, api: Api, store: Path) -> None:
        self._date, self._api, self._store = date, api, store
        self._kind = f"revision/{date}"
        self._progress = Progress(f"fetching entities as of {date}", total=0, unit="requests")
        self._pages: dict[str, Page] = {}

    def closure(self, ids: Sequence[str], with_objects: bool) -> dict[str, Page]:
        """The entities of a list and those that later stages need for them, by id."""
        self._of_the_day(ids, "requested", None)
        listed = self._entities("requested")
        used = _ids_in(listed, lambda statement: (snak["property"] for snak in snaks(statement)))
        objects = _ids_in(listed, lambda statement: [named_entity(statement["mainsnak"])])
        self._of_the_day([*used, *(name for name in objects if name[0] == "P")], "property", None)
        units = _ids_in(listed, lambda statement: (named_unit(snak) for snak in snaks(statement)))
        self._of_the_day(units, "unit", NAMED_PROPERTIES)
        known = [*listed, *self._entities("property"), *self._entities("unit")]
        classes = set(_values(known, "P31", "P279"))
        items = [name for name in objects if name[0] == "Q"]
        if with_objects:
            self._of_the_day(items, "object", _OBJECT_CLAIMS)
        else:
            self._of_now([name for name in items if name not in classes])
        self._classes([*known, *self._entities("object")])
        self._progress.say(f"{len(self._pages):,} entities")
        return self._pages

    def _classes(self, known: Sequence[Json]) -> None:
        """Fetches the classes of the entities and all their superclasses."""
        # The current record of an object has no superclasses; an object that turns out to be a class is
        # therefore fetched as of the day.
        wave = _values(known, "P31", "P279")
        classes: set[str] = set()
        while wave:
            fresh = [name for name in wave if name not in classes]
            classes.update(fresh)
            for name in fresh:
                if name in self._pages and self._pages[name].as_of == CURRENT:
                    del self._pages[name]
            self._of_the_day(fresh, "class", NAMED_PROPERTIES)
            entities = [self._pages[name].entity for name in fresh]
            wave = _values([entity for entity in entities if entity is not None], "P279")

    def _of_the_day(self, ids: Iterable[str], role: str, claims: tuple[str, ...] | None) -> None:
        """Adds entities as of the end of the day, unless they have been added before."""
        wanted = [name for name in ids if name not in self._pages]
        missing = [name for name in wanted if not self._path(self._kind, name).is_file()]
        self._progress.total = (self._progress.total or 0) + len(missing)
        for name in missing:
            request: dict[str, str | int] = {
                "action": "query",
                "prop": "revisions",
                "titles": f"Property:{name}" if name[0] == "P" else name,
                "rvprop": "ids|timestamp|content",
                "rvslots": "main",
                "rvlimit": 1,
                "rvdir": "older",
                "rvstart": f"{self._date}T23:59:59Z",
            }
            match self._api.get(request):
                case {"query": {"pages": [dict() as answer]}}:
                    keep_answer(self._path(self._kind, name), request=request, answer=answer)
                case _:
                    url = self._api.url
                    raise InputError(f"{url}: no page in the answer about {name}; is it Wikidata's API?")
            self._progress.advance()
        for name in wanted:
            page = read_page(self._answer(self._kind, name), name)
            self._pages[name] = page._replace(role=role, as_of=self._date, claims=claims)

    def _of_now(self, ids: Iterable[str]) -> None:
        """Adds items that are only values, with their current terms and site links."""
        wanted = [name for name in ids if name not in self._pages]
        path_of = partial(self._path, CURRENT)
        fetch_current(self._api, wanted, "labels|descriptions|sitelinks", path_of, self._progress)
        merged = []
        for name in wanted:
            page = read_current(self._answer(CURRENT, name), name)
            if page.entity is None and page.note.startswith("merged"):
                merged.append(name)
            else:
                self._pages[name] = page._replace(role="object", as_of=CURRENT)
        self._of_the_day(merged, "object", _OBJECT_CLAIMS)

    def _path(self, kind: str, name: str) -> Path:
        return self._store / kind / f"{name}.json.gz"

    def _answer(self, kind: str, name: str) -> Any:
        return answer_of(self._path(kind, name))

    def _entities(self, role: str) -> list[Json]:
        """The entities of one role that existed."""
        entities = [page.entity for page in self._pages.values() if page.role == role]
        return [entity for entity in entities if entity is not None]


def _ids_in(entities: Iterable[Json], of: Callable[[Json], Iterable[str | None]]) -> list[str]:
    """The ids that `of` returns for the statements, each once, in order; None is left out."""
    names = (name for entity in entities for statement in statements(entity) for name in of(statement))
    return list(dict.fromkeys(name for name in names if name is not None))


def _values(entities: Iterable[Json], *properties: str) -> list[str]:
    """The items that are values of the properties, each once, in order."""

    def of(statement: Json) -> list[str | None]:
        snak = statement["mainsnak"]
        return [named_entity(snak)] if snak["property"] in properties else []

    return [name for name in _ids_in(entities, of) if name[0] == "Q"]


def _line(name: str, page: Page, datatypes: dict[str, str]) -> Json:
    """An entity in the form of a line of a dump."""
    entity = page.entity or {}
    claims = entity.get("claims") or {}
    if page.claims is not None:
        claims = {key: group for key, group in claims.items() if key in page.claims}
    line: dict[str, Any] = {"type": "property" if name[0] == "P" else "item"}
    if "datatype" in entity:
        line["datatype"] = entity["datatype"]
    line |= {"id": name, **{key: entity.get(key) or {} for key in ("labels", "descriptions", "aliases")}}
    line["claims"] = {key: [_typed(claim, datatypes) for claim in group] for key, group in claims.items()}
    if name[0] == "Q":
        line["sitelinks"] = entity.get("sitelinks") or {}
    if page.claims is None and page.revision is not None:
        line |= {"lastrevid": page.revision, "modified": page.timestamp}
    return line


def _typed(statement: Json, datatypes: dict[str, str]) -> Json:
    """The statement with the property's datatype in each snak, as in a dump; references are not changed."""
    typed = {**statement, "mainsnak": _typed_snak(statement["mainsnak"], datatypes)}
    qualifiers = statement.get("qualifiers")
    if isinstance(qualifiers, dict):
        typed["qualifiers"] = {
            key: [_typed_snak(snak, datatypes) for snak in group] for key, group in qualifiers.items()
        }
    return typed


def _typed_snak(snak: Json, datatypes: dict[str, str]) -> Json:
    datatype = datatypes.get(snak["property"])
    return {**snak, "datatype": datatype} if datatype and "datatype" not in snak else snak
