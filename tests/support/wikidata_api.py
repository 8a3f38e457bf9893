"""A wiki on the loopback interface that answers as Wikidata's API does, with its limits and failures.

The entities are those of tests/data/real-excerpt.json.bz2, in the form in which Wikibase stores them (no
datatypes in snaks); their histories are invented. Whatever else is asked for (properties, classes, objects)
is made up on the spot, with a label, an English article and nothing more, so that a closure ends somewhere.
"""

import bz2
import copy
import csv
import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.listening import Handler, in_thread

DATA = Path(__file__).resolve().parents[1] / "data"
BEGINNING = "2013-01-01T00:00:00Z"
LIMIT = 50

Json = dict[str, Any]
Revision = tuple[str, Json | str | None]
"""Time and content: an entity, the target of a redirect, or None if the content is hidden."""


@cache
def excerpt() -> dict[str, Json]:
    """Id -> entity of the real excerpt."""
    text = bz2.decompress((DATA / "real-excerpt.json.bz2").read_bytes()).decode("utf-8")
    lines = (line.strip().rstrip(",") for line in text.splitlines())
    entities = (json.loads(line) for line in lines if len(line) > 1)
    return {entity["id"]: entity for entity in entities}


@cache
def labels() -> dict[str, str]:
    with (DATA / "labels.tsv").open(encoding="utf-8", newline="") as file:
        return {row["id"]: row["label"] for row in csv.DictReader(file, delimiter="\t")}


