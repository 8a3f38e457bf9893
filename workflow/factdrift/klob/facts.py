"""Facts of one snapshot that can be examples of KLoB-c, chains of two for KLoB-r, and why others are dropped.

DuckDB does all of it, so that memory does not grow with the dump. Quotas are applied later.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.tables import database, records, sql, write_query
from factdrift.klob.relations import RelationChoice, second_hops
from factdrift.klob.settings import Settings
from factdrift.wikidata.ids import entity_number
from factdrift.wikidata.tables import supplied_labels, with_subclasses

DEATH = 570
"""Dates of death are among the statements, dropped as `datatype`: they say of whom to speak in the past."""

FACTS = schema_of(
    "subject property object: int32, statement: string, revision: int64, objects: int32", "dropped_by: string"
)
"""One row a statement (docs/tables/klob_facts.md)."""

DROPS = ("deprecated", "rank", "snak", "datatype", "ended", "duplicate")
"""Why a statement is no fact, the first reason that holds (docs/tables/klob_facts.md)."""

CANDIDATES = schema_of("s p1 o1 p2 o2: int32, draw: uint64, dropped_by: string")
"""One row a fact (`p2`, `o2` null) or a chain (docs/tables/klob_candidates.md)."""

FACT_DROPS = (
    *("multi_valued", "no_label", "page", "leak", "alias_leak", "twin", "words", "sitelinks", "homonym"),
)
"""Why a fact is no example of KLoB-c, the first reason that holds (docs/tables/klob_candidates.md)."""

CHAIN_DROPS = ("inverse_pair", "same_item", "no_label", "page", "leak", "alias_leak", "pair_support")
"""Why a chain is no example of KLoB-r, the first reason that holds (docs/tables/klob_candidates.md)."""


class SnapshotTables(NamedTuple):
    """The tables of one snapshot from which KLoB is made."""

    facts: Sequence[Path]
    """FACTS of all buckets."""
    entities: Sequence[Path]
    classes: Path
    properties: Path
    labels: Sequence[Path] = ()
    """Tables of labels of entities that the snapshot lacks."""


def write_facts(
    statements: Path, date: str, relations: Iterable[int], output: Path, memory_mb: int, threads: int
) -> int:
    """Writes FACTS of some relations for a bucket of a snapshot's statements; returns the number of rows.

    `date`: the snapshot's, as YYYY-MM-DD.
    """
    wanted = [*sorted(relations), DEATH]
    with database(memory_mb, threads) as db:
        query = f"""
            WITH ranked AS (
                SELECT *, max(rank = 'preferred') OVER (PARTITION BY subject, property) AS has_preferred
                FROM read_parquet({sql(statements)})
                WHERE property IN (SELECT unnest({sql(wanted)}))
            ), judged AS (
                SELECT subject, property, object, statement, revision, position, CASE
                    WHEN rank = 'deprecated' THEN 'deprecated'
                    WHEN rank <> 'preferred' AND has_preferred THEN 'rank'
                    WHEN snak <> 'value' THEN 'snak'
                    WHEN datatype <> 'wikibase-item' OR object IS NULL OR object < 0 THEN 'datatype'
                    WHEN end_unknown OR "end".first <= {int(date.replace("-", ""))} THEN 'ended'
                END AS reason
                FROM ranked
            )
            SELECT subject, property, object, statement, revision,
                (count(DISTINCT object) FILTER (reason IS NULL)
                    OVER (PARTITION BY subject, property))::INTEGER AS objects,
                CASE WHEN reason IS NULL AND row_number() OVER (
                    PARTITION BY subject, property, object, reason ORDER BY position, statement
                ) > 1 THEN 'duplicate' ELSE reason END AS dropped_by
            FROM judged ORDER BY subject, property, statement"""
        return write_query(db, query, output)


def write_candidates(
    tables: SnapshotTables,
    choice: RelationChoice,
    settings: Settings,
    outputs: tuple[Path, Path | None],
    memory_mb: int,
    threads: int,
) -> None:
    """Writes CANDIDATES twice: the facts of the first hops, and the chains from these over the second.

    Without a path for the chains there are none of the snapshot.
    """
    columns = ", ".join(CANDIDATES.names)
    out_facts, out_chains = outputs
    with database(memory_mb, threads) as db:
        db.execute(
            f"CREATE VIEW facts AS SELECT * FROM read_parquet({sql(tables.facts)}) WHERE dropped_by IS NULL"
        )
        wanted = "SELECT subject AS id FROM facts UNION SELECT object FROM facts"
        create_names(db, wanted, tables, settings.page_classes)
        _create_candidate_facts(db, choice, settings)
        write_query(db, f"SELECT {columns} FROM candidate_facts ORDER BY s, p1, o1", out_facts)
        if out_chains is not None:
            _create_chains(db, choice, tables.properties, settings)
            write_query(db, f"SELECT {columns} FROM chains ORDER BY s, p1, o1, p2, o2", out_chains)


def create_names(
    db: Connection, wanted: str, tables: SnapshotTables, page_classes: Sequence[str] = ()
) -> None:
    """TEMP TABLE names of the ids of a query.

    Columns: id, label, folded, aliases, sitelinks, revision, classes, dead, page.

    `folded`: the label's words in lower case, each between blanks, in which a sequence of words can be
    searched; null if it has no word. `dead`: it has a date of death. `page`: the item is an instance of a
    page class or of a subclass of one.
    Also the macros `folded(name)`; `bare(name)`: a folded name without `the` in front; and
    `leaks(aliases, name)`: one of the aliases, bare, is part of a folded name.
    """
    pages = [number for name in page_classes if (number := entity_number(name))]
    db.execute(
        f"""CREATE TEMP TABLE wanted AS {wanted};
        CREATE OR REPLACE TEMP MACRO folded(name) AS nullif(' ' || array_to_string(regexp_extract_all(
            replace(lower(upper(name)), 'ß', 'ss'), '[\\p{{L}}\\p{{M}}\\p{{N}}]+'
        ), ' ') || ' ', '  ');
        CREATE OR REPLACE TEMP MACRO bare(name) AS
            CASE WHEN starts_with(name, ' the ') AND name <> ' the ' THEN name[5:] ELSE name END;
        CREATE OR REPLACE TEMP MACRO leaks(aliases, name) AS
            len(list_filter(aliases, lambda alias: contains(name, bare(folded(alias))))) > 0"""
    )
    db.register("supplied", supplied_labels(tables.labels))
    db.execute(
        f"""CREATE TEMP TABLE names AS
        WITH items AS (SELECT * FROM read_parquet({sql(tables.entities)}) SEMI JOIN wanted USING (id))
        SELECT id, coalesce(e.label, s.label) AS label,
            folded(coalesce(e.label, s.label)) AS folded,
            coalesce(e.aliases, []) AS aliases, coalesce(e.sitelinks, 0) AS sitelinks, e.revision, e.classes,
            id IN (
                SELECT subject FROM read_parquet({sql(tables.facts)})
                WHERE property = {DEATH} AND dropped_by = 'datatype'
            ) AS dead,
            id IN (
                SELECT id FROM (SELECT id, unnest(classes) AS class FROM items)
                WHERE class IN ({with_subclasses([tables.classes], pages)})
            ) AS page
        FROM items e FULL JOIN (SELECT * FROM supplied SEMI JOIN wanted USING (id)) AS s USING (id)"""
    )


def _drawn(seed: int, *numbers: str) -> str:
    """SQL: the first 64 bits of the SHA-256 of `seed|Q1|P17|Q2`, from columns item, property, item, ..."""
    ids = [f"'{'P' if index % 2 else 'Q'}' || {number}" for index, number in enumerate(numbers)]
    return f"('0x' || substr(sha256(concat_ws('|', {int(seed)}, {', '.join(ids)})), 1, 16))::UBIGINT"


def _create_candidate_facts(db: Connection, choice: RelationChoice, settings: Settings) -> None:
    most = 1 if settings.object_words == "single" else settings.max_object_words
    db.execute(
        f"""CREATE TEMP TABLE twins AS
        SELECT f.property, n.label FROM facts f JOIN names n ON n.id = f.subject
        WHERE n.label IS NOT NULL GROUP BY ALL HAVING count(DISTINCT f.subject) > 1;
        CREATE TEMP TABLE candidate_facts AS
        SELECT f.subject AS s, f.property AS p1, f.object AS o1, NULL::INTEGER AS p2, NULL::INTEGER AS o2,
            f.objects, CASE
                WHEN {str(settings.single_valued).upper()} AND f.objects > 1 THEN 'multi_valued'
                WHEN s.label IS NULL OR o.label IS NULL THEN 'no_label'
                WHEN s.page OR o.page THEN 'page'
                WHEN contains(s.folded, bare(o.folded)) THEN 'leak'
                WHEN leaks(o.aliases, s.folded) THEN 'alias_leak'
                WHEN t.label IS NOT NULL THEN 'twin'
                WHEN len(string_split(trim(o.label), ' ')) > {most} THEN 'words'
                WHEN s.sitelinks < {settings.sitelinks} THEN 'sitelinks'
            END AS dropped_by,
            {_drawn(settings.seed, "f.subject", "f.property", "f.object")} AS draw
        FROM facts f LEFT JOIN names s ON s.id = f.subject LEFT JOIN names o ON o.id = f.object
            LEFT JOIN twins t ON t.property = f.property AND t.label = s.label
        WHERE f.property IN (SELECT unnest({sql(sorted(choice.relations))}));
        -- Whom each name means, in examples and as the beginning of chains.
        CREATE TEMP TABLE known AS
        SELECT n.label, arg_max(s, (dropped_by IS NULL, n.sitelinks, -s)) AS s
        FROM candidate_facts JOIN names n ON n.id = s
        WHERE dropped_by IS NULL OR dropped_by IN ('words', 'sitelinks') GROUP BY n.label;
        UPDATE candidate_facts SET dropped_by = 'homonym'
        WHERE dropped_by IS NULL AND s NOT IN (SELECT s FROM known)"""
    )


def _create_chains(db: Connection, choice: RelationChoice, properties: Path, settings: Settings) -> None:
    """TEMP VIEW chains. A first hop may have too long an object or too few sitelinks to be in KLoB-c."""
    stated = records(properties, ["id", "inverses"])
    inverses = {(row["id"], other) for row in stated for other in row["inverses"] or ()} | choice.inverses
    pairs = ", ".join(f"({first}, {second})" for first, second in sorted(inverses))
    wanted = second_hops(choice, settings.second_hop)
    db.execute(
        f"""CREATE TEMP TABLE inverses AS SELECT * FROM (VALUES {pairs}) AS pairs(p1, p2);
        CREATE TEMP TABLE joined AS
        SELECT a.s, a.p1, a.o1, b.property AS p2, b.object AS o2, CASE
                WHEN i.p1 IS NOT NULL THEN 'inverse_pair'
                WHEN b.object IN (a.s, a.o1) OR a.o1 = a.s THEN 'same_item'
                WHEN z.label IS NULL THEN 'no_label'
                WHEN z.page THEN 'page'
                WHEN contains(s.folded, bare(z.folded)) OR contains(o.folded, bare(z.folded)) THEN 'leak'
                WHEN leaks(z.aliases, s.folded) OR leaks(z.aliases, o.folded) THEN 'alias_leak'
            END AS reason
        FROM candidate_facts a SEMI JOIN known USING (s) JOIN facts b ON b.subject = a.o1
            JOIN names s ON s.id = a.s JOIN names o ON o.id = a.o1 LEFT JOIN names z ON z.id = b.object
            LEFT JOIN inverses i ON i.p1 = a.p1 AND i.p2 = b.property
        WHERE a.objects = 1 AND (a.dropped_by IS NULL OR a.dropped_by IN ('words', 'sitelinks'))
            AND b.objects = 1 AND b.property IN (SELECT unnest({sql(wanted)}));
        CREATE TEMP TABLE supported AS
        SELECT p1, p2 FROM joined WHERE reason IS NULL
        GROUP BY ALL HAVING count(*) >= {settings.min_pair_support};
        CREATE TEMP VIEW chains AS
        SELECT j.s, j.p1, j.o1, j.p2, j.o2,
            CASE WHEN reason IS NULL AND u.p1 IS NULL THEN 'pair_support' ELSE reason END AS dropped_by,
            {_drawn(settings.seed, "j.s", "j.p1", "j.o1", "j.p2", "j.o2")} AS draw
        FROM joined j LEFT JOIN supported u ON u.p1 = j.p1 AND u.p2 = j.p2"""
    )
