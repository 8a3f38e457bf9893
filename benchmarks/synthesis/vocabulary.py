"""What the synthetic world is made of: classes, properties, kinds of items, languages, wikis.

Items and properties with an id of Wikidata's have the meaning that they have there; the typing and the
constraints of the properties are set so that every filter has something to decide, not copied. Items from
190,000,000 upwards are invented.
"""

from typing import NamedTuple

HUMAN, CITY, CLUB, COMPANY, COUNTRY = 5, 515, 476028, 4830453, 6256
METRE, EURO = 11573, 4916
META_RELATION, RESTRICTIVE, NOT_RESTRICTIVE, ALWAYS_RESTRICTIVE = 51118821, 61719275, 61719274, 105388954
LIST_ARTICLE, CATEGORY = 13406463, 4167836

_INVENTED = 190_000_000
INDEX, TEMPLATE_IN_NAME_ONLY = _INVENTED + 1, _INVENTED + 2
META_STEPS = tuple(range(_INVENTED + 11, _INVENTED + 15))
"""Classes, each a subclass of the next, the last one of META_RELATION."""
RESTRICTIVE_STEPS = tuple(range(_INVENTED + 21, _INVENTED + 25))
"""Classes, each a subclass of the next, the last one of RESTRICTIVE."""


class Class(NamedTuple):
    label: str
    superclass: int | None = None


CLASSES = {
    HUMAN: Class("human"),
    CITY: Class("city"),
    CLUB: Class("association football club"),
    COMPANY: Class("business", 43229),
    43229: Class("organization"),
    COUNTRY: Class("country"),
    4164871: Class("position"),
    618779: Class("award"),
    11424: Class("film"),
    483110: Class("stadium", 41176),
    41176: Class("building"),
    2424752: Class("product"),
    1656682: Class("event"),
    3863: Class("asteroid"),
    523: Class("star"),
    16521: Class("taxon"),
    7187: Class("gene"),
    13442814: Class("scholarly article"),
    5633421: Class("scientific journal"),
    28640: Class("profession"),
    METRE: Class("metre"),
    EURO: Class("euro"),
    LIST_ARTICLE: Class("Wikimedia list article"),
    CATEGORY: Class("Wikimedia category"),
    INDEX: Class("index of settlements", LIST_ARTICLE),
    TEMPLATE_IN_NAME_ONLY: Class("casting template"),
    META_RELATION: Class("Wikidata property about items"),
    RESTRICTIVE: Class("restrictive qualifier"),
    NOT_RESTRICTIVE: Class("non-restrictive qualifier"),
    ALWAYS_RESTRICTIVE: Class("qualifier that always restricts"),
    **{
        step: Class(f"kind of {word} relation, step {index}", after)
        for word, steps, last in (
            ("meta", META_STEPS, META_RELATION),
            ("restrictive", RESTRICTIVE_STEPS, RESTRICTIVE),
        )
        for index, (step, after) in enumerate(zip(steps, (*steps[1:], last), strict=True))
    },
}


class Property(NamedTuple):
    """`separators`: None where a relation has many values, else those of its single-value constraint."""

    label: str
    datatype: str = "wikibase-item"
    separators: tuple[int, ...] | None = None
    classes: tuple[int, ...] = ()


