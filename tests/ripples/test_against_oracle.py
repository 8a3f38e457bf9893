"""All probes of small drawn worlds against a plain second reading of what the two dumps state."""

from __future__ import annotations

import calendar
import csv
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support import audit_dumps
from support.examples import examples
from support.worlds import UNKNOWN, Date, Fact, World, time_of

from factdrift.audit.of_ripples import check_probe
from factdrift.core.columns import schema_of, struct_of
from factdrift.core.paths import RESOURCES
from factdrift.core.tables import write_parquet
from factdrift.ripples.jobs import Facts, Named, Probes
from factdrift.verbalize.templates import TEMPLATES
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS

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


def number(item: Row) -> int:
    return int(item["id"][1:])


def in_words(day: str) -> str:
    year, month, day = day.split("-")
    return f"{MONTHS[int(month)]} {int(day)}, {year}"


def key_of(fact: Fact) -> str:
    return str(fact.row(0, 0, 0)["key"])


def days(moment: Any) -> tuple[int, int] | None:
    return None if moment in (None, UNKNOWN) else (time_of(moment)["first"], time_of(moment)["last"])


class Oracle:
    """What must be asked, by loops over the statements of both dumps."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.sides = {"old": drawn.old, "new": drawn.new}
        self.t_old, self.t_new = (time_of(day)["first"] for day in (drawn.t_old, T_NEW))
        self.dead = {fact.s for fact in drawn.new if fact.p == 570}
        self.groups: dict[tuple[str, int, int], list[Fact]] = defaultdict(list)
        for side, facts in self.sides.items():
            for fact in facts:
                self.groups[side, fact.s, fact.p].append(fact)

    def held(self, side: str, subject: int, relation: int) -> dict[str, list[Fact]]:
        """Value -> the statements of best rank that hold at the date of a dump."""
        day = self.t_old if side == "old" else self.t_new
        group = [f for f in self.groups[side, subject, relation] if f.rank != "deprecated"]
        best = [f for f in group if f.rank == "preferred"] or group
        found = defaultdict(list)
        for fact in best:
            start, end = days(fact.start), days(fact.end)
            if fact.end != UNKNOWN and not (end and end[0] <= day) and not (start and start[1] > day):
                found[key_of(fact)].append(fact)
        return dict(sorted(found.items()))

    def stated(self, side: str, facts: list[Fact]) -> str | None:
        """The first statement that no filter drops."""
        return min((f.id for f in facts if (side, f.id) not in self.drawn.dropped), default=None)

    def only(self, subject: int, relation: int) -> tuple[Any, str, str] | None:
        """The only value at both dates, with its statements."""
        old, new = (self.held(side, subject, relation) for side in ("old", "new"))
        if len(old) != 1 or list(old) != list(new):
            return None
        (key,) = old
        ids = self.stated("old", old[key]), self.stated("new", new[key])
        return (old[key][0].o, *ids) if all(ids) else None

    def items(self, side: str, subject: int, relation: int) -> set[int]:
        return {
            each[0].o for each in self.held(side, subject, relation).values() if isinstance(each[0].o, int)
        }

    def called(self, value: Any) -> Row:
        if isinstance(value, int):
            return {"id": f"Q{value}", "label": self.label(value), "aliases": self.drawn.aliases[value]}
        return {"id": None, "label": in_words(value.text), "aliases": []}

    def label(self, item: int) -> str:
        return self.drawn.labels[item]

    def is_ambiguous(self, item: int) -> bool:
        named = {f.s for f in self.drawn.new} | {f.o for f in self.drawn.new if isinstance(f.o, int)}
        named |= {f.s for f in self.drawn.old} | {f.o for f in self.drawn.old if isinstance(f.o, int)}
        likes, absent = self.drawn.likes["new"], self.drawn.absent["new"]
        return item not in absent and any(
            other != item and self.label(other) == self.label(item) and likes[other] >= likes[item]
            for other in named - absent
        )

    def named(self, *items: Any) -> bool:
        return self.drawn.unnamed.isdisjoint(item for item in items if isinstance(item, int))

    def all_called(self, items: Any) -> list[Row]:
        """Those of some values that have a name."""
        return [self.called(item) for item in items if self.named(item)]

    def is_chosen(self, row: Row) -> bool:
        group = number(row["subject"]), number(row["relation"])
        return row["scenario"] != "ReplaceObject" or group in self.drawn.chosen

    def probes(self) -> list[Row]:
        found = []
        for row in self.drawn.rows:
            if number(row["subject"]) % self.drawn.buckets != self.drawn.bucket or not self.is_chosen(row):
                continue
            prompts: set[str] = set()
            for probe in self.candidates(row):
                words = {word.strip(",?") for text in probe["sentences"][:2] for word in text.split()}
                names = {name for one in probe["answers"] for name in (one["label"], *one["aliases"])}
                right = {one["label"] for one in probe["answers"]}
                stays = probe["criterion"] in ("preserve", "specific", "history_old", "neighbor")
                same = not stays and any(one["label"] in right for one in probe["stale"])
                prompt = probe["sentences"][0]
                if probe["asked"][0] in self.dead or not names.isdisjoint(words) or same or prompt in prompts:
                    continue
                prompts.add(prompt)
                probe["must_change"] = False if stays else probe.pop("proven") or None
                probe.pop("proven", None)
                found.append(probe)
        return found

    def candidates(self, row: Row) -> Any:
        s, r = number(row["subject"]), number(row["relation"])
        cloze, before = self.drawn.cloze, self.held("old", s, r)
        by = {
            decision: [o for o in row["objects"] if o["decision"] == decision]
            for decision in ("new", "obsolete")
        }

        def probe(
            criterion: str, asked: tuple[int, int], sentences: Any, answers: list[Any], **more: Any
        ) -> Row:
            made = {"update": f"Q{s}-P{r}", "criterion": criterion, "kind": None, "asked": asked}
            made |= {"sentences": tuple(sentences), "answers": [*map(self.called, answers)], "stale": []}
            return made | {"conditions": [], "proven": bool(before)} | more

        if row["scenario"] != "ReplaceObject":
            yield from self.preserved(row, s, r, by["new"], probe)
            return
        new, old = number(by["new"][0]), number(by["obsolete"][0])
        gone = [self.called(old)]
        for alias in self.drawn.aliases[s]:
            subjects = {number(each["subject"]) for each in self.drawn.rows if self.is_chosen(each)}
            subjects -= self.drawn.absent["new"]
            once = f"{self.drawn.former.get(s)} ".startswith(f"{alias} ")
            if sum(alias in self.drawn.aliases[each] for each in subjects) < 2 and not once:
                yield probe("alias", (s, r), cloze(r, alias), [new], stale=gone)
        derived = {(new, second) for first, second in PAIRS if first == r}
        for second in sorted(second for first, second in PAIRS if first == r):
            now, then = (self.items(side, new, second) for side in ("new", "old"))
            known = self.named(new, s) and not self.is_ambiguous(new)
            if len(now) < 2 and now <= {s} and s not in then and known:
                stale = self.all_called(sorted(then))
                kind = "symmetric" if second == r else "inverse"
                yield probe("logical", (new, second), cloze(second, self.label(new)), [s], kind=kind,
                            stale=stale, proven=bool(before or then))  # fmt: skip
        for rule in RULES:
            for asked, answer, step, more in self.concluded(rule, s, r, new, old):
                derived.add(asked)
                now, then = (self.items(side, *asked) for side in ("new", "old"))
                ambiguous = asked[0] != s and self.is_ambiguous(asked[0])
                known = self.named(*asked[:1], answer) and None not in step and not ambiguous
                if len(now) < 2 and now <= {answer} and answer not in then and known:
                    stale = self.all_called([*sorted(then), *more])
                    said = cloze(asked[1], self.label(asked[0]))
                    yield probe("logical", asked, said, [answer], kind="rule", stale=stale,
                                proven=bool(then or more), conditions=step)  # fmt: skip
        if r in REVERSE:
            derived.add((new, r))
            now, then = ({x for x in SUBJECTS if new in self.items(side, x, r)} for side in ("new", "old"))
            if now <= {s} and s not in then and self.named(new, s) and not self.is_ambiguous(new):
                texts = (REVERSE[r]["sentence"], REVERSE[r]["rewording"])
                said = [t.replace("{object}", self.label(new)).replace("{subject}", "____") for t in texts]
                stale = self.all_called(sorted(then))
                yield probe("logical", (new, r), (*said, ""), [s], kind="reverse", stale=stale,
                            proven=bool(before or then))  # fmt: skip
        for second in sorted({fact.p for fact in self.drawn.old + self.drawn.new if fact.s == new}):
            if second in PHRASES and (only := self.only(new, second)):
                then, now = (self.held(side, old, second) for side in ("old", "new"))
                if not self.named(s, new, only[0]):
                    continue
                stale = self.all_called(facts[0].o for _, facts in sorted({**now, **then}.items()))
                said, conditions = composed((r, second), self.label(s)), [self.condition(new, second)]
                yield probe("compose_object", (new, second), said, [only[0]], stale=stale,
                            proven=bool(then), conditions=conditions)  # fmt: skip
        for first in sorted(PHRASES.keys() & {*RELATIONS}):
            for x in SUBJECTS:
                only = self.only(x, first)
                known = self.named(s, x) and not self.is_ambiguous(x)
                if only and only[0] == s and x not in (s, *self.dead) and known:
                    said, conditions = composed((first, r), self.label(x)), [self.condition(x, first)]
                    yield probe("compose_subject", (s, r), said, [new], stale=gone, conditions=conditions)
        for other in sorted({fact.p for fact in self.drawn.old + self.drawn.new if fact.s == s} - {r, 31}):
            only = self.only(s, other)
            known = only and self.named(s, only[0])
            if only and known and only[0] != new and (s, other) not in self.drawn.groups | derived:
                yield probe("specific", (s, other), cloze(other, self.label(s)), [only[0]],
                            conditions=[self.condition(s, other)])  # fmt: skip
        if self.named(s):
            yield from self.history(s, r, new, old, probe)
        for kind, facts in (("nearest", row["neighborhood"]), ("random", row["random_neighborhood"])):
            for near in facts or ():
                group, value = (number(near["subject"]), number(near["relation"])), near["objects"][0]
                only, named = self.only(*group), value["object"]
                if only is None or group in self.drawn.groups | derived or named["label"] == self.label(new):
                    continue
                if named["id"] == f"Q{only[0]}" or (named["id"] is None and value["statement"] == only[1]):
                    said = (value["prompt"], "", "")
                    yield probe(
                        "neighbor", group, said, [only[0]], kind=kind, conditions=[self.condition(*group)]
                    )

    def condition(self, subject: int, relation: int) -> Row:
        """That the only value of a group held at T_old."""
        value, statement, _ = self.only(subject, relation) or (None, "", "")
        fact = (f"Q{subject}", f"P{relation}", f"Q{value}" if isinstance(value, int) else None, statement)
        prompt = self.drawn.cloze(relation, self.label(subject))[0]
        return {"prompt": prompt, "answers": [self.called(value)], "fact": fact}

    def concluded(self, rule: Row, s: int, r: int, new: int, old: int) -> Any:
        if rule["relation"] != f"P{r}":
            return
        names, steps, more = {"s": s, "o": new}, [], []
        if rule["premise"]:
            about, relation, wanted = rule["premise"].split()
            subject, relation = names[about], int(relation[1:])
            if wanted == "z":
                if len(self.items("new", subject, relation)) != 1 or not self.only(subject, relation):
                    return
                names["z"] = self.only(subject, relation)[0]
                then = self.items("old", old if about == "o" else s, relation)
                more = list(then) if len(then) == 1 and rule["conclusion"].startswith("s") else []
                known = self.named(subject, names["z"])
                steps = [self.condition(subject, relation) if known else None]
            else:
                facts = [self.held(side, subject, relation).get(wanted, []) for side in ("old", "new")]
                ids = [self.stated(side, each) for side, each in zip(("old", "new"), facts, strict=True)]
                if not all(ids):
                    return
                prompt = self.drawn.cloze(relation, self.label(subject))[0]
                fact = (f"Q{subject}", f"P{relation}", wanted, ids[0])
                step = {"prompt": prompt, "answers": [self.called(int(wanted[1:]))], "fact": fact}
                steps = [step if self.named(subject) else None]
        subject, relation, answer = rule["conclusion"].split()
        yield (names[subject], int(relation[1:])), names[answer], steps, more

    def preserved(self, row: Row, s: int, r: int, added: list[Row], probe: Any) -> Any:
        if (
            "static" not in {each["decision"] for each in row["objects"]}
            or len({each["decision"] for each in row["objects"]}) == 1
        ):
            return
        old, new = self.held("old", s, r), self.held("new", s, r)
        right = {k: f for k, f in new.items() if self.stated("new", f) and k not in {o["id"] for o in added}}
        kept = {k: f for k, f in right.items() if self.stated("old", old.get(k, []))}
        if not kept or not self.named(s, *(facts[0].o for facts in right.values())):
            return
        prompt, rewording, _ = self.drawn.cloze(r, self.label(s))
        sentences = (rewording, "", "")
        if added:
            names = [each["label"] for each in added]
            listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
            sentences = (
                f"Besides {listed}, {prompt[0].lower()}{prompt[1:]}",
                f"Besides {listed}, {rewording}",
                "",
            )
        first = next(iter(kept))
        fact = (f"Q{s}", f"P{r}", first, self.stated("old", old[first]))
        answers = [self.called(facts[0].o) for facts in kept.values()]
        conditions = [{"prompt": prompt, "answers": answers, "fact": fact}]
        yield probe("preserve", (s, r), sentences, [f[0].o for f in right.values()], conditions=conditions)

    def history(self, s: int, r: int, new: int, old: int, probe: Any) -> Any:
        kept = self.held("old", s, r).get(f"Q{old}", [])
        only = self.stated("old", kept)
        if only and (said := self.month("history_old", s, r, old, old, new, only)):
            fact = (f"Q{s}", f"P{r}", f"Q{old}", only)
            conditions = [{"prompt": said[0], "answers": [self.called(old)], "fact": fact}]
            yield probe("history_old", (s, r), said, [old], conditions=conditions)
        if said := self.month("history_new", s, r, new, old, new, None):
            yield probe("history_new", (s, r), said, [new], stale=[self.called(old)])

    def month(
        self, criterion: str, s: int, r: int, held: int, old: int, new: int, only: str | None
    ) -> tuple[str, str, str] | None:
        """The sentences of the drawn one of the months of which it is certain who held."""
        own = {side: [f for f in facts if (f.s, f.p) == (s, r) and f.rank != "deprecated"]
               for side, facts in self.sides.items()}  # fmt: skip
        known = [("new", f) for f in own["new"]]
        known += [("old", f) for f in own["old"] if f.id not in {g.id for g in own["new"]}]
        begun = [days(f.start)[1] for _, f in known if f.o == new and days(f.start)]
        handover = min(begun, default=self.t_new)
        said = {}
        for year in range(2009, 2024):
            for month in range(1, 13):
                first = year * 10_000 + month * 100 + 1
                last = first - 1 + calendar.monthrange(year, month)[1]
                if not (last < self.t_old if held == old else first > self.t_old and last <= self.t_new):
                    continue
                certain = possible = False
                for side, fact in known:
                    start, end = days(fact.start), days(fact.end)
                    if fact.o == held:
                        sound = self.drawn.dropped.get((side, fact.id)) in (None, "keep_latest")
                        until = end[0] if end else self.t_new
                        if not end and (held == old or side == "old"):
                            until = self.t_old if fact.id in {f.id for f in own["old"]} else 0
                        fits = start is not None and UNKNOWN not in (fact.start, fact.end) and sound
                        certain |= fits and only in (None, fact.id) and start[1] <= first and last <= until
                    else:
                        ends = end[1] if end else handover if fact.o == old else 10**9
                        possible |= (start[0] if start else 0) <= last and first <= ends
                if certain and not possible:
                    draw = f"0:{criterion}:Q{s}-P{r}:{year}-{month:02d}"
                    when, label = f"In {MONTHS[month]} {year}", self.label(s)
                    texts = f"{when}, the r{r} of {label} was ____", f"{when}, {label} had the r{r} ____", ""
                    said[hashlib.sha256(draw.encode()).digest()] = texts
        return said[min(said)] if said else None


def composed(relations: tuple[int, int], name: str) -> tuple[str, str, str]:
    for relation in relations:
        name = PHRASES[relation]["phrase"].replace("{x}", name)
    return f"{name[0].upper()}{name[1:]} is ____", "", f"{PHRASES[relations[1]]['wh']} is {name}?"


def shown(row: Row) -> Row:
    """A probe of the stage in the terms of the oracle."""
    sentences = tuple(row[name] or "" for name in ("prompt", "rewording", "question"))
    conditions = [
        {
            "prompt": each["prompt"],
            "answers": each["answers"],
            "fact": tuple(each["step"][name] for name in ("subject", "relation", "object", "statement")),
        }
        for each in row["conditions"]
    ]
    assert all(each["step"]["dump"] == "old" for each in row["conditions"])
    asked = (int(row["asked_subject"][1:]), int(row["asked_relation"][1:]))
    same = {name: row[name] for name in ("update", "criterion", "kind", "answers", "stale", "must_change")}
    return {**same, "asked": asked, "sentences": sentences, "conditions": conditions}


def popularity(drawn: Drawn, due: Row) -> int:
    """The sitelinks of what makes a probe easy: its answer, its first subject, or a neighbour's subject."""
    items = {
        "compose_object": due["answers"][0]["id"],
        "specific": due["answers"][0]["id"],
        "compose_subject": due["conditions"][0]["fact"][0] if due["conditions"] else None,
        "neighbor": f"Q{due['asked'][0]}",
    }
    item = int((items.get(due["criterion"]) or "Q0")[1:])
    # Of the subjects that lead to others those of the new dump count.
    sides = ("new",) if due["criterion"] == "compose_subject" else ("new", "old")
    known = [drawn.likes[side][item] for side in sides if item and item not in drawn.absent[side]]
    return next(iter(known), 0)


