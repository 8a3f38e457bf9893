"""How fast two snapshots are compared, bucket by bucket: the join, the triples written, their columns joined.

    python benchmarks/difference.py                         50 million statements a side, in 16 buckets
    python benchmarks/difference.py --rows 5e6 --buckets 2
    python benchmarks/difference.py --rows 3e6 --buckets 1 --items 1e7     with the jobs that look up items

The tables are made here, bucket by bucket: of the old snapshot's rows 4 % are removed in the new one, which
has 12 % of that number besides, in entities with another revision (`--changed`, their share); the rest is in
both. `--repeated` is the share of values that stand twice in their entity and relation. The numbers that are
found must be those that were made. Each measurement is a process of its own, on one core; what its imports
take is not counted. `--folder` keeps the tables, to be measured again without being made.
"""

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from record import add_record, peak, record

STATEMENTS_AN_ENTITY = 12
REMOVED, ADDED = 0.04, 0.12

SETTINGS = {
    "snapshots_old": "2021-01-04",
    "snapshots_new": "2023-02-27",
    "variant": "paper",
    "dropped_datatypes": [],
    "page_classes": [],
    "page_class_words": [],
    "always_restrictive_properties": [],
    "creation_properties": [],
    "death_properties": [],
}
"""Of the updates stage, where they differ from the defaults."""


def make(
    old: Path, new: Path, rows: int, bucket: int, buckets: int, changed: float, repeated: float
) -> list[int]:
    """Writes preprocessed statements of one bucket; returns how many rows are in both, removed and added."""
    from factdrift.core.tables import database, growing, write_parquet
    from factdrift.updates.blocks import KEPT, WRITER, in_blocks
    from factdrift.updates.filters import FILTERED, kept_rows, writer

    # A place is in both dumps or in one of them; entities whose revision stays have the first kind alone.
    entities = round(rows / STATEMENTS_AN_ENTITY)
    come, gone = ADDED / changed, REMOVED / changed
    in_old = f"(NOT changed OR fate < {1 / (1 + come)})"
    in_new = f"(NOT changed OR fate >= {gone / (1 + come)})"
    one = "18446744073709551616"
    with database(4000, 2) as db:
        db.execute(
            f"""CREATE TABLE places AS
            SELECT id AS subject, place::INTEGER AS position, changed, valued, hash(id, valued) AS dice,
                hash(id, place, 'more') AS more, hash(id, place, 'fate') / {one} AS fate
            FROM (
                SELECT *, place - (place > 0 AND hash(id, place, 'again') / {one} < {repeated})::INTEGER
                    AS valued
                FROM (
                    SELECT id, hash(id, 'changed') / {one} < {changed} AS changed,
                        unnest(range((9 + hash(id, 'places') % 7)::BIGINT)) AS place
                    FROM (SELECT (i * {buckets} + {bucket})::INTEGER AS id FROM range(1, {entities + 1}) r(i))
                )
            ) ORDER BY subject, position"""
        )
        for path, there, revision in ((old, in_old, "subject"), (new, in_new, "subject + changed::INTEGER")):
            statements = db.sql(_statements(there, revision)).to_arrow_reader(131_072).cast(FILTERED)
            write_parquet(statements, path, **writer(FILTERED))
        [counts] = db.sql(
            f"""SELECT sum(least(o, n)), sum(o - least(o, n)), sum(n - least(o, n)) FROM (
                SELECT count(*) FILTER ({in_old}) AS o, count(*) FILTER ({in_new}) AS n
                FROM places WHERE {_KEPT} GROUP BY subject, valued
            )"""
        ).fetchall()
    method = settings()
    for path in (old, new):
        with database(4000, 2) as db, growing(dump(path).kept, KEPT, **WRITER) as keep:
            first = 0
            for table in in_blocks(path, FILTERED.names, 131_072):
                kept = table["dropped_by"].is_null()
                for batch in kept_rows(db, table, kept, first, method).to_batches():
                    keep(batch)
                first += table.num_rows
    return [int(count) for count in counts]


