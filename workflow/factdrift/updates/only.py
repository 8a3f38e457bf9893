"""The subjects to which the configuration key `only` restricts the datasets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.settings import read_ids
from factdrift.core.tables import sql
from factdrift.wikidata.ids import entity_number


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


def item_of(name: str) -> int:
    """Q5 -> 5. Raises InputError if it is no item id."""
    number = entity_number(name)
    if number is None or number < 0:
        raise InputError(f"only.classes: {name!r} is no item id such as Q5")
    return number


def read_subjects(path: Path) -> list[int]:
    """The item numbers of a file with one id (Q30) a line; property ids are ignored.

    Raises InputError if the file is missing, holds anything else, or no item at all.
    """
    numbers = [int(name[1:]) for name in read_ids(path, "only.subjects", "QP") if name[0] == "Q"]
    if not numbers:
        raise InputError(f"{path}: no item id in it; write one a line, such as Q30")
    return numbers
