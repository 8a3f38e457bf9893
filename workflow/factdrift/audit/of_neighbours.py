"""Checks of the neighbour facts of one update: that they hold, whose they are, that they are the nearest.

Similarities are computed once more, by scikit-learn, over all entities of a dump that is small enough.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfVectorizer

from factdrift.audit import filters
from factdrift.audit.dates import Day, packed, span
from factdrift.audit.filters import PAPER_DATATYPES, REFERENCE_DATATYPES, Dump, How
from factdrift.audit.kinds import UNCHECKED
from factdrift.audit.lines import Entity, articles, item_number, read_entities, stated
from factdrift.audit.of_updates import (
    Dumps,
    Finding,
    not_main_snak,
    outcomes,
    statement_of,
    wrong_literal,
    wrong_names,
)
from factdrift.audit.survey import Survey
from factdrift.audit.values import START, TOLERANCE, close, entity_of, may_hold
from factdrift.core.columns import Row

MOST = 100_000
"""Articles of the old dump above which similarities are not checked: each of its items would be decoded."""

Pool = Mapping[tuple[str, str, str], str | None]
"""Subject, relation and statement of a fact -> its object, if that is an entity."""


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
            if (bag := self.features(line)) is not None:
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


class Nearby(NamedTuple):
    """`documents`: the entities of a dump that is small enough, else None; `pool`: the facts from which
    random ones are drawn and their objects, None where they are not known; `reach`: how many entities, facts
    and random facts the build looks for."""

    documents: Documents | None
    pool: Pool | None
    reach: tuple[int, int, int]


def check_neighbours(row: Row, dumps: Dumps, nearby: Nearby) -> Iterator[Finding]:
    """The findings of each kind about the neighbour facts of one update."""
    yield from outcomes("neighbour", _whose(row))
    yield from outcomes("neighbour_fact", _facts(row, dumps))
    yield from outcomes("neighbour_answer", _answers(row))
    yield from outcomes("neighbour_words", _words(row, dumps))
    if nearby.pool is None:
        yield "random", UNCHECKED, "wfd_repl.parquet is not there"
    else:
        yield from outcomes("random", _random(row, nearby.pool, nearby.reach))
    yield from _nearest(row, dumps, nearby)


def facts_of(row: Row) -> Iterator[Row]:
    """The nearest facts of an update, then its random ones, and those of popular subjects if it has any."""
    yield from row["neighborhood"]
    yield from row["random_neighborhood"]
    yield from row.get("popular_neighborhood") or ()


def _avoided(row: Row) -> set[str]:
    changed = {value["id"] for value in row["objects"] if value["id"] and value["decision"] != "static"}
    return {row["subject"]["id"], *changed}


def _whose(row: Row) -> Iterator[str]:
    avoided = _avoided(row)
    for fact in row["neighborhood"]:
        if fact["relation"]["id"] != row["relation"]["id"]:
            yield f"{fact['subject']['id']}: the fact is of relation {fact['relation']['id']}"
    for fact in facts_of(row):
        if fact["subject"]["id"] in avoided:
            yield f"{fact['subject']['id']} is a neighbour and part of the update"
    for part in ("neighborhood", "random_neighborhood"):
        names = Counter((fact["subject"]["id"], fact["objects"][0]["statement"]) for fact in row[part])
        twice = sorted(key for key, number in names.items() if number > 1)
        yield from (f"{name} occurs twice in {part}" for name, _ in twice)


def _facts(row: Row, dumps: Dumps) -> Iterator[str]:
    day = packed(dumps.t_old)
    for fact in facts_of(row):
        (value,) = fact["objects"]
        name = value["statement"]
        entity = dumps.old.get(fact["subject"]["id"])
        claim = statement_of(entity, name) if entity else None
        if claim is None or entity is None:
            yield f"{fact['subject']['id']}: the old dump has no statement {name}"
        elif claim.property_id != fact["relation"]["id"]:
            yield f"{name} is a statement of {claim.property_id}"
        elif reason := not_main_snak({"id": value["object"]["id"], "raw": value["raw"]}, claim, entity):
            yield reason
        elif claim.rank == "deprecated":
            yield f"{name} is deprecated"
        elif not may_hold(claim, day, day):
            yield f"{name} does not hold at T_old"


def _answers(row: Row) -> Iterator[str]:
    answers = {object_["raw"] for object_ in row["objects"] if object_["decision"] == "new"}
    for fact in row["neighborhood"]:
        (value,) = fact["objects"]
        if value["raw"] in answers:
            yield f"the neighbour {fact['subject']['label']} has the answer {value['object']['label']!r}"


def _words(row: Row, dumps: Dumps) -> Iterator[str]:
    for fact in facts_of(row):
        (value,) = fact["objects"]
        for part in (fact["subject"], fact["relation"], value["object"]):
            if part["id"]:
                yield from wrong_names(part["id"], part["label"], part["description"], dumps)
            elif part["description"]:
                yield f"{part['label']}: a literal has no description"
        if not value["object"]["id"]:
            yield from _literal(value, fact["subject"]["id"], dumps)
        if reason := dumps.templates.misfit(value["prompt"], fact["relation"], fact["subject"]):
            yield reason
        popularity = dumps.popular(fact["subject"]["id"])
        if popularity is not None and not close(fact["popularity"], popularity):
            yield f"{fact['subject']['id']}: popularity {fact['popularity']}, by the dumps {popularity:.9f}"
        if value["dist"] != fact["dist"]:
            yield f"{fact['subject']['id']}: its two distances differ"


def _literal(value: Row, subject: str, dumps: Dumps) -> Iterator[str]:
    """What is wrong with the words of a neighbour's object that has no id."""
    entity = dumps.old.get(subject)
    claim = statement_of(entity, value["statement"]) if entity else None
    if claim is None or claim.mainsnak.snaktype != "value":
        return  # a finding of `neighbour_fact`
    if (entity_of(claim.mainsnak) or "").startswith("Q"):
        yield f"{value['raw']}: the object has no id"
    datatype = claim.mainsnak.snak_datatype  # which old dumps may lack
    literal = value["object"] | {"raw": value["raw"], "datatype": datatype, "short": None}
    if datatype and (reason := wrong_literal(literal, claim.mainsnak, dumps)):
        yield reason


