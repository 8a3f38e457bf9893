"""Writes one record for each update, with the public dataset's field names and our own.

All of it is SQL over temporary tables: `triples` (that reach the dataset), `facts` (of both kinds of
neighbours), `names` (labels of all entities that are named), `subjects` (of prompts), `shown` (literals as
people write them), `templates`, and each kind of neighbour facts by group.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.switches import Variant, switches
from factdrift.core.tables import sql, table_of, write_query
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.tables import supplied_labels
from factdrift.wikidata.time import YEAR, Time
from factdrift.wikifactdiff.replacements import chance
from factdrift.words.dates import written_date
from factdrift.words.grammar import read_grammar
from factdrift.words.names import create_usages, read_names
from factdrift.words.templates import BLANK, OBJECT, SUBJECT

_JSON = "coalesce(new_json, old_json)"
"""SQL: the literal of a triple as the new dump writes it, else as the old one does."""

_COMMON_ARTICLE = "CASE WHEN count(DISTINCT coalesce(u.article, '')) = 1 THEN any_value(u.article) END"
"""SQL: the article of a group's objects where all have the same one: the prompt must fit each of them."""

_PITS = """SELECT new_pit AS pit FROM triples WHERE datatype = 'quantity'
    UNION ALL SELECT pit FROM facts WHERE datatype = 'quantity'"""
"""SQL: the points in time of measurements."""

_MACROS = """
    CREATE TEMP MACRO entity_id(number) AS CASE WHEN number > 0 THEN 'Q' || number ELSE 'P' || -number END;
    CREATE TEMP MACRO time_text(t) AS
        CASE WHEN t.year < 0 THEN '-' ELSE '' END || printf('%04d', abs(t.year)) || CASE
            WHEN t.precision >= 11 THEN printf('-%02d-%02d', t.month, t.day)
            WHEN t.precision = 10 THEN printf('-%02d', t.month)
            WHEN t.precision = 9 THEN ''
            ELSE '/' || t.precision END || CASE WHEN t.julian THEN ' julian' ELSE '' END;
    CREATE TEMP MACRO bound_text(t, is_unknown) AS
        CASE WHEN t IS NOT NULL THEN time_text(t) WHEN is_unknown THEN 'somevalue' END;
"""

_WORDING = f"""
    CREATE TEMP MACRO with_article(article, name) AS
        CASE WHEN coalesce(article, '') = '' THEN name ELSE article || ' ' || name END;
    CREATE TEMP MACRO capital(text) AS upper(text[1]) || text[2:];
    -- `form` is a row of the table templates' lists, `use` one of usages or null.
    CREATE TEMP MACRO form_of(form, use, day) AS CASE
        WHEN day IS NULL THEN CASE WHEN use.plural THEN form.plural ELSE form.singular END
        WHEN starts_with(form.singular, '{SUBJECT}')
        THEN 'As of ' || day || ', ' || CASE WHEN use.plural THEN form.plural ELSE form.singular END
        ELSE 'As of ' || day || ', ' || lower(form.singular[1])
            || CASE WHEN use.plural THEN form.plural[2:] ELSE form.singular[2:] END END;
    CREATE TEMP MACRO blank_of(form, article) AS
        with_article(CASE WHEN form.article THEN article END, '{BLANK}');
    CREATE TEMP MACRO subject_put(sentence, name, article) AS
        CASE WHEN coalesce(article, '') = '' THEN replace(sentence, '{SUBJECT}', name)
            WHEN starts_with(sentence, '{SUBJECT}') OR starts_with(sentence, capital(article) || ' {SUBJECT}')
            THEN replace(replace(sentence, capital(article) || ' {SUBJECT}', '{SUBJECT}'),
                '{SUBJECT}', with_article(capital(article), name))
            ELSE replace(replace(sentence, article || ' {SUBJECT}', '{SUBJECT}'),
                '{SUBJECT}', with_article(article, name)) END;
    -- The object's blank first: what a name contains is no blank.
    CREATE TEMP MACRO cloze(form, name, use, object_article, day) AS
        subject_put(replace(replace(form_of(form, use, day), '{OBJECT}', blank_of(form, object_article)),
            '{SUBJECT}'' ', '{SUBJECT}''' || CASE WHEN ends_with(name, 's') THEN ' ' ELSE 's ' END),
            name, use.article);
"""
"""SQL: a name has its article, a plural subject its form of the verb, and a measurement its date."""


