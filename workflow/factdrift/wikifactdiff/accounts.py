"""What accounts for a build: the funnel, counts as in Table 2 of the paper, and the manifest."""

import importlib.metadata
import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.files import check_same, write_json
from factdrift.core.tables import database, sql, write_query
from factdrift.updates.rules import SCENARIOS
from factdrift.wikifactdiff.replacements import replacement_rows

STAGES = (
    *("preprocess_old", "preprocess_new", "difference", "rules", "labels", "groups", "scenarios"),
    "wfd_repl",
)
"""The stages in order. Their reasons: names of filters, or `kept` (the first two); `F-`, `F0`, `F+`; names of
rules; labels; the step that dropped a triple or its group, or `kept`; scenarios of kept triples; and `kept`,
`undersampled` or `other_scenario`."""

PACKAGES = (
    *("factdrift", "duckdb", "pyarrow", "numpy", "scipy", "scikit-learn", "babel", "stringzilla", "nltk"),
    *("english-words", "snakemake"),
)
"""The packages that can change results."""


def write_funnel(
    report: Path, updates: Sequence[Path], untouched: Sequence[Path], groups: Path, output: Path
) -> int:
    """Writes `stage`, `relation`, `reason`, `triples` (statements in the first two stages).

    A build without updates has a funnel too.
    """
    counted = "'preprocess_' || dump AS stage, property, filter AS reason, statements AS triples"
    parts = [f"SELECT {counted} FROM read_parquet({sql(report)})"]
    replaced = f"""CASE WHEN (subject, property) IN (
            SELECT (subject, property) FROM read_parquet({sql(groups)})) THEN 'kept'
        WHEN scenario = 'ReplaceObject' THEN 'undersampled' ELSE 'other_scenario' END"""
    reasons = {"difference": "change", "rules": "rule", "labels": "label", "wfd_repl": replaced}
    reasons |= {"groups": "coalesce(dropped_by, 'kept')", "scenarios": "scenario"}
    for stage, reason in reasons.items():
        kept = "WHERE dropped_by IS NULL" if stage in ("scenarios", "wfd_repl") else ""
        query = f"SELECT '{stage}', property, {reason} AS reason, sum(triples) FROM updates {kept}"
        parts.append(f"{query} GROUP BY property, reason")
    with database() as db:
        db.execute(
            f"""CREATE TEMP VIEW updates AS
            SELECT subject, property, change, rule, label, dropped_by, scenario, 1 AS triples
            FROM read_parquet({sql(updates)})
            UNION ALL BY NAME SELECT *, 'F0' AS change FROM read_parquet({sql(untouched)})"""
        )
        return write_query(
            db,
            f"""SELECT stage, 'P' || property AS relation, reason, triples::BIGINT AS triples
            FROM ({" UNION ALL ".join(parts)})
            ORDER BY list_position({sql(STAGES)}, stage), property, reason""",
            output,
        )


def by_stage(db: Connection, funnel: Path) -> dict[str, dict[str, int]]:
    """Stage -> reason -> triples of a funnel, all relations together; in the order of STAGES and of reasons.

    A stage without triples is left out.
    """
    counts: dict[str, dict[str, int]] = {}
    for stage, reason, triples in db.sql(
        f"""SELECT stage, reason, sum(triples)::BIGINT FROM read_parquet({sql(funnel)})
        GROUP BY stage, reason ORDER BY list_position({sql(STAGES)}, stage), reason"""
    ).fetchall():
        counts.setdefault(stage, {})[reason] = triples
    return counts


