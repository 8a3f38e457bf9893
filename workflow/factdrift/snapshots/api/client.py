"""A client of Wikidata's API that keeps Wikimedia's rules.

They are (https://www.mediawiki.org/wiki/API:Etiquette): a user agent with a contact; one request at a time;
`maxlag=5`, with which the servers refuse requests while their replicas lag; waiting as long as Retry-After
says, and longer after every failure.

Answers are read about an entity: its revision of a day, or its current labels and articles. The content of a
revision is the entity in Wikibase's stored form. Unlike in a line of a dump, its snaks have no `datatype`,
and the revision's number and time are outside the content. Wikibase's code converts the forms used before
2014 when it serves a revision; a revision that is in an old form nevertheless (`label` for `labels`) is left
out.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from factdrift.core.addresses import TOKEN_VARIABLE
from factdrift.core.errors import InputError
from factdrift.core.retry import RetryPolicy, TransientError
from factdrift.snapshots.fetch import Client, Limits, Missing
from factdrift.wikidata.ids import entity_id
from factdrift.wikidata.values import read_value

MAXLAG = 5
"""Seconds that the servers' replicas may lag before they refuse a request."""

POLICY = RetryPolicy(tries=16)
"""Waits up to 45 minutes in all before the job ends, but only seconds for a server that is never reached."""

LIMITS = Limits(timeout=120.0)

_TRANSIENT = ("maxlag", "ratelimited", "readonly")
_TRANSIENT_KIND = "internal_api_error"
"""The beginning of such codes."""

_LOGIN = "mwoauth"
"""The beginning of the codes with which an access token is refused."""


Json = dict[str, Any]

PAGE_CLASSES = {
    "Wikimedia disambiguation page": "Q4167410",
    "Wikimedia list article": "Q13406463",
    "Wikimedia category": "Q4167836",
    "Wikimedia template": "Q11266439",
    "Wikimedia project page": "Q14204246",
    "Wikimedia module": "Q15184295",
}
"""English descriptions of items about Wikimedia's own pages -> the class of such items."""


class Api:
    """The API at one address."""

    def __init__(self, url: str, client: Client) -> None:
        self.url, self.client = url, client

    def get(self, parameters: Mapping[str, str | int]) -> dict[str, Any]:
        """The answer to one request, in the API's format version 2.

        Transient failures are repeated. Raises InputError if the server refuses the request, fails too often,
        or asks for too long a wait.
        """
        query = {**parameters, "format": "json", "formatversion": 2, "maxlag": MAXLAG}
        try:
            return self.client.small(self.url, query, self._read)
        except Missing:
            raise InputError(f"wikidata_api: {self.url} does not exist; correct the address") from None

    def _read(self, data: bytes) -> dict[str, Any]:
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise TransientError("an answer that is not JSON") from error
        if not isinstance(answer, dict):
            raise TransientError("an answer that is not a JSON object")
        if "error" in answer:
            fault = answer["error"] if isinstance(answer["error"], dict) else {}
            code, info = str(fault.get("code", "")), fault.get("info", "")
            if code in _TRANSIENT or code.startswith(_TRANSIENT_KIND):
                raise TransientError(f"{code}: {info}")
            hint = f"; is the token in {TOKEN_VARIABLE} valid?" if code.startswith(_LOGIN) else ""
            raise InputError(f"{self.url}: the API refuses the request ({code}: {info}){hint}")
        return answer


class Page(NamedTuple):
    """An entity that was requested; if there is none, `entity` is None and `note` says why.

    `role`: why it was requested; `as_of`: the day, or `current`; `claims`: the properties that its line
    keeps, None for all.
    """

    entity: Json | None
    note: str = ""
    revision: int | None = None
    timestamp: str | None = None
    role: str = ""
    as_of: str = ""
    claims: tuple[str, ...] | None = None


def read_page(page: Json, name: str) -> Page:
    """Reads a page of `prop=revisions` with at most one revision, requested for the entity `name`."""
    if page.get("missing") or page.get("invalid"):
        return Page(None, "deleted, or never created")
    if not page.get("revisions"):
        return Page(None, "not yet created on that day")
    revision = page["revisions"][0]
    where = {"revision": revision.get("revid"), "timestamp": revision.get("timestamp")}
    slot = revision.get("slots", {}).get("main", {})
    text = slot.get("content")
    if text is None or slot.get("texthidden") or slot.get("textmissing"):
        return Page(None, "the revision's content is hidden", **where)
    try:
        content = json.loads(text)
    except ValueError:
        return Page(None, "the revision's content is not JSON", **where)
    if isinstance(content, dict) and "redirect" in content:
        return Page(None, f"a redirect to {content['redirect']}: merged before that day", **where)
    if not isinstance(content, dict) or not {"id", "labels"} <= set(content):
        return Page(None, "the revision's content has an old form", **where)
    if content["id"] != name:
        return Page(None, f"the revision's content is that of {content['id']}", **where)
    return Page(content, **where)


def read_current(record: Json, name: str) -> Page:
    """Reads a record of `wbgetentities`: current terms and site links.

    An item whose English description is that of Wikimedia's own pages gets the class of such items, because
    its statements are not fetched.
    """
    if "missing" in record:
        return Page(None, "deleted, or never created")
    if "redirects" in record or record.get("id") != name:
        return Page(None, f"merged into {record.get('id')} since")
    description = (record.get("descriptions") or {}).get("en", {}).get("value", "")
    class_ = PAGE_CLASSES.get(description)
    return Page(
        {"type": record.get("type", "item"), "id": name}
        | {key: record.get(key) or {} for key in ("labels", "descriptions")}
        | {"aliases": {}, "claims": {"P31": [_instance_of(name, class_)]} if class_ else {}}
        | {"sitelinks": record.get("sitelinks") or {}}
    )


def _instance_of(item: str, class_: str) -> Json:
    value = {"entity-type": "item", "numeric-id": int(class_[1:]), "id": class_}
    return {
        "mainsnak": {
            "snaktype": "value",
            "property": "P31",
            "datavalue": {"value": value, "type": "wikibase-entityid"},
            "datatype": "wikibase-item",
        },
        "type": "statement",
        "id": f"{item}$factdrift-{class_}",
        "rank": "normal",
    }


def statements(entity: Json) -> Iterator[Json]:
    """Yields all statements; PHP may write an empty map as a list."""
    claims = entity.get("claims")
    if isinstance(claims, dict):
        for group in claims.values():
            yield from group


def snaks(statement: Json) -> Iterator[Json]:
    """The main snak and the snaks of the qualifiers."""
    yield statement["mainsnak"]
    qualifiers = statement.get("qualifiers")
    if isinstance(qualifiers, dict):
        for group in qualifiers.values():
            yield from group


def named_entity(snak: Json) -> str | None:
    """The id of the item or property that is a snak's value, None for other values; old forms included."""
    data = snak.get("datavalue")
    if not data or data.get("type") != "wikibase-entityid":
        return None
    number = read_value(data["type"], data.get("value")).object
    return None if number is None else entity_id(number)


def named_unit(snak: Json) -> str | None:
    """The id of the unit of a snak's quantity, if it has one."""
    data = snak.get("datavalue")
    if not data or data.get("type") != "quantity":
        return None
    unit = str(data["value"].get("unit", "1")).rsplit("/", 1)[-1]
    return unit if unit[:1] == "Q" and unit[1:].isdigit() else None
