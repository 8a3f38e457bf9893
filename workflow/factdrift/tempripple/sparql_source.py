"""The source over SPARQL, with one query for each batch of items.

Queries are plain SPARQL 1.1, the same for the Wikidata Query Service and a server of our own: all prefixes
declared, no services or hints of one engine, no LIMIT. One list of VALUES a query, the longer one, and a
filter for the other: some engines start from the shorter list, and would read all statements of its
properties. Dates come from value nodes, which have the precision.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any
from urllib.parse import unquote

import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.tables import table_of
from factdrift.sparql.client import Binding, Client, Period, divided, halved, months, unusable
from factdrift.sparql.vocabulary import DATE_TIME, PREFIXES, PROLOGUE, datatype_of, item_of
from factdrift.tempripple.sources import CANDIDATES, CLASSES, DECLARATIONS, STATEMENTS, TERMS, Ids
from factdrift.wikidata.time import JULIAN_CALENDAR, YEAR, pack, unpack

PUBLIC_BATCH, OWN_BATCH = 200, 2000
"""Items in one query: to the Query Service, which allows 60 seconds a query, and to the local server."""

_STAMP = re.compile(r"(-?)(\d+)-(\d\d)-(\d\d)T.*")
_TEXT = (None, PREFIXES["xsd"] + "string")


class SparqlSource:
    """A source that queries a server with all or part of Wikidata's RDF."""

    def __init__(self, client: Client, batch: int = PUBLIC_BATCH, monthly: bool = True) -> None:
        """`batch`: items in a query; `monthly`: candidates month by month. Neither changes the answers."""
        self._client, self._batch, self._monthly = client, batch, monthly

    def candidates(self, properties: Ids, first: int, until: int) -> pa.Table:
        periods = months((first, until)) if self._monthly else [(first, until)]
        candidates = set()
        for relation in properties.tolist():
            query = partial(candidates_query, relation)
            for row in divided(self._client, query, periods, halved, {"s", "st"}):
                if (subject := item_of(row["s"])) is not None:
                    candidates.add((relation, subject, _statement(row["st"])))
        return table_of(sorted(candidates), CANDIDATES)

    def statements(self, subjects: Ids, properties: Ids, restrictive: Ids) -> pa.Table:
        relations, qualifiers = properties.tolist(), restrictive.tolist()
        if not relations:
            return STATEMENTS.empty_table()
        statements: dict[tuple[int, int, str], list[Binding]] = {}
        query = partial(statements_query, relations=relations, restrictive=qualifiers)
        for row in self._of_items(query, subjects, {"s", "p", "st", "rank"}):
            subject = self._subject(row)
            relation = self._relation(row["p"], PREFIXES["p"])
            statements.setdefault((subject, relation, _statement(row["st"])), []).append(row)
        judged = [
            {"subject": subject, "property": relation, "statement": name} | _judged(rows)
            for (subject, relation, name), rows in sorted(statements.items())
        ]
        return pa.Table.from_pylist(judged, STATEMENTS)

    def terms(self, items: Ids) -> pa.Table:
        labels: dict[int, dict[str, str]] = {}
        aliases: dict[int, set[str]] = {}
        for row in self._of_items(_TERMS, items, {"s", "kind", "l", "lang"}):
            item = self._subject(row)
            if row["kind"]["value"] == PREFIXES["rdfs"] + "label":
                labels.setdefault(item, {})[row["lang"]["value"]] = row["l"]["value"]
            else:
                aliases.setdefault(item, set()).add(row["l"]["value"])
        rows = [(item, _label(named), sorted(aliases.get(item, ()))) for item, named in labels.items()]
        return table_of(sorted(rows), TERMS)

    def declarations(self, properties: Ids) -> pa.Table:
        datatypes: dict[int, str] = {}
        labels: dict[int, dict[str, str]] = {}
        for row in self._of_items(_DECLARATIONS, properties, {"s", "type"}):
            relation = self._relation(row["s"], PREFIXES["wd"])
            datatypes[relation] = datatype_of(row["type"]["value"])
            if "l" in row and "lang" in row:
                labels.setdefault(relation, {})[row["lang"]["value"]] = row["l"]["value"]
        rows = [(number, _label(labels.get(number, {})), kind) for number, kind in sorted(datatypes.items())]
        return table_of(rows, DECLARATIONS)

    def classes(self, items: Ids, relation: int) -> pa.Table:
        query = _about("DISTINCT ?s ?o", "wd:Q", f"?s wdt:P{relation} ?o .")
        rows = self._of_items(query, items, {"s", "o"})
        pairs = {(item_of(row["s"]), item_of(row["o"])) for row in rows}
        return table_of(sorted((item, above) for item, above in pairs if item and above), CLASSES)

    def _of_items(self, query: Callable[[list[int]], str], items: Ids, needed: set[str]) -> Iterator[Binding]:
        numbers = items.tolist()
        batches = [numbers[start : start + self._batch] for start in range(0, len(numbers), self._batch)]
        return divided(self._client, query, batches, _halves, needed)

    def _subject(self, row: Binding) -> int:
        """The number of the item `s`. Raises InputError if it is none."""
        if (item := item_of(row["s"])) is None:
            raise unusable(self._client.url, "names no item as ?s", row)
        return item

    def _relation(self, value: dict[str, str], prefix: str) -> int:
        """The number of a property from its IRI. Raises InputError if it is none."""
        number = value["value"].removeprefix(f"{prefix}P")
        if not (number.isascii() and number.isdigit()):
            raise unusable(self._client.url, "names no property", value)
        return int(number)