@dataclass(frozen=True, kw_only=True)
class Tables:
    """What the records are made from (`factdrift wikifactdiff assemble --help`)."""

    updates: Sequence[Path]
    old_entities: Sequence[Path]
    new_entities: Sequence[Path]
    old_properties: Path
    new_properties: Path
    labels: Sequence[Path]
    popularity: Path
    templates: Path
    literals: Path
    neighbors: Path
    random_neighbors: Path
    popular_neighbors: Path | None = None

    @property
    def neighborhoods(self) -> dict[str, Path]:
        """Column of the dataset -> the table of its facts; popular subjects only where chosen."""
        files = {"neighborhood": self.neighbors, "random_neighborhood": self.random_neighbors}
        return files | ({"popular_neighborhood": self.popular_neighbors} if self.popular_neighbors else {})


@dataclass(frozen=True, kw_only=True)
class Choice:
    """How the records are worded and split: the keys of these names in the configuration."""

    variant: Variant
    subject_names: Literal["variant", "label", "unique"]
    grammar: Literal["variant", "fitted", "plain"]
    measurements: Literal["variant", "plain", "dated"]
    seed: int
    test_share: float


def assemble(db: Connection, tables: Tables, choice: Choice, without_updates: str, output: Path) -> int:
    """Writes the dataset, sorted by falling popularity, subject and relation; returns its number of updates.

    `choice.seed` chooses the templates of neighbour facts and the `test_share` of subjects that are the test
    split. With unique `subject_names` a prompt adds a subject's description to its label where another
    subject of the dataset's prompts has the same label, unless the description names the object that is asked
    for. Neighbour facts without a label are left out. Raises InputError if the inputs lack a label, a literal
    or a template that an update needs, or, with the message `without_updates`, if that is not empty and there
    is no update.
    """
    names = ("variant", "grammar", "measurements", "subject_names")
    switch = switches({name: getattr(choice, name) for name in names})
    pits = _PITS if switch["measurements"] == "dated" else f"{_PITS} LIMIT 0"
    unique_names = switch["subject_names"] == "unique"
    db.execute(_MACROS)
    facts = sql([*tables.neighborhoods.values()])
    db.execute(
        f"""CREATE TEMP TABLE triples AS
        SELECT * FROM read_parquet({sql(tables.updates)}) WHERE dropped_by IS NULL;
        CREATE TEMP VIEW facts AS SELECT * FROM read_parquet({facts});
        CREATE TEMP TABLE shown AS
        SELECT datatype, json, label, short, raw FROM read_parquet({sql(tables.literals)})"""
    )
    _create_names(db, tables)
    named = "SELECT id, label, classes FROM names"
    create_wording(db, tables.templates, named, pits, switch["grammar"] == "fitted")
    db.execute(
        """CREATE TEMP TABLE subjects AS
        SELECT id, label, description, count(*) OVER (PARTITION BY label) > 1 AS ambiguous,
            {'article': article, 'plural': coalesce(plural, false)} AS used
        FROM names LEFT JOIN usages USING (id) SEMI JOIN (
            SELECT subject AS id FROM triples UNION SELECT neighbor FROM facts
        ) USING (id)"""
    )
    if without_updates and not db.sql("SELECT 1 FROM triples LIMIT 1").fetchall():
        raise InputError(without_updates)
    _check(db, tables)
    db.execute(
        f"""CREATE TEMP TABLE popularity AS SELECT * FROM read_parquet({sql(tables.popularity)})
        WHERE id IN (SELECT id FROM named)"""
    )
    for name, path in tables.neighborhoods.items():
        _create_neighborhood(db, name, path, choice.seed, unique_names)
    return write_query(db, _records(choice, unique_names, list(tables.neighborhoods)), output)


