"""Items: every fact and related fact as a question, with options where there are enough, and a context.

Wrong options are three values that the same property has elsewhere.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factdrift.core.columns import Row
from factdrift.tempripple.claims import arrow_day
from factdrift.tempripple.phrases import as_of, contains, normal, year
from factdrift.tempripple.schemas import row_id
from factdrift.tempripple.settings import ItemSettings

WRONG = 3

Kinds = tuple[frozenset[str], ...]
"""What a value is by each property of `distractors.alike`; an empty set where that is not known."""


class Instance(NamedTuple):
    """One fact whose value can be an answer or a distractor; `asked` is its (subject, property)."""

    asked: tuple[str, str]
    value: str
    label: str
    precision: int | None
    kinds: Kinds = ()


class Item(NamedTuple):
    """What a question asks for, and which values must not be offered."""

    item_id: str
    answer: Instance
    aliases: Iterable[str]
    never: frozenset[str]
    """Values that the subject has, and those of the same timeline."""
    always: frozenset[str]
    """Values exempt from `never`."""


class Choice(NamedTuple):
    """The distractors as (value, label), in the order of their hashes; fewer than three of a small pool."""

    options: list[tuple[str, str]]
    answer: tuple[str, str]
    pool_size: int
    alike: int
    """How many of the distractors are of the answer's kind."""
    year_only: bool = False


class Pool:
    """All instances of one property, dates grouped by their precision."""

    def __init__(self, instances: Iterable[Instance]) -> None:
        by_precision: dict[int | None, list[Instance]] = defaultdict(list)
        for instance in instances:
            by_precision[instance.precision].append(instance)
        self._groups = {precision: _Group(group) for precision, group in by_precision.items()}
        dated = [instance for precision, group in by_precision.items() if precision for instance in group]
        self._years = _Group([_in_year(instance) for instance in dated])

    def choose(self, asked: Item, seed: int, number: int = WRONG) -> Choice:
        """`number` distractors drawn without replacement, weighted by the number of their instances.

        Those of the answer's kind come first. Dates are of the answer's precision; all options are cut to
        their years if that gives enough of the answer's kind, or enough at all, where the precision does not.
        """
        answer = asked.answer
        choice = self._groups[answer.precision].draw(asked, seed, number)
        if choice.alike == number or answer.precision is None:
            return choice
        never = frozenset(year(value)[0] for value in asked.never)
        in_years = Item(asked.item_id, _in_year(answer), (), never, frozenset())
        years = self._years.draw(in_years, seed, number)._replace(year_only=True)
        return choice if len(choice.options) == number and years.alike < number else years