def settings() -> Any:
    """SETTINGS as the jobs take them."""
    from factdrift.core.keys import read_settings
    from factdrift.updates.method import PART, UpdateSettings

    return read_settings(json.dumps(SETTINGS), UpdateSettings, PART)


def dump(path: Path) -> Any:
    """The tables of a dump of which `path` is that of all statements."""
    from factdrift.updates.dumps import Dump

    return Dump(path, path.with_stem(f"{path.stem}-kept"))


_KEPT = "dice % 10 <> 7"
"""One statement in ten is dropped by a filter."""


def _statements(there: str, revision: str) -> str:
    """SQL: the statements of one side. Three of five are about items; one in eight has a start, and so on."""
    item, quantity, date = "kind < 60", "kind < 75", "kind < 88"
    return f"""
        SELECT subject, property,
            format('Q{{}}${{:08x}}-{{:04x}}-{{:04x}}-{{:04x}}-{{:08x}}{{:04x}}', subject, more & 4294967295,
                (more >> 32) & 65535, more >> 48, hash(more) & 65535, (hash(more) >> 16) & 4294967295,
                hash(more) >> 48
            ) AS statement,
            position, CASE WHEN dice % 50 = 0 THEN 'preferred' ELSE 'normal' END AS rank, 'value' AS snak,
            CASE WHEN {item} THEN 'wikibase-item' WHEN {quantity} THEN 'quantity' WHEN {date} THEN 'time'
                ELSE 'string' END AS datatype,
            CASE WHEN {item} THEN object END AS object,
            CASE WHEN {item} THEN 'Q' || object WHEN {quantity} THEN value || ' 1'
                WHEN {date} THEN '+' || year || '-01-01/9/Q1985727' ELSE 'text ' || value END AS key,
            CASE WHEN {item} THEN NULL WHEN {quantity} THEN '{{"amount":"+' || value || '","unit":"1"}}'
                WHEN {date} THEN '{{"after":0,"before":0,"precision":9,"time":"+' || year
                    || '-00-00T00:00:00Z","timezone":0}}'
                ELSE '"text ' || value || '"' END AS json,
            {_time("kind BETWEEN 75 AND 87")} AS time,
            {_time("more % 8 = 0")} AS start, false AS start_unknown,
            {_time("more % 12 = 1")} AS "end", false AS end_unknown,
            {_time("more % 12 = 2")} AS pit,
            CASE WHEN more % 8 = 0 THEN [580] ELSE [] END AS qualifiers,
            {revision} AS revision, NULL AS starts, NULL AS ends, NULL AS pits,
            CASE WHEN NOT ({_KEPT}) THEN 'object' END AS dropped_by
        FROM (
            SELECT *, dice % 100 AS kind, 1900 + (dice >> 20) % 120 AS year, (dice >> 20) % 100000 AS value,
                (10 + valued * 37 + (dice >> 40) % 30)::INTEGER AS property,
                (1 + (dice >> 20) % 5000000 * ((dice >> 8) % 16) / 16)::INTEGER AS object
            FROM places WHERE {there}
        ) ORDER BY subject, position"""


def _time(condition: str) -> str:
    return f"""CASE WHEN {condition} THEN {{
        'year': year, 'month': 1, 'day': 1, 'precision': 9, 'julian': false,
        'written': year * 10000, 'first': year * 10000 + 101, 'last': year * 10000 + 1231}} END"""


