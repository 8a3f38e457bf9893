"""Results of `factdrift cutoff -o RESULT.json`, and a board of many: declared and measured dates."""

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
from factdrift.evaluation.scores.cutoff_report import day_of, interval, short


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """The date of a model in one way."""

    model: str
    way: str
    declared: str
    """By its maker; empty if there is none, and its source, too, if that is unknown."""
    source: str
    chains: str
    """The name of their file, whose SHA-256 is `digest`."""
    digest: str
    dates: list[dict[str, Any]]
    """Rows of TABLE."""

    @property
    def whole(self) -> Row:
        """The plain row of all chains; of a model that answers about deaths only, that of the deaths."""
        return next((row for row in self.dates if row["subset"] == "all"), self.dates[0])


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
    Column("way", lambda row: Cell(row.get("way") or "")),
    Column("declared", lambda row: Cell(row.get("declared", ""))),
    Column("measured", lambda row: Cell(short(row))),
    Column("95 % interval", lambda row: Cell(interval(row))),
    Column("latest", lambda row: Cell(row.get("latest") or "")),
    Column("chains", lambda row: Cell(row.get("digest", ""))),
)


def lines(results: Sequence[Result]) -> Iterator[str]:
    """The board as a table, in which wordings follow the whole, then the sources of the declared dates."""
    board = []
    for result in results:
        about = {
            "declared": result.declared or ("none" if result.source else "unknown"),
            "digest": result.digest[:8],
        }
        board.append(Line(result.model, {**result.whole, **about, "way": result.way}))
        wordings = (row for row in result.dates if row["subset"] == "wording")
        board += [Line(f"  wording {row['value']}", {**row, "way": ""}) for row in wordings]
    yield from table("", COLUMNS, board)
    dates = {result.model: (result.declared or "no date", result.source) for result in results}
    yield ""
    yield from (
        f"{model} declares {date}: {source}" for model, (date, source) in sorted(dates.items()) if source
    )


def draw(results: Sequence[Result], path: Path) -> None:
    """Draws measured dates over declared dates, with a diagonal on which both are equal."""
    known = [result for result in results if result.declared and result.whole["verdict"] != "none"]
    marks = [mark for result in known for mark in _marks(result)]
    ends = sorted(point.x for point in marks)
    diagonal = dict.fromkeys((*ends[:1], *ends[-1:]))
    marks += [Mark("", "equal", end, end, color=SOFT, style={"marker": ""}) for end in diagonal]
    axes = {"xlabel": "declared by its maker", "ylabel": "measured"}
    message = f"Declared and measured dates: {len(known)} of {len(results)} results have both"
    draw_parts(Figure(panels=[""], columns=1, size=(7, 5), axes=axes), {message: marks}, [path])


def _marks(result: Result) -> Iterator[Mark]:
    row, x = result.whole, _years(result.declared)
    first, last = _years(row["first_date"]), _years(row["last_date"])
    known = {"before": (first, "v"), "after": (last, "^")}
    y, marker = known.get(row["verdict"]) or (_years(row["date"]), "o")
    low, high = (_years(row[end]) if row[end] else None for end in ("low", "high"))
    if row["verdict"] == "date":
        low, high = low or first, high or last
    style = {"linestyle": "", "marker": marker}
    yield Mark("", (result.model, result.way), x, y, low, high, color=INK, style=style)
    yield Mark("", "", x, y, text=result.model, kind="text")


def _years(text: str) -> float:
    """A date as a year with its part that has passed: 2023.5."""
    day = day_of(text)
    return day.year + (day.timetuple().tm_yday - 1) / 366
