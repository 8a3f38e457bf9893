"""Counts the groups in which nothing changed and no date is given.

The rules apply to them as to all others, but can distinguish them only by their relation and a few properties
of the value. So the rules are run on a few specimens of each relation instead of on all its groups.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.tables import table_of, write_parquet
from factdrift.updates.method import Method
from factdrift.updates.open_groups import JOINED
from factdrift.wikidata.time import DAY, pack_date

UNTOUCHED = pa.schema(
    [
        ("property", pa.int32()),
        ("rule", pa.string()),
        ("label", pa.string()),
        ("dropped_by", pa.string()),
        ("triples", pa.int64()),
    ]
)
"""One row a relation: the number of its triples in untouched groups, and what is decided about them."""

NEWBORN = 0
"""The id of a made-up new entity; no item of a dump has it."""

_SPECIMENS = list(itertools.product((False, True), (False, True), (1, 2)))
"""Every combination of inputs that a rule can distinguish for an untouched group: whether the value is a day
inside the window, whether it is a new entity, and the number of triples (1 or 2)."""


class Untouched:
    """Counts triples of untouched groups by relation, and by whether `only` includes them."""

    def __init__(self, only_relations: Sequence[int], only_subjects: Sequence[int] | None) -> None:
        self.relations = np.array(only_relations, np.int32)
        self.subjects = None if only_subjects is None else np.array(only_subjects, np.int32)
        self.triples: Counter[tuple[int, bool]] = Counter()

    def add(self, triples: pa.Table) -> None:
        """Adds triples, a table with `subject` and `property`."""
        properties = triples["property"].to_numpy()
        asked = np.ones(len(properties), bool)
        if len(self.relations):
            asked &= np.isin(properties, self.relations)
        if self.subjects is not None:
            asked &= np.isin(triples["subject"].to_numpy(), self.subjects)
        for is_asked in (False, True):
            present, numbers = np.unique(properties[asked == is_asked], return_counts=True)
            self.triples.update(
                {
                    (number, is_asked): count
                    for number, count in zip(present.tolist(), numbers.tolist(), strict=True)
                }
            )

    def write(
        self, decide: Callable[[pa.Table], pa.Table], rules: Path, method: Method, output: Path
    ) -> None:
        """Writes UNTOUCHED, sorted by property.

        `decide` applies the rules to a table of triples and returns `rule`, `label` and `dropped_by` of each.
        Raises InputError if the table `rules` decides differently about untouched groups of one relation, or
        lets one reach the dataset.
        """
        fates = self._fates(decide, rules, method)
        rows = []
        for (property_, asked), number in sorted(self.triples.items()):
            rule, label, dropped_by = fates[property_]
            rows.append((property_, rule, label, dropped_by if asked else "only", number))
        write_parquet(table_of(rows, UNTOUCHED), output)

    def _fates(
        self, decide: Callable[[pa.Table], pa.Table], rules: Path, method: Method
    ) -> dict[int, tuple[str, str, str]]:
        properties = sorted({property_ for property_, _ in self.triples})
        specimens = [row for property_ in properties for row in _specimens(property_, method)]
        schema = pa.schema([*JOINED, ("subject_gone", pa.bool_())])
        found = decide(pa.Table.from_pylist(specimens, schema)).to_pylist()
        fates: dict[int, tuple[str, str, str]] = {}
        for specimen, each in zip(specimens, found, strict=True):
            fate = (each["rule"], each["label"], each["dropped_by"])
            if fates.setdefault(specimen["property"], fate) != fate or fate[2] not in (
                "unchanged",
                "unknown",
            ):
                raise InputError(
                    f"{rules}: the rule {fate[0]!r} makes {fate[1]!r} of triples of P{specimen['property']} "
                    "that were neither added nor removed and have no date; let it ask for one of these"
                )
        return fates


def _specimens(property_: int, method: Method) -> list[dict[str, Any]]:
    """Made-up triples of untouched groups of one relation; their subjects are negative numbers."""
    day = date.fromisoformat(str(method.t_old)) + timedelta(days=1)
    inside = {
        **{"year": day.year, "month": day.month, "day": day.day, "precision": DAY, "julian": False},
        **dict.fromkeys(("written", "first", "last"), pack_date(day)),
    }
    return [
        {
            "subject": -1 - number,
            "property": property_,
            "change": "F0",
            "object": NEWBORN if is_new else None,
            "key": str(place),
            "time": inside if is_inside else None,
            "new_start_unknown": False,
            "new_end_unknown": False,
            "subject_gone": False,
        }
        for number, (is_inside, is_new, size) in enumerate(_SPECIMENS)
        for place in range(size)
    ]
