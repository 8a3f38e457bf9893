"""The whole stage against a plain search by the definitions, on random small worlds with many ties.

The oracle reads the drawn statements themselves, and shares no code with the package.
"""

import hashlib
import math
from collections import Counter
from datetime import date
from functools import partial
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.examples import examples
from support.tables import written
from support.worlds import time_of

from factdrift.neighbors import jobs, vectors
from factdrift.neighbors.facts import NEIGHBORS
from factdrift.updates.classify import UPDATES
from factdrift.updates.filters import FILTERED

Row = dict[str, Any]
LABELS = pa.schema([("id", pa.int32()), ("label", pa.string())])
POPULARITY = pa.schema([("id", pa.int32()), ("popularity", pa.float64())])

OLD, NEW = date(2021, 1, 4), date(2023, 2, 27)
OLD_DAY, NEW_DAY = 20210104, 20230227
RELATIONS, CLASSES = (6, 17, 31), (500, 501, 502)
SUBJECTS, BORN = range(1, 41), range(41, 46)
BLANK_NAME, SUPPLIED_BLANK, SUPPLIED, NAMELESS = 3, 4, 5, (4, 5, 8, 502)
DAYS = [
    *("2010-05-05", "2021-01-03", "2021-01-04", "2021-01-05", "2022-06-01", "2023-02-27", "2023-02-28"),
    *("2021", "2021-01", "2020-12-09/9", "2021-05-05/9", "2020s", "2015s", "2023"),
]
OF_NO_DOCUMENT = ["rank", "snak", "datatype", "subject"]
FILTERS = [*OF_NO_DOCUMENT, "object", "restrictive_qualifier", "keep_latest", "preferred"]


def statement(subject: int, relation: int, object_: int | None, **more: Any) -> Row:
    row: Row = dict.fromkeys(FILTERED.names) | {"revision": 1, "qualifiers": [], "snak": "value"}
    row |= {"subject": subject, "property": relation, "object": object_}
    if object_ is None:
        return row | {"datatype": "string", "key": "text", "json": '"text"'} | more
    return row | {"datatype": "wikibase-item", "key": f"Q{object_}"} | more


def update(subject: int, relation: int, label: str, object_: int | None, **more: Any) -> Row:
    return {"subject": subject, "property": relation, "label": label, "object": object_} | more


