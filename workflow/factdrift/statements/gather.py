"""Gather: the shards of a dump -> the tables of one snapshot, bucket by bucket, in SQL.

Of an item or property on several lines the one with the highest revision counts, then the last. Every table
has a total order: its bytes do not depend on the number of shards, and the number of buckets decides only
which file a row is in.
"""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import DamagedDump, InputError
from factdrift.core.files import check_same, identity, write_text
from factdrift.core.owned import new_folder
from factdrift.core.tables import ROW_GROUP, database, only_file, register_stream, write_parquet
from factdrift.statements.extract import BAD_LINES_NAMED
from factdrift.statements.rows import (
    OF_ENTITIES,
    OF_STATEMENTS,
    OF_TRANSLATIONS,
    SHARD_PROPERTIES,
    read_about,
    read_bucket,
)
from factdrift.wikidata.course import suspicious
from factdrift.wikidata.shares import Account, check_shares
from factdrift.wikidata.streams import file_size
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS, TRANSLATIONS

CLASSES = schema_of("id: int32, label: string, superclasses: [int32]")
"""One row per item that has superclasses (P279) or is used as a class, that is, is a value of P31 or P279. A
class without a line in the dump has no label and no superclasses."""

MEMORY = 1000
"""Megabytes of memory that queries take before they spill to disk."""

WARNINGS_NAMED = 5
"""Places at which a part of the dump may be missing that are named; the first ones say enough."""

_COUNTED = ("lines", "lexemes", "other", "rejected", "bad_lines", "bad_bytes", "torn_lines", "foreign_ids")


class SnapshotFiles(NamedTuple):
    """The side tables of a snapshot, and its counts."""

    properties: Path
    classes: Path
    json: Path


def gather_bucket(
    shard_dirs: Sequence[Path],
    bucket: int,
    properties: Path,
    statements: Path,
    entities: Path,
    translations: Path | None = None,
    memory: int = MEMORY,
) -> None:
    """Writes the statements (STATEMENTS, by subject and position) and items (ENTITIES, by id) of one bucket.

    With `translations` it also writes their terms, and those of the bucket's properties, in other languages
    (TRANSLATIONS, by id and language).

    The snapshot's table of properties gives the datatype of a statement whose snak has none; if the property
    is not in it, the datatype is inferred from the value. Raises InputError if the shards are not exactly
    those of one dump.
    """
    shard_dirs = _folders(shard_dirs)
    reports = _reports(shard_dirs)
    if not 0 <= bucket < reports[0]["buckets"]:
        raise InputError(f"--bucket {bucket}: the shards have buckets 0 to {reports[0]['buckets'] - 1}")
    buckets = reports[0]["buckets"]
    with database(memory) as connection:
        _winners(connection, read_bucket(shard_dirs, OF_ENTITIES, bucket, buckets), "items")
        read = read_bucket(shard_dirs, OF_STATEMENTS, bucket, buckets)
        register_stream(connection, "read_statements", read)
        connection.read_parquet(only_file(properties)).create_view("properties")
        _write(connection, "SELECT * EXCLUDE (line) FROM items ORDER BY id", ENTITIES, entities)
        typed = """
            SELECT s.* EXCLUDE (inferred, line)
                REPLACE (coalesce(s.datatype, p.datatype, s.inferred) AS datatype)
            FROM read_statements s
            SEMI JOIN items i ON i.id = s.subject AND i.line = s.line
            LEFT JOIN properties p ON p.id = s.property
            ORDER BY s.subject, s.position
        """
        _write(connection, typed, STATEMENTS, statements)
        if translations is not None:
            translated = shard_dirs if reports[0]["languages"] else []
            read = read_bucket(translated, OF_TRANSLATIONS, bucket, buckets)
            register_stream(connection, "read_translations", read)
            _winners(connection, _properties(translated), "own_properties")
            terms = """
                SELECT t.* EXCLUDE (line) FROM read_translations t
                SEMI JOIN (SELECT id, line FROM items UNION ALL SELECT -id, line FROM own_properties)
                    USING (id, line)
                ORDER BY id, language
            """
            _write(connection, terms, TRANSLATIONS, translations)


