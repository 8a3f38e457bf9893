"""The card of a data set: README.md with the YAML header that the Hugging Face hub and `datasets` read.

Its numbers and figures are computed from the shards beside it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from factdrift.core.errors import InputError
from factdrift.core.figures import KEPT, save, subplots
from factdrift.core.files import read_yaml
from factdrift.core.manifests import warnings
from factdrift.core.paths import CARDS, CITATION
from factdrift.core.tables import database, only_file, sql
from factdrift.core.text import printable
from factdrift.publish.datasets import Dataset, Statistic

LICENCES = ["cc0-1.0", "mit"]
"""Of the facts, and of sentences and selection, as the hub names them."""

_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}


OPEN = "open"
"""The split of items without options."""

_BARS = 20
"""Bars of a figure; the table beside it has all rows."""


@dataclass(frozen=True)
class Table:
    """A table of a folder: `rows` by split, `pattern` of its files with `{split}`, and its description.

    A split without rows has no files. `pages`: name -> Markdown of the tables that describe it.
    """

    name: str
    rows: dict[str, int]
    pattern: str
    schema: pa.Schema
    pages: dict[str, str]
    meanings: dict[str, str]
    """Column -> meaning."""
    nested: dict[str, dict[str, str]]
    """Column -> field of the structs in it -> meaning."""

    @property
    def filled(self) -> list[str]:
        """The splits that have rows."""
        return [split for split, rows in self.rows.items() if rows]

    @property
    def configurations(self) -> dict[str, dict[str, str]]:
        """Name of a configuration -> split -> pattern of files; items without options have their own.

        So the hub, Inspect and `load_dataset` without a name ask items that have options alone.
        """
        splits: dict[str, dict[str, str]] = {}
        for split in self.filled:
            name, own = (f"{self.name}_open", "test") if split == OPEN else (self.name, split)
            splits.setdefault(name, {})[own] = self.pattern.format(split=split)
        return splits


@dataclass(frozen=True)
class Edition:
    """A folder whose tables are written, what they are, and the manifest of their `build`."""

    dataset: Dataset
    folder: Path
    tables: list[Table]
    build: Mapping[str, Any]
    statistics: list[dict[str, Any]]
    """Title, headings and rows of each, and the path of its figure in the folder, or an empty one."""
    facts: dict[str, Any]
    version: str
    """Of factdrift, `+`, and the first twelve digits of the SHA-256 over the checksums of the tables."""
    date: str
    """The day of publication, as the publisher gives it; empty if not."""
    url: str
    """The address of publication, likewise."""

    @property
    def covers(self) -> str:
        """The day, or the first and the last one with a slash between, that the rows are about."""
        return _environment().from_string(self.dataset.covers).render(facts=self.facts, build=self.build)

    @property
    def name(self) -> str:
        """A name for programs, unique within the data set, such as `wfd_repl_2021-01-04_2023-02-27`."""
        return "_".join([self.dataset.folder, *self.covers.split("/")])


def count(dataset: Dataset, folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The statistics and the named facts of a folder with shards; draws the figures.

    Queries read a view `data`: the rows of the first table, with a column `split`. A fact is 0 where its
    query gives null, as shares of no rows do.
    """
    counts = []
    with database() as db:
        shards = sql(f"{only_file(folder)}/{dataset.configs[0].name}/*.parquet")
        split = "regexp_extract(filename, '([^/]*)-[0-9]+-of-[0-9]+[.]parquet$', 1) AS split"
        added = "" if "split" in db.sql(f"SELECT * FROM read_parquet({shards})").columns else f", {split}"
        db.execute(
            f"""CREATE TEMP VIEW data AS SELECT * EXCLUDE (filename){added}
            FROM read_parquet({shards}, filename = true)"""
        )
        for statistic in dataset.statistics:
            rows = db.sql(statistic.query).fetchall()
            figure = _draw(statistic, rows, folder) if statistic.figure and rows else ""
            shown = {"title": statistic.title, "headings": statistic.headings}
            counts.append(shown | {"rows": rows, "figure": figure})
        facts = {name: db.sql(query).fetchall()[0][0] or 0 for name, query in dataset.facts.items()}
    return counts, facts


def _draw(statistic: Statistic, rows: list[tuple[Any, ...]], folder: Path) -> str:
    """Draws the first two columns as horizontal bars; returns the path below the folder."""
    shown = rows[:_BARS][::-1]
    figure, axis = subplots(figsize=(7, 0.7 + 0.28 * len(shown)))
    bars = axis.barh(range(len(shown)), [row[1] for row in shown], color=KEPT)
    axis.bar_label(bars, labels=[f"{row[1]:,}" for row in shown], padding=3, fontsize="small")
    axis.set_yticks(range(len(shown)), [str(row[0]) for row in shown])
    axis.set_title(statistic.title)
    axis.grid(visible=False, axis="y")
    axis.margins(x=0.12)
    name = "".join(char if char.isalnum() else "-" for char in statistic.title.lower()).strip("-")
    path = f"figures/{name}.png"
    save(figure, folder / path)
    return path


