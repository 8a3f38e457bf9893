"""On which days each holder of a chain counts, from what dumps prove or tables say. Days are YYYYMMDD.

Successions that are written down beside a stream are chains: who followed whom in an office, and when. Their
table has a row for each holder, in the order of time: `property`, `subject`, `holder`, `start`, `source`. A
holder holds from its start, a day, month or year, to that of the next row; the first one of a subject needs
none. A row without a holder is a vacancy, or somebody who stood in.
"""

import datetime
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.paths import TEMPLATES
from factdrift.core.tables import rows_of
from factdrift.streams.timelines import EVER, NEVER_ENDS, UNNAMED, day_number
from factdrift.streams.timelines import Tenure as StatementTenure
from factdrift.wikidata.time import YEAR, covered, pack, pack_date
from factdrift.words.grammar import cloze, read_grammar
from factdrift.words.names import read_names
from factdrift.words.templates import OBJECT, read_wordings

COLUMNS = ("property", "subject", "holder", "start", "source")
_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(0[1-9]|[12]\d|3[01]))?)?")


class Tenure(NamedTuple):
    """Days on which a holder counts; None where nothing limits them."""

    first: int | None
    last: int | None
    share: float


class Several(Exception):
    """Two holders certainly held on more days than that of the change."""


def tenures(timeline: Iterable[StatementTenure], first: int, last: int) -> dict[int, list[Tenure]]:
    """The tenures of the values that certainly held on a day from `first` to `last`, in the order of time.

    Days between two successive holders on which both may have held count half for each, days on which only
    one of them may have, for that one. The first tenure has no beginning, the last one no end. Raises
    Several.
    """
    begin, end = day_number(first), day_number(last)
    spans = [span for span in _spans(timeline) if span.last >= begin and span.first <= end]
    days: list[_Days] = []
    for before, span, after in zip([None, *spans], spans, [*spans[1:], None], strict=False):
        # The day of a change may be one of both holders.
        own = _Days(
            span.value,
            span.first + (before.last == span.first) if before else None,
            span.last - (after.first == span.last) if after else None,
        )
        days += [own] if own.any() else []
        days += _between(span, after) if after else []
    days.sort(key=lambda own: (-math.inf if own.first is None else own.first, own.share, own.value))
    joined: dict[int, list[_Days]] = defaultdict(list)
    for own in days:
        earlier = joined[own.value]
        meets = earlier and own.first is not None and earlier[-1].last == own.first - 1
        if meets and earlier[-1].share == own.share:
            earlier[-1] = earlier[-1]._replace(last=own.last)
        else:
            earlier.append(own)
    return {
        value: [Tenure(_packed(own.first), _packed(own.last), own.share) for own in parts]
        for value, parts in joined.items()
    }


class _Days(NamedTuple):
    """Days on which a value counts, as ordinals; None where nothing limits them."""

    value: int
    first: int | None
    last: int | None
    share: float = 1.0

    def any(self) -> bool:
        return self.first is None or self.last is None or self.first <= self.last


class _Span(NamedTuple):
    """Ordinals of the days on which a value certainly held, and of the first and last possible one."""

    first: int
    last: int
    value: int
    earliest: int
    latest: int


def _spans(timeline: Iterable[StatementTenure]) -> list[_Span]:
    """The spans of certain days of each value, by their first day; those of one value that meet are one."""
    spans: list[_Span] = []
    certain = [(period.certain, period) for period in timeline if period.certain and not period.doubted]
    for days, period in sorted(certain, key=lambda pair: (pair[0], pair[1].value)):
        first, last = map(day_number, days)
        earliest, latest = (day if day in (EVER, NEVER_ENDS) else day_number(day) for day in period.possible)
        own = _Span(first, last, period.value, earliest, latest)
        same = spans[-1] if spans and spans[-1].value == own.value else None
        if same and own.first <= same.last + 1:
            spans[-1] = same._replace(last=max(same.last, own.last), latest=max(same.latest, own.latest))
        else:
            spans.append(own)
    for before, after in pairwise(spans):
        if after.first < before.last or after.last <= before.last:
            raise Several
    return spans


def _between(before: _Span, after: _Span) -> list[_Days]:
    """The days from the last certain one of a holder to the first certain one of the next."""
    if before.last == after.first:
        return [_Days(span.value, before.last, before.last, 0.5) for span in (before, after)]
    first, last = before.last + 1, after.first - 1
    until, since = min(last, before.latest), max(first, after.earliest)
    values = dict.fromkeys((before.value, after.value))
    days = [
        _Days(before.value, first, min(until, since - 1)),
        *(_Days(value, since, until, 1 / len(values)) for value in values),
        _Days(after.value, max(since, until + 1), last),
    ]
    return [own for own in days if own.any()]


def _packed(ordinal: int | None) -> int | None:
    return None if ordinal is None else pack_date(datetime.date.fromordinal(ordinal))


def names_of(holder: Row) -> tuple[str, ...]:
    """The label and the aliases of a holder of CHAINS."""
    return holder["label"], *holder["aliases"]


class Change(NamedTuple):
    """A holder after another: the day, and the index of both in the chain."""

    day: int
    before: int
    after: int


def changes(row: Row) -> list[Change]:
    """The changes of holder in a chain, on the first day on which the later holder counts alone."""
    parts = ((index, own) for index, holder in enumerate(row["holders"]) for own in holder["tenures"])
    begun = sorted((own["first"] or 0, index, own["last"]) for index, own in parts if own["share"] == 1)
    made = (Change(later[0], earlier[1], later[1]) for earlier, later in pairwise(begun))
    return [change for change in made if change.before != change.after]


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
    timeline: Sequence[StatementTenure]
    names: Mapping[int, Name]


def read_successions(path: Path, last: int) -> Iterator[Chain]:
    """The successions of a table up to the day `last` (packed), by property and subject as in the table.

    Subjects and holders have no ids; the value of a holder is its place among those of the chain, from 1.
    Raises InputError that names the line if a date is wrong or not later than the one before, a source is
    missing, a property has no template, or a subject occurs in two places.
    """
    templates = read_wordings()
    known: set[tuple[str, str]] = set()
    groups = groupby(rows_of(path, COLUMNS), lambda row: tuple(row[1][:2]))
    for (relation, subject), group in groups:
        rows = [(f"{path}, line {line}", *fields[2:]) for line, fields in group]
        where = rows[0][0]
        if (relation, subject) in known:
            raise InputError(f"{where}: {relation} of {subject} occurs above; join the two")
        if relation not in templates:
            raise InputError(f"{where}: {TEMPLATES} has no template for {relation}")
        known.add((relation, subject))
        starts = [_days_of(where, start, row == 0) for row, (where, _, start, _) in enumerate(rows)]
        for (where, _, start, _), (before, after) in zip(rows[1:], pairwise(starts), strict=True):
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
                timeline.append(StatementTenure(values.get(holder, UNNAMED), certain, (begin[0], end[1])))
        prompts = prompts_of(wordings, subject)
        names = {value: Name(None, holder) for holder, value in values.items()}
        chain = f"{subject}-{relation}"
        yield Chain(chain, subject, relation, subject, label, None, prompts, timeline, names)


def prompts_of(wordings: Sequence[str], subject: str) -> list[str]:
    """What templates say about a subject before their object."""
    usage, grammar = read_names().usage(subject), read_grammar()
    texts = (cloze(template, subject, usage, grammar) for template in wordings)
    return [text.removesuffix(OBJECT).rstrip() for text in texts]


def _days_of(where: str, start: str, opening: bool) -> tuple[int, int]:
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
