"""The tables of this stage: schemas, and the project's own tables of relations (`resources/ripples`)."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from factdrift.core.columns import schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.core.tables import rows_of, table_of
from factdrift.wikidata.ids import listed_property

CRITERIA = (
    *("alias", "logical", "compose_object", "compose_subject", "preserve", "specific"),
    *("history_old", "history_new", "neighbor"),
)
"""The criteria in the order of the table."""

MUST_CHANGE = frozenset({"alias", "logical", "compose_object", "compose_subject", "history_new"})

ANSWER = struct_of("id label: string, aliases: [string]")
STEP = struct_of("subject relation object statement dump: string")
CONDITION = struct_of("prompt: string", ("answers", pa.list_(ANSWER)), ("step", STEP))
PROBES = schema_of(
    "probe_id update subject relation scenario criterion kind: string, place: int16",
    ("path", pa.list_(STEP)),
    "asked_subject asked_relation prompt rewording question: string",
    *(("answers", pa.list_(ANSWER)), ("stale", pa.list_(ANSWER)), ("conditions", pa.list_(CONDITION))),
    "must_change: bool, date: string, popularity: int32",
)
"""One row a probe, by subject, relation, criterion (in the order of CRITERIA) and place."""

DROPPED = schema_of("criterion relation reason: string, probes: int64")
"""How many candidates of a criterion and an updated relation were left out for a reason."""

REASONS = {
    "no_label": "a name is missing",
    "no_words": "no cloze, noun phrase or past form",
    "gone": "the asked subject is dead or dissolved at T_new",
    "not_unique": "the answer is not the only one at T_new",
    "not_before": "a premise or condition does not hold at T_old, or not at T_new any more",
    "contradicted": "the new dump states another value",
    "same_answer": "the answer would be the same with the obsolete object",
    "names_answer": "the prompt contains the answer's label or an alias",
    "is_update": "the fact is an update itself",
    "new_object": "the answer is the new object",
    "derived": "the rules derive the fact from the update",
    "ambiguous": "another item with the label of the asked one is as popular",
    "same_item": "the item is the update's own subject",
    "no_name": "an alias that is a code, a former name, or another subject's name",
    "undated": "no month lies wholly in a known tenure without another possible holder",
    "same_sentence": "another probe of the update has the sentence",
    "answer_share": "the answer has a quarter of the criterion already",
    "per_update": "the update has enough probes of the criterion",
}
"""Why a candidate is no probe."""


class Rule(NamedTuple):
    """A row of rules.tsv, in which `s` and `o` are the update's subject and new object, `z` is any value.

    The premise is a triple (`s` or `o`, property, `z` or an item), the conclusion one of `s`, `o` and `z`.
    """

    name: str
    relation: int
    premise: tuple[str, int, str] | None
    conclusion: tuple[str, int, str]


class Relations(NamedTuple):
    """What the project's tables say of relations."""

    reverse: Mapping[int, Sequence[str]]
    """Relation -> the sentence from the object to the subject, and its rewording."""
    inverses: frozenset[tuple[int, int]]
    """Pairs of relations that say the same in both directions; a symmetric one is its own partner."""
    rules: Sequence[Rule]


_PREMISE = re.compile(r"([so]) (P[1-9]\d*) (z|Q[1-9]\d*)")
_CONCLUSION = re.compile(r"([so]) (P[1-9]\d*) ([soz])")


def read_relations(folder: Path) -> Relations:
    """Reads reverse.tsv, inverses.tsv and rules.tsv. Raises InputError that names the file and the line."""
    reverse: dict[int, tuple[str, str]] = {}
    path = folder / "reverse.tsv"
    for line, (relation, sentence, rewording) in rows_of(path, ("property", "sentence", "rewording")):
        where = f"{path}, line {line}"
        number = listed_property(relation, where)
        if number in reverse:
            raise InputError(f"{where}: {relation} has a row already; remove one of the two")
        for text in (sentence, rewording):
            if text.count("{object}") != 1 or not text.endswith(" {subject}"):
                raise InputError(f"{where}: {text!r} must contain {{object}} once and end with {{subject}}")
        reverse[number] = (sentence, rewording)
    path = folder / "inverses.tsv"
    pairs = set()
    for line, (first, second, _) in rows_of(path, ("first", "second", "source")):
        left, right = (listed_property(text, f"{path}, line {line}") for text in (first, second))
        pairs |= {(left, right), (right, left)}
    path = folder / "rules.tsv"
    rules = []
    columns = ("name", "relation", "premise", "conclusion", "source")
    for line, (name, relation, premise, conclusion, _) in rows_of(path, columns):
        where = f"{path}, line {line}"
        examples = "o P118 z` or `s P31 Q7278"
        antecedent = _triple(_PREMISE, premise, "premise", examples, where) if premise else None
        concluded = _triple(_CONCLUSION, conclusion, "conclusion", "o P39 z", where)
        if "z" in concluded and (antecedent is None or antecedent[2] != "z"):
            raise InputError(f"{where}: z is in the conclusion only; write a premise with z")
        rules.append(Rule(name, listed_property(relation, where), antecedent, concluded))
    return Relations(reverse, frozenset(pairs), rules)


def _triple(form: re.Pattern[str], text: str, part: str, example: str, where: str) -> tuple[str, int, str]:
    if (match := form.fullmatch(text)) is None:
        raise InputError(f"{where}: the {part} {text!r} is no triple such as `{example}`")
    return match[1], int(match[2][1:]), match[3]


def table_of_dropped(counts: Mapping[tuple[str, str, str], int]) -> pa.Table:
    """DROPPED, by criterion, relation and reason."""
    order = {name: index for index, name in enumerate(CRITERIA)}
    rows = sorted(counts.items(), key=lambda row: (order[row[0][0]], int(row[0][1][1:]), row[0][2]))
    return table_of([(*names, count) for names, count in rows if count], DROPPED)
