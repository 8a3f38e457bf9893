"""Small worlds by hand: statements of an old and a new dump as tables, run through the updates stage.

Dates are written `2021-01-04`, `2021-01`, `2021`, `2020s`; a value is an item number, or a date as
`Date("2022-01-01")`, an amount as `Amount("10")`, a string, or a text as `Text("en", "...")`; a negative
number is a property.
"""

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.keys import read_settings, settings_of
from factdrift.core.tables import write_parquet
from factdrift.statements.gather import CLASSES
from factdrift.updates.dumps import Dump
from factdrift.updates.jobs import Classify, Context, Difference, Preprocess
from factdrift.updates.method import PART, UpdateSettings
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS
from factdrift.wikidata.time import parse_time
from support.configured import configured

ROOT = Path(__file__).resolve().parents[2]
RULES = ROOT / "resources" / "rules.tsv"
T_OLD, T_NEW = 20210104, 20230227

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
JULIAN = "http://www.wikidata.org/entity/Q1985786"
UNKNOWN = "unknown"
"""A start or an end that is `somevalue`."""
SCHEMAS = {"statements": STATEMENTS, "entities": ENTITIES, "properties": PROPERTIES, "classes": CLASSES}


@dataclass(frozen=True)
class Date:
    text: str


@dataclass(frozen=True)
class Amount:
    amount: str
    unit: str = "1"


@dataclass(frozen=True)
class Text:
    language: str
    text: str


def datavalue_of(text: str) -> dict[str, Any]:
    """`2021-01-04`, `2021-01`, `2021`, `2020s`, `-0044-03-15`, ` julian`; `2021-01-04/9` sets precision."""
    match = re.fullmatch(r"(-?)(\d+)(?:-(\d\d))?(?:-(\d\d))?(s?)(?:/(\d+))?( julian)?", text)
    assert match, text
    sign, year, month, day, decade, precision, julian = match.groups()
    level = int(precision or (8 if decade else 11 if day else 10 if month else 9))
    stamp = f"{sign or '+'}{int(year):04d}-{month or '00'}-{day or '00'}T00:00:00Z"
    return {"time": stamp, "precision": level, "calendarmodel": JULIAN if julian else GREGORIAN}


def time_of(text: str) -> dict[str, Any]:
    """A date, written as for `datavalue_of`, as a value of a TIME column."""
    value = datavalue_of(text)
    return parse_time(value["time"], value["precision"], value["calendarmodel"])._asdict()


Moment = str | tuple[str, ...] | None
"""A date; several dates of one statement; UNKNOWN; or none."""


def dates_of(moment: Moment) -> list[dict[str, Any]]:
    """The dates of a start, an end or a point in time, in their order."""
    texts = moment if isinstance(moment, tuple) else () if moment in (None, UNKNOWN) else (moment,)
    return [time_of(text) for text in texts]


@dataclass
class Fact:
    """One statement; `id` defaults to one made of subject, property and object, so that it is stable.

    Of several dates the snapshot's own column is given the first, whichever it is.
    """

    s: int
    p: int
    o: Any
    start: Moment = None
    end: Moment = None
    pit: Moment = None
    rank: str = "normal"
    quals: tuple[int, ...] = ()
    id: str | None = None
    snak: str = "value"
    datatype: str | None = None
    key: str | None = None

    def row(self, position: int, serial: int, revision: int) -> dict[str, Any]:
        number, json_text, time = None, None, None
        match self.o:
            case int() if self.o < 0:
                datatype, number, key = "wikibase-property", self.o, f"P{-self.o}"
            case int():
                datatype, number, key = "wikibase-item", self.o, f"Q{self.o}"
            case Date(text):
                time = time_of(text)
                datatype, key, json_text = "time", f"time {time}", json.dumps(datavalue_of(text))
            case Amount(amount, unit):
                datatype, key = "quantity", f"{float(amount)} {unit}"
                json_text = json.dumps({"amount": amount, "unit": unit})
            case Text(language, text):
                datatype, key = "monolingualtext", f"{language} {text}"
                json_text = json.dumps({"language": language, "text": text})
            case _:
                datatype, key, json_text = "string", str(self.o), json.dumps(self.o)
        dated: dict[str, Any] = {}
        qualifiers = {*self.quals}
        for relation, name in ((580, "start"), (582, "end"), (585, "pit")):
            moment = getattr(self, name)
            dates = dates_of(moment)
            dated |= {name: dates[0] if dates else None, f"{name}s": dates if len(dates) > 1 else None}
            qualifiers |= {relation} if moment is not None else set()
        return {
            "subject": self.s,
            "property": self.p,
            "statement": self.id or f"Q{self.s}$P{self.p}-{key}-{serial}",
            "position": position,
            "rank": self.rank,
            "snak": self.snak,
            "datatype": self.datatype or datatype,
            "object": number,
            "key": self.key or key,
            "json": json_text,
            "time": time,
            "start_unknown": self.start == UNKNOWN,
            "end_unknown": self.end == UNKNOWN,
            "qualifiers": sorted(qualifiers),
            "revision": revision,
            **dated,
        }


