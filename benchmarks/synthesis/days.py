"""The days of a planted event, named by how they lie to T_old and T_new, as the table of events names them.

| name | what |
|---|---|
| `B1 B2` | days well before T_old, in this order; `B` is `B1` |
| `I1 I2` | days strictly between T_old and T_new, in this order; `I` is `I1` |
| `A1 A2` | days after T_new, in this order; `A` is `A1` |
| `TO TN` | T_old, T_new |
| `yI mI` | a year, and a month, all of whose days lie between them |
| `yO yN dO` | the year of T_old, the year of T_new, the decade of T_old |
| `fO` | the year of T_old, written with its last day |
| `jI` | a day between them, Julian, whose Julian date read as Gregorian lies before T_old |
"""

import random
from datetime import date, timedelta
from typing import NamedTuple

GREGORIAN, JULIAN = "Q1985727", "Q1985786"
JULIAN_BEHIND = 13
"""Days by which the Julian calendar is behind, from 1900 to 2099."""

DECADE, YEAR, MONTH, DAY = 8, 9, 10, 11


class Day(NamedTuple):
    """A date as it stands in a dump; month and day 0 where they are not stated."""

    year: int
    month: int
    day: int
    precision: int
    calendar: str = GREGORIAN

    @property
    def key(self) -> str:
        """The canonical value, `+2022-05/10/Q1985727` (docs/tables/statements.md)."""
        fields = {YEAR: (), MONTH: (self.month,), DAY: (self.month, self.day)}[self.precision]
        return (
            f"{self.year:+05d}{''.join(f'-{each:02d}' for each in fields)}/{self.precision}/{self.calendar}"
        )

    @property
    def json(self) -> str:
        return (
            f'{{"time":"{self.year:+05d}-{self.month:02d}-{self.day:02d}T00:00:00Z","timezone":0,"before":0,'
            f'"after":0,"precision":{self.precision},'
            f'"calendarmodel":"http:\\/\\/www.wikidata.org\\/entity\\/{self.calendar}"}}'
        )


def of_date(day: date) -> Day:
    return Day(day.year, day.month, day.day, DAY)


def check_window(old: date, new: date) -> None:
    """Raises ValueError for two dates between which the table of events cannot be planted."""
    if new.year - old.year < 2:
        raise ValueError("a whole year must lie between the two dates: take years at least two apart")
    for each in (old, new):
        if (each.month, each.day) in ((1, 1), (12, 31)):
            raise ValueError(f"{each}: must not be the first or the last day of a year")
    if not (old.year > 1900 and new.year < 2090):
        raise ValueError("both years must lie between 1901 and 2089")


def named_days(old: date, new: date, rng: random.Random) -> dict[str, Day]:
    """The days of one event: other ones for each, but in the order that their names say."""
    span = (new - old).days
    befores = sorted(rng.sample(range(400, 3000), 2), reverse=True)
    insides = sorted(rng.sample(range(1, span), 2))
    afters = sorted(rng.sample(range(1, 1500), 2))
    year = rng.randrange(old.year + 1, new.year)
    julian = old + timedelta(days=rng.randrange(1, JULIAN_BEHIND - 1) - JULIAN_BEHIND)
    days = {
        "B1": of_date(old - timedelta(days=befores[0])),
        "B2": of_date(old - timedelta(days=befores[1])),
        "I1": of_date(old + timedelta(days=insides[0])),
        "I2": of_date(old + timedelta(days=insides[1])),
        "A1": of_date(new + timedelta(days=afters[0])),
        "A2": of_date(new + timedelta(days=afters[1])),
        "TO": of_date(old),
        "TN": of_date(new),
        "yI": Day(year, 0, 0, YEAR),
        "mI": Day(year, rng.randrange(1, 13), 0, MONTH),
        "yO": Day(old.year, 0, 0, YEAR),
        "yN": Day(new.year, 0, 0, YEAR),
        "dO": Day(old.year // 10 * 10, 0, 0, DECADE),
        "fO": Day(old.year, 12, 31, YEAR),
        "jI": Day(julian.year, julian.month, julian.day, DAY, JULIAN),
    }
    return days | {"B": days["B1"], "I": days["I1"], "A": days["A1"]}
