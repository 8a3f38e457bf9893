"""How a cloze test is worded: SQL macros over tables of name usages, template forms and dates.

The names of subjects and objects get their articles, the verb of a plural subject its form, and measurements
their date, by the tables that `create_wording` makes.
"""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from factdrift.core.tables import sql
from factdrift.wikidata.time import YEAR, Time
from factdrift.words.dates import written_date
from factdrift.words.grammar import read_grammar
from factdrift.words.names import create_usages, read_names
from factdrift.words.templates import BLANK, OBJECT, SUBJECT

_MACROS = f"""
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
        subject_put(replace(form_of(form, use, day), '{OBJECT}', blank_of(form, object_article)),
            name, use.article);
"""


def create_wording(
    db: duckdb.DuckDBPyConnection, templates: Path, named: str, pits: str, fitted: bool
) -> None:
    """TEMP TABLEs usages and templates, view dates, and the macro `cloze`.

    usages (id, article, plural): of the items of the query `named` (id, label, classes), if names and verbs
    are `fitted`. templates (property, sentences, source): `sentences` by rank, each with the forms `singular`
    and `plural` and whether an object has its `article` there. dates (pit, text): TIMEs of the query `pits`
    (pit) that can be written in words: none that is coarser than a year, or of no calendar.
    """
    db.execute(_MACROS)
    create_usages(db, named, read_names() if fitted else None)
    grammar = read_grammar()
    texts = [
        text for (text,) in db.sql(f"SELECT DISTINCT template FROM read_parquet({sql(templates)})").fetchall()
    ]
    db.register(
        "forms",
        pa.table(
            {
                "template": pa.array(texts, pa.string()),
                "plural": pa.array([grammar.plural(text) for text in texts], pa.string()),
                "article": pa.array([grammar.article_before_object(text) for text in texts], pa.bool_()),
            }
        ),
    )
    db.execute(
        f"""CREATE TEMP TABLE templates AS
        SELECT property, list({{'singular': template, 'plural': plural, 'article': article}}
            ORDER BY rank, template) AS sentences, first(source ORDER BY rank, template) AS source
        FROM read_parquet({sql(templates)}) JOIN forms USING (template) GROUP BY property"""
    )
    points = db.sql(f"SELECT DISTINCT pit FROM ({pits}) WHERE pit IS NOT NULL").to_arrow_table()["pit"]
    times = [Time(**pit) for pit in points.to_pylist()]
    said = [written_date(time) if time.precision >= YEAR else None for time in times]
    dates = pa.table({"pit": points, "text": pa.array(said, pa.string())})
    db.register("dates", dates.filter(dates["text"].is_valid()))
