"""Two small dumps of what the bundled sample lacks: ties, doubles, edges of the window, odd names.

`ODD` are cases by hand, `drawn` a world by chance.

The world is invented; only relations, classes and datatypes are Wikidata's. Each case stands in CASES with
what is odd about it: statements of the old dump, of the new one, or of both. All subjects have the same
number of articles, so that equal popularity is the rule, and many are described alike: equal distances.
"""

import bz2
import gzip
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from support.worlds import UNKNOWN, Amount, Date, Fact, Text, datavalue_of

OLD, NEW = "2021-01-04", "2023-02-27"

HUMAN, COUNTRY, CITY, TEAM, PAGE, COMPANY = 5, 6256, 515, 847017, 4167410, 4830453
IS_A, SUBCLASS = 31, 279
KM2 = "http://www.wikidata.org/entity/Q712226"


class Relation(NamedTuple):
    """A property: `single` has a single-value constraint, with these separators."""

    label: str
    datatype: str = "wikibase-item"
    single: bool = False
    separators: tuple[int, ...] = ()


RELATIONS = {
    6: Relation("head of government", single=True, separators=(580, 582)),
    17: Relation("country", single=True),
    19: Relation("place of birth", single=True),
    26: Relation("spouse"),
    30: Relation("continent"),
    IS_A: Relation("instance of"),
    35: Relation("head of state"),
    36: Relation("capital", single=True),
    54: Relation("member of sports team"),
    118: Relation("league"),
    169: Relation("chief executive officer", single=True),
    SUBCLASS: Relation("subclass of"),
    286: Relation("head coach", single=True, separators=(580,)),
    518: Relation("applies to part"),
    569: Relation("date of birth", "time"),
    570: Relation("date of death", "time"),
    571: Relation("inception", "time"),
    577: Relation("publication date", "time"),
    580: Relation("start time", "time"),
    582: Relation("end time", "time"),
    585: Relation("point in time", "time"),
    1082: Relation("population", "quantity", single=True, separators=(585,)),
    1352: Relation("ranking", "quantity"),
    1448: Relation("official name", "monolingualtext"),
    1629: Relation("subject item of this property", "wikibase-property"),
    1813: Relation("short name", "monolingualtext"),
    2046: Relation("area", "quantity"),
    2561: Relation("name", "string"),
}

TWIN, OTHER_TWIN, BARE, GONE, LATE, WITHOUT_ARTICLE, LIST = 241, 242, 243, 244, 245, 246, 247
NAMES = {
    **{number: f"Person {number}" for number in range(201, 241)},
    **{number: f"Town {number}" for number in range(301, 321)},
    **{number: f"Land {number}" for number in range(401, 421)},
    **{number: f"Team {number}" for number in range(501, 511)},
    **{number: f"Work {number}" for number in range(601, 611)},
    **{TWIN: "Ada Twin", OTHER_TWIN: "Ada Twin", GONE: "Mia Merged", LATE: "Ole Later"},
    **{WITHOUT_ARTICLE: "No Article", LIST: "List of odd things"},
    **{701: "Zürich-Bar Zoë", 702: "Zurich bar", 703: 'O\'Neil "the" <b>|</b> Ltd.', 704: "The ____ Band"},
    **{HUMAN: "human", COUNTRY: "country", CITY: "city", TEAM: "sports club", COMPANY: "business"},
    **{PAGE: "Wikimedia disambiguation page", 11573: "metre", 712226: "square kilometre"},
    **{46: "Europe", 48: "Asia"},
}
"""Labels; BARE has none in the new dump."""

Both = tuple[list[Fact], list[Fact]]


def both(*facts: Fact) -> Both:
    return [*facts], [*facts]


def new(*facts: Fact) -> Both:
    return [], [*facts]


def of(subject: int, *facts: tuple[Any, ...]) -> list[Fact]:
    """Statements about a subject: of each the relation, the value, and start and end."""
    return [Fact(subject, *each) for each in facts]


