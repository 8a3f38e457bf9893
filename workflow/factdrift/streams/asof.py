"""Questions about what held on a date, from the chains of a stream (docs/streams.md)."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import Row
from factdrift.core.tables import database, fetched, growing, sql
from factdrift.streams.timelines import (
    UNNAMED,
    DateQuery,
    Tenure,
    dates_within,
    day_number,
    read_tenure,
    verdict,
)
from factdrift.tempripple.claims import EPOCH, Date
from factdrift.tempripple.items import WRONG, Instance, Item, Kinds, Pool, by_property
from factdrift.tempripple.phrases import contains, date_text, normal
from factdrift.tempripple.schemas import ASOF, row_id
from factdrift.tempripple.search import Names, Types
from factdrift.tempripple.table_source import TableSource
from factdrift.wikidata.time import DAY, MONTH, YEAR
from factdrift.words.dates import as_of
from factdrift.words.grammar import Marks, read_grammar
from factdrift.words.templates import BLANK

_MEMORY = 3000
"""Megabytes for the tables of the stream, and as many for those of the snapshot."""
_MARKS = Marks("\0", BLANK)
_PRECISIONS = {"day": DAY, "month": MONTH, "year": YEAR}


class Inputs(NamedTuple):
    """The stream, the timelines of its chains, and the tables of the last snapshot that name their items."""

    stream: Path
    timelines: Sequence[Path]
    rows: Sequence[Path]
    classes: Sequence[Path]
    entities: Sequence[Path]
    properties: Path


class Value(NamedTuple):
    """An item of a timeline."""

    label: str
    aliases: Sequence[str] = ()
    kinds: Kinds = ()


class Chain(NamedTuple):
    """What questions about a chain need."""

    name: str
    now: str
    """The cloze test of its last update, in the present."""
    then: str
    """The same in the past."""
    values: Mapping[int, Value]
    """Those with a name that does not give the subject's or follow from it."""
    asked: frozenset[int]
    """Those that may be asked for: objects of updates."""
    timeline: Sequence[Tenure]


def write_questions(
    inputs: Inputs, days: Sequence[int], alike: Sequence[str], seed: int, output: Path
) -> tuple[Counter[str], Counter[str]]:
    """Writes the questions of all chains in the order of subject and relation.

    `days`: those of the dumps, packed; `alike`: the properties by which options resemble the answer. Returns
    how many questions there are by what they lack (`short_of`), and relation -> chains left out, because no
    verb of the cloze test is known to be in the past.
    """
    lacking, unsaid = Counter[str](), Counter[str]()
    with database(_MEMORY) as db, database(_MEMORY) as snapshot, growing(output, ASOF) as add:
        db.execute(f"CREATE TEMP VIEW updates AS SELECT * FROM read_parquet({sql(inputs.stream)})")
        db.execute(f"CREATE TEMP TABLE objects AS {_OBJECTS}")
        db.execute(
            f"""CREATE TEMP TABLE timelines AS SELECT * EXCLUDE (chain) FROM (
                SELECT *, 'Q' || subject || '-P' || property AS chain
                FROM read_parquet({sql(inputs.timelines)})
            ) SEMI JOIN objects USING (chain)"""
        )
        words = _Words(db, TableSource(snapshot, *inputs[2:]), alike)
        pools = words.pools()
        for chain in _chains(db, words):
            if not read_grammar().is_past(chain.then):
                unsaid[chain.name.partition("-")[2]] += 1
                continue
            items = list(questions(chain, pools[chain.name.partition("-")[2]], days, seed))
            lacking.update(map(short_of, items))
            if items:
                add(pa.RecordBatch.from_pylist(items, schema=ASOF))
    return lacking, unsaid


def short_of(question: Row) -> str:
    """What a question lacks: `options`, if they are too few; `wrong`, an option that held at another time."""
    if question["open_only"]:
        return "options"
    return "" if "wrong" in question["option_verdicts"] else "wrong"


_OBJECTS = """
    SELECT chain, relation, subject, subject_name, link, update_prompt, substr(o.id, 2)::INTEGER AS item,
        o.label AS label, o.leaks AS leaks
    FROM (
        SELECT chain, relation.id AS relation, substr(subject.id, 2)::INTEGER AS subject,
            {'label': subject.label, 'description': subject.description} AS subject_name,
            link, update_prompt, unnest(objects) AS o FROM updates
    ) WHERE o.id LIKE 'Q%'"""
"""SQL: the items among the objects of all updates."""