@dataclass
class Property:
    id: int
    single_value: bool = False
    separators: tuple[int, ...] = ()
    classes: tuple[int, ...] = ()


@dataclass
class World:
    """Two dumps. Each item that a fact names is in both, with article and label, unless said otherwise.

    `absent_old`, `absent_new`: items without a line there; `no_article`: without an English article in both,
    `no_article_old`: in the old one only (`no_article_new`, `no_label_new` likewise); `classes`: P31 of items
    (`old_classes`, `old_labels`: in the old dump, if others); `superclasses`: P279 of classes.
    """

    old: list[Fact] = field(default_factory=list)
    new: list[Fact] = field(default_factory=list)
    properties: list[Property] = field(default_factory=list)
    old_properties: list[Property] | None = None
    absent_old: frozenset[int] = frozenset()
    absent_new: frozenset[int] = frozenset()
    no_article: frozenset[int] = frozenset()
    no_article_old: frozenset[int] = frozenset()
    no_article_new: frozenset[int] = frozenset()
    no_label: frozenset[int] = frozenset()
    no_label_new: frozenset[int] = frozenset()
    labels: dict[int, str] = field(default_factory=dict)
    aliases: dict[int, list[str]] = field(default_factory=dict)
    old_labels: dict[int, str] | None = None
    classes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    old_classes: dict[int, tuple[int, ...]] | None = None
    superclasses: dict[int, tuple[int, ...]] = field(default_factory=dict)
    class_labels: dict[int, str] = field(default_factory=dict)

    def items(self) -> list[int]:
        facts = [*self.old, *self.new]
        return sorted({fact.s for fact in facts} | {f.o for f in facts if isinstance(f.o, int) and f.o > 0})

    @staticmethod
    def by_subject(facts: list[Fact]) -> dict[int, list[Fact]]:
        """The facts of each subject, in their order."""
        subjects: dict[int, list[Fact]] = {}
        for fact in facts:
            subjects.setdefault(fact.s, []).append(fact)
        return subjects

    def tables(self, which: str) -> dict[str, list[dict[str, Any]]]:
        """The rows of `statements`, `entities`, `properties` and `classes` of one dump."""
        first = which == "old"
        absent = self.absent_old if first else self.absent_new
        bare = self.no_article | (self.no_article_old if first else self.no_article_new)
        unnamed = self.no_label | (frozenset() if first else self.no_label_new)
        instance_of = self.old_classes if first and self.old_classes is not None else self.classes
        labels = self.old_labels if first and self.old_labels is not None else self.labels
        given = self.old_properties if first and self.old_properties is not None else self.properties
        serials: dict[tuple[Any, ...], itertools.count[int]] = {}
        statements = []
        old, new = self.by_subject(self.old), self.by_subject(self.new)
        for subject, facts in (old if first else new).items():
            assert subject not in absent
            # What is the same in both dumps was not edited.
            revision = 1 if first or old.get(subject) == facts else 2
            for position, fact in enumerate(facts):
                serial = next(serials.setdefault((fact.s, fact.p, str(fact.o)), itertools.count()))
                statements.append(fact.row(position, serial, revision))
        statements.sort(key=lambda row: (row["subject"], row["position"]))
        entities = [
            {
                "id": item,
                "label": None if item in unnamed else labels.get(item, f"item {item}"),
                "description": f"description of {item}",
                "aliases": self.aliases.get(item, []),
                "title": None if item in bare else f"Item {item}",
                "sitelinks": 0 if item in bare else item % 50 + 1,
                "revision": 1,
                "classes": list(instance_of.get(item, ())),
                "superclasses": [],
                "whole": item not in bare,
            }
            for item in self.items()
            if item not in absent
        ]
        classes = [
            {"id": item, "label": self.class_labels.get(item), "superclasses": list(parents)}
            for item, parents in sorted(
                {
                    **{each: () for listed in instance_of.values() for each in listed},
                    **dict.fromkeys(self.class_labels, ()),
                    **self.superclasses,
                }.items()
            )
        ]
        properties = [
            {
                "id": each.id,
                "label": f"relation {each.id}",
                "datatype": "wikibase-item",
                "classes": list(each.classes),
                "single_value": each.single_value,
                "separators": list(each.separators),
                "examples": [],
            }
            for each in sorted(given, key=lambda each: each.id)
        ]
        return {"statements": statements, "entities": entities, "properties": properties, "classes": classes}

    def write(self, directory: Path) -> None:
        for which in ("old", "new"):
            for name, rows in self.tables(which).items():
                path = directory / which / f"{name}.parquet"
                write_parquet(pa.Table.from_pylist(rows, SCHEMAS[name]), path)

    def updates(
        self,
        directory: Path,
        only_relations: Sequence[int] = (),
        only_subjects: Path | None = None,
        only_classes: Sequence[int] = (),
        labels: Sequence[Path] = (),
        rules: Path = RULES,
        **switches: Any,
    ) -> list[dict[str, Any]]:
        """The triples of open groups as the updates stage leaves them, with `method(**switches)`."""
        how = method(**switches)
        self.write(directory)
        old, new = (directory / which for which in ("old", "new"))
        for here, other in ((old, new), (new, old)):
            Context(
                entities=(here / "entities.parquet",),
                other_entities=(other / "entities.parquet",),
                classes=here / "classes.parquet",
                other_classes=other / "classes.parquet",
                properties=here / "properties.parquet",
                new_properties=new / "properties.parquet",
                settings=how,
                relevant=here / "relevant.parquet",
                relations=here / "relations.parquet",
            ).run()
            Preprocess(
                statements=here / "statements.parquet",
                relevant=here / "relevant.parquet",
                relations=here / "relations.parquet",
                dump_is="old" if here == old else "new",
                settings=how,
                output=dump(directory, here.name).filtered,
                kept=dump(directory, here.name).kept,
            ).run()
        triples = directory / "triples.parquet"
        dumps = {which: dump(directory, which) for which in ("old", "new")}
        Difference(
            **dumps,
            old_entities=old / "entities.parquet",
            settings=how,
            output=triples,
            new_entities=directory / "new_entities.parquet",
        ).run()
        Classify(
            triples=triples,
            **dumps,
            relations=new / "relations.parquet",
            new_entities=(directory / "new_entities.parquet",),
            old_entities=(old / "entities.parquet",),
            entities=(new / "entities.parquet",),
            properties=(new / "properties.parquet", old / "properties.parquet"),
            labels=tuple(labels),
            rules=rules,
            only_relations=tuple(f"P{number}" for number in only_relations),
            only_subjects=only_subjects,
            only_classes=tuple(f"Q{number}" for number in only_classes),
            classes=(new / "classes.parquet", old / "classes.parquet"),
            settings=how,
            output=directory / "updates.parquet",
            untouched=directory / "untouched.parquet",
        ).run()
        return pq.read_table(directory / "updates.parquet").to_pylist()

    @staticmethod
    def differences(directory: Path) -> list[dict[str, Any]]:
        """All triples, those of untouched groups too, with the value and the ids of their statements."""
        rows: list[dict[str, Any]] = pq.read_table(directory / "triples.parquet").to_pylist()
        for which in ("old", "new"):
            tables = dump(directory, which)
            table = pq.read_table(tables.filtered, columns=["statement", "key"])
            table = table.take(pq.read_table(tables.kept)["row"])
            for row in rows:
                place = row.pop(f"{which}_row")
                row[f"{which}_statement"] = None if place is None else table["statement"][place].as_py()
                row["key"] = row.get("key") if place is None else table["key"][place].as_py()
        return rows

    def filtered(self, directory: Path, which: str, **switches: Any) -> list[dict[str, Any]]:
        """The statements of one dump with `dropped_by`."""
        self.updates(directory, **switches)
        return pq.read_table(directory / which / "filtered.parquet").to_pylist()


def dump(directory: Path, which: str) -> Dump:
    """The folder into which `World.updates` writes the statements of one dump."""
    return Dump(directory / which / "filtered.parquet", directory / which / "kept.parquet")


def method(variant: str = "paper", **switches: Any) -> UpdateSettings:
    """The method with the defaults of `config/config.schema.yaml` for a variant."""
    return _method(json.dumps({"variant": variant, **switches}))


@cache
def _method(chosen: str) -> UpdateSettings:
    switches = json.loads(chosen)
    days = {key: str(switches.pop(f"t_{key}", default)) for key, default in (("old", T_OLD), ("new", T_NEW))}
    config = configured(snapshots=days, **switches)
    return read_settings(settings_of(config, UpdateSettings, PART), UpdateSettings, PART)
