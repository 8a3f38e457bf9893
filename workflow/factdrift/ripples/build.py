"""The candidates of one bucket: what can be asked about its updates."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.paths import RIPPLES, TEMPLATES
from factdrift.core.tables import database, growing, sql, write_parquet
from factdrift.ripples.criteria import Inputs, Maker
from factdrift.ripples.tables import PROBES, read_relations, table_of_dropped
from factdrift.ripples.words import Words
from factdrift.ripples.world import Tables, worlds
from factdrift.words.grammar import read_grammar
from factdrift.words.names import read_names
from factdrift.words.noun_phrases import read_noun_phrases
from factdrift.words.templates import read_templates


def read_inputs(properties: Path, templates: Path, t_old: int, t_new: int, seed: int) -> Inputs:
    """Words, relations and days of probes; `properties`: those of the new dump."""
    words = Words(_templates(templates), read_noun_phrases(), read_grammar(), read_names())
    relations = read_relations(RIPPLES)
    relations = relations._replace(inverses=inverses_of(properties, relations.inverses))
    return Inputs(words, relations, t_old, t_new, seed)


def write_probes(
    db: Connection, tables: Tables, bucket: str, inputs: Inputs, output: Path, out_dropped: Path
) -> int:
    """Writes the candidates of a bucket by subject and relation; returns their number. Counts the others.

    Caps come later (`choose`): they need all buckets.
    """
    dropped: Counter[tuple[str, str, str]] = Counter()
    count = 0
    with growing(output, PROBES) as add:
        for world in worlds(db, tables, bucket, inputs.words.names, inputs.seed):
            maker = Maker(world, inputs, dropped)
            rows = [row for update in world.updates for row in maker.probes(update)]
            count += len(rows)
            if rows:
                add(pa.RecordBatch.from_pylist(rows, schema=PROBES))
    write_parquet(table_of_dropped(dropped), out_dropped)
    return count


def _templates(path: Path) -> Mapping[int, Sequence[str]]:
    """The build's templates by relation, and the bundled ones of relations that it lacks; no generic ones."""
    own: dict[int, list[str]] = {}
    with database() as db:
        for relation, template in db.sql(
            f"""SELECT property, template FROM read_parquet({sql(path)})
            WHERE source <> 'generic' ORDER BY rank"""
        ).fetchall():
            own.setdefault(relation, []).append(template)
    bundled = read_templates(TEMPLATES).bundled
    return {relation: texts[:5] for relation, texts in {**bundled, **own}.items()}


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
