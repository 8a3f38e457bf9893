"""Sequences of small dumps, run pair by pair through the updates stage, and the laws of their differences."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq

from factdrift.streams.jobs import Chains
from support.worlds import Fact, Property, World, dump

Row = dict[str, Any]
DATES = ["2015-01-01", "2017-01-01", "2019-01-01", "2021-01-04", "2023-02-27"]
PLAIN, SINGLE, AT = 1000, 2000, 3000
PROPERTIES = [Property(SINGLE, True, (580, 582)), Property(AT, True, (585,))]


def packed(date: str) -> int:
    return int(date.replace("-", ""))


def difference(folder: Path, dumps: Sequence[list[Fact]], old: int, new: int) -> Path:
    """Runs one pair of the sequence; returns its folder."""
    world = World(dumps[old], dumps[new], PROPERTIES)
    pair = folder / f"{DATES[old]}_{DATES[new]}"
    world.updates(pair, t_old=packed(DATES[old]), t_new=packed(DATES[new]))
    return pair


def differences(folder: Path, dumps: Sequence[list[Fact]]) -> list[Path]:
    """Runs all consecutive pairs; returns their folders."""
    return [difference(folder, dumps, place, place + 1) for place in range(len(dumps) - 1)]


def chains(pairs: Sequence[Path], output: Path) -> list[Row]:
    """The links of a sequence, in `output`; timelines.parquet is beside it."""
    updates, entities = ([pair / f"{name}.parquet" for pair in pairs] for name in ("updates", "new_entities"))
    statements = [dump(pairs[0], "old").filtered, *(dump(pair, "new").filtered for pair in pairs)]
    Chains(
        updates=updates,
        new_entities=entities,
        statements=statements,
        dates=[date.fromisoformat(day) for day in DATES[: len(pairs) + 1]],
        timelines=output.with_name("timelines.parquet"),
        known=output.with_name("known.parquet"),
        output=output,
    ).run()
    return pq.read_table(output).to_pylist()


def statements(triples: Iterable[Row], which: str) -> Counter[tuple[Any, ...]]:
    """The statements of one dump, as the difference with another one contains them."""
    own = f"{which}_statement"
    return Counter(
        (row["subject"], row["property"], row["key"], row[own]) for row in triples if row[own] is not None
    )


def values(dump: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    counts: Counter[tuple[Any, ...]] = Counter()
    for (subject, relation, key, _), number in dump.items():
        counts[subject, relation, key] += number
    return counts


def check_composition(consecutive: Sequence[list[Row]], direct: list[Row]) -> None:
    """The differences of consecutive dumps, one after the other, are that of the first and the last dump.

    Each begins where the one before ends; the values that are kept, removed and added between the ends are
    those of the direct difference, and its statements are theirs.
    """
    for one, following in itertools.pairwise(consecutive):
        assert statements(one, "new") == statements(following, "old")
    first, last = statements(consecutive[0], "old"), statements(consecutive[-1], "new")
    assert (first, last) == (statements(direct, "old"), statements(direct, "new"))
    held, holds = values(first), values(last)
    composed = {"F0": held & holds, "F-": held - holds, "F+": holds - held}
    for change, expected in composed.items():
        rows = [row for row in direct if row["change"] == change]
        assert Counter((row["subject"], row["property"], row["key"]) for row in rows) == expected


def check_chains(rows: Sequence[Row], intervals: int) -> None:
    """Links are numbered from 1 without a gap, in the order of their intervals, no more than one in each.

    Rows are sorted by interval, subject and property.
    """
    places = [(row["interval"], row["subject"], row["property"]) for row in rows]
    assert places == sorted(set(places))
    groups: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["subject"], row["property"]), []).append(row)
    for links in groups.values():
        assert [row["link"] for row in links] == list(range(1, len(links) + 1))
        assert {row["links"] for row in links} == {len(links)}
        numbers = [row["interval"] for row in links]
        assert numbers == sorted(set(numbers))
        assert set(numbers) <= set(range(1, intervals + 1))
        for row in links:
            for each in [row, *row["changes"]]:
                assert each["superseded_by"] is None or row["link"] < each["superseded_by"] <= len(links)
            assert not (row["reverts"] and row["link"] == 1)


_STARTS = [None, "2014", "2015-06-01", "2016", "2017-01-01", "2018-03", "2019-07-01", "2020", "2022-05-05"]


def random_dumps(dice: Random, number: int, subjects: int = 12) -> list[list[Fact]]:
    """Dumps in which statements come, go, come back, get dates, and are written anew under another id."""
    held: dict[tuple[int, int, int], Fact] = {}
    dumps = []
    for serial in range(number):
        for subject in range(1, subjects + 1):
            for relation in (PLAIN, SINGLE, AT):
                place = (subject, relation, dice.randint(600, 603))
                fate = dice.random()
                if fate < 0.35:
                    held.pop(place, None)
                elif fate < 0.8:
                    start = dice.choice(_STARTS)
                    dated = {"pit": start} if relation == AT else {"start": start}
                    end = dice.choice(_STARTS) if dice.random() < 0.4 else None
                    same = held.get(place)
                    id_ = same.id if same and dice.random() < 0.7 else f"Q{subject}${place}{serial}"
                    rank = "preferred" if dice.random() < 0.2 else "normal"
                    held[place] = Fact(*place, end=end, id=id_, rank=rank, **dated)
        dumps.append([held[place] for place in sorted(held)])
    return dumps
