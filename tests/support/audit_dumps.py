"""Two small dumps with one country, and the update that they give."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from factdrift.audit.lines import read_entities
from factdrift.audit.of_updates import Dumps
from factdrift.audit.sentences import Templates

Row = dict[str, Any]


def time(text: str, precision: int = 11, calendar: str = "Q1985727") -> Row:
    value = {"time": f"+{text}T00:00:00Z", "precision": precision}
    value["calendarmodel"] = f"http://www.wikidata.org/entity/{calendar}"
    return {"type": "time", "value": value}


def item(name: str) -> Row:
    return {"type": "wikibase-entityid", "value": {"entity-type": "item", "numeric-id": int(name[1:])}}


def snak(relation: str, value: Row | str) -> Row:
    """A snak with a value, or `somevalue` or `novalue`; without the keys that old dumps lack."""
    if isinstance(value, str):
        return {"snaktype": value, "property": relation}
    return {"snaktype": "value", "property": relation, "datavalue": value}


def statement(
    name: str, relation: str, value: Row | str, rank: str = "normal", **qualifiers: Row | str
) -> Row:
    main = snak(relation, value)
    found = {"id": name, "rank": rank, "mainsnak": main}
    if qualifiers:
        found["qualifiers"] = {key: [snak(key, each)] for key, each in qualifiers.items()}
    found["references"] = [{"snaks": {"P248": [snak("P248", item("Q5375741"))]}}]
    return found


def entity(name: str, label: str, *statements: Row, revision: int = 1) -> Row:
    claims: dict[str, list[Row]] = {}
    for each in statements:
        claims.setdefault(each["mainsnak"]["property"], []).append(each)
    labels = {"mul": {"language": "mul", "value": label}}
    return {"id": name, "labels": labels, "claims": claims or [], "aliases": [], "lastrevid": revision}


OLD_HOLDER = statement("Q1$A", "P6", item("Q11"), P580=time("2016-05-00", 10), P1366=item("Q36578"))
ENDED = statement("Q1$A", "P6", item("Q11"), P580=time("2016-05-00", 10), P582=time("2022-03-01"))
ENDED["qualifiers"]["P1366"] = OLD_HOLDER["qualifiers"]["P1366"]
NEW_HOLDER = statement("q1$B", "P6", item("Q12"), "preferred", P580=time("2022-02-16", 11, "Q1985786"))
OLD = [entity("Q1", "Atlantis", OLD_HOLDER, revision=7), entity("Q11", "Marta"), entity("Q12", "Zoë")]
NEW = [entity("Q1", "Atlantis", ENDED, NEW_HOLDER, revision=9), *OLD[1:], entity("P6", "head of government")]
PLAIN: Row = {"point_in_time": None, "datatype": "wikibase-item", "announced": False}
PLAIN |= {"leaks": False, "short": None}
UPDATE: Row = {
    "subject": {"id": "Q1", "label": "Atlantis", "description": None},
    "relation": {"id": "P6", "label": "head of government", "description": None},
    "update_prompt": "The head of government of Atlantis is ____",
    "generalization_prompts": ["Atlantis is governed by ____"],
    "subject_is_ph_new": False,
    "subject_is_ambiguous": False,
    "is_replace": True,
    "subject_popularity": 0.0,
    "popularity_source": "sitelinks",
    "template_source": "file",
    "split": "test",
    "objects": [
        {
            **{"id": "Q11", "label": "Marta", "description": None, "decision": "obsolete", "raw": "Q11"},
            **{"rule": "ended_inside", "old_statement": "Q1$A", "new_statement": "Q1$A"},
            **{"old_revision": 7, "new_revision": 9, "start": "2016-05", "end": "2022-03-01", **PLAIN},
        },
        {
            **{"id": "Q12", "label": "Zoë", "description": None, "decision": "new", "raw": "Q12"},
            **{"rule": "began_inside", "old_statement": None, "new_statement": "Q1$B"},
            **{"old_revision": None, "new_revision": 9, "start": "2022-02-16 julian", "end": None, **PLAIN},
        },
    ],
    "neighborhood": [],
    "random_neighborhood": [],
}


def write(path: Path, entities: list[Row]) -> Path:
    path.write_text("[\n" + ",\n".join(map(json.dumps, entities)) + "\n]\n", encoding="utf-8")
    return path


def dumps(folder: Path, old: list[Row], new: list[Row], **settings: Any) -> Dumps:
    """The dumps as the checks see them, with all entities whole."""
    read: list[Mapping[str, Any]] = []
    for name, entities in (("old", old), ("new", new)):
        wanted = {each["id"]: None for each in entities}
        read.append(read_entities(write(folder / f"{name}.json", entities), wanted))
    chosen: Row = {"variant": "paper", "birth": {"P571": False}, "supplied": {}} | settings
    chosen |= {"templates": Templates(False), "split": (0, 0.2), "sitelinks_count": False, "lines": {}}
    return Dumps(read[0], read[1], (2021, 1, 4), (2023, 2, 27), **chosen)
