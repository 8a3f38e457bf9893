"""Related facts: what follows from a mutable fact over up to three hops of immutable ones."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import groupby
from typing import NamedTuple

from factdrift.tempripple.claims import Claim, groups
from factdrift.tempripple.immutability import immutable_value
from factdrift.tempripple.kinds import Kinds
from factdrift.tempripple.method import Method
from factdrift.tempripple.names import Names
from factdrift.tempripple.parallels import mark_related
from factdrift.tempripple.phrases import contains, date_text, question
from factdrift.tempripple.relations import BIRTH, DEATH, INCEPTION, Immutable
from factdrift.tempripple.schemas import Row, row_id
from factdrift.tempripple.search import Found, Search
from factdrift.tempripple.timelines import Dropped
from factdrift.tempripple.types import Match, ids
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.words.noun_phrases import nested

HOPS = 3


class _Edge(NamedTuple):
    """One immutable fact about an item, as a step of a path."""

    relation: Immutable
    subject: int
    claim: Claim
    match: Match
    label: str
    known_values: list[str]

    @property
    def value(self) -> str:
        value = self.claim.value
        assert value is not None
        return value


class _Path(NamedTuple):
    """A chain from a mutable fact; `nodes`: the items on it, beginning with the fact's subject and object."""

    fact: Row
    edges: tuple[_Edge, ...]
    nodes: tuple[int, ...]
    phrase: str
    debug: str


def find_related(search: Search, facts: list[Row]) -> Found:
    """All related facts of `facts` (rows of TR_FACTS), hop by hop, with one question to the source a hop."""
    found = Found("related")
    contexts = {(fact["s"], fact["p"]): fact["statement"] for fact in facts if fact["role"] == "new"}
    expansion = _Expansion(search, found)
    kinds = Kinds(search.source, search.types)
    paths = [
        _Path(fact, (), (int(fact["s"][1:]), int(fact["o"][1:])), fact["phrase"], f"[0 {fact['phrase']}]")
        for fact in facts
    ]
    for hop in range(1, HOPS + 1):
        expansion.fetch({path.nodes[-1] for path in paths})
        extended = [
            longer
            for path in paths
            for edge in expansion.edges[path.nodes[-1]]
            for longer in _extended(path, edge, search.method, found)
        ]
        last = [path.edges[-1] for path in extended]
        kinds.fetch(
            {edge.claim.object for edge in last if edge.claim.object is not None}
            | {edge.subject for edge in last}
        )
        found.rows.extend(_row(path, contexts, search.names, kinds) for path in extended)
        found.counts[f"hop_{hop}"] += len(extended)
        paths = [path for path in extended if path.edges[-1].claim.object is not None]
    mark_related(found.rows, facts)
    _cap(found, facts, search.method)
    return found


class _Expansion:
    """The edges from items; each item is fetched once. Refused edges are added to `found.dropped`."""

    def __init__(self, search: Search, found: Found) -> None:
        self._source, relations, self._method, self._types, self._names = search
        self._relations = relations.immutable
        self._asked = ids([*relations.immutable, BIRTH, DEATH, INCEPTION])
        self._found = found
        self.edges: dict[int, list[_Edge]] = {}

    def fetch(self, items: Iterable[int]) -> None:
        """Reads the edges of those items that were not fetched before, all at once."""
        new = sorted(set(items) - self.edges.keys())
        self.edges |= {item: [] for item in new}
        self._types.fetch(new)
        self._names.fetch(new)
        table = self._source.statements(ids(new), self._asked, ids([]))
        self._found.counts["statements_read"] += table.num_rows
        holding: list[_Edge] = []
        for subject, of_subject in groupby(groups(table), lambda group: group[0]):
            holding += self._judge(subject, {relation: claims for _, relation, claims in of_subject})
        self._names.fetch({edge.claim.object for edge in holding if edge.claim.object is not None})
        for edge in holding:
            named = self._named(edge)
            if named is not None:
                self.edges[edge.subject].append(named)

    def _judge(self, subject: int, claims: dict[int, list[Claim]]) -> Iterator[_Edge]:
        """Yields the edges of one item, still without labels."""
        is_human = self._types.is_a(subject, "human")
        for number, stated in claims.items():
            relation = self._relations.get(number)
            if relation is None:
                continue
            match = self._types.of(subject, relation.subjects)
            if match is None:
                statements = [claim.statement for claim in stated]
                self._found.drop(subject, number, "wrong_type", statements)
                continue
            result = immutable_value(relation, claims, is_human, self._method)
            if isinstance(result, Dropped):
                self._found.drop(subject, number, *result)
            elif result is not None:
                values = sorted({claim.value for claim in stated if claim.value is not None})
                yield _Edge(relation, subject, result, match, "", values)

    def _named(self, edge: _Edge) -> _Edge | None:
        claim = edge.claim
        label = (
            self._names.label(claim.object)
            if claim.object is not None
            else date_text(claim.written)
            if claim.written is not None
            else claim.text
        )
        if not label:
            reason = "no_label"
        elif self._method.leak_check and contains(self._names.label(edge.subject) or "", label):
            reason = "leak"
        else:
            return edge._replace(label=label)
        self._found.drop(edge.subject, edge.relation.property, reason, [claim.statement])
        return None


