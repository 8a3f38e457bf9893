"""Questions about a corpus of dated documents: what is right by the dumps up to a date, and what is stale.

Only what these dumps prove is asked: a value that is right on all days of the date, if no other is on any.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import Row, schema_of
from factdrift.core.tables import database, growing, sql
from factdrift.streams.corpus import NAMED, Tables, by_subject, open_facts
from factdrift.streams.documents import Claims, known_at
from factdrift.streams.subjects import Name, read_item_names
from factdrift.streams.timelines import (
    UNNAMED,
    DateQuery,
    Precision,
    Tenure,
    dates_within,
    day_number,
    read_tenure,
    verdict,
)
from factdrift.tempripple.claims import Date
from factdrift.tempripple.phrases import contains, date_text
from factdrift.tempripple.relations import read_relations
from factdrift.tempripple.schemas import row_id
from factdrift.wikidata.ids import entity_id, entity_number, property_id
from factdrift.wikidata.time import DAY, MONTH, YEAR, iso_day
from factdrift.words.dates import as_of
from factdrift.words.names import written
from factdrift.words.noun_phrases import NounPhrase, nested, read_noun_phrases
from factdrift.words.templates import BLANK

CORPUS_QUESTIONS = schema_of(
    "id kind question prompt asked_on at precision known_at chain relation: string,"
    " first_day last_day: int64",
    "answer_id: string, answers: [string], stale_ids stale_answers later_answers: [string]",
    "premise premise_start hop_relation pair: string, right_docs stale_docs: [string]",
    "certain announced: bool",
)
"""A row is a question (docs/tables/corpus_questions.md)."""

_SUBJECTS = 1_000
"""Subjects of which the documents and facts are kept in memory."""

_PRECISIONS = {"day": DAY, "month": MONTH, "year": YEAR}


class Lookup:
    """Documents that state facts, and facts about holders: of few subjects at a time in memory."""

    def __init__(self, db: Connection, tables: Tables, corpus: Path, relations: Sequence[int]) -> None:
        self._db = db
        open_facts(db, tables)
        db.execute(
            f"""CREATE TEMP TABLE held AS SELECT * FROM facts
                WHERE list_contains({sql(relations)}, property) ORDER BY subject;
            CREATE TEMP TABLE stating AS
            SELECT fact.subject, fact.relation, fact.object, doc, known_from, fact.tense FROM (
                SELECT doc, known_from, file_row_number AS row, unnest(facts) AS fact,
                    generate_subscripts(facts, 1) AS position
                FROM read_parquet({sql(corpus)}, file_row_number = true)
            ) ORDER BY fact.subject, row, position"""
        )
        self.held = lru_cache(_SUBJECTS)(self._held)
        self._stating = lru_cache(_SUBJECTS)(self._read)

    def _held(self, subject: int) -> Claims:
        """The rows of KNOWN about a subject in the relations of hops."""
        return dict(by_subject(self._db, f"subject = {subject}", "held")).get(subject, {})

    def _read(self, subject: str) -> dict[tuple[str, str], dict[str, tuple[str, str]]]:
        """(relation, value) -> document -> its dump, and the tense of its first sentence."""
        stating: dict[tuple[str, str], dict[str, tuple[str, str]]] = defaultdict(dict)
        query = "SELECT * EXCLUDE subject FROM stating WHERE subject = ? ORDER BY rowid"
        for relation, value, doc, since, tense in self._db.execute(query, [subject]).fetchall():
            stating[relation, value].setdefault(doc, (since, tense))
        return stating

    def stating(self, subject: int, relation: int, value: int, dump: str, *tenses: str) -> list[str]:
        """The documents up to a dump that state a fact, in any tense or in some."""
        docs = self._stating(entity_id(subject)).get((property_id(relation), entity_id(value)), {})
        known = ((doc, tense) for doc, (since, tense) in docs.items() if since <= dump)
        return [doc for doc, tense in known if not tenses or tense in tenses]


class Chain(NamedTuple):
    """A subject and relation: who is asked for, and K_k for all k."""

    subject: int
    relation: int
    noun: NounPhrase
    called: str
    """`the head of government of Germany`."""
    rows: Sequence[Sequence[Row]]
    worlds: Sequence[Sequence[Tenure]]


class Asker(NamedTuple):
    """What questions about all chains need."""

    dumps: Sequence[str]
    names: Mapping[int, Name]
    lookup: Lookup
    hops: Mapping[int, NounPhrase]
    seed: int

    @property
    def days(self) -> list[int]:
        return [int(dump.replace("-", "")) for dump in self.dumps]

    def chain(self, subject: int, relation: int, rows: Sequence[Row]) -> Chain | None:
        """A chain; None if its relation has no noun phrase, or if no statement of it that counts is dated."""
        noun = read_noun_phrases().get(relation)
        if noun is None or not any(row["dated"] and not row["doubted"] for row in rows):
            return None
        called = nested([noun.phrase], written(self.names[subject].label, self.names[subject].usage))
        return self.worlds(subject, rows, relation, noun, called)

    def worlds(
        self, subject: int, rows: Sequence[Row], relation: int, noun: NounPhrase, called: str
    ) -> Chain:
        """A chain of these rows of KNOWN."""
        known = [known_at(rows, dump) for dump in self.dumps]
        return Chain(subject, relation, noun, called, known, [[*map(read_tenure, world)] for world in known])

    def is_named(self, chain: Chain, value: int | None) -> bool:
        """Whether a value can be asked for: it has a name, which does not follow from the subject's."""
        name = self.names.get(value or UNNAMED)
        return name is not None and not contains(self.names[chain.subject].label, name.label)

    def proven(self, chain: Chain, dump: int, first: int, last: int) -> int | None:
        """The value that by K_k is right on all days of a time, if no other is on any of them."""
        timeline = chain.worlds[dump]
        verdicts = {value: verdict(timeline, value, first, last) for value in {t.value for t in timeline}}
        right = [value for value, holds in verdicts.items() if holds == "correct"]
        alone = len(right) == 1 and set(verdicts.values()) <= {"correct", "wrong"}
        return right[0] if alone and self.is_named(chain, right[0]) else None

    def texts(self, values: Sequence[int], right: int | None = None) -> list[str]:
        """The labels and aliases of values, without repetitions, and without those of a `right` value."""
        names = [self.names[value] for value in values]
        others = [] if right is None else self.texts([right])
        texts = dict.fromkeys(text for name in names for text in (name.label, *name.aliases))
        return [text for text in texts if text not in others]

    def row(
        self, chain: Chain, kind: str, dump: int, date: DateQuery | None, value: int, **more: object
    ) -> Row:
        """A question whose answer is a value, but for its words; by K_k on the day of the dump or a date."""
        day = self.days[dump]
        first, last = (date.first, date.last) if date else (day, day)
        timeline, known = chain.worlds[dump], self.dumps[dump]
        others = [t for t in timeline if t.certain and t.value != value and t.value in self.names]
        others.sort(key=lambda t: (t.certain, t.value), reverse=True)
        stale = list(dict.fromkeys(t.value for t in others if t.certain and t.certain[1] < first))
        later = list(dict.fromkeys(t.value for t in others if t.certain and t.certain[0] > last))
        key = chain.subject, chain.relation
        tenses = ("now",) if date is None and kind != "next" else ()
        right = self.lookup.stating(*key, value, known, *tenses)
        wrong = (doc for other in stale for doc in self.lookup.stating(*key, other, known, "now", "cited"))
        return {
            "kind": kind,
            "asked_on": known,
            "known_at": known,
            "at": date.text if date else None,
            "precision": date.precision if date else None,
            "chain": f"{entity_id(chain.subject)}-{property_id(chain.relation)}",
            "relation": property_id(chain.relation),
            "first_day": first,
            "last_day": last,
            "answer_id": entity_id(value),
            "answers": self.texts([value]),
            "stale_ids": [entity_id(other) for other in stale],
            "stale_answers": self.texts(stale, value),
            "later_answers": self.texts(later, value),
            "right_docs": right,
            "stale_docs": sorted({*wrong} - {*right}),
            "certain": True,
            "announced": False,
            **more,
        }

    def draw(self, *parts: object) -> int:
        """A number that depends on the seed and the parts only."""
        return int(row_id(str(self.seed), *map(str, parts)), 16)