class _Group:
    """Instances that may be offered side by side."""

    def __init__(self, instances: Sequence[Instance]) -> None:
        weights: Counter[str] = Counter()
        self._own: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        self._labels: dict[str, str] = {}
        for instance in instances:
            weights[instance.value] += 1
            self._own[instance.asked][instance.value] += 1
            self._labels[instance.value] = instance.label
        self._values = list(weights)
        self._index_of = {value: index for index, value in enumerate(self._values)}
        self._weights = np.array(list(weights.values()), dtype=np.float64)
        self._encoded = [value.encode() for value in self._values]
        self._names = [normal(self._labels[value]) for value in self._values]
        self._named = Counter(self._names)
        properties = instances[0].kinds if instances else ()
        self._by_kind: list[dict[str, set[int]]] = [defaultdict(set) for _ in properties]
        for instance in instances:
            for members, kinds in zip(self._by_kind, instance.kinds, strict=True):
                for kind in kinds:
                    members[kind].add(self._index_of[instance.value])
        self._has_kind = [self._marked(set().union(*members.values())) for members in self._by_kind]

    def draw(self, asked: Item, seed: int, wanted: int) -> Choice:
        """Of the answer's kind first, the smallest of -ln(chance) / weight; no two share a name."""
        refused = {normal(text) for text in (asked.answer.label, *asked.aliases)}
        weights, out = self._weights, {self._index_of.get(asked.answer.value)}
        out |= {self._index_of.get(value) for value in asked.never - asked.always}
        counts = self._own.get(asked.answer.asked, {}).items()
        own = {self._index_of[value]: number for value, number in counts if value not in asked.always}
        if own:
            weights = weights.copy()
            for index, number in own.items():
                weights[index] -= number
            out |= {index for index in own if weights[index] <= 0}
        left = Counter(self._names[index] for index in out if index is not None)
        gone = {name for name, number in left.items() if number == self._named[name]}
        pool_size = len(self._named) - len(gone | (refused & self._named.keys()))
        answer = asked.answer.value, asked.answer.label
        if not wanted:
            return Choice([], answer, pool_size, 0)
        chances = self._chances(f"{seed}|{asked.item_id}|".encode())
        ranks = self._ranks(asked.answer.kinds)
        drawn: dict[str, int] = {}
        with np.errstate(divide="ignore"):
            keys = -np.log(chances) / weights
        for index in np.lexsort((keys, ranks)).tolist():
            if len(drawn) == wanted:
                break
            name = self._names[index]
            if index not in out and name not in refused:
                drawn.setdefault(name, index)
        indices = sorted(drawn.values(), key=lambda index: (chances[index], self._values[index]))
        options = [(self._values[index], self._labels[self._values[index]]) for index in indices]
        alike = sum(not self._by_kind or ranks[index] < len(self._by_kind) for index in indices)
        return Choice(options, answer, pool_size, int(alike))

    def _ranks(self, kinds: Kinds) -> NDArray[np.int64]:
        """[values] how near each is to `kinds`, smaller is nearer.

        The first property that both the value and the answer have decides: its index if they share a kind,
        else the number of properties, as if no property decides.
        """
        ranks = np.full(len(self._values), len(self._by_kind))
        decided = np.zeros(len(self._values), dtype=bool)
        for rank, (members, known, wanted) in enumerate(
            zip(self._by_kind, self._has_kind, kinds, strict=True)
        ):
            if wanted:
                shared = self._marked(set().union(*(members.get(kind, ()) for kind in wanted)))
                ranks[shared & ~decided] = rank
                decided |= known
        return ranks

    def _marked(self, indices: set[int]) -> NDArray[np.bool_]:
        marked = np.zeros(len(self._values), dtype=bool)
        marked[sorted(indices)] = True
        return marked

    def _chances(self, prefix: bytes) -> NDArray[np.float64]:
        """[values] a number above 0 and up to 1 for each, from the hash of prefix and value."""
        digests = b"".join([hashlib.sha256(prefix + value).digest()[:8] for value in self._encoded])
        return (np.frombuffer(digests, dtype=">u8").astype(np.float64) + 0.5) / 2.0**64


def _in_year(instance: Instance) -> Instance:
    value, label = year(instance.value)
    return instance._replace(value=value, label=label)


def by_property(kinds: Sequence[str], names: Sequence[str]) -> Kinds:
    """The kinds that each property gives: `P641` of [`P31 Q476028`, `P641 Q2736`] gives {`Q2736`}."""
    return tuple(
        frozenset(kind.removeprefix(f"{name} ") for kind in kinds if kind.startswith(f"{name} "))
        for name in names
    )


_TASKS = {("new", False): 1, ("old", False): 2, ("new", True): 3, ("old", True): 4}
"""(role, whether it is a related fact) -> task: acquisition, retention, and propagation from either role."""


