"""Which probes are put after each interval; the same for every method. Does not import torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.evaluation.questions.updates import draw

KINDS = ("current", "neighbors", "retention", "staleness")
"""Probes of the interval's own edits; of their neighbours; of earlier edits that hold; of superseded ones."""

PLAN = pa.schema(
    [
        ("interval", pa.int32()),
        ("edit", pa.string()),
        ("kind", pa.string()),
        ("number", pa.int16()),
    ]
)
"""One row for each probe that is put after an interval; `number` is its index in the edit's probes."""

Row = Mapping[str, Any]


class Asked(NamedTuple):
    """Probes of one edit."""

    place: int
    """Index of the edit."""
    kind: str
    numbers: list[int]


def intervals_of(rows: Sequence[Row]) -> list[int]:
    """The intervals that have an edit, ascending."""
    return sorted({row["interval"] for row in rows})


def planned(rows: Sequence[Row], interval: int, most: int, seed: int) -> list[Asked]:
    """What is asked after an interval of rows of STREAM_EDITS.

    `most`: edits of each of `retention` and `staleness`, those first in the order of a seeded hash, so that
    an edit that is asked once is asked again. An edit is superseded once an edit of its chain is made that
    ends its fact; one whose fact ended without any edit is not asked.
    """
    told = {(row["chain"], row["interval"]) for row in rows}
    found: list[Asked] = []
    earlier: dict[str, list[int]] = {"retention": [], "staleness": []}
    for place, row in enumerate(rows):
        if row["interval"] == interval:
            found += [
                Asked(place, kind, numbers)
                for kind, roles in (("current", _OWN), ("neighbors", _OTHERS))
                if (numbers := _numbers(row, roles))
            ]
        elif row["interval"] < interval:
            end = row["superseded_in"]
            if end is None or end > interval:
                earlier["retention"].append(place)
            elif row["new"] is not None and (row["chain"], end) in told:
                earlier["staleness"].append(place)
    for kind, places in earlier.items():
        drawn = sorted(places, key=lambda place: draw("stream", seed, rows[place]["edit"]))[:most]
        for place in sorted(drawn):
            row = rows[place]
            numbers = _numbers(row, _OWN) if kind == "retention" else _stale(row, rows, interval)
            found.append(Asked(place, kind, numbers))
    return found


def plan_table(rows: Sequence[Row], most: int, seed: int) -> pa.Table:
    """PLAN of all intervals."""

    def lines() -> Iterator[dict[str, Any]]:
        for interval in intervals_of(rows):
            for asked in planned(rows, interval, most, seed):
                named = {"interval": interval, "edit": rows[asked.place]["edit"], "kind": asked.kind}
                yield from ({**named, "number": number} for number in asked.numbers)

    return pa.Table.from_pylist(list(lines()), schema=PLAN)


_OWN, _OTHERS = ("update", "generalization"), ("nearest", "random")


def _numbers(row: Row, roles: Sequence[str]) -> list[int]:
    return [number for number, probe in enumerate(row["probes"]) if probe["role"] in roles]


def _stale(row: Row, rows: Sequence[Row], interval: int) -> list[int]:
    """The edit's own object after its own prompt, and that of the last edit of its chain so far."""
    made = {one["link"] for one in rows if one["chain"] == row["chain"] and one["interval"] <= interval}
    later = {
        probe["place"]: number
        for number, probe in enumerate(row["probes"])
        if probe["role"] == "later" and probe["place"] in made
    }
    own = [
        number
        for number, probe in enumerate(row["probes"])
        if (probe["role"], probe["object"]) == ("update", "new")
    ]
    return [*own, *([later[max(later)]] if later else [])]