def _dated(chain: Chain, date: DateQuery, verb: str) -> Row:
    """`Who was the mayor of Lyon in March 2018?`, and `As of March 2018, the mayor of Lyon was ____`."""
    when = date_text(Date(date.first, _PRECISIONS[date.precision]))
    asked = f"{chain.noun.wh} {verb} {chain.called} {'on' if date.precision == 'day' else 'in'} {when}?"
    return {"question": asked, "prompt": as_of(when, f"{chain.called} {verb} {BLANK}")}


def _cloze(called: str) -> str:
    return f"{called[0].upper()}{called[1:]} is {BLANK}"


def now(asker: Asker, chain: Chain) -> Iterator[tuple[int, Row]]:
    """Yields a dump and what is asked on its day, after changes of the value, and on the last day."""
    before = None
    for dump, day in enumerate(asker.days):
        value = asker.proven(chain, dump, day, day)
        if value is not None and (value != before or dump == len(asker.dumps) - 1):
            row = asker.row(chain, "now", dump, None, value)
            if row["stale_answers"]:
                words = {"question": f"{chain.noun.wh} is {chain.called}?", "prompt": _cloze(chain.called)}
                yield dump, row | words
        before = value


def at(asker: Asker, chain: Chain) -> Iterator[Row]:
    """Yields questions about past dates, for the values of K_n, at precisions that are drawn."""
    dump = len(asker.dumps) - 1
    for value in sorted({t.value for t in chain.worlds[dump] if t.certain}):
        spans = [t.certain for t in chain.worlds[dump] if t.value == value and t.certain]
        longest = max(spans, key=lambda span: (day_number(span[1]) - day_number(span[0]), -span[0]))
        past = (date for date in dates_within(longest) if date.last < asker.days[-1])
        dates = [date for date in past if asker.proven(chain, dump, date.first, date.last) == value]
        if dates:
            date = dates[asker.draw("at", chain.subject, chain.relation, value) % len(dates)]
            yield asker.row(chain, "at", dump, date, value) | _dated(chain, date, "was")