def write_card(this: Edition) -> None:
    """Writes FOLDER/README.md from the template of the data set in `resources/cards/`."""
    dataset, tables, folder = this.dataset, this.tables, this.folder
    rows = sum(tables[0].rows.values())
    configurations = [pair for table in tables for pair in table.configurations.items()]
    header = {
        "pretty_name": f"{dataset.title}, {this.covers}",
        "license": LICENCES,
        "language": ["en"],
        "size_categories": [next((name for size, name in _SIZES.items() if rows < size), "n>1M")],
        "task_categories": dataset.tasks,
        "tags": dataset.tags,
        "configs": [
            {"config_name": name}
            | ({} if index else {"default": True})
            | {"data_files": [{"split": split, "path": path} for split, path in splits.items()]}
            for index, (name, splits) in enumerate(configurations)
        ],
    }
    path = folder / "audit.json"
    audit = json.loads(path.read_text("utf-8")) if path.is_file() else {"kinds": []}
    first = min(folder.glob(tables[0].pattern.format(split=tables[0].filled[0])))
    example = pq.ParquetFile(first).read_row_group(0).slice(0, 1).to_pylist()[0]
    text = _environment().get_template(f"{dataset.folder}.md").render(
        vars(this),
        edition=this,
        header=yaml.safe_dump(header, sort_keys=False, allow_unicode=True),
        checks=[kind for kind in audit["kinds"] if kind["dataset"] == dataset.audited],
        unchecked=audit.get("unchecked", {}).get(dataset.audited, {}),
        warnings=list(warnings(this.build)),
        citation=bibtex(this),
        example=json.dumps(_shown(example), indent=1, ensure_ascii=False, default=str),
        files=sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()),
    )  # fmt: skip
    (folder / "README.md").write_text(text, encoding="utf-8")


def filled(template: str, this: Edition, **values: Any) -> str:
    """A template over an edition."""
    return _environment().from_string(template).render(vars(this), edition=this, **values)


def _shown(value: Any) -> Any:
    """A value as the example has it: no control characters, two elements of a list and how many more."""
    if isinstance(value, dict):
        return {name: _shown(inner) for name, inner in value.items()}
    if isinstance(value, list):
        more = [f"… {len(value) - 2:,} more"] if len(value) > 2 else []
        return [*map(_shown, value[:2]), *more]
    return printable(value[:200]) if isinstance(value, str) else value


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(CARDS),
        autoescape=False,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"cell": cell}
    return environment


def cell(value: Any) -> str:
    """A value in a table of Markdown: numbers with separators, text as it is written, on one line.

    Labels come from dumps that anybody can edit, so that a text is no markup, no HTML and no link: signs are
    escaped, and a word joiner breaks addresses, which Markdown would link by themselves.
    """
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3g}"
    text = re.sub(r"([\\`*_\[\]|~$&])", r"\\\1", " ".join(printable(str(value)).split()))
    text = text.replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"(?i)(:)(?=//)|(www)(?=\.)|(@)", lambda match: f"{match[0]}\u2060", text)


def bibtex(this: Edition) -> str:
    """BibTeX of a data set, of the software and of its papers; the latter from CITATION.cff.

    Raises InputError if CITATION.cff lacks a paper.
    """
    own = read_yaml(CITATION)
    data = {
        "title": f"{this.dataset.title}: {this.covers}",
        "authors": own["authors"],
        "year": this.date[:4],
        "date": this.date,
        "url": this.url,
        "notes": f"version {this.version}, made from Wikidata with factdrift",
    }
    entries = [_entry("misc", this.name, data)]
    entries.append(_entry("software", "factdrift", own | {"notes": f"version {own['version']}"}))
    for beginning in this.dataset.cites:
        paper = next((work for work in own["references"] if work["title"].startswith(beginning)), None)
        if paper is None:
            raise InputError(f"{CITATION}: no reference has a title that begins with {beginning!r}")
        kind = "inproceedings" if paper["type"] == "conference-paper" else "misc"
        name = paper["authors"][0]["family-names"].split()[0].lower()
        entries.append(_entry(kind, f"{name}{paper.get('year', '')}", paper))
    return "\n\n".join(entries)


def _entry(kind: str, key: str, work: Mapping[str, Any]) -> str:
    fields = {
        "title": f"{{{work['title']}}}",
        "author": " and ".join(
            f"{{{author['name']}}}"
            if "name" in author
            else ", ".join(author[part] for part in ("family-names", "given-names") if part in author)
            for author in work["authors"]
        ),
        "booktitle": work.get("collection-title"),
        **{name: work.get(name) for name in ("year", "date", "url")},
        "note": work.get("notes"),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"
