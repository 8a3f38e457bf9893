"""The pages of the explorer as HTML: the same for the server and for files.

The files work from a folder or any web server, without factdrift.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import duckdb

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.manifests import read_manifest
from factdrift.core.owned import new_folder
from factdrift.core.progress import Progress
from factdrift.core.text import folded, printable
from factdrift.pages import DAY, Axis, chart, environment, meanings, packaged, palette, periods, shown, ticks
from factdrift.pages.browse.build import MOST, Build, Subject, Tables, buckets_of
from factdrift.pages.browse.search import ALL, CLASS, RELATION, SUBJECT, Chosen, Index
from factdrift.pages.browse.summary import sentences
from factdrift.pages.browse.view import Relation, indexed, on_axis, time_line
from factdrift.wikidata.ids import entity_id, is_made_up, page, property_id

LISTED = 50
"""Updates on a page of a list."""

ROWS = 150
"""Rows of statements that a subject's page has at once; relations beyond are loaded when they are opened."""

ROWS_IN_FILES = 400
"""The same of a page in a file, which says how many it leaves out."""

BLOCK = 500
"""Subjects that are read at once for files."""

KINDS = {RELATION: "relations", SUBJECT: "subjects", CLASS: "classes"}
"""Kind of a name -> the heading above all names of it."""

OPEN = 12
"""Rows of a relation that are shown before the others are asked for; what changed comes first."""

STAGES = (
    ("preprocess_old", "Statements of the old dump, by filter", "filter"),
    ("preprocess_new", "Statements of the new dump, by filter", "filter"),
    ("difference", "Triples, by the dumps that have them", "difference"),
    ("rules", "Triples, by the rule that decided", "rule"),
    ("labels", "Triples, by label", "label"),
    ("groups", "Triples, by what kept them out of the dataset", "step"),
    ("scenarios", "Triples in the dataset, by scenario of their update", "scenario"),
    ("wfd_repl", "Triples in the dataset, by whether wfd_repl has them", "selection"),
)
"""Stage of the funnel, heading, and the kind of its reasons in `resources/steps.tsv`."""


def _labels(decision: str) -> tuple[str, str]:
    """The objects of a decision as SQL and as pandas."""
    chosen = f"list_filter(objects, lambda x: x.decision = '{decision}')"
    return (
        f"array_to_string(list_transform({chosen}, lambda x: x.label), '; ')",
        "rows['objects'].map(lambda objects: '; '.join("
        f"x['label'] for x in objects if x['decision'] == '{decision}'))",
    )


COLUMNS = {
    "day": (
        f"coalesce({DAY}, '')",
        "rows['objects'].map(lambda objects: min([x[name] for x in objects if x['decision'] == 'new' "
        "for name in ('start', 'point_in_time') if (x[name] or '')[:4].isdigit()] or [x['end'] "
        "for x in objects if x['decision'] == 'obsolete' and (x['end'] or '')[:4].isdigit()] or [''])[:10])",
    ),
    "subject": ("subject.label", "rows['subject'].str['label']"),
    "relation": ("relation.label", "rows['relation'].str['label']"),
    "obsolete": _labels("obsolete"),
    "new": _labels("new"),
    "scenario": ("scenario", "rows['scenario']"),
    "split": ("split", "rows['split']"),
}
"""Column of the page -> its text as SQL and as pandas, of the rows of the dataset."""


class Links:
    """Where pages are, relative to each other; all lie in one folder. A list has pages, numbered from 1.

    `ids`: the entities that have a page in files; None for the pages of the server, which has one of each.
    """

    def __init__(self, ids: set[str] | None = None):
        self.static = ids is not None
        self._ids = ids or set()

    def home(self, number: int = 1, chosen: Chosen = ALL) -> str:
        name = chosen.period or "index"
        return self._page(name, number) if self.static else f"./{_query(number, chosen)}"

    def table(self, **filters: str) -> str:
        """The table of all updates, with texts that its columns hold."""
        name = "table.html" if self.static else "table"
        return f"{name}#{urlencode(filters)}" if filters else name

    def entity(self, id: str, number: int = 1, chosen: Chosen = ALL) -> str | None:
        """The page of an entity; None if there is none."""
        if not self.static:
            return f"{id}{_query(number, chosen)}"
        return self._page(id, number) if id in self._ids else None

    def _page(self, name: str, number: int) -> str:
        return f"{name}.html" if number == 1 else f"{name}-{number}.html"


def _query(number: int, chosen: Chosen) -> str:
    parameters = {name: value for name, value in chosen._asdict().items() if value}
    parameters |= {"page": str(number)} if number > 1 else {}
    return f"?{urlencode(parameters)}" if parameters else ""


