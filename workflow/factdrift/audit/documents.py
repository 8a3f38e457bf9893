"""Similarities of entities once more, by scikit-learn, over all entities of a dump that is small enough."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from factdrift.audit import filters
from factdrift.audit.dates import Day, span
from factdrift.audit.filters import PAPER_DATATYPES, REFERENCE_DATATYPES, Dump, How
from factdrift.audit.lines import Entity, articles, item_number, read_entities, stated
from factdrift.audit.survey import Survey
from factdrift.audit.values import START

MOST = 100_000
"""Articles of the old dump above which similarities are not checked: each of its items would be decoded."""


def _relevant(
    path: Path, survey: Survey, how: How, also: frozenset[str] = frozenset()
) -> tuple[set[int], list[tuple[Entity, dict[str, Any]]]]:
    """The relevant items of a dump, and the lines of all that have an article or are in `also`."""
    lines = list(articles(path, also))
    briefs = {
        int(entity.id[1:]): filters.Entity(entity.label, entity.has_article, entity.classes)
        for entity, _ in lines
    }
    labels: dict[int, str | None] = {}
    if how.variant == "reference":
        classes = {f"Q{number}" for brief in briefs.values() for number in brief.classes}
        named = read_entities(path, dict.fromkeys(classes, frozenset[str]()))
        labels = {int(name[1:]): entity.label for name, entity in named.items()}
    dump = Dump((), briefs, survey.relations, survey.classes, labels)
    return {brief for brief in briefs if filters.relevant_in(dump, brief, how)}, lines


class Documents:
    """The entities of the old dump as TF-IDF vectors, and the facts that each of them states plainly.

    A plain fact is the only statement of its relation, has no qualifier but a start by T_old, and a relevant
    object with a label: no filter can drop it, whatever else the dump says.
    """

    def __init__(
        self, dumps: tuple[Path, Path], surveys: tuple[Survey, Survey], how: How, t_old: Day
    ) -> None:
        """`dumps` and `surveys`: the old one, then the new one, which tells in `revised` what is relevant."""
        self._how = how
        elsewhere: set[int] = set()
        if how.variant == "revised":
            elsewhere, _ = _relevant(dumps[1], surveys[1], how)
        also = frozenset(f"Q{number}" for number in elsewhere)
        self._relevant, lines = _relevant(dumps[0], surveys[0], how, also)
        self._relevant |= {int(entity.id[1:]) for entity, _ in lines if entity.id in also}
        self._askable = self._relevant & {int(entity.id[1:]) for entity, _ in lines if entity.label}
        self.plain: dict[str, dict[str, str]] = {}
        names, bags = [], []
        for entity, line in lines:
            if int(entity.id[1:]) not in self._relevant:
                continue
            bag = self.features(line)
            if bag is not None:
                names.append(entity.id)
                bags.append(bag)
            if entity.label and "____" not in entity.label:
                self.plain[entity.id] = dict(self._plain(line, t_old))
        self._position = {name: index for index, name in enumerate(names)}
        self.names = names
        self._vectorizer = TfidfVectorizer(analyzer=lambda bag: bag)
        self._vectors = self._vectorizer.fit_transform(bags) if bags else None

    def features(self, line: Mapping[str, Any]) -> list[str] | None:
        """The features of an entity: itself, its objects, its pairs of relation and object; None without any
        statement that the first filters keep."""
        dropped = REFERENCE_DATATYPES if self._how.variant == "reference" else PAPER_DATATYPES
        bag, says = [str(line["id"])], False
        for relation, group in line["claims"].items():
            for claim in group:
                main = claim.get("mainsnak", {})
                if not stated(claim) or main.get("datatype") in dropped:
                    continue
                says = True
                number = item_number(main.get("datavalue", {}).get("value"))
                if number is not None:
                    name = f"{'Q' if number > 0 else 'P'}{abs(number)}"
                    bag += [name, f"{relation} {name}"]
                    bag += [relation] * (self._how.variant == "reference")
        return bag if says else None

    def _plain(self, line: Mapping[str, Any], t_old: Day) -> Iterator[tuple[str, str]]:
        for relation, group in line["claims"].items():
            claims = [claim for claim in group if claim.get("rank") != "deprecated"]
            if len(claims) != 1 or not stated(claims[0]):
                continue
            qualifiers = claims[0].get("qualifiers") or {}
            number = item_number(claims[0]["mainsnak"].get("datavalue", {}).get("value"))
            if number not in self._askable or set(qualifiers) - {START}:
                continue
            values = [snak.get("datavalue", {}).get("value", {}) for snak in qualifiers.get(START, ())]
            dates = [span(value) for value in values]
            if all(date is not None and date.last <= t_old for date in dates):
                yield relation, str(claims[0].get("id", "")).upper()

    def similarities(self, name: str, line: Mapping[str, Any] | None) -> NDArray[np.float64] | None:
        """[entities] The cosine of an entity with each of `names`; None if it is no document.

        `line`: that of the new dump, for an entity that the old one does not have as a document.
        """
        if self._vectors is None:
            return None
        if name in self._position:
            vector = self._vectors[self._position[name]]
        else:
            bag = self.features(line) if line is not None else None
            if bag is None:
                return None
            vector = self._vectorizer.transform([bag])
        similarities: NDArray[np.float64] = np.asarray((self._vectors @ vector.T).todense()).ravel()
        return similarities

    def similarity(self, similarities: NDArray[np.float64], name: str) -> float | None:
        """One value of `similarities`; None for an entity that is no document."""
        position = self._position.get(name)
        return None if position is None else float(similarities[position])