def measure(what: str, old: Path, new: Path) -> dict[str, Any]:
    """Runs one way of comparing in this process; seconds of the processor, peak memory, numbers found."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from factdrift.updates.blocks import in_step
    from factdrift.updates.difference import difference
    from factdrift.updates.matching import COLUMNS, match, side
    from factdrift.updates.open_groups import Statements, divided

    pa.set_cpu_count(1)
    method = settings()
    output = old.with_name("triples.parquet")
    was, now = dump(old), dump(new)
    for before, after in in_step(was.kept, now.kept, COLUMNS):  # a first block, so that all is imported
        match(side(before), side(after))
        break
    started = time.process_time()
    found = [0, 0, 0]
    if what.startswith("join"):
        for before, after in in_step(was.kept, now.kept, COLUMNS):
            here, there = side(before), side(after)
            matched = match(here, there, unchanged=what == "join")
            # Where a value is repeated, numbers alone tell how many pairs there will be.
            both = len(matched.old) + sum(
                min(count, olds.get(group, 0))
                for olds in [Counter(matched.groups_old.tolist())]
                for group, count in Counter(matched.groups_new.tolist()).items()
            )
            for place, number in enumerate((both, len(here.values) - both, len(there.values) - both)):
                found[place] += number
        seconds = time.process_time() - started
    elif what in LOOKUPS:
        look_up(what, old, new)
        seconds = time.process_time() - started
    elif what == "written":
        difference(was, now, method, output)
        seconds = time.process_time() - started
        changes = pq.read_table(output, columns=["change"])["change"].value_counts().to_pylist()
        numbers = {each["values"]: each["counts"] for each in changes}
        found = [numbers[change] for change in ("F0", "F-", "F+")]
    else:  # the table of `written` is there
        statements = Statements(was, now)
        for block in divided(output):
            found[0] += statements.join(block.open).num_rows
        seconds = time.process_time() - started
    return {"seconds": seconds, "peak": peak(), "found": found}


def make_items(folder: Path, items: int, files: int = 64) -> None:
    """Writes tables of items as a snapshot has them, all relevant, and what else the jobs read."""
    import pyarrow as pa

    from factdrift.core.tables import database, sql, write_parquet, write_query
    from factdrift.wikidata.tables import ENTITIES, PROPERTIES

    with database(4000, 2) as db:
        for file in range(files):
            rows = db.sql(
                f"""SELECT id, label, label AS description, [label] AS aliases, label AS title,
                    5 AS sitelinks, id::BIGINT AS revision, NULL::VARCHAR AS modified, [5] AS classes,
                    []::INTEGER[] AS superclasses, NULL::VARCHAR AS symbol, true AS whole
                FROM (
                    SELECT (i * {files} + {file})::INTEGER AS id,
                        'label ' || hash(i) % 100000 || ' of item ' || i * {files} + {file} AS label
                    FROM range(1, {items // files} + 1) r(i)
                )"""
            )
            write_parquet(rows.to_arrow_reader(131_072).cast(ENTITIES), folder / f"items-{file}.parquet")
        known = sorted(folder.glob("items-*.parquet"))
        write_query(db, f"SELECT id FROM read_parquet({sql(known)}) ORDER BY id", folder / "relevant.parquet")
        write_query(
            db,
            """SELECT i::INTEGER AS property, false AS single_value, false AS temporal_functional,
                false AS latest_only, false AS meta, false AS restrictive FROM range(1, 1000) r(i)""",
            folder / "relations.parquet",
        )
        new = "SELECT (i * 70)::INTEGER AS id FROM range(1, 150001) r(i)"
        write_query(db, new, folder / "newborn.parquet")
    write_parquet(pa.Table.from_pylist([], PROPERTIES), folder / "properties.parquet")


def look_up(what: str, old: Path, new: Path) -> None:
    """Runs the job of a bucket that looks up items of all buckets; `written` has been run before."""
    from factdrift.updates.jobs import Classify, Preprocess

    folder = old.parent
    relations = folder / "relations.parquet"
    if what == "preprocess":
        output = dump(folder / "filtered.parquet")
        Preprocess(
            statements=old,
            relevant=folder / "relevant.parquet",
            relations=relations,
            dump_is="old",
            settings=settings(),
            output=output.filtered,
            kept=output.kept,
        ).run()
        return
    items = tuple(sorted(folder.glob("items-*.parquet")))
    Classify(
        triples=folder / "triples.parquet",
        old=dump(old),
        new=dump(new),
        relations=relations,
        new_entities=(folder / "newborn.parquet",),
        old_entities=items,
        entities=items,
        properties=(folder / "properties.parquet",) * 2,
        rules=Path(__file__).parents[1] / "resources" / "rules.tsv",
        only_relations=(),
        only_classes=(),
        settings=settings(),
        output=folder / "updates.parquet",
        untouched=folder / "untouched.parquet",
    ).run()


LOOKUPS = {
    "preprocess": "`preprocess` of one side",
    "classify": "`classify`",
}

WAYS = {
    "join": "join, unchanged entities by position",
    "join-all": "join, all entities by value",
    "written": "triples written, all columns",
    "open": "columns of both statements put to the triples of open groups",
}


def tables(folder: Path, bucket: int, options: argparse.Namespace) -> list[int]:
    """Makes the tables of a bucket unless the folder has them; what is to be found in them, as `make`."""
    wanted = {
        **{name: getattr(options, name) for name in ("rows", "buckets", "changed", "repeated", "items")},
        "bucket": bucket,
    }
    account = folder / "made.json"
    if account.is_file():
        told = json.loads(account.read_text(encoding="utf-8"))
        if told["options"] == wanted:
            return list(told["found"])
    rows = round(options.rows / options.buckets)
    found = make(
        folder / "old.parquet",
        folder / "new.parquet",
        rows,
        bucket,
        options.buckets,
        options.changed,
        options.repeated,
    )
    if options.items:
        make_items(folder, int(options.items))
    account.write_text(json.dumps({"options": wanted, "found": found}), encoding="utf-8")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=float, default=50e6, help="statements a side, about")
    parser.add_argument("--buckets", type=int, default=16)
    parser.add_argument("--changed", type=float, default=0.5, help="share of the entities that were edited")
    parser.add_argument("--repeated", type=float, default=0.02, help="share of values that stand twice")
    parser.add_argument("--items", type=float, default=0, help="also the jobs that look up so many items")
    parser.add_argument("--folder", type=Path, help="where the tables are kept; by default they are not")
    add_record(parser)
    parser.add_argument("--measure", nargs=3, metavar=("WAY", "OLD", "NEW"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        way, old, new = options.measure
        print(json.dumps(measure(way, Path(old), Path(new))))
        return
    ways = WAYS | (LOOKUPS if options.items else {})
    seconds, peaks, made = dict.fromkeys(ways, 0.0), dict.fromkeys(ways, 0.0), [0, 0, 0]
    in_open_groups = 0
    for bucket in range(options.buckets):
        with contextlib.ExitStack() as stack:
            if options.folder:
                folder = options.folder / f"{bucket}-of-{options.buckets}"
                folder.mkdir(parents=True, exist_ok=True)
            else:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="difference-")))
            wanted = tables(folder, bucket, options)
            old, new = folder / "old.parquet", folder / "new.parquet"
            made = [a + b for a, b in zip(made, wanted, strict=True)]
            for way in ways:
                line = [sys.executable, __file__, "--measure", way, str(old), str(new)]
                done = subprocess.run(line, capture_output=True, text=True, check=True)
                result = json.loads(done.stdout)
                if way == "open":
                    in_open_groups += result["found"][0]
                elif way not in LOOKUPS:
                    assert result["found"] == wanted, (way, result, wanted)
                seconds[way] += result["seconds"]
                peaks[way] = max(peaks[way], result["peak"])
        print(f"bucket {bucket + 1} of {options.buckets}", file=sys.stderr)
    per_side = made[0] + (made[1] + made[2]) / 2
    table = [
        [title, f"{seconds[way]:,.1f}", f"{per_side / seconds[way] / 1e6:,.2f}", f"{peaks[way]:,.0f}"]
        for way, title in ways.items()
    ]
    both, removed, added = made
    looked_up = f"; {options.items:,.0f} items in each snapshot" if options.items else ""
    items = f" --items {options.items:g}" if options.items else ""
    record(
        "Difference of two snapshots",
        ["", "processor seconds", "million statements a side, second and core", "peak MB"],
        table,
        f"Kept statements: {both:,} in both, {removed:,} removed, {added:,} added; {options.changed:.0%} of "
        f"the entities edited, {options.repeated:.0%} of the values repeated; {in_open_groups:,} triples "
        f"in open groups{looked_up}. `python benchmarks/difference.py --rows {options.rows:g} --buckets "
        f"{options.buckets}{items}`; what was found is what was made.",
        options.record,
    )


if __name__ == "__main__":
    main()
