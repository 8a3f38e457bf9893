"""What the probes of some updates are made from: the updates, facts about their items, and names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb
import pyarrow as pa

from factdrift.core.tables import database, fetched, sql
from factdrift.ripples.facts import kept_objects
from factdrift.ripples.names import create_updates
from factdrift.words.literals import shown
from factdrift.words.names import PLAIN, Names, Usage

if TYPE_CHECKING:
    from factdrift.ripples.jobs import Probes

_BLOCK = 2_000
"""Updates whose facts are in memory at a time."""

FORMER_NAMES = (1448, 1813, 2561, 1705)
"""Properties whose ended values are former names: official name, short name, name, native label."""


class Fact(NamedTuple):
    """A fact that holds at T_old or T_new; a statement is None where the dump has no sound one."""

    subject: int
    property: int
    datatype: str
    object: int | None
    json: str | None
    key: str
    old_statement: str | None
    new_statement: str | None
    old_values: int
    """How many values the group has at T_old; 0 where this one does not hold then."""
    new_values: int
    gone: bool
    """The subject is dead or dissolved at T_new."""
    sitelinks: int

    @property
    def stays(self) -> bool:
        """Whether it is the only value of its group at T_old and at T_new."""
        return bool(self.old_statement and self.new_statement) and self.old_values == self.new_values == 1


class Stated(NamedTuple):
    """A statement of an updated group in one dump, with the first and last days of its start and end."""

    dump: str
    statement: str
    object: int | None
    key: str | None
    snak: str
    start_first: int | None
    start_last: int | None
    start_unknown: bool
    end_first: int | None
    end_last: int | None
    end_unknown: bool
    measured: bool
    several: bool
    sound: bool


class Name(NamedTuple):
    """How an item is called, and how the name is used in a sentence."""

    label: str
    aliases: Sequence[str]
    usage: Usage
    sitelinks: int


class Update(NamedTuple):
    """A row of the dataset."""

    subject: int
    property: int
    scenario: str
    prompt: str
    rewordings: Sequence[str]
    label: str
    objects: Sequence[dict[str, Any]]
    nearest: Sequence[Mapping[str, Any]]
    random: Sequence[Mapping[str, Any]]

    @property
    def name(self) -> str:
        return f"Q{self.subject}-P{self.property}"

    def one(self, decision: str) -> dict[str, Any] | None:
        """The only object with that decision; None if there are several or none."""
        found = [each for each in self.objects if each["decision"] == decision]
        return found[0] if len(found) == 1 else None


class World(NamedTuple):
    """The updates of a block, and all that is known of their items."""

    updates: Sequence[Update]
    about: Mapping[int, Mapping[int, Sequence[Fact]]]
    """Subject -> relation -> facts, of the items of updates."""
    pointing: Mapping[int, Sequence[Fact]]
    """Object -> facts of other subjects."""
    stated: Mapping[tuple[int, int], Sequence[Stated]]
    names: Mapping[int, Name]
    gone: frozenset[int]
    """The items of updates and their neighbours that are dead or dissolved at T_new."""
    former: Mapping[int, frozenset[str]]
    """Subject -> its former names."""
    updated: frozenset[tuple[int, int]]
    """All groups of the dataset that have an update."""
    ambiguous: frozenset[int]
    """Items whose label another item has that is as popular."""
    known_names: Mapping[str, int]
    """Name in small letters -> how many subjects of updates have it as label or alias."""

    def of(self, subject: int, relation: int) -> Sequence[Fact]:
        return self.about.get(subject, {}).get(relation, ())

    def value(self, fact: Fact) -> Name | None:
        """The name of a fact's value: an item, or a date in words; None if there is none."""
        if fact.object is not None:
            return self.names.get(fact.object)
        if fact.datatype == "time" and fact.json:
            return Name(shown("time", fact.json, {}).label, (), PLAIN, 0)
        return None


def worlds(job: Probes, names: Names) -> Iterator[World]:
    """The updates of a bucket in their order, some at a time."""
    bucket, _, buckets = job.bucket.partition("-of-")
    with database(job.memory_mb, job.threads) as db:
        create_updates(db, job.dataset, job.groups)
        for name in ("facts", "stated", "gone", "names", "shared"):
            db.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM read_parquet({sql(getattr(job, name))})")
        updated = frozenset(db.sql("SELECT DISTINCT subject_number, property_number FROM updates").fetchall())
        known = dict(db.sql("SELECT name, subjects FROM shared").fetchall())
        rows = db.sql(
            f"""SELECT subject_number, property_number, scenario, update_prompt, generalization_prompts,
                subject.label, objects, neighborhood, random_neighborhood
            FROM updates WHERE subject_number % {int(buckets)} = {int(bucket)} AND chosen
            ORDER BY subject_number, property_number"""
        ).to_arrow_table()
        for start in range(0, rows.num_rows, _BLOCK):
            block = [Update(*(row.values())) for row in rows.slice(start, _BLOCK).to_pylist()]
            yield _world(db, block, updated, known, (names, job.seed))


