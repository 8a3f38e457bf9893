"""Records, popularity and replacements against plain Python, on random small tables with many ties.

Names have no article here (`grammar: plain`); the examples in test_assemble.py have.
"""

import bz2
import hashlib
import json
import math
from datetime import date
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.examples import examples
from support.tables import written

from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.updates.classify import UPDATES
from factdrift.wikidata.tables import ENTITIES
from factdrift.wikifactdiff.export import export
from factdrift.wikifactdiff.jobs import Popularity
from factdrift.wikifactdiff.replacements import select_replacements

from .conftest import P6, P36, P1082, Build, Row, entity, near, number, template, time, triple

SUBJECTS, OBJECTS = range(1, 9), range(20, 26)
PITS = {("+2022-03-00", 10): "March 2022", ("+2019-12-31", 11): "December 31, 2019"}
PITS |= {("+2021-00-00", 9): "2021", ("+2010-00-00", 8): None}
WRITTEN = {"+2022-03-00": "2022-03", "+2019-12-31": "2019-12-31"}
WRITTEN |= {"+2021-00-00": "2021", "+2010-00-00": "2010/8"}
MOMENTS = {**WRITTEN, "-0044-03-15": "-0044-03-15"}
PRECISIONS = {"+2022-03-00": 10, "+2021-00-00": 9, "+2010-00-00": 8}
TEMPLATES = [
    (P6, 2, "Who leads {subject} is {object}", "chat"),
    (P6, 1, "The head of {subject} is {object}", "bundled"),
    (P6, 3, "{subject} is led by {object}", "chat"),
    (P36, 1, "{subject}' capital is {object}", "generic"),
    (P1082, 1, "The population of {subject} is {object}", "bundled"),
    (P1082, 1, "People in {subject} number {object}", "bundled"),
]
AMOUNTS = ("5", "67", "68")


NAMED = ("id", "label", "description")
OF_FACT = ("object", "prompt", "dist")
UNKNOWN: Row = {"popularity": -1}
PUBLIC = ("subject", "relation", "update_prompt", "generalization_prompts", "subject_is_ph_new")
PUBLIC += ("relation_is_temp_func", "is_replace", "subject_popularity")


def digest(*parts: object) -> str:
    return hashlib.sha256(":".join(map(str, parts)).encode()).hexdigest()


def chance(*parts: object) -> float:
    return int(digest(*parts)[:13], 16) / 16**13


