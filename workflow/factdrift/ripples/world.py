"""What the probes of some updates are made from: the updates, facts about their items, and names."""

import builtins
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.errors import InputError
from factdrift.core.tables import fetched, sql
from factdrift.ripples.facts import kept_objects
from factdrift.ripples.names import create_updates
from factdrift.words.literals import shown
from factdrift.words.names import PLAIN, Names, Usage

_BLOCK = 2_000
"""Updates whose facts are in memory at a time."""

FORMER_NAMES = (1448, 1813, 2561, 1705)
"""Properties whose ended values are former names: official name, short name, name, native label."""


class Tables(NamedTuple):
    """What probes are made from: the dataset with the groups of WFD_repl, and what `ripples facts` and
    `ripples names` wrote."""

    dataset: Path
    groups: Path
    facts: Sequence[Path]
    stated: Sequence[Path]
    gone: Sequence[Path]
    names: Path
    shared: Path


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

    @builtins.property
    def item(self) -> str | None:
        """The id of its value; None for a literal."""
        return None if self.object is None else f"Q{self.object}"

    @builtins.property
    def stays(self) -> bool:
        """Whether it is the only value of its group at T_old and at T_new."""
        return bool(self.old_statement and self.new_statement) and self.old_values == self.new_values == 1


class DatedStatement(NamedTuple):
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

    @builtins.property
    def name(self) -> str:
        return f"Q{self.subject}-P{self.property}"

    def single(self, decision: str) -> dict[str, Any] | None:
        """The only object with that decision; None if there are several or none."""
        matching = [value for value in self.objects if value["decision"] == decision]
        return matching[0] if len(matching) == 1 else None


class World(NamedTuple):
    """The updates of a block, and all that is known of their items."""

    updates: Sequence[Update]
    about: Mapping[int, Mapping[int, Sequence[Fact]]]
    """Subject -> relation -> facts, of the items of updates; of neighbours and of updates that are no
    replacement only those of their relations."""
    pointing: Mapping[int, Sequence[Fact]]
    """Object -> facts of other subjects."""
    stated: Mapping[tuple[int, int], Sequence[DatedStatement]]
    names: Mapping[int, Name]
    gone: frozenset[int]
    """The items of updates and their neighbours that are dead or dissolved at T_new."""
    former: Mapping[int, Set[str]]
    """Subject -> its former names: those of FORMER_NAMES, and the label that the new dump changed."""
    updated: frozenset[tuple[int, int]]
    """All groups of the dataset that have an update."""
    ambiguous: Set[int]
    """Items whose label another item has that is as popular."""
    known_names: Mapping[str, int]
    """Name in small letters -> how many subjects of updates have it as label or alias."""

    def of(self, subject: int, relation: int) -> Sequence[Fact]:
        return self.about.get(subject, {}).get(relation, ())

    def unchanged(self, subject: int, relation: int) -> Fact | str:
        """The only value of a group at T_old and at T_new; else the reason why there is none."""
        for fact in self.of(subject, relation):
            if fact.new_values:
                return "not_unique" if fact.new_values > 1 else fact if fact.stays else "not_before"
        return "not_before"

    def value(self, fact: Fact) -> Name | None:
        """The name of a fact's value: an item, or a date in words; None if there is none."""
        if fact.object is not None:
            return self.names.get(fact.object)
        if fact.datatype == "time" and fact.json:
            return Name(shown("time", fact.json, {}).label, (), PLAIN, 0)
        return None


def worlds(db: Connection, tables: Tables, bucket: str, names: Names, seed: int) -> Iterator[World]:
    """The updates of a bucket, such as 0-of-2, in their order, some at a time.

    Raises InputError for a text that is no bucket.
    """
    number, _, buckets = bucket.partition("-of-")
    if not (number.isdecimal() and buckets.isdecimal() and int(number) < int(buckets)):
        raise InputError(f"--bucket: {bucket!r} is not a bucket such as 0-of-2")
    create_updates(db, tables.dataset, tables.groups)
    for name, paths in list(tables._asdict().items())[2:]:
        db.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM read_parquet({sql(paths)})")
    updated = frozenset(db.sql("SELECT subject_number, property_number FROM updates").fetchall())
    known = dict(db.sql("SELECT name, subjects FROM shared").fetchall())
    rows = db.sql(
        f"""SELECT subject_number, property_number, scenario, update_prompt, generalization_prompts,
            subject.label, objects, neighborhood, random_neighborhood
        FROM updates WHERE subject_number % {int(buckets)} = {int(number)} AND chosen
        ORDER BY subject_number, property_number"""
    ).to_arrow_table()
    for start in range(0, rows.num_rows, _BLOCK):
        block = [Update(*(row.values())) for row in rows.slice(start, _BLOCK).to_pylist()]
        yield _world(db, block, updated, known, names, seed)