class _Words:
    """Names and kinds of subjects and values: the stream's own labels before those of the snapshot."""

    def __init__(self, db: Connection, source: TableSource, alike: Sequence[str]) -> None:
        self._db, self._alike = db, alike
        values = "SELECT value FROM timelines WHERE value > 0 UNION SELECT item FROM objects"
        items = {item for (item,) in db.sql(values).fetchall()}
        subjects = {item for (item,) in db.sql("SELECT DISTINCT subject FROM objects").fetchall()}
        self._names = Names(source, {}, None)
        self._names.fetch(items)
        self._types = Types(source, [], 0)
        self._types.fetch_kinds(items | subjects)

    def kinds(self, subject: int, item: int) -> Kinds:
        return by_property(self._types.kinds(subject, item), self._alike)

    def value(self, subject: int, item: int, label: str | None) -> Value | None:
        """An item as a value of a subject; None if it has no label."""
        label = label or self._names.label(item)
        return None if label is None else Value(label, self._names.aliases(item), self.kinds(subject, item))

    def pools(self) -> dict[str, Pool]:
        """Relation -> its objects in all chains."""
        instances: dict[str, list[Instance]] = defaultdict(list)
        self._db.execute(
            """SELECT relation, subject, item, min(label) FROM objects GROUP BY ALL
            ORDER BY relation, subject, item"""
        )
        for relation, subject, item, label in fetched(self._db):
            asked = f"Q{subject}", relation
            instances[relation].append(Instance(asked, f"Q{item}", label, None, self.kinds(subject, item)))
        return {relation: Pool(values) for relation, values in instances.items()}


def _chains(db: Connection, words: _Words) -> Iterator[Chain]:
    """The chains with items among their objects, in the order of subject and relation."""
    db.execute(
        """SELECT subject, property, name, subject_name, prompt, objects, timeline FROM (
            SELECT chain AS name, subject, substr(relation, 2)::INTEGER AS property,
                max_by(update_prompt, link) AS prompt, max_by(subject_name, link) AS subject_name,
                list(DISTINCT {'item': item, 'label': label, 'leaks': leaks}) AS objects
            FROM objects GROUP BY ALL
        ) JOIN (
            SELECT subject, property, list(timelines ORDER BY value NULLS FIRST, possible_first NULLS FIRST,
                possible_last, certain_first, certain_last, doubted, dated) AS timeline
            FROM timelines GROUP BY ALL
        ) USING (subject, property) ORDER BY subject, property"""
    )
    for subject, _, name, called, prompt, objects, spans in fetched(db):
        timeline = [read_tenure(row) for row in spans]
        leaking = {row["item"] for row in objects if row["leaks"]}
        own = sorted((row["item"], row["label"]) for row in objects if row["item"] not in leaking)
        labels = dict(reversed(own))  # of several labels of an item the first
        known = {row.value for row in timeline} - leaking - {UNNAMED}
        values = {item: words.value(subject, item, labels.get(item)) for item in sorted(known)}
        named = {
            item: value
            for item, value in values.items()
            if value and (item in labels or not contains(called["label"], value.label))
        }
        then = in_past(prompt, called["label"], called["description"])
        yield Chain(name, prompt, then, named, frozenset(labels) & known, timeline)


def in_past(prompt: str, label: str, description: str | None = None) -> str:
    """A cloze test in the past, but for its subject's name; the same if no verb of it is known."""
    for name in (f"{label} ({description})", label):
        marked, replaced = re.subn(rf"(?<!\w){re.escape(name)}(?!\w)", _MARKS.subject, prompt, count=1)
        if replaced:
            return read_grammar().past(marked, _MARKS).replace(_MARKS.subject, name)
    return read_grammar().past(prompt)


