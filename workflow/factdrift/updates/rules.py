"""The rule table, and what becomes of the triples that it labels: from a second pass to the scenarios.

The table has ordered rows (`resources/rules.tsv`), compiled to one SQL CASE, first match wins. Conditions are
SQL over the columns that `classify.facts` computes for each triple; in a variant's column `=` repeats the
condition of `paper`, `-` leaves the row out.

All of it is SQL over one block of whole groups. No triple is deleted: `dropped_by` names the step that keeps
it, or its whole group, out of the dataset.
"""

from pathlib import Path
from typing import NamedTuple, get_args

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.switches import Variant
from factdrift.core.tables import rows_of, sql
from factdrift.updates.method import UpdateSettings
from factdrift.wikidata.time import YEAR
from factdrift.words.templates import BLANK

LABELS = ("new", "obsolete", "static", "ignore", "unknown")


class Rule(NamedTuple):
    """One row: triples for which the SQL predicate `condition` holds first get `label`."""

    name: str
    label: str
    condition: str


def read_rules(path: Path, variant: Variant) -> list[Rule]:
    """The rules of one variant, in order.

    Raises InputError for a missing column, a row with too few or many fields, an unknown label or a name that
    occurs twice.
    """
    rules: list[Rule] = []
    header = "".join(utf8_lines(path)[:1]).split("\t")
    if missing := {"row", "rule", "label", *get_args(Variant)} - set(header):
        raise InputError(f"{path}, line 1: the column {sorted(missing)[0]!r} is missing")
    for line, fields in rows_of(path, header):
        row = dict(zip(header, fields, strict=True))
        if row["label"] not in LABELS:
            raise InputError(f"{path}, line {line}: {row['label']!r} is none of {', '.join(LABELS)}")
        if any(rule.name == row["rule"] for rule in rules):
            raise InputError(f"{path}, line {line}: the rule {row['rule']!r} occurs twice; rename one")
        condition = row["paper"] if row[variant] == "=" else row[variant]
        if condition != "-":
            rules.append(Rule(row["rule"], row["label"], condition))
    if not rules or rules[-1].condition != "true":
        raise InputError(f"{path}: the last rule must hold always (condition 'true')")
    return rules


DROPS = ("only", "unchanged", "unknown", "ignore", "no_label", "leak", "anomaly", "duplicate", "static")
"""The names in `dropped_by`, in the order in which the steps apply. `ignore` and `duplicate` drop one triple,
the others its whole group."""

SCENARIOS = ("ReplaceObject", "Archive", "AddObject", "AddRelation", "AddEntity", "Other")
"""The kinds of groups that reach the dataset."""


def steps(rules: list[Rule], asked: str, method: UpdateSettings) -> list[str]:
    """SQL that makes TEMP TABLE final from TEMP TABLE facts, one row each, with what is decided about it.

    `asked`: the condition under which a triple is one of those to which `only` restricts the dataset.
    """
    # The first rule whose condition is true; null counts as false.
    rule = " ".join(f"WHEN {rule.condition} THEN {sql(rule.name)}" for rule in rules)
    label = " ".join(f"WHEN {sql(rule.name)} THEN {sql(rule.label)}" for rule in rules)
    unchanged = "WHEN n_removed = 0 AND n_added = 0 THEN 'unchanged'" if method.variant == "reference" else ""
    return [
        f"""CREATE OR REPLACE TEMP TABLE ruled AS
            SELECT {_AFTER_THE_RULES}, CASE rule {label} END AS label
            FROM (SELECT *, CASE {rule} END AS rule FROM facts)""",
        f"CREATE OR REPLACE TEMP TABLE labelled AS {_second_pass(method)}",
        f"""CREATE OR REPLACE TEMP TABLE step0 AS
            SELECT *, CASE WHEN NOT ({asked}) THEN 'only' {unchanged} END AS dropped_by FROM labelled""",
        f"CREATE OR REPLACE TEMP TABLE step1 AS {_without_undecided(method)}",
        *(_reference_end() if method.variant == "reference" else _end()),
    ]


_AFTER_THE_RULES = """line, subject, property, change, datatype, object, key,
    coalesce(new_json, old_json) AS json, rule, functional, subject_new, removed, n, n_removed, n_added"""
"""The columns that the steps after the rules need; copying others would take most of their time."""