def _world(
    db: Connection,
    block: Sequence[Update],
    updated: frozenset[tuple[int, int]],
    known: Mapping[str, int],
    used: Names,
    seed: int,
) -> World:
    items = {update.subject for update in block}
    items |= {number_of(value) or 0 for update in block for value in update.objects}
    near = [fact for update in block for fact in (*(update.nearest or ()), *(update.random or ()))]
    neighbors = {number_of(fact["subject"]) or 0 for fact in near}
    _register(db, items | neighbors)
    about: dict[int, dict[int, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for fact in _facts(db, "id = subject WHERE about ORDER BY subject, property, key"):
        about[fact.subject][fact.property].append(fact)
    _register(db, items)
    pointing: dict[int, list[Fact]] = defaultdict(list)
    chosen = f"NOT about QUALIFY {kept_objects(seed)}"
    for fact in _facts(db, f"id = object WHERE {chosen} ORDER BY property, subject, key"):
        assert fact.object is not None
        pointing[fact.object].append(fact)
    groups: dict[tuple[int, int], list[DatedStatement]] = defaultdict(list)
    columns = ", ".join(("subject", "property", *DatedStatement._fields))
    stated = db.execute(f"SELECT {columns} FROM stated SEMI JOIN items ON id = subject")
    for subject, relation, *statement in fetched(stated):
        groups[subject, relation].append(DatedStatement(*statement))
    for facts in about.values():
        items |= {fact.object or 0 for group in facts.values() for fact in group}
    items |= {fact.subject for group in pointing.values() for fact in group}
    _register(db, items | neighbors)
    gone = frozenset(item for (item,) in db.sql("SELECT id FROM gone SEMI JOIN items USING (id)").fetchall())
    names: dict[int, Name] = {}
    former = _former(about)
    ambiguous = set()
    columns = "id, label, aliases, classes, sitelinks, former, ambiguous"
    named = db.execute(f"SELECT {columns} FROM names SEMI JOIN items USING (id)")
    for item, label, aliases, classes, sitelinks, once, shared in fetched(named):
        names[item] = Name(label, aliases, used.usage(label, classes), sitelinks)
        if once is not None:
            former[item].add(once)
        if shared:
            ambiguous.add(item)
    return World(block, about, pointing, groups, names, gone, former, updated, ambiguous, known)


def number_of(value: Mapping[str, Any] | None) -> int | None:
    """The number of an item of the dataset; None for a literal."""
    identifier = (value or {}).get("id") or ""
    return int(identifier[1:]) if identifier.startswith("Q") else None


def _register(db: Connection, items: Iterable[int]) -> None:
    """TEMP TABLE items (id): those of the numbers that are positive."""
    numbers = sorted(item for item in items if item > 0)
    db.register("given", pa.table({"id": pa.array(numbers, pa.int32())}))
    db.execute("CREATE OR REPLACE TEMP TABLE items AS SELECT * FROM given")
    db.unregister("given")


def _facts(db: Connection, joined: str) -> Iterator[Fact]:
    """The facts that join the table `items`; `joined`: SQL from the condition of the join on."""
    query = f"SELECT {', '.join(Fact._fields)} FROM facts SEMI JOIN items ON {joined}"
    yield from map(Fact._make, fetched(db.execute(query)))


def _former(about: Mapping[int, Mapping[int, Sequence[Fact]]]) -> defaultdict[int, set[str]]:
    """Subject -> values of FORMER_NAMES that held at T_old and do not at T_new."""
    names = defaultdict[int, set[str]](set)
    for subject, facts in about.items():
        for relation in FORMER_NAMES:
            for fact in facts.get(relation, ()):
                if fact.new_values == 0 and fact.json:
                    names[subject].add(shown(fact.datatype, fact.json, {}).label)
    return names