class Drawn:
    """The tables of which records are made."""

    def __init__(self, seed: int) -> None:
        dice = self.dice = Random(seed)
        self.entities: dict[str, list[Row]] = {"old": [], "new": []}
        for item in (*SUBJECTS, *OBJECTS):
            both = dice.random() < 0.6
            for side in ("old", "new"):
                if both or side == dice.choice(["old", "new"]) or (side == "new" and item in SUBJECTS):
                    self.entities[side].append(self.named(item, side))
        unnamed = [item for item in (*SUBJECTS, *OBJECTS) if not self.is_named(item)]
        self.supplied = {item: f"Supplied {item}" for item in unnamed}
        self.nameless = [item for item in OBJECTS if item in self.supplied][:2]
        for item in self.nameless:
            del self.supplied[item]
        self.properties = {
            "old": [entity(P6, "head", "old"), *[entity(P36, "capital")][: seed % 2]],
            "new": [entity(P6, "head of government", None), entity(P1082, "population", "people")],
        }
        self.triples = [row for subject in SUBJECTS for row in self.group(subject)]
        self.facts = {name: self.neighbors() for name in ("neighborhood", "random_neighborhood")}
        self.popularity = [
            {"id": item, "popularity": dice.choice([0.5, 2.5, 9.0]), "source": f"source {item % 3}"}
            for item in SUBJECTS
            if dice.random() < 0.8
        ]

    def named(self, item: int, side: str) -> Row:
        dice = self.dice
        label = dice.choice(["Georgia", "Atlas", f"Place {item}", None if item % 2 else f"Thing {item}"])
        text = dice.choice([None, "", f"{side} state", f"home of georgia {item}", "the ____ one", "THING 22"])
        return entity(item, label, text)

    def is_named(self, item: int) -> bool:
        return any(row["id"] == item and row["label"] for rows in self.entities.values() for row in rows)

    def group(self, subject: int) -> list[Row]:
        """The triples of a subject's updates."""
        dice, rows = self.dice, []
        for relation in dice.sample([P6, P36, P1082], dice.choice([0, 1, 2])):
            more = {"scenario": dice.choice(["ReplaceObject", "Other"]), "is_replace": dice.random() < 0.5}
            more |= {"subject_is_ph_new": dice.random() < 0.2, "relation_is_temp_func": dice.random() < 0.5}
            more["dropped_by"] = None if dice.random() < 0.85 else "static"
            named = [item for item in OBJECTS if item not in self.nameless]
            values = dice.sample([*AMOUNTS] if relation == P1082 else named, dice.choice([1, 2, 3]))
            places = dice.sample(range(9), 2 * len(values))
            for value in values:
                change = dice.choice(["F-", "F0", "F+"])
                label = dice.choice(["new", "obsolete", "static"])
                absent = {"F-": "new", "F+": "old"}.get(change)
                own: Row = {f"{side}_position": places.pop() for side in ("old", "new") if side != absent}
                for side in ("old", "new"):
                    for name in ("start", "end", "pit"):
                        text = dice.choice([None, None, *MOMENTS])
                        if text and (name != "pit" or text in WRITTEN):
                            own[f"{side}_{name}"] = time(text, PRECISIONS.get(text, 11), text[0] == "-")
                    for name in ("start", "end"):
                        own[f"{side}_{name}_unknown"] = dice.random() < 0.2
                own |= {name: dice.choice([True, False, None]) for name in ("announced", "leaks")}
                own["rule"] = dice.choice(["rule", "other"])
                if relation == P1082:
                    rows.append(number(subject, change, label, value, **more, **own))
                else:
                    rows.append(triple(subject, relation, change, label, value, **more, **own))
        return rows

    def neighbors(self) -> list[Row]:
        dice, rows = self.dice, []
        for subject, relation in sorted({(row["subject"], row["property"]) for row in self.triples}):
            places = dice.sample(range(1, 10), dice.choice([0, 1, 3]))
            for position in places:
                asked = dice.choice([relation, relation, P6])
                value: Any = dice.choice(OBJECTS)
                more = {"relation": asked, "similarity": dice.choice([0.5, 0.75, 0.123456789])}
                if asked == P1082:
                    pit, precision = dice.choice([*PITS])
                    more |= {"key": dice.choice(AMOUNTS), "pit": dice.choice([None, time(pit, precision)])}
                    value = None
                rows.append(near(subject, relation, position, dice.choice([*SUBJECTS, 20]), value, **more))
        return rows

    def tables(self) -> dict[str, list[Row]]:
        sides = {f"{side}_entities": rows for side, rows in self.entities.items()}
        sides |= {f"{side}_properties": rows for side, rows in self.properties.items()}
        return sides | {
            "updates": self.dice.sample(self.triples, len(self.triples)),
            "neighbors": self.facts["neighborhood"],
            "random_neighbors": self.facts["random_neighborhood"],
            "popularity": self.popularity,
            "templates": [template(*each) for each in TEMPLATES],
        }


def in_order(row: Row) -> Any:
    return row["old_position"] is None, row["old_position"] or 0, row["new_position"] or 0