def gather_snapshot(
    shard_dirs: Sequence[Path],
    dump: Path,
    max_bad_lines: float,
    files: SnapshotFiles,
    together: Path | None = None,
    memory: int = MEMORY,
) -> dict[str, Any]:
    """Writes properties (PROPERTIES, by id), classes (CLASSES, by id) and the counts of a snapshot.

    With `together` the shards' folders are moved into one, so that a job of a bucket needs one file of the
    workflow and not one a shard. Returns the counts. Raises InputError if the shards are not exactly those of
    the dump, if the share of its lines or of its text that cannot be used is above `max_bad_lines`, if a line
    is torn, or if it has no item. Where text may be missing, a warning is printed and stored with the counts.
    """
    shard_dirs = _folders(shard_dirs)
    reports = _reports(shard_dirs)
    file_size(dump)  # raises InputError if there is none
    check_same(dump, identity(dump), reports[0]["dump"])
    check_shares(dump, [Account(**report["share"]) for report in reports])
    totals = {kind: sum(report[kind] for report in reports) for kind in _COUNTED}
    bad = _bad_lines(reports)
    shares = [report["share"] for report in reports]
    if not shares[0]["divided"]:  # each shard has read the whole file
        shares = shares[:1]
    _check_bad_lines(dump, totals, bad, sum(share["text_bytes"] for share in shares), max_bad_lines)
    warnings = [*_warnings(totals, bad, shares), *_oddities(reports, totals)]
    with database(memory) as connection:
        _winners(connection, _properties(shard_dirs), "properties")
        counts = _items(connection, shard_dirs, reports[0]["buckets"])
        if not counts["items"]:
            raise DamagedDump(
                f"{dump}: no item in {totals['lines']:,} lines; name a Wikidata entity dump (-all.json.gz)"
            )
        query = "SELECT * EXCLUDE (line) FROM properties ORDER BY id"
        properties = _write(connection, query, PROPERTIES, files.properties)
        classes = _write(connection, "SELECT * FROM classes ORDER BY id", CLASSES, files.classes)
    listed = sum(report["properties"] + report["items"] for report in reports)
    odd = [kind for kind in reports[0]["oddities"] if kind != "raw_values"]
    summary = {
        "dump": reports[0]["dump"],
        "newest": counts["newest"],
        **{key: reports[0][key] for key in ("scope", "names")},
        "lines": totals["lines"],
        **{key: counts[key] for key in ("items", "whole_items")},
        "properties": properties,
        "classes": classes,
        **{key: totals[key] for key in ("lexemes", "other", "rejected")},
        "duplicates": listed - properties - counts["items"],
        **{key: totals[key] for key in ("bad_lines", "bad_bytes")},
        "first_bad_lines": bad[:BAD_LINES_NAMED],
        "warnings": warnings,
        "statements": counts["statements"],
        "oddities": {kind: sum(report["oddities"][kind] for report in reports) for kind in odd},
    }
    for warning in warnings:
        print(f"factdrift: warning: {dump}: {warning}", file=sys.stderr, flush=True)
    write_text(json.dumps(summary, indent=1), files.json)
    if together is not None:
        with new_folder(together) as folder:
            for shard_dir in shard_dirs:
                shutil.move(shard_dir, folder / shard_dir.name)  # `shards` may be a link to another disk
    return summary


_OF_CLASSES = ("id", "label", "revision", "superclasses", "line")
_OF_ITEMS = (*_OF_CLASSES, "modified", "classes", "whole")
_OF_COUNTS = ("subject", "property", "rank", "snak", "datatype", "inferred", "line")


