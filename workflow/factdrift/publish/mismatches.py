"""Statements that contradict themselves or others, in the form of Wikidata's Mismatch Finder.

Only what the dates prove is a contradiction: a date without a day counts as any day that it may mean.
"""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.files import write_csv
from factdrift.core.tables import database, sql
from factdrift.wikidata.ids import MADE_UP_ITEMS

COLUMNS = (
    *("item_id", "statement_guid", "property_id", "wikidata_value", "meta_wikidata_value"),
    *("external_value", "external_url", "type"),
)
"""The header of an import file (docs/UserGuide.md of wmde/wikidata-mismatch-finder)."""
_GUID = r"Q\d+\$[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}"

_QUERY = """
CREATE TEMP MACRO day(t) AS CASE WHEN t.precision >= 11 THEN printf('%d-%02d-%02d', t.year, t.month, t.day)
    WHEN t.precision = 10 THEN printf('%d-%02d', t.year, t.month) ELSE printf('%d', t.year) END;
CREATE TEMP TABLE facts AS SELECT subject, property, position, statement, object, start, "end", end_unknown
FROM read_parquet({statements})
WHERE snak = 'value' AND object IS NOT NULL AND rank <> 'deprecated'
    -- Of several dates nobody knows which belong together.
    AND starts IS NULL AND ends IS NULL AND NOT list_has_any(qualifiers, {partial})
    AND subject < {made_up} AND regexp_full_match(statement, '{guid}');
CREATE TEMP TABLE held AS SELECT * FROM facts WHERE property IN (
    SELECT id FROM read_parquet({properties}) WHERE single_value UNION ALL SELECT unnest({relations}));
CREATE TEMP TABLE rivals AS
SELECT a.*, b.object AS rival, b.start AS rival_start, b."end" IS NULL AND NOT b.end_unknown AS rival_holds
FROM held a JOIN held b USING (subject, property)
WHERE a.object <> b.object AND a.start.last < b.start.first
QUALIFY row_number() OVER (
    PARTITION BY a.subject, a.property, a.position ORDER BY b.start.first, b.position) = 1;
SELECT * FROM (
    SELECT 'ends before it starts' AS kind, subject, property, position, statement, object,
        format('ends {{}}, before it starts ({{}})', day("end"), day(start)) AS said
    FROM facts WHERE "end".last < start.first
    UNION ALL
    SELECT 'two without an end', subject, property, position, statement, object,
        format('no end, though Q{{}} holds since {{}}', rival, day(rival_start))
    FROM rivals WHERE "end" IS NULL AND NOT end_unknown AND rival_holds
    UNION ALL
    SELECT 'successor begins before', subject, property, position, statement, object,
        format('ends {{}}, after Q{{}} began ({{}})', day("end"), rival, day(rival_start))
    FROM rivals WHERE rival_start.last < "end".first
) ORDER BY subject, property, position, kind
"""


def write_mismatches(
    snapshot: Path, relations: Collection[int], partial: Collection[int], output: Path
) -> dict[str, int]:
    """Writes the contradictions of a snapshot as CSV; returns kind -> number.

    `relations`: properties with a single value at a time, besides those whose constraint says so. `partial`:
    qualifiers of statements that are left out. Values are items only. Raises InputError if the folder is no
    snapshot.
    """
    statements, properties = snapshot / "statements", snapshot / "properties.parquet"
    if not properties.is_file() or not any(statements.glob("*.parquet")):
        raise InputError(
            f"{snapshot}: is no snapshot with statements/ and properties.parquet; name a folder such as "
            "results/snapshots/2023-02-27"
        )
    with database() as db:
        query = _QUERY.format(
            statements=sql(f"{statements}/*.parquet"),
            properties=sql(properties),
            relations=sql(sorted(relations)),
            partial=sql(sorted(partial)),
            guid=_GUID,
            made_up=MADE_UP_ITEMS,
        )
        rows = db.sql(query).fetchall()
    lines = (
        (f"Q{subject}", statement, f"P{relation}", f"Q{value}", "", text, "", "qualifier")
        for _, subject, relation, _, statement, value, text in rows
    )
    write_csv([COLUMNS, *lines], output)
    return Counter(kind for kind, *_ in rows)