def _create_names(db: Connection, tables: Tables) -> None:
    """TEMP TABLE names (id, label, description, classes): the new dump's, else the old one's.

    Properties are negative.
    """
    db.execute(
        """CREATE TEMP TABLE named AS
        SELECT subject AS id FROM triples UNION SELECT object FROM triples WHERE object IS NOT NULL
        UNION SELECT -property FROM triples
        UNION SELECT unnest([neighbor, -relation]) FROM facts
        UNION SELECT object FROM facts WHERE object IS NOT NULL"""
    )
    new, old = (tables.new_entities, tables.new_properties), (tables.old_entities, tables.old_properties)
    sides = [
        f"""(SELECT id, label, description, classes FROM read_parquet({sql(entities)})
                WHERE id IN (SELECT id FROM named)
            UNION ALL SELECT -id, label, description, NULL FROM read_parquet({sql(properties)}))"""
        for entities, properties in (new, old)
    ]
    db.register("supplied", supplied_labels(tables.labels))
    db.execute(
        f"""CREATE TEMP TABLE names AS
        SELECT id, coalesce(n.label, o.label, given.label) AS label,
            CASE WHEN n.label IS NULL THEN coalesce(o.description, n.description)
                ELSE coalesce(n.description, o.description) END AS description,
            coalesce(n.classes, o.classes) AS classes
        FROM {sides[0]} n FULL JOIN {sides[1]} o USING (id)
            FULL JOIN (SELECT * FROM supplied WHERE id IN (SELECT id FROM named))
                AS given USING (id)"""
    )


def create_wording(db: Connection, templates: Path, named: str, pits: str, fitted: bool) -> None:
    """TEMP TABLEs usages and templates, view dates, and the macro `cloze`.

    usages (id, article, plural): of the items of the query `named` (id, label, classes), if names and verbs
    are `fitted`. templates (property, sentences, source): `sentences` by rank, each with the forms `singular`
    and `plural` and whether an object has its `article` there. dates (pit, text): TIMEs of the query `pits`
    (pit) that can be written in words: none that is coarser than a year, or of no calendar.
    """
    db.execute(_WORDING)
    create_usages(db, named, read_names() if fitted else None)
    grammar = read_grammar()
    texts = db.sql(f"SELECT DISTINCT template FROM read_parquet({sql(templates)})").fetchall()
    forms = [(text, grammar.plural(text), grammar.article_before_object(text)) for (text,) in texts]
    db.register("forms", table_of(forms, schema_of("template plural: string, article: bool")))
    db.execute(
        f"""CREATE TEMP TABLE templates AS
        SELECT property, list({{'singular': template, 'plural': plural, 'article': article}}
            ORDER BY rank, template) AS sentences, first(source ORDER BY rank, template) AS source
        FROM read_parquet({sql(templates)}) JOIN forms USING (template) GROUP BY property"""
    )
    points = db.sql(f"SELECT DISTINCT pit FROM ({pits}) WHERE pit IS NOT NULL").to_arrow_table()["pit"]
    times = [Time(**pit) for pit in points.to_pylist()]
    written = [written_date(time) if time.precision >= YEAR else None for time in times]
    dates = pa.table({"pit": points, "text": pa.array(written, pa.string())})
    db.register("dates", dates.filter(dates["text"].is_valid()))


def _prompted(objects: str, unique_names: bool) -> str:
    """SQL: what names a subject `s` in prompts whose answers are the labels in the list `objects`."""
    if not unique_names:
        return "s.label"
    return f"""CASE WHEN s.ambiguous AND s.description <> '' AND NOT contains(s.description, {sql(BLANK)})
            AND len(list_filter({objects}, lambda o: contains(lower(s.description), lower(o)))) = 0
        THEN s.label || ' (' || s.description || ')' ELSE s.label END"""