def _second_pass(method: UpdateSettings) -> str:
    """SQL: of two triples of a functional relation, one new and one removed, the removed one is obsolete.

    A triple that is obsolete by a rule keeps that rule's name.
    """
    undecided = "label = 'unknown'" if method.variant == "reference" else "label <> 'obsolete'"
    replaced = f"""functional AND n = 2 AND removed AND rule <> 'merged_or_deleted' AND {undecided}
        AND count(*) FILTER (label = 'new' AND NOT removed) OVER grp = 1"""
    return f"""
        SELECT * EXCLUDE (label, rule, replaced), CASE WHEN replaced THEN 'obsolete' ELSE label END AS label,
            CASE WHEN replaced THEN 'replaced' ELSE rule END AS rule
        FROM (SELECT *, {replaced} AS replaced FROM ruled WINDOW grp AS (PARTITION BY subject, property))"""


def _without_undecided(method: UpdateSettings) -> str:
    """SQL: groups with any unknown go, then triples to ignore, then groups that cannot be asked about.

    `no_label`: the subject or an object has no name, or the subject's name holds the blank of a cloze test.
    `leak`, with `leaks: drop`: the subject's name holds a name of a new or obsolete object. The column
    `leaks` says of each triple, in any case, whether the subject's name holds its object's or an alias of it.
    """
    leak = "WHEN bool_or(dropped_by IS NULL AND leaks AND label <> 'static') OVER grp THEN 'leak'"
    names = "list_prepend(coalesce(object_name, text), coalesce(aliases, []))"
    subject, name = _words("subject_name"), _words("name")
    leaking = f"list_filter({names}, lambda name: {name} <> '  ' AND contains({subject}, {name}))"
    return f"""
        WITH decided AS (
            SELECT * EXCLUDE (dropped_by), coalesce(dropped_by, CASE
                WHEN bool_or(label = 'unknown') OVER grp THEN 'unknown'
                WHEN label = 'ignore' THEN 'ignore' END) AS dropped_by
            FROM step0 WINDOW grp AS (PARTITION BY subject, property)
        ), named AS (
            SELECT d.*, s.name AS subject_name, o.name AS object_name, o.aliases, {_text("json")} AS text
            FROM decided d
            LEFT JOIN names s ON s.id = d.subject LEFT JOIN names o ON o.id = d.object
        ), compared AS (
            SELECT * EXCLUDE (aliases), len({leaking}) > 0 AS leaks FROM named
        )
        SELECT * EXCLUDE (dropped_by, subject_name, text), coalesce(dropped_by, CASE
            WHEN bool_or(dropped_by IS NULL AND (subject_name IS NULL OR contains(subject_name, {sql(BLANK)})
                OR (datatype IN ('wikibase-item', 'wikibase-property') AND object_name IS NULL)
                OR (datatype IN ('string', 'monolingualtext') AND trim(text) = ''))) OVER grp
            THEN 'no_label' {leak if method.leaks == "drop" else ""} END) AS dropped_by
        FROM compared WINDOW grp AS (PARTITION BY subject, property)"""


def _words(name: str) -> str:
    """SQL: the words of a name with a blank before and after each, in lower case and without diacritics."""
    words = f"regexp_replace(lower(strip_accents({name})), '[^\\p{{L}}\\p{{M}}\\p{{N}}]+', ' ', 'g')"
    return f"(' ' || trim({words}) || ' ')"


def _text(json: str) -> str:
    """SQL: how a literal would be named: a text, an amount without its sign, a year of year precision."""
    fields = {name: f"json_extract_string({json}, '$.{name}')" for name in ("text", "amount", "time")}
    year = f"regexp_extract({fields['time']}, '^[+]0*([0-9]+)-', 1)"
    return f"""coalesce({fields["text"]}, ltrim({fields["amount"]}, '+'),
        CASE WHEN json_extract_string({json}, '$.precision') = '{YEAR}' THEN {year} END,
        CASE WHEN json_type({json}) = 'VARCHAR' THEN json_extract_string({json}, '$') END)"""


_SCENARIO = """CASE
    WHEN dropped_by IS NOT NULL THEN NULL
    WHEN subject_new THEN 'AddEntity'
    WHEN {replaced} THEN 'ReplaceObject'
    WHEN news = 0 AND statics = 0 AND {archive} THEN 'Archive'
    WHEN news > 0 AND statics > 0 AND obsoletes = 0 THEN 'AddObject'
    WHEN news > 0 AND statics = 0 AND obsoletes = 0 THEN 'AddRelation'
    ELSE 'Other' END"""