def _halves(batch: list[int]) -> list[list[int]]:
    """The two halves of a batch; an empty list if it cannot be divided."""
    middle = len(batch) // 2
    return [batch[:middle], batch[middle:]] if middle else []


def _judged(rows: list[Binding]) -> dict[str, Any]:
    """The columns of STATEMENTS from `preferred` on, from all rows of one statement."""
    first = rows[0]
    dates = ({_date(row, *names) for row in rows} for names in (("sv", "sp"), ("ev", "ep")))
    starts, ends = (sorted(date for date in found if date is not None) for found in dates)
    unread = any("ex" in row or ("ev" in row and _date(row, "ev", "ep") is None) for row in rows)
    return {
        "preferred": first["rank"]["value"] == PREFIXES["wikibase"] + "PreferredRank",
        **_value(next((row for row in rows if "o" in row), first)),
        "starts": [{"day": day, "precision": level} for day, level in starts],
        "ends": [{"day": day, "precision": level} for day, level in ends],
        "end_unknown": unread and not ends,
        "restricted": any("q" in row for row in rows),
    }


def _value(row: Binding) -> dict[str, Any]:
    """The columns from `snak` to `julian` that are not null."""
    if "o" not in row:
        return {"snak": "novalue"}
    value = row["o"]
    if (item := item_of(value)) is not None:
        return {"snak": "value", "object": item}
    if (date := _date(row, "vt", "vp")) is not None:
        julian = row["vc"]["value"] == PREFIXES["wd"] + JULIAN_CALENDAR
        return {"snak": "value", "day": date[0], "precision": date[1], "julian": julian}
    if value["type"] != "uri" and value["type"] != "bnode" and "vt" not in row:
        if "xml:lang" in value:
            return {"snak": "value", "text": value["value"], "language": value["xml:lang"].lower()}
        if value.get("datatype") in _TEXT:
            return {"snak": "value", "text": value["value"]}
    return {"snak": "somevalue"}


def _date(row: Binding, time: str, precision: str) -> tuple[int, int] | None:
    """Day and precision of a date; None without one, and for the year 0, which RDF cannot write."""
    if time not in row or row[time].get("datatype") != DATE_TIME:
        return None
    if (match := _STAMP.fullmatch(row[time]["value"])) is None:
        raise InputError(f"the SPARQL server gave a date that cannot be read: {row[time]['value']!r}")
    level = int(row[precision]["value"])
    year = int(match[2]) * (-1 if match[1] else 1)
    if level >= YEAR and year <= 0:
        year -= 1
    return pack(year, int(match[3]), int(match[4])), level


def _statement(value: dict[str, str]) -> str:
    """The id of a statement as in the dump's JSON, from its IRI."""
    name = unquote(value["value"].removeprefix(PREFIXES["wds"]))
    return name[:1].upper() + name[1:].replace("-", "$", 1)


def _label(labels: dict[str, str]) -> str | None:
    """The English label, or the one for all languages."""
    return labels.get("en", labels.get("mul"))


