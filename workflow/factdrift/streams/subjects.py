"""The subjects of a corpus, what the dumps up to a date prove of them, and the names of items."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.owned import scratch
from factdrift.core.tables import database, fetched, sql, write_query
from factdrift.streams.known import KNOWN, write_known
from factdrift.streams.timelines import ITEM, create_statements
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.names import Usage, read_names

SUBJECTS = schema_of("id: int32, role: string, near: [int32]")
"""Subjects in the order of `id`: `updated` ones, with the nearest entities that the corpus has; `object`s of
updates; `noise`, those nearest entities; `namesake`s of updated subjects."""


def write_subjects(
    stream: Path, entities: Sequence[Path], noise: int, namesakes: float, seed: int, output: Path
) -> Counter[str]:
    """Writes SUBJECTS; returns role -> subjects.

    `entities`: the items of the last dump; `noise`: nearest entities of an updated subject at most;
    `namesakes`: the share of the items with the name of an updated subject that the corpus has.
    """
    with database() as db:
        db.execute(
            f"""CREATE TEMP TABLE updates AS SELECT substr(subject.id, 2)::INTEGER AS id,
                subject.label AS label, objects, neighborhood FROM read_parquet({sql(stream)});
            CREATE TEMP TABLE items AS SELECT id, label, whole FROM read_parquet({sql(entities)})
                WHERE label IS NOT NULL;
            CREATE TEMP TABLE nearest AS SELECT id, near,
                row_number() OVER (PARTITION BY id ORDER BY dist, near) AS rank FROM (
                SELECT u.id, substr(n.subject.id, 2)::INTEGER AS near, min(n.dist) AS dist
                FROM (SELECT id, unnest(neighborhood) AS n FROM updates) u GROUP BY ALL
            ) SEMI JOIN items ON items.id = near QUALIFY rank <= {int(noise)};
            CREATE TEMP TABLE roles AS
            SELECT id, 1 AS role FROM updates
            UNION ALL SELECT substr(o.id, 2)::INTEGER, 2
            FROM (SELECT unnest(objects) AS o FROM updates) WHERE o.id LIKE 'Q%'
            UNION ALL SELECT near, 3 FROM nearest
            UNION ALL SELECT items.id, 4 FROM items SEMI JOIN updates USING (label)
            WHERE whole AND ('0x' || substr(md5('{int(seed)}|' || items.id), 1, 6))::INTEGER
                < {round(namesakes * 16**6)}"""
        )
        write_query(
            db,
            """SELECT r.id, ['updated', 'object', 'noise', 'namesake'][min(role)] AS role,
                coalesce(any_value(n.near), []) AS near
            FROM roles r LEFT JOIN (
                SELECT id, list(near ORDER BY rank) AS near FROM nearest GROUP BY id
            ) n ON n.id = r.id AND role = 1 GROUP BY r.id ORDER BY r.id""",
            output,
        )
        roles = db.sql(f"SELECT role, count(*) FROM read_parquet({sql(output)}) GROUP BY ALL ORDER BY ALL")
        return Counter(dict(roles.fetchall()))


def write_facts(
    known: Path,
    subjects: Path,
    statements: Sequence[Path],
    relations: Path,
    days: Sequence[int],
    output: Path,
) -> int:
    """Writes KNOWN of all facts with items of the corpus's subjects in a bucket; returns its length.

    `known`: the rows of subjects and relations with an update; `relations`: which of the last dump have a
    single value at a time, for all others. `linked_from` is null where there is no update. Order: subject,
    property.
    """
    with scratch() as folder, database(memory_mb=1000) as db:
        db.execute(
            f"""CREATE TEMP TABLE linked AS SELECT DISTINCT subject, property, NULL::INTEGER AS since,
                CASE WHEN r.temporal_functional THEN 0 END AS functional_since
            FROM read_parquet({sql(list(statements))}) s
            SEMI JOIN read_parquet({sql(subjects)}) c ON c.id = s.subject
            ANTI JOIN read_parquet({sql(known)}) k ON k.subject = s.subject AND k.property = s.property
            LEFT JOIN read_parquet({sql(relations)}) r USING (property) WHERE s.datatype = '{ITEM}'"""
        )
        create_statements(db, statements)
        others = folder / "others.parquet"
        write_known(db, days, {}, others)
        return write_query(
            db,
            f"""FROM read_parquet({sql([known, others])})
            WHERE subject IN (SELECT id FROM read_parquet({sql(subjects)}))
            ORDER BY subject, property, {", ".join(KNOWN.names[2:])}""",
            output,
        )


class Name(NamedTuple):
    """What an item is called, and how its name is used in a sentence."""

    label: str
    aliases: Sequence[str]
    usage: Usage


def open_names(db: Connection, entities: Sequence[Path], labels: Sequence[Path]) -> None:
    """TEMP VIEW `named`: id, label, aliases and classes of items, with the position of their `dump`.

    `entities`: the items of all dumps, the newest last; `labels`: the user's, which count where these have
    none.
    """
    db.register("supplied", supplied_labels(labels))
    db.execute(
        f"""CREATE TEMP VIEW named AS SELECT id, label, aliases, classes,
            list_position({sql([str(path) for path in entities])}, filename) AS dump
        FROM read_parquet({sql(list(entities))}, filename = true) WHERE label IS NOT NULL
        UNION ALL SELECT id, label, NULL, NULL, 0 FROM supplied"""
    )


def read_item_names(
    db: Connection, needed: str, entities: Sequence[Path], labels: Sequence[Path]
) -> Mapping[int, Name]:
    """The names of the items that a query gives, as `id`; those of the newest dump that has a label.

    `entities`, `labels`: as in `open_names`.
    """
    used = read_names()
    open_names(db, entities, labels)
    db.execute(
        f"""SELECT id, max_by({{'label': label, 'aliases': aliases, 'classes': classes}}, dump) AS name
        FROM named SEMI JOIN ({needed}) USING (id) GROUP BY id ORDER BY id"""
    )
    return {
        item: Name(name["label"], name["aliases"] or (), used.usage(name["label"], name["classes"] or ()))
        for item, name in fetched(db)
    }