def announced(asker: Asker, chain: Chain) -> Iterator[Row]:
    """Yields questions about the first days of values that a dump says will hold later."""
    for dump, day in enumerate(asker.days):
        new = [row for row in chain.rows[dump] if row["start_last"] and row["possible_first"] > day]
        present = asker.proven(chain, dump, day, day)
        if len(new) != 1 or new[0]["doubted"] or present in (None, new[0]["value"]):
            continue
        first, last, value = new[0]["possible_first"], new[0]["start_last"], new[0]["value"]
        if not asker.is_named(chain, value):
            continue
        precision: Precision = "day" if first == last else "month" if first // 100 == last // 100 else "year"
        size = {"day": 10, "month": 7, "year": 4}[precision]
        date = DateQuery(precision, first, last, iso_day(first)[:size])
        row = asker.row(chain, "at", dump, date, value, certain=False, announced=True)
        yield row | _dated(chain, date, "will be")


def known(asker: Asker, chain: Chain) -> Iterator[Row]:
    """Yields pairs of the same question and date under two dumps, which prove different values."""
    spans = {t.certain for world in chain.worlds for t in world if t.certain}
    days = {DateQuery("day", day, day, dump) for day, dump in zip(asker.days, asker.dumps, strict=True)}
    asked: set[tuple[int, int]] = set()
    for date in sorted(days.union(*(dates_within(span) for span in spans)), key=lambda date: date[1:]):
        proofs: list[tuple[int, int]] = []
        for dump, day in enumerate(asker.days):
            value = asker.proven(chain, dump, date.first, date.last) if date.last <= day else None
            if value is not None and (not proofs or proofs[-1][1] != value):
                proofs.append((dump, value))
        for (dump, value), (later, other) in itertools.pairwise(proofs):
            if (value, other) in asked:
                continue
            asked.add((value, other))
            pair = row_id(f"Q{chain.subject}-P{chain.relation}", date.text, f"Q{value}", f"Q{other}")
            older = asker.row(chain, "known", dump, date, value, pair=pair)
            newer = asker.row(chain, "known", later, date, other, pair=pair)
            for row, opposite in ((older, newer), (newer, older)):
                verb = "is" if date.text == row["asked_on"] else "was"
                if row is newer:  # what was known before is stale now
                    row["stale_ids"] = list(dict.fromkeys([opposite["answer_id"], *row["stale_ids"]]))
                    names = dict.fromkeys([*opposite["answers"], *row["stale_answers"]])
                    row["stale_answers"] = [name for name in names if name not in row["answers"]]
                yield row | _dated(chain, date, verb)


def premise(asker: Asker, chain: Chain, dump: int, row: Row) -> Iterator[Row]:
    """Yields a question that presupposes the last value before that of a question `now`, with its start."""
    old = entity_number(row["stale_ids"][0])
    spans = [t for t in chain.worlds[dump] if t.value == old and t.certain]
    begun = spans[0].certain[0] if len(spans) == 1 and spans[0].certain else 0
    if old and begun // 10_000 == spans[0].possible[0] // 10_000 > 0 and asker.is_named(chain, old):
        name = asker.names[old]
        verb = "have" if name.usage.plural else "has"
        question = f"Since when {verb} {written(name.label, name.usage)} been {chain.called}?"
        start = f"{begun // 10_000}"
        of_premise = {"premise": entity_id(old), "premise_start": start, "question": question}
        yield row | {"kind": "premise", "prompt": None} | of_premise