class Pages:
    """Renders pages of one build."""

    def __init__(self, tables: Tables, index: Index, links: Links, most_rows: int = ROWS):
        self.tables, self.build, self.index, self.links = tables, tables.build, index, links
        account = self.build.table("manifest.json")
        samples = read_manifest(account)["sample"].values() if account else ()
        made = environment("factdrift.pages.browse")
        made.globals |= {"links": links, "build": self.build, "sample": next(iter(samples), None)}
        made.globals |= {"rows_at_once": most_rows, "rows_open": OPEN}
        made.globals |= {"on_axis": on_axis, "summary": sentences, "meanings": meanings(), "stages": STAGES}
        of_ids = {"entity_id": entity_id, "property_id": property_id, "is_made_up": is_made_up}
        made.globals |= of_ids | {"wikidata": page}
        self._templates = made
        self._sentences = self._grouped("templates.parquet", "property, template, source", "property", "rank")
        self._counts = self._grouped(
            "funnel.parquet", "relation, stage, reason, triples", "relation", "stage, triples DESC, reason"
        )

    def _grouped(self, table: str, columns: str, key: str, order: str) -> Mapping[Any, list[Row]]:
        """The rows of a small table of the pair by a column; none if it has not been built."""
        groups: dict[Any, list[Row]] = defaultdict(list)
        if path := self.build.table(table):
            for row in self.tables.rows(path, columns, f"true ORDER BY {key}, {order}"):
                groups[row[key]].append(row)
        return groups

    def _render(self, name: str, **values: Any) -> str:
        return self._templates.get_template(name).render(**values)

    def home(self, chosen: Chosen = ALL, number: int = 1) -> str:
        """The first page: the search, and the most popular updates, all or those that are chosen."""
        listed = self._listed(chosen, number)
        line = self._time_line()
        return self._render("home.html", relations=self.index.top_relations(12), line=line, **listed)

    def _time_line(self) -> dict[str, Any] | None:
        """The chart of all updates by month or year, each of which leads to its list; None without dates."""
        names = periods(self.build.old, self.build.new)
        length = len(names[0])
        dated = self.index.periods(length)
        bars = [(name, dated.get(name, 0), 0) for name in names]
        if not any(number for _, number, _ in bars):
            return None
        axis = Axis("month" if length > 4 else "year", list(ticks(names)), "updates")
        links = {name: self.links.home(1, Chosen(period=name)) for name, number, _ in bars if number}
        return chart(bars, axis, {"updates": "plain"}, links)

    def table(self) -> str:
        """The page of the table of all updates, whose rows its script loads."""
        return self._render("table.html")

    def _listed(self, chosen: Chosen, number: int, **of: int) -> dict[str, Any]:
        scenarios = self.index.scenarios(**of, chosen=chosen)
        whole = scenarios.get(chosen.scenario, 0) if chosen.scenario else sum(scenarios.values())
        updates = self.index.updates((number - 1) * LISTED, LISTED, chosen=chosen, **of)
        names = self.index.names(key for row in updates for key in (row["subject"], -row["relation"]))
        listed = {"updates": updates, "names": names, "scenarios": scenarios, "chosen": chosen}
        return listed | {"number": number, "pages": max(1, -(-whole // LISTED))}

    def results(self, text: str, part: bool) -> str:
        """What a search finds, as a page or as the part of one."""
        matches, meant = self.index.search(text), None
        if not any(matches.values()) and (meant := self.index.corrected(text)):
            matches = self.index.search(meant)
        template = "results_part.html" if part else "results.html"
        return self._render(template, found=matches, text=text, meant=meant)

    def entity(self, row: Row, subject: Subject | None, chosen: Chosen = ALL, number: int = 1) -> str:
        """The page of a relation, or of an item as a subject, as a class, or as both.

        `row`: its row of names. `subject`: what the tables say of it; None if it has no statements.
        """
        if row["id"] < 0:
            listed = self._listed(chosen, number, relation=-row["id"])
            sentences, counts = self._sentences[-row["id"]], self._counts[entity_id(row["id"])]
            return self._render("relation.html", row=row, sentences=sentences, counts=counts, **listed)
        of_subject: list[Relation] = []
        line = None
        names: dict[int, Row] = {row["id"]: row}
        classes = [int(text) for text in json.loads(row["classes"] or "[]")]
        if subject is not None and number == 1:
            of_subject, named = indexed(subject, self.index, self.tables.untouched)
            names |= named
            line = time_line(of_subject, self.build.old, self.build.new)
        names |= self.index.names(classes)
        listed = self._listed(chosen, number, of=row["id"])
        of_object = self._listed(ALL, 1, object=row["id"])
        listed["names"] |= of_object["names"] | names
        shown = {"row": row, "classes": classes, "found": of_subject, "line": line, "of_object": of_object}
        return self._render("entity.html", **shown, **listed)

    def statements(self, subject: Subject, relation: int, part: bool) -> str | None:
        """The statements of a subject and relation alone; None if there are none."""
        every, names = indexed(subject, self.index, self.tables.untouched)
        match = next((candidate for candidate in every if candidate.number == relation), None)
        if match is None:
            return None
        template = "statements_part.html" if part else "statements.html"
        return self._render(template, relation=match, row=names.get(subject.id), names=names)

    def names(self, rows: Iterable[Row]) -> str:
        """All names that have a page, by kind and alphabet: the search of pages in files without a script."""
        groups: dict[str, list[Row]] = {"relations": [], "subjects": [], "classes": []}
        for row in sorted(rows, key=lambda row: (row["label"].casefold(), row["id"])):
            groups[KINDS[row["kind"]]].append(row)
        return self._render("names.html", groups=groups)

    def nothing(self, text: str, heading: str = "Not found") -> str:
        """A page that says what was not found, or why nothing is shown."""
        return self._render("nothing.html", said=text, heading=heading)


def style() -> str:
    """The style sheet."""
    return palette() + packaged("browse", "explorer.css")


def script() -> str:
    """The script of all pages."""
    return packaged("browse", "explorer.js")


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
        for name, text in _files(Tables(build, db), index):
            (made / name).write_text(text, encoding="utf-8")
            number += 1
    return number


def _files(tables: Tables, index: Index) -> Iterator[tuple[str, str]]:
    """Yields names and texts of all files."""
    subjects, relations, classes = (index.with_updates(kind) for kind in ("subject", "relation", "class"))
    named = index.names([*subjects, *classes, *(-number for number in relations)])
    progress = Progress("explorer", len(named), "pages")
    links = Links({entity_id(number) for number in named})
    pages = Pages(tables, index, links, ROWS_IN_FILES)

    def of_entity(id: int, subject: Subject | None) -> Iterator[tuple[str, str]]:
        """The first page of an entity, and those of its list of updates."""
        scenarios = index.scenarios(relation=-id) if id < 0 else index.scenarios(of=id)
        listed = sum(scenarios.values())
        for number in range(1, max(1, -(-listed // LISTED)) + 1):
            name = links.entity(entity_id(id), number)
            assert name is not None
            yield name, pages.entity(named[id], subject, number=number)

    dated = (Chosen(period=name) for name in periods(tables.build.old, tables.build.new))
    for listed in (ALL, *dated):
        updates = sum(index.scenarios(listed).values())
        if updates or listed == ALL:
            for number in range(1, max(1, -(-updates // LISTED)) + 1):
                yield links.home(number, listed), pages.home(listed, number)
    chosen = set(subjects)
    for id in (
        *(-number for number in relations),
        *(class_id for class_id in classes if class_id not in chosen),
    ):
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
    yield "table.html", pages.table()
    yield "updates.js", updates_script(tables)
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
        aliases = "\n".join(printable(folded(alias)) for alias in (row["aliases"] or "").splitlines())
        rows.append([entity_id(row["id"]), label, row["kind"], row["updates"], folded(label), aliases])
    return f'"use strict";\nwindow.factdrift = {{ names: {_escaped(rows)} }};\n'


def updates_script(tables: Tables) -> str:
    """The most popular updates as a script, since pages in files cannot fetch.

    A row is the ids of subject and relation, then the COLUMNS.
    """
    texts = ", ".join(f'{query} AS "{name}"' for name, (query, _) in COLUMNS.items())
    columns = f"subject.id AS subject_id, relation.id AS relation_id, {texts}"
    found = tables.rows(tables.build.dataset, columns, f"true ORDER BY file_row_number LIMIT {MOST}")
    data = {
        "file": f"results/{tables.build.pair.name}/{tables.build.dataset.name}",
        "columns": [{"name": name, "sql": query, "pandas": code} for name, (query, code) in COLUMNS.items()],
        "rows": [[shown(text, 300) for text in row.values()] for row in found],
    }
    return f'"use strict";\nwindow.factdrift = {{ ...window.factdrift, table: {_escaped(data)} }};\n'


def _escaped(value: Any) -> str:
    """A value as JSON for a script; `<` is escaped, so that the script can be part of a page."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
