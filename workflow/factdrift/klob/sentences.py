"""SQL that turns chosen facts and chains into rows of EXAMPLES and SENTENCES."""

from collections.abc import Mapping, Set
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.tables import table_of
from factdrift.klob.facts import SnapshotTables
from factdrift.klob.relations import RelationChoice, check_properties, read_choice
from factdrift.klob.settings import Settings
from factdrift.klob.templates import EXPRESSIONS, OBJECT, SUBJECT, Templates, read_templates, read_word_lists
from factdrift.words.grammar import Grammar, Marks, read_grammar
from factdrift.words.names import Names, create_usages, read_names
from factdrift.words.noun_phrases import SUBJECT as PHRASE_SUBJECT

FORMS = ("singular", "plural", "past")
"""The forms of a template: its own, for a plural subject, and for a person who has died."""

CHAIN_PLACE = EXPRESSIONS + 1

_TOKEN = r"[^\s\p{Z}\x{0B}\x{85}\x{1C}-\x{1F}]+"
"""A word as Python's `str.split()` separates it."""


class Plan(NamedTuple):
    """What examples are chosen from, how they are worded, and how many there are."""

    tables: SnapshotTables
    candidates: Path
    """The facts, and below the chains, that can be examples (CANDIDATES)."""
    chains: Path
    date: str
    settings: Settings
    templates: Templates
    choice: RelationChoice
    property_labels: Mapping[int, str]
    """The relations' labels in the snapshot, which name them in KLoB-r."""
    stop_words: Set[str]
    """In lower case; they do not count as content."""
    names: Names | None
    """The names that take articles in a sentence or are plural; None fills templates in as they are."""
    quotas: Mapping[int, int | None]
    """The most examples of KLoB-c of each relation that has templates; None: no limit."""


def plan_of(
    tables: SnapshotTables, candidates: Path, chains: Path, date: str, settings: Settings, templates: Path
) -> Plan:
    """The plan of a snapshot of that date (YYYY-MM-DD); `templates`: the project's table, or a user's.

    Raises InputError if a relation is missing in the snapshot, or the table of templates cannot be used.
    """
    choice = read_choice()
    labels = check_properties(tables.properties, choice, settings.slice)
    table = read_templates(templates, choice.relations)
    # A user's table is filled in byte for byte.
    names = read_names() if table.are_own and settings.chosen_grammar != "plain" else None
    quotas = {number: settings.quota(choice.relations[number].examples) for number in table.of}
    stop_words = read_word_lists()["stop"]
    return Plan(tables, candidates, chains, date, settings, table, choice, labels, stop_words, names, quotas)


_AROUND = schema_of("before after: string")
_TEMPLATES = schema_of("p1: int32, place: int8, template_id form: string", *_AROUND, "article: bool")
_PHRASES = schema_of("p: int32", *_AROUND)
_NAMES = schema_of("p: int32, published label: string")


def define_wording(db: Connection, wording: Plan) -> None:
    """TEMP TABLES templates, phrases (p, before, after), relation_names, and usages of the table `names`.

    templates (p1, place, template_id, form, before, after, article): the words around the subject in each of
    FORMS, and whether the object's name has its article.
    """
    grammar, marks = read_grammar() if wording.names else Grammar({}), Marks(SUBJECT, OBJECT)
    templates = []
    for template in wording.templates.all():
        own = template.text
        for form, text in zip(
            FORMS, (own, grammar.plural(own, marks), grammar.past(own, marks)), strict=True
        ):
            around = text.removesuffix(f" {OBJECT}").split(SUBJECT)
            article = grammar.article_before_object(text, marks)
            templates.append((template.relation, template.n, template.id, form, *around, article))
    relations, nouns = wording.choice.relations, wording.choice.phrases
    phrases = [(number, *noun.phrase.split(PHRASE_SUBJECT)) for number, noun in nouns.items()]
    names = [
        (number, relations[number].name if number in relations else None, wording.property_labels.get(number))
        for number in {*relations, *wording.property_labels}
    ]
    for name, rows, schema in (
        ("templates", templates, _TEMPLATES),
        ("phrases", phrases, _PHRASES),
        ("relation_names", names, _NAMES),
    ):
        db.register("entries", table_of(rows, schema))
        db.execute(f"CREATE TEMP TABLE {name} AS SELECT * FROM entries")
        db.unregister("entries")
    create_usages(db, "SELECT id, label, classes FROM names", wording.names)


