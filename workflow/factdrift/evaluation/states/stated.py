"""The states `today` and `tool`: a day, or a result of a search, stands before questions about chains.

What they say is in config/states. `today` has a sentence with a day, years from the model's own date
(`offsets`) or `absurd`, and another sentence with the same day as a control. `tool` has results of a search
in several conditions, all about the last of their facts: `new`, the holder after the first change behind the
own date; `undated`, the same without a day; `never`, a holder of another chain, on the same day; `former`,
the holder before the last change by the own date, on the last day; `beside`, what is new of another subject.
"""

import datetime
import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.core.files import read_yaml
from factdrift.core.paths import CONFIG
from factdrift.evaluation.questions.cutoff import holder_on, questions_of
from factdrift.evaluation.questions.question import Benchmark, Turn, Way
from factdrift.evaluation.questions.tenures import changes, names_of
from factdrift.streams.timelines import day_number
from factdrift.tempripple.phrases import normal
from factdrift.words.dates import day_text

YEAR, NEAR = 365.25, 366


class Item(NamedTuple):
    """A chain in a state."""

    state: str
    chain: str
    holder: int | None
    """For whom the text speaks; None if nothing proves who that is."""
    known: int | None
    """Whom a model must name without the text to be counted; -1 for anybody but `holder`."""
    parts: list[str]
    """What it is counted among besides, such as `age 2`."""
    about: str = ""
    """The subject of the text if that is another one."""


@dataclass
class Stated:
    """Chains with the texts before their questions."""

    rows: Sequence[Row]
    """Of CHAINS, without dates of death."""
    turn: Turn
    texts: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    """State -> chain -> text."""
    items: list[Item] = field(default_factory=list)
    days: dict[str, datetime.date] = field(default_factory=dict)
    """State of `today` -> day."""

    def add(self, item: Item, text: str) -> None:
        self.items.append(item)
        self.texts[item.state][item.chain] = text

    def benchmark(self, way: Way, seed: int) -> Benchmark:
        """The questions of `cutoff` in a way, without those after neutral prompts."""
        questions = []
        for row, own in questions_of(self.rows, seed):
            texts = {state: of[row["chain"]] for state, of in self.texts.items() if row["chain"] in of}
            asked = (question for question in own if way in question.ways and question.role != "neutral")
            questions += [replace(question, retrieved=texts, turn=self.turn) for question in asked]
        return Benchmark("cutoff", questions)


def today(chains: Sequence[Row], own: datetime.date | None, dates: Sequence[datetime.date]) -> Stated:
    """The chains on all days; without a date of the model on absurd days only.

    `dates`: between which the chains prove the holders. A chain with a change within a year of the day is
    `near`.
    """
    record = read_yaml(CONFIG / "states" / "today.yaml")
    days = {f"{years:+d}": _later(own, years) for years in record["offsets"]} if own else {}
    days |= {str(day): datetime.date.fromisoformat(str(day)) for day in record["absurd"]}
    stated = Stated(chains, record["turn"])
    for name, text in record["texts"].items():
        for label, day in days.items():
            stated.days[f"{name}={label}"] = day
            for row in chains:
                proved = dates[0] <= day <= dates[-1]
                holder = holder_on(row, day) if proved else None
                near = any(abs(day_number(change.day) - day.toordinal()) <= NEAR for change in changes(row))
                known = holder_on(row, own) if own and (holder is not None or not proved) else None
                item = Item(f"{name}={label}", row["chain"], holder, known, ["near"] if near else [])
                stated.add(item, text.format(day=day_text(day)))
    return stated


def _later(day: datetime.date, years: int) -> datetime.date:
    return day.replace(year=day.year + years, day=28 if (day.month, day.day) == (2, 29) else day.day)


class _Fact(NamedTuple):
    row: Row
    """The chain that it is about."""
    holder: Row
    position: int
    """Of the holder in the chain that is asked about."""
    day: datetime.date | None


