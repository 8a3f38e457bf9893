"""Classes and sports of values, by which wrong options are chosen that resemble the answer."""

from collections.abc import Iterable, Sequence

from factdrift.tempripple.claims import best_rank, groups
from factdrift.tempripple.relations import SPORT
from factdrift.tempripple.sources import INSTANCE, Source
from factdrift.tempripple.types import Types, ids
from factdrift.wikidata.ids import entity_id, property_id


class Kinds:
    """Classes (P31) and sports (P641) of items, from statements of best rank; each item is fetched once."""

    def __init__(self, source: Source, types: Types) -> None:
        self._source, self._types = source, types
        self._sports: dict[int, list[int]] = {}

    def fetch(self, items: Iterable[int]) -> None:
        """Reads the kinds of those items that were not fetched before, all at once."""
        new = sorted(set(items) - self._sports.keys())
        if not new:
            return
        self._types.fetch(new)
        self._sports |= {item: [] for item in new}
        for item, _, claims in groups(self._source.statements(ids(new), ids([SPORT]), ids([]))):
            self._sports[item] = sorted(
                {claim.object for claim in best_rank(claims) if claim.object is not None}
            )

    def of(self, subject: int, value: int | None) -> list[str]:
        """The kinds of a value, such as `P31 Q476028` and `P641 Q2736`.

        A property that the value does not have is taken from the subject; so is every property if `value` is
        None, for a literal. Both items must have been fetched.
        """
        values = []
        for relation, known in ((INSTANCE, self._types.instances), (SPORT, self._sports.__getitem__)):
            own = known(value) if value is not None else []
            values += [f"{property_id(relation)} {entity_id(item)}" for item in own or known(subject)]
        return values


def of_property(kinds: Sequence[str], name: str) -> frozenset[str]:
    """The kinds that one property gives: `P641` of [`P31 Q476028`, `P641 Q2736`] -> {`Q2736`}."""
    return frozenset(kind.removeprefix(f"{name} ") for kind in kinds if kind.startswith(f"{name} "))
