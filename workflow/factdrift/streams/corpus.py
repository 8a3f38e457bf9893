"""Writes the corpus of a stream: dated documents, with a version for every dump at which the text changed."""

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import Row, schema_of, struct_of
from factdrift.core.paths import TEMPLATES
from factdrift.core.tables import database, fetched, growing, sql
from factdrift.streams.documents import Claim, Claims, Frame, Sentence, Writer, holding, known_at, versions
from factdrift.streams.known import KNOWN
from factdrift.streams.subjects import read_item_names
from factdrift.tempripple.schemas import row_id
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.words.dates import MONTHS
from factdrift.words.grammar import read_grammar
from factdrift.words.templates import read_templates

_FACT = struct_of(
    "subject relation object statement tense: string, first_day last_day: int64", "start end: int32"
)
CORPUS = schema_of(
    "doc subject title text known_from known_until: string, version: int32, role: string, links: [string]",
    ("facts", pa.list_(_FACT)),
)
"""A row is a version of a document (docs/tables/corpus.md)."""

_BATCH = 2_000


class Tables(NamedTuple):
    """SUBJECTS, the facts of all buckets, the items of all dumps, the newest last, and the user's labels."""

    subjects: Path
    facts: Sequence[Path]
    entities: Sequence[Path]
    labels: Sequence[Path] = ()


class Options(NamedTuple):
    """How documents are written."""

    history: bool
    """Ended values follow in the past tense."""
    citing: float
    """The share of changes before which the state is quoted in a document of another subject."""
    seed: int


def open_facts(db: Connection, tables: Tables) -> None:
    """TEMP VIEWs `facts` (KNOWN) and `subjects` of a corpus."""
    for name, paths in (("facts", tables.facts), ("subjects", [tables.subjects])):
        db.execute(f"CREATE TEMP VIEW {name} AS SELECT * FROM read_parquet({sql(list(paths))})")


NAMED = "SELECT id FROM subjects UNION SELECT value FROM facts WHERE value IS NOT NULL"
"""SQL: the items that documents and questions name."""


def by_subject(db: Connection, condition: str = "true", table: str = "facts") -> Iterator[tuple[int, Claims]]:
    """Yields the subjects of a table of KNOWN in ascending order, with the rows of their relations."""
    db.execute(f"SELECT * FROM {table} WHERE {condition} ORDER BY ALL")
    rows = (dict(zip(KNOWN.names, row, strict=True)) for row in fetched(db))
    for subject, group in itertools.groupby(rows, key=lambda row: row["subject"]):
        relations: dict[int, list[Row]] = defaultdict(list)
        for row in group:
            relations[row["property"]].append(row)
        yield int(subject), relations


def write_corpus(tables: Tables, dumps: Sequence[str], options: Options, output: Path) -> tuple[int, int]:
    """Writes CORPUS in the order of subjects and versions; returns the numbers of rows and of citations."""
    days = [int(dump.replace("-", "")) for dump in dumps]
    with database(3000) as db, growing(output, CORPUS) as add:
        open_facts(db, tables)
        names = read_item_names(db, NAMED, tables.entities, tables.labels)
        writer = Writer(names, read_templates(TEMPLATES).bundled, read_grammar(), options.seed)
        use = "SELECT property FROM facts GROUP BY property ORDER BY count(DISTINCT subject) DESC, property"
        order = {relation: rank for rank, (relation,) in enumerate(db.sql(use).fetchall())}
        frame = Frame(dumps, days, order, options.history)
        listed = db.sql("SELECT id, role, near FROM subjects").fetchall()
        roles = {subject: role for subject, role, _ in listed if subject in names}
        near = {subject: [item for item in items if item in roles] for subject, _, items in listed}
        citations = _citations(db, writer, frame, near, options.citing)
        number = 0
        rows = (
            row
            for subject, claims in by_subject(db)
            if subject in roles
            for row in _rows(subject, claims, writer, frame, roles, citations.get(subject, ()))
        )
        while part := list(itertools.islice(rows, _BATCH)):
            add(pa.RecordBatch.from_pylist(part, schema=CORPUS))
            number += len(part)
    return number, sum(map(len, citations.values()))


def _rows(
    subject: int,
    claims: Claims,
    writer: Writer,
    frame: Frame,
    roles: Mapping[int, str],
    citations: Sequence[tuple[int, Sentence]],
) -> Iterator[Row]:
    for number, (begin, end, sentences) in enumerate(
        versions(subject, claims, writer, frame, citations), start=1
    ):
        facts, text = [], ""
        for sentence in sentences:
            start = len(text) + bool(text)
            text = f"{text} {sentence.text}".strip()
            facts += [_fact(claim, start, len(text)) for claim in sentence.claims]
        items = {item for s in sentences for claim in s.claims for item in (claim.subject, claim.value)}
        yield {
            "doc": f"{entity_id(subject)}@{frame.dumps[begin]}",
            "subject": entity_id(subject),
            "title": writer.names[subject].label,
            "text": text,
            "known_from": frame.dumps[begin],
            "known_until": None if end is None else frame.dumps[end],
            "version": number,
            "role": roles[subject],
            "links": [entity_id(item) for item in sorted(items - {subject}) if item in roles],
            "facts": facts,
        }


def _fact(claim: Claim, start: int, end: int) -> Row:
    return {
        "subject": entity_id(claim.subject),
        "relation": property_id(claim.relation),
        "object": entity_id(claim.value),
        "statement": claim.statement,
        "tense": claim.tense,
        "first_day": claim.first,
        "last_day": claim.last,
        "start": start,
        "end": end,
    }


def _citations(
    db: Connection, writer: Writer, frame: Frame, near: Mapping[int, Sequence[int]], share: float
) -> dict[int, list[tuple[int, Sentence]]]:
    """Subject -> dump from which its document quotes an older state of another subject, and the sentence.

    `near`: whose documents may quote a subject. The state is that of the last dump before the change.
    """
    citations: dict[int, list[tuple[int, Sentence]]] = defaultdict(list)
    for subject, claims in by_subject(db, "linked_from IS NOT NULL"):
        hosts = near.get(subject, ())
        for relation, rows in claims.items() if hosts and subject in writer.names else ():
            times = zip((known_at(rows, dump) for dump in frame.dumps), frame.days, strict=True)
            states = [{row["value"]: row for row in holding(known, day)} for known, day in times]
            for dump, (before, after) in enumerate(itertools.pairwise(states), start=1):
                gone = [value for value in before if value not in after and value in writer.names]
                chance = int(row_id(str(writer.seed), "cite", f"Q{subject}-P{relation}", str(dump)), 16)
                if not after or not gone or chance % 10_000 >= share * 10_000:
                    continue
                day = frame.days[dump - 1]
                value = gone[chance % len(gone)]
                claim = Claim(subject, relation, value, before[value]["statement"], "cited", day, day)
                if sentence := writer.cited(claim, f"{MONTHS[day // 100 % 100]} {day // 10_000}"):
                    citations[hosts[chance // 10_000 % len(hosts)]].append((dump, sentence))
    return citations
