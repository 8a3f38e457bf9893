"""The part of a snapshot that TempRIPPLE queries, as RDF in Wikidata's vocabulary.

The triples are those of Wikidata's dumps
(https://www.mediawiki.org/wiki/Wikibase/Indexing/RDF_Dump_Format), so that a query runs unchanged here and on
the Query Service. The tables lack two things: whether a name is English or for all languages (all are written
as English), and the values of qualifiers other than P580, P582 and P585 (each is written as a `genid`, like
any unknown value).
"""

import gzip
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.owned import atomic_path
from factdrift.core.tables import ROW_GROUP, only_file, sql
from factdrift.sparql.vocabulary import DATATYPES, GENID, PREFIXES, datatype_iri
from factdrift.tempripple.sources import INSTANCE, SUBCLASS
from factdrift.tempripple.table_source import DATE_MACROS
from factdrift.wikidata.time import JULIAN_CALENDAR, YEAR

_GREGORIAN_CALENDAR = "Q1985727"

_PARTS = {
    580: ("coalesce(starts, [start])", "start_unknown"),
    582: ('coalesce(ends, ["end"])', "end_unknown"),
    585: ("[pit]", "false"),
}
"""The qualifiers whose values the tables hold: SQL for their dates, and for whether one is unknown."""


def write_rdf(
    db: Connection,
    statements: Sequence[Path],
    entities: Sequence[Path],
    properties: Path,
    relations: Iterable[int],
    classes: Iterable[int],
    output: Path,
) -> int:
    """Writes N-Triples, gzipped if the name ends in `.gz`; returns the number of lines.

    The file has all statements of `relations`, of any rank; P31 of the items that they mention; P279 of all
    items; names of the items that any of these mention and of `classes`; declarations of all properties.
    The bytes depend on the rows only, not on the number of files that hold them. Triples may be repeated.
    """
    db.execute(DATE_MACROS + _MACROS)
    for name, paths in (("all_statements", statements), ("entities", entities), ("declared", [properties])):
        db.read_parquet([only_file(path) for path in paths]).create_view(name)
    db.execute(
        f"""
        CREATE TEMP TABLE relations AS SELECT unnest({sql(sorted(set(relations)))}) AS property;
        CREATE TEMP TABLE mentioned AS
            WITH related AS (SELECT subject, object FROM all_statements SEMI JOIN relations USING (property))
            SELECT subject AS id FROM related UNION SELECT object FROM related WHERE object > 0;
        CREATE TEMP VIEW written AS
            SELECT * REPLACE (coalesce(statement, 'Q' || subject || '$' || position) AS statement)
            FROM all_statements
            WHERE property IN (FROM relations) OR property = {SUBCLASS}
                OR property = {INSTANCE} AND subject IN (FROM mentioned);
        CREATE TEMP VIEW listed AS
            SELECT id, {INSTANCE} AS property, unnest(classes) AS class
                FROM entities SEMI JOIN mentioned USING (id) WHERE NOT whole
            UNION ALL SELECT id, {SUBCLASS}, unnest(superclasses) FROM entities WHERE NOT whole;
        CREATE TEMP TABLE named AS
            FROM mentioned UNION SELECT unnest({sql(sorted(set(classes)))})
            UNION SELECT subject FROM written UNION SELECT object FROM written WHERE object > 0
            UNION SELECT id FROM listed UNION SELECT class FROM listed;
        """
    )
    lines = 0
    with atomic_path(output) as temporary, temporary.open("wb") as raw, _packed(raw, output) as file:
        for query in (
            _properties(),
            """SELECT terms(wd('Q' || id), label, aliases)
            FROM entities SEMI JOIN named USING (id) ORDER BY id""",
            # The classes of items without statements in the snapshot.
            """SELECT [triple(wd('Q' || id), wdt('P' || property), wd('Q' || class))]
            FROM listed ORDER BY id, property, class""",
            _statements(),
            _dates(),
        ):
            for batch in db.sql(query).to_arrow_reader(ROW_GROUP // 8):
                triples = batch.column(0).flatten().drop_null().to_pylist()
                file.write("".join(f"{triple} .\n" for triple in triples).encode("utf-8"))
                lines += len(triples)
    return lines


def _packed(raw: BinaryIO, path: Path) -> AbstractContextManager[Any]:
    """The file to write to. The gzip header has no name or time, so that bytes do not vary."""
    if path.suffix != ".gz":
        return nullcontext(raw)
    return gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0)