@pytest.mark.parametrize("seed", range(examples(24)))
def test_stage_and_oracle_agree(seed: int, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    wanted = Oracle(drawn).probes()
    rows = drawn.probes(tmp_path)
    made = [shown(row) for row in rows]
    for due, probe, row in zip(wanted, made, rows, strict=False):
        assert row["popularity"] == popularity(drawn, due)
        month = row["date"] and f"In {MONTHS[int(row['date'][5:])]} {row['date'][:4]}, "
        assert row["prompt"].startswith(month or "")
        assert bool(month) == row["criterion"].startswith("history")
        assert probe == due
    assert len(made) == len(wanted)
    audited(drawn, rows, tmp_path)


def audited(drawn: Drawn, rows: list[Row], folder: Path) -> None:
    """The audit finds nothing in the probes, and each fault that is planted into one of every kind."""
    dumps = dumps_of(drawn, folder)
    updates = {f"{row['subject']['id']}-{row['relation']['id']}": row for row in drawn.rows}
    # No dataset has an object whose statement is dropped, nor one that is new and was stated before.
    odd = {"-".join(name.split("-")[0].split("$")) for _, name in drawn.dropped}
    odd |= {row["update"] for row in rows for step in row["path"][:1]
            if (row["criterion"], step["dump"]) == ("history_new", "old")}  # fmt: skip
    rows = [row for row in rows if row["update"] not in odd]

    def failed(row: Row) -> list[str]:
        findings = check_probe(row, updates[row["update"]], dumps)
        # The sentences of these templates are not the bundled ones.
        return [reason for kind, outcome, reason in findings if outcome == "failed" and kind != "prompt"]

    assert [reason for row in rows for reason in failed(row)] == []
    unnamed = {f"Q{item}" for item in drawn.unnamed}
    for row in {
        (row["criterion"], row["kind"], len(row["stale"])): row
        for row in rows
        if unnamed.isdisjoint(answer["id"] for answer in row["answers"])
    }.values():
        assert [name for name, plant in plants(row) if not failed(plant)] == []


def dumps_of(drawn: Drawn, folder: Path) -> Any:
    """The drawn dumps as the audit reads them, line by line."""

    def moment(text: str) -> Any:
        parts = [*text.split("-"), "00", "00"][:3]
        return "somevalue" if text == UNKNOWN else audit_dumps.time("-".join(parts), 9 + text.count("-"))

    sides = []
    for side, facts in (("old", drawn.old), ("new", drawn.new)):
        stated = defaultdict(list)
        for fact in facts:
            value = audit_dumps.item(f"Q{fact.o}") if isinstance(fact.o, int) else moment(fact.o.text)
            dated = {key: moment(text) for key, text in (("P580", fact.start), ("P582", fact.end)) if text}
            stated[fact.s].append(audit_dumps.statement(fact.id, f"P{fact.p}", value, fact.rank, **dated))
        lines = []
        for item, label in drawn.labels.items():
            called = drawn.former.get(item, label) if side == "old" else label
            line = audit_dumps.entity(f"Q{item}", called, *stated[item])
            line["aliases"] = {"en": [{"language": "en", "value": name} for name in drawn.aliases[item]]}
            lines.append(line | ({"labels": {}, "aliases": {}} if item in drawn.absent[side] else {}))
        sides.append(lines)
    for first, second in sorted(PAIRS):
        # One of two inverse properties names the other.
        other = {"type": "wikibase-entityid", "value": {"entity-type": "property", "id": f"P{second}"}}
        said = [audit_dumps.statement("P1", "P2302", audit_dumps.item("Q21510862"))] if first == second else (
            [audit_dumps.statement("P1", "P1696", other)] if first < second else [])  # fmt: skip
        sides[1].append(audit_dumps.entity(f"P{first}", "relation", *said))
    supplied = {f"Q{item}": drawn.labels[item] for item in drawn.supplied}
    read = audit_dumps.dumps(folder, *sides, supplied=supplied)
    return read._replace(t_old=tuple(map(int, drawn.t_old.split("-"))))


def plants(row: Row) -> Iterator[tuple[str, Row]]:
    """What is wrong, and a probe of which it is."""
    nobody: Row = {"id": "Q77", "label": "Nobody", "aliases": ["Nobody"]}
    wrong = {"statement": "Q1$x", "object": "Q77", "subject": "Q77", "relation": "P77"}
    first, path, conditions = row["answers"][0], row["path"], row["conditions"]
    for name, value in nobody.items():
        yield f"answer's {name}", row | {"answers": [first | {name: value}, *row["answers"][1:]]}
    yield "another answer", row | {"answers": [*row["answers"], nobody]}
    for place, step in enumerate(path):
        for name, value in (*wrong.items(), ("dump", "old" if step["dump"] == "new" else "new")):
            yield (
                f"{name} of a step",
                row | {"path": [*path[:place], step | {name: value}, *path[place + 1 :]]},
            )
    if row["criterion"] != "preserve":
        yield "another step", row | {"path": [*path, path[0]]}
    for name in ("asked_subject", "asked_relation"):
        yield name, row | {name: f"{row[name][0]}77"}
    yield "another stale", row | {"stale": [*row["stale"], nobody]}
    if row["stale"] and row["kind"] != "reverse":
        yield "fewer stale", row | {"stale": row["stale"][1:]}
    yield "must_change", row | {"must_change": not row["must_change"]}
    for date in ("1990-01", "2024-01", None):
        if date or row["date"]:
            yield f"the date {date}", row | {"date": date}
    for step in [conditions[0]["step"]] if conditions else []:
        for name, value in (*wrong.items(), ("dump", "new")):
            yield (
                f"{name} of a condition",
                row | {"conditions": [conditions[0] | {"step": step | {name: value}}]},
            )
        for given in ([], [nobody], [conditions[0]["answers"][0] | {"label": "Nobody"}]):
            yield f"answers {given}", row | {"conditions": [conditions[0] | {"answers": given}]}
    more: Row = {"prompt": row["prompt"], "answers": row["answers"], "step": path[0] | {"dump": "old"}}
    yield "a condition", row | {"conditions": [] if conditions else [more]}
    yield "conditions twice", row | {"conditions": 2 * (conditions or [more])}
    yield "probe_id", row | {"probe_id": "0"}
    yield "scenario", row | {"scenario": "none"}
    yield "named answer", row | {"prompt": f"{first['label']} {row['prompt']}"}