class Drawn:
    """Statements of two dumps, labels, and the triples of updates."""

    def __init__(self, seed: int) -> None:
        dice = self.dice = Random(seed)
        self.variant = ["paper", "reference", "revised"][seed % 3]
        self.dates = "interval" if self.variant == "revised" else "first_day"
        self.old = [row for subject in SUBJECTS for row in self.statements(subject)]
        self.new = [self.later(row) for row in self.old if dice.random() < 0.8]
        self.new += [row for subject in BORN for row in self.statements(subject)]
        self.updates = [row for subject in (*SUBJECTS, *BORN, 99) for row in self.triples(subject)]
        more = Random(f"popular {seed}")
        for row in self.updates:
            row["old_statement"] = more.choice([None, *self.stated(row["subject"], row["property"])])
        rated = more.sample(SUBJECTS, 35)
        self.popularity = {subject: more.choice([None, 0.0, 0.5, 0.5, 2.0, 7.5]) for subject in rated}
        self.labels = {item: f"Q{item}" for item in (*SUBJECTS, *CLASSES, *BORN) if item not in NAMELESS}
        self.labels[BLANK_NAME] = "The ____"
        self.supplied = {SUPPLIED_BLANK: "New ____", SUPPLIED: "Named"}

    def statements(self, subject: int) -> list[Row]:
        dice, rows = self.dice, []
        for position in range(dice.choice([1, 1, 2, 3, 4, 6])):
            object_ = dice.choice([*CLASSES, *CLASSES, 1, 2, 3, 5, 8, subject, -6, None])
            name = f"Q{subject}${dice.choice('aAbBcC')}"
            if any(row["object"] == object_ and row["statement"].upper() == name.upper() for row in rows):
                continue
            names = ("start", "end", "pit")
            dates = {name: dice.choice(DAYS) if dice.random() < 0.25 else None for name in names}
            unknown = {name: dates[name] is None and dice.random() < 0.06 for name in ("start", "end")}
            own: Row = {name: text and time_of(text) for name, text in dates.items()}
            own |= {f"{name}_unknown": value for name, value in unknown.items()}
            own |= {"statement": name, "position": position}
            own["rank"] = dice.choice(["normal", "normal", "preferred"])
            own["dropped_by"] = dice.choice(FILTERS) if dice.random() < 0.2 else None
            rows.append(statement(subject, dice.choice(RELATIONS), object_, **own))
        return rows

    def stated(self, subject: int, relation: int) -> list[str]:
        group = subject, relation
        return [row["statement"] for row in self.old if (row["subject"], row["property"]) == group]

    def later(self, row: Row) -> Row:
        """A statement in the new dump, where it may have ended or be dropped."""
        chance = self.dice.random()
        if chance < 0.2:
            return row | {"end": time_of(self.dice.choice(DAYS))}
        return row | {"dropped_by": "preferred"} if chance < 0.3 else row

    def triples(self, subject: int) -> list[Row]:
        dice, rows = self.dice, []
        for relation in dice.sample(RELATIONS, dice.choice([0, 1, 1, 2])):
            reaches = None if dice.random() < 0.8 else "static"
            pair = dice.choice([(500, 501), (501, 500), (1, 2), (500, 2), (None, 501), (-6, 500), (500, -6)])
            more = {"dropped_by": reaches, "is_replace": dice.random() < 0.8}
            objects = {"obsolete": pair[0], "new": pair[1], "static": dice.choice([1, 502])}
            rows += [update(subject, relation, label, item, **more) for label, item in objects.items()]
        return rows

    def run(self, folder: Path, candidates: int, facts: int, seed: int) -> dict[str, list[Row]]:
        """The tables of all jobs; subjects in two buckets, the search in three parts."""
        dice = self.dice
        updates = (written(folder / "updates.parquet", UPDATES, self.updates),)
        sides: dict[str, tuple[Path, ...]] = {"old": (), "new": ()}
        for (side, rows), k in product((("old", self.old), ("new", self.new)), (1, 0)):
            own = [row for row in rows if row["subject"] % 2 == k]
            sides[side] += (written(folder / f"{side}{k}.parquet", FILTERED, own),)
        names = [{"id": item, "label": label} for item, label in self.labels.items()]
        supplied = folder / "supplied.tsv"
        lines = [f"Q{item}\t{label}\n" for item, label in self.supplied.items()]
        supplied.write_text("id\tlabel\n" + "".join(lines), encoding="utf-8")
        common = {"variant": self.variant, "dates": self.dates, "old_date": OLD, "labels": (supplied,)}
        common |= {"entities": (written(folder / "entities.parquet", LABELS, names),), "updates": updates}
        space, holding = folder / "space", [folder / f"holding{k}.parquet" for k in range(2)]
        with pytest.MonkeyPatch.context() as patch:
            few = partial(vectors.make_space, documents=dice.choice([3, 1000]))
            patch.setattr(vectors, "make_space", few)
            jobs.Space(updates=updates, **sides, output=space, variant=self.variant).run()
        for bucket, path in zip(sides["old"], holding, strict=True):
            jobs.Holding(old=bucket, output=path, **common).run()
        for path in holding:
            table = pq.read_table(path, columns=["neighbor", "relation"]).to_pylist()
            assert table == sorted(table, key=lambda row: (row["neighbor"], row["relation"]))
        search = {"updates": updates, "space": space, "holding": tuple(holding)}
        parts = [folder / f"part{k}.parquet" for k in range(3)]
        for k, path in enumerate(parts):
            walk = {"candidates": candidates, "facts": facts, "part": f"{k}-of-3"}
            jobs.Search(output=path, **search, **walk).run()
        nearest = folder / "nearest.parquet"
        jobs.Gather(parts=tuple(parts), output=nearest).run()
        rated = [{"id": item, "popularity": value} for item, value in self.popularity.items()]
        rates = written(folder / "popularity.parquet", POPULARITY, rated)
        most = folder / "popular.parquet"
        jobs.Search(**search, **walk, popularity=rates, output=most).run()
        replacements = [row for row in self.updates if row["dropped_by"] is None and row["is_replace"]]
        pool = written(folder / "replacements.parquet", UPDATES, replacements[::2])
        drawn = folder / "random.parquet"
        more = {"neighbors": nearest, "replacements": pool, "facts": facts, "seed": seed}
        jobs.Random(updates=updates, space=space, output=drawn, **more).run()
        ends = folder / "with_obsolete.parquet", folder / "with_new.parquet"
        more = {"candidates": candidates, "facts": facts, "seed": seed, "new_date": NEW, "space": space}
        jobs.SharedObjects(**common, **sides, output=ends[0], out_new=ends[1], **more).run()
        tables = {path.stem: pq.read_table(path) for path in (nearest, drawn, most, *ends)}
        assert all(table.schema.equals(NEIGHBORS) for table in tables.values())
        return {name: table.to_pylist() for name, table in tables.items()}


