"""The subjects to which the configuration key `only` restricts the datasets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.settings import read_ids
from factdrift.core.tables import sql
from factdrift.wikidata.ids import entity_number, property_number

if TYPE_CHECKING:
    from factdrift.updates.jobs import Classify


def asked_subjects(db: duckdb.DuckDBPyConnection, job: "Classify") -> list[int] | None:
    """The subjects of a bucket's triples that are asked for; None for all of them.

    They are in the file `only_subjects`, if there is one, and instances of `only_classes` or their subclasses
    in either dump, if there are any.
    """
    listed = None if job.only_subjects is None else read_subjects(job.only_subjects)
    wanted = _classes(job)
    if not wanted:
        return listed
    rows = db.sql(
        f"""SELECT DISTINCT id FROM (
            SELECT id, unnest(classes) AS class
            FROM read_parquet({sql([*job.entities, *job.old_entities])})
            WHERE id IN (SELECT subject FROM read_parquet({sql(job.triples)}))
        ) WHERE class IN ({with_subclasses(job.classes, wanted)}) ORDER BY id"""
    ).fetchall()
    in_file = None if listed is None else set(listed)
    return [number for (number,) in rows if in_file is None or number in in_file]


def with_subclasses(classes: Sequence[Path], numbers: Sequence[int]) -> str:
    """SQL: the ids of these classes and of all classes below them, by the tables `classes`."""
    return f"""
        WITH RECURSIVE edges AS (
            SELECT id, unnest(superclasses) AS superclass FROM read_parquet({sql(classes)})
        ), below AS (
            SELECT unnest({sql(numbers)}) AS id
            UNION SELECT edges.id FROM edges JOIN below ON edges.superclass = below.id
        ) SELECT id FROM below"""


def asked_relations(names: Sequence[str]) -> list[int]:
    """The numbers of the relations of `only.relations`. Raises InputError if one is no property id."""
    try:
        return [property_number(name) for name in names]
    except ValueError as error:
        raise InputError(f"only.relations: {error}") from error


def _classes(job: "Classify") -> list[int]:
    """The numbers of `only.classes`. Raises InputError if one is no item id, or their tables are missing."""
    numbers = []
    for name in job.only_classes:
        number = entity_number(name)
        if number is None or number < 0:
            raise InputError(f"only.classes: {name!r} is no item id such as Q5")
        numbers.append(number)
    if numbers and not job.classes:
        raise InputError("--only-classes needs --classes, the tables of both snapshots")
    return numbers


def read_subjects(path: Path) -> list[int]:
    """The item numbers of a file with one id (Q30) a line; property ids are ignored.

    Raises InputError if the file is missing, holds anything else, or no item at all.
    """
    numbers = [int(name[1:]) for name in read_ids(path, "only.subjects") if name[0] == "Q"]
    if not numbers:
        raise InputError(f"{path}: no item id in it; write one a line, such as Q30")
    return numbers