def create_examples(db: Connection, chosen: str, origin: str, snapshot: str) -> None:
    """TEMP TABLE examples: the columns of EXAMPLES, and those from which sentences are made.

    These are the property numbers (`n_p1`, `n_p2`), `question`, `draw` and `s_dead`: the subject has died.

    `chosen` is a query with `subtask`, the ids of CANDIDATES, `draw`, `question`, and labels and aliases
    (`s_label`, `o1_label`, `o2_label`, `o1_aliases`, `o2_aliases`), which are used for items that have no
    label in the snapshot. Needs the tables `names`, `relation_names` and `stated` (statements of the facts).
    """
    db.execute(
        f"""CREATE OR REPLACE TEMP TABLE examples AS
        WITH named AS (
            SELECT c.subtask, 'Q' || c.s AS s, 'P' || c.p1 AS p1, 'Q' || c.o1 AS o1, 'P' || c.p2 AS p2,
                'Q' || c.o2 AS o2, coalesce(s.label, c.s_label) AS s_label,
                coalesce(o.label, c.o1_label) AS o1_label, coalesce(z.label, c.o2_label) AS o2_label,
                coalesce(CASE WHEN o.label IS NOT NULL THEN o.aliases END, c.o1_aliases, []) AS o1_aliases,
                CASE WHEN c.o2 IS NOT NULL THEN
                    coalesce(CASE WHEN z.label IS NOT NULL THEN z.aliases END, c.o2_aliases, [])
                END AS o2_aliases,
                a.statement AS stmt1_id, b.statement AS stmt2_id,
                coalesce(a.revision, s.revision) AS rev_s, o.revision AS rev_o1,
                s.sitelinks AS pop_s, o.sitelinks AS pop_o, coalesce(s.dead, false) AS s_dead,
                c.p1 AS n_p1, c.p2 AS n_p2, c.question, c.draw,
                CASE WHEN c.subtask = 'c' THEN m.published ELSE m.label END AS p1_name, n.label AS p2_name
            FROM ({chosen}) c
                LEFT JOIN names s ON s.id = c.s LEFT JOIN names o ON o.id = c.o1
                LEFT JOIN names z ON z.id = c.o2
                LEFT JOIN relation_names m ON m.p = c.p1 LEFT JOIN relation_names n ON n.p = c.p2
                LEFT JOIN stated a ON (a.subject, a.property, a.object) = (c.s, c.p1, c.o1)
                LEFT JOIN stated b ON (b.subject, b.property, b.object) = (c.o1, c.p2, c.o2)
        )
        SELECT
            substr(sha256(concat(subtask, '|', s, '|', p1, '|', o1, '|', p2, '|', o2)), 1, 16) AS example_id,
            *, NULL::BOOLEAN AS recall_pass,
            CASE WHEN subtask = 'r' THEN '{origin}' ELSE 'snapshot' END AS origin,
            '{snapshot}' AS snapshot_id
        FROM named"""
    )


_USED = "LEFT JOIN usages x ON 'Q' || x.id = e.s LEFT JOIN usages y ON 'Q' || y.id = {}"  # subject, target
_LAST = "coalesce(' ' || nullif(y.article, ''), '')"
"""SQL: the article of the target, which ends the text before the blank."""


def _written(label: str, article: str) -> str:
    """SQL: a label with its article; one that is null or empty is none."""
    return f"coalesce(nullif({article}, '') || ' ', '') || {label}"


def _capital(label: str) -> str:
    """SQL: a label as it begins a sentence; one such as `iPhone` or `k.d. lang` stays as it is."""
    plain = f"regexp_matches({label}, '^\\p{{Ll}}[\\p{{Ll}}''’-]*( |$)')"
    return f"CASE WHEN {plain} THEN upper({label}[1]) || {label}[2:] ELSE {label} END"


def sentences_query(chain_text: str = "np") -> str:
    """SQL: SENTENCES of the table `examples`.

    `chain_text`: `np` nests noun phrases, `question` takes the question that MQuAKE asks.
    """
    if chain_text == "question":
        chain = "e.question || ' The answer is'"
    else:
        nested = "b.before || a.before || " + _written("e.s_label", "x.article") + " || a.after || b.after"
        chain = f"upper(substr({nested}, 1, 1)) || substr({nested}, 2) || ' is' || {_LAST}"
    form = "CASE WHEN e.s_dead THEN 'past' WHEN x.plural THEN 'plural' ELSE 'singular' END"
    first = "CASE WHEN t.before = '' THEN upper(x.article[1]) || x.article[2:] ELSE x.article END"
    begins = "t.before = '' AND nullif(x.article, '') IS NULL"
    name = f"CASE WHEN {begins} THEN {_capital('e.s_label')} ELSE e.s_label END"
    return f"""
        WITH written AS (
            SELECT e.example_id, e.subtask, CASE WHEN e.subtask = 'c' THEN 'expr' ELSE 'single' END AS role,
                t.place, t.template_id, t.before || {_written(name, first)} || t.after
                    || CASE WHEN t.article THEN {_LAST} ELSE '' END AS text, e.o1 AS target_id,
                e.o1_label AS target_label, e.o1_aliases AS target_aliases
            FROM examples e {_USED.format("e.o1")} JOIN templates t ON t.p1 = e.n_p1 AND t.form = {form}
            UNION ALL
            SELECT e.example_id, e.subtask, 'chain', {CHAIN_PLACE}::TINYINT, e.p1 || '>' || e.p2, {chain},
                e.o2, e.o2_label, e.o2_aliases
            FROM examples e JOIN phrases a ON a.p = e.n_p1 JOIN phrases b ON b.p = e.n_p2
                {_USED.format("e.o2")}
            WHERE e.subtask = 'r'
        )
        SELECT substr(sha256(concat(example_id, '|', role, '|', place)), 1, 16) AS sentence_id,
            example_id, subtask,
            role, place, template_id, text, text || ' _' AS text_blank,
            len(regexp_extract_all(text || ' _', '{_TOKEN}'))::INTEGER AS n_tokens,
            target_id, target_label, target_aliases, NULL::VARCHAR AS source_sentence_id
        FROM written"""
