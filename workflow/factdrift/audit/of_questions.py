"""Checks of TempRIPPLE's items against the timelines and chains that the dump of T_new gives."""

import datetime
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from factdrift.audit import phrases
from factdrift.audit.kinds import DECLARED, FAILED, PASSED, UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_tables import differing
from factdrift.audit.of_updates import Finding, judged, other_label, outcomes
from factdrift.audit.ripple_items import Due, Key
from factdrift.audit.ripples import FOREVER, Graph, statement_of
from factdrift.audit.values import plain
from factdrift.core.columns import Row


class Ripples(NamedTuple):
    """What the dump gives for some timelines: `due` by item id, `reasons` why others have none.

    `rows`: all items by id; `facts` and `related`: the tables beside them; `asked`: question -> items;
    `answers`: property asked for -> labels of the answers.
    """

    due: Mapping[str, Due]
    reasons: Mapping[Key, str]
    method: phrases.TempRippleWording
    graph: Graph
    dump: Mapping[str, Entity]
    facts: Mapping[str, Row]
    related: Mapping[str, Row]
    asked: Mapping[str, Set[str]]
    answers: Mapping[str, Set[str]]
    same_timeline: str


def asked_and_answers(items: Sequence[Row]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Question -> the items that ask it; property -> the labels of its answers, of dates their years too."""
    asked: dict[str, set[str]] = defaultdict(set)
    answers: dict[str, set[str]] = defaultdict(set)
    for item in items:
        asked[item["question"]].add(item["item_id"])
        answers[item["asked_p"]] |= {item["answer_label"], _year(item["answer_label"] or "")}
    return asked, answers


def named_entities(item: Row) -> Iterator[tuple[str, frozenset[str]]]:
    """The entities whose lines the checks of an item need, with their relations."""
    options = (name for name in item["option_ids"] or () if name[:1] == "Q" and name[1:].isdigit())
    yield from ((name, frozenset()) for name in options)
    yield item["asked_s"], frozenset([item["asked_p"]])


def _year(label: str) -> str:
    match = re.search(r"\d+(?: BC)?$", label)
    return match[0] if match else label


# --- the checks of one item -----------------------------------------------------------------------------


def check_item(item: Row, ripples: Ripples) -> Iterator[Finding]:
    """The findings of each kind about one item."""
    if ripples.method.unsupported:
        for kind in ("order", "chain", "statement", "labels", "answer", "wording", "marks"):
            yield kind, UNCHECKED, f"not worked out again under {ripples.method.unsupported}"
        return
    due = ripples.due.get(item["item_id"])
    kind, end = ("chain", "chain") if item["hop"] else ("order", "holder")
    if due is None:
        absent = f"the dump has no such {end} of {item['s']} {item['p']}"
        reason = ripples.reasons.get((item["s"], item["p"]))
        yield kind, FAILED, f"the dump gives no timeline: {reason}" if reason else absent
        return
    yield kind, PASSED, ""
    yield from outcomes("statement", _facts(item, due, ripples))
    yield from outcomes("labels", _labels(item, ripples))
    yield from outcomes("answer", _answer(item, due, ripples))
    yield from outcomes("wording", _wording(item, due, ripples))
    yield from outcomes("marks", _marks(item, due, ripples))
    yield from judged("leak", _leaks(item, due, ripples))
    others = ripples.asked.get(item["question"], frozenset()) - {item["item_id"]}
    again = f"{item['question']!r} is also asked by {', '.join(sorted(others))}"
    yield from outcomes("unique", iter([again] if others else []))
    if item["options"]:
        yield from outcomes("options", _options(item, due, ripples))
        yield from outcomes("key", _key(item, due))


def _facts(item: Row, due: Due, ripples: Ripples) -> Iterator[str]:
    """The rows of tr_facts and tr_related that the item names."""
    if (fact := ripples.facts.get(item["fact_id"])) is None:
        yield f"tr_facts has no row {item['fact_id']}"
        return
    holder = due.holder
    wanted: dict[str, Any] = {
        "s": due.key[0],
        "p": due.key[1],
        "o": holder.item,
        "role": "new" if due.position == 1 else "old",
        "ordinal": due.position,
        "n_timeline": len(due.holders),
        "n_changes": sum(ripples.method.began(other.start) for other in due.holders),
        "returning": sum(other.item == holder.item for other in due.holders) > 1,
        "stmt_ids": list(holder.names),
    }
    days = map(_date, (*holder.start, *holder.end))
    wanted |= dict(zip(("start_lo", "start_hi", "end_lo", "end_hi"), days, strict=True))
    yield from (f"tr_facts: {reason}" for reason in differing(fact, wanted, "dump"))
    if not due.hops:
        return
    if (related := ripples.related.get(item["rel_id"] or "")) is None:
        yield f"tr_related has no row {item['rel_id']}"
        return
    path = [(step["p"], step["x"], step["value"], step["stmt_id"]) for step in related["path"]]
    steps = [(step.relation, step.start, step.value, step.name) for step in due.chain.steps]
    if path != steps:
        yield f"tr_related: the path is {path}, by the dump {steps}"
    if related["answer_id"] != due.answer:
        yield f"tr_related: the answer is {related['answer_id']}, by the dump {due.answer}"


def _date(number: int) -> datetime.date | None:
    """A day number as a date, not before the first that the type knows; None where there is no bound."""
    return None if abs(number) >= FOREVER else datetime.date.fromordinal(max(1, number))


def _labels(item: Row, ripples: Ripples) -> Iterator[str]:
    named = zip(item["option_ids"] or (), item["options"] or (), strict=True)
    for entity, label in named:
        expected = ripples.graph.label(entity) if re.fullmatch(r"Q\d+", entity) else _date_of(entity, label)
        yield from other_label(entity, label, expected)
        if expected is None:
            yield f"{entity}: label {label!r}, and the dump has none"
    if (fact := ripples.facts.get(item["fact_id"])) is None:
        return
    for side in ("s", "o"):
        yield from other_label(fact[side], fact[f"{side}_label"], ripples.graph.label(fact[side]))


def _date_of(option: str, label: str) -> str:
    """`1976-07-04` as `4 July 1976`; what is no date is written as it is.

    Of days that may be written in the Julian calendar the year counts.
    """
    if (match := re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?", option)) is None:
        return label if option[:1] == "-" else option
    year, month, day = (int(part or 0) for part in match.groups())
    if year < 1930 and re.search(rf"(?<!\d)({year}|{year - 1})$", label):
        return label
    return phrases.date_text((year, month, day), 9 + bool(month) + bool(day))


def _answer(item: Row, due: Due, ripples: Ripples) -> Iterator[str]:
    name = due.chain.steps[-1].item if due.hops else due.holder.item
    label = due.chain.steps[-1].label if due.hops else ripples.graph.label(due.holder.item) or ""
    if plain(item["answer_label"]) != plain(label):
        yield f"the answer is {item['answer_label']!r}, by the dump {label!r}"
    line = ripples.dump.get(name) if name else None
    aliases = sorted({plain(alias) for alias in (line.aliases if line else ())} - {""})
    if [plain(alias) for alias in item["answer_aliases"] or ()] != aliases:
        yield f"the aliases are {item['answer_aliases']}, in the dump {aliases}"


def _wording(item: Row, due: Due, ripples: Ripples) -> Iterator[str]:
    method, subject = ripples.method, ripples.graph.label(due.key[0]) or ""
    hops = [step.relation for step in due.chain.steps]
    newest = ripples.graph.label(due.holders[0].item) or ""
    wanted = {
        "question": phrases.question(method, due.key[1], due.position, subject, hops),
        "context": phrases.context(method, due.key[1], subject, newest),
    }
    yield from differing({name: phrases.bare(item[name]) for name in wanted}, wanted, "phrases")


def _marks(item: Row, due: Due, ripples: Ripples) -> Iterator[str]:
    method = ripples.method
    wanted: dict[str, Any] = {
        "task": (1 if due.position == 1 else 2) + 2 * bool(due.hops),
        "hop": due.hops,
        **dict(zip(("s", "p", "asked_s", "asked_p"), (*due.key, *due.asked), strict=True)),
        "fact_id": due.fact_id,
        "rel_id": due.rel_id,
        "as_of": method.last_day,
        "open_only": not item["options"],
        **({} if item["options"] else dict.fromkeys(("option_ids", "answer_index"))),
        "discriminates": due.discriminates,
    }
    yield from differing(item, wanted, "dump")
    said_there = item["context"].removeprefix(phrases.dated(method))
    in_context = phrases.contains(said_there, item["answer_label"]) and (due.hops > 0 or due.position > 1)
    returning = sum(holder.item == due.holder.item for holder in due.holders) > 1
    flags = {"answer_in_context": in_context, "returning": returning}
    date = due.chain.steps[-1].date if due.hops else None
    if date is None or date.precision > 9:
        shown = item["options"][item["answer_index"]] if _has_key(item) else item["answer_label"]
        flags["year_only"] = date is not None and shown != item["answer_label"]
    for flag, holds in flags.items():
        if (flag in item["flags"]) != holds:
            yield f"flag {flag} is {'' if flag in item['flags'] else 'not '}set"
    for flag in sorted(set(item["flags"]) - {"answer_in_context", "returning", "year_only", "other_kind"}):
        yield f"flag {flag} is unknown"


def _has_key(item: Row) -> bool:
    return bool(item["options"]) and item["answer_index"] in range(len(item["options"]))


def _leaks(item: Row, due: Due, ripples: Ripples) -> Iterator[tuple[str, str]]:
    """Names are compared with names only: a code such as `is` may be a word of every question."""
    names = [(FAILED, ripples.graph.label(due.key[0]) or "")]
    if item["task"] != 1:
        outcome = DECLARED if "answer_in_context" in item["flags"] else FAILED
        names.append((outcome, ripples.graph.label(due.holders[0].item) or ""))
    answer = item["answer_label"]
    for outcome, name in names:
        if phrases.contains(name, answer):
            yield outcome, f"{answer!r} is in {name!r}"


def _options(item: Row, due: Due, ripples: Ripples) -> Iterator[str]:
    options, answer = item["options"], item["answer_index"]
    if len(options) != 4 or len(item["option_ids"]) != 4:
        yield f"there are {len(options)} options"
    if len({phrases.normal(option) for option in options}) < len(options):
        yield f"two options are equal: {options}"
    line = ripples.dump.get(due.asked[0])
    true = {statement_of(claim).value for claim in (line.of(due.asked[1]) if line else ())}
    holders = {holder.item for holder in due.holders}
    aliases = {phrases.words(alias) for alias in (item["answer_label"], *(item["answer_aliases"] or ()))}
    pool = ripples.answers.get(due.asked[1], frozenset())
    for index, (name, option) in enumerate(zip(options, item["option_ids"], strict=False)):
        if index == answer:
            continue
        if option in true and ripples.same_timeline == "exclude":
            yield f"{name!r} ({option}) is a value of {' '.join(due.asked)}"
        elif option in holders and (ripples.same_timeline == "exclude" or due.hops):
            yield f"{name!r} ({option}) holds {' '.join(due.key)} at another time"
        elif phrases.words(name) in aliases:
            yield f"{name!r} ({option}) is a name of the answer"
        if name not in pool:
            yield f"{name!r} ({option}) is no value of {due.asked[1]} in any other item"


def _key(item: Row, due: Due) -> Iterator[str]:
    position = item["answer_index"]
    if not _has_key(item):
        yield f"no option is number {position}"
        return
    option, label = item["option_ids"][position], item["options"][position]
    cut = "year_only" in item["flags"]
    if not (option == due.answer or (cut and str(due.answer).startswith(str(option)))):
        yield f"option {position} is {option}, the answer is {due.answer}"
    elif label != item["answer_label"] and not (cut and label == _year(item["answer_label"])):
        yield f"option {position} is {label!r}, the answer is {item['answer_label']!r}"


def missing_items(
    ripples: Ripples, drawn: Sequence[str], items: Mapping[str, Row]
) -> Iterator[tuple[Due, Finding]]:
    """A finding for each item that the dump gives about a drawn subject."""
    wanted = set(drawn)
    for name, due in sorted(ripples.due.items()):
        if due.key[0] not in wanted:
            continue
        if name in items:
            yield due, ("missing", PASSED, "")
        elif ripples.method.capped:
            yield due, ("missing", UNCHECKED, "the build caps related facts")
        else:
            yield due, ("missing", FAILED, f"the dump gives it ({due.answer}), but there is no item")