def changed(before: Iterable[Fact], after: Iterable[Fact]) -> Both:
    return [*before], [*after]


def follows(subject: int, relation: int, one: int, other: int, ends: str | None, begins: str | None) -> Both:
    """One value ended, and another began, both as the new dump tells it."""
    first = Fact(subject, relation, one, "2012-03-04")
    return changed([first], [replace(first, end=ends), Fact(subject, relation, other, begins)])


def people() -> Both:
    """Everybody is born in a town of a land: chains for KLoB and TempRIPPLE, and neighbours of each other."""
    facts = []
    for number in range(201, 241):
        facts += [Fact(number, IS_A, HUMAN), Fact(number, 19, 301 + number % 20)]
        facts.append(Fact(number, 569, Date(f"{1950 + number % 30}-05-17")))
    for number in range(301, 321):
        facts += [Fact(number, IS_A, CITY), Fact(number, 17, 401 + number % 10)]
    for number in range(401, 421):
        facts += [Fact(number, IS_A, COUNTRY), Fact(number, 30, 46 + number % 2 * 2)]
        facts.append(Fact(number, 571, Date("1900")))
    for number in range(501, 511):
        facts += [Fact(number, IS_A, TEAM), Fact(number, 571, Date("1899-01-01"))]
    return both(*facts)