_NAMESPACES = "".join(
    f"CREATE TEMP MACRO {prefix}(name) AS iri({sql(base)} || name);" for prefix, base in PREFIXES.items()
)
_MACROS = f"""
    CREATE TEMP MACRO iri(text) AS '<' || text || '>';
    {_NAMESPACES}
    CREATE TEMP MACRO typed(text, kind) AS '"' || text || '"^^' || xsd(kind);
    CREATE TEMP MACRO quoted(text) AS '"' || replace(replace(replace(replace(
        text, '\\', '\\\\'), '"', '\\"'), chr(10), '\\n'), chr(13), '\\r') || '"';
    -- `de_AT` is `de-AT`; a text in what is no language by the grammar of RDF is written without.
    CREATE TEMP MACRO tag(language) AS CASE
        WHEN regexp_full_match(replace(language, '_', '-'), '[A-Za-z]+(-[A-Za-z0-9]+)*')
        THEN '@' || replace(language, '_', '-') ELSE '' END;
    CREATE TEMP MACRO genid(text) AS iri({sql(GENID)} || md5(text));
    -- The first dollar sign parts item and statement; ids of Wikibase hold nothing that must be encoded.
    CREATE TEMP MACRO node(statement) AS wds(url_encode(regexp_replace(statement, '\\$', '-')));
    CREATE TEMP MACRO in_year(packed) AS ((packed % 10000) + 10000) % 10000;
    -- RDF has a year 0 before the year 1; coarser dates keep the number that is written.
    CREATE TEMP MACRO rdf_year(packed, precision) AS (packed - in_year(packed)) // 10000
        + (packed < 0 AND precision >= {YEAR})::INT;
    CREATE TEMP MACRO stamp_of(year, within) AS typed(
        CASE WHEN year < 0 THEN '-' ELSE '' END
        || format('{{:04d}}-{{:02d}}-{{:02d}}T00:00:00Z', abs(year), within // 100, within % 100),
        'dateTime');
    CREATE TEMP MACRO stamp(t) AS stamp_of(rdf_year(rdf_day(t), t.precision), in_year(rdf_day(t)));
    CREATE TEMP MACRO calendar(t) AS
        wd(CASE WHEN t.julian THEN '{JULIAN_CALENDAR}' ELSE '{_GREGORIAN_CALENDAR}' END);
    CREATE TEMP MACRO value_node(t) AS wdv(md5(rdf_day(t) || ' ' || t.precision || ' ' || t.julian));
    CREATE TEMP MACRO triple(s, p, o) AS s || ' ' || p || ' ' || o;
    CREATE TEMP MACRO terms(s, label, aliases) AS list_concat(
        [triple(s, rdfs('label'), quoted(label) || '@en')],
        list_transform(coalesce(aliases, []), lambda a: triple(s, skos('altLabel'), quoted(a) || '@en')));
"""


def _statements() -> str:
    """SQL: the lines of each statement, by subject."""
    return f"""
        WITH ranked AS (
            SELECT *, rank = 'preferred' OR rank = 'normal'
                AND NOT bool_or(rank = 'preferred') OVER (PARTITION BY subject, property) AS best
            FROM written
        ), valued AS (
            SELECT *, wd('Q' || subject) AS s, node(statement) AS st, 'P' || property AS p,
                CASE
                WHEN snak = 'novalue' THEN NULL
                WHEN snak = 'somevalue' THEN genid(statement)
                WHEN object > 0 THEN wd('Q' || object)
                WHEN object < 0 THEN wd('P' || -object)
                WHEN rdf_day(time) IS NOT NULL THEN stamp(time)
                WHEN datatype = 'time' THEN genid(statement)
                WHEN json_type(json) = 'VARCHAR' THEN quoted(json ->> '$')
                WHEN json_type(json, '$.text') = 'VARCHAR'
                THEN quoted(json ->> '$.text') || tag(json ->> '$.language')
                ELSE genid(statement) END AS value
            FROM ranked
        )
        SELECT list_concat(
            [
                triple(s, p(p), st),
                triple(st, wikibase('rank'), wikibase(upper(rank[1]) || rank[2:] || 'Rank')),
                CASE WHEN best THEN triple(st, rdf('type'), wikibase('BestRank')) END,
                triple(st, ps(p), value),
                CASE WHEN snak = 'value' AND object IS NULL THEN triple(st, psv(p), value_node(time)) END,
                CASE WHEN snak = 'novalue' THEN triple(st, rdf('type'), wdno(p)) END,
                CASE WHEN best THEN triple(s, wdt(p), value) END,
                CASE WHEN best AND snak = 'novalue' THEN triple(s, rdf('type'), wdno(p)) END
            ],
            {", ".join(_qualifier(number, *parts) for number, parts in _PARTS.items())},
            list_transform(
                list_filter(qualifiers, lambda q: q NOT IN ({", ".join(map(str, _PARTS))})),
                lambda q: triple(st, pq('P' || q), genid(statement || ' ' || q)))
        )
        FROM valued ORDER BY subject, position, statement
        """