class Plain:
    """The records as docs/tables/wikifactdiff.md has them."""

    def __init__(self, drawn: Drawn, seed: int, dated: bool, unique: bool) -> None:
        self.drawn, self.seed, self.dated, self.unique = drawn, seed, dated, unique
        self.kept = [row for row in drawn.triples if row["dropped_by"] is None]
        groups = {(row["subject"], row["property"]) for row in self.kept}
        facts = [row for rows in drawn.facts.values() for row in rows]
        asked = {subject for subject, _ in groups} | {row["neighbor"] for row in facts}
        labels = [self.label(item) for item in asked]
        self.ambiguous = {item for item in asked if labels.count(self.label(item)) > 1}
        self.of = {row["id"]: row for row in drawn.popularity}
        self.groups = sorted(groups)
        self.groups.sort(key=lambda group: -self.of.get(group[0], UNKNOWN)["popularity"])

    def sides(self, item: int) -> list[Row]:
        """The rows of an entity or a property, of the new dump before the old one."""
        rows = []
        for side in ("new", "old"):
            own = [row for row in self.drawn.entities[side] if row["id"] == item]
            own = own or [row for row in self.drawn.properties[side] if -row["id"] == item]
            rows += own or [entity(item, None)]
        return rows

    def label(self, item: int) -> str | None:
        new, old = self.sides(item)
        return new["label"] or old["label"] or self.drawn.supplied.get(item)

    def called(self, item: int) -> Row:
        new, old = self.sides(item)
        first, second = (new, old) if new["label"] else (old, new)
        text = first["description"] if first["description"] is not None else second["description"]
        name = f"Q{item}" if item > 0 else f"P{-item}"
        return {"id": name, "label": self.label(item), "description": text}

    def object(self, row: Row) -> Row:
        if row["object"] is None:
            return {"id": None, "label": row["key"], "description": None}
        return self.called(row["object"])

    def asked(self, item: int, answers: list[str]) -> str:
        called = self.called(item)
        text = called["description"]
        tells_answer = any(answer.lower() in (text or "").lower() for answer in answers)
        if self.unique and item in self.ambiguous and text and "____" not in text and not tells_answer:
            return f"{called['label']} ({text})"
        return str(called["label"])

    def cloze(self, sentence: str, name: str, day: str | None) -> str:
        if day:
            first = sentence if sentence.startswith("{subject}") else sentence[0].lower() + sentence[1:]
            sentence = f"As of {day}, {first}"
        sentence = sentence.replace("{object}", "____")
        sentence = sentence.replace("{subject}' ", "{subject}' " if name.endswith("s") else "{subject}'s ")
        return sentence.replace("{subject}", name)

    def sentences(self, relation: int) -> list[str]:
        rows = sorted((rank, text) for number, rank, text, _ in TEMPLATES if number == relation)
        return [text for _, text in rows]

    def day(self, pit: Row | None) -> str | None:
        if pit is None or not self.dated:
            return None
        return next(text for (stamp, precision), text in PITS.items() if time(stamp, precision) == pit)

    def neighborhood(self, name: str, group: tuple[int, int]) -> list[Row]:
        facts = []
        rows = [row for row in self.drawn.facts[name] if (row["subject"], row["property"]) == group]
        for row in sorted(rows, key=lambda row: row["rank_no"]):
            value = self.object(row)
            if not self.label(row["neighbor"]) or not value["label"]:
                continue
            sentences = self.sentences(row["relation"])
            position = int(chance(name, self.seed, *group, row["rank_no"]) * len(sentences))
            asked = self.asked(row["neighbor"], [value["label"]])
            day = self.day(row.get("pit")) if row["object"] is None else None
            dist = {"dist": round(1 - row["similarity"], 9)}
            object_ = {"object": value, "prompt": self.cloze(sentences[position], asked, day)} | dist
            object_["raw"] = f"+{row['key']}" if row["object"] is None else f"Q{row['object']}"
            fact = {"subject": self.called(row["neighbor"]), "relation": self.called(-row["relation"])}
            fact |= dist | {"popularity": self.of.get(row["neighbor"], {}).get("popularity")}
            facts.append(fact | {"objects": [object_ | {"statement": row["statement"]}]})
        return facts

    def record(self, group: tuple[int, int]) -> Row:
        subject, relation = group
        rows = [row for row in self.kept if (row["subject"], row["property"]) == group]
        rows.sort(key=in_order)
        objects = [self.described(row) for row in rows]
        measured = [row for row in rows if row["label"] == "new" and row["object"] is None and row["new_pit"]]
        days = {row["new_pit"]["last"]: self.day(row["new_pit"]) for row in measured}
        day = next((days[last] for last in sorted(days, reverse=True) if days[last]), None)
        asked = self.asked(subject, [each["label"] for each in objects])
        first, *others = (self.cloze(sentence, asked, day) for sentence in self.sentences(relation))
        known = self.of.get(subject, {})
        same = ("scenario", "is_replace", "subject_is_ph_new", "relation_is_temp_func")
        return {
            **{name: rows[0][name] for name in same},
            "subject": self.called(subject),
            "relation": self.called(-relation),
            "update_prompt": first,
            "generalization_prompts": others,
            "subject_popularity": known.get("popularity"),
            "objects": objects,
            **{name: self.neighborhood(name, group) for name in self.drawn.facts},
            "split": "test" if chance("split", self.seed, subject) < 0.4 else "train",
            "popularity_source": known.get("source"),
            "template_source": sorted(each[1:] for each in TEMPLATES if each[0] == relation)[0][2],
            "subject_is_ambiguous": subject in self.ambiguous,
        }

    def described(self, row: Row) -> Row:
        side = "old" if row["change"] == "F-" else "new"

        def text(moment: Row | None) -> str | None:
            return moment and next(
                said + (" julian" if moment["julian"] else "")
                for stamp, said in MOMENTS.items()
                if time(stamp, PRECISIONS.get(stamp, 11), stamp[0] == "-") == moment
            )

        unknown = {name: "somevalue" if row[f"{side}_{name}_unknown"] else None for name in ("start", "end")}
        literal = row["object"] is None
        stated = ("old_statement", "new_statement", "old_revision", "new_revision", "rule", "datatype")
        return {
            **self.object(row),
            **{name: row[name] for name in stated},
            "decision": row["label"],
            **{name: text(row[f"{side}_{name}"]) or unknown[name] for name in ("start", "end")},
            "point_in_time": text(row[f"{side}_pit"]),
            "raw": f"+{row['key']}" if literal else f"Q{row['object']}",
            "short": f"{row['key']}!" if literal else None,
            **{name: bool(row[name]) for name in ("announced", "leaks")},
        }


