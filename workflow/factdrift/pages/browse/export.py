"""The explorer as files: pages that work from a folder or any web server, without factdrift."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder
from factdrift.core.progress import Progress
from factdrift.pages.browse.build import Build
from factdrift.pages.browse.pages import LISTED, Pages, script, style
from factdrift.pages.browse.search import ALL, Chosen, Index
from factdrift.pages.browse.subjects import Tables
from factdrift.wikidata.ids import entity_id
from factdrift.wikidata.text import folded, printable

MOST = 20_000
"""Updates of a build that is exported; a larger one is for the server."""

BLOCK = 500
"""Subjects that are read at once."""

ROWS = 400
"""Rows of statements on a subject's page."""


class FileLinks:
    """Names of files. `ids`: the entities that have a page."""

    static = True

    def __init__(self, ids: set[str]):
        self._ids = ids

    def home(self, number: int = 1, chosen: Chosen = ALL) -> str:
        return "index.html" if number == 1 else f"index-{number}.html"

    def entity(self, id: str, number: int = 1, chosen: Chosen = ALL) -> str | None:
        if id not in self._ids:
            return None
        return f"{id}.html" if number == 1 else f"{id}-{number}.html"

    def searched(self) -> str:
        return "names.html"

    def relation(self, subject: str, relation: str) -> str | None:
        return None


def export(build: Build, index: Index, db: duckdb.DuckDBPyConnection, folder: Path) -> int:
    """Writes a page for every subject with an update, their relations and classes; returns how many.

    Raises InputError if there are more than MOST updates, or if the folder has files that are no earlier
    explorer's.
    """
    whole = sum(index.scenarios().values())
    if whole > MOST:
        raise InputError(
            f"{build.dataset}: {whole:,} updates; files are written for up to {MOST:,}: use "
            "`factdrift browse`, or build fewer with the key `only`"
        )
    subjects, relations, classes = (index.with_updates(kind) for kind in ("subject", "relation", "class"))
    named = index.names([*subjects, *classes, *(-number for number in relations)])
    links = FileLinks({entity_id(number) for number in named})
    pages = Pages(Tables(build, db), links, ROWS)
    with new_folder(folder) as made:
        progress = Progress("explorer", len(named), "pages")
        number = 0

        def write(name: str, text: str) -> None:
            nonlocal number
            (made / name).write_text(text, encoding="utf-8")
            number += 1

        for page in range(1, max(1, -(-whole // LISTED)) + 1):
            write(links.home(page), pages.home(index, number=page))
        others = [*(-number for number in relations), *(each for each in classes if each in named)]
        chosen = set(subjects)
        for row in (named[each] for each in others if each in named and each not in chosen):
            for name, text in _numbered(pages, index, links, row, None):
                write(name, text)
            progress.advance()
        for block in _blocks(build, subjects):
            for id, subject in pages.tables.read(block).items():
                if id in named:
                    for name, text in _numbered(pages, index, links, named[id], subject):
                        write(name, text)
                progress.advance()
        write(links.searched(), pages.names(named.values()))
        write("explorer.css", style())
        write("explorer.js", script())
        write("search.js", _search(named.values()))
        progress.say()
    return number


def _blocks(build: Build, subjects: list[int]) -> Iterator[list[int]]:
    for group in build.by_bucket(subjects):
        for start in range(0, len(group), BLOCK):
            yield group[start : start + BLOCK]


def _numbered(
    pages: Pages, index: Index, links: FileLinks, row: Any, subject: Any
) -> Iterator[tuple[str, str]]:
    """Names and texts of an entity's pages: the first, and those of its list of updates."""
    of = {"relation": -row["id"]} if row["id"] < 0 else {"of": row["id"]}
    listed = sum(index.scenarios(**of).values())
    for number in range(1, max(1, -(-listed // LISTED)) + 1):
        name = links.entity(entity_id(row["id"]), number)
        assert name is not None
        yield name, pages.entity(index, row, subject, number=number)


def _search(named: Any) -> str:
    """The names as a script, since pages in files cannot fetch.

    A row is id, label, kind, updates, folded label, and the folded aliases, which are on a line each.
    """
    rows = []
    for row in sorted(
        named, key=lambda row: (-row["popularity"] if row["id"] > 0 else -row["updates"], abs(row["id"]))
    ):
        label = printable(row["label"][:160])
        aliases = "\n".join(printable(folded(each)) for each in (row["aliases"] or "").splitlines())
        rows.append([entity_id(row["id"]), label, row["kind"], row["updates"], folded(label), aliases])
    # `<` is escaped for whoever puts the script into a page.
    text = json.dumps(rows, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return f'"use strict";\nwindow.factdrift = {{ names: {text} }};\n'
