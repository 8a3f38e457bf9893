"""A small build of hand-made tables: four updates, as the stages before would hand them over."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.neighbors.facts import NEIGHBORS
from factdrift.updates.classify import UPDATES
from factdrift.verbalize.literals import LITERALS
from factdrift.verbalize.templates import TEMPLATES
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, TIME
from factdrift.wikidata.time import parse_time
from factdrift.wikifactdiff.jobs import Assemble

Row = dict[str, Any]
Build = Callable[..., "Files"]

POPULARITY = pa.schema([("id", pa.int32()), ("popularity", pa.float64()), ("source", pa.string())])
GROUPS = pa.schema([("subject", pa.int32()), ("property", pa.int32())])

USA, TRUMP, BIDEN, FRANCE, MACRON = 30, 22686, 6279, 142, 3052772
P6, P36, P1082 = 6, 36, 1082
HEAD = "head of government"


def time(text: str, precision: int = 11, julian: bool = False) -> Row:
    """`+2021-01-20` as a value of a TIME column."""
    calendar = "http://www.wikidata.org/entity/Q1985786" if julian else "Q1985727"
    row = parse_time(f"{text}T00:00:00Z", precision, calendar)._asdict()
    assert set(row) == {field.name for field in TIME}
    return row


def triple(subject: int, property: int, change: str, label: str, object: int | None, **more: Any) -> Row:
    """A triple; `+` and `-` in `change` say in which dumps it stands."""
    row: Row = dict.fromkeys(UPDATES.names)
    row |= {"subject": subject, "property": property, "change": change, "label": label, "object": object}
    row |= {"datatype": "wikibase-item" if object is not None else "quantity", "key": f"Q{object}"}
    row |= {"rule": "a_rule", "announced": False, "leaks": False, "scenario": "ReplaceObject"}
    row |= {"is_replace": True, "subject_is_ph_new": False, "relation_is_temp_func": True}
    for side, absent in (("old", "F+"), ("new", "F-")):
        if change != absent:
            row |= {f"{side}_statement": f"Q{subject}-{side}-{object}", f"{side}_position": 0}
            row |= {f"{side}_start_unknown": False, f"{side}_end_unknown": False}
            row[f"{side}_revision"] = 1000 if side == "old" else 2000
    return row | more


def amount_json(amount: str) -> str:
    return f'{{"amount":"+{amount}","unit":"1"}}'


def number(subject: int, change: str, label: str, amount: str, **more: Any) -> Row:
    values = {"key": amount, "scenario": "ReplaceObject"}
    for side, absent in (("old", "F+"), ("new", "F-")):
        if change != absent:
            values[f"{side}_json"] = amount_json(amount)
            values[f"{side}_statement"] = f"Q{subject}-{amount}"
    return triple(subject, P1082, change, label, None, **(values | more))


def near(subject: int, property: int, rank_no: int, neighbor: int, object: int | None, **more: Any) -> Row:
    literal = object is None
    row: Row = {"subject": subject, "property": property, "rank_no": rank_no, "neighbor": neighbor}
    row |= {"similarity": 0.75, "relation": property, "statement": f"Q{neighbor}-{object}"}
    row |= {"object": object, "datatype": "quantity" if literal else "wikibase-item", "key": f"Q{object}"}
    return row | {"json": amount_json(str(more.get("key"))) if literal else None} | more


def entity(id: int, label: str | None, description: str | None = None, **more: Any) -> Row:
    return {"id": id, "label": label, "description": description} | more


def template(property: int, rank: int, text: str, source: str = "bundled") -> Row:
    return {"property": property, "rank": rank, "template": text, "source": source}


UPDATED = [
    triple(USA, P6, "F0", "obsolete", TRUMP, old_start=time("+2017-01-20"), new_start=time("+2017-01-20"),
           new_end=time("+2021-01-20"), rule="ended_inside"),
    triple(USA, P6, "F+", "new", BIDEN, new_start=time("+2021-01-20"), new_position=1, announced=True),
    number(FRANCE, "F-", "obsolete", "67", old_pit=time("+2020-05-00", 10), old_end_unknown=True),
    number(FRANCE, "F+", "new", "68", new_pit=time("+2022-00-00", 9)),
    number(USA, "F+", "new", "331", scenario="AddRelation", is_replace=False),
    triple(900_000_001, P36, "F+", "new", 90, scenario="AddEntity", is_replace=False, subject_is_ph_new=True,
           relation_is_temp_func=False),
    triple(FRANCE, P36, "F0", "static", 90, scenario=None, is_replace=None, dropped_by="static"),
]  # fmt: skip


class Files:
    """The paths of a build's tables, and what assembles them."""

    def __init__(self, folder: Path, job: Assemble):
        self.folder, self.job = folder, job

    def assemble(self, name: str = "wikifactdiff", **options: Any) -> Path:
        output = self.folder / f"{name}.parquet"
        replace(self.job, output=output, **options).run()
        return output

    def records(self, **options: Any) -> list[Row]:
        rows: list[Row] = pq.read_table(self.assemble(**options)).to_pylist()
        return rows


