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
from factdrift.words.templates import OBJECT, read_wordings

COLUMNS = ("property", "subject", "holder", "start", "source")
_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?")


class Name(NamedTuple):
    """How a holder is called in any snapshot; `id` and `label` are None where they are not known."""

    id: str | None
    label: str | None
    aliases: Sequence[str] = ()


class Chain(NamedTuple):
    """A subject and relation: what is asked, the values that held, and the names of these."""

    chain: str
    subject: str
    relation: str
    subject_label: str
    relation_label: str
    popularity: float | None
    prompts: Sequence[str]
    timeline: Sequence[Tenure]
    names: Mapping[int, Name]


def read_successions(path: Path, last: int) -> Iterator[Chain]:
    """The successions of a table up to the day `last` (packed), by property and subject as in the table.

    Subjects and holders have no ids; the value of a holder is its place among those of the chain, from 1.
    Raises InputError that names the line if a date is wrong or not later than the one before, a source is
    missing, a property has no template, or a subject occurs in two places.
    """
    templates = read_wordings()
    known: set[tuple[str, str]] = set()
    groups = itertools.groupby(rows_of(path, COLUMNS), lambda row: tuple(row[1][:2]))
    for (relation, subject), group in groups:
        rows = [(f"{path}, line {line}", *fields[2:]) for line, fields in group]
        where = rows[0][0]
        if (relation, subject) in known:
            raise InputError(f"{where}: {relation} of {subject} occurs above; join the two")
        if relation not in templates:
            raise InputError(f"{where}: {TEMPLATES} has no template for {relation}")
        known.add((relation, subject))
        starts = [_days(where, start, row == 0) for row, (where, _, start, _) in enumerate(rows)]
        for (where, _, start, _), (before, after) in zip(rows[1:], itertools.pairwise(starts), strict=True):
            if after[0] <= before[0]:
                raise InputError(f"{where}: {start} is not after the start of the row above")
        for where, _, _, source in rows:
            if not source:
                raise InputError(f"{where}: no source; name one where the fact can be checked")
        label, wordings = templates[relation]
        holders = dict.fromkeys(row[1] for row in rows if row[1])
        values = {name: value for value, name in enumerate(holders, 1)}
        timeline = []
        for (_, holder, *_), begin, end in zip(rows, starts, [*starts[1:], (last, NEVER_ENDS)], strict=True):
            if begin[0] <= last:
                certain = (begin[1], end[0]) if begin[1] <= end[0] else None
                timeline.append(Tenure(values.get(holder, UNNAMED), certain, (begin[0], end[1])))
        prompts = prompts_of(wordings, subject)
        names = {value: Name(None, holder) for holder, value in values.items()}
        chain = f"{subject}-{relation}"
        yield Chain(chain, subject, relation, subject, label, None, prompts, timeline, names)


def prompts_of(wordings: Sequence[str], subject: str) -> list[str]:
    """What templates say about a subject before their object."""
    usage, grammar = read_names().usage(subject), read_grammar()
    texts = (cloze(template, subject, usage, grammar) for template in wordings)
    return [text.removesuffix(OBJECT).rstrip() for text in texts]


def _days(where: str, start: str, opening: bool) -> tuple[int, int]:
    """The first and the last day of a start, packed; `opening`: it may be empty."""
    if not start and opening:
        return EVER, 101_01_01
    wrong = InputError(f"{where}: {start!r} is no date; write 2021, 2021-01 or 2021-01-04")
    if (match := _DATE.fullmatch(start)) is None:
        raise wrong
    year, month, day = (int(part or 0) for part in match.groups())
    try:
        begin, end = covered(year, month, day, YEAR + bool(month) + bool(day))
        return pack(*begin), pack(*end)
    except ValueError:
        raise wrong from None
