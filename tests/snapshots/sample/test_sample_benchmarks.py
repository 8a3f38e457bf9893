"""The bundled sample holds enough facts for the benchmarks that are built of one snapshot.

Counted from the tables as they stand on the newer default date, by rules that are plainer and stricter than
those of the stages themselves: no statement with an end, no leaking label, dates by their first days.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from support.workflow import ROOT

from factdrift.snapshots.sample.as_of import Standing, content
from factdrift.snapshots.sample.model import END, START, Sample
from factdrift.snapshots.sample.tables import read_sample
from factdrift.wikidata.time import unpack

DAY = 20230227

KLOB_RELATIONS = (
    *(17, 19, 26, 36, 37, 39, 50, 69, 101, 103, 106, 108, 112, 127, 131, 136, 138, 140, 159, 175),
    *(176, 178, 276, 407, 413, 449, 495, 641, 1001, 1303, 1376, 1412),
)
"""The 32 relations of Ju et al. (arXiv 2309.16535), Table 2."""

KLOB_SECOND_HOPS = (
    *(17, 19, 26, 36, 37, 50, 69, 106, 108, 112, 127, 131, 136, 140, 159, 175, 176, 178, 276, 407),
    *(413, 449, 495, 641, 1412, 6, 20, 27, 30, 35, 40, 169, 170, 190, 264, 286, 364, 463, 488, 740),
    *(800, 937, 1037, 1308),
)
"""The 44 relations of MQuAKE."""

MUTABLE = (35, 6, 488, 169, 54, 286, 551, 102, 108, 69, 937, 36, 159, 27, 140, 17)
IMMUTABLE = (25, 22, 19, 569, 103, 112, 571, 115, 641, 17, 36, 37, 30, 282, 218, 498, 297, 298)
"""Properties whose values do not change, of those that TempRIPPLE follows from a changed fact."""

WINDOW, CHANGE, CHANGE_END = (datetime.date(year, 1, 1) for year in (2012, 2022, 2023))
YEAR = datetime.timedelta(days=365)


class Held(NamedTuple):
    """An object and the first days of its start and its end."""

    item: int
    start: datetime.date
    end: datetime.date


@pytest.fixture(scope="module")
def sample():
    return read_sample(ROOT / "resources" / "sample")


@pytest.fixture(scope="module")
def standing(sample):
    """Statements that are not deprecated, by item and property."""
    found: dict[tuple[int, int], list[Standing]] = defaultdict(list)
    for entity in sample.entities.values():
        if entity.number > 0 and entity.exists(DAY):
            for statement in content(sample, entity, DAY).statements:
                if statement.rank != "deprecated":
                    found[entity.number, statement.snak.property].append(statement)
    return found


@pytest.fixture(scope="module")
def single(sample, standing):
    """The one object of best rank that stands without end, by subject and property, if no label leaks it."""
    found = {}
    for key, statements in standing.items():
        best = [statement for statement in statements if statement.rank == "preferred"] or statements
        open_ended = [each for each in best if not any(q.property == END for q in each.qualifiers)]
        objects = {statement.snak.item for statement in open_ended} - {None}
        if len(objects) == 1 and not leaks(sample, (object_ := objects.pop()), key[0]):
            found[key] = object_
    return found


def leaks(sample: Sample, inner: int, outer: int) -> bool:
    """Whether the words of one item's label stand in another's, or one of them has no label."""
    within, around = (
        " ".join(re.findall(r"\w+", sample.entities[item].label.casefold())) for item in (inner, outer)
    )
    return not within or not around or f" {within} " in f" {around} "


@pytest.fixture(scope="module")
def timelines(standing):
    """By subject and mutable property, holders that follow each other from 2012 on, the last since 2022."""
    found = {}
    for key, statements in standing.items():
        if key[1] in MUTABLE and (held := timeline(statements)) is not None:
            found[key] = held
    return found


def timeline(statements: list[Standing]) -> list[Held] | None:
    held = sorted(
        (each for each in map(holder, statements) if touches_window(each)), key=lambda each: each[1:]
    )
    if len(held) < 2 or not CHANGE <= held[-1].start < CHANGE_END or held[0].start - WINDOW >= YEAR:
        return None
    pairs = list(itertools.pairwise(held))
    if any(before.end > after.start or after.start - before.end >= YEAR for before, after in pairs):
        return None
    return held if held[-1].item != held[-2].item and all(each.item for each in held) else None


def holder(statement: Standing) -> Held:
    return Held(
        statement.snak.item or 0,
        first_day(statement, START) or datetime.date.min,
        first_day(statement, END) or datetime.date.max,
    )


def first_day(statement: Standing, property_: int) -> datetime.date | None:
    times = [each.time for each in statement.qualifiers if each.property == property_ and each.time]
    return datetime.date(*unpack(max(times[0].first, 10101))) if times else None


def touches_window(held: Held) -> bool:
    return held.end > WINDOW and held.start < CHANGE_END


def test_each_relation_of_klob_has_more_facts_with_one_value_than_it_needs(sample, single):
    popular = [
        (property_, sample.entities[subject].label.casefold())
        for (subject, property_), object_ in single.items()
        if sample.entities[subject].sitelinks >= 10 and len(sample.entities[object_].label.split()) <= 5
    ]
    twins = Counter(popular)
    counts = Counter(property_ for property_, label in popular if twins[property_, label] == 1)
    assert {number: counts[number] for number in KLOB_RELATIONS if counts[number] < 26} == {}


def test_chains_of_klob_are_many_and_of_many_kinds(sample, single):
    opposite = {(36, 1376), (1376, 36), (26, 26), (127, 1830)}
    chains: Counter[tuple[int, int]] = Counter()
    for (subject, first), middle in single.items():
        if first not in KLOB_RELATIONS:
            continue
        for second in KLOB_SECOND_HOPS:
            end = single.get((middle, second))
            if end in (None, subject, middle) or (first, second) in opposite or leaks(sample, end, subject):
                continue
            chains[first, second] += 1
    supported = [count for count in chains.values() if count >= 20]
    # No pair may make up more than a tenth, so that ten pairs of twenty chains are the least that gives any.
    assert len(supported) >= 20
    assert sum(min(count, 26) for count in supported) >= 520


def test_changes_of_2022_are_enough_for_temporal_facts(timelines):
    assert len(timelines) >= 125
    assert sum(len(held) for held in timelines.values()) >= 400
    assert {property_ for _, property_ in timelines} >= {35, 6, 488, 169, 54, 286, 551, 102, 108, 937, 159}


def test_related_facts_reach_over_three_hops(sample, standing, timelines):
    paths = [(key[0], each.item) for key, held in timelines.items() for each in held]
    counts = []
    for _ in range(3):
        found = [(path, after) for path in paths for after in related(standing, path)]
        counts.append(len(found))
        paths = [(*path, item) for path, item in found if item and not leaks(sample, item, path[-1])]
    assert sum(counts) >= 1_800
    assert min(counts) >= 400


def related(standing: dict[tuple[int, int], list[Standing]], path: tuple[int, ...]) -> Iterator[int]:
    """The item (0 for other values) of every property that has one statement without qualifiers."""
    for property_ in IMMUTABLE:
        statements = standing.get((path[-1], property_), [])
        if len(statements) == 1 and not statements[0].qualifiers and statements[0].snak.kind == "value":
            item = statements[0].snak.item or 0
            if item not in path:
                yield item
