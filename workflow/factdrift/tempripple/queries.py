"""The queries of the source over SPARQL.

Plain SPARQL 1.1, the same for the Wikidata Query Service and a server of our own: all prefixes declared, no
services or hints of one engine, no LIMIT. One list of VALUES a query, the longer one, and a filter for the
other: some engines start from the shorter list, and would read all statements of its properties. Dates come
from value nodes, which have the precision.
"""

from collections.abc import Iterable

from factdrift.sparql.divide import Period
from factdrift.sparql.vocabulary import PROLOGUE
from factdrift.wikidata.time import unpack

_RANK = "?st wikibase:rank ?rank . FILTER(?rank != wikibase:DeprecatedRank)"
_NAMED = 'FILTER(LANG(?l) IN ("en", "mul")) BIND(LANG(?l) AS ?lang)'


def candidates(relation: int, period: Period) -> str:
    """Statements of one property with a start or end in the period."""
    # Both branches are complete, because some engines join what is beside a UNION with all of its rows.
    first, until = map(_stamp, period)
    within = f"FILTER(?t >= {first} && ?t < {until})"
    branches = " UNION ".join(
        f"{{ ?s p:P{relation} ?st . ?st pqv:P{part} ?n . ?n wikibase:timeValue ?t . {_RANK} {within} }}"
        for part in (580, 582)
    )
    return f"{PROLOGUE}SELECT DISTINCT ?s ?st WHERE {{ {branches} }}"


def statements(subjects: Iterable[int], relations: Iterable[int], restrictive: Iterable[int]) -> str:
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


def classes(items: Iterable[int], relation: int) -> str:
    """The classes of items: values of best rank of P31 or P279."""
    return f"""{PROLOGUE}SELECT DISTINCT ?s ?o WHERE {{
  VALUES ?s {{ {_named("wd:Q", items)} }}
  ?s wdt:P{relation} ?o .
}}"""


def terms(items: Iterable[int]) -> str:
    """Labels and aliases in English and for all languages; ?kind is the predicate."""
    return f"""{PROLOGUE}SELECT ?s ?kind ?l ?lang WHERE {{
  VALUES ?s {{ {_named("wd:Q", items)} }}
  ?s ?kind ?l . FILTER(?kind IN (rdfs:label, skos:altLabel))
  {_NAMED}
}}"""


def declarations(relations: Iterable[int]) -> str:
    """Datatype and labels of properties."""
    return f"""{PROLOGUE}SELECT ?s ?type ?l ?lang WHERE {{
  VALUES ?s {{ {_named("wd:P", relations)} }}
  ?s wikibase:propertyType ?type .
  OPTIONAL {{ ?s rdfs:label ?l . {_NAMED} }}
}}"""


def _named(prefix: str, numbers: Iterable[int], between: str = " ") -> str:
    return between.join(f"{prefix}{number}" for number in numbers)


def _stamp(packed: int) -> str:
    """A packed day, from the year 1 on, as a literal of type xsd:dateTime."""
    year, month, day = unpack(packed)
    return f'"{year:04d}-{month:02d}-{day:02d}T00:00:00Z"^^xsd:dateTime'
