"""Products with faults by chance: in most rows one value is another row's, or a list is longer or shorter."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]
Step = str | int


def spoil(path: Path, seed: int, lengths: bool = True) -> None:
    """Writes a table anew, with faults in three rows of four; `lengths`: also in how long lists are."""
    table, dice = pq.read_table(path), Random(f"{path.name}/{seed}")
    rows = table.to_pylist()
    values: dict[tuple[Step, ...], list[Any]] = {}
    for row in rows:
        for steps, value in leaves(row):
            values.setdefault(field_of(steps), []).append(value)
    fields = sorted(values, key=str)
    for row in rows:
        if dice.random() < 0.75:
            # As many faults in each field, however many values it has.
            field = dice.choice(fields)
            places = [steps for steps, _ in leaves(row) if field_of(steps) == field]
            if places:
                _spoil(row, dice.choice(places), dice, values[field], lengths)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def spoil_text(path: Path, seed: int) -> None:
    """Makes one number of a text in twelve another one, and leaves out a line without a bracket."""
    dice, text = Random(f"{path.name}/{seed}"), path.read_text(encoding="utf-8")
    text = re.sub(r"[1-8]\b", lambda found: str(int(found[0]) + (dice.random() < 1 / 12)), text)
    lines = text.splitlines(keepends=True)
    lines.remove(dice.choice([line for line in lines if not set(line) & {*"[]{}:"}] or lines[-1:]))
    path.write_text("".join(lines if path.suffix != ".json" else text), encoding="utf-8")


def leaves(value: Any, steps: tuple[Step, ...] = ()) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """The values of a row that are no list or structure, and the keys and places that lead to each."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*steps, name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, (*steps, place))
    else:
        yield steps, value


def field_of(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple(0 if isinstance(step, int) else step for step in steps)


def _spoil(row: Row, steps: tuple[Step, ...], dice: Random, others: list[Any], lengths: bool) -> None:
    lists = [place for place, step in enumerate(steps) if isinstance(step, int)]
    if lists and lengths and dice.random() < 0.25:
        # A list within a list may be the one value of a neighbour.
        *before, last = steps[: lists[0] + 1]
        parts = _at(row, before)
        dice.choice((lambda: parts.pop(last), lambda: parts.append(parts[last]), parts.reverse))()
        return
    *before, name = steps
    holder = _at(row, before)
    # What has a value keeps one, and a code, a date or a number remains one.
    chosen = dice.choice([other for other in others if (other is None) == (holder[name] is None)])
    if isinstance(chosen, bool):
        chosen = not holder[name]
    elif isinstance(chosen, int | float) and dice.random() < 0.5:
        chosen = (holder[name] or 0) + dice.choice((-1, 1))
    elif isinstance(chosen, str) and chosen.count(" ") > 1 and dice.random() < 0.2:
        chosen = f"{chosen}."
    holder[name] = chosen


def _at(row: Any, steps: list[Step]) -> Any:
    for step in steps:
        row = row[step]
    return row
