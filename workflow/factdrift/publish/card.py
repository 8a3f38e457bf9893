"""The card of a data set: README.md with the YAML header that the Hugging Face hub and `datasets` read."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml, sha256_of_all
from factdrift.core.manifests import warnings
from factdrift.core.paths import CARDS, CITATION
from factdrift.publish.datasets import Dataset
from factdrift.publish.fields import Page
from factdrift.publish.statistics import Counted
from factdrift.wikidata.text import printable

LICENCES = ["cc0-1.0", "mit"]
"""Of the facts, and of sentences and selection, as the hub names them."""

_SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M"}


@dataclass(frozen=True)
class Table:
    """A table of a folder: `rows` by split, `pattern` of its files with `{split}`, and its description.

    A split without rows has no files.
    """

    name: str
    rows: dict[str, int]
    pattern: str
    schema: pa.Schema
    pages: list[Page]
    meanings: dict[str, str]
    """Column -> meaning."""
    nested: dict[str, dict[str, str]]
    """Column -> field of the structs in it -> meaning."""

    @property
    def filled(self) -> list[str]:
        """The splits that have rows."""
        return [split for split, rows in self.rows.items() if rows]


@dataclass(frozen=True)
class Edition:
    """The coverage, version and date of a folder, unique within its data set."""

    covers: str
    """The day, or the first and the last one with a slash between, that the rows are about."""
    version: str
    """Of factdrift, `+`, and the first twelve digits of the SHA-256 over the checksums of the tables."""
    date: str = ""
    """The day of publication, as the publisher gives it; empty if not."""
    url: str = ""
    """The address of publication, likewise."""

    def name(self, dataset: Dataset) -> str:
        """A name for programs, such as `wfd_repl_2021-01-04_2023-02-27`."""
        return "_".join([dataset.folder, *self.covers.split("/")])


def edition(
    dataset: Dataset, facts: Mapping[str, Any], build: Mapping[str, Any], folder: Path, date: str, url: str
) -> Edition:
    """The edition of a folder whose tables are written; `facts`: of its statistics."""
    whole = sha256_of_all(sorted(folder.rglob("*.parquet")))
    covers = _environment().from_string(dataset.covers).render(facts=facts, build=build)
    return Edition(covers, f"{build['versions']['factdrift']}+{whole[:12]}", date, url)


def write_card(
    dataset: Dataset,
    tables: Sequence[Table],
    statistics: Sequence[Counted],
    facts: Mapping[str, Any],
    build: Mapping[str, Any],
    this: Edition,
    folder: Path,
) -> None:
    """Writes FOLDER/README.md from the template of the data set in `resources/cards/`."""
    rows = sum(tables[0].rows.values())
    header = {
        "pretty_name": f"{dataset.title}, {this.covers}",
        "license": LICENCES,
        "language": ["en"],
        "size_categories": [next((name for size, name in _SIZES.items() if rows < size), "n>1M")],
        "task_categories": dataset.tasks,
        "tags": dataset.tags,
        "configs": [_config(table, place == 0) for place, table in enumerate(tables)],
    }
    text = _environment().get_template(f"{dataset.folder}.md").render(
        dataset=dataset,
        header=yaml.safe_dump(header, sort_keys=False, allow_unicode=True),
        tables=tables,
        statistics=statistics,
        facts=facts,
        build=build,
        edition=this,
        **_audit(dataset, folder),
        warnings=list(warnings(build)),
        citation=bibtex(dataset, this),
        example=json.dumps(_shown(_first(folder, tables[0])), indent=1, ensure_ascii=False, default=str),
        files=sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()),
    )  # fmt: skip
    (folder / "README.md").write_text(text, encoding="utf-8")


def _first(folder: Path, table: Table) -> dict[str, Any]:
    """The first row of a table."""
    split = next(iter(table.filled))
    path = min(folder.glob(table.pattern.format(split=split)))
    return dict(pq.ParquetFile(path).read_row_group(0).slice(0, 1).to_pylist()[0])


def _shown(value: Any) -> Any:
    """A value as the example has it: no control characters, two elements of a list and how many more."""
    if isinstance(value, dict):
        return {name: _shown(each) for name, each in value.items()}
    if isinstance(value, list):
        more = [f"… {len(value) - 2:,} more"] if len(value) > 2 else []
        return [*map(_shown, value[:2]), *more]
    return printable(value[:200]) if isinstance(value, str) else value


def _audit(dataset: Dataset, folder: Path) -> dict[str, Any]:
    """Of the audit, if the folder has one: `checks` of these rows by kind, what is `unchecked`, and why."""
    path = folder / "audit.json"
    account = json.loads(path.read_text("utf-8")) if path.is_file() else {"kinds": []}
    return {
        "checks": [kind for kind in account["kinds"] if kind["dataset"] == dataset.audited],
        "unchecked": account.get("unchecked", {}).get(dataset.audited, {}),
    }


def _config(table: Table, default: bool) -> dict[str, Any]:
    files = [{"split": split, "path": table.pattern.format(split=split)} for split in table.filled]
    return {"config_name": table.name} | ({"default": True} if default else {}) | {"data_files": files}


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


def bibtex(dataset: Dataset, this: Edition) -> str:
    """BibTeX of a data set, of the software and of its papers; the latter from CITATION.cff.

    Raises InputError if CITATION.cff lacks a paper.
    """
    own = read_yaml(CITATION)
    data = {
        "title": f"{dataset.title}: {this.covers}",
        "authors": own["authors"],
        "year": this.date[:4],
        "date": this.date,
        "url": this.url,
        "notes": f"version {this.version}, made from Wikidata with factdrift",
    }
    entries = [_entry("misc", this.name(dataset), data)]
    entries.append(_entry("software", "factdrift", own | {"notes": f"version {own['version']}"}))
    for beginning in dataset.cites:
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
        "author": " and ".join(_author(author) for author in work["authors"]),
        "booktitle": work.get("collection-title"),
        "year": work.get("year"),
        "date": work.get("date"),
        "url": work.get("url"),
        "note": work.get("notes"),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return f"@{kind}{{{key},\n" + ",\n".join(lines) + "\n}"


def _author(author: Mapping[str, str]) -> str:
    if "name" in author:
        return f"{{{author['name']}}}"
    return ", ".join(author[part] for part in ("family-names", "given-names") if part in author)