def _world(
    db: duckdb.DuckDBPyConnection,
    block: Sequence[Update],
    updated: frozenset[tuple[int, int]],
    known: Mapping[str, int],
    how: tuple[Names, int],
) -> World:
    names, seed = how
    items = {update.subject for update in block} | set(_objects(block))
    _register(db, "items", items)
    about: dict[int, dict[int, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    pointing: dict[int, list[Fact]] = defaultdict(list)
    columns = ", ".join(Fact._fields)
    for row in fetched(
        db.execute(
            f"SELECT {columns} FROM facts SEMI JOIN items ON id = subject WHERE about "
            "ORDER BY subject, property, key"
        )
    ):
        fact = Fact(*row)
        about[fact.subject][fact.property].append(fact)
    for row in fetched(
        db.execute(
            f"SELECT {columns} FROM facts SEMI JOIN items ON id = object WHERE NOT about "
            f"QUALIFY {kept_objects(seed)} ORDER BY property, subject, key"
        )
    ):
        fact = Fact(*row)
        assert fact.object is not None
        pointing[fact.object].append(fact)
    groups: dict[tuple[int, int], list[Stated]] = defaultdict(list)
    for subject, relation, *statement in fetched(
        db.execute(
            f"SELECT subject, property, {', '.join(Stated._fields)} FROM stated "
            "SEMI JOIN items ON id = subject ORDER BY subject, property, dump, statement, key"
        )
    ):
        groups[subject, relation].append(Stated(*statement))
    wanted = set(items)
    for facts in about.values():
        wanted |= {fact.object for each in facts.values() for fact in each if fact.object is not None}
    wanted |= {fact.subject for each in pointing.values() for fact in each}
    wanted |= set(_of_neighbors(block))
    _register(db, "items", {item for item in wanted if item > 0})
    gone = [item for (item,) in db.sql("SELECT id FROM gone SEMI JOIN items USING (id)").fetchall()]
    former = _former(db, about)
    return World(
        block,
        about,
        pointing,
        groups,
        _names(db, names),
        frozenset(gone),
        former,
        updated,
        _ambiguous(db),
        known,
    )


def _objects(block: Iterable[Update]) -> Iterator[int]:
    for update in block:
        for each in update.objects:
            if (each["id"] or "").startswith("Q"):
                yield int(each["id"][1:])


def _of_neighbors(block: Iterable[Update]) -> Iterator[int]:
    for update in block:
        for fact in (*(update.nearest or ()), *(update.random or ())):
            yield int(fact["subject"]["id"][1:])
            for each in fact["objects"]:
                if (each["object"]["id"] or "").startswith("Q"):
                    yield int(each["object"]["id"][1:])


def _register(db: duckdb.DuckDBPyConnection, name: str, items: Iterable[int]) -> None:
    db.register("given", pa.table({"id": pa.array(sorted(items), pa.int32())}))
    db.execute(f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT * FROM given")
    db.unregister("given")


def _names(db: duckdb.DuckDBPyConnection, names: Names) -> dict[int, Name]:
    """The names of the table `items`."""
    query = (
        """SELECT id, label, aliases, classes, sitelinks FROM names SEMI JOIN items USING (id) ORDER BY id"""
    )
    return {
        item: Name(label, aliases, names.usage(label, classes), sitelinks)
        for item, label, aliases, classes, sitelinks in fetched(db.execute(query))
    }


def _ambiguous(db: duckdb.DuckDBPyConnection) -> frozenset[int]:
    """Of the table `items`, those whose label another item has that has as many sitelinks or more."""
    rows = db.sql("SELECT id FROM names SEMI JOIN items USING (id) WHERE ambiguous").fetchall()
    return frozenset(item for (item,) in rows)


def _former(
    db: duckdb.DuckDBPyConnection, about: Mapping[int, Mapping[int, Sequence[Fact]]]
) -> dict[int, frozenset[str]]:
    """Values of FORMER_NAMES that held at T_old and do not at T_new; and labels that the new dump changed."""
    found: dict[int, set[str]] = defaultdict(set)
    for subject, facts in about.items():
        for relation in FORMER_NAMES:
            for fact in facts.get(relation, ()):
                if fact.new_values == 0 and fact.json:
                    found[subject].add(shown(fact.datatype, fact.json, {}).label)
    query = "SELECT id, former FROM names SEMI JOIN items USING (id) WHERE former IS NOT NULL ORDER BY id"
    for item, label in fetched(db.execute(query)):
        found[item].add(label)
    return {subject: frozenset(each) for subject, each in found.items()}
