"""Checks of one TempRIPPLE item against the dump of T_new."""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from qwikidata.claim import WikidataClaim
from qwikidata.snak import WikidataSnak

from factdrift.audit.dates import Day, span
from factdrift.audit.kinds import DECLARED, FAILED, PASSED, UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_updates import Finding, outcomes, statement_of
from factdrift.audit.values import END, START, entity_of, plain, raw_of, spans, words

Row = Mapping[str, Any]

_NEVER: Day = (10**9, 1, 1)


class Tables(NamedTuple):
    """The facts and related facts by id, all items by question, the dump of T_new, and the settings.

    `settings`: the key `tempripple` of the build's configuration.
    """

    facts: Mapping[str, Row]
    related: Mapping[str, Row]
    asked: Mapping[str, frozenset[str]]
    dump: Mapping[str, Entity]
    settings: Mapping[str, Any]
    supplied: Mapping[str, str]


def asked_by(items: Sequence[Row]) -> dict[str, frozenset[str]]:
    """Question -> the items that ask it."""
    found: dict[str, set[str]] = defaultdict(set)
    for item in items:
        found[item["question"]].add(item["item_id"])
    return {question: frozenset(ids) for question, ids in found.items()}


def check_item(item: Row, tables: Tables) -> Iterator[Finding]:
    """The findings of each kind about one item."""
    fact, related = tables.facts.get(item["fact_id"]), tables.related.get(item["rel_id"] or "")
    if fact is None or (item["hop"] and related is None):
        yield "statement", FAILED, "the fact of the item is in no table"
        return
    steps = list(_steps(fact, related))
    yield from outcomes("statement", _statements(steps, tables))
    yield from outcomes("main_snak", _main_snaks(steps, tables))
    yield from outcomes("rank", _ranks(steps, tables))
    yield from outcomes("labels", _labels(item, fact, tables))
    if not item["hop"]:
        yield from outcomes("dates", _dates(fact, tables))
        yield from _order(fact, tables)
    yield from _leaks(item, fact, tables)
    yield from outcomes("unique", _asked_again(item, tables))
    if item["options"]:
        yield from outcomes("options", _options(item, tables))
        yield from outcomes("key", _key(item, fact, related))


class _Step(NamedTuple):
    """A fact on the way to the answer: subject, relation, value, statement ids; `hop` counts from 0."""

    subject: str
    relation: str
    value: str
    statements: Sequence[str]
    hop: int


def _steps(fact: Row, related: Row | None) -> Iterator[_Step]:
    yield _Step(fact["s"], fact["p"], fact["o"], fact["stmt_ids"], 0)
    for hop, each in enumerate(related["path"] if related else (), 1):
        yield _Step(each["x"], each["p"], each["value"], [each["stmt_id"]], hop)


def _claims(steps: Sequence[_Step], tables: Tables) -> Iterator[tuple[_Step, str, WikidataClaim | None]]:
    for step in steps:
        entity = tables.dump.get(step.subject)
        for name in step.statements:
            yield step, name, statement_of(entity, name) if entity else None


def _statements(steps: Sequence[_Step], tables: Tables) -> Iterator[str]:
    for step, name, claim in _claims(steps, tables):
        if claim is None:
            yield f"the dump has no statement {name} of {step.subject}"
        elif claim.property_id != step.relation:
            yield f"{name} is a statement of {claim.property_id}, not of {step.relation}"


def _main_snaks(steps: Sequence[_Step], tables: Tables) -> Iterator[str]:
    for step, name, claim in _claims(steps, tables):
        if claim and step.value not in written(claim.mainsnak):
            yield f"{step.value} is not the main snak of {name}, which is {raw_of(claim.mainsnak)}"


def written(snak: WikidataSnak) -> set[str]:
    """The ways in which the tables may write a value: its raw form, a date as far as it is known or its
    year, a text with its language."""
    found = {raw_of(snak) or ""}
    if snak.value_datatype == "time" and (date := span(snak.datavalue.value)):
        year, month, day = date.first
        text = f"{'-' * (year < 0)}{abs(year):04d}"
        found |= {text, f"{text}-{month:02d}", f"{text}-{month:02d}-{day:02d}", date.text}
    if snak.value_datatype == "monolingualtext":
        found.add(f"{snak.datavalue.value.get('language')}:{raw_of(snak)}")
    return found


def _ranks(steps: Sequence[_Step], tables: Tables) -> Iterator[str]:
    for step, name, claim in _claims(steps, tables):
        if claim is None:
            continue
        group = tables.dump[step.subject].of(claim.property_id)
        if claim.rank == "deprecated":
            yield f"{name} is deprecated"
        elif step.hop and claim.rank != "preferred" and any(each.rank == "preferred" for each in group):
            yield f"{name} is not of the best rank"


def _labels(item: Row, fact: Row, tables: Tables) -> Iterator[str]:
    named = [(fact["s"], fact["s_label"]), (fact["o"], fact["o_label"])]
    if item["option_ids"] and "year_only" not in item["flags"]:
        named += zip(item["option_ids"], item["options"], strict=True)
    for entity, label in named:
        line = tables.dump.get(entity)
        expected = line.label if line else tables.supplied.get(entity)
        if expected is not None and plain(expected) != plain(label):
            yield f"{entity}: label {label!r} where the dump has {expected!r}"