def write_stats(dataset: Path, groups: Path, output: Path, beside: Path | None = None) -> None:
    """Writes the counts of both datasets as JSON; `groups` are those of WFD_repl, possibly none.

    `beside`: a table to edit. If `edit import` wrote it, its counts follow, under the name of its layout;
    where the layout has no field for something, its count is 0.
    """
    with database() as db:
        counts = {
            "wikifactdiff": _counts(db, f"SELECT * FROM read_parquet({sql(dataset)})"),
            "wfd_repl": _counts(db, replacement_rows(dataset, groups)),
        }
        if beside:
            rows = f"FROM read_parquet({sql(beside)})"
            # The ids of such subjects are numbers of records: counterfact-4402.
            ids = db.sql(f"SELECT DISTINCT regexp_extract(subject.id, '^([a-z]+)-', 1) {rows}").fetchall()
            if len(ids) == 1 and ids[0][0]:
                counts[ids[0][0]] = _counts(db, f"SELECT * {rows}", "subject.label")
    write_json(counts, output, indent=2)


def _counts(db: Connection, records: str, subject: str = "subject.id") -> dict[str, Any]:
    """Counts of a query's records; literals are distinct by datatype, raw form and label.

    `subject`: SQL for what tells subjects apart.
    """
    rows = f"({records})"
    db.execute(f"CREATE OR REPLACE TEMP VIEW triples AS SELECT *, unnest(objects) AS object FROM {rows}")

    def number(what: str, source: str = "triples") -> int:
        return int(db.sql(f"SELECT {what} FROM {source}").fetchall()[0][0])

    def tally(column: str, names: tuple[str, ...], source: str) -> dict[str, int]:
        counts = dict(db.sql(f"SELECT {column}, count(*) FROM {source} GROUP BY 1").fetchall())
        return {name: int(counts.get(name, 0)) for name in names}

    entities = number("count(DISTINCT object.id)")
    literal = "(object.datatype, object.raw, object.label)"
    literals = number(f"count(DISTINCT {literal}) FILTER (object.id IS NULL)")
    return {
        "updates": number("count(*)", rows),
        "triples": number("count(*)"),
        "subjects": number(f"count(DISTINCT {subject})"),
        "relations": number("count(DISTINCT relation.id)"),
        "objects": {"all": entities + literals, "entities": entities, "literals": literals},
        "scenarios": tally("scenario", SCENARIOS, rows),
        "decisions": tally("object.decision", ("new", "obsolete", "static"), "triples"),
        "splits": tally("split", ("train", "test"), rows),
    }


class DumpAccounts(NamedTuple):
    """What accounts for a dump: its name, size and checksum, and the counts of the snapshot made from it."""

    checksum: Path
    snapshot: Path


def write_manifest(
    dumps: Mapping[str, DumpAccounts],
    samples: Mapping[str, Path],
    configuration: Mapping[str, Any],
    tables: Sequence[Path],
    funnel: Path,
    output: Path,
) -> None:
    """Writes inputs, configuration, versions and counts of a build, without times: equal builds, equal bytes.

    `dumps`: those of the old and the new date, by date; `samples`: the accounts of the dates whose dumps are
    made from the bundled sample. The rows of tables are counted under the paths given. Raises InputError if a
    checksum is that of another dump than the one that a snapshot was read from.
    """
    checksums = {day: _json(files.checksum) for day, files in dumps.items()}
    snapshots = {day: _json(files.snapshot) for day, files in dumps.items()}
    for day, files in dumps.items():
        checksum = checksums[day]
        check_same(files.checksum.with_name(checksum["file"]), checksum, snapshots[day]["dump"])
        del checksum["digest"]
    with database() as db:
        triples = by_stage(db, funnel)
    versions = {name: importlib.metadata.version(name) for name in PACKAGES}
    manifest = {
        "dates": dict(zip(("old", "new"), dumps, strict=True)),
        "dumps": checksums,
        "snapshots": snapshots,
        "sample": {day: _json(path) for day, path in samples.items()},
        "configuration": configuration,
        "versions": {"python": platform.python_version(), **versions},
        "rows": {str(path): pq.read_metadata(path).num_rows for path in sorted(tables)},
        "triples": triples,
    }
    write_json(manifest, output, indent=2)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