def following(asker: Asker, chain: Chain) -> Iterator[Row]:
    """Yields questions for who followed and who came before another, by K_n, if no vacancy is possible."""
    dump = len(asker.dumps) - 1
    timeline = sorted((t for t in chain.worlds[dump] if t.certain), key=lambda t: (t.certain, t.value))
    often = [t.value for t in timeline]
    for old, new in itertools.pairwise(timeline):
        assert old.certain
        assert new.certain
        pair = {old.value, new.value}
        between = old.certain[1], new.certain[0]
        gap = day_number(between[1]) - day_number(between[0])
        others = {t.value for t in chain.worlds[dump]} - pair
        clear = all(verdict(chain.worlds[dump], value, *sorted(between)) == "wrong" for value in others)
        once = len(pair) == 2 and all(often.count(value) == 1 for value in pair)
        if not once or not clear or not 0 <= gap <= 1 or not all(asker.is_named(chain, v) for v in pair):
            continue
        names = {v: written(asker.names[v].label, asker.names[v].usage) for v in pair}
        wh, role = chain.noun.wh, f"as {chain.called}"
        questions = (
            (new.value, old.value, f"{wh} followed {names[old.value]} {role}?"),
            (old.value, new.value, f"{wh} came before {names[new.value]} {role}?"),
        )
        for value, other, question in questions:
            row = asker.row(chain, "next", dump, None, value, premise=entity_id(other), question=question)
            wrong = [text for text in row["stale_answers"] if text not in asker.texts([other])]
            yield row | {"stale_answers": wrong}


def hop(asker: Asker, chain: Chain, dump: int, row: Row) -> Iterator[Row]:
    """Yields a question about the holder of a question `now`, whose answer would be another's of the last."""
    holders = [entity_number(item) or 0 for item in (row["answer_id"], row["stale_ids"][0])]
    day = asker.days[dump]
    asked = []
    for relation, noun in asker.hops.items():
        rows = [asker.lookup.held(holder).get(relation, ()) for holder in holders]
        called = nested([noun.phrase], chain.called)
        chains = [asker.worlds(*of, relation, noun, called) for of in zip(holders, rows, strict=True)]
        right, stale = (asker.proven(of_holder, dump, day, day) for of_holder in chains)
        if right is not None and stale is not None and right != stale:
            asked.append((chains[0], (right, stale)))
    if asked:
        through, (right, stale) = asked[asker.draw("hop", *chain[:2], dump) % len(asked)]
        relation, noun = through.relation, through.noun
        hops = asker.lookup.stating(through.subject, relation, right, row["known_at"], "now")
        yield row | {
            "kind": "hop",
            "hop_relation": property_id(relation),
            "question": f"{noun.wh} is {through.called}?",
            "prompt": _cloze(through.called),
            "answer_id": entity_id(right),
            "answers": asker.texts([right]),
            "stale_ids": [entity_id(stale)],
            "stale_answers": asker.texts([stale], right),
            "later_answers": [],
            "right_docs": [*row["right_docs"], *hops],
        }


def questions(asker: Asker, chain: Chain) -> Iterator[Row]:
    """All questions about a chain."""
    for dump, row in now(asker, chain):
        yield row
        yield from premise(asker, chain, dump, row)
        yield from hop(asker, chain, dump, row)
    for kind in (at, announced, known, following):
        yield from kind(asker, chain)


def write_corpus_questions(
    tables: Tables, corpus: Path, dumps: Sequence[str], seed: int, output: Path
) -> dict[str, int]:
    """Writes CORPUS_QUESTIONS in the order of chains and kinds; returns kind -> questions."""
    phrases = read_noun_phrases()
    relations = read_relations().immutable.values()
    hops = {r.property: phrases[r.property] for r in relations if r.datatype == "wikibase-item"}
    counts: dict[str, int] = defaultdict(int)
    with database() as db, database() as other, growing(output, CORPUS_QUESTIONS) as add:
        open_facts(db, tables)
        names = read_item_names(db, NAMED, tables.entities, tables.labels)
        asker = Asker(dumps, names, Lookup(other, tables, corpus, sorted(hops)), hops, seed)
        for subject, claims in by_subject(db, "linked_from IS NOT NULL"):
            rows = []
            for relation, stated in claims.items() if subject in names else ():
                chain = asker.chain(subject, relation, stated)
                rows += list(questions(asker, chain)) if chain else []
            for row in rows:
                counts[row["kind"]] += 1
                parts = (row.get(name) for name in ("chain", "kind", "question", "known_at", "pair"))
                row["id"] = row_id(*map(str, parts))
            add(pa.RecordBatch.from_pylist(rows, schema=CORPUS_QUESTIONS))
    return counts
