"""Products with faults by chance: in most rows one value is another row's, or a list is longer or shorter."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.audit.kinds import QUESTIONS, UPDATES

Row = dict[str, Any]
Steps = tuple[str | int, ...]
"""The keys and the places in lists that lead to a value of a row."""

BY_HAND = {
    *((UPDATES, "gone"), (UPDATES, "static"), (UPDATES, "rank"), (UPDATES, "neighbour_answer")),
    *((QUESTIONS, "order"), (QUESTIONS, "chain")),
}
"""Dataset and kind of what no fault by chance reaches (`audit_plants`)."""


def spoil(path: Path, seed: int) -> None:
    """Writes a table anew, with faults in three rows of four, some of them in how long a list is."""
    table, dice = pq.read_table(path), Random(f"{path.name}/{seed}")
    rows = table.to_pylist()
    values = _values(rows)
    # As many faults in each field, however many values it has.
    for row, steps in _drawn(rows, sorted(values, key=str), dice):
        _spoil(row, steps, dice, values[field_of(steps)])
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def lose(path: Path, seed: int) -> None:
    """Writes a table anew, in whose rows values are missing, in fields where some are."""
    table, dice = pq.read_table(path), Random(f"{path.name}/{seed}")
    rows = table.to_pylist()
    values = _values(rows)
    able = sorted((field for field, own in values.items() if None in own), key=str)
    for row, (*before, name) in _drawn(rows, able, dice):
        _at(row, before)[name] = None
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def _values(rows: list[Row]) -> dict[Steps, list[Any]]:
    """Field -> its values in all rows."""
    values: dict[Steps, list[Any]] = {}
    for row in rows:
        for steps, value in leaves(row):
            values.setdefault(field_of(steps), []).append(value)
    return values


def _drawn(rows: list[Row], fields: list[Steps], dice: Random) -> Iterator[tuple[Row, Steps]]:
    """Three rows of four, and in each a place of a drawn field, if it has one."""
    for row in rows if fields else ():
        field = dice.choice(fields)
        places = [*_places(row, field)]
        if places and dice.random() < 0.75:
            yield row, dice.choice(places)


def _places(value: Any, field: Steps, steps: Steps = ()) -> Iterator[Steps]:
    """The keys and places that lead to the values of a field in a row."""
    if not field:
        if not isinstance(value, dict | list):
            yield steps
    elif isinstance(value, list if field[0] == 0 else dict):
        parts = (
            enumerate(value) if field[0] == 0 else [(field[0], value[field[0]])] if field[0] in value else ()
        )
        for step, part in parts:
            yield from _places(part, field[1:], (*steps, step))


def spoil_text(path: Path, seed: int) -> None:
    """Makes one number of a text in twelve another one, and leaves out a line without a bracket."""
    dice, text = Random(f"{path.name}/{seed}"), path.read_text(encoding="utf-8")
    text = re.sub(r"[1-8]\b", lambda found: str(int(found[0]) + (dice.random() < 1 / 12)), text)
    lines = text.splitlines(keepends=True)
    lines.remove(dice.choice([line for line in lines if not set(line) & {*"[]{}:"}] or lines[-1:]))
    path.write_text("".join(lines if path.suffix != ".json" else text), encoding="utf-8")


def leaves(value: Any, steps: Steps = ()) -> Iterator[tuple[Steps, Any]]:
    """The values of a row that are no list or structure, and the keys and places that lead to each."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from leaves(part, (*steps, name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from leaves(part, (*steps, place))
    else:
        yield steps, value


def field_of(steps: Steps) -> Steps:
    return tuple(0 if isinstance(step, int) else step for step in steps)


def _spoil(row: Row, steps: Steps, dice: Random, others: list[Any]) -> None:
    lists = [place for place, step in enumerate(steps) if isinstance(step, int)]
    if lists and dice.random() < 0.25:
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


def _at(row: Any, steps: Sequence[str | int]) -> Any:
    for step in steps:
        row = row[step]
    return row