def _extended(path: _Path, edge: _Edge, method: Method, found: Found) -> Iterator[_Path]:
    """Yields the path with one more edge, unless the edge's value is on the path or named in the question."""
    item = edge.claim.object
    reason = None
    if item in path.nodes:
        reason = "cycle"
    elif method.leak_check and contains(path.fact["s_label"], edge.label):
        reason = "leak"
    if reason is not None:
        way = " ".join(f"{property_id(step.relation.property)} {step.value}" for step in (*path.edges, edge))
        detail = f"{path.fact['fact_id']} {path.fact['o']} {way}"
        found.drop(edge.subject, edge.relation.property, reason, [edge.claim.statement], detail)
        return
    edges = (*path.edges, edge)
    nodes = path.nodes if item is None else (*path.nodes, item)
    phrase, debug = (nested([edge.relation.phrase], inner) for inner in (path.phrase, path.debug))
    yield _Path(path.fact, edges, nodes, phrase, f"[{len(edges)} {debug}]")


def _row(path: _Path, contexts: dict[tuple[str, str], str], names: Names, kinds: Kinds) -> Row:
    last = path.edges[-1]
    claim, datatype = last.claim, last.relation.datatype
    steps = [
        {
            "p": property_id(edge.relation.property),
            "x": entity_id(edge.subject),
            "value": edge.value,
            "stmt_id": edge.claim.statement,
            "x_type": edge.match.type,
            "x_class": edge.match.class_id,
        }
        for edge in path.edges
    ]
    fact = path.fact
    return {
        "rel_id": row_id(
            fact["s"],
            fact["p"],
            fact["o"],
            " ".join(fact["stmt_ids"]),
            *(f"{step['p']} {step['x']} {step['value']} {step['stmt_id']}" for step in steps),
        ),
        "fact_id": fact["fact_id"],
        "hop": len(steps),
        "path": steps,
        "value_type": "item" if datatype == "wikibase-item" else datatype,
        "answer_id": last.value,
        "answer_label": last.label,
        "answer_aliases": names.aliases(claim.object) if claim.object is not None else [],
        "precision": claim.date.precision if claim.date is not None else None,
        "question": question(last.relation.wh, path.phrase, "is"),
        "question_debug": question(last.relation.wh, path.debug, "is"),
        "answer_in_context": contains(contexts[fact["s"], fact["p"]], last.label),
        "known_values": last.known_values,
        "answer_kinds": kinds.of(last.subject, claim.object),
    }


def _cap(found: Found, facts: Iterable[Row], method: Method) -> None:
    """Keeps the related facts within both caps, those with the smallest ids."""
    roles = {fact["fact_id"]: fact["role"] for fact in facts}

    def asked(row: Row) -> Hashable:
        last = row["path"][-1]
        return roles[row["fact_id"]], last["x"], last["p"]

    for cap, reason, key in (
        (method.cap_per_asked_fact, "cap_asked", asked),
        (method.cap_per_fact, "cap", lambda row: row["fact_id"]),
    ):
        if cap is None:
            continue
        by_key: dict[Hashable, list[Row]] = defaultdict(list)
        for row in sorted(found.rows, key=lambda row: row["rel_id"]):  # ids are hashes
            by_key[key(row)].append(row)
        for row in (row for rows in by_key.values() for row in rows[cap:]):
            last = row["path"][-1]
            subject, relation = int(last["x"][1:]), int(last["p"][1:])
            found.drop(subject, relation, reason, [last["stmt_id"]], row["rel_id"])
        found.rows = [row for rows in by_key.values() for row in rows[:cap]]
