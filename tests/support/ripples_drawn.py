"""A small drawn world whose updates have probes of every criterion, as the tables of the stages before."""

import calendar
import csv
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import schema_of, struct_of
from factdrift.core.paths import RESOURCES
from factdrift.core.tables import write_parquet
from factdrift.ripples.jobs import Facts, Named, Probes
from factdrift.verbalize.templates import TEMPLATES
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS
from support.worlds import UNKNOWN, Date, Fact, World

T_OLD, T_NEW = ("2021-01-04", "2021-01-31", "2021-02-01"), "2023-02-27"
SUBJECTS = range(1, 31)
ITEMS = SUBJECTS[:26]
"""Those that are values, and have updates; the others are neighbours, or lead to them."""
RELATIONS = (6, 17, 26, 36, 54, 108, 118, 169, 488, 102, 569, 1376)
UPDATED = (6, 26, 36, 54, 169, 488)
DAYS = (
    *[None] * 4,
    UNKNOWN,
    "2010",
    "2018-05",
    "2020-11-17",
    "2020-11-30",
    *T_OLD,
    "2021-02",
    "2021",
    "2022-03-01",
    "2022-03-31",
    T_NEW,
    "2023",
)
MONTHS = list(calendar.month_name)
SYLLABLES = ("Bax", "Dov", "Fim", "Gur", "Hep", "Jod", "Kul", "Lem", "Nid", "Pog", "Rus", "Tev", "Vam", "Zib")
ITEM = struct_of("id label decision old_statement new_statement: string")
NEAR = struct_of(
    ("subject", struct_of("id: string")),
    ("relation", struct_of("id: string")),
    ("objects", pa.list_(struct_of(("object", struct_of("id label: string")), "statement prompt: string"))),
)
DATASET = schema_of(
    ("subject", struct_of("id label: string")),
    ("relation", struct_of("id: string")),
    "scenario update_prompt: string, generalization_prompts: [string]",
    ("objects", pa.list_(ITEM)),
    ("neighborhood", pa.list_(NEAR)),
    ("random_neighborhood", pa.list_(NEAR)),
)
Row = dict[str, Any]


def table(name: str) -> list[dict[str, str]]:
    with (RESOURCES / name).open() as file:
        return list(
            csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t", quoting=3)
        )


PHRASES = {int(row["property"][1:]): row for row in table("words/noun_phrases.tsv")}
REVERSE = {int(row["property"][1:]): row for row in table("ripples/reverse.tsv")}
RULES = table("ripples/rules.tsv")
PAIRS = {(int(row[a][1:]), int(row[b][1:])) for row in table("ripples/inverses.tsv")
         for a, b in (("first", "second"), ("second", "first"))}  # fmt: skip


def number(item: Row) -> int:
    return int(item["id"][1:])


def in_words(day: str) -> str:
    year, month, day = day.split("-")
    return f"{MONTHS[int(month)]} {int(day)}, {year}"


