"""The names of all that probes can mention, drawn once from the items of both dumps."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.tables import sql, write_query
from factdrift.ripples.facts import kept_objects
from factdrift.wikidata.tables import supplied_labels


class Inputs(NamedTuple):
    """The dataset with the groups of WFD_repl, what `facts` wrote, the items of both dumps, and names."""

    dataset: Path
    groups: Path
    facts: Sequence[Path]
    old_entities: Sequence[Path]
    new_entities: Sequence[Path]
    labels: Sequence[Path]
    """Tables `id label` of items that the dumps do not name."""


def write_names(db: Connection, inputs: Inputs, seed: int, output: Path, out_shared: Path) -> None:
    """Writes the names of items and which names several subjects share (docs/tables/ripple_facts.md).

    A name is the new dump's, else the old one's, else one that was supplied.
    """
    create_updates(db, inputs.dataset, inputs.groups)
    _create_mentioned(db, inputs.facts, seed)
    for which, paths in (("new", inputs.new_entities), ("old", inputs.old_entities)):
        db.execute(f"CREATE TEMP VIEW entities_{which} AS SELECT * FROM read_parquet({sql(paths)})")
    db.register("supplied", supplied_labels(inputs.labels))
    write_query(
        db,
        """WITH old AS (SELECT * FROM entities_old SEMI JOIN mentioned USING (id)),
        new AS (SELECT * FROM entities_new SEMI JOIN mentioned USING (id)),
        shared AS (
            SELECT DISTINCT new.id FROM new JOIN entities_new AS other
                ON other.label = new.label AND other.id <> new.id
                AND other.sitelinks >= new.sitelinks
        )
        SELECT id, coalesce(new.label, old.label, supplied.label) AS label,
            coalesce(if(new.label IS NOT NULL, new.aliases, old.aliases), []) AS aliases,
            coalesce(new.classes, old.classes, []) AS classes,
            coalesce(new.sitelinks, old.sitelinks, 0) AS sitelinks,
            CASE WHEN old.label <> new.label THEN old.label END AS former,
            id IN (FROM shared) AS ambiguous
        FROM mentioned LEFT JOIN new USING (id) LEFT JOIN old USING (id) LEFT JOIN supplied USING (id)
        WHERE coalesce(new.label, old.label, supplied.label) <> '' ORDER BY id""",
        output,
    )
    write_query(
        db,
        """SELECT name, count(DISTINCT id)::INTEGER AS subjects FROM (
            SELECT id, lower(unnest(list_prepend(label, coalesce(aliases, [])))) AS name
            FROM entities_new WHERE id IN (SELECT subject_number FROM updates WHERE chosen)
        ) GROUP BY name HAVING subjects > 1 ORDER BY name""",
        out_shared,
    )


def create_updates(db: Connection, dataset: Path, groups: Path) -> None:
    """TEMP VIEW updates: the rows of the dataset, and whether probes are made of them (`chosen`)."""
    db.execute(
        f"""CREATE TEMP VIEW updates AS
        SELECT *, scenario <> 'ReplaceObject' OR (subject_number, property_number) IN (
            SELECT (subject, property) FROM read_parquet({sql(groups)})) AS chosen
        FROM (
            SELECT *, substr(subject.id, 2)::INTEGER AS subject_number,
                substr(relation.id, 2)::INTEGER AS property_number
            FROM read_parquet({sql(dataset)})
        )"""
    )


def _create_mentioned(db: Connection, facts: Sequence[Path], seed: int) -> None:
    """TEMP TABLE mentioned (id): the items of updates, of facts about them or with them, of neighbours."""
    db.execute(
        f"""CREATE TEMP TABLE items AS
        SELECT subject_number AS id FROM updates WHERE chosen UNION
        SELECT substr(o.id, 2)::INTEGER FROM (SELECT unnest(objects) AS o FROM updates WHERE chosen)
        WHERE o.id LIKE 'Q%';
        CREATE TEMP VIEW facts AS SELECT * FROM read_parquet({sql(facts)});
        CREATE TEMP TABLE neighbors AS
        SELECT unnest(list_concat(neighborhood, random_neighborhood)) AS n FROM updates WHERE chosen;
        CREATE TEMP TABLE mentioned AS
        SELECT id FROM (
            SELECT id FROM items
            UNION SELECT object FROM facts SEMI JOIN items ON id = subject WHERE about
            UNION SELECT subject FROM (
                SELECT subject FROM facts SEMI JOIN items ON id = object WHERE NOT about
                QUALIFY {kept_objects(seed)})
            UNION SELECT substr(n.subject.id, 2)::INTEGER FROM neighbors
            UNION SELECT substr(o.object.id, 2)::INTEGER FROM (SELECT unnest(n.objects) AS o FROM neighbors)
            WHERE o.object.id LIKE 'Q%'
        ) WHERE id > 0"""
    )