def make_items(facts: Sequence[Row], related: Sequence[Row], settings: ItemSettings) -> list[Row]:
    """Rows of TR_ITEMS for all rows of TR_FACTS and TR_RELATED."""
    by_id = {fact["fact_id"]: fact for fact in facts}
    contexts = {(fact["s"], fact["p"]): fact["statement"] for fact in facts if fact["role"] == "new"}
    timelines: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in facts:
        timelines[fact["s"], fact["p"]].add(fact["o"])
    questions: list[tuple[Row, Row, Item, tuple[str, bool]]] = []
    instances: dict[tuple[str, bool], list[Instance]] = defaultdict(list)
    for row in (*facts, *related):
        fact = by_id[row["fact_id"]]
        asked = _item_of(row, frozenset(timelines[fact["s"], fact["p"]]), settings)
        pool = asked.answer.asked[1], row is fact
        instances[pool].append(asked.answer)
        questions.append((row, fact, asked, pool))
    pools = {key: Pool(of_pool) for key, of_pool in instances.items()}
    items = []
    for row, fact, asked, pool in questions:
        choice = pools[pool].choose(asked, settings.seed)
        items.append(_item(row, fact, asked, choice, contexts[fact["s"], fact["p"]], settings))
    _letter_answers(items, settings.seed)
    return items


def _item_of(row: Row, timeline: frozenset[str], settings: ItemSettings) -> Item:
    """What a fact (a row of TR_FACTS) or related fact is asked for; `timeline`: all objects of the fact's."""
    never, always = frozenset(row["known_values"]), frozenset[str]()
    if "rel_id" in row:
        asked = row["path"][-1]["x"], row["path"][-1]["p"]
        kinds = by_property(row["answer_kinds"], settings.alike)
        answer = Instance(asked, row["answer_id"], row["answer_label"], row["precision"], kinds)
        name, aliases = row["rel_id"], row["answer_aliases"]
    else:
        kinds = by_property(row["o_kinds"], settings.alike)
        answer = Instance((row["s"], row["p"]), row["o"], row["o_label"], None, kinds)
        name, aliases = row["fact_id"], row["o_aliases"]
        if settings.same_timeline == "include":
            always = timeline - {answer.value}
    if answer.precision is None:
        never |= timeline
    return Item(row_id("item", name), answer, aliases, never, always)


def _item(row: Row, fact: Row, asked: Item, choice: Choice, context: str, settings: ItemSettings) -> Row:
    """An item whose answer is still the last option."""
    is_related = row is not fact
    is_open = len(choice.options) < WRONG
    options = [] if is_open else [*choice.options, choice.answer]
    in_old = not is_related and fact["role"] == "old" and contains(context, asked.answer.label)
    flags = {
        "answer_in_context": in_old or (is_related and row["answer_in_context"]),
        "returning": fact["returning"],
        "year_only": choice.year_only and not is_open,
        "other_kind": choice.alike < WRONG and not is_open,
    }
    asked_s, asked_p = asked.answer.asked
    day, text = settings.last_day, row["question"]
    return {
        "item_id": asked.item_id,
        "task": _TASKS[fact["role"], is_related],
        "hop": row["hop"] if is_related else 0,
        "s": fact["s"],
        "p": fact["p"],
        "asked_s": asked_s,
        "asked_p": asked_p,
        "fact_id": fact["fact_id"],
        "rel_id": row["rel_id"] if is_related else None,
        "as_of": arrow_day(day.toordinal()),
        "context": as_of(day, context) if settings.dated else context,
        "question": as_of(day, text) if settings.dated else text,
        "options": None if is_open else [label for _, label in options],
        "option_ids": None if is_open else [value for value, _ in options],
        "answer_index": None,
        "answer_label": asked.answer.label,
        "answer_aliases": list(asked.aliases),
        "pool_size": choice.pool_size,
        "open_only": is_open,
        "discriminates": row["discriminates"],
        "flags": [name for name, holds in flags.items() if holds],
    }


def _letter_answers(items: Iterable[Row], seed: int) -> None:
    """Moves each answer to its letter; counts of letters in a task and hop differ by at most 1."""
    groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for item in items:
        if not item["open_only"]:
            groups[item["task"], item["hop"]].append(item)
    for group in groups.values():
        group.sort(key=lambda item: hashlib.sha256(f"{seed}|pos|{item['item_id']}".encode()).digest())
        for rank, item in enumerate(group):
            letter = rank % (WRONG + 1)
            for column in ("options", "option_ids"):
                item[column].insert(letter, item[column].pop())
            item["answer_index"] = letter