def _dates(fact: Row, tables: Tables) -> Iterator[str]:
    claims = [claim for _, _, claim in _claims(list(_steps(fact, None)), tables) if claim]
    if any(date.text.count("/") for claim in claims for date in spans(claim, START) + spans(claim, END)):
        return  # spans of decades and more are widened on both sides
    starts, ends = ([spans(claim, qualifier) for claim in claims] for qualifier in (START, END))
    for field, groups, choose, place in (
        ("start_lo", starts, min, "first"),
        ("start_hi", starts, min, "last"),
        ("end_lo", ends, max, "first"),
        ("end_hi", ends, max, "last"),
    ):
        if not groups:
            continue
        days = [getattr(date, place) for group in groups for date in group]
        wanted = choose(days) if all(groups) else None
        if _day(fact[field]) != wanted:
            yield f"{field} {fact[field]} where the dump has {wanted}"


def _day(date: datetime.date | None) -> Day | None:
    return (date.year, date.month, date.day) if date else None


def _order(fact: Row, tables: Tables) -> Iterator[Finding]:
    """The place of the holder among all that the dump names, newest first, one after another."""
    settings = tables.settings
    entity = tables.dump.get(fact["s"])
    if entity is None or settings["mutable"]["exclude_object_classes"] or not settings["unite_same_object"]:
        yield "order", UNCHECKED, "needs the classes of objects" if entity else "no line"
        return
    begin, end = (_iso(settings[name]) for name in ("window_start", "change_end"))
    skipped = set(settings["restrictive_qualifiers"])
    holders = []
    for claim in entity.of(fact["p"]):
        starts, ends = spans(claim, START), spans(claim, END)
        first = min((each.first for each in starts), default=(-math.inf, 1, 1))
        last = max((each.last for each in ends), default=_NEVER)
        if claim.mainsnak.snaktype != "value" or skipped & set(claim.qualifiers):
            continue
        if last > begin and first < end:
            low = max((each.first for each in ends), default=_NEVER)
            high = max((each.last for each in starts), default=(-math.inf, 1, 1))
            holders.append((low, high, entity_of(claim.mainsnak) or raw_of(claim.mainsnak)))
    newest = [value for _, _, value in sorted(holders, key=lambda each: each[:2], reverse=True)]
    runs = [value for place, value in enumerate(newest) if not place or newest[place - 1] != value]
    place = fact["ordinal"]
    if not 0 < place <= len(runs):
        yield "order", FAILED, f"holder number {place}, but the dump has {len(runs)}"
    elif runs[place - 1] != fact["o"]:
        yield "order", FAILED, f"holder number {place} is {runs[place - 1]}, not {fact['o']}"
    elif (fact["role"] == "new") != (place == 1):
        yield "order", FAILED, f"holder number {place} is called {fact['role']}"
    else:
        yield "order", PASSED, ""


def _iso(text: str) -> Day:
    year, month, day = map(int, text.split("-"))
    return year, month, day


def _leaks(item: Row, fact: Row, tables: Tables) -> Iterator[Finding]:
    """Names are compared with names only: a code such as `is` may be a word of every question."""
    answer = words(item["answer_label"])
    found = [(FAILED, fact["s_label"])] if answer.strip() and answer in words(fact["s_label"]) else []
    if item["task"] != 1:
        news = [
            each["o_label"]
            for each in tables.facts.values()
            if each["role"] == "new" and (each["s"], each["p"]) == (item["s"], item["p"])
        ]
        outcome = DECLARED if "answer_in_context" in item["flags"] else FAILED
        found += [(outcome, name) for name in news if answer.strip() and answer in words(name)]
    for outcome, name in found:
        yield "leak", outcome, f"{item['answer_label']!r} is in {name!r}"
    if not found:
        yield "leak", PASSED, ""


def _asked_again(item: Row, tables: Tables) -> Iterator[str]:
    others = tables.asked[item["question"]] - {item["item_id"]}
    if others:
        yield f"{item['question']!r} is also asked by {', '.join(sorted(others))}"


def _options(item: Row, tables: Tables) -> Iterator[str]:
    options, answer = item["options"], item["answer_index"]
    if len({plain(each).casefold() for each in options}) < len(options):
        yield f"two options are equal: {options}"
    line = tables.dump.get(item["asked_s"])
    true = {text for claim in (line.of(item["asked_p"]) if line else ()) for text in written(claim.mainsnak)}
    aliases = {words(each) for each in (item["answer_label"], *(item["answer_aliases"] or ()))}
    for place, (name, option) in enumerate(zip(options, item["option_ids"], strict=True)):
        if place == answer:
            continue
        if option in true and tables.settings["distractors"]["same_timeline"] == "exclude":
            yield f"{name!r} ({option}) is a value of {item['asked_s']} {item['asked_p']}"
        elif words(name) in aliases:
            yield f"{name!r} ({option}) is a name of the answer"


def _key(item: Row, fact: Row, related: Row | None) -> Iterator[str]:
    place = item["answer_index"]
    if place is None or not 0 <= place < len(item["options"]):
        yield f"no option is number {place}"
        return
    wanted = related["answer_id"] if related else fact["o"]
    option, label = item["option_ids"][place], item["options"][place]
    if not (option == wanted or ("year_only" in item["flags"] and str(wanted).startswith(str(option)))):
        yield f"option {place} is {option}, the answer is {wanted}"
    elif label not in item["answer_label"]:
        yield f"option {place} is {label!r}, the answer is {item['answer_label']!r}"


def named_entities(item: Row, tables: Tables) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks of an item need, with the relations of each."""
    fact, related = tables.facts.get(item["fact_id"]), tables.related.get(item["rel_id"] or "")
    if fact is None:
        return
    for step in _steps(fact, related):
        yield step.subject, frozenset([step.relation])
        if step.value[:1] == "Q":
            yield step.value, frozenset()
    yield item["asked_s"], frozenset([item["asked_p"]])
    for option in item["option_ids"] or ():
        if option[:1] == "Q":
            yield option, frozenset()