CASES: dict[str, Both] = {
    "people, towns and lands": people(),
    "a change well inside the window": follows(401, 6, 201, 202, "2022-05-06", "2022-05-06"),
    "ended and began on T_old": follows(402, 6, 203, 204, "2021-01-04", "2021-01-04"),
    "ended and began on T_new": follows(403, 6, 205, 206, "2023-02-27", "2023-02-27"),
    "the first day after T_old": follows(404, 6, 207, 208, "2021-01-05", "2021-01-05"),
    "the last day before T_new": follows(405, 6, 209, 210, "2023-02-26", "2023-02-26"),
    "the year of T_old": follows(406, 6, 211, 212, "2021", "2021"),
    "the month of T_old": follows(407, 6, 213, 214, "2021-01", "2021-01"),
    "a decade": follows(408, 6, 215, 216, "2020s", "2020s"),
    "the century, written by its end": follows(409, 6, 217, 218, "2100/7", "2100/7"),
    "a Julian day, another one here": follows(410, 6, 219, 220, "2020-12-23 julian", "2022-12-25 julian"),
    "an end without a successor": follows(411, 35, 201, 202, "2022", None),
    "a successor without an end": follows(412, 35, 203, 204, None, "2022"),
    "an end and a start at unknown times": follows(413, 35, 205, 206, UNKNOWN, UNKNOWN),
    "ended before it began": both(Fact(414, 35, 207, "2022-06-01", "2022-05-01")),
    "began and ended on one day": new(Fact(415, 35, 208, "2022-05-05", "2022-05-05")),
    "several starts and ends of one statement": changed(
        [Fact(416, 35, 209, ("2010", "2008-05-01"))],
        of(416, (35, 209, ("2010", "2008-05-01"), ("2022-01", "2022-01-31")), (35, 210, "2022-02-01")),
    ),
    "two preferred values of a single-value relation": changed(
        of(401, (36, 301), (36, 302)),
        [
            *(Fact(401, 36, 301, rank="preferred"), Fact(401, 36, 302, "2022", rank="preferred")),
            Fact(401, 36, 303),
        ],
    ),
    "one preferred value": changed(
        [Fact(402, 36, 303, rank="preferred"), Fact(402, 36, 304)],
        [Fact(402, 36, 303, end="2022-04"), Fact(402, 36, 304, "2022-04", rank="preferred")],
    ),
    "a deprecated one": both(Fact(403, 36, 305, rank="deprecated"), Fact(403, 36, 306)),
    "no value and some value": changed(
        [Fact(404, 36, 307, snak="novalue"), Fact(405, 36, 308)],
        [Fact(404, 36, 307, "2022"), Fact(405, 36, 308, snak="somevalue", start="2022")],
    ),
    "one value three times, one of them gone, another one dated": changed(
        [
            *(Fact(221, 54, 501, "2010", "2012", id="Q221$b"), Fact(221, 54, 501, "2014", id="Q221$A")),
            Fact(221, 54, 501, id="Q221$c"),
        ],
        [
            Fact(221, 54, 501, "2014", "2022-03", id="Q221$x"),
            Fact(221, 54, 501, "2010", "2012", id="Q221$B"),
            Fact(221, 54, 502, "2022-03", id="Q221$y"),
        ],
    ),
    "statements in another order, one id in small letters": changed(
        [Fact(222, 54, 503, "2015", id="Q222$AA"), Fact(222, 54, 504, "2016", id="Q222$BB")],
        [Fact(222, 54, 504, "2016", "2021-06-30", id="q222$bb"), Fact(222, 54, 503, "2015", id="Q222$AA")],
    ),
    "only a part of it": changed(
        [Fact(223, 54, 505, "2015", quals=(518,))],
        [Fact(223, 54, 505, "2015", "2022", quals=(518,)), Fact(223, 54, 506, "2022")],
    ),
    "replaced without any date": changed([Fact(501, 286, 224)], [Fact(501, 286, 225)]),
    "equal names, of a subject and of old and new object": changed(
        [Fact(TWIN, IS_A, HUMAN), Fact(OTHER_TWIN, IS_A, HUMAN), Fact(502, 286, TWIN, "2015")],
        [
            *(Fact(TWIN, IS_A, HUMAN), Fact(OTHER_TWIN, IS_A, HUMAN)),
            *(Fact(502, 286, TWIN, "2015", "2022"), Fact(502, 286, OTHER_TWIN, "2022")),
            *(Fact(TWIN, 54, 507, "2022-01-02"), Fact(OTHER_TWIN, 54, 508, "2022-01-02")),
        ],
    ),
    "a name without a label in the new dump": follows(503, 286, BARE, 226, "2022", "2022"),
    "merged: the object has no line in the new dump": changed(
        [Fact(GONE, IS_A, HUMAN), Fact(504, 286, GONE, "2015")], [Fact(504, 286, 227, "2022")]
    ),
    "an object of which only the new dump knows, born inside the window": new(
        Fact(LATE, IS_A, HUMAN), Fact(LATE, 569, Date("2022-08-01")), Fact(505, 286, LATE)
    ),
    "an object without an article, and one that is a page": follows(
        506, 286, WITHOUT_ARTICLE, LIST, "2022", "2022"
    ),
    "only a qualifier changed": changed(of(507, (286, 228, "2015")), of(507, (286, 228, "2015-02"))),
    "new works: two dates of one day, an older one, a decade, the day T_old": new(
        *of(601, (577, Date("2022-02-02")), (571, Date("2022-02-02")), (118, 501)),
        *of(602, (577, Date("2022-02-02")), (577, Date("2019")), (118, 502)),
        *of(603, (571, Date("2020s")), (118, 503)),
        *of(604, (571, Date("2021-01-04")), (118, 504)),
        *(Fact(605, 577, Date("2022"), rank="deprecated"), *of(605, (571, Date("2022-03")), (118, 505))),
    ),
    "a death inside the window": changed(
        [Fact(229, 26, 230, "1980")],
        [Fact(229, 26, 230, "1980", "2022-09-09"), Fact(229, 570, Date("2022-09-09"))],
    ),
    "measurements of one day, of a month around it, and later ones": changed(
        [Fact(310, 1082, Amount("+1000"), pit="2020-12-10"), Fact(310, 1082, Amount("+1001"), pit="2020-12")],
        [
            *(
                Fact(310, 1082, Amount("+1000"), pit="2020-12-10"),
                Fact(310, 1082, Amount("+1001"), pit="2020-12"),
            ),
            *(
                Fact(310, 1082, Amount("+1200"), pit="2022-12"),
                Fact(310, 1082, Amount("+1300"), pit="2022-12-10"),
            ),
        ],
    ),
    "the same amount, written otherwise": changed(
        [Fact(311, 1082, Amount("+10.0"), pit="2019"), Fact(312, 1352, Amount("+3"), pit="2019")],
        [
            *(Fact(311, 1082, Amount("+10"), pit="2019"), Fact(311, 1082, Amount("+12500000"), pit="2022")),
            *(Fact(312, 1352, Amount("+3"), pit="2019"), Fact(312, 1352, Amount("-1"), pit="2022")),
        ],
    ),
    "an amount with a unit": changed(
        of(313, (2046, Amount("+1", KM2), "2010")),
        of(313, (2046, Amount("+1", KM2), "2010", "2022"), (2046, Amount("+2.50", KM2), "2022")),
    ),
    "texts: blank, of two languages, with marks": changed(
        [Fact(314, 1448, Text("en", "Old Town"), "2000"), Fact(315, 2561, " ", "2000")],
        [
            *of(314, (1448, Text("en", "Old Town"), "2000", "2022"), (1448, Text("de", "Old Town"), "2022")),
            *of(315, (2561, " ", "2000", "2022"), (2561, "Café \u202e|", "2022")),
        ],
    ),
    "a name that holds the object's, and one that holds a blank": new(
        *of(701, (IS_A, COMPANY), (169, 702, "2022")),
        *of(703, (IS_A, COMPANY), (169, 231, "2022")),
        *of(704, (IS_A, TEAM), (286, 232, "2022")),
    ),
    "a property as object": changed([Fact(316, 1629, -17, "2010")], [Fact(316, 1629, -17, "2010", "2022")]),
    "a date before Christ and one of geological precision": both(
        Fact(317, 571, Date("-0044-03-15")), Fact(318, 571, Date("-13798000000/3"))
    ),
    "who held a post when": both(
        *of(417, (6, 201, "2001", "2010-05"), (6, 202, "2010-05", "2022-02-01"), (6, 203, "2022-02-01")),
        *of(418, (6, 204, "2005", "2022-02-01"), (6, 205, "2022-02-01")),
        *of(419, (6, 206, "2005", "2022"), (6, 207, "2022")),
        *of(420, (6, 206, "2005", "2022"), (6, 208, "2022")),
    ),
}
"""What is odd -> statements of the old dump and of the new one."""


