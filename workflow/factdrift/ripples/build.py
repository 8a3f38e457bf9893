"""The candidates of one bucket: what can be asked about its updates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from factdrift.core.paths import RIPPLES, TEMPLATES
from factdrift.core.tables import database, growing, rows_of, sql, write_parquet
from factdrift.ripples.criteria import Maker, Means
from factdrift.ripples.tables import PROBES, read_relations, table_of_dropped
from factdrift.ripples.words import Words
from factdrift.ripples.world import worlds
from factdrift.wikidata.ids import property_number
from factdrift.wikidata.time import pack_date
from factdrift.words.grammar import read_grammar
from factdrift.words.names import read_names
from factdrift.words.noun_phrases import read_noun_phrases

if TYPE_CHECKING:
    from factdrift.ripples.jobs import Probes


def write_probes(job: Probes) -> int:
    """Writes the candidates of a bucket by subject and relation; returns their number. Counts the others.

    Caps come later (`choose`): they need all buckets.
    """
    names = read_names()
    words = Words(_templates(job), read_noun_phrases(), read_grammar(), names)
    relations = read_relations(RIPPLES)
    relations = relations._replace(inverses=inverses_of(job.properties, relations.inverses))
    means = Means(words, relations, pack_date(job.old_date), pack_date(job.new_date), job.seed)
    dropped: Counter[tuple[str, str, str]] = Counter()
    count = 0
    with growing(job.output, PROBES) as add:
        for world in worlds(job, names):
            maker = Maker(world, means, dropped)
            rows = [row for update in world.updates for row in maker.probes(update)]
            count += len(rows)
            if rows:
                add(pa.RecordBatch.from_pylist(rows, schema=PROBES))
    write_parquet(table_of_dropped(dropped), job.out_dropped)
    return count


def _templates(job: Probes) -> Mapping[int, Sequence[str]]:
    """The build's templates by relation, and the bundled ones of relations that it lacks; no generic ones."""
    found: dict[int, list[str]] = {}
    for _, (relation, _, template) in rows_of(TEMPLATES, ("property", "label", "template")):
        if relation != "*":
            found.setdefault(property_number(relation), []).append(template)
    own: dict[int, list[str]] = {}
    with database() as db:
        for relation, template in db.sql(
            f"""SELECT property, template FROM read_parquet({sql(job.templates)})
            WHERE source <> 'generic' ORDER BY property, rank"""
        ).fetchall():
            own.setdefault(relation, []).append(template)
    return {relation: each[:5] for relation, each in (found | own).items()}


def inverses_of(properties: Path, table: Collection[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """The pairs that a dump's properties state (P1696, symmetric constraint), in both directions.

    Those of the project's `table` count only where the dump lacks both properties.
    """
    with database() as db:
        query = f"SELECT id, inverses, is_symmetric FROM read_parquet({sql(properties)})"
        rows = db.sql(query).fetchall()
    known = {number for number, *_ in rows}
    pairs = {(number, other) for number, inverses, _ in rows for other in inverses or ()}
    pairs |= {(number, number) for number, _, symmetric in rows if symmetric}
    pairs |= {pair for pair in table if known.isdisjoint(pair)}
    return frozenset(pairs | {(second, first) for first, second in pairs})