PROPERTIES = {
    6: Property("head of government", separators=(580, 582)),
    17: Property("country"),
    18: Property("image", "commonsMedia"),
    19: Property("place of birth", separators=()),
    20: Property("place of death", separators=()),
    27: Property("country of citizenship"),
    31: Property("instance of"),
    35: Property("head of state", separators=(580, 582)),
    39: Property("position held"),
    54: Property("member of sports team"),
    105: Property("taxon rank"),
    106: Property("occupation"),
    108: Property("employer"),
    131: Property("located in the administrative territorial entity"),
    143: Property("imported from Wikimedia project"),
    159: Property("headquarters location"),
    161: Property("cast member"),
    166: Property("award received"),
    169: Property("chief executive officer", separators=(580, 582)),
    171: Property("parent taxon"),
    214: Property("VIAF ID", "external-id"),
    217: Property("inventory number", "string"),
    225: Property("taxon name", "string"),
    227: Property("GND ID", "external-id"),
    244: Property("Library of Congress authority ID", "external-id"),
    248: Property("stated in"),
    279: Property("subclass of"),
    286: Property("head coach", separators=(580, 582)),
    304: Property("page(s)", "string"),
    345: Property("IMDb ID", "external-id"),
    351: Property("Entrez Gene ID", "external-id"),
    356: Property("DOI", "external-id"),
    361: Property("part of"),
    447: Property("score by"),
    460: Property("said to be the same as", classes=(META_STEPS[0],)),
    463: Property("member of"),
    478: Property("volume", "string"),
    518: Property("applies to part", classes=(RESTRICTIVE,)),
    528: Property("catalog code", "string"),
    569: Property("date of birth", "time", ()),
    570: Property("date of death", "time", ()),
    571: Property("inception", "time"),
    575: Property("time of discovery or invention", "time"),
    577: Property("publication date", "time"),
    580: Property("start time", "time"),
    582: Property("end time", "time"),
    585: Property("point in time", "time"),
    625: Property("coordinate location", "globe-coordinate"),
    646: Property("Freebase ID", "external-id"),
    698: Property("PubMed ID", "external-id"),
    800: Property("notable work"),
    813: Property("retrieved", "time"),
    854: Property("reference URL", "url"),
    856: Property("official website", "url"),
    1011: Property("excluding", classes=(RESTRICTIVE_STEPS[1],)),
    1012: Property("including", classes=(RESTRICTIVE_STEPS[0],)),
    1082: Property("population", "quantity", (585,)),
    1128: Property("employees", "quantity", (585,)),
    1264: Property("valid in period", classes=(RESTRICTIVE, NOT_RESTRICTIVE)),
    1343: Property("described by source"),
    1365: Property("replaces", classes=(NOT_RESTRICTIVE,)),
    1433: Property("published in"),
    1448: Property("official name", "monolingualtext"),
    1476: Property("title", "monolingualtext"),
    1566: Property("GeoNames ID", "external-id"),
    1619: Property("date of official opening", "time"),
    1889: Property("different from", classes=(META_STEPS[1],)),
    2048: Property("height", "quantity", (518,)),
    2093: Property("author name string", "string"),
    2139: Property("total revenue", "quantity"),
    2241: Property("reason for deprecated rank", classes=(ALWAYS_RESTRICTIVE,)),
    2302: Property("property constraint"),
    2534: Property("defining formula", "math"),
    2860: Property("cites work"),
    3083: Property("SIMBAD ID", "external-id"),
    4155: Property("separator", "wikibase-property"),
    4602: Property("date of burial or cremation", "time", ()),
    6949: Property("announcement date", "time"),
}

UNITS = {2048: METRE, 2139: EURO}
"""The units in which amounts of a property are stated."""

NAMED_KINDS = {
    "person": HUMAN,
    "country": COUNTRY,
    "club": CLUB,
    "org": COMPANY,
    "place": CITY,
    "office": 4164871,
    "award": 618779,
    "film": 11424,
    "building": 483110,
    "product": 2424752,
    "event": 1656682,
    "body": 3863,
    "list": LIST_ARTICLE,
    "index": INDEX,
    "blank": TEMPLATE_IN_NAME_ONLY,
}
"""What the table of events calls items of a class."""

POOLED_KINDS = ("person", "country", "club", "org", "place", "office", "award")
"""Kinds of which there are items that change nothing and that all others can name."""

_LATIN = """
en es fr de nl it pt sv pl ca cs da fi nb nn hu id ro tr vi eu gl hr sk sl et lt lv af ast bs ceb cy eo ga
gd io is lb ms oc sq sw tl war pt-br en-gb en-ca de-at de-ch fur lij lmo nap pms sc scn vec wa frp min
"""
_CYRILLIC = """
ru uk be bg sr mk kk ky tt tg
"""
_OTHER_SCRIPTS = """
ar fa he ja zh ko hi bn ta te ml th el hy ka ur arz
"""
_WIKIS = """
frwiki dewiki eswiki itwiki plwiki ptwiki nlwiki svwiki ruwiki zhwiki jawiki arwiki ukwiki cawiki viwiki
fawiki nowiki fiwiki cswiki huwiki kowiki idwiki trwiki rowiki cebwiki warwiki dawiki euwiki eowiki bgwiki
hrwiki skwiki hewiki ltwiki slwiki etwiki glwiki nnwiki simplewiki elwiki thwiki mswiki lvwiki lawiki
"""

LATIN, CYRILLIC, OTHER_SCRIPTS = _LATIN.split(), _CYRILLIC.split(), _OTHER_SCRIPTS.split()
"""Codes of languages by the letters that they are written in."""
WIKIS = _WIKIS.split()
"""Wikipedias without the English one, those first to which most items link."""
