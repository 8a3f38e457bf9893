"""Labels and aliases of items; each item is fetched once."""

from collections.abc import Collection, Iterable, Mapping

from factdrift.tempripple.sources import Source
from factdrift.tempripple.types import ids
from factdrift.words.names import Names as UsedNames
from factdrift.words.names import written


class Names:
    """The source's labels and aliases; the user's labels for items that the source does not know.

    `used`: the names that take articles inside a sentence; None leaves all labels as they are.
    """

    def __init__(self, source: Source, supplied: Mapping[int, str], used: UsedNames | None) -> None:
        self._source = source
        self._supplied = supplied
        self._used = used
        self._known: dict[int, tuple[str | None, list[str]]] = {}

    def fetch(self, items: Iterable[int]) -> None:
        """Reads the names of those items that were not fetched before, all at once."""
        new = sorted(set(items) - self._known.keys())
        if not new:
            return
        self._known |= {item: (self._supplied.get(item), []) for item in new}
        terms = self._source.terms(ids(new))
        for item, label, aliases in zip(*(column.to_pylist() for column in terms.columns), strict=True):
            self._known[item] = (label, aliases)

    def label(self, item: int) -> str | None:
        """The label of an item that was fetched; None if it has none."""
        return self._known[item][0]

    def aliases(self, item: int) -> list[str]:
        return self._known[item][1]

    def in_sentence(self, item: int, classes: Collection[int] = ()) -> str:
        """The label of an item that has one, with the article that the name takes inside a sentence.

        `classes`: numbers of the item's classes (P31).
        """
        label = self.label(item)
        assert label is not None, f"Q{item} has no label"
        return label if self._used is None else written(label, self._used.usage(label, classes))