Lines = tuple[list[dict[str, Any]], list[dict[str, Any]]]
"""The entities of the old dump and of the new one."""

Facts = dict[int, list[Fact]]
UNDATED = (IS_A, 17, 19, 30, 569, 570, 571, 577)
DAYS = (
    *("2008-01-01", "2012-05-06", "2016-05-01", "2020-12-31", "2021-01-03", OLD, "2021-01-05", "2021-05-31"),
    *("2021-06-01", "2021-07-01", "2022-03-01", "2022-03-31", "2022-04-01", "2022-09-09", "2023-02-26", NEW),
)
MOMENTS = (
    *(
        None,
        None,
        None,
        None,
        UNKNOWN,
        "2008",
        "2016-05",
        "2020-12",
        "2021-01-03",
        OLD,
        "2021-01-05",
        "2021-01",
    ),
    *("2021", "2020s", "2021-07-01", "2022-03", "2022-03-01", "2022-03-31", "2022-03-31", "2022-04", "2022"),
    *(
        "2022-03-14 julian",
        "2023-02-26",
        NEW,
        "2023-02-28",
        "2023-02",
        "2023",
        "2025",
        ("2022-05", "2018-03-01"),
    ),
)
VALUES: dict[int, tuple[Any, ...]] = {
    **{6: range(201, 215), 35: range(205, 220), 169: range(201, 241), 286: range(221, 236)},
    **{17: range(401, 409), 19: range(301, 309), 26: range(201, 241), 30: (46, 48), 36: range(301, 321)},
    **{54: range(501, 507), 118: range(501, 504), IS_A: (HUMAN, COUNTRY, CITY, TEAM, COMPANY, PAGE)},
    **{
        each: tuple(map(Date, ("1950-05-17", "1950", "2021-01-04", "2022-08-01"))) for each in (569, 571, 577)
    },
    570: (Date("1999"), Date("2021-09-09"), Date("2022-03")),
    1082: tuple(map(Amount, ("+1000", "+1000.0", "+1250", "+12500000"))),
    1352: tuple(map(Amount, ("+3", "-1", "+2.50"))),
    2046: (Amount("+1", KM2), Amount("+2.5", KM2), Amount("+2.5")),
    1448: (Text("en", "Old Town"), Text("de", "Old Town"), Text("en", "Town 301")),
    2561: ("Old Town", " ", "Café |"),
}
"""Relation -> the values that drawn statements have, so few that they are often equal."""
KINDS = {
    range(201, 241): (HUMAN, (19, 26, 54, 569, 570)),
    range(301, 321): (CITY, (6, 17, 1082, 1448, 2046, 2561, 571)),
    range(401, 421): (COUNTRY, (6, 30, 35, 36, 1082, 571)),
    range(501, 511): (TEAM, (286, 118, 1352, 17, 571)),
    range(601, 611): (COMPANY, (169, 577, 571, 17)),
}
"""Subjects -> their class, and the relations of drawn statements."""


