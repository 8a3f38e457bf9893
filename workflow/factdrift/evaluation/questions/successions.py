"""Successions that are written down beside a stream, as chains: who followed whom in an office, and when.

A table has a row for each holder, in the order of time: `property`, `subject`, `holder`, `start`, `source`. A
holder holds from its start, a day, month or year, to that of the next row; the first one of a subject needs
none. A row without a holder is a vacancy, or somebody who stood in.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import TEMPLATES
from factdrift.core.tables import rows_of
from factdrift.streams.timelines import EVER, NEVER_ENDS, UNNAMED, Tenure
from factdrift.wikidata.time import YEAR, covered, pack
from factdrift.words.grammar import cloze, read_grammar
from factdrift.words.names import read_names
from factdrift.words.templates import OBJECT

COLUMNS = ("property", "subject", "holder", "start", "source")
_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?")


class Succession(NamedTuple):
    """The holders of one subject and relation; a holder's value is its place in `names`, from 1."""

    relation: str
    relation_label: str
    subject: str
    prompts: Sequence[str]
    names: Mapping[int, str]
    timeline: Sequence[Tenure]


def read_successions(path: Path, last: int) -> Iterator[Succession]:
    """The successions of a table up to the day `last` (packed), by property and subject as in the table.

    Raises InputError that names the line if a date is wrong or not later than the one before, a source is
    missing, a property has no template, or a subject occurs in two places.
    """
    templates = _templates()
    known: set[tuple[str, str]] = set()
    for key, group in itertools.groupby(rows_of(path, COLUMNS), key=lambda row: (row[1][0], row[1][1])):
        relation, subject = key
        rows = list(group)
        first = rows[0][0]
        if key in known:
            raise InputError(f"{path}, line {first}: {relation} of {subject} occurs above; join the two")
        if relation not in templates:
            raise InputError(f"{path}, line {first}: {TEMPLATES} has no template for {relation}")
        known.add(key)
        spans = [_span(path, line, fields[3], place == 0) for place, (line, fields) in enumerate(rows)]
        for (line, fields), (before, after) in zip(rows[1:], itertools.pairwise(spans), strict=True):
            if after[0] <= before[0]:
                raise InputError(f"{path}, line {line}: {fields[3]} is not after the start of the row above")
        for line, fields in rows:
            if not fields[4]:
                raise InputError(f"{path}, line {line}: no source; name one where the fact can be checked")
        labels = list(dict.fromkeys(fields[2] for _, fields in rows if fields[2]))
        ends = [*spans[1:], (last, NEVER_ENDS)]
        label, said = templates[relation]
        yield Succession(
            relation,
            label,
            subject,
            [_prompt(template, subject) for template in said],
            dict(enumerate(labels, start=1)),
            [
                Tenure(
                    labels.index(fields[2]) + 1 if fields[2] else UNNAMED,
                    (begin[1], end[0]) if begin[1] <= end[0] else None,
                    (begin[0], end[1]),
                )
                for (_, fields), begin, end in zip(rows, spans, ends, strict=True)
                if begin[0] <= last
            ],
        )


def _span(path: Path, line: int, text: str, opening: bool) -> tuple[int, int]:
    """The first and the last day of a start, packed."""
    if not text and opening:
        return EVER, 101_01_01
    found = _DATE.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        year, month, day = (int(part or 0) for part in found.groups())
        begin, end = covered(year, month, day, YEAR + bool(month) + bool(day))
        return pack(*begin), pack(*end)
    except ValueError:
        raise InputError(
            f"{path}, line {line}: {text!r} is no date; write 2021, 2021-01 or 2021-01-04"
        ) from None


def _templates() -> dict[str, tuple[str, list[str]]]:
    """Property -> its label and its templates, of the bundled table."""
    found: dict[str, tuple[str, list[str]]] = {}
    for _, (relation, label, template) in rows_of(TEMPLATES, ("property", "label", "template")):
        found.setdefault(relation, (label, []))[1].append(template)
    return found


def _prompt(template: str, subject: str) -> str:
    """What a template says about the subject before its object."""
    said = cloze(template, subject, read_names().usage(subject), read_grammar())
    return said.removesuffix(OBJECT).rstrip()