def questions(chain: Chain, pool: Pool, days: Sequence[int], seed: int) -> Iterator[Row]:
    """The questions about one chain, by value, interval and precision.

    `pool`: the objects of its relation. A date is asked about if exactly one value certainly held then, and
    every other value of the chain, with a name or not, certainly did not. Nothing is asked of a chain without
    a dated statement: what an album is does not depend on the date.
    """
    timeline, values = chain.timeline, chain.values
    if not any(holding.dated and not holding.doubted for holding in timeline):
        return
    newest = max((holding for holding in timeline if holding.certain), key=_end, default=None)
    if newest is None or newest.value not in values:
        return
    subject, _, relation = chain.name.partition("-")
    roles = _roles(timeline, days[-1])
    known = {holding.value for holding in timeline}
    day = _end(newest)[0]
    context = _sentence(chain, DateQuery("day", day, day, ""), days[-1]).removesuffix(BLANK)
    context = f"{context}{values[newest.value].label.removesuffix('.')}."
    for value in sorted(chain.asked & values.keys()):
        longest = max(
            (holding.certain for holding in timeline if holding.value == value and holding.certain),
            key=lambda span: (day_number(span[1]) - day_number(span[0]), -span[0]),
            default=None,
        )
        for date in dates_within(longest) if longest else ():
            verdicts = {other: verdict(timeline, other, date.first, date.last) for other in known}
            if verdicts[value] != "correct" or any(verdicts[other] != "wrong" for other in known - {value}):
                continue
            item_id = row_id(chain.name, f"Q{value}", date.precision, date.text)
            yield {
                "item_id": item_id,
                "task": 1 if roles[value] == "now" else 2,
                "hop": 0,
                **{"s": subject, "p": relation, "asked_s": subject, "asked_p": relation},
                "fact_id": row_id(chain.name, f"Q{value}"),
                "as_of": day_number(date.last) - EPOCH,
                "answer_label": values[value].label,
                "answer_aliases": list(values[value].aliases),
                "chain": chain.name,
                "precision": date.precision,
                "date": date.text,
                "first_day": date.first,
                "last_day": date.last,
                "holds": roles[value],
                **_options(chain, value, pool, seed, item_id),
                "context": context,
                "question": _sentence(chain, date, days[-1]),
                "discriminates": value != newest.value,
            }


def _end(holding: Tenure) -> tuple[int, int, int]:
    assert holding.certain
    return holding.certain[1], holding.certain[0], holding.value


def _roles(timeline: Sequence[Tenure], last: int) -> dict[int, str]:
    """Value -> `now` if it holds at the last dump, `before` for the last of the others, else `then`."""
    certain = sorted((holding for holding in timeline if holding.certain), key=_end, reverse=True)
    values = list(dict.fromkeys(holding.value for holding in certain))
    now = {value for value in values if verdict(timeline, value, last, last) == "correct"}
    before = next((value for value in values if value not in now), None)
    return {value: "now" if value in now else "before" if value == before else "then" for value in values}


def _options(chain: Chain, value: int, pool: Pool, seed: int, item_id: str) -> Row:
    """Wrong ones are what held at other times, then objects of other subjects that resemble the answer."""
    answer, (subject, _, relation) = chain.values[value], chain.name.partition("-")
    refused = {normal(name) for name in (answer.label, *answer.aliases)}
    known = {tenure.value for tenure in chain.timeline if not tenure.doubted} - {value}
    others: dict[str, int] = {}
    for other in sorted(known & chain.values.keys(), key=lambda other: _chance(seed, item_id, other)):
        if (name := normal(chain.values[other].label)) not in refused:
            others.setdefault(name, other)
    wrong = [(f"Q{other}", chain.values[other].label, "wrong") for other in others.values()][:WRONG]
    instance = Instance((subject, relation), f"Q{value}", answer.label, None, answer.kinds)
    aliases = [*answer.aliases, *(other.label for other in chain.values.values())]
    never = frozenset(f"Q{tenure.value}" for tenure in chain.timeline)
    drawn = pool.choose(Item(item_id, instance, aliases, never, frozenset()), seed, WRONG - len(wrong))
    wrong += [(item, label, "never") for item, label in drawn.options]
    size = len(others) + drawn.pool_size
    if len(wrong) < WRONG:
        return {"pool_size": size, "open_only": True, "flags": []}
    right = (f"Q{value}", answer.label, "correct")
    chosen = sorted([right, *wrong], key=lambda option: _chance(seed, f"order {item_id}", int(option[0][1:])))
    return {
        "pool_size": size,
        "open_only": False,
        "options": [label for _, label, _ in chosen],
        "option_ids": [item for item, _, _ in chosen],
        "option_verdicts": [holds for _, _, holds in chosen],
        "answer_index": chosen.index(right),
        "flags": [] if drawn.alike == len(drawn.options) else ["other_kind"],
    }


def _sentence(chain: Chain, date: DateQuery, last: int) -> str:
    """`As of March 2018, the head of government of X was ____`; `is` on the last dump's day."""
    prompt = chain.then if date.last < last else chain.now
    return as_of(date_text(Date(date.first, _PRECISIONS[date.precision])), prompt)


def _chance(seed: int, purpose: str, item: int) -> str:
    return row_id(str(seed), purpose, str(item))