def drawn(seed: int) -> Lines:
    """Entities of statements by chance: values, dates, ranks, ids, names and articles are often equal."""
    dice = Random(seed)
    facts: tuple[Facts, Facts] = {}, {}
    for subjects, (kind, relations) in KINDS.items():
        for subject in subjects:
            number = 0
            for about in (IS_A, *relations, *dice.choices(relations, k=2)):
                if about not in UNDATED and dice.random() < 0.5:
                    number = _succeed(dice, facts, subject, about, number)
                    continue
                for _ in range(dice.choice((1, 1, 1, 1, 2, 3))):
                    number += 1
                    _state(dice, facts, kind, Fact(subject, about, None, id=f"Q{subject}${number}"))
    lines: Lines = ([], [])
    alike = {number: dice.choice([*[number] * 14, 201, 301]) for number in NAMES}
    absent = [{number for number in NAMES if number > 200 and dice.random() < 0.04} for _ in lines]
    for side, entities in enumerate(lines):
        for number in sorted(NAMES.keys() - absent[side]):
            line = item(number, facts[side].get(number, []), not side)
            label = NAMES[alike[number]] if number > 200 else NAMES[number]
            if side and dice.random() < 0.05:
                label = f"New {label}"
            line["labels"] = {"en": {"language": "en", "value": label}} if dice.random() < 0.97 else {}
            if dice.random() < 0.2:
                line["aliases"] = {}
            sites = sorted(line["sitelinks"])[: dice.choice((0, 1, 5, 5, 12, 13))]
            sites += ["enwiki"] if dice.random() < 0.9 else []
            line["sitelinks"] = {site: {"site": site, "title": label, "badges": []} for site in sites}
            entities.append(line)
        entities += [relation(number, each) for number, each in RELATIONS.items()]
    return tuple(_edited(entities, not side) for side, entities in enumerate(lines))


def _succeed(dice: Random, facts: Sequence[Facts], subject: int, about: int, number: int) -> int:
    """Draws values that follow each other, the last ones between the dumps; returns the last number."""
    days = [dice.choice(DAYS[:2]), *sorted(dice.sample(DAYS[2:], k=dice.choice((1, 2, 2, 3))))]
    for place, day in enumerate(days):
        number += 1
        fact = Fact(subject, about, dice.choice(VALUES[about]), day, id=f"Q{subject}${number}")
        ends = days[place + 1] if place + 1 < len(days) else None
        if ends and dice.random() < 0.2:
            ends = dice.choice((None, ends[:7], ends[:4], UNKNOWN))
        later = replace(fact, end=ends)
        if dice.random() < 0.15:
            later = replace(later, start=dice.choice((None, day[:7], day[:4])))
        if day <= OLD or dice.random() < 0.1:
            facts[0].setdefault(subject, []).append(later if ends and ends <= OLD else fact)
        facts[1].setdefault(subject, []).append(later)
    return number


