"""E+: the entities that came into being after T_old."""

from pathlib import Path

from factdrift.core.tables import database, sql, write_query
from factdrift.updates.method import Method, number, numbers
from factdrift.updates.readings import high, low
from factdrift.wikidata.time import YEAR


def new_entities(statements: Path, triples: Path, old_entities: Path, method: Method, output: Path) -> int:
    """Writes one bucket's new entities (id, property, created): the earliest date that makes each new.

    `statements` is the new snapshot's bucket, `triples` its difference, `old_entities` the old snapshot's
    bucket: in `revised` an entity that already had a line there is not new, and a date coarser than a year
    makes none new; but a publication in the 1970s still shows that one of 2021 is a reissue. In `reference`
    the first property that has a date which can be read decides; one with unknown values only is skipped.
    Returns their number.
    """
    publication = number(method.publication_property)
    if method.variant == "reference":
        # The first of the eight in dump order decides alone, by its first date that parses.
        decides = f"""
            SELECT subject, property, position, day FROM dates
            QUALIFY property = first(property) OVER (PARTITION BY subject ORDER BY position)
                AND 1 = row_number() OVER (
                    PARTITION BY subject, property
                    ORDER BY CASE WHEN property = {publication} THEN day END, position
                )"""
    else:
        precise = f"precision >= {YEAR}" if method.variant == "revised" else "true"
        decides = f"""
            SELECT subject, property, position, day FROM (
                SELECT *, min(last) FILTER (NOT {precise}) OVER (PARTITION BY subject, property) AS coarse
                FROM dates
            ) WHERE {precise}
            QUALIFY property <> {publication} OR (
                1 = row_number() OVER (PARTITION BY subject, property ORDER BY day, position)
                AND coalesce(coarse >= day, true)
            )"""
    known = f"SELECT id FROM read_parquet({sql(old_entities)})" if method.variant == "revised" else "SELECT 0"
    with database() as db:
        return write_query(
            db,
            f"""WITH dates AS (
                SELECT subject, property, position, {low("time", method)} AS day,
                    {high("time", method)} AS last, time.precision AS precision
                FROM read_parquet({sql(statements)})
                WHERE list_contains({sql(numbers(method.creation_properties))}, property)
                    AND rank <> 'deprecated' AND snak = 'value' AND time IS NOT NULL
            ), decides AS ({decides})
            SELECT subject AS id, arg_min(property, (day, position)) AS property, min(day) AS created
            FROM decides WHERE day > {method.t_old}
                AND subject NOT IN ({known})
                AND subject NOT IN (
                    SELECT subject FROM read_parquet({sql(triples)}) WHERE change <> 'F+')
            GROUP BY subject ORDER BY subject""",
            output,
        )