def _check(db: Connection, tables: Tables) -> None:
    """Raises InputError if an update lacks a label, a template or the display form of a literal."""
    nameless = db.sql(
        """SELECT id FROM (SELECT subject AS id FROM triples UNION SELECT object FROM triples)
        WHERE id NOT IN (SELECT id FROM names WHERE label IS NOT NULL) ORDER BY id LIMIT 1"""
    ).fetchall()
    if nameless:
        raise InputError(
            f"{entity_id(nameless[0][0])} is part of an update, but has no label in the entities tables nor "
            "in the files of labels; give the tables and files with which the updates were made"
        )
    missing = db.sql(
        """SELECT DISTINCT property FROM (
            SELECT property FROM triples UNION SELECT relation FROM facts
        ) WHERE property NOT IN (SELECT property FROM templates) ORDER BY property"""
    ).fetchall()
    if missing:
        ids = ", ".join(property_id(number) for (number,) in missing)
        raise InputError(f"{tables.templates}: no template for {ids}; make the templates again")
    literal = db.sql(
        f"""SELECT datatype, key FROM (
            SELECT datatype, key, {_JSON} AS json FROM triples WHERE object IS NULL
            UNION SELECT datatype, key, json FROM facts WHERE object IS NULL
        ) ANTI JOIN shown USING (datatype, json) ORDER BY ALL LIMIT 1"""
    ).fetchall()
    if literal:
        datatype, value = literal[0]
        raise InputError(
            f"{tables.literals}: no display form of the {datatype} {value}; make the literals again"
        )


def _entity(number: str, names: str) -> str:
    return f"{{'id': entity_id({number}), 'label': {names}.label, 'description': {names}.description}}"


def _object(number: str, names: str, shown: str) -> str:
    """SQL: fields `id`, `label`, `description` of an object; id and description of a literal are null."""
    return (
        f"'id': CASE WHEN {number} IS NOT NULL THEN entity_id({number}) END, "
        f"'label': CASE WHEN {number} IS NULL THEN {shown}.label ELSE {names}.label END, "
        f"'description': {names}.description"
    )


def _create_neighborhood(db: Connection, name: str, path: Path, seed: int, unique_names: bool) -> None:
    """TEMP TABLE `name` (subject, property, facts): the facts of each group as a list, sorted by rank."""
    draw = chance(name, seed, "f.subject", "f.property", "f.rank_no")
    db.execute(
        f"""CREATE TEMP TABLE {name} AS
        SELECT f.subject, f.property, list({{
            'subject': {_entity("f.neighbor", "s")},
            'relation': {_entity("-f.relation", "r")},
            'dist': round(1 - f.similarity, 9),
            'popularity': p.popularity,
            'objects': [{{
                'object': {{{_object("f.object", "o", "l")}}},
                'prompt': cloze(t.sentences[1 + floor({draw} * len(t.sentences))::INTEGER],
                    {_prompted("[coalesce(o.label, l.label)]", unique_names)}, s.used, u.article, d.text),
                'raw': coalesce(l.raw, entity_id(f.object)),
                'statement': f.statement,
                'dist': round(1 - f.similarity, 9)
            }}]
        }} ORDER BY f.rank_no) AS facts
        FROM read_parquet({sql(path)}) f
        JOIN subjects s ON s.id = f.neighbor
        LEFT JOIN names r ON r.id = -f.relation
        LEFT JOIN names o ON o.id = f.object
        LEFT JOIN shown l ON f.object IS NULL AND l.datatype = f.datatype AND l.json = f.json
        LEFT JOIN usages u ON u.id = f.object
        LEFT JOIN dates d ON f.datatype = 'quantity' AND d.pit = f.pit
        LEFT JOIN popularity p ON p.id = f.neighbor
        JOIN templates t ON t.property = f.relation
        WHERE s.label IS NOT NULL AND coalesce(o.label, l.label) IS NOT NULL
        GROUP BY f.subject, f.property"""
    )


