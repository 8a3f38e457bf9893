"""The parts of the page: tables, figures and texts, each with the file and the command that it comes from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from markupsafe import Markup

from factdrift.core.errors import InputError

HEIGHT = 220.0
"""Pixels of a figure of columns, without its axis."""


@dataclass(frozen=True)
class Source:
    """A file of the build, relative to the folder of the page, and the command that gives it."""

    path: str
    command: str

    @property
    def anchor(self) -> str:
        """The name of its row in the page's list of files."""
        return "file-" + "".join(char if char.isalnum() else "-" for char in self.path)


@dataclass(frozen=True)
class Table:
    """A table that can be sorted, and filtered where it is long.

    `columns`: heading -> kind of the cells: `text`, `number`, `share`, `bytes`, `seconds`, or `interval` (a
    mean and half of its interval). `folded`: shown once it is asked for.
    """

    title: str
    columns: Mapping[str, str]
    rows: Sequence[Sequence[Any]]
    source: Source
    note: str = ""
    folded: bool = False
    kind: str = field(default="table", init=False)


@dataclass(frozen=True)
class Bars:
    """Amounts as horizontal bars: label, amount and the colour (`new`, `obsolete`, `static`, `plain`)."""

    title: str
    rows: Sequence[tuple[str, float, str]]
    source: Source
    note: str = ""
    kind: str = field(default="bars", init=False)

    @property
    def largest(self) -> float:
        return max((amount for _, amount, _ in self.rows), default=0) or 1


@dataclass(frozen=True)
class Columns:
    """Amounts as vertical columns over an axis: what is above the line, and below it if anything is.

    `ticks`: position (0 to the number of columns) and text of the marks of the axis. `names`: what the
    amounts above and below are, which have one scale. `tones`: the colours above and below, as in `Bars`.
    """

    title: str
    labels: Sequence[str]
    above: Sequence[int]
    below: Sequence[int]
    ticks: Sequence[tuple[float, str]]
    names: Sequence[str]
    axis: str
    source: Source
    note: str = ""
    tones: tuple[str, str] = ("new", "obsolete")
    kind: str = field(default="columns", init=False)

    @property
    def largest(self) -> tuple[int, int]:
        """The largest amounts above and below the line."""
        return max(self.above, default=0), max(self.below, default=0)

    @property
    def heights(self) -> tuple[float, float]:
        """Pixels of the parts above and below the line."""
        above, below = self.largest
        if not below:
            return HEIGHT, 0
        share = above / (above + below)
        return HEIGHT * share, HEIGHT * (1 - share)


@dataclass(frozen=True)
class Picture:
    """A figure that a job has drawn, as the text of its SVG file."""

    title: str
    svg: Markup
    source: Source
    note: str = ""
    kind: str = field(default="picture", init=False)


@dataclass(frozen=True)
class Text:
    """A table that a job has written as text."""

    title: str
    text: str
    source: Source
    note: str = ""
    kind: str = field(default="text", init=False)


@dataclass(frozen=True)
class Cards:
    """Updates in words: records of the dataset."""

    title: str
    records: Sequence[Mapping[str, Any]]
    source: Source
    note: str = ""
    kind: str = field(default="cards", init=False)


Block = Table | Bars | Columns | Picture | Text | Cards


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading of its own and a sentence about what it shows."""

    name: str
    title: str
    lead: str
    blocks: Sequence[Block]


def table(
    title: str,
    columns: Mapping[str, str],
    frame: pd.DataFrame,
    source: Source,
    note: str = "",
    folded: bool = False,
) -> Table:
    """A table of a frame, whose columns get the given headings and kinds in their order."""
    rows = [[_cell(cell) for cell in row] for row in frame.itertuples(index=False)]
    return Table(title, columns, rows, source, note, folded)


def picture(title: str, path: Path, source: Source) -> Picture:
    """The figure in an SVG file. Raises InputError if anything in it could run or load."""
    svg = path.read_text(encoding="utf-8")
    low = svg.lower()
    if "<script" in low or "javascript:" in low or "<foreignobject" in low:
        raise InputError(f"{path}: has a script in it; make it again")
    return Picture(title, Markup(svg[svg.index("<svg") :]), source)


def text(title: str, path: Path, source: Source) -> Text:
    """The table in a text file."""
    return Text(title, path.read_text(encoding="utf-8").rstrip(), source)


def _cell(value: Any) -> Any:
    return None if not isinstance(value, tuple) and pd.isna(value) else value


@dataclass(frozen=True)
class Build:
    """The results of a pair of dates: `results/`, the folder of the pair in it, and the folder of logs."""

    results: Path
    pair: Path
    logs: Path

    @property
    def dataset(self) -> Path:
        """The table of all updates."""
        return self.pair / "wikifactdiff.parquet"

    def product(self, name: str, folder: str = "") -> Path | None:
        """A file of the pair, if it has been built; `folder` is the part of the pair's folder that has it."""
        path = self.pair / folder / name
        return path if path.is_file() else None

    def source(self, path: Path, target: str = "") -> Source:
        """Where a file is, seen from the page in `results/`, and the command that builds it.

        `target`: the name that users build, where that is another than the file's. Raises InputError if the
        file is in another folder.
        """
        try:
            relative = path.absolute().relative_to(self.results.absolute()).as_posix()
        except ValueError:
            raise InputError(
                f"{path}: is not below {self.results}, the folder of the page that links to it; copy it there"
            ) from None
        return Source(relative, f"snakemake --cores all results/{target or path.name}")
