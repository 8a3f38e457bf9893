"""Related facts: what follows from a mutable fact over up to three hops of immutable ones."""

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.tempripple.claims import Claim, Span, best_rank, covered, groups
from factdrift.tempripple.phrases import contains, date_text, question
from factdrift.tempripple.relations import BIRTH, DEATH, INCEPTION, Relation
from factdrift.tempripple.schemas import row_id
from factdrift.tempripple.search import Match, Search, StageTables, ids
from factdrift.tempripple.settings import TempRippleSettings
from factdrift.tempripple.timelines import Dropped
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.time import YEAR
from factdrift.words.noun_phrases import nested

HOPS = 3


class _Edge(NamedTuple):
    """One immutable fact about an item, as a step of a path."""

    relation: Relation
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


def find_related(search: Search, facts: list[Row]) -> StageTables:
    """All related facts of `facts` (rows of TR_FACTS), hop by hop, with one question to the source a hop."""
    tables = StageTables("related")
    contexts = {(fact["s"], fact["p"]): fact["statement"] for fact in facts if fact["role"] == "new"}
    edges: dict[int, list[_Edge]] = {}
    paths = [
        _Path(fact, (), (int(fact["s"][1:]), int(fact["o"][1:])), fact["phrase"], f"[0 {fact['phrase']}]")
        for fact in facts
    ]
    for hop in range(1, HOPS + 1):
        edges |= _edges({path.nodes[-1] for path in paths} - edges.keys(), search, tables)
        steps = ((path, edge) for path in paths for edge in edges[path.nodes[-1]])
        longer = (_extended(path, edge, search.settings, tables) for path, edge in steps)
        extended = [path for path in longer if path is not None]
        last = [path.edges[-1] for path in extended]
        objects = {edge.claim.object for edge in last if edge.claim.object is not None}
        search.types.fetch_kinds(objects | {edge.subject for edge in last})
        tables.rows.extend(_row(path, contexts, search) for path in extended)
        tables.counts[f"hop_{hop}"] += len(extended)
        paths = [path for path in extended if path.edges[-1].claim.object is not None]
    tables.mark(facts)
    _cap(tables, search.settings.cap_per_fact)
    return tables


def _edges(items: set[int], search: Search, tables: StageTables) -> dict[int, list[_Edge]]:
    """The edges from items; those that are refused are added to `found.dropped`."""
    search.types.fetch(items)
    search.names.fetch(items)
    asked = ids([*search.relations.immutable, BIRTH, DEATH, INCEPTION])
    table = search.source.statements(ids(items), asked, ids([]))
    tables.counts["statements_read"] += table.num_rows
    judged: list[_Edge] = []
    for subject, of_subject in groupby(groups(table), lambda group: group[0]):
        claims = {relation: claims for _, relation, claims in of_subject}
        judged += _judged(subject, claims, search, tables)
    search.names.fetch({edge.claim.object for edge in judged if edge.claim.object is not None})
    edges: dict[int, list[_Edge]] = {item: [] for item in items}
    for edge in judged:
        claim = edge.claim
        if claim.object is not None:
            label = search.names.label(claim.object)
        else:
            label = date_text(claim.written) if claim.written is not None else claim.text
        if not label:
            tables.drop(edge.subject, edge.relation.property, "no_label", [claim.statement])
        elif search.settings.leak_check and contains(search.names.label(edge.subject) or "", label):
            tables.drop(edge.subject, edge.relation.property, "leak", [claim.statement])
        else:
            edges[edge.subject].append(edge._replace(label=label))
    return edges


def _judged(
    subject: int, claims: dict[int, list[Claim]], search: Search, tables: StageTables
) -> Iterator[_Edge]:
    """Yields the edges of one item, still without labels."""
    is_human = search.types.is_a(subject, "human")
    for number, stated in claims.items():
        if (relation := search.relations.immutable.get(number)) is None:
            continue
        if (match := search.types.of(subject, relation.subjects)) is None:
            tables.drop(subject, number, "wrong_type", [claim.statement for claim in stated])
            continue
        result = immutable_value(relation, claims, is_human, search.settings)
        if isinstance(result, Dropped):
            tables.drop(subject, number, *result)
        elif result is not None:
            values = sorted({claim.value for claim in stated if claim.value is not None})
            yield _Edge(relation, subject, result, match, "", values)


def _extended(path: _Path, edge: _Edge, settings: TempRippleSettings, tables: StageTables) -> _Path | None:
    """The path with one more edge; None if the edge's value is on the path or named in the question."""
    item = edge.claim.object
    reason = None
    if item in path.nodes:
        reason = "cycle"
    elif settings.leak_check and contains(path.fact["s_label"], edge.label):
        reason = "leak"
    if reason is not None:
        way = " ".join(f"{property_id(step.relation.property)} {step.value}" for step in (*path.edges, edge))
        detail = f"{path.fact['fact_id']} {path.fact['o']} {way}"
        tables.drop(edge.subject, edge.relation.property, reason, [edge.claim.statement], detail)
        return None
    edges = (*path.edges, edge)
    nodes = path.nodes if item is None else (*path.nodes, item)
    phrase, debug = (nested([edge.relation.phrase], inner) for inner in (path.phrase, path.debug))
    return _Path(path.fact, edges, nodes, phrase, f"[{len(edges)} {debug}]")