class Plain:
    """Section 8 of the method, word by word."""

    def __init__(self, drawn: Drawn) -> None:
        self.drawn = drawn
        self.documents = self.bags(drawn.old)
        of_new = self.bags(drawn.new)
        count = len(self.documents)
        having = Counter(feature for bag in self.documents.values() for feature in bag)
        self.idf = {feature: math.log((1 + count) / (1 + n)) + 1 for feature, n in having.items()}
        self.vectors = {subject: self.vector(bag) for subject, bag in {**of_new, **self.documents}.items()}
        self.groups = sorted({(row["subject"], row["property"]) for row in self.kept})

    @property
    def kept(self) -> list[Row]:
        return [row for row in self.drawn.updates if row["dropped_by"] is None]

    def bags(self, rows: list[Row]) -> dict[int, Counter[Any]]:
        bags: dict[int, Counter[Any]] = {}
        for row in rows:
            if row["dropped_by"] in OF_NO_DOCUMENT:
                continue
            subject, relation, object_ = row["subject"], row["property"], row["object"]
            bag = bags.setdefault(subject, Counter([subject]))
            if object_ is not None:
                bag.update([object_, (relation, object_)])
                bag.update([-relation] if self.drawn.variant == "reference" else [])
        return bags

    def vector(self, bag: Counter[Any]) -> dict[Any, float]:
        weights = {feature: n * self.idf[feature] for feature, n in bag.items() if feature in self.idf}
        length = math.sqrt(math.fsum(weight**2 for weight in weights.values()))
        return {feature: weight / length for feature, weight in weights.items()}

    def similarity(self, one: int, other: int) -> float:
        left, right = self.vectors.get(one, {}), self.vectors.get(other, {})
        return round(math.fsum(left[feature] * right[feature] for feature in left.keys() & right.keys()), 9)

    def changed(self, subject: int, relation: int) -> set[int]:
        own = (row for row in self.kept if (row["subject"], row["property"]) == (subject, relation))
        return {row["object"] for row in own if row["label"] in ("new", "obsolete")} - {None}

    def holds(self, row: Row, day: int) -> bool:
        reading = {"paper": "first", "reference": "written", "revised": None}[self.drawn.variant]
        start, end = row["start"], row["end"]
        if start is None and not row["start_unknown"] and self.drawn.variant != "reference":
            start = row["pit"]
        if row["end_unknown"]:
            return False

        def read(time: Row, bound: str) -> int:
            if reading == "first" and time["precision"] < 9:
                return int(time["year"] * 10_000 + 101)
            return int(time[reading or bound])

        return not (end and read(end, "last") < day) and not (start and read(start, "first") > day)

    def asked(self, row: Row) -> bool:
        """Its subject can be asked about at T_old."""
        names = {**self.drawn.labels, **self.drawn.supplied}
        named = "____" not in names.get(row["subject"], "____")
        return row["dropped_by"] is None and named and self.holds(row, OLD_DAY)

    def offered(self, relation: int) -> dict[int, Row]:
        """Subject -> the one fact of a relation that it may contribute."""
        names = {*self.drawn.labels, *self.drawn.supplied, None}
        asked = (row for row in self.drawn.old if row["property"] == relation and self.asked(row))
        rows = [row for row in asked if row["object"] in names or row["object"] < 0]
        return {row["subject"]: row for row in sorted(rows, key=rank, reverse=True)}

    def nearest(self, candidates: int, facts: int) -> list[Row]:
        rows = []
        for subject, relation in self.groups:
            similar = [(-self.similarity(subject, other), other) for other in self.documents]
            best = sorted(pair for pair in similar if pair[0] < 0)[:candidates]
            offered = self.offered(relation)
            allowed = offered.keys() - {subject, *self.changed(subject, relation)}
            walk = [(offered[other], -score) for score, other in best if other in allowed]
            rows += numbered(subject, relation, walk[:facts])
        return rows

    def popular(self, facts: int) -> list[Row]:
        """Of the same relation, by another subject, unchanged; the most popular subjects first."""
        moved = [row for row in self.drawn.updates if row["label"] != "static"]
        changed = {(row["subject"], row["property"], row.get("old_statement")) for row in moved}

        def order(subject: int) -> Any:
            popularity = self.drawn.popularity.get(subject)
            return popularity is None, -(popularity or 0), subject

        rows = []
        for subject, relation in self.groups:
            avoided = {subject, *self.changed(subject, relation)}
            offered = self.offered(relation)
            chosen = [
                (offered[other], self.similarity(subject, other))
                for other in sorted(offered, key=order)
                if other not in avoided and (other, relation, offered[other]["statement"]) not in changed
            ]
            rows += numbered(subject, relation, chosen[:facts])
        return rows

    def random(self, nearest: list[Row], facts: int, seed: int) -> list[Row]:
        replaced = [row for row in self.kept if row["is_replace"]][::2]
        groups = {(row["subject"], row["property"]) for row in replaced}
        fields = ("neighbor", "relation", "statement", "object", "datatype", "json", "key")
        offered = (row for row in nearest if (row["subject"], row["property"]) in groups)
        pool = {tuple(row[name] for name in fields): row for row in offered}
        ordered = [pool[key] for key in sorted(pool, key=lambda key: key[:3])]
        rows = []
        for subject, relation in self.groups:
            order = list(range(len(ordered)))
            for step in range(len(order)):
                digest = hashlib.sha256(f"{seed}:{subject}:{relation}:{step}".encode()).digest()
                other = step + int.from_bytes(digest[:16], "big") % (len(order) - step)
                order[step], order[other] = order[other], order[step]
            avoided = {subject, *self.changed(subject, relation)}
            shuffled = (ordered[place] for place in order)
            drawn = [row for row in shuffled if avoided.isdisjoint((row["neighbor"], row["object"]))]
            chosen = [(row, self.similarity(subject, row["neighbor"])) for row in drawn[:facts]]
            rows += numbered(subject, relation, chosen)
        return rows

    def sharing(self, role: str, candidates: int, facts: int, seed: int) -> list[Row]:
        """Facts with the object of a replacement that is `role`, of subjects without the other one."""
        other = {"obsolete": "new", "new": "obsolete"}[role]
        kept = (row for row in self.drawn.new if row["dropped_by"] is None and self.holds(row, NEW_DAY))
        lasting = {(row["subject"], row["property"], row["object"]) for row in kept}
        stated: dict[tuple[int, int, int], Row] = {}
        for row in sorted(self.drawn.old, key=rank, reverse=True):
            if row["object"] and self.asked(row):
                stated[row["subject"], row["property"], row["object"]] = row
        rows = []
        for subject, relation in self.groups:
            replaced = [row for row in self.kept if row["is_replace"] and row["label"] != "static"]
            own = (row for row in replaced if (row["subject"], row["property"]) == (subject, relation))
            ends = {row["label"]: row["object"] for row in own}
            if not all(ends.get(name) and ends[name] > 0 for name in (role, other)):
                continue
            mine = [key for key in stated if key[1:] == (relation, ends[role])]

            def chance(key: tuple[int, int, int]) -> Any:
                text = ":".join(map(str, (seed, key[0], key[1], key[2])))
                return key not in lasting, hashlib.md5(text.encode()).hexdigest(), key[0]

            mine = sorted(mine, key=chance)[:candidates]
            mine = [key for key in mine if key[0] not in (subject, *ends.values())]
            mine = [key for key in mine if (key[0], relation, ends[other]) not in stated]
            mine.sort(key=lambda key: (key not in lasting, -self.similarity(subject, key[0]), key[0]))
            chosen = [(stated[key], self.similarity(subject, key[0])) for key in mine[:facts]]
            rows += numbered(subject, relation, chosen)
        return rows


