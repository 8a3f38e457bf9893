"""The sentence templates of KLoB-c: three a relation, `[X]` the subject, `[Y]` the object at the end.

The project's own table also has, for the checks, the finite verb of each template and the words that mark
its relation. A user's table, in the published layout, is used byte for byte.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import property_id, property_number

SUBJECT, OBJECT = "[X]", "[Y]"
EXPRESSIONS = 3
"""Templates of a relation."""

OWN_COLUMNS = ("pid", "n", "template", "verb", "cues")
_PUBLISHED_RELATION = re.compile(r"(?:.*_\()?(P[1-9][0-9]*)\)?", re.DOTALL)


class Template(NamedTuple):
    """`verb` and `cues` are empty in a user's table."""

    relation: int
    n: int
    text: str
    verb: str = ""
    cues: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`P103-2`: the second template of P103."""
        return f"{property_id(self.relation)}-{self.n}"


class Templates(NamedTuple):
    """The templates of each relation in order; `sha256` is that of the file."""

    of: Mapping[int, Sequence[Template]]
    sha256: str

    @property
    def are_own(self) -> bool:
        """Whether they are of the project's table, which names the verb of each."""
        return all(template.verb for template in self.all())

    def all(self) -> list[Template]:
        return [template for templates in self.of.values() for template in templates]


def read_templates(path: Path, relations: Mapping[int, object]) -> Templates:
    """Reads the project's table (header `pid n template verb cues`) or a user's, in the published layout.

    A user's table is JSON `{"P103": [t1, t2, t3]}`, or tab-separated `relation template`: three rows a
    relation, its cell empty in the second and third, or one row with three lines in its cell. Raises
    InputError that names file and relation if one has not three templates that can be filled in, or is none
    of `relations`.
    """
    try:
        data = path.read_bytes()
        text = data.decode("utf-8")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give a table of templates, or `own`") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}); convert it") from None
    if text.startswith("\t".join(OWN_COLUMNS)):
        entries = list(_own(path))
    elif text.lstrip().startswith("{"):
        entries = list(_json(path, text))
    else:
        entries = list(_published(path, text))
    of: dict[int, list[Template]] = {}
    for entry in entries:
        if entry.relation not in relations:
            raise InputError(f"{path}: {property_id(entry.relation)} is none of the relations of KLoB")
        once = entry.text.count(SUBJECT) == entry.text.count(OBJECT) == 1
        if not once or not entry.text.endswith(f" {OBJECT}"):
            raise InputError(
                f"{path}: {entry.id}: the template {entry.text!r} cannot be filled in; it must contain "
                f"{SUBJECT} and {OBJECT} once each and end with a blank and {OBJECT}"
            )
        of.setdefault(entry.relation, []).append(entry)
    for relation, templates in of.items():
        if [template.n for template in templates] != list(range(1, EXPRESSIONS + 1)):
            raise InputError(
                f"{path}: {property_id(relation)} has {len(templates)} templates, which must be "
                f"{EXPRESSIONS} in order"
            )
    return Templates(dict(sorted(of.items())), hashlib.sha256(data).hexdigest())


def _own(path: Path) -> Iterator[Template]:
    for line, (identifier, n, text, verb, cues) in rows_of(path, OWN_COLUMNS):
        try:
            yield Template(property_number(identifier), int(n), text, verb, tuple(cues.split("; ")))
        except ValueError as error:
            raise InputError(f"{path}, line {line}: {error}; correct it") from None


def _json(path: Path, text: str) -> Iterator[Template]:
    try:
        table: Any = json.loads(text)
    except ValueError as error:
        raise InputError(f"{path}: no JSON ({error}); write a map of relations to lists") from None
    for identifier, texts in table.items():
        if not isinstance(texts, list) or not all(isinstance(entry, str) for entry in texts):
            raise InputError(f"{path}: {identifier}: a list of {EXPRESSIONS} templates is needed")
        for n, entry in enumerate(texts, start=1):
            yield Template(_relation(path, identifier), n, entry)


def _published(path: Path, text: str) -> Iterator[Template]:
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t"))
    if not rows or rows[0] != ["relation", "template"]:
        raise InputError(
            f"{path}, line 1: the header must be `relation template`, separated by a tab (the published "
            f"layout), or `{' '.join(OWN_COLUMNS)}`; or the file a JSON map"
        )
    relation, n = None, 0
    for place, row in enumerate(rows[1:], start=2):
        if not any(row):
            continue
        if len(row) != 2:
            raise InputError(f"{path}, row {place}: {len(row)} cells instead of 2; separate them by a tab")
        if row[0]:
            relation, n = _relation(path, row[0]), 0
        if relation is None:
            raise InputError(f"{path}, row {place}: no relation in this row or above; name it")
        for entry in row[1].split("\n"):
            n += 1
            yield Template(relation, n, entry)


def _relation(path: Path, cell: str) -> int:
    match = _PUBLISHED_RELATION.fullmatch(cell)
    if match is None:
        raise InputError(f"{path}: {cell!r} is no relation such as P103 or native_(P103)")
    return property_number(match[1])
