"""The part of the tables on what edits do to a model in general: perplexity and tasks."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from factdrift.core.screen import grid
from factdrift.evaluation.scores.intervals import Interval, geometric, interval

Row = Mapping[str, Any]


def measured_lines(groups: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """A grid with a row for each method, and which text it is; nothing if no model was measured.

    `groups`: the method as tables name it -> its rows of SCORES, of one model.
    """
    found = {title: measured_values(rows) for title, rows in groups.items()}
    columns = list(dict.fromkeys(name for values in found.values() for name in values))
    if not columns:
        return
    cells = [
        [title, *(_cell(values.get(name)) for name in columns), str(len(_states(rows))) if values else "-"]
        for (title, rows), values in zip(groups.items(), found.values(), strict=True)
    ]
    yield ""
    yield from grid(["", *columns, "Models"], cells)
    measured = [row for rows in groups.values() for row in _states(rows)]
    for text in dict.fromkeys(row["text"] for row in measured if row["text"]):
        yield f"Perplexity on {text}; geometric means over edited models"


def measured_values(rows: Sequence[Row]) -> dict[str, Interval]:
    """`Perplexity`, and `TASK METRIC` for each metric of each task -> the mean over the models measured.

    A model in which several edits are in place counts once.
    """
    states = _states(rows)
    values: dict[str, list[float]] = {}
    for row in states:
        for task, metrics in json.loads(row["tasks"] or "{}").items():
            for metric, value in metrics.items():
                values.setdefault(f"{task} {metric}", []).append(value)
    surprised = geometric([row["perplexity"] for row in states if row["perplexity"] is not None])
    first = {"Perplexity": surprised} if surprised else {}
    return first | {name: found for name, given in values.items() if (found := interval(given))}


def _states(rows: Sequence[Row]) -> list[Row]:
    """One row for each model that was measured."""
    measured = [row for row in rows if row.get("perplexity") is not None or row.get("tasks") is not None]
    return list({row["state"]: row for row in measured}.values())


def _cell(found: Interval | None) -> str:
    if found is None:
        return "-"
    half = "" if found.half != found.half else f" ±{found.half:.2g}"
    return f"{found.mean:.4g}{half}"