def rank(row: Row) -> Any:
    """Of several facts the preferred one, then the smallest id in any case, then the first."""
    return row["rank"] != "preferred", row["statement"].upper(), row["position"]


def numbered(subject: int, relation: int, chosen: list[tuple[Row, float]]) -> list[Row]:
    return [
        {"subject": subject, "property": relation, "rank_no": number, "similarity": similarity}
        | {"neighbor": row.get("neighbor", row["subject"]), "relation": row.get("relation", row["property"])}
        | {name: row[name] for name in ("statement", "object", "datatype", "json", "key", "pit")}
        for number, (row, similarity) in enumerate(chosen, start=1)
    ]


@pytest.mark.parametrize("seed", range(examples(16)))
def test_stage_and_oracle_agree(seed: int, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    limits = {"candidates": 500, "facts": 10} if seed % 2 else {"candidates": 5, "facts": 3}
    tables = drawn.run(tmp_path, **limits, seed=seed)
    plain = Plain(drawn)
    nearest = plain.nearest(**limits)
    assert tables["nearest"] == nearest
    assert tables["random"] == plain.random(nearest, limits["facts"], seed)
    assert tables["popular"] == plain.popular(limits["facts"])
    # A subject counts once however many statements it has in the relation, and no group is cut short.
    several = Counter((row["subject"], row["property"]) for row in drawn.old)
    sizes = Counter((row["subject"], row["property"]) for row in tables["popular"])
    pairs = {(row["subject"], row["property"], row["neighbor"]) for row in tables["popular"]}
    assert len(pairs) == len(tables["popular"])
    assert any(several[row["neighbor"], row["relation"]] > 1 for row in tables["popular"])
    offered = Counter((row["subject"], row["property"]) for row in plain.popular(len(SUBJECTS)))
    assert sizes == {group: min(limits["facts"], number) for group, number in offered.items()}
    assert limits["facts"] > 3 or limits["facts"] in sizes.values()
    assert tables["with_obsolete"] == plain.sharing("obsolete", **limits, seed=seed)
    assert tables["with_new"] == plain.sharing("new", **limits, seed=seed)
    assert all(len(rows) > 9 for rows in tables.values()), {name: len(rows) for name, rows in tables.items()}


@pytest.mark.parametrize("few", [{"updates": []}, {"old": []}, {"old": [], "new": []}])
def test_tables_without_rows(few: dict[str, list[Row]], tmp_path: Path) -> None:
    """One updated subject, so that parts of the search have none; no update; nothing in a dump."""
    drawn = Drawn(0)
    drawn.updates = [update(41, 6, "new", 500, dropped_by=None, is_replace=False)]
    for name, rows in few.items():
        setattr(drawn, name, rows)
    tables = drawn.run(tmp_path, candidates=500, facts=10, seed=0)
    assert tables["nearest"] == Plain(drawn).nearest(500, 10)
    assert tables["popular"] == Plain(drawn).popular(10)
    assert tables["random"] == tables["with_obsolete"] == tables["with_new"] == []