_REPLACED = "news = 1 AND obsoletes = 1 AND statics = 0"

# Amounts in two units (currencies, say) are no update of one another. A canonical amount ends with its unit.
_SAME_UNIT = "len(list_distinct(list_filter(units, lambda unit: unit IS NOT NULL))) <= 1"


def _tally(source: str) -> str:
    """SQL: the rows of `source` with the numbers of new, obsolete and static triples left in their group."""
    counts = ", ".join(
        f"count(*) FILTER (dropped_by IS NULL AND label = '{label}') OVER grp AS {name}"
        for name, label in (("news", "new"), ("obsoletes", "obsolete"), ("statics", "static"))
    )
    units = "CASE WHEN dropped_by IS NULL AND datatype = 'quantity' THEN regexp_extract(key, ' .*') END"
    counts += f", list({units}) OVER grp AS units"
    return f"(SELECT *, {counts} FROM {source} WINDOW grp AS (PARTITION BY subject, property))"


def _anomalies(source: str, same: str, order: str, static_group: bool) -> str:
    """SQL: of several triples with one object in a group one is kept, or the whole group is dropped."""
    drop_static = "WHEN news = 0 AND obsoletes = 0 THEN 'static'" if static_group else ""
    return f"""
        WITH repeated AS (
            SELECT *, count(*) FILTER (dropped_by IS NULL) OVER obj AS times,
                count(*) FILTER (dropped_by IS NULL AND label = 'obsolete') OVER obj AS times_obsolete,
                row_number() OVER (
                    PARTITION BY subject, property, {same}, dropped_by IS NULL ORDER BY {order}
                ) AS choice
            FROM {source} WINDOW obj AS (PARTITION BY subject, property, {same})
        ), resolved AS (
            SELECT * EXCLUDE (dropped_by, times, times_obsolete, choice), coalesce(dropped_by, CASE
                WHEN bool_or(dropped_by IS NULL AND times_obsolete > 0 AND times_obsolete < times)
                    OVER (PARTITION BY subject, property) THEN 'anomaly'
                WHEN times > 1 AND choice > 1 THEN 'duplicate' END) AS dropped_by
            FROM repeated
        )
        SELECT * EXCLUDE (dropped_by, news, obsoletes, statics, units),
            coalesce(dropped_by, CASE WHEN false THEN NULL {drop_static} END) AS dropped_by
        FROM {_tally("resolved")}"""


def _end() -> list[str]:
    """`paper`, `revised`: anomalies by identity, static first; all-static groups dropped; scenarios."""
    # Objects are the same if their values are; the order of the rows makes the choice deterministic.
    resolved = _anomalies("step1", "datatype, key", "label = 'static' DESC, line", static_group=True)
    return [
        f"CREATE OR REPLACE TEMP TABLE resolved AS {resolved}",
        f"""CREATE OR REPLACE TEMP TABLE final AS
        SELECT *, {_SCENARIO.format(replaced="is_replace", archive="obsoletes > 0")} AS scenario FROM (
            SELECT *, dropped_by IS NULL AND {_REPLACED} AND {_SAME_UNIT} AS is_replace
            FROM {_tally("resolved")})""",
    ]


def _reference_end() -> list[str]:
    """`reference`: all-static groups dropped and is_replace set first; then anomalies by display label."""
    # The display label of a literal is its raw form: the timestamp, the amount without its unit, the text
    # without its language, a string as it is.
    fields = ", ".join(f"json_extract_string(json, '$.{name}')" for name in ("time", "amount", "text"))
    display = f"coalesce(object_name, {fields}, json_extract_string(json, '$'))"
    return [
        f"""CREATE OR REPLACE TEMP TABLE changed AS
        SELECT * EXCLUDE (news, obsoletes, statics, units, dropped_by), {_REPLACED} AS is_replace,
            coalesce(dropped_by, CASE WHEN news = 0 AND obsoletes = 0 THEN 'static' END) AS dropped_by
        FROM {_tally("step1")}""",
        f"""CREATE OR REPLACE TEMP TABLE resolved AS
        {_anomalies("changed", display, "line", static_group=False)}""",
        f"""CREATE OR REPLACE TEMP TABLE final AS
        SELECT * EXCLUDE (is_replace), dropped_by IS NULL AND is_replace AS is_replace,
            {_SCENARIO.format(replaced=_REPLACED, archive="obsoletes = 1")} AS scenario
        FROM {_tally("resolved")}""",
    ]
