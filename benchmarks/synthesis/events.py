"""The hand-written table of events, `events.tsv`: what is planted, and what each variant must make of it.

A row is a statement. Its columns `old` and `new` say how it stands in the dumps: `-` not at all, `.` bare,
else words such as `start=B end=I rank=preferred P518=@part:org id=same` (the statement id of the row before).
The expected column of a variant has two words:

| | |
|---|---|
| `new ReplaceObject` | the label of the triple, which reaches the dataset in a group of this scenario |
| `static unknown` | the label, and the step that keeps the triple out (docs/tables/updates.md) |
| `- unchanged` | the same where the triple gets no label |
| `filter object` | no triple: this filter drops the statement wherever it stands |
| `=` | one triple with the row before: two statements of the same value |

Items: `@name:kind`, later in the event `@name` alone. Subjects, and those with a flag (`@name:kind+flag`),
are made for the event; all others are taken from a pool of items that do not change.

| flag | what |
|---|---|
| `new`, `gone` | has a line in the new dump, in the old dump, alone |
| `gains`, `loses`, `noarticle` | has an English article in the new dump alone, in the old one alone, never |
| `nolabel`, `mul`, `foreign` | has no label, one for all languages, one in another language than English |
| `own` | nothing more |

Values: an item, `time:` with a day, `amount:x` (`x` stands for a number of the event's own; `amount:x.0` is
the same number written otherwise), `text:x`, `nfc:x`, `nfd:x` (the same letters in two normal forms),
`url:x`, `math:x`, `somevalue`. Days: see `days.py`.
"""

import csv
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parents[1] / "events.tsv"
VARIANTS = ("paper", "reference", "revised")
LABELS = ("new", "obsolete", "static", "ignore", "unknown")
SCENARIOS = ("AddEntity", "ReplaceObject", "Archive", "AddObject", "AddRelation", "Other")
SAME = "="


class Expected(NamedTuple):
    """What the workflow must say of a triple; `filter` alone is set where there is to be none."""

    label: str | None = None
    dropped_by: str | None = None
    scenario: str | None = None
    filter: str | None = None


class Standing(NamedTuple):
    """How a statement stands in one dump: rank, dates by qualifier, items by qualifier."""

    rank: str
    dates: tuple[tuple[int, tuple[str, ...]], ...]
    items: tuple[tuple[int, str], ...]


class Row(NamedTuple):
    subject: str
    property: int
    value: str
    old: Standing | None
    new: Standing | None
    same_id: bool
    expected: dict[str, Expected | None]
    """By variant; None where the triple is that of the row before."""


class Event(NamedTuple):
    name: str
    meaning: str
    kinds: dict[str, tuple[str, frozenset[str]]]
    """Kind and flags of each item, by its name."""
    rows: list[Row]

    def own(self) -> list[str]:
        """The items that are made for the event, in the order in which it names them."""
        subjects = {row.subject for row in self.rows}
        return [name for name, (_, flags) in self.kinds.items() if flags or name in subjects]


_QUALIFIERS = {"start": 580, "end": 582, "pit": 585}


def read_events(path: Path = TABLE) -> list[Event]:
    """All events, in the order of the table. Raises ValueError that names the line that cannot be read."""
    events: dict[str, Event] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for line, fields in enumerate(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE), start=2):
            event = events.setdefault(fields["event"], Event(fields["event"], fields["meaning"], {}, []))
            try:
                event.rows.append(_row(fields, event.kinds))
            except (KeyError, ValueError) as error:
                raise ValueError(f"{path}, line {line}: {error}") from None
    return list(events.values())


def _row(fields: dict[str, str], kinds: dict[str, tuple[str, frozenset[str]]]) -> Row:
    value = fields["value"]
    return Row(
        subject=_name(fields["subject"], kinds),
        property=int(fields["property"].removeprefix("P")),
        value=f"@{_name(value, kinds)}" if value.startswith("@") else value,
        old=_standing(fields["old"], kinds),
        new=_standing(fields["new"], kinds),
        same_id="id=same" in fields["new"].split(),
        expected={variant: _expected(fields[variant]) for variant in VARIANTS},
    )


def _name(text: str, kinds: dict[str, tuple[str, frozenset[str]]]) -> str:
    """`@a:club+gone` -> `a`, whose kind and flags are noted."""
    name, _, rest = text.removeprefix("@").partition(":")
    if rest:
        kind, *flags = rest.split("+")
        if kinds.setdefault(name, (kind, frozenset(flags))) != (kind, frozenset(flags)):
            raise ValueError(f"@{name} has two kinds")
    elif name not in kinds:
        raise ValueError(f"@{name} has no kind")
    return name


def _standing(text: str, kinds: dict[str, tuple[str, frozenset[str]]]) -> Standing | None:
    if text == "-":
        return None
    rank, dates, items = "normal", [], []
    for word in text.split():
        key, _, value = word.partition("=")
        if key == "rank":
            rank = value
        elif key in _QUALIFIERS:
            dates.append((_QUALIFIERS[key], tuple(value.split(","))))
        elif key.startswith("P"):
            items.append((int(key[1:]), _name(value, kinds)))
        elif word not in (".", "id=same"):
            raise ValueError(f"{word!r} is not understood")
    return Standing(rank, tuple(dates), tuple(items))


def _expected(text: str) -> Expected | None:
    if text == SAME:
        return None
    first, second = text.split()
    if first == "filter":
        return Expected(filter=second)
    label = None if first == "-" else first
    if label is not None and label not in LABELS:
        raise ValueError(f"{label!r} is no label")
    if second in SCENARIOS:
        return Expected(label, scenario=second)
    return Expected(label, dropped_by=second)
