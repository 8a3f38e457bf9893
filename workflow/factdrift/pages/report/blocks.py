"""The parts of the page: tables, figures and texts, each with the file and the command that it comes from."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from factdrift.core.errors import InputError
from factdrift.core.manifests import read_manifest
from factdrift.core.products import product_of
from factdrift.core.tables import sql
from factdrift.pages import Axis, chart


class Provenance(NamedTuple):
    """A file of the build, relative to the folder of the page, and the command that gives it."""

    path: str
    command: str

    @property
    def anchor(self) -> str:
        """The name of its row in the page's list of files."""
        return "file-" + "".join(char if char.isalnum() else "-" for char in self.path)


class Block(NamedTuple):
    """A figure of a section. `shown` is what the macro `kind` of `blocks.html` draws.

    `table`: see `table`. `bars`: label, amount and colour (`new`, `obsolete`, `static`, `plain`) of each.
    `columns`: see `columns`. `picture`: an SVG file. `text`: a text. `cards`: records of the dataset, with
    the rules that decided where the cards are `folded`, that is, shown once they are asked for.
    """

    kind: str
    title: str
    shown: Any
    source: Provenance
    note: str = ""
    folded: bool = False


class Section(NamedTuple):
    """A part of the page with a heading of its own and a sentence about what it shows.

    `open`: shown at once; the others are asked for.
    """

    name: str
    title: str
    lead: str
    blocks: Sequence[Block]
    open: bool = False


Parts = tuple[str, list[Block]]
"""Lead and blocks of a section, which is left out if it has no block."""


def table(
    title: str,
    columns: str,
    rows: Iterable[Iterable[Any]],
    source: Provenance,
    note: str = "",
    folded: bool = False,
) -> Block:
    """A table that can be sorted, and filtered where it is long.

    `columns`: headings, as `subject; updates: number`, each with the kind of its cells: `number`, `share`,
    `bytes`, `seconds`, `interval` (a mean and half of its interval), or, where none is named, `text`.
    `folded`: shown once it is asked for.
    """
    kinds = {}
    for column in columns.split("; "):
        heading, _, kind = column.partition(": ")
        kinds[heading] = kind or "text"
    # What is missing in a frame of pandas is the number that does not equal itself.
    cells = [[cell if cell == cell else None for cell in row] for row in rows]
    return Block("table", title, {"columns": kinds, "rows": cells}, source, note, folded)


def columns(
    title: str,
    bars: Sequence[tuple[str, int, int]],
    axis: Axis,
    names: Mapping[str, str],
    source: Provenance,
    note: str = "",
    records: Mapping[str, Sequence[Any]] | None = None,
) -> Block:
    """A chart of columns, see `chart`. `records`: label -> records of the dataset, which are shown once their
    column is chosen, first those of the highest one.
    """
    links = {label: f"#in-{label}" for label in records or {}}
    return Block("columns", title, chart(bars, axis, names, links) | {"records": records or {}}, source, note)


def picture(title: str, path: Path, source: Provenance) -> Block:
    """The figure in an SVG file. Raises InputError if anything in it could run or load."""
    svg = path.read_text(encoding="utf-8")
    low = svg.lower()
    if "<script" in low or "javascript:" in low or "<foreignobject" in low:
        raise InputError(f"{path}: has a script in it; make it again")
    return Block("picture", title, Markup(svg[svg.index("<svg") :]), source)


def text(title: str, path: Path, source: Provenance) -> Block:
    """The table that a job has written as text, which is shown once it is asked for."""
    return Block("text", title, path.read_text(encoding="utf-8").rstrip(), source, folded=True)


@dataclass(frozen=True)
class Build:
    """The results of a pair of dates: `results/`, the folder of the pair in it, and the folder of logs.

    `stream`: the table of a sequence of dates, and `cutoff` that of the dates of models, if the page is to
    have a section about them.
    """

    results: Path
    pair: Path
    logs: Path
    stream: Path | None = None
    cutoff: Path | None = None

    @property
    def dataset(self) -> Path:
        """The table of all updates."""
        return self.pair / "wikifactdiff.parquet"

    @property
    def numbered(self) -> str:
        """SQL: the rows of that table, with their numbers."""
        return f"(SELECT *, row_number() OVER () AS place FROM read_parquet({sql(self.dataset)}))"

    @cached_property
    def manifest(self) -> dict[str, Any]:
        return read_manifest(self.pair / "manifest.json")

    @cached_property
    def stats(self) -> dict[str, Any]:
        """The counts of both datasets."""
        counts: dict[str, Any] = json.loads((self.pair / "wikifactdiff.stats.json").read_text("utf-8"))
        return counts

    def product(self, name: str, folder: str = "") -> Path | None:
        """A file of the pair, if it has been built; `folder` is the part of the pair's folder that has it."""
        path = self.pair / folder / name
        return path if path.is_file() else None

    def source(self, path: Path, target: str = "") -> Provenance:
        """Where a file is, seen from the page in `results/`, and the command that builds it.

        `target`: the product that users build, where that is another than the file. Raises InputError if the
        file is in another folder, or if there is no such product.
        """
        try:
            relative = path.absolute().relative_to(self.results.absolute()).as_posix()
        except ValueError:
            raise InputError(
                f"{path}: is not below {self.results}, the folder of the page that links to it; copy it there"
            ) from None
        name = target or path.name
        return Provenance(relative, f"snakemake --cores all results/{product_of(name) and name}")
