"""One event of the table, planted: the lines of its items in both dumps, and what must become of them."""

import random
import unicodedata
from typing import Any, NamedTuple

import pyarrow as pa

from synthesis.background import identifiers, static_claims
from synthesis.days import Day, named_days
from synthesis.events import VARIANTS, Event, Expected, Row, Standing
from synthesis.snaks import amount_value, guid, item_value, qualifiers, quoted, snak, statement, text_value
from synthesis.vocabulary import NAMED_KINDS, UNITS
from synthesis.words import terms_json, unique_name
from synthesis.world import EVENTS, Body, World

TRUTH = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("object", pa.int32()),
        ("key", pa.string()),
        ("event", pa.string()),
        ("variant", pa.string()),
        ("label", pa.string()),
        ("dropped_by", pa.string()),
        ("scenario", pa.string()),
        ("filter", pa.string()),
    ]
)
"""A row is a triple that an event planted, in one variant. `object` is the number of an item, else null;
`key` the canonical value; `label`, `dropped_by` and `scenario` as in the table of updates; `filter`: it is no
triple, since this filter drops its statements."""

_ITEMS_AN_EVENT = 8
"""Item numbers set aside for an event."""


class Value(NamedTuple):
    json: str
    """Of the datavalue's value, or `somevalue`."""
    key: str | None
    object: int | None = None


class Planted(NamedTuple):
    lines: list[tuple[bytes | None, bytes | None]]
    truth: list[tuple[Any, ...]]
    """Rows of TRUTH."""


def items_of(event: Event) -> int:
    """How many items are made for an event."""
    return len(event.own())


def plant(world: World, event: Event, serial: int) -> Planted:
    """The event as the `serial`-th of all that are planted."""
    rng = random.Random(f"event {world.seed} {serial}")
    planting = _Planting(world, event, serial, rng)
    for row in event.rows:
        planting.add(row)
    return Planted(planting.lines(), planting.truth)


class _Planting:
    def __init__(self, world: World, event: Event, serial: int, rng: random.Random) -> None:
        self._world, self._event, self._rng = world, event, rng
        self._days = named_days(world.old, world.new, rng)
        self._items: dict[str, int] = {}
        self._amounts = rng.sample(range(1000, 10**6), 4)
        self._words = [unique_name(rng.randrange(10**8)) for _ in range(2)]
        self._own = event.own()
        for name, (kind, _) in event.kinds.items():
            self._items[name] = (
                EVENTS + serial * _ITEMS_AN_EVENT + self._own.index(name)
                if name in self._own
                else self._unused(kind)
            )
        self._old: dict[str, dict[int, list[str]]] = {name: {} for name in self._own}
        self._new: dict[str, dict[int, list[str]]] = {name: {} for name in self._own}
        self._last_id = ""
        self.truth: list[tuple[Any, ...]] = []

    def _unused(self, kind: str) -> int:
        """An item of the pool that the event does not name yet."""
        while (number := self._world.any_pooled(kind, self._rng)) in self._items.values():
            pass
        return number

    def add(self, row: Row) -> None:
        value = self._value(row)
        subject = self._items[row.subject]
        if not row.same_id:
            self._last_id = f"Q{subject}${guid(self._rng)}"
        references = self._world.reference(self._rng)
        for standing, into in ((row.old, self._old), (row.new, self._new)):
            if standing is not None:
                text = statement(
                    snak(row.property, value.json),
                    self._last_id,
                    self._qualifiers(standing),
                    standing.rank,
                    references,
                )
                into[row.subject].setdefault(row.property, []).append(text)
        for variant in VARIANTS:
            expected = row.expected[variant]
            if expected is not None:
                self.truth.append(
                    (
                        *(subject, row.property, value.object, value.key, self._event.name, variant),
                        *_told(expected),
                    )
                )

    def _qualifiers(self, standing: Standing) -> str:
        values = [
            (property_, self._days[day].json if day in self._days else day)
            for property_, days in standing.dates
            for day in days
        ]
        values += [(property_, item_value(self._items[name])) for property_, name in standing.items]
        return qualifiers(values)

    def _value(self, row: Row) -> Value:
        text = row.value
        if text.startswith("@") or text[1:].isdigit():
            number = self._items[text[1:]] if text.startswith("@") else int(text[1:])
            return Value(item_value(number), f"Q{number}", number)
        kind, _, name = text.partition(":")
        match kind:
            case "time":
                day: Day = self._days[name]
                return Value(day.json, day.key)
            case "amount":
                letter, *zero = name.split(".")
                amount = str(self._amounts["wxyz".index(letter)])
                unit = UNITS.get(row.property)
                return Value(
                    amount_value(f"{amount}.0" if zero else amount, unit),
                    f"{amount} Q{unit}" if unit else amount,
                )
            case "text":
                word = self._words["xy".index(name)]
                return Value(text_value(word), f"en:{word}")
            case "nfc" | "nfd":
                word = unicodedata.normalize("NFC", f"Café {self._words['xy'.index(name)]}")
                other = unicodedata.normalize("NFD", word)
                return Value(text_value(word if kind == "nfc" else other), f"en:{word}")
            case "url":
                word = f"https://www.{self._words['xy'.index(name)].split()[0].lower()}.org"
                return Value(quoted(word), word)
            case "math":
                word = rf"E = {self._amounts[0]} \cdot c^2"
                return Value(quoted(word), word)
            case "somevalue":
                return Value("somevalue", None)
        raise ValueError(f"{self._event.name}: the value {text!r} is not understood")

    def lines(self) -> list[tuple[bytes | None, bytes | None]]:
        return [self._item_lines(name) for name in self._own]

    def _item_lines(self, name: str) -> tuple[bytes | None, bytes | None]:
        """The lines of one item; beside the event's and P31, a flagged one has only what filters drop."""
        world, rng, number = self._world, self._rng, self._items[name]
        kind, flags = self._event.kinds[name]
        old, new = self._old[name], self._new[name]
        both: dict[int, list[str]] = {}
        if 31 not in old and 31 not in new:
            both[31] = [world.statement(number, 31, item_value(NAMED_KINDS[kind]), rng)]
        after = identifiers(world, number, rng)
        if not flags:
            after |= static_claims(world, number, {row.property for row in self._event.rows}, rng)
        whole = world.named_body(number, kind, {}, rng)
        wikis = rng.randrange(3, 25)
        title = unique_name(number)
        bodies: list[Body | None] = []
        for own, bare_flags, no_line in (
            (old, {"gains", "noarticle"}, "new"),
            (new, {"loses", "noarticle"}, "gone"),
        ):
            if no_line in flags:
                bodies.append(None)
                continue
            bodies.append(
                Body(
                    _labels(flags, whole.labels, title),
                    whole.descriptions,
                    {**both, **own, **after},
                    world.words.sitelinks(title, wikis, article=not bare_flags & flags),
                    whole.aliases,
                )
            )
        return world.lines(number, *bodies)


def _labels(flags: frozenset[str], labels: str, title: str) -> str:
    if "nolabel" in flags:
        return "{}"
    if "mul" in flags:
        return terms_json({"mul": title})
    if "foreign" in flags:
        return terms_json({"de": title, "en-gb": title})
    return labels


def _told(expected: Expected) -> tuple[str | None, ...]:
    return expected.label, expected.dropped_by, expected.scenario, expected.filter