def _records(choice: Choice, unique_names: bool, neighborhoods: Sequence[str]) -> str:
    lists = ", ".join(f"coalesce({name}_of.facts, []) AS {name}" for name in neighborhoods)
    joined = " ".join(
        f"LEFT JOIN {name} {name}_of ON {name}_of.subject = g.subject AND {name}_of.property = g.property"
        for name in neighborhoods
    )
    objects = f"""
        SELECT t.subject, t.property, any_value(scenario) AS scenario, any_value(is_replace) AS is_replace,
            any_value(subject_is_ph_new) AS subject_is_ph_new,
            any_value(relation_is_temp_func) AS relation_is_temp_func,
            {_COMMON_ARTICLE} AS object_article,
            max_by(d.text, t.new_pit.last) FILTER (WHERE t.label = 'new') AS day,
            list({{
                {_object("t.object", "o", "l")},
                'decision': t.label,
                'rule': t.rule,
                'old_statement': t.old_statement, 'new_statement': t.new_statement,
                'old_revision': t.old_revision, 'new_revision': t.new_revision,
                'start': {_bound("start")},
                'end': {_bound("end")},
                'point_in_time': time_text(CASE WHEN t.change = 'F-' THEN t.old_pit ELSE t.new_pit END),
                'datatype': t.datatype,
                'raw': coalesce(l.raw, entity_id(t.object)),
                'short': l.short,
                'announced': coalesce(t.announced, false),
                'leaks': coalesce(t.leaks, false)
            }} ORDER BY t.old_position IS NULL, t.old_position, t.new_position,
                t.old_statement, t.new_statement) AS objects
        FROM triples t
        LEFT JOIN names o ON o.id = t.object
        LEFT JOIN shown l ON t.object IS NULL AND l.datatype = t.datatype AND l.json = {_JSON}
        LEFT JOIN usages u ON u.id = t.object
        LEFT JOIN dates d ON t.datatype = 'quantity' AND d.pit = t.new_pit
        GROUP BY t.subject, t.property"""
    name = _prompted("list_transform(g.objects, lambda o: o.label)", unique_names)
    return f"""
        WITH updates AS ({objects}), records AS (
            SELECT g.subject AS subject_number, g.property AS relation_number,
                {_entity("g.subject", "s")} AS subject,
                {_entity("-g.property", "r")} AS relation,
                cloze(t.sentences[1], {name}, s.used, g.object_article, g.day) AS update_prompt,
                list_transform(t.sentences[2:], lambda sentence: cloze(
                    sentence, {name}, s.used, g.object_article, g.day)) AS generalization_prompts,
                g.subject_is_ph_new, g.relation_is_temp_func, g.is_replace,
                p.popularity AS subject_popularity, g.objects,
                {lists}, g.scenario,
                CASE WHEN {chance("split", choice.seed, "g.subject")} < {float(choice.test_share)}
                    THEN 'test' ELSE 'train' END AS split,
                p.source AS popularity_source, t.source AS template_source,
                s.ambiguous AS subject_is_ambiguous
            FROM updates g
            JOIN subjects s ON s.id = g.subject
            LEFT JOIN names r ON r.id = -g.property
            JOIN templates t USING (property)
            LEFT JOIN popularity p ON p.id = g.subject
            {joined}
        )
        SELECT * EXCLUDE (subject_number, relation_number) FROM records
        ORDER BY subject_popularity DESC NULLS LAST, subject_number, relation_number"""


def _bound(name: str) -> str:
    """SQL: the start or end as the rules read it: the old dump's for F-, else the new one's."""
    return (
        f"CASE WHEN t.change = 'F-' THEN bound_text(t.old_{name}, t.old_{name}_unknown) "
        f"ELSE bound_text(t.new_{name}, t.new_{name}_unknown) END"
    )
