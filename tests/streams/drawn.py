"""Random small sequences of dumps, and what the stage makes of them."""

import copy
import datetime
from itertools import product
from pathlib import Path
from random import Random
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from support.tables import written
from support.worlds import UNKNOWN, Date, Fact, Moment, World, time_of

from factdrift.streams import jobs
from factdrift.tempripple.table_source import make_rows
from factdrift.updates.classify import UPDATES
from factdrift.updates.filters import FILTERED

Row = dict[str, Any]
DATES = [datetime.date.fromisoformat(day) for day in ("2015-01-01", "2017-01-01", "2019-01-01", "2021-01-04")]
DAYS = [day.year * 10_000 + day.month * 100 + day.day for day in DATES]
MAYOR, CLUB, WORD, DEATH, BIRTH = 6, 54, 1412, 570, 571
PROMPTS = {
    MAYOR: ("The mayor of {} is ____", "The mayor of {} was ____"),
    CLUB: ("{} plays for ____", "{} played for ____"),
    WORD: ("{} frobnicates ____", None),
    DEATH: ("{} died on ____", None),
}
SUBJECTS, VALUES = range(1, 9), range(600, 606)
NAMES = {600: "Ann", 601: "Bob", 602: "Cid", 603: "ann", 604: "Town", 605: "Eve F.C."}
NAMES |= {1: "Town", 2: "Old Town"}
ALIASES = {600: ["Annie"], 605: ["Cid", "EFC"]}
NAMELESS, SPORT = 602, 641
MOMENTS = [
    *("2012", "2014-06-01", "2015-01-02", "2016", "2017-01-01", "2017-01-02", "2018-03", "2019-01-01"),
    *("2019-07", "2020", "2021-01-04", "2022-05-05", "2010s", "2018-01-01/8", "-0044-03-15", "0003"),
    "2016-12-20 julian",
]
BOUNDS = ["2008", "2010-03-01", "2012-07", "2013", "2014-11-30", "2015-06-15", "2016-12", "2018-03-05"]
LABELS = {"F0": ["static", "new", "obsolete"], "F-": ["obsolete"] * 3 + ["static"], "F+": ["new", "static"]}
SEVERAL = [("2012", "2016"), ("2018-03", "2014-06-01"), ("2016", "2020"), ("2019-07", "2012", "2015-01-02")]


def any_moment(dice: Random) -> Moment:
    chance = dice.random()
    if chance < 0.55:
        return None
    return UNKNOWN if chance < 0.6 else dice.choice(SEVERAL if chance < 0.68 else MOMENTS)


