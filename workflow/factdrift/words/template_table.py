"""Reads tables of sentence templates, such as `resources/templates/templates.tsv`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import property_number
from factdrift.words.templates import RELATION, problem

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