class Drawn:
    """Two dumps and the updates of a dataset that need not follow from them."""

    def __init__(self, seed: int) -> None:
        dice = self.dice = Random(seed)
        self.t_old = T_OLD[seed % len(T_OLD)]
        self.labels = {item: dice.choice(SYLLABLES) + dice.choice(SYLLABLES[:5]).lower() for item in SUBJECTS}
        self.labels[7278] = "Parties"
        self.absent = {side: {item for item in SUBJECTS if dice.random() < 0.15} for side in ("old", "new")}
        nowhere = self.absent["old"] & self.absent["new"]
        self.supplied = {item for item in sorted(nowhere) if dice.random() < 0.5}
        self.unnamed = nowhere - self.supplied
        self.former = {
            item: f"{label}{dice.choice(('sson', 'sson East', 'ssonia'))}"
            for item, label in self.labels.items()
            if item not in self.absent["old"] | self.absent["new"] and dice.random() < 0.2
        }
        self.aliases = {
            item: [] if item in nowhere else [f"{label}sson"] for item, label in self.labels.items()
        }
        self.likes = {side: {item: dice.randrange(3) for item in self.labels} for side in ("old", "new")}
        self.old: list[Fact] = []
        self.new: list[Fact] = []
        for subject in SUBJECTS:
            for relation in RELATIONS:
                for serial in range(dice.choice((0, 1, 1, 1, 2, 3 if relation in UPDATED else 1))):
                    self._state(subject, relation, serial)
            for facts in (self.old, self.new):
                if dice.random() < 0.5:
                    facts.append(Fact(subject, 31, 7278, id=f"Q{subject}$P31"))
            if dice.random() < 0.1:
                self.new.append(Fact(subject, 570, Date("2022-01-01"), id=f"Q{subject}$P570"))
        self.dropped = {
            (side, fact.id): dice.choice(("keep_latest", "restrictive_qualifier"))
            for side, facts in (("old", self.old), ("new", self.new))
            for fact in facts
            if dice.random() < 0.05
        }
        stated = sorted({(fact.s, fact.p) for fact in self.old + self.new})
        groups = [
            (subject, relation) for subject, relation in stated if subject in ITEMS and relation in UPDATED
        ]
        self.rows = [row for group in groups if (row := self._update(*group)) is not None]
        self.groups = {(number(row["subject"]), number(row["relation"])) for row in self.rows}
        self.chosen = {group for group in sorted(self.groups) if dice.random() < 0.9}
        """Those whose replacements are in WFD_repl."""
        self.bucket, self.buckets = ((0, 1), (0, 2), (1, 2))[seed // 2 % 3]
        for row in self.rows:
            subject, relation = number(row["subject"]), number(row["relation"])
            if (relation, row["scenario"]) == (54, "ReplaceObject"):
                self._leagues(subject, *map(number, row["objects"]))
            for second in sorted(second for first, second in PAIRS if first == relation):
                item = number(row["objects"][0])
                if dice.random() < 0.4:  # beside what is stated of it
                    self.new.append(Fact(item, second, subject, id=f"Q{item}$P{second}-Q{subject}"))

    def _state(self, subject: int, relation: int, serial: int) -> None:
        dice = self.dice
        value: Any = dice.choice([each for each in ITEMS if 0 < abs(each - subject) < 5])
        before = [fact.o for fact in self.old if (fact.s, fact.p) == (subject, relation)]
        if before and dice.random() < 0.4:
            value = before[0]  # a second term
        if relation == 569:
            value = Date(f"19{dice.randrange(10, 99)}-0{dice.randrange(1, 10)}-1{dice.randrange(10)}")
        start, end = dice.choice(DAYS), dice.choice(DAYS)
        rank = dice.choice(("normal",) * 8 + ("preferred", "deprecated"))
        ended = dice.choice(DAYS) if dice.random() < 0.3 else None
        fact = Fact(subject, relation, value, start, ended, None, rank, id=f"Q{subject}$P{relation}-{serial}")
        both = dice.random()
        if both < 0.85:
            self.old.append(fact)
        if both > 0.1:
            self.new.append(Fact(**{**vars(fact), "end": end if dice.random() < 0.4 else ended}))

    def _leagues(self, player: int, *clubs: int) -> None:
        """One league of each club, of which some are in one dump only, and none of the player."""
        for facts in (self.old, self.new):
            facts[:] = [fact for fact in facts if fact.p != 118 or fact.s not in (player, *clubs)]
        for club in clubs:
            league = Fact(club, 118, self.dice.choice(ITEMS), id=f"Q{club}$P118-0")
            for facts in self.dice.choice(
                ((self.old, self.new), (self.old, self.new), (self.old,), (self.new,))
            ):
                facts.append(league)

    def _update(self, subject: int, relation: int) -> Row | None:
        dice = self.dice
        sides = [
            [f for f in facts if (f.s, f.p) == (subject, relation) and f.rank != "deprecated"]
            for facts in (self.old, self.new)
        ]
        news = [f for f in sides[1] if all(f.o != g.o for g in sides[0])] or sides[1]
        if not sides[0] or not news:
            return None
        gone, added = dice.choice(sides[0]), dice.choice(news)
        if gone.o == added.o or dice.random() < 0.25:
            others = [f for f in sides[1] if f.o != gone.o]
            decided = [(gone, "static"), *((f, "new") for f in others)] if dice.random() < 0.6 else [
                (gone, "obsolete"), *((f, "static") for f in others)]  # fmt: skip
            scenario = "AddObject"
        else:
            decided, scenario = [(added, "new"), (gone, "obsolete")], "ReplaceObject"
            others = [f for f in sides[1] if f.o not in (gone.o, added.o)]
            if others and dice.random() < 0.4:
                decided, scenario = [*decided, (others[0], "static")], "Other"
            elif subject % 3 == 0:
                decided, scenario = [(added, "new")], "AddEntity"
        if len({fact.o for fact, _ in decided}) < len(decided):
            return None
        near = [
            [self._near(dice.choice(self.old)) for _ in range(2)] if dice.random() < 0.9 else None
            for _ in range(2)
        ]
        return {
            "subject": {"id": f"Q{subject}", "label": self.labels[subject]},
            "relation": {"id": f"P{relation}"},
            "scenario": scenario,
            "update_prompt": self.cloze(relation, self.labels[subject])[0],
            "generalization_prompts": [],
            "objects": [
                {
                    "id": f"Q{fact.o}",
                    "label": self.labels[fact.o],
                    "decision": decision,
                    "old_statement": fact.id if fact in sides[0] else None,
                    "new_statement": fact.id if fact in sides[1] else None,
                }
                for fact, decision in decided
            ],
            "neighborhood": near[0],
            "random_neighborhood": near[1],
        }

    def _near(self, fact: Fact) -> Row:
        label = self.labels[fact.o] if isinstance(fact.o, int) else in_words(fact.o.text)
        item = {"id": f"Q{fact.o}" if isinstance(fact.o, int) else None, "label": label}
        prompt = self.cloze(fact.p, self.labels[fact.s])[0]
        return {
            "subject": {"id": f"Q{fact.s}"},
            "relation": {"id": f"P{fact.p}"},
            "objects": [{"object": item, "statement": fact.id, "prompt": prompt}],
        }

    @staticmethod
    def cloze(relation: int, name: str) -> tuple[str, str, str]:
        asked = PHRASES.get(relation)
        question = f"{asked['wh']} is {asked['phrase'].replace('{x}', name)}?" if asked else ""
        return f"The r{relation} of {name} is ____", f"{name} has the r{relation} ____", question

    def probes(self, folder: Path) -> list[Row]:
        """What the stage makes of it, before the caps."""
        world = World(self.old, self.new, labels=self.labels)
        paths = {
            name: folder / f"{name}.parquet" for name in ("dataset", "groups", "templates", "properties")
        }
        write_parquet(pa.Table.from_pylist(self.rows, DATASET), paths["dataset"])
        whole = [{"subject": s, "property": p} for s, p in sorted(self.chosen)]
        write_parquet(pa.Table.from_pylist(whole, schema_of("subject property: int32")), paths["groups"])
        texts = [
            {"property": each, "rank": rank, "template": text.format(each), "source": source}
            for each in (*RELATIONS, 31, 39)
            for rank, (source, text) in enumerate(
                (
                    ("generic", "{{subject}} is related to {{object}}"),
                    ("file", "The r{} of {{subject}} is {{object}}"),
                    ("file", "{{subject}} has the r{} {{object}}"),
                )
            )
        ]
        write_parquet(pa.Table.from_pylist(texts, TEMPLATES), paths["templates"])
        write_parquet(PROPERTIES.empty_table(), paths["properties"])
        for side in ("old", "new"):
            tables = world.tables(side)
            schema = schema_of(*STATEMENTS, "dropped_by: string")
            marked = [
                row | {"dropped_by": self.dropped.get((side, row["statement"]))}
                for row in tables["statements"]
            ]
            write_parquet(pa.Table.from_pylist(marked, schema), folder / f"{side}.parquet")
            entities = [
                row | {"aliases": self.aliases[row["id"]], "sitelinks": self.likes[side][row["id"]]}
                | ({"label": self.former[row["id"]]} if side == "old" and row["id"] in self.former else {})
                for row in tables["entities"]
                if row["id"] not in self.absent[side]
            ]  # fmt: skip
            write_parquet(pa.Table.from_pylist(entities, ENTITIES), folder / f"{side}-entities.parquet")
        days = {"old_date": self.t_old, "new_date": T_NEW}
        made = {
            name: folder / f"made-{name}"
            for name in ("facts", "stated", "gone", "names", "shared", "probes", "left")
        }
        entities = {f"{side}_entities": (folder / f"{side}-entities.parquet",) for side in ("old", "new")}
        run(Facts, dataset=paths["dataset"], old=folder / "old.parquet", new=folder / "new.parquet",
            entities=folder / "new-entities.parquet", **days, gone=("P570",), seed=0,
            output=made["facts"], out_stated=made["stated"], out_gone=made["gone"])  # fmt: skip
        names = "".join(f"Q{item}\t{self.labels[item]}\n" for item in sorted(self.supplied))
        (folder / "labels.tsv").write_text(f"id\tlabel\n{names}")
        run(Named, dataset=paths["dataset"], groups=paths["groups"], facts=(made["facts"],), seed=0,
            labels=(folder / "labels.tsv",), **entities,
            output=made["names"], out_shared=made["shared"])  # fmt: skip
        run(Probes, dataset=paths["dataset"], groups=paths["groups"], facts=(made["facts"],),
            stated=(made["stated"],), gone=(made["gone"],), names=made["names"], shared=made["shared"],
            properties=paths["properties"], templates=paths["templates"],
            bucket=f"{self.bucket}-of-{self.buckets}", **days, seed=0,
            output=made["probes"], out_dropped=made["left"])  # fmt: skip
        return pq.read_table(made["probes"]).to_pylist()


def run(job: Any, **options: Any) -> None:
    import datetime

    for name in ("old_date", "new_date"):
        if name in options:
            options[name] = datetime.date.fromisoformat(options[name])
    job(**options).run()