def _state(dice: Random, facts: Sequence[Facts], kind: int, fact: Fact) -> None:
    """Draws a statement, and what becomes of it between the dumps."""
    values = VALUES[fact.p]
    value = kind if fact.p == IS_A and dice.random() < 0.95 else dice.choice(values)
    fact = replace(fact, o=value)
    if dice.random() < 0.3:
        fact = replace(
            fact,
            snak=dice.choice(("value",) * 8 + ("novalue", "somevalue")),
            rank=dice.choice(("normal", "preferred", "preferred", "deprecated")),
            quals=dice.choice(((), (), (518,))),
        )
    if fact.p not in UNDATED:
        fact = replace(fact, start=dice.choice(MOMENTS), end=dice.choice((*[None] * 18, *MOMENTS)))
        fact = replace(fact, pit=dice.choice(MOMENTS) if fact.p in (1082, 1352) else None)
    later, chance = fact, dice.random()
    if chance < 0.2 and fact.p not in UNDATED:
        later = replace(later, end=dice.choice(MOMENTS))
    elif chance < 0.26:
        later = replace(later, o=dice.choice(values))
    elif chance < 0.32:
        later = replace(later, rank=dice.choice(("normal", "preferred", "deprecated")))
    elif chance < 0.38:
        later = replace(later, id=f"q{str(fact.id)[1:]}x")
    for side, each in enumerate((fact, later)):
        if dice.random() < 0.95:
            mine = facts[side].setdefault(fact.s, [])
            mine.insert(dice.choice((0, len(mine), len(mine), len(mine))), each)


def statement(fact: Fact, id_: str) -> dict[str, Any]:
    """A statement as dumps have it."""
    qualifiers: dict[str, list[Any]] = {}
    for relation, moment in ((580, fact.start), (582, fact.end), (585, fact.pit)):
        for text in moment if isinstance(moment, tuple) else (moment,):
            if text is not None:
                value = None if text == UNKNOWN else Date(text)
                kind = "somevalue" if text == UNKNOWN else "value"
                qualifiers.setdefault(f"P{relation}", []).append(snak(relation, kind, value))
    for relation in fact.quals:
        qualifiers.setdefault(f"P{relation}", []).append(snak(relation, "somevalue", None))
    found = {"mainsnak": snak(fact.p, fact.snak, fact.o), "type": "statement", "id": id_, "rank": fact.rank}
    return found | ({"qualifiers": qualifiers, "qualifiers-order": list(qualifiers)} if qualifiers else {})


def snak(relation: int, kind: str, value: Any) -> dict[str, Any]:
    found = {"snaktype": kind, "property": f"P{relation}", "datatype": RELATIONS[relation].datatype}
    if kind != "value":
        return found
    datavalue: dict[str, Any]
    match value:
        case int():
            prefix, name = ("P", "property") if value < 0 else ("Q", "item")
            entity = {"entity-type": name, "numeric-id": abs(value), "id": f"{prefix}{abs(value)}"}
            datavalue = {"type": "wikibase-entityid", "value": entity}
        case Date(text):
            given = {"timezone": 0, "before": 0, "after": 0} | datavalue_of(text)
            datavalue = {"type": "time", "value": given}
        case Amount(amount, unit):
            datavalue = {"type": "quantity", "value": {"amount": amount, "unit": unit}}
        case Text(language, text):
            datavalue = {"type": "monolingualtext", "value": {"language": language, "text": text}}
        case _:
            datavalue = {"type": "string", "value": value}
    return found | {"datavalue": datavalue}


