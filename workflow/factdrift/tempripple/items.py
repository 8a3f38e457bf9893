"""Items: every fact and related fact as a question, with options where there are enough, and a context."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from factdrift.tempripple.dates import arrow_day
from factdrift.tempripple.distractors import WRONG, Asked, Choice, Instance, Pool
from factdrift.tempripple.kinds import of_property
from factdrift.tempripple.method import ItemMethod
from factdrift.tempripple.phrases import as_of, contains
from factdrift.tempripple.schemas import Row, row_id

_TASKS = {("new", False): 1, ("old", False): 2, ("new", True): 3, ("old", True): 4}
"""(role, whether it is a related fact) -> task: acquisition, retention, and propagation from either role."""


class _Question(NamedTuple):
    """One item without options yet."""

    item_id: str
    fact: Row
    related: Row | None
    instance: Instance

    @property
    def source(self) -> Row:
        return self.related or self.fact

    @property
    def aliases(self) -> list[str]:
        """Other names of the answer."""
        names: list[str] = self.source["o_aliases" if self.related is None else "answer_aliases"]
        return names

    @property
    def pool(self) -> tuple[str, bool]:
        return self.instance.asked[1], self.related is not None


def make_items(facts: Sequence[Row], related: Sequence[Row], method: ItemMethod) -> list[Row]:
    """Rows of TR_ITEMS for all rows of TR_FACTS and TR_RELATED."""
    questions = list(_questions(facts, related, method.alike))
    instances: dict[tuple[str, bool], list[Instance]] = defaultdict(list)
    for question in questions:
        instances[question.pool].append(question.instance)
    pools = {key: Pool(of_pool) for key, of_pool in instances.items()}
    new = {(fact["s"], fact["p"]): fact for fact in facts if fact["role"] == "new"}
    timelines: dict[tuple[str, str], set[str]] = defaultdict(set)
    for fact in facts:
        timelines[fact["s"], fact["p"]].add(fact["o"])
    items = []
    for question in questions:
        key = question.fact["s"], question.fact["p"]
        asked = _asked(question, frozenset(timelines[key]), method)
        choice = pools[question.pool].choose(asked, method.seed)
        items.append(_item(question, choice, new[key]["statement"], method))
    _place_answers(items, method.seed)
    return items


def _questions(facts: Sequence[Row], related: Sequence[Row], alike: Sequence[str]) -> Iterable[_Question]:
    by_id = {fact["fact_id"]: fact for fact in facts}
    for fact in facts:
        kinds = tuple(of_property(fact["o_kinds"], name) for name in alike)
        instance = Instance((fact["s"], fact["p"]), fact["o"], fact["o_label"], None, kinds)
        yield _Question(row_id("item", fact["fact_id"]), fact, None, instance)
    for row in related:
        asked = row["path"][-1]["x"], row["path"][-1]["p"]
        kinds = tuple(of_property(row["answer_kinds"], name) for name in alike)
        instance = Instance(asked, row["answer_id"], row["answer_label"], row["precision"], kinds)
        yield _Question(row_id("item", row["rel_id"]), by_id[row["fact_id"]], row, instance)


def _asked(question: _Question, timeline: frozenset[str], method: ItemMethod) -> Asked:
    never = frozenset(question.source["known_values"])
    if question.instance.precision is None:
        never |= timeline
    is_hard = method.same_timeline == "include" and question.related is None
    always = timeline - {question.instance.value} if is_hard else frozenset[str]()
    return Asked(question.item_id, question.instance, question.aliases, never, always)


def _item(question: _Question, choice: Choice, context: str, method: ItemMethod) -> Row:
    """An item whose answer is still the last option."""
    fact, related = question.fact, question.related
    is_open = len(choice.options) < WRONG
    options = [] if is_open else [*choice.options, choice.answer]
    in_context = (
        related["answer_in_context"]
        if related is not None
        else fact["role"] == "old" and contains(context, question.instance.label)
    )
    flags = ["answer_in_context"] if in_context else []
    if fact["returning"]:
        flags.append("returning")
    if choice.year_only and not is_open:
        flags.append("year_only")
    if choice.alike < WRONG and not is_open:
        flags.append("other_kind")
    asked_s, asked_p = question.instance.asked
    day = method.last_day
    return {
        "item_id": question.item_id,
        "task": _TASKS[fact["role"], related is not None],
        "hop": related["hop"] if related is not None else 0,
        "s": fact["s"],
        "p": fact["p"],
        "asked_s": asked_s,
        "asked_p": asked_p,
        "fact_id": fact["fact_id"],
        "rel_id": related["rel_id"] if related is not None else None,
        "as_of": arrow_day(day.toordinal()),
        "context": as_of(day, context) if method.dated else context,
        "question": as_of(day, question.source["question"]) if method.dated else question.source["question"],
        "options": None if is_open else [label for _, label in options],
        "option_ids": None if is_open else [value for value, _ in options],
        "answer_index": None,
        "answer_label": question.instance.label,
        "answer_aliases": question.aliases,
        "pool_size": choice.pool_size,
        "open_only": is_open,
        "discriminates": question.source["discriminates"],
        "flags": flags,
    }


def _place_answers(items: Iterable[Row], seed: int) -> None:
    """Moves each answer to its letter; counts of letters in a task and hop differ by at most 1."""
    groups: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for item in items:
        if not item["open_only"]:
            groups[item["task"], item["hop"]].append(item)
    for group in groups.values():
        group.sort(key=lambda item: hashlib.sha256(f"{seed}|pos|{item['item_id']}".encode()).digest())
        for rank, item in enumerate(group):
            place = rank % (WRONG + 1)
            for column in ("options", "option_ids"):
                item[column].insert(place, item[column].pop())
            item["answer_index"] = place
