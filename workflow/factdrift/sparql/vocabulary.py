"""IRIs of Wikidata's RDF, as in its dumps and its Query Service.

https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format
"""

from factdrift.wikidata.ids import entity_number

PREFIXES = {
    "wd": "http://www.wikidata.org/entity/",
    "wds": "http://www.wikidata.org/entity/statement/",
    "wdv": "http://www.wikidata.org/value/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "psv": "http://www.wikidata.org/prop/statement/value/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
    "pqv": "http://www.wikidata.org/prop/qualifier/value/",
    "wdno": "http://www.wikidata.org/prop/novalue/",
    "wikibase": "http://wikiba.se/ontology#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

PROLOGUE = "".join(f"PREFIX {prefix}: <{iri}>\n" for prefix, iri in PREFIXES.items())
"""Begins every query: the Query Service knows these prefixes, other servers do not."""

GENID = "http://www.wikidata.org/.well-known/genid/"
"""The beginning of the IRI of an unknown value (`somevalue`)."""

SCHEMA = "http://schema.org/"
"""The prefix `schema:`, which PROLOGUE lacks: stored answers are found by the text of their query."""

DATE_TIME = PREFIXES["xsd"] + "dateTime"

DATATYPES = {
    datatype: "".join(part[0].upper() + part[1:] for part in datatype.split("-"))
    for datatype in (
        *("commonsMedia", "entity-schema", "external-id", "geo-shape", "globe-coordinate", "math"),
        *("monolingualtext", "musical-notation", "quantity", "string", "tabular-data", "time", "url"),
        *("wikibase-form", "wikibase-item", "wikibase-lexeme", "wikibase-property", "wikibase-sense"),
    )
}
"""Datatype -> its name in RDF, such as `wikibase-item` -> `WikibaseItem`."""
_OF_NAME = {name: datatype for datatype, name in DATATYPES.items()}


def datatype_iri(datatype: str) -> str:
    """The IRI of a datatype: `wikibase-item` -> that of WikibaseItem; an unknown datatype keeps its name."""
    return PREFIXES["wikibase"] + DATATYPES.get(datatype, datatype)


def datatype_of(iri: str) -> str:
    """The inverse of `datatype_iri`."""
    name = iri.removeprefix(PREFIXES["wikibase"])
    return _OF_NAME.get(name, name)


def item_of(value: dict[str, str]) -> int | None:
    """The number of the item that a value of an answer is; None for anything else."""
    if value["type"] != "uri" or not value["value"].startswith(PREFIXES["wd"]):
        return None
    number = entity_number(value["value"].removeprefix(PREFIXES["wd"]))
    return number if number is not None and number > 0 else None