def item(number: int, facts: list[Fact], is_old: bool) -> dict[str, Any]:
    """An item with its statements in the order in which they are given."""
    label = NAMES.get(number) or ("Bea Bare" if is_old else None)
    kinds = [NAMES[fact.o] for fact in facts if fact.p == IS_A and isinstance(fact.o, int)]
    description = f"an odd {kinds[0]}" if kinds else None
    if number in (TWIN, OTHER_TWIN):
        description = ("the first" if number == TWIN else "the second") if is_old else None
    sites = [] if number == WITHOUT_ARTICLE else ["enwiki"]
    sites += [f"{a}{b}wiki" for a in "abcd" for b in "xyz"]
    texts = {"en": {"language": "en", "value": label}} if label else {}
    aliases = [{"language": "en", "value": f"{word} {number}"} for word in ("No.", "Number")]
    claims: dict[str, list[Any]] = {}
    for place, fact in enumerate(facts):
        claims.setdefault(f"P{fact.p}", []).append(
            statement(fact, fact.id or f"Q{number}${fact.p}-{fact.o}-{place}")
        )
    return {
        **{"type": "item", "id": f"Q{number}", "labels": texts},
        "descriptions": {"en": {"language": "en", "value": description}} if description else {},
        **{"aliases": {"en": aliases}, "claims": claims},
        "sitelinks": {
            site: {"site": site, "title": label or f"Item {number}", "badges": []} for site in sites
        },
    }


def relation(number: int, about: Relation) -> dict[str, Any]:
    constraint = {
        "mainsnak": snak(IS_A, "value", 19474404) | {"property": "P2302"},
        **{"type": "statement", "id": f"P{number}$single", "rank": "normal"},
        "qualifiers": {
            "P4155": [
                snak(1629, "value", -each) | {"property": "P4155", "datatype": "wikibase-property"}
                for each in about.separators
            ]
        },
        "qualifiers-order": ["P4155"],
    }
    return {
        **{"type": "property", "datatype": about.datatype, "id": f"P{number}"},
        "labels": {"en": {"language": "en", "value": about.label}},
        **{"descriptions": {}, "aliases": {}, "claims": {"P2302": [constraint]} if about.single else {}},
    }


def entities(is_old: bool) -> list[dict[str, Any]]:
    """All entities of one of the dumps, in the order of their ids."""
    facts: dict[int, list[Fact]] = {}
    for case in CASES.values():
        for fact in case[0 if is_old else 1]:
            facts.setdefault(fact.s, []).append(fact)
    facts[LIST] = [Fact(LIST, IS_A, PAGE)]
    missing = {LATE, *range(601, 611), 701, 703, 704} if is_old else {GONE}
    numbers = sorted({*NAMES, BARE, *facts} - missing)
    found = [item(number, facts.get(number, []), is_old) for number in numbers]
    return _edited([*found, *(relation(number, about) for number, about in RELATIONS.items())], is_old)


def _edited(entities: Iterable[dict[str, Any]], is_old: bool) -> list[dict[str, Any]]:
    date = "2020-12-01" if is_old else "2022-12-01"
    edited = {"lastrevid": 1000 if is_old else 2000, "modified": f"{date}T00:00:00Z"}
    return [each | edited for each in entities]


ODD: Lines = (entities(True), entities(False))


def write_dumps(folder: Path, lines: Lines = ODD) -> dict[str, str]:
    """Writes both dumps, each in another compression; returns them as the configuration names them."""
    found = {}
    for date, suffix, of_dump in ((OLD, "json.gz", lines[0]), (NEW, "json.bz2", lines[1])):
        written = ",\n".join(json.dumps(each, ensure_ascii=False) for each in of_dump)
        text = f"[\n{written}\n]\n".encode()
        path = folder / f"odd-{date}.{suffix}"
        path.write_bytes(gzip.compress(text, mtime=0) if date == OLD else bz2.compress(text))
        found[date] = path.name
    return found
