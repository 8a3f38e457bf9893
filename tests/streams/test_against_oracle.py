"""The whole stage against the definitions of docs/streams.md, on random small sequences of dumps.

The oracle reads the drawn statements and triples themselves, and shares no code with the package.
"""

import calendar
import copy
import datetime
import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.examples import examples

from factdrift.audit import of_streams

from .definitions import Dating, Timelines, ordinal, says
from .drawn import ALIASES, DATES, DAYS, NAMELESS, NAMES, PROMPTS, VALUES, Drawn, Row


def words(text: str) -> str:
    return " ".join("".join(each if each.isalnum() else " " for each in text).casefold().split())


def digest(*parts: object) -> str:
    return hashlib.sha256("|".join(map(str, parts)).encode()).hexdigest()[:16]


def span_around(day: datetime.date, precision: str) -> tuple[datetime.date, datetime.date]:
    if precision == "day":
        return day, day
    if precision == "month":
        return day.replace(day=1), day.replace(day=calendar.monthrange(day.year, day.month)[1])
    return day.replace(month=1, day=1), day.replace(month=12, day=31)


class Questions:
    """The questions about chains, by the definitions."""

    def __init__(self, stream: list[Row], timelines: Timelines, alike: tuple[str, ...], seed: int) -> None:
        self.alike, self.seed = alike, seed
        self.chains: dict[str, list[Row]] = {}
        for row in stream:
            if any(each["id"] for each in row["objects"]):
                self.chains.setdefault(row["chain"], []).append(row)
        self.tenures = {f"Q{s}-P{p}": timelines.tenures((s, p)) for s, p in timelines.groups}
        self.unsaid: Counter[str] = Counter()
        self.pools: dict[str, dict[int, list[int]]] = {}
        self.labels: dict[tuple[str, int, int], str] = {}
        for name, rows in self.chains.items():
            subject, relation = name[1:].split("-P")
            for each in (each for row in rows for each in row["objects"] if each["id"]):
                item = int(each["id"][1:])
                subjects = self.pools.setdefault(relation, {}).setdefault(item, [])
                subjects += [] if int(subject) in subjects else [int(subject)]
                key = relation, int(subject), item
                self.labels[key] = min(self.labels.get(key, each["label"]), each["label"])

    def kinds(self, subject: int, item: int) -> list[set[int]]:
        """The classes and sports of a value, those of its subject where it has none."""
        classes = {700 + item % 3} if item in VALUES and item != 604 else set()
        sport = item if item in (600, 602, 603) else subject if subject < 3 else None
        of = {"P31": classes, "P641": set() if sport is None else {710 + sport % 2}}
        return [of[name] for name in self.alike]

    def rows(self) -> Iterator[Row]:
        for name in sorted(self.chains, key=lambda name: tuple(map(int, name[1:].split("-P")))):
            subject, relation = map(int, name[1:].split("-P"))
            of_past = PROMPTS[relation][1]
            if of_past is None:
                self.unsaid[f"P{relation}"] += 1
            else:
                yield from self.of_chain(name, subject, relation, of_past)

    def of_chain(self, name: str, subject: int, relation: int, of_past: str) -> Iterator[Row]:
        rows, tenures = self.chains[name], self.tenures[name]
        newest_link = max(rows, key=lambda row: row["link"])
        called, prompt = newest_link["subject"]["label"], newest_link["update_prompt"]
        past = of_past.format(called)
        objects = [each for row in rows for each in row["objects"] if each["id"]]
        leaking = {int(each["id"][1:]) for each in objects if each["leaks"]}
        own: dict[int, str] = {}
        for each in objects:
            item = int(each["id"][1:])
            if item not in leaking:
                own[item] = min(own.get(item, each["label"]), each["label"])
        named: dict[int, str] = {}
        for item in sorted({value for value, *_ in tenures} - leaking - {0}):
            label = own.get(item, None if item == NAMELESS else NAMES[item])
            if label and (item in own or f" {words(label)} " not in f" {words(called)} "):
                named[item] = label
        certain = sorted(((span[1], span[0], value) for value, span, *_ in tenures if span), reverse=True)
        if not any(dated and not doubted for *_, doubted, dated in tenures) or not certain:
            return
        newest = certain[0][2]
        if newest not in named:
            return
        now = {value for value, *_ in tenures if says(tenures, value, DAYS[-1], DAYS[-1]) == "correct"}
        before = next((value for *_, value in certain if value not in now), None)

        def sentence(first: int, last: int, precision: str) -> str:
            year, month, day = first // 10_000, first // 100 % 100, first % 100
            when = {"day": f"{day} ", "month": "", "year": ""}[precision]
            when += f"{calendar.month_name[month]} " if precision != "year" else ""
            text = past if last < DAYS[-1] else prompt
            text = text.replace("The ", "the ", 1) if text.startswith("The ") else text
            years = f"{year}" if year > 0 else f"{-year} BC"
            return f"As of {when}{years}, {text}"

        context = sentence(certain[0][0], certain[0][0], "day").removesuffix("____")
        context += named[newest].removesuffix(".") + "."
        for value in sorted(named.keys() & own.keys()):
            spans = [span for of, span, *_ in tenures if of == value and span]
            if not spans:
                continue
            longest = min(spans, key=lambda span: (ordinal(span[0]) - ordinal(span[1]), span[0]))
            for precision, first, last in dates(longest):
                verdicts = {of: says(tenures, of, first, last) for of, *_ in tenures}
                if verdicts.pop(value) != "correct" or {*verdicts.values()} - {"wrong"}:
                    continue
                text = f"{first // 10_000:04d}-{first // 100 % 100:02d}-{first % 100:02d}"
                text = text[: {"day": 10, "month": 7, "year": 4}[precision]]
                item_id = digest(name, f"Q{value}", precision, text)
                aliases = ALIASES.get(value, [])
                yield {
                    **{"item_id": item_id, "task": 1 if value in now else 2, "hop": 0},
                    **{"s": f"Q{subject}", "p": f"P{relation}"},
                    **{"asked_s": f"Q{subject}", "asked_p": f"P{relation}"},
                    **{"fact_id": digest(name, f"Q{value}"), "rel_id": None, "context": context},
                    "as_of": datetime.date(last // 10_000, last // 100 % 100, last % 100),
                    "question": sentence(first, last, precision),
                    **self.options(name, value, named, tenures, aliases, item_id),
                    **{"answer_label": named[value], "answer_aliases": aliases, "chain": name},
                    **{"discriminates": value != newest, "precision": precision, "date": text},
                    **{"first_day": first, "last_day": last},
                    "holds": "now" if value in now else "before" if value == before else "then",
                }

    def options(
        self, name: str, value: int, named: dict[int, str], tenures: Any, aliases: list[str], item_id: str
    ) -> Row:
        subject, relation = name[1:].split("-P")
        refused = {words(each) for each in (named[value], *aliases)}
        others = {of for of, _, _, doubted, _ in tenures if not doubted and of in named and of != value}
        by_name: dict[str, int] = {}
        for other in sorted(others, key=lambda other: digest(self.seed, item_id, other)):
            if words(named[other]) not in refused:
                by_name.setdefault(words(named[other]), other)
        wrong = [(other, named[other], "wrong") for other in by_name.values()][:3]
        named_otherwise = {words(named[of]) for of in named if of != value}
        never, fact = {of for of, *_ in tenures}, (int(subject), relation, value)
        refused |= named_otherwise
        drawn, alike, size = self.drawn_from_pool(fact, refused, never, item_id, 3 - len(wrong))
        wrong += drawn
        row: Row = {"pool_size": len(by_name) + size, "open_only": len(wrong) < 3, "flags": []}
        if len(wrong) < 3:
            return row | dict.fromkeys(("options", "option_ids", "option_verdicts", "answer_index"))
        right = value, named[value], "correct"
        order = sorted([right, *wrong], key=lambda each: digest(self.seed, f"order {item_id}", each[0]))
        items, labels, verdicts = zip(*order, strict=True)
        row |= {"options": [*labels], "option_ids": [f"Q{item}" for item in items]}
        row |= {"option_verdicts": [*verdicts], "answer_index": order.index(right)}
        return row | {"flags": [] if alike == len(drawn) else ["other_kind"]}

    def drawn_from_pool(
        self, fact: tuple[int, str, int], refused: set[str], never: set[int], item_id: str, wanted: int
    ) -> tuple[list[tuple[int, str, str]], int, int]:
        """Objects of other subjects, weighted by their number, those of the answer's kind first.

        Returns them, how many are of that kind, and how many there are to draw from.
        """
        subject, relation, value = fact
        pool = self.pools[relation]
        labels = {item: self.labels[relation, max(subjects), item] for item, subjects in pool.items()}
        weights = {item: len(subjects) - (subject in subjects) for item, subjects in pool.items()}
        free = {item for item in pool if weights[item] and item not in never and item != value}
        size = len({words(labels[item]) for item in free} - refused)
        if not wanted:
            return [], 0, size

        def chance(item: int) -> float:
            text = f"{self.seed}|{item_id}|Q{item}".encode()
            return (int.from_bytes(hashlib.sha256(text).digest()[:8], "big") + 0.5) / 2.0**64

        def rank(item: int) -> int:
            for position, kinds in enumerate(self.kinds(subject, value)):
                theirs = set().union(*(self.kinds(other, item)[position] for other in pool[item]))
                if kinds and theirs:
                    return position if kinds & theirs else len(self.alike)
            return len(self.alike)

        order = sorted(free, key=lambda item: (rank(item), -math.log(chance(item)) / weights[item]))
        drawn: dict[str, int] = {}
        for item in order:
            if words(labels[item]) not in refused and len(drawn) < wanted:
                drawn.setdefault(words(labels[item]), item)
        chosen = sorted(drawn.values(), key=chance)
        alike = sum(not self.alike or rank(item) < len(self.alike) for item in chosen)
        return [(item, labels[item], "never") for item in chosen], alike, size


def dates(span: tuple[int, int]) -> Iterator[tuple[str, int, int]]:
    """The middle of a time, and the month and the year of it or next to it that lie wholly in that time."""
    begin, end = (max(ordinal(day), 1) for day in span)
    if ordinal(span[1]) < 1:
        return
    middle = datetime.date.fromordinal((begin + end) // 2)
    for precision in ("day", "month", "year"):
        own = span_around(middle, precision)
        near = [own]
        for beside in (own[0].toordinal() - 1, own[1].toordinal() + 1):
            if beside >= 1:
                near.append(span_around(datetime.date.fromordinal(beside), precision))
        for first, last in near:
            if begin <= first.toordinal() and last.toordinal() <= end:
                yield precision, *(int(day.isoformat().replace("-", "")) for day in (first, last))
                break


@pytest.mark.parametrize("seed", range(examples(20)))
def test_stage_and_oracle_agree(seed: int, tmp_path: Path) -> None:
    drawn = Drawn(seed)
    links, timelines = drawn.chains(tmp_path)
    wanted = Dating(drawn).links()
    assert links == wanted
    plain = Timelines(drawn, wanted)
    assert ordered(timelines) == ordered(plain.rows())
    alike = [("P641", "P31"), ("P31",), ()][seed % 3]
    stream = drawn.stream(links)
    asked, report = drawn.questions(tmp_path, stream, alike, seed)
    questions = Questions(stream, plain, alike, seed)
    assert asked == [*questions.rows()]
    alone = [row for row in asked if not row["open_only"] and "wrong" not in row["option_verdicts"]]
    counts = [len(asked), sum(row["open_only"] for row in asked), len(alone), *questions.unsaid.values()]
    said = re.findall(r"^(?:P\d+: )?(\d+) ", report, re.MULTILINE)
    assert [int(number) for number in said] == [count for count in counts if count]
    assert len(links) > 20
    audited(drawn, links, stream, tmp_path)


def audited(drawn: Drawn, links: list[Row], stream: list[Row], folder: Path) -> None:
    """The audit finds nothing in the links and the rows of pairs, and each change of one of them."""
    rows, twice = [], set()
    for link, row in zip(links, stream, strict=True):
        update = drawn.update(link)
        if len({each["key"] for each in update}) < len(update):
            twice.add(row["chain"])  # no dataset has an object twice
        objects = [{"id": None, "label": each["key"], "decision": each["label"]} for each in update]
        days = (DATES[link["interval"] - 1].isoformat(), DATES[link["interval"]].isoformat())
        dates = dict(zip(("old_date", "new_date"), days, strict=True))
        function = {"relation_is_temp_func": update[0]["relation_is_temp_func"]}
        rows.append(link | row | dates | function | {"objects": objects})
    rows = [row for row in rows if row["chain"] not in twice]
    assert list(of_streams.links(rows)) == []

    intervals = {(row["chain"], row["link"]): row["interval"] for row in rows}

    def planted(name: str, row: Row) -> bool:
        """Whether a copy of a row with another value of one column is found."""
        more = copy.deepcopy(row)
        changed = more["changes"][0] if name.startswith("change ") else more
        column = name.removeprefix("change ")
        if column == "interval":
            more["interval"] = intervals[row["chain"], row["link"] - 1]
        else:
            changed[column] = not changed[column] if column == "reverts" else (changed[column] or 0) + 1
        faults = of_streams.links([more if each is row else each for each in rows])
        return of_streams.name_of(more) in {fault.row for fault in faults}

    for row in rows[-20:]:
        names = ["link", "links", "reverts", "superseded_by", "change reverts"]
        if row["objects"][0]["decision"] != "static":
            names.append("change superseded_by")
        if row["link"] > 1:
            names.append("interval")
        assert [name for name in names if not planted(name, row)] == []

    for days in {(row["old_date"], row["new_date"]) for row in rows}:
        mine = (row for row in rows if (row["old_date"], row["new_date"]) == days)
        own = [{"subject": row["subject"], "relation": row["relation"]} for row in mine]
        (folder / "_".join(days)).mkdir()
        pq.write_table(pa.Table.from_pylist(own), folder / "_".join(days) / "wikifactdiff.parquet")
    pairs = enumerate(pairwise(row["interval"] for row in rows))
    first = next(place for place, (before, after) in pairs if before == after)
    swapped = [*rows[:first], rows[first + 1], rows[first], *rows[first + 2 :]]
    renamed = rows[0] | {"subject": rows[0]["subject"] | {"label": "Nobody"}}
    for given, reasons in (
        (rows, []),
        (rows[1:], ["are missing"]),
        (swapped, ["not in the order"]),
        ([rows[0], *rows], ["occur twice"]),
        ([renamed, *rows[1:]], ["has no such row", "are missing"]),
        ([renamed, *rows], ["has no such row"]),
    ):
        names = ("subject", "relation", "chain", "interval", "old_date", "new_date")
        table = pa.Table.from_pylist([{name: row[name] for name in names} for row in given])
        pq.write_table(table, folder / "audited.parquet")
        found = [fault.reason for fault in of_streams.pairs(folder / "audited.parquet", folder)]
        assert len(found) == len(reasons)
        assert all(reason in text for reason, text in zip(reasons, found, strict=True))


def ordered(rows: Any) -> list[Row]:
    return sorted(rows, key=lambda row: (row["subject"], row["property"], repr(sorted(row.items()))))