def _items(connection: Connection, shard_dirs: Sequence[Path], buckets: int) -> dict[str, Any]:
    """Creates the table `classes`, and counts items and statements one bucket at a time to limit the
    memory."""
    connection.execute(
        """
        CREATE TABLE classes (id INTEGER, label VARCHAR, superclasses INTEGER[]);
        CREATE TABLE used AS SELECT DISTINCT unnest(classes) AS id FROM properties;
        CREATE TABLE counts (items BIGINT, whole BIGINT, revision BIGINT, modified VARCHAR);
        INSERT INTO counts SELECT 0, 0, max(revision), NULL FROM properties;
        CREATE TABLE kinds (rank VARCHAR, snak VARCHAR, datatype VARCHAR, number BIGINT);
        """
    )
    for bucket in range(buckets):
        _winners(connection, read_bucket(shard_dirs, OF_ENTITIES, bucket, buckets, _OF_ITEMS), "items")
        counted = read_bucket(shard_dirs, OF_STATEMENTS, bucket, buckets, _OF_COUNTS)
        register_stream(connection, "read_statements", counted)
        connection.execute(
            """
            INSERT INTO used
                SELECT unnest(classes) FROM items UNION SELECT unnest(superclasses) FROM items
                EXCEPT FROM used;
            INSERT INTO classes SELECT id, label, superclasses FROM items WHERE len(superclasses) > 0;
            INSERT INTO counts
                SELECT count(*), count(*) FILTER (whole), max(revision), max(modified) FILTER (
                    -- It can be read as a date.
                    regexp_matches(modified, '^[1-9]\\d{3}-\\d\\d-\\d\\d')
                        AND try_cast(left(modified, 10) AS DATE) IS NOT NULL
                ) FROM items;
            INSERT INTO kinds
                SELECT rank, snak, coalesce(s.datatype, p.datatype, s.inferred, 'unknown'), count(*)
                FROM read_statements s
                SEMI JOIN items i ON i.id = s.subject AND i.line = s.line
                LEFT JOIN properties p ON p.id = s.property
                GROUP BY ALL;
            """
        )
    for bucket in range(buckets):
        _winners(connection, read_bucket(shard_dirs, OF_ENTITIES, bucket, buckets, _OF_CLASSES), "items")
        connection.execute(
            """
            INSERT INTO classes SELECT id, label, superclasses FROM items
            WHERE len(superclasses) = 0 AND id IN (FROM used)
            """
        )
    connection.execute("INSERT INTO classes SELECT id, NULL, [] FROM used ANTI JOIN classes USING (id)")
    [(items, whole, revision, modified)] = connection.execute(
        "SELECT sum(items), sum(whole), max(revision), max(modified) FROM counts"
    ).fetchall()
    statements = {
        kind: dict(connection.sql(f"SELECT {kind}, sum(number) FROM kinds GROUP BY 1 ORDER BY 1").fetchall())
        for kind in ("rank", "snak", "datatype")
    }
    return {
        "newest": {"revision": revision, "modified": modified},
        "items": items,
        "whole_items": whole,
        "statements": {"total": sum(statements["rank"].values()), **statements},
    }


def _winners(connection: Connection, rows: pa.RecordBatchReader, table: str) -> None:
    """Creates a table of the items or properties of all shards, with one row per id."""
    register_stream(connection, "read_rows", rows)
    connection.execute(
        f"""
        CREATE OR REPLACE TEMP TABLE {table} AS SELECT * FROM read_rows
        QUALIFY row_number() OVER (PARTITION BY id ORDER BY revision DESC NULLS LAST, line DESC) = 1
        """
    )


def _properties(shard_dirs: Sequence[Path]) -> pa.RecordBatchReader:
    """The properties of all shards, which their tables of entities carry."""
    abouts = (read_about(folder / OF_ENTITIES.file) for folder in shard_dirs)
    rows = [row for about in abouts for row in json.loads(about["properties"])]
    return pa.Table.from_pylist(rows, schema=SHARD_PROPERTIES).to_reader()


def _write(connection: Connection, query: str, schema: pa.Schema, path: Path) -> int:
    """Writes the rows of a query; returns their number."""
    return write_parquet(connection.sql(query).to_arrow_reader(ROW_GROUP).cast(schema), path)


def _folders(shard_dirs: Sequence[Path]) -> list[Path]:
    """The folders of the shards, also where the folder that holds them is named."""
    folders: list[Path] = []
    for named in shard_dirs:
        inside = sorted(path.parent for path in named.glob(f"*/{OF_ENTITIES.file}"))
        folders += [named] if (named / OF_ENTITIES.file).exists() else inside or [named]
    return folders