class Wiki:
    """The content of the wiki, and its failures.

    `history`: the revisions of each entity, the oldest first; an empty list is a deleted page. `titles`:
    titles of English articles -> items, for those who ask by title. `fail`: the
    failures of the next requests, in order: `maxlag`, `429`, `503`, `cut`, `garbage`, `ratelimited`, `login`
    and `403` (which repeat what the client logged in with), or "" for none. `retry_after`: the header that is
    sent with them. `fits`: entities that fit into one answer.
    """

    def __init__(self) -> None:
        self.history: dict[str, list[Revision]] = {}
        self.titles: dict[str, str] = {}
        self.fail: list[str] = []
        self.retry_after: str | None = "0"
        self.fits = LIMIT
        self.delay = 0.0
        self.refused: str | None = None
        self.requests: list[dict[str, str]] = []
        self.agents: Counter[str] = Counter()
        self.authorizations: Counter[str] = Counter()
        """The headers with which clients logged in; "" for those that did not."""
        self.busiest = 0
        self.hold_at: int | None = None
        """Number of the request from which on none is answered while this is set."""
        self.url = ""
        self._busy = 0
        self._lock = threading.Lock()
        self._excerpt = excerpt()
        self._labels = labels()
        self._datatypes = dict(_datatypes(self._excerpt.values()))

    def revisions(self, name: str) -> list[Revision]:
        if name in self.history:
            return self.history[name]
        return [(BEGINNING, self.entity(name))]

    def entity(self, name: str) -> Json:
        """An entity of the excerpt, or one made up, as it is stored."""
        label = self._labels.get(name, f"{name} label")
        made: Json = {
            "type": "item" if name[0] == "Q" else "property",
            "id": name,
            "labels": {"en": {"language": "en", "value": label}},
            "descriptions": [],
            "aliases": [],
            "claims": [],
        }
        if name[0] == "P":
            made["datatype"] = self._datatypes.get(name, "wikibase-item")
        else:
            made["sitelinks"] = {"enwiki": {"site": "enwiki", "title": f"Article on {label}", "badges": []}}
        return stored(copy.deepcopy(self._excerpt.get(name, made)))

    def asked(self) -> Counter[str]:
        """Entity -> how often a revision of it was requested."""
        return Counter(each["titles"].removeprefix("Property:") for each in self.requests if "titles" in each)

    def answer(self, query: dict[str, str]) -> Json:
        if query.get("format") != "json" or query.get("formatversion") != "2" or query.get("maxlag") != "5":
            return _error("badformat", "the tests expect format=json, formatversion=2, maxlag=5")
        if query["action"] == "query" and query["prop"] == "revisions":
            return self._query(query)
        if query["action"] == "wbgetentities":
            return self._get_entities(query)
        return _error("badvalue", "Unrecognized value for parameter")

    def _query(self, query: dict[str, str]) -> Json:
        titles = query["titles"].split("|")
        if len(titles) > 1:
            return _error("invalidparammix", "rvstart may only be used on a single page")
        name = titles[0].removeprefix("Property:")
        number = _number(name)
        page: Json = {"pageid": number, "ns": 0 if name[0] == "Q" else 120, "title": titles[0]}
        revisions = self.revisions(name)
        if not revisions or (name[0] == "P") != titles[0].startswith("Property:"):
            return {"batchcomplete": True, "query": {"pages": [{"title": titles[0], "missing": True}]}}
        known = [(number + k, *each) for k, each in enumerate(revisions) if each[0] <= query["rvstart"]]
        answer: Json = {"batchcomplete": True}
        if known:
            revision, timestamp, content = known[-1]
            slot: Json = {"contentmodel": "wikibase-item", "contentformat": "application/json"}
            if content is None:
                slot["texthidden"] = True
            elif isinstance(content, str):
                slot["content"] = json.dumps({"entity": name, "redirect": content})
            else:
                slot["content"] = json.dumps(content)
            page["revisions"] = [
                {"revid": revision, "parentid": 0, "timestamp": timestamp, "slots": {"main": slot}}
            ]
            if len(known) > 1:
                answer = {"continue": {"rvcontinue": f"{known[-2][1]}|{known[-2][0]}", "continue": "||"}}
        return {**answer, "query": {"pages": [page]}}

    def _get_entities(self, query: dict[str, str]) -> Json:
        titles = query["titles"].split("|") if query.get("sites") == "enwiki" else []
        names = [self.titles.get(title, "") for title in titles] or query["ids"].split("|")
        if len(names) > LIMIT:
            return _error(
                "toomanyvalues", f'Too many values supplied for parameter "ids". The limit is {LIMIT}.'
            )
        props, languages = query["props"].split("|"), query["languages"].split("|")
        records = {}
        for number, name in enumerate(names[: self.fits]):
            if not name:
                records[f"-{number + 1}"] = {"site": "enwiki", "title": titles[number], "missing": ""}
                continue
            record = self._current(name)
            if "info" in props and "missing" not in record:
                record["lastrevid"] = _number(record["id"]) + len(self.revisions(record["id"]))
            for key in ("labels", "descriptions", "aliases"):
                terms = record.get(key)
                if isinstance(terms, dict):
                    record[key] = {code: term for code, term in terms.items() if code in languages}
            basic = ("id", "type", "redirects", "missing", "lastrevid")
            records[name] = {key: value for key, value in record.items() if key in props or key in basic}
        return {"entities": records, "success": 1}

    def _current(self, name: str) -> Json:
        revisions = self.revisions(name)
        if not revisions:
            return {"id": name, "missing": ""}
        content = revisions[-1][1]
        if isinstance(content, str):
            return {**self._current(content), "redirects": {"from": name, "to": content}}
        return copy.deepcopy(content or {})

    def enter(self, query: dict[str, str], agent: str, authorization: str) -> str:
        """Counts a request; returns the name of its failure."""
        with self._lock:
            self.requests.append(query)
            self.agents[agent] += 1
            self.authorizations[authorization] += 1
            self._busy += 1
            self.busiest = max(self.busiest, self._busy)
            return self.fail.pop(0) if self.fail else ""

    def leave(self) -> None:
        with self._lock:
            self._busy -= 1


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # an answer in one piece, or the client waits for the second one
    wiki: Wiki

    def do_GET(self) -> None:
        query = dict(parse_qsl(urlsplit(self.path).query))
        agent = self.headers.get("User-Agent", "")
        failure = self.wiki.enter(query, agent, self.headers.get("Authorization", ""))
        time.sleep(self.wiki.delay)
        while self.wiki.hold_at is not None and len(self.wiki.requests) >= self.wiki.hold_at:
            time.sleep(0.005)
        self._respond(query, agent, failure)

    def _respond(self, query: dict[str, str], agent: str, failure: str) -> None:
        if self.wiki.refused or "@" not in agent:
            self._send(403, b"Please set a user-agent and respect our robot policy")
        elif failure in ("429", "503"):
            self._send(int(failure), b"later", again=True)
        elif failure in ("maxlag", "ratelimited"):
            said = _error(failure, "Waiting for 10.64.16.7: 6.5 seconds lagged, or the rate limit.")
            self._send(200, json.dumps(said).encode(), again=True)
        elif failure == "login":
            said = _error("mwoauth-invalid-authorization", f"no: {self.headers['Authorization']}")
            self._send(200, json.dumps(said).encode())
        elif failure == "403":
            self._send(403, f"no: {self.headers['Authorization']}".encode())
        elif failure == "garbage":
            self._send(200, b"<html>our servers are currently under maintenance")
        else:
            self._send(200, json.dumps(self.wiki.answer(query)).encode(), cut=failure == "cut")

    def _send(self, status: int, body: bytes, again: bool = False, cut: bool = False) -> None:
        self.wiki.leave()  # before the last byte that the client looks at
        wait = {} if self.wiki.retry_after is None or not again else {"Retry-After": self.wiki.retry_after}
        self.head(
            status, {"Content-Type": "application/json; charset=utf-8", "Content-Length": len(body)} | wait
        )
        if cut:
            self.wfile.write(body[: len(body) // 2])
            self.close_connection = True
        else:
            self.wfile.write(body)


@contextmanager
def serving(wiki: Wiki) -> Iterator[Wiki]:
    """Serves the wiki at `wiki.url` as long as the block runs."""
    handler = type("Handler", (_Handler,), {"wiki": wiki})
    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), handler), "/w/api.php") as wiki.url:
        yield wiki


def stored(entity: Json) -> Json:
    """An entity as its revision holds it: no datatypes in snaks, no revision."""
    entity.pop("lastrevid", None)
    entity.pop("modified", None)
    for snak in _snaks(entity):
        snak.pop("datatype", None)
    return entity


def _snaks(entity: Json) -> Iterator[Json]:
    claims = entity.get("claims") or {}
    for group in claims.values():
        for statement in group:
            yield statement["mainsnak"]
            for qualifiers in (statement.get("qualifiers") or {}).values():
                yield from qualifiers


def _datatypes(entities: Any) -> Iterator[tuple[str, str]]:
    for entity in entities:
        for snak in _snaks(entity):
            if "datatype" in snak:
                yield snak["property"], snak["datatype"]


def _number(name: str) -> int:
    """Of the first revision of an entity."""
    return 10 * sum(map(ord, name)) + int(name[1:]) * 100


def _error(code: str, info: str) -> Json:
    return {"error": {"code": code, "info": info}, "servedby": "loopback"}
