"""The subjects to which the configuration key `only` restricts the datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.settings import read_ids
from factdrift.core.tables import sql
from factdrift.wikidata.ids import entity_number, property_number

if TYPE_CHECKING:
    from factdrift.updates.jobs import Classify


class OnlyClasses(NamedTuple):
    """Classes of which subjects are to be instances, in either dump, subclasses included."""

    wanted: Sequence[int]
    classes: Sequence[Path]
    """The tables of both snapshots."""
    entities: Sequence[Path]
    """All buckets of both snapshots."""


def asked_subjects(
    db: duckdb.DuckDBPyConnection, triples: Path, subjects: Path | None, classes: OnlyClasses | None
) -> list[int] | None:
    """The subjects of a bucket's triples that are asked for; None for all of them.

    `subjects`: a file of ids. With both, a subject is in the file and an instance.
    """
    listed = None if subjects is None else read_subjects(subjects)
    if classes is None:
        return listed
    kinds = f"""
        WITH RECURSIVE edges AS (
            SELECT id, unnest(superclasses) AS superclass FROM read_parquet({sql(classes.classes)})
        ), kinds AS (
            SELECT unnest({sql(list(classes.wanted))}) AS id
            UNION SELECT edges.id FROM edges JOIN kinds ON edges.superclass = kinds.id
        ) SELECT id FROM kinds"""
    found = db.sql(
        f"""SELECT DISTINCT id FROM (
            SELECT id, unnest(classes) AS class FROM read_parquet({sql(classes.entities)})
            WHERE id IN (SELECT subject FROM read_parquet({sql(triples)}))
        ) WHERE class IN ({kinds}) ORDER BY id"""
    ).fetchall()
    instances = [number for (number,) in found]
    if listed is None:
        return instances
    in_file = set(listed)
    return [number for number in instances if number in in_file]


def asked_relations(names: Sequence[str]) -> list[int]:
    """The numbers of the relations of `only.relations`. Raises InputError if one is no property id."""
    try:
        return [property_number(name) for name in names]
    except ValueError as error:
        raise InputError(f"only.relations: {error}") from error


def asked_classes(job: Classify) -> OnlyClasses | None:
    """The classes of `only.classes` with the tables that tell their instances; None if there are none.

    Raises InputError if one is no item id, or the tables are missing.
    """
    numbers = [entity_number(name) for name in job.only_classes]
    for name, number in zip(job.only_classes, numbers, strict=True):
        if number is None or number < 0:
            raise InputError(f"only.classes: {name!r} is no item id such as Q5")
    if not numbers:
        return None
    if not job.classes:
        raise InputError("--only-classes needs --classes, the tables of both snapshots")
    wanted = [number for number in numbers if number is not None]
    return OnlyClasses(wanted, job.classes, [*job.entities, *job.old_entities])


def read_subjects(path: Path) -> list[int]:
    """The item numbers of a file with one id (Q30) a line; property ids are ignored.

    Raises InputError if the file is missing, holds anything else, or no item at all.
    """
    numbers = [int(name[1:]) for name in read_ids(path, "only.subjects", "QP") if name[0] == "Q"]
    if not numbers:
        raise InputError(f"{path}: no item id in it; write one a line, such as Q30")
    return numbers
