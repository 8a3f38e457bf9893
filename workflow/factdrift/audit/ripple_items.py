"""TempRIPPLE's items once more: the questions that the timelines and chains of a dump give."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from factdrift.audit.lines import Entity
from factdrift.audit.phrases import TempRippleWording, normal
from factdrift.audit.ripples import Chain, Graph, Holder, row_id, statement_of, timeline
from factdrift.audit.survey import Survey

Key = tuple[str, str]
"""Subject and property of a timeline."""

Reader = Callable[[Mapping[str, frozenset[str] | None]], Mapping[str, Entity]]


class Due(NamedTuple):
    """An item that the dump gives: its timeline, the position of its holder (from 1), the chain, the ids."""

    key: Key
    holders: Sequence[Holder]
    position: int
    chain: Chain
    fact_id: str
    rel_id: str | None
    discriminates: bool | None

    @property
    def holder(self) -> Holder:
        return self.holders[self.position - 1]

    @property
    def item_id(self) -> str:
        return row_id("item", self.rel_id or self.fact_id)

    @property
    def hops(self) -> int:
        return len(self.chain.steps)

    @property
    def asked(self) -> Key:
        """Subject and property of the fact that is asked for."""
        return (self.chain.steps[-1].start, self.chain.steps[-1].relation) if self.hops else self.key

    @property
    def answer(self) -> str:
        return self.chain.steps[-1].value if self.hops else self.holder.item


def derive(
    lines: Mapping[str, Entity],
    keys: Iterable[Key],
    method: TempRippleWording,
    said_of: Survey,
    supplied: Mapping[str, str],
    read: Reader,
) -> tuple[dict[str, Due], dict[Key, str], Graph, dict[str, Entity]]:
    """The items of the timelines of some subjects, worked out from a dump.

    `lines`: the subjects, with all statements. `keys`: the timelines. `read` reads lines of the dump, once
    for the holders and once a hop. Returns the items by id, the reasons of timelines without any, the graph,
    and the lines that were read.
    """
    dump: dict[str, Entity] = dict(lines)
    relations = frozenset({*method.immutable, "P569", "P570", "P571"})
    graph = Graph(dump, said_of.best, method, supplied)
    lasting: dict[Key, list[Holder]] = {}
    reasons: dict[Key, str] = {}
    for key in sorted(set(keys)):
        claims = [statement_of(claim) for claim in lines[key[0]].of(key[1])] if key[0] in lines else []
        if not claims:
            reasons[key] = "no statement"
        elif not graph.is_a(key[0], method.mutable[key[1]]):
            reasons[key] = "no_type"
        else:
            holders = timeline(claims, method)
            if isinstance(holders, str):
                reasons[key] = holders
            else:
                lasting[key] = holders

    def fetch(names: Iterable[str]) -> None:
        if missing := {name: relations for name in names if name not in dump}:
            dump.update(read(missing))

    frontier = {holder.item for of_key in lasting.values() for holder in of_key}
    fetch(frontier)
    for key in list(lasting):
        if not graph.label(key[0]) or not all(graph.label(claim.item) for claim in lasting[key]):
            del lasting[key]
            reasons[key] = "no_label"
    for _ in range(3):
        fetch({value for name in frontier for value in graph.values(name)})
        frontier = {step.item for name in frontier for step in graph.edges(name) if step.item}
    due: dict[str, Due] = {}
    for key, holders in lasting.items():
        due |= {item.item_id: item for item in _items(key, holders, graph)}
    return due, reasons, graph, dump


def _items(key: Key, holders: Sequence[Holder], graph: Graph) -> Iterator[Due]:
    """The items of a timeline; those along the same relations from the other role decide `discriminates`."""
    chains = [Chain(position, ()) for position in range(len(holders))] + list(graph.chains(key[0], holders))
    answers: dict[tuple[tuple[str, ...], bool], set[str]] = defaultdict(set)
    for chain in chains:
        answers[_way(chain), chain.holder == 0] |= _names(chain, holders, graph)
    for chain in chains:
        holder = holders[chain.holder]
        other = answers.get((_way(chain), chain.holder != 0))
        fact_id = row_id(*key, holder.item, " ".join(holder.names))
        rel_id = chain.id_in(*key, holder) if chain.steps else None
        discriminates = None if other is None else other.isdisjoint(_names(chain, holders, graph))
        yield Due(key, holders, chain.holder + 1, chain, fact_id, rel_id, discriminates)


def _way(chain: Chain) -> tuple[str, ...]:
    return tuple(step.relation for step in chain.steps)


def _names(chain: Chain, holders: Sequence[Holder], graph: Graph) -> frozenset[str]:
    """What makes two answers the same: the value, the words of the label, of dates the year."""
    if not chain.steps:
        item = holders[chain.holder].item
        return frozenset([item, f"label {normal(graph.label(item) or '')}"])
    last = chain.steps[-1]
    if last.date is not None:
        year = last.value[1:].partition("-")[0]
        return frozenset([last.value[:1] + year])
    return frozenset([last.value, f"label {normal(last.label)}"])