class Drawn:
    """Statements of each dump with what drops them, and the triples of each interval with their labels."""

    def __init__(self, seed: int) -> None:
        dice = self.dice = Random(seed)
        self.dumps: list[list[Row]] = []
        current: dict[tuple[int, int, Any, bool], Fact] = {}
        groups = product(SUBJECTS, (MAYOR, CLUB, WORD))
        self.tenures = {group: self.successors() for group in groups if dice.random() < 0.7}
        for serial in range(len(DAYS)):
            for subject in SUBJECTS:
                for relation in (MAYOR, CLUB, WORD, DEATH):
                    for value, start, end in self.tenures.get((subject, relation), ()):
                        self.state(current, (subject, relation, value, False), start, end, serial)
                    times = dice.choice([1, 1, 2])
                    if (subject, relation) in self.tenures:
                        times = dice.random() < 0.1
                    for _ in range(times):
                        self.edit(current, subject, relation, serial)
            facts = sorted(current.values(), key=lambda fact: (fact.s, str(fact.id)))
            self.dumps.append([self.row(fact, place) for place, fact in enumerate(facts)])
        self.facts = list(current.values())
        self.born = [
            {"id": subject, "property": BIRTH, "created": time["last" if dice.random() < 0.2 else "written"]}
            for subject, time in ((subject, time_of(dice.choice(MOMENTS))) for subject in SUBJECTS[:3])
        ]
        self.births = [Fact(row["id"], BIRTH, Date(day)) for row in self.born for day in MOMENTS]
        self.triples = [self.interval(number) for number in range(1, len(DAYS))]

    def successors(self) -> list[tuple[int, str, str | None]]:
        """Values that held one after the other, each with its start and its end."""
        dice = self.dice
        bounds = sorted(dice.sample(BOUNDS, dice.choice([2, 3, 4, 5])))
        ends = [*bounds[1:], None if dice.random() < 0.8 else "2020-12-01"]
        return list(zip(dice.sample([*VALUES], len(bounds)), bounds, ends, strict=True))

    def state(
        self, current: Any, place: tuple[int, int, int, bool], start: str, end: str | None, serial: int
    ) -> None:
        """A statement of a value that held, as a dump has it: mostly from its start on, with a past end."""
        dice, day = self.dice, DATES[serial].isoformat()
        if start < day and dice.random() < 0.85:
            before = current.get(place)
            name = before.id if before and dice.random() < 0.9 else f"Q{place[0]}${dice.random():.6f}"
            given = None if dice.random() < 0.2 else start
            over = end if end and end < day and dice.random() < 0.9 else None
            rank = "preferred" if over is None and dice.random() < 0.15 else "normal"
            current[place] = Fact(*place[:3], given, over, rank=rank, id=name)
        elif dice.random() < 0.15:
            current.pop(place, None)

    def edit(
        self, current: dict[tuple[int, int, Any, bool], Fact], subject: int, relation: int, serial: int
    ) -> None:
        dice = self.dice
        value: Any = Date(dice.choice(MOMENTS)) if relation == DEATH else dice.choice([*VALUES, -5, "text"])
        place, fate = (subject, relation, value, dice.random() < 0.15), dice.random()
        if fate < 0.3:
            current.pop(place, None)
        elif fate < 0.85:
            same = current.get(place)
            name = same.id if same and dice.random() < 0.7 else f"Q{subject}${dice.random():.6f}"
            start = same.start if same and dice.random() < 0.6 else any_moment(dice)
            end = any_moment(dice) if dice.random() < 0.5 else None
            pit = dice.choice(MOMENTS) if dice.random() < 0.15 else None
            rank = dice.choice(["normal"] * 7 + ["preferred"] * 2 + ["deprecated"])
            odd = relation != DEATH and isinstance(value, int) and value > 604 and dice.random() < 0.5
            snak = "somevalue" if odd else "value"
            current[place] = Fact(*place[:3], start, end, pit, rank, id=name, snak=snak)

    def row(self, fact: Fact, place: int) -> Row:
        dropped = "rank" if fact.rank == "deprecated" else None
        if dropped is None and self.dice.random() < 0.15:
            dropped = self.dice.choice(["restrictive_qualifier", "keep_latest", "preferred", "object"])
        row = fact.row(place, 0, 1) | {"dropped_by": dropped, "pits": None}
        # Of several starts or ends one may be unknown.
        row["start_unknown"] |= self.dice.random() < 0.04
        row["end_unknown"] |= self.dice.random() < 0.04
        return row | ({"object": None, "key": None} if fact.snak != "value" else {})

    def interval(self, number: int) -> list[Row]:
        """The triples between two dumps, labelled at random."""
        dice = self.dice
        old, new = ([row for row in self.dumps[n] if row["dropped_by"] is None] for n in (number - 1, number))
        triples = []
        left = {(row["statement"], row["key"]): row for row in new if row["snak"] == "value"}
        named = [row for row in old if row["snak"] == "value"]
        pairs = [(row, left.pop((row["statement"], row["key"]), None)) for row in named]
        for before, after in [*pairs, *((None, row) for row in left.values())]:
            row = after or before
            assert row
            change = "F0" if before and after else "F-" if before else "F+"
            columns = ("subject", "property", "datatype", "object", "key", "time")
            triple = {name: row[name] for name in columns}
            triple |= {"change": change, "label": dice.choice(LABELS[change])}
            for side, stated in (("old", before), ("new", after)):
                for name in ("statement", "position", "start", "end", "pit"):
                    triple[f"{side}_{name}"] = stated and stated[name]
            rules = {DEATH: ["death", "death", "starts"]}.get(row["property"], ["new_subject", "starts"])
            triples.append(triple | {"rule": dice.choice(rules), "leaks": dice.random() < 0.08})
        for group in sorted({(row["subject"], row["property"]) for row in triples}):
            more = {"relation_is_temp_func": group[1] == MAYOR and dice.random() < 0.7}
            more["dropped_by"] = None if dice.random() < 0.75 else "unknown"
            mine = [row for row in triples if (row["subject"], row["property"]) == group]
            if all(row["label"] == "static" for row in mine):
                more["dropped_by"] = "static"
            for row in mine:
                row |= more
        return triples

    def before(self, dumps: int) -> Self:
        """The same without the dumps after the first ones."""
        early = copy.copy(self)
        early.dumps, early.triples = self.dumps[:dumps], self.triples[: dumps - 1]
        return early

    def chains(self, folder: Path) -> tuple[list[Row], list[Row]]:
        """The links and the timelines that the stage makes."""
        born = pa.schema([("id", pa.int32()), ("property", pa.int32()), ("created", pa.int64())])
        updates, entities, statements = [], [], []
        for number, rows in enumerate(self.dumps):
            births = [fact.row(900 + place, 0, 1) for place, fact in enumerate(self.births)]
            for place, birth in enumerate(births):
                birth |= {"rank": "deprecated" if place % 5 == 4 else "normal"}
            stated = rows + births[number:] + births[:number]
            statements.append(written(folder / f"statements{number}.parquet", FILTERED, stated))
        for number, triples in enumerate(self.triples):
            shuffled = self.dice.sample(triples, len(triples))
            updates.append(written(folder / f"updates{number}.parquet", UPDATES, shuffled))
            entities.append(written(folder / f"born{number}.parquet", born, self.born))
        given = {"updates": updates, "new_entities": entities, "statements": statements}
        given["dates"] = DATES[: len(self.dumps)]
        made = {"timelines": "timelines", "known": "known", "output": "chains"}
        outputs = {name: folder / f"{file}.parquet" for name, file in made.items()}
        jobs.Chains(**{name: tuple(values) for name, values in given.items()}, **outputs).run()
        return [pq.read_table(folder / f"{name}.parquet").to_pylist() for name in ("chains", "timelines")]

    def update(self, link: Row) -> list[Row]:
        """The triples of an update in the order of the dataset's objects."""
        group = link["subject"], link["property"]
        rows = self.triples[link["interval"] - 1]
        return sorted((row for row in rows if (row["subject"], row["property"]) == group), key=in_order)

    def stream(self, links: list[Row]) -> list[Row]:
        """The links with the dataset's columns of which questions are made."""
        rows = []
        for link in links:
            subject, relation = link["subject"], link["property"]
            late = "" if link["interval"] < 2 else " Upon Sea"
            name = NAMES.get(subject, f"Place {subject}") + late
            objects = [
                {
                    "id": row["key"] if (row["object"] or 0) > 0 else None,
                    "label": NAMES.get(row["object"], "?") + late * (row["object"] == 601),
                    "leaks": row["leaks"],
                }
                for row in self.update(link)
            ]
            called = {"id": f"Q{subject}", "label": name, "description": "place"}
            own = {"chain": f"Q{subject}-P{relation}", "link": link["link"], "subject": called}
            own |= {"relation": {"id": f"P{relation}"}, "objects": objects}
            rows.append(own | {"update_prompt": PROMPTS[relation][0].format(name)})
        return rows

    def questions(self, folder: Path, stream: list[Row], alike: tuple[str, ...], seed: int) -> Any:
        """The questions that the stage makes, and what it says about them."""
        kinds = [Fact(item, 31, 700 + item % 3) for item in VALUES if item != 604]
        kinds += [Fact(item, SPORT, 710 + item % 2, id=f"Q{item}$s") for item in (1, 2, 600, 602, 603)]
        anywhere = {row["object"] or 0 for dump in self.dumps for row in dump}
        more = [Fact(9, 17, item) for item in sorted({*VALUES, *anywhere}) if item > 0]
        names = {"labels": dict(NAMES), "no_label": frozenset({NAMELESS}), "aliases": ALIASES}
        World(new=[*self.facts, *kinds, *more], **names).write(folder)
        new, paths = folder / "new", (folder / "rows.parquet", folder / "classes.parquet")
        make_rows(new / "statements.parquet", new / "entities.parquet", [31, SPORT], *paths)
        pq.write_table(pa.Table.from_pylist(stream), folder / "stream.parquet")
        given = {"timelines": (folder / "timelines.parquet",), "rows": paths[:1], "classes": paths[1:]}
        given |= {"entities": (new / "entities.parquet",), "properties": new / "properties.parquet"}
        how = {"stream": folder / "stream.parquet", "dates": tuple(DATES), "alike": alike, "seed": seed}
        report = jobs.AsOf(**given, **how, output=folder / "asof.parquet").run()
        return pq.read_table(folder / "asof.parquet").to_pylist(), report


def in_order(row: Row) -> Any:
    old, new = row["old_position"], row["new_position"]
    return old is None, old or 0, new or 0