@pytest.fixture
def build(tmp_path):
    """Makes the tables; each keyword replaces the rows of one of them."""

    def make(**rows: list[Row]) -> Files:
        defaults: dict[str, tuple[pa.Schema, list[Row]]] = {
            "updates": (UPDATES, UPDATED),
            "old_entities": (
                ENTITIES,
                [
                    *(entity(USA, "USA"), entity(TRUMP, "Donald Trump", "45th")),
                    *(entity(MACRON, "Emmanuel Macron"), entity(FRANCE, "France", "country")),
                ],
            ),
            "new_entities": (
                ENTITIES,
                [
                    *(entity(USA, "United States", "country"), entity(BIDEN, "Joe Biden", "46th")),
                    *(entity(TRUMP, None), entity(FRANCE, "France"), entity(90, "Paris")),
                    entity(900_000_001, "New {object} Land"),
                ],
            ),
            "old_properties": (PROPERTIES, [entity(P6, "head"), entity(P36, "capital")]),
            "new_properties": (PROPERTIES, [entity(P6, HEAD, "of a place"), entity(P1082, "population")]),
            "popularity": (
                POPULARITY,
                [
                    *({"id": item, "popularity": 9.5, "source": "pageviews"} for item in (USA, FRANCE)),
                    {"id": 900_000_001, "popularity": 1.5, "source": "class_mean"},
                ],
            ),
            "templates": (
                TEMPLATES,
                [
                    template(P6, 2, "Who leads {subject} is {object}"),
                    template(P6, 3, "Government in {subject} is led by {object}"),
                    template(P6, 1, "The head of government of {subject} is {object}"),
                    template(P36, 1, "The capital of {subject} is {object}", "generic"),
                    template(P1082, 1, "The population of {subject} is {object}"),
                ],
            ),
            "literals": (
                LITERALS,
                [
                    dict.fromkeys(LITERALS.names, key)
                    | {"datatype": "quantity", "json": amount_json(key), "short": f"{key}!", "raw": f"+{key}"}
                    for key in ("67", "68", "331", "5")
                ],
            ),
            "neighbors": (
                NEIGHBORS,
                [
                    near(USA, P6, 2, FRANCE, MACRON, similarity=0.5),
                    near(USA, P6, 1, 900_000_001, MACRON),
                    near(FRANCE, P1082, 1, USA, None, key="5"),
                ],
            ),
            "random_neighbors": (NEIGHBORS, [near(USA, P6, 1, FRANCE, 90, relation=P36)]),
        }  # fmt: skip
        paths = {
            name: written(tmp_path / f"{name}.parquet", schema, rows.get(name, given))
            for name, (schema, given) in defaults.items()
        }
        several = {name: (paths[name],) for name in ("updates", "old_entities", "new_entities")}
        how: Row = {"old_date": "2021-01-04", "new_date": "2023-02-27", "variant": "paper", "seed": 0}
        how |= {"subject_names": "label", "grammar": "fitted", "measurements": "plain", "test_share": 0.2}
        job = Assemble(**(paths | several), **how, funnel=Path("funnel.parquet"), output=tmp_path)
        return Files(tmp_path, job)

    return make
