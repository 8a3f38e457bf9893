"""Sentence templates: a blank for the subject, and one for the object at the end."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import TEMPLATES
from factdrift.core.text import clean
from factdrift.wikidata.ids import property_number

SUBJECT, OBJECT, RELATION = "{subject}", "{object}", "{relation}"

BLANK = "____"
"""Stands for the object in a cloze test, as in the public dataset. A subject whose name holds it cannot be
asked about: the test would have several blanks."""

_BLANK = re.compile(r"\{[^{}]*\}")


def has_blank(name: str) -> bool:
    """Whether a name that is put into a template would bring another blank into it."""
    return BLANK in name or _BLANK.search(name) is not None


def problem(template: str, generic: bool = False) -> str | None:
    """What is wrong with the form of a template, or None; `generic` ones name `{relation}` once as well."""
    wanted = sorted([SUBJECT, OBJECT, RELATION] if generic else [SUBJECT, OBJECT])
    if sorted(_BLANK.findall(template)) != wanted:
        return f"it must contain {' and '.join(wanted)} once each and no other blank"
    if not template.endswith(OBJECT):
        return "it must end with {object}, without a period"
    if template != " ".join(template.split()):
        return "it has blanks at an end or in a row"
    if template != clean(template):
        return "it holds control characters or characters that are not seen; write it without them"
    # `{subject}'s` and `"{subject}"` are words of a sentence, `non{subject}` is not.
    if re.search(r"[^\s(\"“‘]\{", template) or re.search(r"\}[^\s'’,;:.)\"”!?]", template):
        return "a word is glued to a blank"
    return None


def before_blank(cloze: str) -> str | None:
    """The text of a cloze before its blank; None if text follows the blank."""
    before, blank, after = cloze.rpartition(BLANK)
    return before.rstrip() if blank and before.strip() and not after.strip(" .") else None


@lru_cache
def read_wordings() -> Mapping[str, tuple[str, list[str]]]:
    """Relation -> its label and its templates."""
    from factdrift.core.tables import rows_of  # the command line imports this module, but no pyarrow

    templates: dict[str, tuple[str, list[str]]] = {}
    for _, (relation, label, template) in rows_of(TEMPLATES, ("property", "label", "template")):
        templates.setdefault(relation, (label, []))[1].append(template)
    return templates


_GENERIC = "*"


class Templates(NamedTuple):
    """The templates of a file: by property its label and its templates in order, and the generic ones."""

    labels: Mapping[int, str]
    bundled: Mapping[int, Sequence[str]]
    generic: Sequence[str]

    def of(self, number: int, label: str) -> tuple[Sequence[str], str]:
        """The templates of a property and their source; generic ones contain `label`."""
        if number in self.bundled:
            return self.bundled[number], "bundled"
        return [template.replace(RELATION, label) for template in self.generic], "generic"


def read_templates(path: Path) -> Templates:
    """Reads a table `property label template`, the generic ones under the property `*`.

    Raises InputError, with the line, for a template of the wrong form, a repeated one or two labels of one
    property, and for a file without generic templates.
    """
    from factdrift.core.tables import rows_of  # the command line reads this module and no DuckDB

    labels: dict[int, str] = {}
    bundled: dict[int, list[str]] = {}
    generic: list[str] = []
    for line, (identifier, label, template) in rows_of(path, ("property", "label", "template")):
        where = f"{path}, line {line}"
        if wrong := problem(template, generic=identifier == _GENERIC):
            raise InputError(f"{where}: the template {template!r} cannot be used: {wrong}")
        known = generic
        if identifier != _GENERIC:
            try:
                number = property_number(identifier)
            except ValueError as error:
                raise InputError(f"{where}: {error}; correct it, or write * for a generic template") from None
            if labels.setdefault(number, label) != label:
                raise InputError(f"{where}: {identifier} is called {labels[number]!r} above; use one label")
            known = bundled.setdefault(number, [])
        if template in known:
            raise InputError(f"{where}: {identifier} has this template already; remove one of the two")
        known.append(template)
    if not generic:
        raise InputError(f"{path}: no generic template; add rows with the property * and {RELATION} in them")
    return Templates(labels, bundled, generic)
