"""The queries that name items in which something changed.

Plain SPARQL 1.1, as those of TempRIPPLE: all prefixes declared, no services or hints of one engine, no LIMIT.
"""

import datetime

from factdrift.sparql.divide import Period
from factdrift.sparql.vocabulary import PROLOGUE, SCHEMA
from factdrift.wikidata.time import YEAR, unpack

QUALIFIERS = (580, 582, 585)
"""Start, end, and point in time."""

_ENGLISH = "https://en.wikipedia.org/"


def dated(relation: int, period: Period, scope: str) -> str:
    """Items (?s) with a statement of the relation that is dated within the period, and is not deprecated.

    The date is its start, end or point in time, or its value. One of coarse precision counts as its first
    day, and none coarser than a year counts.
    """
    # The days are listed, so that a server can begin with the few value nodes of a day; of a range it would
    # read all statements of the relation, and half of the range would be no less work. In the RDF each date
    # is midnight of a day. The branches are complete, because some engines join what is beside a UNION with
    # all of its rows.
    days = " ".join(_midnight(day) for day in _days(period))
    nodes = [f"pqv:P{qualifier}" for qualifier in QUALIFIERS] + [f"psv:P{relation}"]
    branches = "\n  UNION ".join(
        f"{{ VALUES ?t {{ {days} }}\n    ?n wikibase:timeValue ?t . ?st {node} ?n . "
        f"{_statement(relation)}\n    ?n wikibase:timePrecision ?level . FILTER(?level >= {YEAR})"
        f"{_article(scope)} }}"
        for node in nodes
    )
    return f"{PROLOGUE}SELECT DISTINCT ?s WHERE {{\n  {branches}\n}}"


def changed(relation: int, period: Period, scope: str) -> str:
    """Items (?s) with a statement of the relation that were edited last within the period."""
    first, until = (_midnight(datetime.date(*unpack(packed))) for packed in period)
    return f"""{PROLOGUE}SELECT DISTINCT ?s WHERE {{
  {_statement(relation)}
  ?s <{SCHEMA}dateModified> ?t . FILTER(?t >= {first} && ?t < {until}){_article(scope)}
}}"""


def _statement(relation: int) -> str:
    return f"?s p:P{relation} ?st . ?st wikibase:rank ?rank . FILTER(?rank != wikibase:DeprecatedRank)"


def _article(scope: str) -> str:
    """For the scope `enwiki`: the item has an article in the English Wikipedia."""
    if scope != "enwiki":
        return ""
    return f"\n    ?article <{SCHEMA}about> ?s ; <{SCHEMA}isPartOf> <{_ENGLISH}> ."


def _days(period: Period) -> list[datetime.date]:
    first, until = (datetime.date(*unpack(packed)) for packed in period)
    return [first + datetime.timedelta(days) for days in range((until - first).days)]


def _midnight(day: datetime.date) -> str:
    return f'"{day.isoformat()}T00:00:00Z"^^xsd:dateTime'
