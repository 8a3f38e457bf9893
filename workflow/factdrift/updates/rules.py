"""The rule table: ordered rows of `resources/rules.tsv`, compiled to one SQL CASE, first match wins.

Conditions are SQL over the columns that `classify.facts` computes for each triple; in a variant's column `=`
repeats the condition of `paper`, `-` leaves the row out.
"""

from pathlib import Path
from typing import NamedTuple, get_args

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.switches import Variant
from factdrift.core.tables import rows_of, sql

LABELS = ("new", "obsolete", "static", "ignore", "unknown")


class Rule(NamedTuple):
    """One row: triples for which the SQL predicate `condition` holds first get `label`."""

    row: str
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
    missing = {"row", "rule", "label", *get_args(Variant)} - set(header)
    if missing:
        raise InputError(f"{path}, line 1: the column {sorted(missing)[0]!r} is missing")
    for line, fields in rows_of(path, header):
        row = dict(zip(header, fields, strict=True))
        if row["label"] not in LABELS:
            raise InputError(f"{path}, line {line}: {row['label']!r} is none of {', '.join(LABELS)}")
        if any(rule.name == row["rule"] for rule in rules):
            raise InputError(f"{path}, line {line}: the rule {row['rule']!r} occurs twice; rename one")
        condition = row["paper"] if row[variant] == "=" else row[variant]
        if condition != "-":
            rules.append(Rule(row["row"], row["rule"], row["label"], condition))
    if not rules or rules[-1].condition != "true":
        raise InputError(f"{path}: the last rule must hold always (condition 'true')")
    return rules


def first_match(rules: list[Rule]) -> str:
    """SQL: the name of the first rule whose condition is true; null counts as false."""
    cases = " ".join(f"WHEN {rule.condition} THEN {sql(rule.name)}" for rule in rules)
    return f"CASE {cases} END"


def label_of(rules: list[Rule], rule: str) -> str:
    """SQL: the label that the rule named by the expression `rule` gives."""
    cases = " ".join(f"WHEN {sql(each.name)} THEN {sql(each.label)}" for each in rules)
    return f"CASE {rule} {cases} END"