def _row(path: _Path, contexts: dict[tuple[str, str], str], search: Search) -> Row:
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
    way = (f"{step['p']} {step['x']} {step['value']} {step['stmt_id']}" for step in steps)
    return {
        "rel_id": row_id(fact["s"], fact["p"], fact["o"], " ".join(fact["stmt_ids"]), *way),
        "fact_id": fact["fact_id"],
        "hop": len(steps),
        "path": steps,
        "value_type": "item" if datatype == "wikibase-item" else datatype,
        "answer_id": last.value,
        "answer_label": last.label,
        "answer_aliases": search.names.aliases(claim.object) if claim.object is not None else [],
        "precision": claim.date.precision if claim.date is not None else None,
        "question": question(last.relation.wh, path.phrase, "is"),
        "question_debug": question(last.relation.wh, path.debug, "is"),
        "answer_in_context": contains(contexts[fact["s"], fact["p"]], last.label),
        "known_values": last.known_values,
        "answer_kinds": search.types.kinds(last.subject, claim.object),
    }


def _cap(tables: StageTables, cap: int | None) -> None:
    """Keeps at most `cap` related facts of each fact, those with the smallest ids."""
    if cap is None:
        return
    counts, kept = Counter[str](), []
    for row in sorted(tables.rows, key=lambda row: row["rel_id"]):  # ids are hashes
        counts[row["fact_id"]] += 1
        if counts[row["fact_id"]] <= cap:
            kept.append(row)
        else:
            last = row["path"][-1]
            subject, relation = int(last["x"][1:]), int(last["p"][1:])
            tables.drop(subject, relation, "cap", [last["stmt_id"]], row["rel_id"])
    tables.rows = kept


def immutable_value(
    relation: Relation, of_subject: Mapping[int, list[Claim]], is_human: bool, settings: TempRippleSettings
) -> Claim | Dropped | None:
    """The claim with the one value of a property that held over the whole window, or why there is none.

    `of_subject`: all claims of x by property, including the dates of its birth, death and foundation. None if
    x has no statement with this property.
    """
    claims = [claim for claim in best_rank(of_subject.get(relation.property, [])) if claim.snak != "novalue"]
    if not claims:
        return None
    stated = tuple(sorted(claim.statement for claim in claims))
    first, last = settings.immutable_span
    competing = []
    for claim in claims:
        end = claim.end
        # It may have held on a day after `first`, up to `last`.
        if (end is None or end.hi > first) and claim.start.lo <= last:
            competing.append(claim)
    values = {claim.value for claim in competing}
    if not values:
        return Dropped("outside_window", stated)
    if len(values) > 1:
        return Dropped("several_values", stated)
    if None in values:
        return Dropped("unknown_value", stated)
    lasting = [claim for claim in competing if is_immutable(claim, settings)]
    if not lasting:
        faulty = any(claim.has_bad_date for claim in competing)
        return Dropped("bad_date" if faulty else "not_immutable", stated)
    if relation.guard == "S":
        lasting = [claim for claim in lasting if claim.starts]
        if not lasting:
            return Dropped("no_start", stated)
    claim = min(lasting, key=lambda claim: claim.statement)
    reason = _guarded(relation, claim, of_subject, is_human, settings)
    return Dropped(reason, stated) if reason else claim


def is_immutable(claim: Claim, settings: TempRippleSettings) -> bool:
    """Whether a claim certainly held from `immutable_from` or earlier until `immutable_until` or later."""
    first, last = settings.immutable_span
    start, end = claim.start, claim.end
    if claim.has_bad_date or end is None or (settings.require_start and not claim.starts):
        return False
    return start.hi <= first and end.lo >= last


def _guarded(
    relation: Relation,
    claim: Claim,
    of_subject: Mapping[int, list[Claim]],
    is_human: bool,
    settings: TempRippleSettings,
) -> str | None:
    """The reason of the first guard that fails: of the value, of the death of x, of its beginning."""
    before, _ = settings.immutable_span
    if claim.date is not None:
        span = covered(claim.date)
        if span is None or claim.date.precision < YEAR:
            return "coarse_date"
        if relation.guard == "V" and span.hi > before:
            return "late_date"
    if relation.guard == "D":
        deaths = _values(of_subject, DEATH)
        if not deaths or max(span.hi for span in deaths) > before:
            return "subject_alive"
    beginnings = _values(of_subject, BIRTH if is_human else INCEPTION)
    return "late_existence" if beginnings and min(beginnings).hi > before else None


def _values(of_subject: Mapping[int, list[Claim]], relation: int) -> list[Span]:
    """The intervals of the dates of best rank; dates that may be any day are left out."""
    spans = (covered(claim.date) for claim in best_rank(of_subject.get(relation, [])) if claim.date)
    return [span for span in spans if span is not None]
