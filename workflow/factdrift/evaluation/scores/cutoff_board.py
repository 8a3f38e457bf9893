"""Results of `factdrift cutoff -o RESULT.json`, and a board of many: declared dates against measured ones."""

import datetime
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.figures import INK, SOFT
from factdrift.core.panels import Figure, Mark
from factdrift.core.panels import draw as draw_parts
from factdrift.core.score_table import Cell, Column, Line, table
from factdrift.evaluation.scores.cutoff_figure import day_of
from factdrift.evaluation.scores.cutoff_text import interval, short


class Chains(msgspec.Struct, forbid_unknown_fields=True):
    """The chains behind a result: name and SHA-256 of their file, and the dates that an estimate may have."""

    file: str
    digest: str
    first: str
    last: str


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """The date of a model in one way. `dates`: rows of TABLE; `declared`: by its maker, empty if unknown."""

    model: str
    way: str
    declared: str
    source: str
    chains: Chains
    dates: list[dict[str, Any]]

    @property
    def whole(self) -> Row:
        """The plain row of all chains; of a model that answers about deaths only, that of the deaths."""
        return next((row for row in self.dates if row["subset"] == "all"), self.dates[0])

    @property
    def wordings(self) -> list[Row]:
        return [row for row in self.dates if row["subset"] == "wording"]


def read_results(folder: Path) -> list[Result]:
    """The results of a folder by measured date, models without a date last. Raises InputError."""
    results = []
    for path in sorted(folder.glob("*.json")):
        try:
            results.append(msgspec.json.decode(path.read_bytes(), type=Result))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}: no result of `cutoff -o RESULT.json` ({error}); move it out of the folder"
            ) from None
    if not results:
        raise InputError(f"{folder}: holds no result (*.json); write one with `cutoff MODEL -o RESULT.json`")
    return sorted(results, key=lambda result: (*_order(result.whole), result.model, result.way))


def _order(row: Row) -> tuple[int, str]:
    ranks = {"before": (0, row["first_date"]), "date": (1, row["date"] or ""), "after": (2, row["last_date"])}
    return ranks.get(row["verdict"], (3, ""))


COLUMNS = (
    Column("way", lambda result: Cell(result.way)),
    Column("declared", lambda result: Cell(result.declared or "not declared")),
    Column("measured", lambda result: Cell(short(result.whole))),
    Column("95 % interval", lambda result: Cell(interval(result.whole))),
    Column("latest", lambda result: Cell(result.whole.get("latest") or "")),
    Column("by wording", lambda result: Cell(between(result.wordings))),
    Column("chains", lambda result: Cell(result.chains.digest[:8])),
)


def between(rows: Sequence[Row]) -> str:
    """`2013-11-02 to 2014-11-20 (5)`: the earliest and the latest date of some wordings, and their number."""
    dates = sorted(row["date"] for row in rows if row["date"])
    return f"{dates[0]} to {dates[-1]} ({len(dates)})" if dates else ""


def lines(results: Sequence[Result]) -> Iterator[str]:
    """The board as a table, then the sources of the declared dates."""
    yield from table("", COLUMNS, [Line(result.model, result) for result in results])
    sources = {result.model: f"{result.declared}: {result.source}" for result in results if result.declared}
    yield ""
    for model, source in sorted(sources.items()):
        yield f"{model} declares {source}"


def draw(results: Sequence[Result], path: Path) -> None:
    """Draws measured dates over declared ones, with a diagonal on which both are equal."""
    known = [result for result in results if result.declared and result.whole["verdict"] != "none"]
    marks = [mark for result in known for mark in _marks(result)]
    if marks:
        ends = [point.x for point in marks]
        edges = min(ends), max(ends)
        marks += [Mark("", "equal", end, end, color=SOFT, style={"marker": ""}) for end in edges]
    axes = {"xlabel": "declared by its maker", "ylabel": "measured"}
    message = f"Declared and measured dates: {len(known)} of {len(results)} results have both"
    draw_parts(Figure(panels=[""], columns=1, size=(7, 5), axes=axes), {message: marks}, [path])


def _marks(result: Result) -> Iterator[Mark]:
    row = result.whole
    x = _years(day_of(result.declared))
    style = {"linestyle": "", "marker": {"before": "v", "after": "^"}.get(row["verdict"], "o")}
    day, *ends = (row["date"], row["low"] or row["first_date"], row["high"] or row["last_date"])
    if row["verdict"] != "date":
        day, ends = row["first_date" if row["verdict"] == "before" else "last_date"], []
    y, *spread = (_years(datetime.date.fromisoformat(text)) for text in (day, *ends))
    low, high = spread or (None, None)
    yield Mark("", (result.model, result.way), x, y, low, high, color=INK, style=style)
    yield Mark("", "", x, y, text=result.model, kind="text")


def _years(day: datetime.date) -> float:
    """A day as a year with its part that has passed: 2023.5."""
    begin, end = datetime.date(day.year, 1, 1), datetime.date(day.year + 1, 1, 1)
    return day.year + (day - begin).days / (end - begin).days


def as_json(results: Sequence[Result]) -> Any:
    return json.loads(msgspec.json.encode(results))
