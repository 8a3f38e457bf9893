"""The facts of one bucket that probes can be made of: what holds at T_old and T_new about updated items."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.tables import sql, write_query
from factdrift.wikidata.filters import dropped_as

OBJECTS_KEPT = 64
"""Of the facts with one relation and one object, as many of the most popular subjects are kept, and as many
that the seed draws. Whatever the number of buckets, the first of both are among them."""


class Inputs(NamedTuple):
    """The dataset, and of one bucket the filtered statements of both dumps and the items of the new one."""

    dataset: Path
    old: Path
    new: Path
    entities: Path
    t_old: int
    t_new: int
    """The days of the dumps, packed."""


class Outputs(NamedTuple):
    """Facts, statements of updated groups, and the dead and dissolved (docs/tables/ripple_facts.md)."""

    facts: Path
    stated: Path
    gone: Path


def write_facts(db: Connection, inputs: Inputs, ends: Sequence[str], seed: int, outputs: Outputs) -> None:
    """Writes the tables of a bucket; `ends`: the relations, such as P570, by which a subject is gone."""
    _create_updated(db, inputs.dataset)
    for which, path, day in (("old", inputs.old, inputs.t_old), ("new", inputs.new, inputs.t_new)):
        db.execute(_holding(which, path, day))
    _create_gone(db, inputs.new, ends)
    db.execute(
        f"""CREATE TEMP TABLE facts AS
        SELECT subject, property, any_value(datatype) AS datatype, any_value(object) AS object,
            any_value(json) AS json, key,
            min(statement) FILTER (which = 'old' AND sound) AS old_statement,
            min(statement) FILTER (which = 'new' AND sound) AS new_statement,
            coalesce(max(values) FILTER (which = 'old'), 0)::INTEGER AS old_values,
            coalesce(max(values) FILTER (which = 'new'), 0)::INTEGER AS new_values,
            subject IN (FROM gone) AS gone, coalesce(any_value(sitelinks), 0) AS sitelinks
        FROM (SELECT 'old' AS which, * FROM holding_old UNION ALL SELECT 'new', * FROM holding_new)
        LEFT JOIN (SELECT id AS subject, sitelinks FROM read_parquet({sql(inputs.entities)}))
            USING (subject)
        GROUP BY subject, property, key"""
    )
    write_query(
        db,
        f"""SELECT subject, property, datatype, object, json, key, old_statement, new_statement,
            old_values, new_values, gone, sitelinks, about
        FROM (
            SELECT *, TRUE AS about FROM facts
            WHERE subject IN (SELECT id FROM described)
                OR (subject, property) IN (SELECT (subject, property) FROM asked)
            UNION ALL
            SELECT *, FALSE FROM facts WHERE object IN (SELECT id FROM updated)
            QUALIFY {kept_objects(seed)}
        ) ORDER BY about, subject, property, key""",
        outputs.facts,
    )
    write_query(db, _stated(inputs.old, inputs.new), outputs.stated)
    write_query(
        db,
        """SELECT subject AS id FROM gone
        WHERE subject IN (SELECT id FROM described UNION SELECT subject FROM asked) ORDER BY id""",
        outputs.gone,
    )


def kept_objects(seed: int) -> str:
    """SQL, for QUALIFY: whether a fact is among the OBJECTS_KEPT of its relation and object, of its kind.

    The kinds are facts that can be a first hop, and others. Applied to each bucket and then to all, it leaves
    the same facts however many buckets there are.
    """
    usable = """(old_statement IS NOT NULL AND new_statement IS NOT NULL AND NOT gone
        AND old_values = 1 AND new_values = 1)"""
    group = f"PARTITION BY property, object, {usable}"
    draw = f"sha256(concat_ws(':', 'ripples object', {int(seed)}, property, object, subject))"
    return f"""least(
        row_number() OVER ({group} ORDER BY sitelinks DESC, subject),
        row_number() OVER ({group} ORDER BY {draw})
    ) <= {OBJECTS_KEPT}"""


def _create_updated(db: Connection, dataset: Path) -> None:
    """TEMP TABLEs groups (subject, property), updated (id): the subjects and objects of replacements,
    described (id): these, and the objects of new entities, to which too many facts may point, and
    asked (subject, property): the groups of neighbours, and of other updates with a static object."""
    db.execute(
        f"""CREATE TEMP TABLE groups AS
        SELECT substr(subject.id, 2)::INTEGER AS subject, substr(relation.id, 2)::INTEGER AS property,
            objects, list_concat(neighborhood, random_neighborhood) AS neighbors
        FROM read_parquet({sql(dataset)}) WHERE scenario = 'ReplaceObject';
        CREATE TEMP TABLE updated AS
        SELECT subject AS id FROM groups UNION
        SELECT substr(o.id, 2)::INTEGER FROM (SELECT unnest(objects) AS o FROM groups)
        WHERE o.id LIKE 'Q%';
        CREATE TEMP TABLE described AS
        SELECT id FROM updated UNION
        SELECT substr(o.id, 2)::INTEGER FROM (
            SELECT unnest(objects) AS o FROM read_parquet({sql(dataset)}) WHERE scenario = 'AddEntity'
        ) WHERE o.id LIKE 'Q%';
        CREATE TEMP TABLE asked AS
        SELECT substr(n.subject.id, 2)::INTEGER AS subject,
            substr(n.relation.id, 2)::INTEGER AS property
        FROM (SELECT unnest(neighbors) AS n FROM groups);
        INSERT INTO asked SELECT substr(subject.id, 2)::INTEGER, substr(relation.id, 2)::INTEGER
        FROM read_parquet({sql(dataset)})
        WHERE len(list_filter(objects, lambda o: o.decision = 'static')) > 0"""
    )


def _holding(which: str, path: Path, day: int) -> str:
    """SQL: TEMP TABLE holding_`which`: statements that hold on a day, of `asked` and of groups of
    `described` items or with an updated object.

    `sound`: no filter drops it. `values`: how many different values of the group hold.
    """
    return f"""CREATE TEMP TABLE holding_{which} AS
        WITH ranked AS (
            SELECT *, max(rank = 'preferred') OVER (PARTITION BY subject, property) AS preferred
            FROM read_parquet({sql(path)})
            WHERE rank <> 'deprecated' AND (subject, property) IN (
                SELECT (subject, property) FROM read_parquet({sql(path)})
                WHERE subject IN (SELECT id FROM described) OR object IN (SELECT id FROM updated)
                UNION SELECT (subject, property) FROM asked
            )
        )
        SELECT subject, property, datatype, object, json, key, statement, dropped_by IS NULL AS sound,
            count(DISTINCT key) OVER (PARTITION BY subject, property) AS values
        FROM ranked
        WHERE (rank = 'preferred' OR NOT preferred) AND snak = 'value' AND NOT end_unknown
            AND NOT coalesce("end".first <= {day}, false) AND NOT coalesce(start.last > {day}, false)"""


def _create_gone(db: Connection, new: Path, ends: Sequence[str]) -> None:
    """TEMP TABLE gone: the subjects that are dead or dissolved at T_new."""
    numbers = [int(relation[1:]) for relation in ends]
    db.execute(
        f"""CREATE TEMP TABLE gone AS
        SELECT DISTINCT subject FROM read_parquet({sql(new)})
        WHERE rank <> 'deprecated' AND property IN (SELECT unnest({sql(numbers)})) AND snak <> 'novalue'
            AND subject IN (SELECT subject FROM holding_old UNION SELECT subject FROM holding_new
                UNION SELECT subject FROM asked)"""
    )


def _stated(old: Path, new: Path) -> str:
    """SQL: all statements of the updated groups in both dumps that are not deprecated, with their dates."""
    return (
        " UNION ALL ".join(
            f"""SELECT subject, property, '{which}' AS dump, statement, object, key, snak,
            start.first AS start_first, start.last AS start_last, start_unknown,
            "end".first AS end_first, "end".last AS end_last, end_unknown, pit IS NOT NULL AS measured,
            starts IS NOT NULL OR ends IS NOT NULL AS several,
            dropped_by IS NULL OR {dropped_as("aside")} AS sound
        FROM read_parquet({sql(path)}) SEMI JOIN groups USING (subject, property)
        WHERE rank <> 'deprecated'"""
            for which, path in (("new", new), ("old", old))
        )
        + " ORDER BY subject, property, dump, statement, key"
    )
