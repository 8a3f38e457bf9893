"""The explorer as files: pages that work from a folder or any web server, without factdrift."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.owned import new_folder
from factdrift.core.progress import Progress
from factdrift.pages.browse.build import Build, Row, Subject, Tables, buckets_of
from factdrift.pages.browse.pages import LISTED, Links, Pages, script, style
from factdrift.pages.browse.search import Index
from factdrift.wikidata.ids import entity_id
from factdrift.wikidata.text import folded, printable

MOST = 20_000
"""Updates of a build that is exported; a larger one is for the server."""

BLOCK = 500
"""Subjects that are read at once."""

ROWS = 400
"""Rows of statements on a subject's page."""


def export(build: Build, index: Index, db: duckdb.DuckDBPyConnection, folder: Path) -> int:
    """Writes a page for every subject with an update, their relations and classes; returns how many files.

    Raises InputError if there are more than MOST updates, or if the folder has files that are no earlier
    explorer's.
    """
    whole = sum(index.scenarios().values())
    if whole > MOST:
        raise InputError(
            f"{build.dataset}: {whole:,} updates; files are written for up to {MOST:,}: use "
            "`factdrift browse`, or build fewer with the key `only`"
        )
    number = 0
    with new_folder(folder) as made:
        for name, text in _files(Tables(build, db), index, whole):
            (made / name).write_text(text, encoding="utf-8")
            number += 1
    return number


def _files(tables: Tables, index: Index, whole: int) -> Iterator[tuple[str, str]]:
    """Yields names and texts of all files. `whole`: the number of updates."""
    subjects, relations, classes = (index.with_updates(kind) for kind in ("subject", "relation", "class"))
    named = index.names([*subjects, *classes, *(-number for number in relations)])
    progress = Progress("explorer", len(named), "pages")
    links = Links({entity_id(number) for number in named})
    pages = Pages(tables, index, links, ROWS)

    def of_entity(id: int, subject: Subject | None) -> Iterator[tuple[str, str]]:
        """The first page of an entity, and those of its list of updates."""
        listed = sum(index.scenarios(**({"relation": -id} if id < 0 else {"of": id})).values())
        for number in range(1, max(1, -(-listed // LISTED)) + 1):
            name = links.entity(entity_id(id), number)
            assert name is not None
            yield name, pages.entity(named[id], subject, number=number)

    for number in range(1, max(1, -(-whole // LISTED)) + 1):
        yield links.home(number), pages.home(number=number)
    chosen = set(subjects)
    for id in (*(-number for number in relations), *(each for each in classes if each not in chosen)):
        if id in named:
            yield from of_entity(id, None)
            progress.advance()
    buckets: dict[int, list[int]] = defaultdict(list)
    divided = buckets_of(tables.build.pair / "updates")
    for id in subjects:
        buckets[id % divided].append(id)
    for bucket in buckets.values():
        for start in range(0, len(bucket), BLOCK):
            for id, subject in tables.read(bucket[start : start + BLOCK]).items():
                if id in named:
                    yield from of_entity(id, subject)
                progress.advance()
    yield "names.html", pages.names(named.values())
    yield "explorer.css", style()
    yield "explorer.js", script()
    yield "search.js", _search(named.values())
    progress.say()


def _search(named: Iterable[Row]) -> str:
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
