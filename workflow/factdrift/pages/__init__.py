"""What pages for people share: templates that escape, labels without control characters, dates, charts."""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from factdrift.core.paths import RESOURCES
from factdrift.core.text import printable

if TYPE_CHECKING:
    import jinja2

LONGEST = 160
"""Characters of a label that a page shows; what is longer ends in an ellipsis."""

MOST_COLUMNS = 120
"""The time line has a column a month, or a column a year where that would be more columns than this."""


def _dates(decision: str, *names: str) -> str:
    """SQL: the earliest of these dates of a decision's objects, as text that begins with a year."""
    columns = ", ".join(f'x."{name}"' for name in names)
    chosen = f"list_filter(objects, lambda x: x.decision = '{decision}')"
    of = f"list_transform({chosen}, lambda x: [{columns}])"
    return f"list_min(list_filter(flatten({of}), lambda d: regexp_matches(d, '^[0-9]{{4}}')))[:10]"


DAY = f"coalesce({_dates('new', 'start', 'point_in_time')}, {_dates('obsolete', 'end')})"
"""SQL: the day of an update, as exact as it is stated: when what is new began or was measured, or else when
what is obsolete ended."""


def environment(package: str) -> jinja2.Environment:
    """The templates in the folder `templates` of a package, and those of all; what they show is escaped."""
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader(name, "templates") for name in (package, __name__)]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters |= {"shown": shown, "day": day, "whole_dates": whole_dates}
    return made


def shown(text: object, longest: int = LONGEST) -> str:
    """A label without control characters, shortened; the template escapes it."""
    plain = printable(str(text)[: longest + 1])
    return plain if len(plain) <= longest else f"{plain[:longest]}…"


def day(text: str) -> str:
    """`2021-01-04` as `4 January 2021`."""
    from babel.dates import format_date

    return format_date(datetime.date.fromisoformat(text), "d MMMM y", locale="en")


def whole_dates(text: str) -> str:
    """A text as HTML in which no line breaks inside a date."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"\d{4}-\d\d(-\d\d)?", r'<span class="date">\g<0></span>', str(escape(text))))


def leaves(value: Any, between: str, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yields the values in nested mappings, each after the keys that lead to it, joined by `between`."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from leaves(inner, between, f"{name}{between}{key}" if name else str(key))
    else:
        yield name, value


def packaged(package: str, name: str) -> str:
    """A file beside the templates of a package, such as `browse`."""
    return Path(__file__).with_name(package).joinpath("templates", name).read_text(encoding="utf-8")


def palette() -> str:
    """The colours and fonts of all pages, light, dark and on paper, and the look of charts, as CSS."""
    return Path(__file__).with_name("palette.css").read_text(encoding="utf-8")


def meanings() -> dict[str, str]:
    """Rule, filter, step or term of the glossary -> what it means."""
    from factdrift.core.files import read_tsv
    from factdrift.wikidata.filters import read_filters

    texts: dict[str, str] = {}
    for row in read_tsv(RESOURCES / "rules.tsv"):
        texts.setdefault(f"rule {row['rule']}", row["meaning"])
    for filter_ in read_filters():
        texts[f"filter {filter_.name}"] = filter_.meaning
    for row in read_tsv(RESOURCES / "steps.tsv"):
        texts[f"{row['kind']} {row['name']}"] = row["meaning"]
    for row in read_tsv(RESOURCES / "glossary.tsv"):
        for term in filter(None, [row["term"], *row["also"].split(";")]):
            texts[f"term {term.lower()}"] = row["meaning"]
    return texts


# --- charts of columns, such as the updates of each month, which the template `columns.html` draws ---------


class Axis(NamedTuple):
    """What a column is, `ticks` with position (0 to the number of bars) and text, and what is counted."""

    title: str
    ticks: Sequence[tuple[float, str]]
    unit: str


def chart(
    bars: Sequence[tuple[str, int, int]],
    axis: Axis,
    names: Mapping[str, str],
    links: Mapping[str, str | None] | None = None,
) -> dict[str, Any]:
    """What the template draws; `bars`: a label and the amounts above and below the line, in one scale.

    `names`: of the amounts, with the colour of each. `links`: label -> the address to which its column leads.
    """
    highest, deepest = max(above for _, above, _ in bars), max(below for *_, below in bars)
    steps = (factor * 10**power for power in itertools.count() for factor in (1, 2, 5))
    step = next(step for step in steps if max(highest, deepest) <= 4 * step)
    drawn = {"bars": bars, "axis": axis, "names": names, "links": links or {}}
    return drawn | {
        **{"highest": highest, "deepest": deepest, "most": max(above + below for _, above, below in bars)},
        "levels": [*range(0, highest + 1, step), *range(-step, -deepest - 1, -step)],
    }


def periods(old: str, new: str) -> list[str]:
    """The months from that of a day to that of a later one, or the years where there are too many months."""
    months = list(months_of(old, new))
    return months if len(months) <= MOST_COLUMNS else list(dict.fromkeys(month[:4] for month in months))


def months_of(old: str, new: str) -> Iterator[str]:
    """Yields the months (2021-01) from that of a day to that of a later one."""
    first, last = (datetime.date.fromisoformat(day) for day in (old, new))
    for number in range(first.year * 12 + first.month - 1, last.year * 12 + last.month):
        yield f"{number // 12:04}-{number % 12 + 1:02}"


def ticks(names: Iterable[str]) -> Iterator[tuple[float, str]]:
    """The marks of an axis of months, at each January, or of years, some six of them."""
    every = max(len([*names]) // 6, 1)
    for index, name in enumerate(names):
        if name.endswith("-01") or (len(name) == 4 and int(name) % every == 0):
            yield index + 0.5, name[:4]
