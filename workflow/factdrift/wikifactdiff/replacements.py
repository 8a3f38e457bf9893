"""WFD_repl: the updates that replace one object by another; and chance, in SQL."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.tables import database, sql, write_query

_HEX_DIGITS = 13
"""52 bits, which a DOUBLE holds exactly."""


def select_replacements(
    updates: Sequence[Path], output: Path, undersample: Mapping[int, int], seed: int
) -> int:
    """Writes the groups (subject, property) of WFD_repl; returns their number.

    `undersample`: property -> factor. One of `factor` groups of such a property is kept, rounded up: those
    with the smallest seeded hashes of (subject, property).
    """
    with database() as db:
        factors = " ".join(f"WHEN {number} THEN {factor}" for number, factor in sorted(undersample.items()))
        factor = f"CASE property {factors} ELSE 1 END" if factors else "1"
        order = digest("undersample", seed, "subject", "property")
        return write_query(
            db,
            f"""WITH groups AS (
                SELECT DISTINCT subject, property FROM read_parquet({sql(updates)})
                WHERE dropped_by IS NULL AND scenario = 'ReplaceObject'
            ), placed AS (
                SELECT *, row_number() OVER (PARTITION BY property ORDER BY {order}, subject) AS place,
                    count(*) OVER (PARTITION BY property) AS groups
                FROM groups
            )
            SELECT subject, property FROM placed
            WHERE place <= ceil(groups / ({factor}))
            ORDER BY subject, property""",
            output,
        )


def write_replacements(dataset: Path, groups: Path, output: Path) -> int:
    """Writes the rows of the assembled dataset that belong to the given groups, in its order.

    Raises InputError if there are none.
    """
    with database() as db:
        query = f"""{replacement_rows(dataset, groups)}
            ORDER BY subject_popularity DESC NULLS LAST,
                substr(subject.id, 2)::INTEGER, substr(relation.id, 2)::INTEGER"""
        if not db.sql(f"SELECT 1 FROM ({query}) LIMIT 1").fetchall():
            raise InputError(
                f"{dataset}: no update replaces exactly one object by another (scenario ReplaceObject), so "
                f"{output.name} would be empty; choose dates further apart, or use {dataset.name}, which "
                "holds the other scenarios"
            )
        return write_query(db, query, output)


def replacement_rows(dataset: Path, groups: Path) -> str:
    """SQL: the rows of the assembled dataset that belong to the given groups."""
    return f"""SELECT * FROM read_parquet({sql(dataset)})
        WHERE (subject.id, relation.id) IN (
            SELECT ('Q' || subject, 'P' || property) FROM read_parquet({sql(groups)}))"""


def digest(purpose: str, seed: int, *columns: str) -> str:
    """SQL: a text that orders rows at random, whatever their order was.

    `purpose` keeps choices with one seed apart.
    """
    return f"sha256(concat_ws(':', {sql(purpose)}, {seed}, {', '.join(columns)}))"


def chance(purpose: str, seed: int, *columns: str) -> str:
    """SQL: a DOUBLE in [0, 1) for the values of `columns`."""
    number = f"('0x' || substr({digest(purpose, seed, *columns)}, 1, {_HEX_DIGITS}))::BIGINT"
    return f"({number} / {float(16**_HEX_DIGITS)})"