def _qualifier(number: int, dates: str, unknown: str) -> str:
    """SQL: the lines of one qualifier; `novalue` if it is present without a date and is not unknown."""
    name, hidden = f"'P{number}'", f"genid(statement || ' {number}')"
    known = f"list_filter({dates}, lambda t: t IS NOT NULL)"
    dated = f"list_filter({dates}, lambda t: rdf_day(t) IS NOT NULL)"
    return f"""
        list_transform({dated}, lambda t: triple(st, pq({name}), stamp(t))),
        list_transform({dated}, lambda t: triple(st, pqv({name}), value_node(t))),
        [
            CASE
            WHEN {unknown} OR len({known}) > len({dated}) THEN triple(st, pq({name}), {hidden})
            WHEN list_contains(qualifiers, {number}) AND len({known}) = 0
            THEN triple(st, rdf('type'), wdno({name})) END
        ]"""


def _dates() -> str:
    """SQL: the value nodes of all dates, each once."""
    qualified = " UNION ".join(f"SELECT unnest({dates}) FROM written" for dates, _ in _PARTS.values())
    return f"""
        WITH times(t) AS (SELECT time FROM written WHERE snak = 'value' AND object IS NULL UNION {qualified}),
        nodes AS (
            SELECT DISTINCT value_node(t) AS node, stamp(t) AS stamp, t.precision AS precision,
                calendar(t) AS calendar
            FROM times WHERE rdf_day(t) IS NOT NULL
        )
        SELECT [
            triple(node, rdf('type'), wikibase('TimeValue')),
            triple(node, wikibase('timeValue'), stamp),
            triple(node, wikibase('timePrecision'), typed(precision, 'integer')),
            triple(node, wikibase('timeTimezone'), typed(0, 'integer')),
            triple(node, wikibase('timeCalendarModel'), calendar)
        ] FROM nodes ORDER BY node
        """


def _properties() -> str:
    """SQL: the predicates of each property; for declared ones datatype and names too."""
    cases = (f"WHEN {sql(name)} THEN {sql(datatype_iri(name))}" for name in DATATYPES)
    datatypes = f"CASE datatype {' '.join(cases)}"
    roles = {"directClaim": "wdt", "claim": "p", "statementProperty": "ps", "statementValue": "psv"}
    roles |= {"qualifier": "pq", "qualifierValue": "pqv", "novalue": "wdno"}
    predicates = ", ".join(f"triple(s, wikibase('{role}'), {prefix}(p))" for role, prefix in roles.items())
    return f"""
        WITH known AS (
            SELECT *, wd(p) AS s FROM (
                SELECT id, 'P' || id AS p, label, aliases,
                    {datatypes} ELSE {sql(PREFIXES["wikibase"])} || datatype END AS kind
                FROM declared
                UNION ALL
                SELECT property, 'P' || property, NULL, NULL, NULL
                FROM relations ANTI JOIN declared ON id = property
            )
        )
        SELECT list_concat(
            [triple(s, rdf('type'), wikibase('Property')), triple(s, wikibase('propertyType'), iri(kind))],
            [{predicates}],
            terms(s, label, aliases))
        FROM known ORDER BY id
        """