_RANK = "?st wikibase:rank ?rank . FILTER(?rank != wikibase:DeprecatedRank)"
_NAMED = 'FILTER(LANG(?l) IN ("en", "mul")) BIND(LANG(?l) AS ?lang)'


def candidates_query(relation: int, period: Period) -> str:
    """Statements of one property with a start or end in the period."""
    # Both branches are complete, because some engines join what is beside a UNION with all of its rows.
    first, until = map(_stamp, period)
    within = f"FILTER(?t >= {first} && ?t < {until})"
    branches = " UNION ".join(
        f"{{ ?s p:P{relation} ?st . ?st pqv:P{part} ?n . ?n wikibase:timeValue ?t . {_RANK} {within} }}"
        for part in (580, 582)
    )
    return f"{PROLOGUE}SELECT DISTINCT ?s ?st WHERE {{ {branches} }}"


def statements_query(subjects: Iterable[int], relations: Iterable[int], restrictive: Iterable[int]) -> str:
    """Rank, value, starts and ends of statements; a row for each pair of a start and an end."""
    relations = list(relations)
    if len(relations) == 1:
        (relation,) = relations
        claims = f"BIND(p:P{relation} AS ?p) ?s p:P{relation} ?st ."
        value, node = f"ps:P{relation}", f"psv:P{relation}"
    else:
        claims = f"""?s ?p ?st . FILTER(?p IN ({_named("p:P", relations, ", ")}))
  ?property wikibase:claim ?p ; wikibase:statementProperty ?ps ; wikibase:statementValue ?psv ."""
        value, node = "?ps", "?psv"
    qualifiers = list(restrictive)
    asked = restricted = ""
    if qualifiers:
        asked = " ?q"
        restricted = f"\n  OPTIONAL {{ ?st ?q ?qv . FILTER(?q IN ({_named('pq:P', qualifiers, ', ')})) }}"
    return f"""{PROLOGUE}SELECT DISTINCT ?s ?p ?st ?rank ?o ?vt ?vp ?vc ?sv ?sp ?ev ?ep ?ex{asked} WHERE {{
  VALUES ?s {{ {_named("wd:Q", subjects)} }}
  {claims}
  {_RANK}
  OPTIONAL {{ ?st {value} ?o . }}
  OPTIONAL {{ ?st {node} ?n . ?n wikibase:timeValue ?vt ; wikibase:timePrecision ?vp ;
    wikibase:timeCalendarModel ?vc . }}
  OPTIONAL {{ ?st pqv:P580 ?a . ?a wikibase:timeValue ?sv ; wikibase:timePrecision ?sp . }}
  OPTIONAL {{ ?st pqv:P582 ?b . ?b wikibase:timeValue ?ev ; wikibase:timePrecision ?ep . }}
  OPTIONAL {{ ?st pq:P582 ?ex . FILTER(!ISLITERAL(?ex)) }}{restricted}
}}"""


def _about(asked: str, prefix: str, body: str) -> Callable[[Iterable[int]], str]:
    """The query for what `body` says of a batch of items or properties `?s`."""

    def query(batch: Iterable[int]) -> str:
        return f"""{PROLOGUE}SELECT {asked} WHERE {{
  VALUES ?s {{ {_named(prefix, batch)} }}
  {body}
}}"""

    return query


def _named(prefix: str, numbers: Iterable[int], between: str = " ") -> str:
    return between.join(f"{prefix}{number}" for number in numbers)


def _stamp(packed: int) -> str:
    """A packed day, from the year 1 on, as a literal of type xsd:dateTime."""
    year, month, day = unpack(packed)
    return f'"{year:04d}-{month:02d}-{day:02d}T00:00:00Z"^^xsd:dateTime'


_TERMS = _about(
    "?s ?kind ?l ?lang", "wd:Q", f"?s ?kind ?l . FILTER(?kind IN (rdfs:label, skos:altLabel))\n  {_NAMED}"
)
"""Labels and aliases in English and for all languages; ?kind is the predicate."""

_DECLARATIONS = _about(
    "?s ?type ?l ?lang",
    "wd:P",
    f"?s wikibase:propertyType ?type .\n  OPTIONAL {{ ?s rdfs:label ?l . {_NAMED} }}",
)
"""Datatype and labels of properties."""