def _reports(shard_dirs: Sequence[Path]) -> list[dict[str, Any]]:
    """The reports of the shards in their order. Raises InputError if they are not those of one dump."""
    reports = []
    for folder in shard_dirs:
        try:
            reports.append(json.loads(read_about(folder / OF_ENTITIES.file)["report"]))
        except (OSError, ValueError, KeyError) as error:
            raise InputError(
                f"{folder}: no complete folder of a shard ({error}); run `factdrift statements extract` again"
            ) from error
    if not reports:
        raise InputError("--shard-dirs: name the folder of at least one shard")
    reports.sort(key=lambda report: report["shard"])
    for key in ("dump", "shards", "buckets", "scope", "names", "languages"):
        if any(report[key] != reports[0][key] for report in reports):
            listed = " and ".join(dict.fromkeys(json.dumps(report[key]) for report in reports))
            raise InputError(f"--shard-dirs: the shards differ in {key}: {listed}; remove them and run again")
    shards = [report["shard"] for report in reports]
    if shards != list(range(reports[0]["shards"])):
        raise InputError(
            f"--shard-dirs: shards {shards} given, needed is each of 0 to {reports[0]['shards'] - 1} once"
        )
    return reports


def _bad_lines(reports: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The bad lines in the shards' reports, with their places in the dump."""
    bad = []
    lines = text_bytes = 0  # of the shards before
    for report in reports:
        for line in report["first_bad_lines"]:
            bad.append({**line, "line": lines + line["line"], "offset": text_bytes + line["offset"]})
        if report["share"]["divided"]:
            lines += report["share"]["line_ends"]
            text_bytes += report["share"]["text_bytes"]
    return sorted(bad, key=lambda line: line["line"])


def _check_bad_lines(
    dump: Path, totals: dict[str, int], bad: list[dict[str, Any]], text_bytes: int, max_bad_lines: float
) -> None:
    """Raises InputError if more than the share `max_bad_lines` of the lines or of the text cannot be used.

    Lines that begin as one entity and end as another say that text is missing, no matter how many they are.
    """
    listed = "; ".join(f"line {line['line']} (byte {line['offset']}): {line['problem']}" for line in bad[:5])
    if totals["torn_lines"] and max_bad_lines < 1:
        raise DamagedDump(
            f"{dump}: {totals['torn_lines']:,} lines begin as one entity and end as another, so what was "
            f"between them is missing. First bad lines: {listed}. Download the dump again and compare its "
            "checksum, or set `max_bad_lines: 1` in the configuration to use what is left"
        )
    few = totals["bad_lines"] <= max_bad_lines * totals["lines"]
    if few and totals["bad_bytes"] <= max_bad_lines * text_bytes:
        return
    raise DamagedDump(
        f"{dump}: {totals['bad_lines']:,} of {totals['lines']:,} lines ({totals['bad_bytes']:,} of "
        f"{text_bytes:,} bytes) cannot be used, more than the share {max_bad_lines:g} that `max_bad_lines` "
        f"allows. First: {listed}. Download the dump again, or set `max_bad_lines` higher in the "
        "configuration to skip them"
    )


def _warnings(
    totals: dict[str, int], bad: list[dict[str, Any]], shares: list[dict[str, Any]]
) -> Iterator[str]:
    """Yields a warning if lines are skipped, and for each place where the order of the items says that a part
    may be missing."""
    if bad:
        yield (
            f"{totals['bad_lines']:,} of {totals['lines']:,} lines cannot be used and are skipped, the first "
            f"is line {bad[0]['line']:,}: {bad[0]['problem']}"
        )
    jumps = suspicious([share["course"] for share in shares])
    for part, jump, missing in sorted(jumps, key=lambda entry: -entry[2])[:WARNINGS_NAMED]:
        line = sum(share["line_ends"] for share in shares[:part]) + jump.line
        yield (
            f"the numbers of the items jump from Q{jump.before} to Q{jump.after} before line {line:,}: some "
            f"{missing:,} entities may be missing there, unless they were deleted from Wikidata"
        )


def _oddities(reports: list[dict[str, Any]], totals: dict[str, int]) -> Iterator[str]:
    """Yields a warning for statements with the id of another entity, and one for values of unknown forms."""
    if totals["foreign_ids"]:
        first = next(filter(None, (report["first_foreign_id"] for report in reports)))
        yield (
            f"{totals['foreign_ids']:,} lines end with a statement whose id names another entity, the first "
            f"is {first}; they are read, but if the entities between the two are missing, download the "
            "dump again"
        )
    raw = sum((Counter(report["oddities"]["raw_values"]) for report in reports), Counter[str]())
    if raw:
        named = ", ".join(f"{datatype} ({number:,})" for datatype, number in sorted(raw.items()))
        yield f"{raw.total():,} values are in no form that is known, and are in no dataset: {named}"