def _random(row: Row, pool: Pool, reach: tuple[int, int, int]) -> Iterator[str]:
    for fact in row["random_neighborhood"]:
        name = (fact["subject"]["id"], fact["relation"]["id"], fact["objects"][0]["statement"])
        if name not in pool:
            yield f"{' '.join(name)} is a nearest fact of no update of wfd_repl"
    for part, most in (("neighborhood", reach[1]), ("random_neighborhood", reach[2])):
        if len(row[part]) > most:
            yield f"{part} has {len(row[part])} facts, more than {most}"
    number = len(row["random_neighborhood"])
    if number < reach[2]:
        avoided = _avoided(row)
        left = sum(key[0] not in avoided and value not in avoided for key, value in pool.items())
        if number < min(reach[2], left):
            yield f"random_neighborhood has {number} facts, and there are {left}"


def _nearest(row: Row, dumps: Dumps, nearby: Nearby) -> Iterator[Finding]:
    documents, name = nearby.documents, row["subject"]["id"]
    if documents is None:
        for kind in ("distance", "nearest"):
            yield kind, UNCHECKED, f"the old dump has more than {MOST:,} articles"
        return
    if (similarities := documents.similarities(name, dumps.lines.get(name))) is None:
        wrong = ["the subject is no document, and yet has neighbours"] if row["neighborhood"] else []
        for kind in ("distance", "nearest"):
            yield from outcomes(kind, wrong)
        return
    yield from outcomes("distance", _distances(row, documents, similarities))
    yield from outcomes("nearest", _closer(row, documents, similarities, nearby.reach))


def _distances(row: Row, documents: Documents, similarities: np.ndarray) -> Iterator[str]:
    for fact in facts_of(row):
        if (due := documents.similarity(similarities, fact["subject"]["id"])) is None:
            yield f"{fact['subject']['id']} is no document of the old dump"
        elif not close(fact["dist"], 1 - due):
            yield f"{fact['subject']['id']}: distance {fact['dist']}, by the old dump {1 - due:.9f}"
    dists = [fact["dist"] for fact in row["neighborhood"]]
    if dists != sorted(dists):
        yield "the nearest facts are not in the order of their distances"


def _closer(
    row: Row, documents: Documents, similarities: np.ndarray, reach: tuple[int, int, int]
) -> Iterator[str]:
    """Entities that are nearer than the last neighbour and state a plain fact of the relation."""
    entities, facts, _ = reach
    if not facts:  # none is wanted
        return
    named = [fact["subject"]["id"] for fact in row["neighborhood"]]
    within = np.sort(similarities)[-(entities + 1)] if len(similarities) > entities else 0.0
    if len(named) >= facts:
        last = documents.similarity(similarities, named[-1])
        within = max(within, last if last is not None else 0.0)
    avoided = _avoided(row)
    for index in np.flatnonzero(similarities > within + TOLERANCE):
        name = documents.names[index]
        plain = documents.plain.get(name, {}).get(row["relation"]["id"])
        if plain and name not in avoided and name not in named:
            yield f"{name} is nearer ({1 - similarities[index]:.6f}), states {plain}, and is no neighbour"


def named(row: Row) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks of the neighbours need, with the relations of each."""
    for fact in facts_of(row):
        yield fact["subject"]["id"], frozenset([fact["relation"]["id"]])
        yield fact["relation"]["id"], frozenset()
        ids = (value["object"]["id"] for value in fact["objects"])
        yield from ((name, frozenset()) for name in ids if name)
