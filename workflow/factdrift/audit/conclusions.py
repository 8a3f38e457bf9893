"""What becomes of a labelled group once more: what is dropped, its scenario, whether its name leaks."""

import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from factdrift.audit.filters import How, Statement
from factdrift.audit.phrases import has_run
from factdrift.core.text import clean

BLANK = "____"


@dataclass
class Triple:
    change: str
    old: Statement | None
    new: Statement | None
    rule: str = ""
    label: str = ""
    dropped_by: str | None = None
    scenario: str | None = None
    is_replace: bool = False
    announced: bool = False
    leaks: bool = False
    subject_is_ph_new: bool = False
    relation_is_temp_func: bool = False

    @property
    def any(self) -> Statement:
        statement = self.new or self.old
        assert statement is not None
        return statement


Group = list[Triple]


def one_new_one_obsolete(group: Group) -> bool:
    return sorted(triple.label for triple in group) == ["new", "obsolete"]


def unit(triple: Triple) -> str | None:
    """The unit of an amount, an empty text if it has none; None for a value that is no amount."""
    content = json.loads(triple.any.json or "null")
    if triple.any.datatype != "quantity" or not isinstance(content, dict):
        return None
    name = str(content.get("unit", "1")).rpartition("/")[2]
    return "" if name == "1" else name


def replaces(group: Group, how: How) -> bool:
    """Whether one object replaces another; amounts in two units do only in the released code."""
    units = {unit(update) for update in group} - {None}
    return one_new_one_obsolete(group) and (how.variant == "reference" or len(units) < 2)


def scenario(group: Group, how: How) -> str:
    labels = [triple.label for triple in group]
    if group[0].subject_is_ph_new:
        return "AddEntity"
    if replaces(group, how):
        return "ReplaceObject"
    if set(labels) == {"obsolete"} and (how.variant != "reference" or len(labels) == 1):
        return "Archive"
    if set(labels) == {"new", "static"}:
        return "AddObject"
    if set(labels) == {"new"}:
        return "AddRelation"
    return "Other"


def _is_blank(triple: Triple) -> bool:
    """Whether the object is a text of which a reader sees nothing."""
    content = json.loads(triple.any.json or "null")
    text = content.get("text") if isinstance(content, dict) else content
    return isinstance(text, str) and not clean(text)


def finish(group: Group, label_of: Callable[[int], str | None], how: How) -> None:
    """Sets `dropped_by`, `scenario` and `is_replace` of a classified group."""

    def drop(triples: Group, reason: str) -> None:
        for triple in triples:
            triple.dropped_by = reason

    def name(triple: Triple) -> tuple[Any, ...]:
        statement = triple.any
        if how.variant != "reference":
            return (statement.datatype, statement.key)
        if statement.object is not None:
            return (label_of(statement.object),)
        content = json.loads(statement.json or "null")
        if isinstance(content, dict):
            shown = [content[name] for name in ("time", "amount", "text") if name in content]
            return (shown[0],) if shown else (statement.json,)
        return (content,)

    if how.variant == "reference" and all(update.change == "F0" for update in group):
        return drop(group, "unchanged")
    if any(update.label == "unknown" for update in group):
        return drop(group, "unknown")
    drop([update for update in group if update.label == "ignore"], "ignore")
    left = [update for update in group if update.label != "ignore"]
    if not left:
        return None
    objects = [update.any.object for update in left if update.any.object is not None]
    subject = left[0].any.subject
    no_label = any(label_of(object_) is None for object_ in [subject, *objects])
    if no_label or any(map(_is_blank, left)) or BLANK in (label_of(subject) or ""):
        return drop(left, "no_label")
    if how.leaks == "drop" and any(update.leaks and update.label != "static" for update in left):
        return drop(left, "leak")
    is_replace = one_new_one_obsolete(left)
    if how.variant == "reference" and all(update.label == "static" for update in left):
        return drop(left, "static")
    doubles: Group = []
    for value in {name(update) for update in left}:
        same = [update for update in left if name(update) == value]
        labels = {update.label for update in same}
        if len(same) == 1:
            continue
        if labels != {"obsolete"} and not labels <= {"new", "static"}:
            return drop(left, "anomaly")
        statics = [update for update in same if update.label == "static"]
        keep = statics[0] if statics and how.variant != "reference" else same[0]
        doubles += [update for update in same if update is not keep]
    drop(doubles, "duplicate")
    left = [update for update in left if update.dropped_by is None]
    if how.variant != "reference":
        if all(update.label == "static" for update in left):
            return drop(left, "static")
        is_replace = replaces(left, how)
    name_of_scenario = scenario(left, how)
    for update in left:
        update.scenario, update.is_replace = name_of_scenario, is_replace
    return None


def leaks(statement: Statement, names_of: Callable[[int], Sequence[str]]) -> bool:
    """The words of a name of the object occur in a row among those of the subject's label.

    `names_of` gives the label of an entity first, then its aliases.
    """
    if statement.object is not None:
        names = [*names_of(statement.object)]
    else:
        content = json.loads(statement.json or "null")
        text = content if isinstance(content, str) else content.get("amount", content.get("text"))
        if statement.datatype == "time":
            sign, year = content["time"][0], content["time"][1:].split("-")[0]
            text = str(int(year)) if sign == "+" and content["precision"] == 9 else None
        names = [text or ""]
    subject = _words("".join(names_of(statement.subject)[:1]))
    return any(has_run(subject, _words(name)) for name in names)


def _words(text: str) -> list[str]:
    """The words of a text in lower case, without diacritics."""
    letters = (letter for letter in unicodedata.normalize("NFD", text) if not unicodedata.combining(letter))
    return re.findall(r"[^\W_]+", "".join(letters).lower())