@pytest.mark.parametrize("seed", range(examples(16)))
def test_records_are_those_of_the_definition(seed: int, build: Build, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    labels = tmp_path / "labels.tsv"
    lines = [f"Q{item}\t{label}\n" for item, label in drawn.supplied.items()]
    labels.write_text("id\tlabel\n" + "".join(lines), encoding="utf-8")
    dated, unique = bool(seed & 1), bool(seed & 2)
    how = {"measurements": "dated" if dated else "plain", "grammar": "plain"}
    how["subject_names"] = "unique" if unique else "label"
    files = build(**drawn.tables())
    dataset = files.assemble(labels=(labels,), seed=seed, test_share=0.4, **how)
    plain = Plain(drawn, seed, dated, unique)
    wanted = [plain.record(group) for group in plain.groups]
    assert pq.read_table(dataset).to_pylist() == wanted
    # The columns are those that layouts of other projects are read into.
    assert pq.read_schema(dataset).equals(SCHEMA)
    assert len(wanted) >= 2
    check_export(dataset, wanted, tmp_path / "wikifactdiff.jsonl")


def check_export(dataset: Path, records: list[Row], output: Path) -> None:
    """The lines have the fields of the public dataset, and no others."""
    assert export(dataset, output) == len(records)
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    for line, record in zip(lines, records, strict=True):
        objects = [{name: each[name] for name in (*NAMED, "decision")} for each in record["objects"]]
        near = [
            {"subject": fact["subject"], "dist": fact["dist"]}
            | {"objects": [{name: each[name] for name in OF_FACT} for each in fact["objects"]]}
            for fact in record["neighborhood"]
        ]
        public = {name: record[name] for name in PUBLIC}
        assert line == public | {"objects": objects, "neighborhood": near}


@pytest.mark.parametrize("seed", range(examples(16)))
def test_replacements_are_drawn_by_their_hashes(seed: int, tmp_path: Path) -> None:
    """Of `factor` groups of a relation one is kept, rounded up: those with the smallest hashes."""
    dice = Random(seed)
    rows = [
        triple(subject, relation, "F+", "new", 20)
        | {"scenario": dice.choice(["ReplaceObject", "ReplaceObject", "Other"])}
        | {"dropped_by": None if dice.random() < 0.8 else "static"}
        for subject in range(1, dice.choice([3, 12]))
        for relation in (P6, P1082)
        for _ in range(dice.choice([1, 2]))
    ]
    factors = {P1082: dice.choice([1, 2, 3, 14])}
    updates, output = written(tmp_path / "updates.parquet", UPDATES, rows), tmp_path / "groups.parquet"
    count = select_replacements([updates], output, factors, seed)
    kept = [row for row in rows if row["dropped_by"] is None and row["scenario"] == "ReplaceObject"]
    wanted = []
    for relation in (P6, P1082):
        subjects = {row["subject"] for row in kept if row["property"] == relation}
        order = sorted(subjects, key=lambda subject, of=relation: digest("undersample", seed, subject, of))
        wanted += [(each, relation) for each in order[: math.ceil(len(order) / factors.get(relation, 1))]]
    groups = [tuple(row.values()) for row in pq.read_table(output).to_pylist()]
    assert groups == sorted(wanted)
    assert count == len(wanted)


@pytest.mark.parametrize("seed", range(examples(16)))
def test_popularity_is_that_of_the_definition(seed: int, tmp_path: Path) -> None:
    """The median of monthly views from the first on; else the mean of a class, else the median of all."""
    dice = Random(seed)
    months = dice.choice([1, 3, 4])
    days = ["202010", "202011", "202012", "202101"]
    views: dict[int, list[int]] = {}
    items = {"new": range(1, 9), "old": range(5, 14)}
    entities = {
        side: [
            entity(item, None, title=dice.choice([None, f"Item {item}", "Item 3"]))
            | {"sitelinks": dice.choice([None, 0, 4])}
            | {"classes": dice.choice([[], [100], [100, 101], [101, 101], [102]])}
            for item in ids
        ]
        for side, ids in items.items()
    }
    known = {row["id"]: row for side in ("old", "new") for row in entities[side]}
    folder = tmp_path / "views"
    folder.mkdir()
    titles = sorted({row["title"] for row in known.values() if row["title"] and row["title"] != "Item 9"})
    for position, month in enumerate(days[-months:]):
        lines = []
        for title in titles:
            for access in ("desktop", "mobile-web"):
                count = dice.choice([None, 0, 1, 7])
                if count is not None:
                    lines.append(f"en.wikipedia {title.replace(' ', '_')} 7 {access} {count} A{count}")
                    for item, row in known.items():
                        if row["title"] == title:
                            views.setdefault(item, [0] * months)[position] += count
        text = "".join(f"{line}\n" for line in lines)
        (folder / f"pageviews-{month}-user.bz2").write_bytes(bz2.compress(text.encode()))
    tables = {side: written(tmp_path / f"{side}.parquet", ENTITIES, rows) for side, rows in entities.items()}

    def run(pageviews: str) -> list[tuple[Any, ...]]:
        output = tmp_path / "popularity.parquet"
        how = {"pageviews": pageviews, "date": date(2021, 2, 1), "months": months}
        Popularity(new=(tables["new"],), old=(tables["old"],), **how, output=output).run()
        return [tuple(row.values()) for row in pq.read_table(output).to_pylist()]

    links = {item: known[item]["sitelinks"] or 0 for item in sorted(known)}
    rates = {item: round(math.log(1 + count), 9) for item, count in links.items()}
    assert run("none") == [(item, rate, "sitelinks") for item, rate in rates.items()]
    recorded = {}
    for item, counts in views.items():
        while counts and not counts[0]:
            counts = counts[1:]
        if counts:
            recorded[item] = round(math.log(1 + median(counts)), 9)
    if not recorded:
        return
    wanted = []
    for item in sorted(known):
        means = []
        for class_ in known[item]["classes"]:
            members = [each for each, row in known.items() if class_ in row["classes"] and each in recorded]
            means += [sum(recorded[each] for each in members) / len(members)] if members else []
        value, source = recorded.get(item), "pageviews"
        if value is None:
            value = max(means, default=median(recorded.values()))
            source = "class_mean" if means else "global_median"
        wanted.append((item, pytest.approx(value, abs=2e-9), source))
    assert run(str(folder)) == wanted