def tool(chains: Sequence[Row], own: datetime.date | None, seed: int) -> Stated:
    """The chains that change after the model's own date; none without such a date.

    Each has two more holders, of another chain and another subject, who hold on no day.
    """
    record = read_yaml(CONFIG / "states" / "tool.yaml")
    if own is None:
        return Stated([], record["turn"])
    facts = {row["chain"]: of_chain for row in chains if (of_chain := _facts(row, own))}
    stated = Stated(list(_with_others(facts, random.Random(f"{seed}/others"))), record["turn"])
    for condition, names in record["conditions"].items():
        able = [chain for chain, of in facts.items() if of.keys() >= {*names}]
        random.Random(f"{seed}/{condition}").shuffle(able)
        for number, chain in enumerate(able):
            source = [*record["sources"]][number % len(record["sources"])]
            made = [facts[chain][name] for name in names]
            years = int(abs(((made[-1].day or facts[chain]["new"].day or own) - own).days) / YEAR)
            parts = [f"relation {made[-1].row['relation']}", f"age {years}", f"source {source}"]
            about = made[-1].row["subject_label"] if names[-1] == "beside" else ""
            item = Item(f"tool={condition}", chain, made[-1].position, -1, parts, about)
            random.Random(f"{seed}/{chain}/order").shuffle(made)
            results = (_result(record["text"], fact, record["sources"][source]) for fact in made)
            stated.add(item, "\n\n".join([*results, ""]))
    return stated


def _facts(row: Row, own: datetime.date) -> dict[str, _Fact]:
    """`new`, `undated` and `former`; none without a later change. Who returns is no former holder."""
    facts: dict[str, _Fact] = {}
    for change in changes(row):
        day = datetime.date.fromordinal(day_number(change.day))
        if day <= own:
            holder = row["holders"][change.before]
            ends = [part["last"] for part in holder["tenures"] if part["share"] == 1 and part["last"]]
            last = datetime.date.fromordinal(day_number(max(end for end in ends if end < change.day)))
            facts["former"] = _Fact(row, holder, change.before, last)
        else:
            facts["new"] = _Fact(row, row["holders"][change.after], change.after, day)
            facts["undated"] = facts["new"]._replace(day=None)
            if "former" in facts and facts["former"].position in (change.before, change.after):
                del facts["former"]
            return facts
    return {}


def _with_others(facts: Mapping[str, dict[str, _Fact]], draw: random.Random) -> Iterator[Row]:
    """The chains with two more holders, whose facts `never` and `beside` are added."""
    news = [own["new"] for own in facts.values()]
    for own in facts.values():
        row, holders = own["new"].row, [*own["new"].row["holders"]]
        of_relation = (fact for fact in news if fact.row["relation"] == row["relation"])
        same = [fact for fact in of_relation if fact.row["subject"] != row["subject"]]
        for name in ("never", "beside"):
            taken = {label for holder in holders for label in _names(holder)}
            others = [fact for fact in same if taken.isdisjoint(_names(fact.holder))]
            if others:
                other = draw.choice(others)
                about = own["new"] if name == "never" else other
                own[name] = about._replace(holder=other.holder, position=len(holders))
                holders.append({**other.holder, "tenures": []})
        yield {**row, "holders": holders}


def _names(holder: Row) -> set[str]:
    return set(map(normal, names_of(holder)))


def _result(text: Sequence[str], fact: _Fact, source: str) -> str:
    """The lines of a result, without a line that ends with an empty slot."""
    prompts, day = fact.row["prompts"], day_text(fact.day) if fact.day else ""
    slots = {"title": fact.row["subject_label"], "first": prompts[0], "second": prompts[-1]}
    lines = (line.format(name=fact.holder["label"], source=source, day=day, **slots) for line in text)
    return "\n".join(line for line in lines if not line.endswith(": "))
